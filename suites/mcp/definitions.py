"""Tool definitions: what tools/list says of each tool beside its schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.subjects import Page
from pytest_adcp.harness.tasks import catalogue
from pytest_adcp.harness.text import quote

TOOL = mcp("schema", "tool")
_SINCE_ANNOTATIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
_SINCE_NAMES = ["2025-11-25", "2026-07-28"]
_SHOWN = 10  # further problems that one finding tells
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_REFUSED = "the official clients refuse the whole list for it, all other tools included"
_NULL = "Leave a member out that has no value (Pydantic: model_dump(exclude_none=True))."
# Tags and marks that turn text around: people see nothing of them, a model reads them. A flag such as Scotland's is
# the one use of tags that is seen.
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f")
_UNSEEN = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")

Tool = Mapping[str, Any]


def tools_of(page: Page) -> list[tuple[int, Tool]]:
    """Return the tools of a page that are objects, each with its index.

    Raises:
        NotApplicable: there is none.
    """
    tools = [(index, tool) for index, tool in enumerate(page.listed) if isinstance(tool, Mapping)]
    if not tools:
        raise NotApplicable("the page lists no tool")
    return tools


def label(tool: Tool, index: int) -> str:
    """Return what a tool is called in a message."""
    name = tool.get("name")
    return f"the tool {quote(name, 60)}" if isinstance(name, str) else f"the tool at index {index}"


def report(problems: Iterable[Broken]) -> None:
    """Raise the gravest of some problems with the others beside it; nothing where there is none."""
    found = list(problems)
    if not found:
        return
    first = min(found, key=lambda problem: bool(problem.lenient))
    others = [str(problem) for problem in found if problem is not first]
    more = [f"and {len(others) - _SHOWN} more of the kind"] if len(others) > _SHOWN else []
    first.further = [*others[:_SHOWN], *more]
    raise first


def _each(page: Page, judge: Callable[[Page, int, Tool], Iterator[Broken]]) -> None:
    """Try a judge on every tool of a page."""
    report([problem for index, tool in tools_of(page) for problem in judge(page, index, tool)])


def _holders(page: Page, *members: str) -> None:
    """Raise NotApplicable where no tool has any of these members."""
    if not any(member in tool for _, tool in tools_of(page) for member in members):
        raise NotApplicable(f"no tool on the page has {' or '.join(members)}")


# -- what a tool is --------------------------------------------------------------------------------------------


@rule("mcp.tools.definitions", level=Level.MUST, source=TOOL)
def tools_are_objects_with_names(page: Page) -> None:
    """Each entry of tools is an object whose name is a string.

    Build the list with the SDK's own types. An array of names, or an object with the names as its keys, is not
    what clients read.
    """
    if not page.listed:
        raise NotApplicable("the page lists no tool")
    problems = []
    for index, tool in enumerate(page.listed):
        is_object = isinstance(tool, Mapping)
        if is_object and isinstance(tool.get("name"), str):
            continue
        named = is_object and "name" in tool
        problems.append(
            Broken(
                "an object with a name, which is a string",
                quote(tool["name"] if named else tool, 100),
                at=page.at("tools", index, "name") if named else page.at("tools", index),
                because=f"the tool at index {index} has no name that is a string; {_REFUSED}",
            )
        )
    report(problems)


@rule("mcp.tools.names", level=Level.SHOULD, source=mcp("server/tools", "tool-names"), revisions=_SINCE_NAMES)
def names_are_portable(page: Page) -> None:
    """Tool names have 1 to 128 characters out of A-Z, a-z, 0-9, underscore, hyphen and dot.

    Rename the tool: no spaces, commas or slashes. AdCP tasks keep exactly the name that AdCP gives them.
    """

    def judge(page: Page, index: int, tool: Tool) -> Iterator[Broken]:
        name = tool.get("name")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            odd = sorted({character for character in name if not _NAME.fullmatch(character)})
            why = (
                f"has {quote(''.join(odd)[:20], 60)} in it"
                if odd
                else "is empty"
                if not name
                else "is too long"
            )
            yield Broken(
                "1 to 128 characters out of A-Z, a-z, 0-9, _, - and .",
                quote(name, 150),
                at=page.at("tools", index, "name"),
                because=f"the name of {label(tool, index)} {why}; hosts drop such tools or refuse the server",
            )

    _each(page, judge)


@rule("mcp.tools.description", level=Level.SHOULD, source=TOOL)
def tools_are_described(page: Page) -> None:
    """Each tool has a description that is not empty.

    Say in a sentence or two what the tool does and when to use it: it is all that a model has to choose by. Most SDKs
    take the docstring of the function, or a `description` argument.
    """

    def judge(page: Page, index: int, tool: Tool) -> Iterator[Broken]:
        description = tool.get("description")
        if description is None or (isinstance(description, str) and not description.strip()):
            place = ("tools", index, "description") if "description" in tool else ("tools", index)
            yield Broken(
                "a description",
                quote(description) if "description" in tool else "no such member",
                at=page.at(*place),
                because=f"{label(tool, index)} has no description; a model has only its name to go by",
            )

    _each(page, judge)


@rule(
    "mcp.tools.visible-description", level=Level.SHOULD, source=mcp("server/tools", "security-considerations")
)
def descriptions_hide_nothing(page: Page) -> None:
    """Descriptions of tools hold no characters that a model reads and a person does not see.

    Take Unicode tags (U+E0000 to U+E007F) and marks that turn text around out of names, titles and descriptions. They are
    how instructions are smuggled past the people who approve a tool; look where the text came from.
    """

    def judge(page: Page, index: int, tool: Tool) -> Iterator[Broken]:
        for member in ("description", "title"):
            text = tool.get(member)
            hidden = _UNSEEN.search(_FLAG.sub("", text)) if isinstance(text, str) else None
            if hidden:
                yield Broken(
                    "text that people can see",
                    f"U+{ord(hidden[0]):04X} in {quote(text, 150)}",
                    at=page.at("tools", index, member),
                    because=f"the {member} of {label(tool, index)} holds characters that nobody sees and a model reads",
                )

    _holders(page, "description", "title")
    _each(page, judge)


@rule("mcp.tools.texts", level=Level.MUST, source=TOOL)
def titles_and_descriptions_are_strings(page: Page) -> None:
    """Where a tool has a title or a description, each is a string.

    Leave a member out that has no value: null is none. With Pydantic, serialise with model_dump(exclude_none=True).
    """
    _holders(page, "title", "description")
    _each(page, lambda page, index, tool: _no_strings(page, index, tool, tool, ("title", "description"), ()))


def _no_strings(
    page: Page, index: int, tool: Tool, holder: Tool, members: Iterable[str], path: tuple[str | int, ...]
) -> Iterator[Broken]:
    for member in members:
        if member in holder and not isinstance(holder[member], str):
            yield _odd(page, index, tool, (*path, member), holder[member], "a string")


def _odd(
    page: Page,
    index: int,
    tool: Tool,
    path: tuple[str | int, ...],
    value: Any,
    expected: str,
    lenient: str = "",
) -> Broken:
    where = ".".join(str(token) for token in path)
    effect = "clients that go by the schema leave it out" if lenient else _REFUSED
    return Broken(
        expected,
        quote(value, 100),
        at=page.at("tools", index, *path),
        because=f"{where} of {label(tool, index)} is not {expected}; {effect}",
        fix=_NULL if value is None else "",
        lenient=lenient,
    )


# -- annotations, icons, execution -----------------------------------------------------------------------------


@rule(
    "mcp.tools.annotations",
    level=Level.MUST,
    source=mcp("schema", "toolannotations"),
    revisions=_SINCE_ANNOTATIONS,
)
def annotations_have_their_types(page: Page) -> None:
    """Annotations is an object, its title a string, and each of its hints true or false.

    Write readOnlyHint, destructiveHint, idempotentHint and openWorldHint as JSON booleans, or leave them out: not "true",
    not null.
    """

    def judge(page: Page, index: int, tool: Tool) -> Iterator[Broken]:
        if "annotations" not in tool:
            return
        annotations = tool["annotations"]
        if not isinstance(annotations, Mapping):
            yield _odd(page, index, tool, ("annotations",), annotations, "an object")
            return
        yield from _no_strings(page, index, tool, annotations, ("title",), ("annotations",))
        for hint in _HINTS:
            if hint in annotations and not isinstance(annotations[hint], bool):
                yield _odd(page, index, tool, ("annotations", hint), annotations[hint], "true or false")

    _holders(page, "annotations")
    _each(page, judge)


@rule(
    "mcp.tools.hints",
    level=Level.SHOULD,
    source=mcp("schema", "toolannotations"),
    revisions=_SINCE_ANNOTATIONS,
)
def hints_do_not_contradict(page: Page) -> None:
    """The hints of a tool agree with each other, and with what the AdCP task of its name does.

    Set readOnlyHint to true only on tools that change nothing, and destructiveHint to true only beside readOnlyHint false.
    Hosts ask nobody before they call a tool that is said to be read-only.
    """

    def judge(page: Page, index: int, tool: Tool) -> Iterator[Broken]:
        annotations = tool.get("annotations")
        if not isinstance(annotations, Mapping) or annotations.get("readOnlyHint") is not True:
            return
        if annotations.get("destructiveHint") is True:
            yield Broken(
                "destructiveHint false or left out beside readOnlyHint true",
                quote(annotations),
                at=page.at("tools", index, "annotations", "destructiveHint"),
                because=f"{label(tool, index)} says that it changes nothing and that it may destroy",
            )
        task = catalogue().get(name) if isinstance(name := tool.get("name"), str) else None
        if task is not None and task.mutating:
            yield Broken(
                "readOnlyHint false or left out",
                "readOnlyHint: true",
                at=page.at("tools", index, "annotations", "readOnlyHint"),
                because=f"{label(tool, index)} says that it changes nothing, and the AdCP task of that name does; a "
                "host calls it without asking anybody",
            )

    _holders(page, "annotations")
    _each(page, judge)


@rule("mcp.tools.icons", level=Level.MUST, source=mcp("schema", "icon"), revisions=_SINCE_NAMES)
def icons_can_be_read(page: Page) -> None:
    """Icons is an array of objects, each with a src that is a string, mimeType a string, sizes strings, theme light or dark.

    Write {"src": "https://...", "mimeType": "image/png", "sizes": ["48x48"]}. src is an https: or data: URL; clients refuse
    all else.
    """

    def judge(page: Page, index: int, tool: Tool) -> Iterator[Broken]:
        if "icons" not in tool:
            return
        icons = tool["icons"]
        if not isinstance(icons, list):
            yield _odd(page, index, tool, ("icons",), icons, "an array")
            return
        for number, icon in enumerate(icons[:_SHOWN]):
            yield from _icon(page, index, tool, ("icons", number), icon)

    _holders(page, "icons")
    _each(page, judge)


def _icon(page: Page, index: int, tool: Tool, path: tuple[str | int, ...], icon: Any) -> Iterator[Broken]:
    if not isinstance(icon, Mapping) or not isinstance(icon.get("src"), str):
        yield _odd(page, index, tool, path, icon, "an object with a src, which is a string")
        return
    yield from _no_strings(page, index, tool, icon, ("mimeType",), path)
    sizes = icon.get("sizes", [])
    if not isinstance(sizes, list) or not all(isinstance(size, str) for size in sizes):
        lenient = "a draft of MCP had one string there" if isinstance(sizes, str) else ""
        yield _odd(page, index, tool, (*path, "sizes"), sizes, "an array of strings", lenient)
    if icon.get("theme", "light") not in ("light", "dark"):
        yield _odd(
            page, index, tool, (*path, "theme"), icon["theme"], "light or dark", "it is only for the eye"
        )
    if not icon["src"].lower().startswith(("https://", "http://", "data:")):
        lenient = "MCP asks it of the client, not to load anything else"
        yield _odd(page, index, tool, (*path, "src"), icon["src"], "an https: or data: URL", lenient)


@rule(
    "mcp.tools.task-support",
    level=Level.MUST,
    source=mcp("schema", "toolexecution"),
    revisions=["2025-11-25"],
)
def task_support_is_known(page: Page) -> None:
    """Execution is an object, and its taskSupport is forbidden, optional or required (MCP 2025-11-25).

    Leave execution out where the tool runs no MCP tasks. AdCP's own submitted and working answers need none of it.
    """

    def judge(page: Page, index: int, tool: Tool) -> Iterator[Broken]:
        if "execution" not in tool:
            return
        execution = tool["execution"]
        if not isinstance(execution, Mapping):
            yield _odd(page, index, tool, ("execution",), execution, "an object")
        elif "taskSupport" in execution and execution["taskSupport"] not in (
            "forbidden",
            "optional",
            "required",
        ):
            support = execution["taskSupport"]
            expected = "forbidden, optional or required"
            yield _odd(page, index, tool, ("execution", "taskSupport"), support, expected)

    _holders(page, "execution")
    _each(page, judge)
