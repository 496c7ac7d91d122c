"""Server instructions: what a model is told of a server before it sees a tool."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_adcp.harness.rules import Broken, Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import App
from pytest_adcp.harness.text import quote

from .hits import called, tools_of

INSTRUCTIONS = connected_apps("server-instructions")
AT = "/result/instructions"
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n\s*[-*]\s+")
_LONG_ENOUGH = 40  # characters of a sentence that two texts do not share by chance
_LIST = 2  # own tools that are named
_SHARE = 0.5  # of the server's tools: from there on it is a list of them


def _told(app: App) -> str:
    if not app.instructions.strip():
        raise NotApplicable("the server gives no instructions")
    return app.instructions


def _named(app: App, text: str) -> list[str]:
    """Return the server's own tools that a text names: a name that is a common word counts only in code quotes."""
    names = dict.fromkeys(tool.name for tool in app.tools if tool.name)
    return [name for name in names if _names(text, name)]


def _names(text: str, name: str) -> bool:
    word = re.escape(name)
    if re.search(r"[_\-.]|[a-z][A-Z]", name):
        return re.search(rf"(?<![\w-]){word}(?![\w-])", text) is not None
    return re.search(rf"`{word}(?:\([^`]*\))?`", text) is not None


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text with their white space folded."""
    for part in _SENTENCE.split(text):
        folded = " ".join(part.split())
        if folded:
            yield folded


@rule(
    "connected-apps.instructions-present",
    level=Level.SHOULD,
    strength=Strength.GUIDANCE,
    source=INSTRUCTIONS,
)
def instructions_are_given(app: App) -> None:
    """The server gives instructions in its initialize result, and they are not blank.

    Set `instructions` when the server is made (FastMCP("name", instructions="..."), new McpServer(info, {instructions})):
    a few sentences on what the server is for, whom it serves, and what it cannot do.
    """
    if not app.instructions.strip():
        raise Broken(
            "instructions that are a string and not blank",
            quote(app.instructions) if app.instructions else "none",
            at=AT,
            because="the server gives no instructions: a model learns what it is for from its tools alone",
        )


@rule(
    "connected-apps.instructions-no-tool-list",
    level=Level.SHOULD,
    strength=Strength.GUIDANCE,
    source=INSTRUCTIONS,
)
def instructions_do_not_list_tools(app: App) -> None:
    """The instructions do not list the tools again.

    Say what the server is for as a whole; what one tool does stands in its description, which the model has anyway.
    """
    text = _told(app)
    named = _named(app, text)
    tools = tools_of(app)
    listed = sum(bool(re.search(rf"(?m)^\s*(?:[-*+]|\d+[.)])\s.*{re.escape(name)}", text)) for name in named)
    if len(named) >= _LIST and (listed >= _LIST or len(named) > len(tools) * _SHARE):
        raise Broken(
            "instructions without a list of the tools",
            quote(text, 200),
            at=AT,
            because=f"the instructions name {len(named)} of the server's {len(tools)} tools, "
            f"such as {', '.join(quote(name, 60) for name in named[:3])}",
        )


@rule(
    "connected-apps.instructions-what-not-how",
    level=Level.SHOULD,
    strength=Strength.GUIDANCE,
    source=INSTRUCTIONS,
)
def instructions_say_what_not_how(app: App) -> None:
    """The instructions say what the server is for, not in which order its tools are called.

    Leave the order to the model. Where one tool needs what another returns, the description of the parameter says so.
    """
    text = _told(app)
    orders = app.standards.any_of("ordering_phrases")
    for sentence in sentences(text):
        if (found := orders.search(sentence)) and _named(app, sentence):
            raise Broken(
                "no order of calls in the instructions",
                quote(sentence, 200),
                at=AT,
                because=f"the instructions tell the model in which order to call tools ({quote(found[0], 40)})",
            )


@rule(
    "connected-apps.instructions-not-duplicated",
    level=Level.SHOULD,
    strength=Strength.GUIDANCE,
    source=INSTRUCTIONS,
)
def instructions_do_not_repeat_descriptions(app: App) -> None:
    """No sentence of a tool's description stands in the instructions too.

    Take the sentence out of the instructions: both texts are in the model's context at the same time.
    """
    told = {sentence for sentence in sentences(_told(app)) if len(sentence) >= _LONG_ENOUGH}
    for tool in tools_of(app):
        for sentence in sentences(tool.description):
            if sentence in told:
                raise Broken(
                    "sentences that stand in one place only",
                    quote(sentence, 200),
                    at=AT,
                    because=f"the instructions repeat the description of {called(tool)} word for word",
                )


@rule(
    "connected-apps.instructions-concise",
    level=Level.SHOULD,
    strength=Strength.GUIDANCE,
    source=INSTRUCTIONS,
)
def instructions_are_concise(app: App) -> None:
    """The instructions are short enough for a system prompt.

    Cut them to what holds for all tools: purpose, scope, limits. Details belong to the descriptions.
    """
    text = _told(app)
    most = app.standards.limit("instructions_characters")
    if len(text) > most:
        raise Broken(
            f"at most {most} characters ({app.standards.whose('instructions_characters')})",
            f"{len(text)} characters",
            at=AT,
            because=f"the instructions are {len(text)} characters long and go into every conversation",
        )
