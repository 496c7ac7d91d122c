"""Tool annotations: what a host may call without asking, and what it asks a person about first."""

from __future__ import annotations

import re
from itertools import islice

from pytest_adcp.harness.rules import Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.tasks import catalogue
from pytest_adcp.harness.text import quote

from .hits import Hit, called, report, tools_of
from .instructions import sentences
from .parameters import parameters_of
from .words import Vocabulary

ANNOTATIONS = connected_apps("annotations")
SECURITY = connected_apps("security")
READ_ONLY, DESTRUCTIVE, OPEN_WORLD = "readOnlyHint", "destructiveHint", "openWorldHint"
_HINTS = (READ_ONLY, DESTRUCTIVE, "idempotentHint", OPEN_WORLD)
_TEXT = 4_000  # characters of a description that are looked at


def _paste(tool: ListedTool, **hints: bool) -> str:
    """Return what to write into a definition: the annotations that it has, with these hints."""
    kept = {name: tool.annotations[name] for name in _HINTS if isinstance(tool.annotations.get(name), bool)}
    return f'In {called(tool)} write "annotations": {quote({**kept, **hints}, 160)}.'


@rule(
    "connected-apps.annotations-explicit", level=Level.SHOULD, strength=Strength.GUIDANCE, source=ANNOTATIONS
)
def hints_are_given(app: App) -> None:
    """Each tool says readOnlyHint, destructiveHint and openWorldHint itself, each true or false.

    Write all three into every definition. What is left out counts as the worst: a host then asks before each call. Beside
    readOnlyHint true, destructiveHint has no meaning and may be left out.
    """
    known = Vocabulary(app)
    tools = tools_of(app)
    hits = []
    for tool in tools:
        if missing := _missing(tool):
            hints = {name: _likely(app, known, tool, name) for name in missing}
            reads = hints.get(READ_ONLY, tool.annotations.get(READ_ONLY)) is True
            hints = {name: value for name, value in hints.items() if name != DESTRUCTIVE or not reads}
            what = f"no {', '.join(missing)}" if tool.annotations else "no annotations"
            fix = f"{_paste(tool, **hints)} Judge by what the tool does: this is read from its name and text."
            at = tool.at("annotations") if "annotations" in tool.value else tool.at()
            hits.append(Hit(called(tool), what, at, fix))
    report(hits, "hints are left out", f"three hints, each true or false, on all {len(tools)} tools")


def _missing(tool: ListedTool) -> list[str]:
    said = {name for name in _HINTS if isinstance(tool.annotations.get(name), bool)}
    wanted = (
        [READ_ONLY, OPEN_WORLD]
        if tool.annotations.get(READ_ONLY) is True
        else [READ_ONLY, DESTRUCTIVE, OPEN_WORLD]
    )
    return [name for name in wanted if name not in said]


def _likely(app: App, known: Vocabulary, tool: ListedTool, hint: str) -> bool:
    """Return what a hint should say, as far as a name and a text tell; the careful value where they do not."""
    if hint == OPEN_WORLD:
        return not known.reads(tool) or bool(_outside(app, known, tool))
    return known.reads(tool) if hint == READ_ONLY else True


@rule("connected-apps.read-only-declared", level=Level.SHOULD, strength=Strength.GUIDANCE, source=ANNOTATIONS)
def reading_tools_say_so(app: App) -> None:
    """A tool that only looks something up says readOnlyHint: true.

    Add it: without it a host takes the tool for one that changes things, and asks a person before every call.
    """
    known = Vocabulary(app)
    tools = [tool for tool in tools_of(app) if any(name in tool.annotations for name in _HINTS)]
    if not tools:
        raise NotApplicable("no tool has hints; annotations-explicit says so")
    report(
        (
            Hit(called(tool), f"no {READ_ONLY}", tool.at("annotations"), _paste(tool, readOnlyHint=True))
            for tool in tools
            if known.reads(tool) and not isinstance(tool.annotations.get(READ_ONLY), bool)
        ),
        "a tool only looks something up and does not say so",
        f"{READ_ONLY}: true",
    )


@rule("connected-apps.destructive-declared", level=Level.MUST, strength=Strength.REQUIRED, source=SECURITY)
def writing_tools_do_not_claim_to_read(app: App) -> None:
    """A tool that changes something does not claim readOnlyHint: true.

    Write readOnlyHint false and destructiveHint true. A host calls what is read-only without asking anybody: a tool that
    claims it falsely deceives the person whose data it changes.
    """
    known = Vocabulary(app)
    certain: list[Hit] = []
    likely: list[Hit] = []
    for tool in tools_of(app):
        if tool.annotations.get(READ_ONLY) is not True or (sure := _surely_writes(app, known, tool)) is None:
            continue
        why = (
            "the AdCP task of that name changes state"
            if tool.name in catalogue()
            else "by its name it changes state"
        )
        at = tool.at("annotations", READ_ONLY)
        fix = _paste(tool, readOnlyHint=False, destructiveHint=True)
        hit = Hit(called(tool), f"{READ_ONLY}: true, and {why}", at, fix)
        (certain if sure else likely).append(hit)
    problem, expected = "a tool changes something and claims that it only reads", f"{READ_ONLY}: false"
    report(certain, problem, expected)
    report(
        likely,
        problem,
        expected,
        lenient="the name alone does not show it: what is created or set may be kept nowhere",
    )


_SAYS = re.compile(
    r"\W{0,4}(?:(?:this|the) (?:tool|action|function|method|endpoint|api)(?: can| will| is used to)? "
    r"|(?:use|call) (?:this|it)(?: tool)? to "
    r"|(?:tool|used|allows? (?:you|users?)|lets? (?:you|users?)) to |\w{2,20}ly |please )*(\w{2,30})",
    re.I,
)


def _surely_writes(app: App, known: Vocabulary, tool: ListedTool) -> bool | None:
    """Say whether it is sure, by name and text, that a tool changes something; None where it seems to change nothing.

    The verb in a name may be a noun: send_volume, update_frequency. It is none where no noun is spelt like it, or where a
    sentence of the description begins with a verb of change.
    """
    if not known.writes(tool):
        return None
    if tool.name in catalogue():
        return True
    starts = [
        found[1].lower()
        for sentence in islice(sentences(tool.description[:_TEXT]), 10)
        if (found := _SAYS.match(sentence))
    ]
    changes = any(_is_form(start, app.standards.among("write_verbs")) for start in starts)
    unmistakable = known.words(tool)[0] in app.standards.among("unmistakable_verbs")
    if starts and _is_form(starts[0], app.standards.among("read_verbs") | _TELLING):
        return False if unmistakable or changes else None
    if unmistakable:
        return True
    if starts and not changes:
        return None
    return changes and known.writes(tool, "certain_write_verbs")


_TELLING = frozenset(
    {"calculate", "check", "count", "describe", "estimate", "report", "return", "show", "tell"}
)


def _is_form(word: str, verbs: frozenset[str]) -> bool:
    """Whether a word is one of some verbs, in the imperative or the third person."""
    return not {word, word.removesuffix("s"), word.removesuffix("es")}.isdisjoint(verbs)


@rule(
    "connected-apps.annotations-consistent", level=Level.MUST, strength=Strength.REQUIRED, source=ANNOTATIONS
)
def hints_do_not_contradict(app: App) -> None:
    """No tool says readOnlyHint: true and destructiveHint: true.

    Decide which it is. A tool that changes nothing has no destructiveHint, or says false; all others say readOnlyHint false.
    """
    known = Vocabulary(app)
    report(
        (
            Hit(
                called(tool),
                quote({name: tool.annotations[name] for name in (READ_ONLY, DESTRUCTIVE)}),
                tool.at("annotations", DESTRUCTIVE),
                _paste(tool, destructiveHint=False)
                if known.reads(tool)
                else _paste(tool, readOnlyHint=False),
            )
            for tool in tools_of(app)
            if tool.annotations.get(READ_ONLY) is True and tool.annotations.get(DESTRUCTIVE) is True
        ),
        "a tool says that it changes nothing and that it may destroy",
        f"{DESTRUCTIVE} false or left out beside {READ_ONLY} true",
    )


@rule(
    "connected-apps.write-declared-destructive",
    level=Level.SHOULD,
    strength=Strength.REQUIRED,
    source=ANNOTATIONS,
)
def writing_tools_are_declared_destructive(app: App) -> None:
    """Each tool that changes something says destructiveHint: true, not only those that delete.

    Write true, or leave it out, which counts as true: it is what makes the platform ask a person to confirm. MCP itself lets a
    tool that only adds something say false, so other hosts will ask more often than they need to.
    """
    known = Vocabulary(app)
    report(
        (
            Hit(
                called(tool),
                f"{DESTRUCTIVE}: false",
                tool.at("annotations", DESTRUCTIVE),
                _paste(tool, destructiveHint=True),
            )
            for tool in tools_of(app)
            if tool.annotations.get(DESTRUCTIVE) is False
            and tool.annotations.get(READ_ONLY) is not True
            and known.writes(tool)
        ),
        "a tool changes something and says that it is not destructive, so that nobody is asked to confirm",
        f"{DESTRUCTIVE}: true (MCP would allow false for what only adds)",
    )


@rule(
    "connected-apps.open-world-declared", level=Level.SHOULD, strength=Strength.REQUIRED, source=ANNOTATIONS
)
def tools_say_that_they_reach_outside(app: App) -> None:
    """A tool that reaches into the web, or to other people, says openWorldHint: true.

    Write true, or leave it out, which counts as true in MCP.
    """
    known = Vocabulary(app)
    report(
        (
            Hit(
                called(tool),
                f"{OPEN_WORLD}: false, and {outside}",
                tool.at("annotations", OPEN_WORLD),
                _paste(tool, openWorldHint=True),
            )
            for tool in tools_of(app)
            if tool.annotations.get(OPEN_WORLD) is False and (outside := _outside(app, known, tool))
        ),
        "a tool reaches outside and says that it does not",
        f"{OPEN_WORLD}: true",
    )


def _outside(app: App, known: Vocabulary, tool: ListedTool) -> str:
    """Say what shows that a tool reaches into the world outside; empty where nothing does.

    An address shows it only where nothing is written: create_link may keep it, and go nowhere.
    """
    if found := app.standards.any_of("open_world_phrases").search(tool.description[:_TEXT]):
        return f"its description says {quote(found[0], 60)}"
    names = app.standards.among("address_parameters")
    for parameter in () if known.writes(tool) else parameters_of(tool):
        if parameter.depth == 1 and parameter.name.lower() in names and "boolean" not in parameter.types:
            return f"it takes {quote(parameter.name, 40)}"
    return ""
