"""The pytest plugin: start-up hooks, nothing else.

pytest imports this module in every run of every project that has the package installed, so it imports only pytest and
the standard library. What a conformance run needs is imported and registered when one is asked for (conformance.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .options import add_server_url, register, selected
from .ownership import asks_without_path, owned_by_conftest

pytest.register_assert_rewrite("pytest_adcp.suites")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let plugins of other packages add suites."""
    from . import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Register every option but --server-url, which waits for the conftests."""
    register(parser)
    if not pluginmanager.has_plugin("adcp"):
        # A bare checkout: its conftest brings the plugin, too late to watch conftests load, and there is no other one.
        add_server_url(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Iterator[None]:
    """Keep foreign conftests out of a conformance run, then register --server-url unless it is somebody else's.

    A conftest of the project that the run happens to start in could empty or break the collection; extensions come
    by `-p module` or an entry point. A conftest that owns --server-url is a project of its own and is left alone.
    """
    if asks_without_path(early_config, args) and not owned_by_conftest(early_config):
        early_config.known_args_namespace.noconftest = True
    yield
    add_server_url(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer the questions that need no server, else turn the arguments into a selection of the suites.

    Runs in every xdist worker too, on the same command line, so the selection is a pure function of it.
    """
    option = config.option
    if option.help or getattr(option, "version", 0):
        return None
    if option.adcp_rules or option.adcp_explain:
        from .explain import answer

        return answer(config)
    from .selection import select, useless

    if not selected(config) and (given := useless(config)):
        raise pytest.UsageError(
            f"adcp: {given} needs something to judge: pass --server-url=URL, --adcp-config=adcp.yaml, "
            "--adcp-replay=FILE, --adcp-targets=FILE or --adcp-profile=client"
        )
    choice = select(config, asked=selected(config))
    if choice is not None:
        from .conformance import plugin_for

        config.pluginmanager.register(plugin_for(config, choice), "adcp-conformance")
    return None


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers that conformance items carry."""
    config.addinivalue_line("markers", "adcp_must: a conformance rule of level MUST")
    config.addinivalue_line("markers", "adcp_should: a conformance rule of level SHOULD")
    config.addinivalue_line("markers", "adcp_family(name): the family of a conformance rule")
