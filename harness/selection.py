"""Which of the packaged suites a command line selects."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SUITES = Path(__file__).resolve().parent.parent / "suites"
PACKAGE = "pytest_adcp.suites"
_NODE = re.compile(r"(?:[\w.-]{1,64}::)?(?:(?:mcp|adcp|client)\.[a-z.-]+|connected-apps)(?:::.*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Selection:
    """What the arguments leave of the suites; nothing given means all of them."""

    modules: tuple[str, ...] = ()  # dotted prefixes below pytest_adcp.suites
    nodes: tuple[str, ...] = ()  # prefixes of node ids
    missed: bool = field(default=False)  # a verdict was asked for, and the paths name none of our suites

    @property
    def partial(self) -> bool:
        """Whether something was left out."""
        return bool(self.modules or self.nodes)

    def takes(self, module: str) -> bool:
        """Whether the rules of a module are wanted."""
        return not self.modules or any(
            module == name or module.startswith(f"{name}.") for name in self.modules
        )

    def takes_node(self, nodeid: str) -> bool:
        """Whether an item is wanted."""
        return not self.nodes or any(
            nodeid == node or nodeid.startswith((f"{node}::", f"{node}[")) for node in self.nodes
        )


def select(config: pytest.Config, *, asked: bool) -> Selection | None:
    """Point pytest at the suites; None where the run is somebody else's.

    Args:
        config: its args are rewritten: by name instead of by path, so that pytest walks no parent folders.
        asked: whether an option asks for a conformance run.

    Raises:
        pytest.UsageError: the suites are named by path and no option says what to judge.
    """
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        if not asked:
            return None
        config.args = [PACKAGE]
        config.option.pyargs = True
        _quiet(config)
        return Selection()
    modules, nodes, others = [], [], []
    for argument in config.args:
        name = _module(argument, config.invocation_params.dir)
        if name is not None:
            modules.append(name)
        elif asked and _NODE.fullmatch(argument):
            nodes.append(argument)
        else:
            others.append(argument)
    if not modules and not nodes:
        return Selection(missed=True) if asked else None
    if not asked:
        raise pytest.UsageError(
            "adcp: the conformance suites judge a server; pass --server-url=URL (or --server-url=demo, "
            "--adcp-replay FILE, --adcp-profile client)"
        )
    config.args = [PACKAGE, *others]
    config.option.pyargs = True
    if not others:
        _quiet(config)
    return Selection(tuple(name for name in modules if name != PACKAGE), tuple(nodes))


def useless(config: pytest.Config) -> str:
    """Return the first of our options on the command line of a run that nothing selects; those in addopts wait quietly."""
    return next(
        (arg.partition("=")[0] for arg in config.invocation_params.args if arg.startswith("--adcp-")), ""
    )


def _quiet(config: pytest.Config) -> None:
    # pytest's own FAILURES section costs a second per hundred failures and repeats what the summary groups by rule.
    if config.option.tbstyle == "auto":
        config.option.tbstyle = "no"


def _module(argument: str, folder: Path) -> str | None:
    """Return the dotted name of a suite that an argument names by path or by dotted name."""
    head = argument.partition("::")[0]
    if head == PACKAGE or head.startswith(f"{PACKAGE}."):
        return head
    path = (folder / head).resolve()
    if path != SUITES and SUITES not in path.parents:
        return None
    parts = path.relative_to(SUITES).with_suffix("").parts if path != SUITES else ()
    return ".".join((PACKAGE, *(part for part in parts if part != "__init__")))
