"""What other packages can add to a conformance run: the hooks that their pytest plugins implement.

A plugin is found by pytest as everywhere: an entry point of the group `pytest11`, or `-p module`. A conftest of the
project is not loaded in a conformance run, so it cannot add anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest


@pytest.hookspec
def pytest_adcp_suites(config: pytest.Config) -> Sequence[str]:  # type: ignore[empty-body]
    """Return dotted names of modules that hold further rules (`pytest_adcp.harness.rules.rule`).

    The rules are judged with the core profile, after the packaged ones, and --adcp-rules and --adcp-explain know them.
    Their ids begin with a name of the package's own, as `acme.products.priced`: `adcp`, `mcp`, `client`, `connected-apps`
    and `core` are taken. The modules are imported only when a run needs them, so leave them out of the plugin's own imports.

    Args:
        config: pytest's; the plugin's own options stand in `config.option`.
    """
