"""Faults of results, as the connected-apps profile sees them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pytest_adcp.harness.seller.exchange import Hooks, ToolCall
from pytest_adcp.harness.seller.rpc import Json
from pytest_adcp.harness.tasks import catalogue

from .model import Fault, on_success, rules

_PIXEL = "https://cdn.seller.example/assets/banner.png?" + "&".join(
    f"p{number}={number}" for number in range(9)
)


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _summary(text: Callable[[Json], str]) -> Hooks:
    """Put another text in the place of the summary."""
    return on_success(
        lambda result: {
            **result,
            "content": [_text(text(result["structuredContent"])), *result["content"][1:]],
        }
    )


def _data(**members: Any) -> Hooks:
    """Add members to the data, in the text as well."""

    def edit(result: Json) -> Json:
        data = {**result["structuredContent"], "ext": members}
        content = [result["content"][0], _text(json.dumps(data))]
        return {**result, "content": content, "structuredContent": data}

    return on_success(edit)


def _silent(call: ToolCall, result: Json) -> Json:
    if result["isError"] or not catalogue()[call.tool].mutating:
        return result
    return {"content": [_text("null")], "isError": False}


FAULTS = (
    Fault(
        "app-summary-only",
        "The text of a result is a summary; the data stands in structuredContent alone.",
        Hooks(),
        fails=rules("connected-apps.result-json-text"),
        needs={"json_text": False},
    ),
    Fault(
        "app-text-differs",
        "The JSON text of a result says less than structuredContent.",
        on_success(
            lambda result: {**result, "content": [result["content"][0], _text('{"status": "completed"}')]}
        ),
        advises=rules("connected-apps.result-text-equals-structured"),
    ),
    Fault(
        "app-split-list",
        "A list comes as a text for each item.",
        on_success(lambda _: {"content": [_text('{"id": "a"}'), _text('{"id": "b"}')], "isError": False}),
        advises=rules("connected-apps.result-single-json"),
    ),
    Fault(
        "app-printout",
        "A text is what Python prints of the data.",
        _summary(repr),
        fails=rules("connected-apps.result-not-repr"),
    ),
    Fault(
        "app-silent-change",
        "A call that changes something answers null.",
        Hooks(result=_silent),
        fails=rules("connected-apps.result-not-empty"),
        mutating=True,
    ),
    Fault(
        "app-dump",
        "A result has more text than a conversation bears.",
        _summary(lambda _: "Available. " * 10_000),
        advises=rules("connected-apps.result-size"),
    ),
    Fault(
        "app-long-urls",
        "A result has a URL with many parameters.",
        _summary(lambda _: f"See {_PIXEL} for the banner."),
        advises=rules("connected-apps.result-urls-short"),
    ),
    Fault(
        "app-ids-as-numbers",
        "A result has ids that are large numbers.",
        _data(order_id=7205759403792794),
        advises=rules("connected-apps.result-ids-as-strings"),
    ),
    Fault(
        "app-compressed-keys",
        "The keys of a list's objects are single letters.",
        _data(rows=[{"n": "Sports", "p": 4, "q": 9}, {"n": "News", "p": 5, "q": 2}]),
        advises=rules("connected-apps.result-labelled"),
    ),
    Fault(
        "app-card-number",
        "A result has a card number.",
        _summary(lambda _: "Billed to card 4111 1111 1111 1111."),
        advises=rules("connected-apps.result-sanitised"),
    ),
)
