"""Faults of the instructions, as the connected-apps profile sees them."""

from __future__ import annotations

from typing import Any

from pytest_adcp.harness.seller.exchange import Hooks
from pytest_adcp.harness.seller.options import Eras

from .model import Fault, on_method, rules

_REPEATED = (
    "It books in sandbox accounts only: no campaign runs and no money moves."  # of the clean instructions
)


def _instructions(text: str) -> Hooks:
    return on_method("initialize", lambda result: {**result, "instructions": text})


_HANDSHAKE: dict[str, Any] = {"eras": Eras.HANDSHAKE}

FAULTS = (
    Fault(
        "app-instructions-missing",
        "initialize gives no instructions.",
        _instructions("  "),
        advises=rules("connected-apps.instructions-present"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-instructions-list-tools",
        "The instructions list the tools again.",
        _instructions("Tools:\n- get_products: finds products\n- get_signals: finds audiences\n"),
        advises=rules("connected-apps.instructions-no-tool-list"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-instructions-order-calls",
        "The instructions tell in which order tools are called.",
        _instructions("Books advertising. Always call get_products before you book."),
        advises=rules("connected-apps.instructions-what-not-how"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-instructions-repeat-description",
        "The instructions repeat the description of a tool.",
        on_method(
            "tools/list",
            lambda result: {
                **result,
                "tools": [
                    {**tool, "description": f"{tool['description']} {_REPEATED}"}
                    if tool["name"] == "get_products"
                    else tool
                    for tool in result["tools"]
                ],
            },
        ),
        advises=rules("connected-apps.instructions-not-duplicated"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-instructions-long",
        "The instructions are longer than a system prompt bears.",
        _instructions(" ".join(f"Market {number} is served." for number in range(150))),
        advises=rules("connected-apps.instructions-concise"),
        needs=_HANDSHAKE,
    ),
)
