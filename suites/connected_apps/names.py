"""Tool names: what a model and a person read first, and often all that they choose by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_adcp.harness.rules import Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.text import quote

from .hits import Hit, called, report, tools_of
from .words import LONGEST, Vocabulary, joined, one_edit, words_of

NAMES = connected_apps("tool-granularity")
SECURITY = connected_apps("security")
_ALLOWED = re.compile(
    r"[A-Za-z0-9_.-]+"
)  # by MCP; names with more in them are the business of mcp.tools.names
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_CAMEL = re.compile(r"[a-z][a-zA-Z0-9]*")
_LONG_ENOUGH = 3  # letters of a word that another one is a near copy of
_ALIKE = 50  # names that differ in one word only and are compared with each other


def _hit(tool: ListedTool, received: str, fix: str = "") -> Hit:
    return Hit(called(tool), received, tool.at("name"), fix)


@rule("connected-apps.tool-name-case", level=Level.SHOULD, strength=Strength.GUIDANCE, source=NAMES)
def names_are_in_one_of_two_cases(app: App) -> None:
    """Tool names are in snake_case or camelCase.

    Rename the tools. It is an advisory only: names with hyphens work, and the platform's own pages have one in an example.
    """
    odd = [
        tool
        for tool in tools_of(app)
        if _ALLOWED.fullmatch(tool.name) and not (_SNAKE.fullmatch(tool.name) or _CAMEL.fullmatch(tool.name))
    ]
    report(
        (_hit(tool, quote(tool.name, 60), _rename(tool)) for tool in odd),
        "a tool's name is in neither snake_case nor camelCase",
        "a name such as find_restaurant or findRestaurant",
    )


def _rename(tool: ListedTool) -> str:
    name = joined(words_of(tool.name))
    if not _SNAKE.fullmatch(name):
        return ""
    return f'Write "name": {quote(name, 60)}, and go on answering calls of the old name for a while without listing it.'


@rule("connected-apps.tool-name-one-style", level=Level.SHOULD, strength=Strength.GUIDANCE, source=NAMES)
def names_are_in_one_style(app: App) -> None:
    """All tools of a server are named in one style: snake_case, camelCase or kebab-case.

    Take the style that most of the tools have, snake_case where you can choose. AdCP's own tasks are in snake_case.
    """
    styles: dict[str, list[ListedTool]] = {}
    for tool in tools_of(app):
        if style := _style(tool.name):
            styles.setdefault(style, []).append(tool)
    if not styles:
        raise NotApplicable("no tool's name has two words, which alone show a style")
    usual = max(styles, key=lambda style: (len(styles[style]), style == "snake_case"))
    report(
        (_hit(tool, style) for style, tools in styles.items() if style != usual for tool in tools),
        f"names are in {' and '.join(sorted(styles))}; these are not in {usual}",
        f"names in {usual} throughout",
    )


def _style(name: str) -> str:
    """Return the style of a name; empty where one word, or a mixture, shows none."""
    if not _ALLOWED.fullmatch(name) or "." in name:
        return ""
    if "-" in name:
        return "" if "_" in name else "kebab-case"
    if "_" in name.strip("_"):
        return "snake_case" if name.islower() else ""
    return "camelCase" if re.search(r"[a-z0-9][A-Z]", name) else ""


@rule("connected-apps.tool-name-verb-noun", level=Level.SHOULD, strength=Strength.GUIDANCE, source=NAMES)
def names_have_a_verb_and_a_noun(app: App) -> None:
    """A tool's name says what it does and to what: a verb and a noun.

    Name the action first, then the thing: list_orders, not orders; search_flights, not search. If the verb is one that this
    harness does not know, add it under connected_apps.words.verbs in adcp.yaml.
    """
    known = Vocabulary(app)
    hits = []
    for tool in tools_of(app):
        words = words_of(tool.name) if tool.name.isascii() else ()
        if len(words) == 1:
            hits.append(_hit(tool, "one word"))
        elif words and not known.first_verb(tool):
            hits.append(_hit(tool, "no verb that is known"))
    report(
        hits, "a tool's name does not say what is done to what", "a verb and a noun, such as search_flights"
    )


@rule("connected-apps.tool-name-specific", level=Level.MUST, strength=Strength.NEVER, source=SECURITY)
def names_are_no_catch_alls(app: App) -> None:
    """No tool has a name that could stand for anything, such as execute, run, tool or helper.

    Name what the tool does: run_report instead of run, summarize_invoice instead of process. A tool that does several things
    becomes several tools.
    """
    names = app.standards.among("catch_all_names")
    report(
        (_hit(tool, quote(tool.name, 60)) for tool in tools_of(app) if joined(words_of(tool.name)) in names),
        "a tool's name could stand for anything",
        "a name that tells this tool from all others, such as run_report",
    )


@rule("connected-apps.tool-name-generic-word", level=Level.SHOULD, strength=Strength.NEVER, source=SECURITY)
def names_are_not_made_of_generic_words(app: App) -> None:
    """A tool's name is not made of generic words only, and no verb such as manage hides what is done.

    Say what is done, and to what: create_user and delete_user instead of manage_user, parse_invoice instead of process_data.
    """
    generic, vague = app.standards.among("generic_words"), app.standards.among("vague_verbs")
    catch_alls = app.standards.among("catch_all_names")
    known = Vocabulary(app)
    hits = []
    for tool in tools_of(app):
        words = known.words(tool)
        if not words or joined(words_of(tool.name)) in catch_alls:
            continue
        if len(words) > 1 and all(word in generic for word in words):
            hits.append(_hit(tool, "generic words only"))
        elif len(words) > 1 and words[0] in vague:
            noun = joined(words[1:])
            cure = f"Name what is done: create_{noun}, update_{noun}, delete_{noun}, each a tool of its own."
            hits.append(_hit(tool, f"{quote(words[0], 40)}, which may be anything", cure))
    report(hits, "a tool's name does not say what is done", "words that tell this tool from others")


@rule("connected-apps.tool-name-lookalike", level=Level.SHOULD, strength=Strength.NEVER, source=SECURITY)
def names_are_no_near_copies(app: App) -> None:
    """No tool's name is the near copy of a trusted tool's name, by one letter or by letters of another alphabet.

    Write the name in ASCII letters, and choose one that is your own. Which tools are trusted is listed in adcp.yaml, under
    connected_apps.words.trusted_tools; the list is empty at first.
    """
    trusted = app.standards.words["trusted_tools"]
    hits = []
    for tool in tools_of(app):
        name = tool.name[:LONGEST]
        if odd := next((letter for letter in name if letter.isalpha() and not letter.isascii()), ""):
            where = f"U+{ord(odd):04X} in {quote(name, 60)}"
            hits.append(_hit(tool, where, "Write the name in ASCII letters."))
        elif near := next((other for other in trusted if one_edit(name.lower(), other)), ""):
            hits.append(_hit(tool, f"one letter from {quote(near, 60)}"))
    report(
        hits,
        "a tool's name looks like another one, and is not",
        "ASCII letters, and no near copy of a trusted name",
    )


@rule("connected-apps.tool-name-distinct", level=Level.SHOULD, strength=Strength.GUIDANCE, source=NAMES)
def names_are_told_apart(app: App) -> None:
    """No two tools have names that differ by case, separator or one letter only.

    Name what sets them apart: get_product_details and search_products instead of get_product and get_products; or make one
    tool of the two. Where both names are of one tool, list one of them.
    """
    tools = tools_of(app)
    report(
        (
            Hit(f"{called(one)} and {called(other)}", quote(other.name, 60), other.at("name"))
            for one, other in (*_same_words(tools), *_near_words(tools, Vocabulary(app)))
        ),
        "two tools have almost the same name",
        "names that differ by a word",
    )


def _same_words(tools: Sequence[ListedTool]) -> Iterator[tuple[ListedTool, ListedTool]]:
    """Yield pairs that differ by case or separator only, each with the first of its kind."""
    first: dict[str, ListedTool] = {}
    for tool in tools:
        if word := "".join(words_of(tool.name)):
            other = first.setdefault(word, tool)
            if other.name != tool.name:
                yield other, tool


def _near_words(tools: Sequence[ListedTool], known: Vocabulary) -> Iterator[tuple[ListedTool, ListedTool]]:
    """Yield pairs whose names differ in one word, by one letter. Two verbs differ for good: get_ and set_."""
    alike: dict[tuple[object, ...], list[tuple[str, ListedTool]]] = {}
    for tool in tools:
        words = words_of(tool.name)
        for index, word in enumerate(words):
            alike.setdefault((words[:index], words[index + 1 :]), []).append((word, tool))
    for group in alike.values():
        for at, (word, tool) in enumerate(group[:_ALIKE]):
            for other, one in group[:at]:
                both_verbs = known.is_verb(word) and known.is_verb(other)
                if max(len(word), len(other)) >= _LONG_ENOUGH and one_edit(word, other) and not both_verbs:
                    yield one, tool
