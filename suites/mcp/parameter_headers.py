"""Arguments of a call that go into headers too (x-mcp-header), as MCP 2026-07-28 has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from pytest_adcp.harness.calls import Variant
from pytest_adcp.harness.jsontext import pointer
from pytest_adcp.harness.modern import Modern, Varied
from pytest_adcp.harness.param_headers import KEYWORD, TOKEN, TYPES, Annotation, annotations_of
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.text import quote

from .definitions import label, report

_HEADER_MISMATCH = -32020
_EFFECT = "clients have to leave the tool out for it"
_CHANGED = {
    Variant.NO_PARAM: "lacks the Mcp-Param header of an argument",
    Variant.OTHER_PARAM: "says one thing in an Mcp-Param header and another in the argument",
}


def _transport(anchor: str) -> str:
    return mcp("basic/transports/streamable-http", anchor, revision=STATELESS_REVISION)


@rule("mcp.tools.header-annotations", level=Level.MUST, source=_transport("schema-extension"))
def annotations_can_be_followed(modern: Modern) -> None:
    """Each x-mcp-header of an inputSchema names a header of its own, on a string, integer or boolean that `properties` leads to.

    Write a name out of letters, digits and hyphens, once in a schema in whatever case, beside "type": "string", "integer" or
    "boolean". Take it out of items, anyOf, oneOf, allOf, $defs and of what a $ref leads to: no client finds the argument there.
    """
    tools = modern.result.get("tools") if modern.method == "tools/list" else None
    listed = enumerate(tools if isinstance(tools, list) else ())
    found = [
        (index, tool, tuple(annotations_of(tool.get("inputSchema"))))
        for index, tool in listed
        if isinstance(tool, Mapping)
    ]
    if not any(marked for _, _, marked in found):
        raise NotApplicable("no tool in it asks for an argument in a header")
    report(problem for index, tool, marked in found for problem in _problems(index, tool, marked))


def _problems(index: int, tool: Mapping[str, object], marked: tuple[Annotation, ...]) -> Iterator[Broken]:
    names = Counter(item.name.lower() for item in marked if isinstance(item.name, str))
    for item in marked:
        of = f"an x-mcp-header of {label(tool, index)}"
        at = f"/result/tools/{index}/inputSchema{pointer(*item.place)}"
        shown, named = quote(item.name, 80), isinstance(item.name, str)
        if not named or not TOKEN.fullmatch(item.name):
            expected = "a name of letters, digits and hyphens"
            because = f"{of} is no name that a header can have; {_EFFECT}"
            yield Broken(expected, shown, at=f"{at}/{KEYWORD}", because=because)
        elif names[item.name.lower()] > 1:
            because = f"{of} stands twice in the schema, as {shown}; {_EFFECT}"
            yield Broken("each name once, in whatever case", shown, at=f"{at}/{KEYWORD}", because=because)
        if item.path is None:
            because = f"{of} stands where no chain of properties leads to; {_EFFECT}"
            yield Broken(
                "a place under properties only", pointer(*item.place) or "the root", at=at, because=because
            )
        elif item.schema.get("type") not in TYPES:
            kind = quote(item.schema["type"], 80) if "type" in item.schema else "no type"
            because = f"{of} is on an argument that is no string, integer or boolean; {_EFFECT}"
            yield Broken(f"a type out of {', '.join(TYPES)}", kind, at=at, because=because)


@rule(
    "mcp.http.parameter-headers",
    level=Level.MUST,
    source=_transport("server-behavior-for-custom-headers"),
    probes=list(_CHANGED),
)
def parameter_headers_are_compared(varied: Varied) -> None:
    """A call whose Mcp-Param header is missing, or says something else than the argument, is refused with HTTP 400 and -32020.

    Compare each Mcp-Param header that the tool's inputSchema asks for with its argument before the call is served, or take
    x-mcp-header out of the schema: proxies act by the header, and the tool by the argument.
    """
    if varied.reply.status == 400 and varied.code == _HEADER_MISMATCH:
        return
    came = (
        "is served; who filters by the header lets through what the argument does"
        if varied.is_served
        else f"is refused with something else than HTTP 400 and {_HEADER_MISMATCH}, so a client does not look at its headers"
    )
    raise Broken(
        f"HTTP 400 and the error {_HEADER_MISMATCH}",
        varied.show(),
        because=f"a call that {_CHANGED[varied.variant]} {came}",
    )
