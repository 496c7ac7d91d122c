"""Parameters that ask for what is not a tool's to know: the agent's state, personal data, credentials."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_adcp.harness.rules import Level, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.text import quote

from .hits import Hit, report
from .inputs import arguments_of, hit
from .parameters import Parameter
from .words import joined, words_of

SECURITY = connected_apps("security")
_SWITCHES = frozenset({"boolean", "integer", "number"})  # hold no text of the agent: whether, or how much


@rule("connected-apps.parameter-name-safe", level=Level.MUST, strength=Strength.NEVER, source=SECURITY)
def no_parameter_asks_for_agent_state(app: App) -> None:
    """No parameter asks for the agent's inner state: its system prompt, or the conversation.

    Take it away, and ask for what the tool needs to know: a question, a topic, a time span.
    """
    makers = app.standards.among("agent_making_words")
    report(
        (
            found
            for tool, parameter, found in _named(
                app,
                "agent_state_names",
                "ask for what the tool needs to know: a question, a topic, a time span",
            )
            if not makers & set(words_of(tool.name))  # there it is data of the assistant that is made
            and not (parameter.values or (parameter.types and parameter.types <= _SWITCHES))
        ),
        "a parameter asks for what the agent was told or has talked about",
        "parameters for the tool's own task",
    )


@rule("connected-apps.no-pii-request", level=Level.SHOULD, strength=Strength.NEVER, source=SECURITY)
def no_parameter_asks_for_raw_personal_data(app: App) -> None:
    """No parameter takes raw personal data: numbers of identity papers and cards, health, a home address.

    Let people enter it on a page of yours, or keep it in their account there, and take a reference to it.
    """
    report(
        _once(
            (parameter, found)
            for _, parameter, found in _named(
                app,
                "personal_names",
                "take a reference to what the user keeps in an account of yours or enters on a page of yours",
            )
            if parameter.types <= {"string", "integer", "number"}
        ),
        "a parameter takes raw personal data through the model",
        "a reference to data that the user gave elsewhere",
    )


@rule("connected-apps.no-credential-parameter", level=Level.SHOULD, strength=Strength.NEVER, source=SECURITY)
def no_parameter_takes_credentials(app: App) -> None:
    """Rights come from OAuth; no parameter takes keys or tokens.

    Take the parameter away and read who calls from the Authorization header of the request.
    """
    report(
        _once(
            (parameter, found)
            for _, parameter, found in _named(
                app, "credential_names", "read who calls from the Authorization header"
            )
            # Deeper ones are for somebody else: where a webhook goes, whose list is read.
            if parameter.depth == 1 and parameter.types <= {"string"}
        ),
        "a parameter takes a key or a token, which then stands in the conversation",
        "the caller's rights from OAuth",
    )


def _named(app: App, words: str, instead: str) -> Iterator[tuple[ListedTool, Parameter, Hit]]:
    names = app.standards.among(words)
    for tool, parameter in arguments_of(app):
        if joined(words_of(parameter.name)) in names:
            found = hit(
                tool,
                parameter,
                quote(parameter.schema),
                f"take {quote(parameter.shown, 60)} out of the schema, and {instead}",
            )
            yield tool, parameter, found


def _once(found: Iterator[tuple[Parameter, Hit]]) -> Iterator[Hit]:
    """Yield a hit for each name: the same parameter often stands in many tools."""
    seen: set[str] = set()
    for parameter, each in found:
        if joined(words_of(parameter.name)) not in seen:
            seen.add(joined(words_of(parameter.name)))
            yield each
