"""Tool granularity: how much one tool does, how many there are, and which of them should not be there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pytest_adcp.harness.rules import Level, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.tasks import catalogue
from pytest_adcp.harness.text import quote

from .hits import SHOWN, Hit, called, report, tools_of
from .parameters import Parameter, parameters_of
from .words import Vocabulary, joined, words_of

GRANULARITY = connected_apps("tool-granularity")
_QUOTED = re.compile(r"[\"'`‘“]([A-Za-z][A-Za-z_-]{2,29})[\"'`’”]")
_HEALTH = "health"
_VALUES = 8  # that are shown
_TEXT = 2_000  # characters of a description that are looked at
_KINDS = {
    "create": ("create", "add", "insert", "new"),
    "update": ("update", "edit", "modify", "patch", "rename", "set"),
    "delete": ("delete", "remove", "drop"),
    "read": ("get", "read", "list", "find", "search", "view", "show"),
}
_KIND = {word: kind for kind, words in _KINDS.items() for word in words}


@rule("connected-apps.no-action-switch", level=Level.SHOULD, strength=Strength.REVIEW, source=GRANULARITY)
def one_tool_does_one_thing(app: App) -> None:
    """No tool has a parameter that chooses between creating, changing, deleting and reading.

    Make a tool of each value, with the parameters that it needs and no others: a model chooses by names, and a host asks
    before delete_user and not before get_user.
    """
    known = Vocabulary(app)
    hits = []
    for tool in tools_of(app):
        words = known.words(tool)
        if words and words[0] == "check":  # the action is what a right is asked for
            continue
        for parameter in parameters_of(tool):
            if parameter.depth > 1 or parameter.name not in app.standards.among("switch_parameters"):
                continue
            if values := _switched(parameter):
                noun = joined(word for word in words if not known.is_verb(word)) or "item"
                tools = ", ".join(_own_tool(value, noun) for value in values[:SHOWN])
                hits.append(
                    Hit(
                        f"{called(tool)} by its parameter {quote(parameter.name, 40)}",
                        ", ".join(quote(value, 40) for value in values[:_VALUES]),
                        tool.at(*parameter.at),
                        f"Make a tool of each, such as {tools}.",
                    )
                )
                break
    report(hits, "one tool does several things", "a tool for each action")


def _own_tool(value: str, noun: str) -> str:
    words = words_of(value)
    return joined(words) if len(words) > 1 else f"{joined(words)}_{noun}"


def _switched(parameter: Parameter) -> list[str]:
    """Return the values that are actions of different kinds; none where it only reads, or has no such values."""
    values = [value for value in parameter.values if isinstance(value, str)]
    if not values and not parameter.values and parameter.required:
        values = _QUOTED.findall(parameter.description[:_TEXT])
    kinds = {_kind(value) for value in values} - {""}
    return values if len(kinds) > 1 else []


def _kind(value: str) -> str:
    words = words_of(value)
    return _KIND.get(words[0], "") if words else ""


@rule("connected-apps.flat-input-schema", level=Level.SHOULD, strength=Strength.REVIEW, source=GRANULARITY)
def inputs_are_flat(app: App) -> None:
    """The inputs of a tool are flat: no deep nesting, and no required parameter that may be one of several objects.

    Lift what is often given to the arguments themselves, as plain parameters, and make a tool of each kind of object.
    """
    most = app.standards.limit("nesting")
    hits = []
    tasks = False
    for tool in tools_of(app):
        if hit := _nested(tool, most):
            hits.append(hit)
            tasks |= tool.name in catalogue()
    own = (
        "AdCP gives its tasks nested requests; leave those as they are, and tell the review so. "
        if tasks
        else ""
    )
    report(
        hits,
        "the input of a tool is deeply nested",
        f"at most {most} levels ({app.standards.whose('nesting')}), and one kind of object a required parameter",
        fix=f"{own}Of your own tools, lift to the arguments what is often given." if own else "",
    )


def _nested(tool: ListedTool, most: int) -> Hit | None:
    parameters = parameters_of(tool)
    deepest = max(parameters, key=lambda parameter: parameter.depth, default=None)
    if deepest is not None and deepest.depth > most:
        what = f"{quote(deepest.shown, 100)}, {deepest.depth} levels deep"
        return Hit(called(tool), what, tool.at(*deepest.at))
    if tool.name in catalogue():  # AdCP itself lets an account be given in several ways
        return None
    for parameter in parameters:
        if parameter.depth == 1 and parameter.required and (count := _objects(parameter)) > 1:
            what = f"{quote(parameter.shown, 100)}, which may be {count} kinds of object"
            return Hit(called(tool), what, tool.at(*parameter.at))
    return None


def _objects(parameter: Parameter) -> int:
    return sum(
        arm.get("type") == "object" or isinstance(arm.get("properties"), dict) for arm in parameter.arms
    )


@rule("connected-apps.tool-count", level=Level.SHOULD, strength=Strength.REVIEW, source=GRANULARITY)
def tools_are_few(app: App) -> None:
    """A server lists no more tools than a model can choose among.

    List the tools that people need for what the app is for, and put the others on an endpoint of their own. A tool that only
    your own interface calls is not counted: say "_meta": {"ui": {"visibility": ["app"]}}. An AdCP seller may need many
    tasks: then raise connected_apps.limits.tools in adcp.yaml and be ready to explain it.
    """
    tools = tools_of(app)
    most = app.standards.limit("tools")
    if len(tools) > most:
        report(
            [Hit(f"{len(tools)} of them", f"{len(tools)} tools", "/result/tools")],
            "the server lists more tools than a model chooses well among",
            f"at most {most} tools ({app.standards.whose('tools')})",
        )


@rule("connected-apps.no-internal-tools", level=Level.SHOULD, strength=Strength.GUIDANCE, source=GRANULARITY)
def no_tool_is_for_operating_the_server(app: App) -> None:
    """No tool is listed that serves the operation or the tests of the server itself.

    Put health checks, set-up and test helpers on another endpoint, or list them to other callers only. AdCP's
    comply_test_controller belongs on a sandbox endpoint: an app for people does not list it.
    """
    known = Vocabulary(app)
    hits = [
        Hit(called(tool), why, tool.at("name"))
        for tool in tools_of(app)
        if (why := _internal(app, known, tool))
    ]
    report(hits, "a tool is for operating or testing the server", "tools that people have a use for")


def _internal(app: App, known: Vocabulary, tool: ListedTool) -> str:
    """Say what in a name tells that its tool is for operating the server; empty where nothing does."""
    words = known.words(tool)
    if not words:
        return ""
    if _HEALTH in words and any(parameter.required for parameter in parameters_of(tool)):
        return ""  # the health of what is asked for: a service, a patient
    internal, starts = app.standards.among("internal_names"), app.standards.among("internal_verbs")
    if (name := joined(words)) in app.standards.among("internal_tools"):
        return f"{name}, a known name of such tools"
    if words[0] in internal and _is_of_the_server(app, words[0], words[1:]):
        return f"a name that begins with {words[0]}"
    # add_admin and transfer_internal say what a user wants done; project_admin does not.
    rest = tuple(word for word in words[:-1] if word not in app.standards.among("read_verbs"))
    if words[-1] in internal - starts and not any(known.is_verb(word) for word in rest):
        return f"a name that ends with {words[-1]}" if _is_of_the_server(app, words[-1], rest) else ""
    return ""


def _is_of_the_server(app: App, word: str, rest: tuple[str, ...]) -> bool:
    """Whether a word such as health, beside the rest of a name, is about the server and not about what people use it for."""
    if not rest or word not in {_HEALTH, "ping"} | app.standards.among("internal_verbs"):
        return True
    return any(each in app.standards.among("internal_objects") for each in rest)


@rule("connected-apps.tool-names-unique", level=Level.MUST, strength=Strength.REQUIRED, source=GRANULARITY)
def names_are_unique(app: App) -> None:
    """No two tools have the same name, over all pages of tools/list.

    Register each tool once. Where two mounted servers bring the same tool, give each of them a prefix.
    """
    report(_twice(app), "a name is listed more than once", "each name once")


def _twice(app: App) -> Iterator[Hit]:
    counts = Counter(tool.name for tool in app.tools)
    seen: Counter[str] = Counter()
    for tool in app.tools:
        seen[tool.name] += 1
        if seen[tool.name] == 2:
            yield Hit(called(tool), f"{quote(tool.name, 60)} {counts[tool.name]} times", tool.at("name"))
