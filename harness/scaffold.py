"""A commented adcp.yaml, made of what a server lists: a call for each of its AdCP tools, with arguments that fit.

Names and texts of the server are foreign: as values they are quoted, in comments they are escaped ASCII on one line.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from . import __version__, values
from .arguments import shape
from .calls import PlannedCall
from .files import replace_file
from .given import Given, Givens, located
from .plan import SAMPLE, PlanRequest, plan
from .redact import redact_members
from .subjects import Server
from .tasks import catalogue, look_alike
from .text import quote, safe
from .yamlfile import YamlError, parse

_STAND_IN = {"account_id": "your-sandbox-account"}  # plans mutating calls where no sandbox account was given
_RUN = "scaffold"  # the run that the arguments are planned for
_MOST_OTHERS = 200  # tools that are no tasks, in the comment
_WIDTH = 110
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]*(?: [A-Za-z0-9_.:/-]+)*")
_WORDS_OF_YAML = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_SURROGATE = re.compile("[\ud800-\udfff]")
_COMMENTED = "  # "


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The file that is to be written, and the names (never the values) that it takes over from the run."""

    given: Given
    path: Path
    auth: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # ca_file, client_cert


@dataclass(frozen=True, slots=True)
class Seller:
    """What the file is about: where the server is, what it says, and what the run knows of accounts."""

    url: str  # as it may be shown; "demo" for the bundled seller
    has_secret: bool  # the URL that was given holds one
    server: Server
    account: Mapping[str, Any] | None
    sandbox_account: Mapping[str, Any] | None
    mutating: bool


def path_of(givens: Givens) -> Path | None:
    """Return the file that `--adcp-write-config` names; None where it was not given. Asked before all else.

    Raises:
        pytest.UsageError: the file is there, or its folder is not.
    """
    found = givens.get("write-config")
    if found is None:
        return None
    path = located(found, found.value)
    if path.exists() or path.is_symlink():
        raise found.fail(
            f"{quote(found.value, 100)} is there already and is never overwritten; name another file: "
            "--adcp-write-config=FILE"
        )
    if not path.parent.is_dir():
        raise found.fail(f"{quote(found.value, 100)} is not a file in a folder that is there")
    return path


def scaffold_of(givens: Givens, path: Path | None, *, has_server: bool, from_config: bool) -> Scaffold | None:
    """Return what `--adcp-write-config` asks for; None where it was not given.

    Args:
        path: the file.
        has_server: whether the run has a server to ask.
        from_config: whether the credentials of a configuration that was read are for it.

    Raises:
        pytest.UsageError: there is no server.
    """
    found = givens.get("write-config")
    if found is None or path is None:
        return None
    if not has_server:
        raise found.fail("needs a server that lists its tools: pass --server-url=URL")
    auth, files = _auth(givens, from_config=from_config), _files(givens, from_config=from_config)
    return Scaffold(found, path, auth, files)


def write(scaffold: Scaffold, seller: Seller) -> str:
    """Write the file and return what to say about it.

    Raises:
        pytest.UsageError: it cannot be written, or came to be there meanwhile.
    """
    text, number = render(scaffold, seller)
    if scaffold.path.exists():
        raise scaffold.given.fail(f"{quote(scaffold.given.value, 100)} came to be there during the run")
    try:
        replace_file(scaffold.path, [text.encode()], mode=0o644)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise scaffold.given.fail(f"{quote(scaffold.given.value, 100)} cannot be written: {why}") from None
    return (
        f"adcp: {safe(str(scaffold.given.value), 400)} was written, with {number} calls; look through it, then run "
        f"pytest --adcp-config={safe(str(scaffold.given.value), 400)}"
    )


def render(scaffold: Scaffold, seller: Seller) -> tuple[str, int]:
    """Return the text of the file, and how many calls it makes."""
    calls, left = _calls(seller)
    live = [call for call in calls if seller.mutating or not catalogue()[call["tool"]].mutating]
    lines = [*_head(scaffold, seller), ""]
    lines.append("calls:" if live else "calls: []")
    for call in live:
        lines += ["", *_item(call)]
    for tool, why in left:
        lines += ["", *_comment(f"{tool} has no call: {why}")]
    asleep = [call for call in calls if call not in live]
    if asleep:
        lines += [
            "",
            *_comment(
                "These change something at the seller. To have them called, say `plan: {mutating: true}` and give a "
                "sandbox_account above, and take the marks away."
            ),
        ]
    for call in asleep:
        lines += ["", *(f"{_COMMENTED}{line.removeprefix('  ')}" for line in _item(call))]
    return "\n".join([*lines, *_others(seller.server.tools), ""]), len(live)


# -- the parts of the file ---------------------------------------------------------------------------------------


def _head(scaffold: Scaffold, seller: Seller) -> Iterator[str]:
    said = f" It says that it is {quote(seller.server.name, 80)}." if seller.server.name else ""
    yield from _comment(f"Written by pytest-adcp {__version__}, from what the server lists.{said}", indent="")
    yield from _comment(
        "The arguments are a start: put in what your server knows. Run it with pytest --adcp-config=FILE; --adcp-plan "
        "shows what would be sent.",
        indent="",
    )
    yield ""
    if seller.has_secret:
        yield from _comment(
            "The URL holds a secret, which does not belong here: keep giving it as ADCP_SERVER_URL.",
            indent="",
        )
        yield from _comment(f"server_url: {seller.url}", indent="")
    else:
        yield _dumped({"server_url": seller.url})
    if scaffold.auth:
        yield from _comment("Names of environment variables, never the secrets themselves.", indent="")
        yield _dumped({"auth": scaffold.auth})
    if scaffold.files:
        yield _dumped(dict(scaffold.files))
    yield ""
    yield from _account("account", seller.account, "goes into every call whose tool takes one")
    sandbox = seller.sandbox_account if seller.mutating else None
    yield from _account("sandbox_account", sandbox, "for calls that change something at the seller")
    yield "plan:"
    yield "  auto: true  # with false exactly the calls below are made"
    if seller.mutating:
        yield "  mutating: true"


def _account(key: str, account: Mapping[str, Any] | None, meaning: str) -> Iterator[str]:
    if account is not None and redact_members(account) == account and _reads_back(account):
        yield _dumped({key: account})
    else:
        yield f"# {key}: {{account_id: your-{key.replace('_', '-')}}}  # {meaning}"


def _calls(seller: Seller) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the calls, and the AdCP tools that there is none for, with the reason."""
    tools = seller.server.tools
    sandbox = seller.sandbox_account or _STAND_IN
    request = PlanRequest(probes=False, allow_mutating=True, account=seller.account, sandbox_account=sandbox)
    made = plan(tools, request, _RUN)
    listed = {str(tool.get("name")): tool for tool in reversed(tools)}
    calls = []
    why = {
        item.item.partition("/")[0]: item.why
        for item in made.not_called
        if not item.item.endswith("bad request")
    }
    for call in made.calls:
        if call.name != SAMPLE:
            continue
        account = sandbox if call.mutating else seller.account
        arguments = _arguments(call, listed[call.tool].get("inputSchema"), account)
        item = {"tool": call.tool, "name": SAMPLE, "arguments": arguments, "expect": "success"}
        if _reads_back(item):
            calls.append(item)
        else:
            why[call.tool] = "the arguments that its inputSchema asks for cannot stand in YAML"
    done = {call["tool"] for call in calls}
    undone = [tool for tool in listed if tool in catalogue() and tool not in done]
    return calls, [(tool, why.get(tool, "nothing is known to ask of it")) for tool in undone]


def _arguments(call: PlannedCall, schema: Any, account: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments with the placeholders of the catalogue, and without what every call gets."""
    task = catalogue()[call.tool]
    wrapper = shape(schema, task.arguments).wrapper
    members = dict(call.arguments if wrapper is None else call.arguments[wrapper])
    if members.get("context") == {"adcp_run": _RUN}:
        del members["context"]
    if wrapper is None and account is not None and members.get("account") == account:
        del members["account"]
    restored = {name: _restored(task.request.get(name), value) for name, value in members.items()}
    return restored if wrapper is None else {wrapper: restored}


def _restored(template: Any, value: Any) -> Any:
    """Put placeholders back where a request was made of them: their values hold for one run."""
    if isinstance(template, str) and template.startswith("$"):
        return template
    if isinstance(template, Mapping):
        if list(template) == ["from"] and value is None:
            return dict(template)
        if isinstance(value, Mapping):
            return {name: _restored(template.get(name), item) for name, item in value.items()}
    if isinstance(template, list) and isinstance(value, list) and len(template) == len(value):
        return [_restored(*pair) for pair in zip(template, value, strict=True)]
    return value


def _item(call: Mapping[str, Any]) -> list[str]:
    text = _dumped([dict(call)])
    return [f"  {line}" for line in text.splitlines()]


def _others(tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = [
        name for name in dict.fromkeys(str(tool.get("name")) for tool in tools) if name not in catalogue()
    ]
    if not names:
        return
    yield ""
    yield from _comment(
        "Listed too, and no tasks of AdCP: they are called only where you say how.", indent=""
    )
    for name in names[:_MOST_OTHERS]:
        alike = look_alike(name)
        meant = f" (an AdCP tool has exactly the name of its task: {alike})" if alike else ""
        yield from _comment(f"- {name}{meant}", indent="")
    if len(names) > _MOST_OTHERS:
        yield f"# and {len(names) - _MOST_OTHERS} more"


def _comment(text: str, indent: str = "  ") -> Iterator[str]:
    """Yield a text as comments; whatever it holds, no line of it is anything else."""
    inert = safe(text, 400).encode("ascii", "backslashreplace").decode()
    for line in textwrap.wrap(inert, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"{indent}# {line}"


# -- names that the run was given -----------------------------------------------------------------------------------


def _auth(givens: Givens, *, from_config: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("bearer-env", "basic-env", "header-env"):
        given = givens.get(name)
        if given is None or (given.from_config and not from_config):
            continue
        key = name.replace("-", "_")
        found[key] = dict(given.read(values.pairs)) if name == "header-env" else given.value
    oauth = givens.key("auth", "oauth") if from_config else None
    return found | ({"oauth": oauth.value} if oauth is not None else {})


def _files(givens: Givens, *, from_config: bool) -> dict[str, str]:
    found = {}
    for name in ("ca-file", "client-cert"):
        given = givens.get(name)
        if given is not None and (from_config or not given.from_config):
            found[name.replace("-", "_")] = (
                given.value if given.value == "env" else str(given.folder / given.value)
            )
    return found


# -- YAML ------------------------------------------------------------------------------------------------------------


class _Dumper(yaml.SafeDumper):
    """Quotes every text that is more than plain words: what it writes is the same in every edition of YAML."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = len(text) <= 200 and _PLAIN.fullmatch(text) and ": " not in text and not text.endswith(":")
    style = None if plain and text.lower() not in _WORDS_OF_YAML else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", _SURROGATE.sub("\ufffd", text), style=style)


_Dumper.add_representer(str, _text)


def _dumped(value: Any) -> str:
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=False
    ).rstrip("\n")


def _reads_back(value: Any) -> bool:
    """Whether a value is the same when it has been written and read."""
    try:
        return bool(parse(_dumped(value)).value == value)
    except (YamlError, yaml.YAMLError, RecursionError):
        return False
