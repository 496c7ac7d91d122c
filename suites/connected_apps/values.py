"""What the value of a parameter means: one of a closed set, a number of something, a date in some format."""

from __future__ import annotations

import re
from typing import Any

from pytest_adcp.harness.rules import Level, Strength, rule
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.text import quote

from .hits import Hit, report
from .inputs import NUMBERS, PARAMETERS, arguments_of, hit, to_paste, what_is_said
from .parameters import Parameter, parameters_of
from .texts import description_of, set_of
from .words import words_of

_QUOTED = r"(?:\"[\w.+-]{1,40}\"|'[\w.+-]{1,40}'|`[\w.+-]{1,40}`|`\"[\w.+-]{1,40}\"`|`'[\w.+-]{1,40}'`)"
_CAPITAL = r"[A-Z][A-Z0-9_]{1,40}(?![\w'])"
_GLOSS = r"(?: ?\([^()\n]{0,120}\))?"
_BETWEEN = r"(?:,? ?(?:or|and) |, ?| ?\| ?| ?/ ?)"
_INTRODUCED = (
    r"(?:\b(?i:must be|must have the value|one of|can be"
    r"|(?:(?:valid|allowed|possible|accepted|supported) )?(?:options?|values?)(?: are| is)?)"
    r"(?: (?i:either|one of))?(?: the following)?(?: values)?[:\s]{1,3}|(?:^|[.:] |\b(?i:is|be) )(?i:either) (?=[\"'`]))"
)


def _list_of(token: str) -> str:
    return rf"{token}{_GLOSS}(?:{_BETWEEN}{token}{_GLOSS}){{1,30}}"


_PIPED = r"[\w.+-]{1,40}(?: ?\| ?[\w.+-]{1,40}){1,30}"
_CLOSED = re.compile(rf"{_INTRODUCED}[(\[]?(?P<values>{_list_of(_QUOTED)}|{_list_of(_CAPITAL)}|{_PIPED})")
_TOKENS = (
    re.compile(_QUOTED),
    re.compile(r"[\w.+-]+(?= ?\|)|(?<=\|)[\w.+-]+|(?<=\| )[\w.+-]+"),
    re.compile(_CAPITAL),
)
_OPEN_BEFORE = re.compile(
    r"\b(?:e\.g|for example|examples?|such as|like|(?:comma|space)[- ]separated|includes?|including|combination|list of"
    r"|common(?:ly)?|typical(?:ly)?|usual(?:ly)?|known|popular|some|many)\b[^.\n]{0,60}$",
    re.I,
)
_OPEN_AFTER = re.compile(
    r"[\])]?\s?,?\s?(?:or (?:an?|any|the|another|other|some|your|leave|omit|empty|null|its)\b|etc|and (?:so|other|more)|\.\.\.|…"
    r"|,? ?(?:or|and) [^\s\"'`]|,? ?(?:or|and)? ?[\"'`])",
    re.I,
)


@rule("connected-apps.fixed-set-is-enum", level=Level.SHOULD, strength=Strength.GUIDANCE, source=PARAMETERS)
def closed_sets_are_enums(app: App) -> None:
    """A parameter that takes one of a few fixed values lists them in an enum.

    Write the values into `enum`: a model that is held to them cannot send another. In Python annotate with Literal[...], in zod
    use z.enum([...]).
    """
    report(
        (
            hit(
                tool,
                parameter,
                quote(what_is_said(tool, parameter)),
                f"list them: {to_paste(parameter, type='string', enum=values)}",
            )
            for tool, parameter in arguments_of(app)
            if parameter.types == {"string"}
            and not (parameter.values or parameter.said("pattern") or parameter.said("format"))
            and (values := _closed_set(what_is_said(tool, parameter)))
            and not _names_parameters(tool, values)
        ),
        "a text lists the only values of a parameter, and the schema lets any other pass",
        "the values in enum",
    )


def _closed_set(said: str) -> list[str]:
    said = said[:3000]
    for found in _CLOSED.finditer(said):
        before, after = said[max(0, found.start() - 80) : found.start()], said[found.end() : found.end() + 20]
        if _OPEN_BEFORE.search(before + found[0][:30].split('"')[0]) or _OPEN_AFTER.match(after):
            continue
        listed = re.sub(r"\([^()]{0,120}\)", "", found["values"])
        tokens = next(filter(None, (pattern.findall(listed) for pattern in _TOKENS)), [])
        values = list(dict.fromkeys(token.strip("\"'`") for token in tokens))
        if len(values) > 1:
            return values
    return []


def _names_parameters(tool: ListedTool, values: list[str]) -> bool:
    """Whether it is arguments that a text lets one choose from: "either 'text' or 'file' is given"."""
    names = {parameter.name for parameter in parameters_of(tool)}
    return any(value in names for value in values)


@rule("connected-apps.units-and-formats", level=Level.SHOULD, strength=Strength.GUIDANCE, source=PARAMETERS)
def numbers_have_units_and_dates_formats(app: App) -> None:
    """Numbers that measure something name their unit, and dates and times their format.

    Put the unit into the name or the description (timeout_seconds, "in metres"); give dates `"format": "date"` or
    `"date-time"` and say it in the description ("ISO 8601, e.g. 2026-05-01").
    """
    measures, units = app.standards.among("measure_names"), app.standards.among("unit_words")
    report(
        (
            found
            for tool, parameter in arguments_of(app)
            if not parameter.values
            for found in (
                [_unit_hit(tool, parameter)]
                if _lacks_unit(tool, parameter, measures, units)
                else [_format_hit(tool, parameter)]
                if _lacks_format(tool, parameter)
                else []
            )
        ),
        "a number without a unit, or a date without a format, is read in more than one way",
        "a unit for each measure, a format for each date",
    )


def _unit_hit(tool: ListedTool, parameter: Parameter) -> Hit:
    return hit(
        tool,
        parameter,
        quote(parameter.schema),
        "name the unit, such as: " + to_paste(parameter, description="... in seconds"),
    )


def _format_hit(tool: ListedTool, parameter: Parameter) -> Hit:
    kind = "date" if words_of(parameter.name)[-1] == "date" else "date-time"
    return hit(
        tool, parameter, quote(parameter.schema), f"name the format: {to_paste(parameter, format=kind)}"
    )


# Distances between things that have no length.
_PURE_NUMBER = re.compile(
    r"\b(?:cosine|edit|levenshtein|vectors?|similarity|ratio|fraction|factor|hops?|backoff)\b", re.I
)


def _lacks_unit(
    tool: ListedTool, parameter: Parameter, measures: frozenset[str], units: frozenset[str]
) -> bool:
    words = words_of(parameter.name)
    if not (parameter.types and parameter.types <= NUMBERS and words and words[-1] in measures):
        return False
    text = f"{what_is_said(tool, parameter)} {' '.join(words[:-1])} "
    named = {
        word for match in re.findall(r"[a-zµ]+", text.lower()) for word in (match, match.removesuffix("s"))
    }
    return not (
        named & units or "%" in text or _PURE_NUMBER.search(text) or _has_unit_beside(tool, parameter)
    )


def _has_unit_beside(tool: ListedTool, parameter: Parameter) -> bool:
    """Whether the object that holds a parameter has one for the unit."""
    holder: Any = tool.value
    for token in parameter.at[:-1]:
        holder = holder[token]
    return any(words_of(str(name))[-1:] in (("unit",), ("units",)) for name in list(holder)[:200])


_MOMENTS = set_of(
    """
    start end begin from to until till since after before departure arrival due event meeting pickup
    dropoff delivery publish publication scheduled schedule check in out created updated modified
    expiry expiration birth depart return reservation booking appointment
    """
)
_FORMATTED = re.compile(
    r"iso|rfc|yyyy|\bmm\b|hh|utc|unix|epoch|format|time ?zone|\d{4}-\d|\d{1,2}:\d{2}|relative|e\.g|example|such as|\bnow\b|today"
    r"|yesterday|tomorrow|natural|\btimestamp of\b|rrule|cron|local time|\"|'|`|\d[hmds]\b",
    re.I,
)


def _lacks_format(tool: ListedTool, parameter: Parameter) -> bool:
    words = words_of(parameter.name)
    if parameter.types != {"string"} or not _is_moment(words):
        return False
    given = ("format", "pattern", "examples", "default", "contentMediaType")
    return not any(parameter.said(key) for key in given) and not (
        _FORMATTED.search(what_is_said(tool, parameter)) or _speaks_of_format(description_of(tool))
    )


def _is_moment(words: tuple[str, ...]) -> bool:
    match words:
        case (*before, "date" | "datetime"):
            return "up" not in before
        case ("time",):
            return True
        case (*before, "time"):
            return before[-1] in _MOMENTS
        case (*_, participle, "at"):
            return (len(participle) > 3 and participle.endswith("ed")) or participle in (
                "sent",
                "begun",
                "made",
                "paid",
            )
    return False


def _speaks_of_format(description: str) -> bool:
    return (
        re.search(
            r"\b(?:ISO[ -]?8601|RFC[ -]?3339|YYYY-?MM-?DD|\d{4}-\d\d-\d\d|unix|epoch)", description, re.I
        )
        is not None
    )
