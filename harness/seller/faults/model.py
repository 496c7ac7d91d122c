"""What a fault is, and the hooks that most of them are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_adcp.harness.seller.exchange import Exchange, Hooks, ToolCall
from pytest_adcp.harness.seller.rpc import Json
from pytest_adcp.harness.tasks import catalogue


class UnknownFaultError(LookupError):
    """There is no fault of that name; the text names the nearest ones."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that a seller does wrong, and the rules that have to say so: no fewer and no more."""

    name: str
    says: str
    hooks: Hooks
    fails: frozenset[str] = frozenset()  # ids of MUST rules
    advises: frozenset[str] = frozenset()  # ids of SHOULD rules
    fails_schema: frozenset[str] = frozenset()  # ids of MUST rules that need AdCP's schemas to say so
    blocks: bool = False  # keeps rules from a verdict: no answer comes, or all are good, or all are bad
    ends_survey: bool = False  # nobody can be surveyed: the run says so in place of its rules
    needs: Mapping[str, Any] = field(default_factory=dict)  # members of SellerOptions
    production: bool = False  # it is judged as a production server
    engine: bool = False  # its rules need jsonschema-rs
    asks: Mapping[str, Any] = field(
        default_factory=dict
    )  # members of PlanRequest without which no rule sees it
    mutating: bool = False  # its rules need mutating tasks to be called
    calls: tuple[Mapping[str, Any], ...] = ()  # calls of adcp.yaml without which the rules have no subject

    @property
    def is_for_apps(self) -> bool:
        """Whether its rules are those of the connected-apps profile."""
        return "app" in self.asks or any(
            rule.startswith("connected-apps.") for rule in self.fails | self.advises
        )

    @property
    def is_legal(self) -> bool:
        """Whether it is none: what it does is another way to conform, and no rule may object to it."""
        return not (self.fails or self.advises or self.fails_schema or self.blocks)

    @property
    def mutates(self) -> bool:
        """Whether its rules need calls that change something: those of mutating tasks, or its own."""
        tools = (catalogue().get(call["tool"]) for call in self.calls)
        return self.mutating or any(task is not None and task.mutating for task in tools)

    @property
    def interop(self) -> bool:
        """Whether its rules need the official client; all others are judged without, which takes a second less."""
        return any(rule.startswith("mcp.interop.") for rule in self.advises)


def breaking(name: str, says: str, hooks: Hooks, fails: str = "", advises: str = "", **needs: Any) -> Fault:
    """Return a fault that breaks one rule of each level at most; `needs` are members of SellerOptions."""
    return Fault(
        name,
        says,
        hooks,
        rules(fails) if fails else frozenset(),
        rules(advises) if advises else frozenset(),
        needs=needs,
    )


def rules(*ids: str) -> frozenset[str]:
    """Return a set of rule ids."""
    return frozenset(ids)


def on_success(edit: Callable[[Json], Json]) -> Hooks:
    """Change the results of tasks that succeed."""

    def hook(call: ToolCall, result: Json) -> Json:
        return edit(result) if call.ordinal and not result["isError"] else result

    return Hooks(result=hook)


def on_failure(edit: Callable[[Json], Json]) -> Hooks:
    """Change the results of tasks that fail."""

    def hook(call: ToolCall, result: Json) -> Json:
        return edit(result) if call.ordinal and result["isError"] else result

    return Hooks(result=hook)


def on_call(edit: Callable[[Json], Json | bytes]) -> Hooks:
    """Change the JSON-RPC responses to calls of tasks."""

    def hook(exchange: Exchange, message: Json, _: int) -> Json | bytes:
        return edit(message) if exchange.ordinal and "result" in message else message

    return Hooks(message=hook)


def on_method(method: str, edit: Callable[[Json], Json]) -> Hooks:
    """Change the results of a JSON-RPC method."""

    def hook(exchange: Exchange, message: Json, _: int) -> Json:
        if exchange.method != method or "result" not in message:
            return message
        return {**message, "result": edit(message["result"])}

    return Hooks(message=hook)
