"""Results: what the platform can read of an answer. It reads texts, and no structuredContent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import Result
from pytest_adcp.harness.tasks import catalogue
from pytest_adcp.harness.text import plural, quote

from .result_texts import Text, items_of, says_the_same, texts_of
from .words import words_of

RESPONSES = connected_apps("responses")
BOTH = "AdCP lets the text be a summary, and both can be served: structuredContent and the JSON text"
TO_PASTE = (
    'Python: return CallToolResult(content=[TextContent(type="text", text=json.dumps(data))], structuredContent=data). '
    'TypeScript: return {content: [{type: "text", text: JSON.stringify(data)}], structuredContent: data}. '
    "A summary may stand in a text block of its own beside it."
)
_NOTHING = frozenset({"", "null", "none", '""', "''", "{}", "[]", "undefined"})
_ONLY_VERBS = frozenset({"add", "create", "insert", "remove", "upsert"})
_CUT = 10_000  # characters in which a printout shows
# How texts begin that a language printed: single-quoted keys or items, an object's own printout, a default one.
_PRINTED = re.compile(
    r"[\s\[(]{0,20}\{\s{0,20}'[^'\n]{0,200}'\s{0,20}:"
    r"|\s{0,20}<[\w.]{1,200} object at 0x[0-9a-fA-F]{4,16}>"
    r"|\s{0,20}\[object Object\]"
    r"|(?P<loose>[\s\[(]{0,20}[A-Z]\w{0,80}\(\w{1,80}=['\d\[{TFN]|\s{0,20}\w{1,80}='[^'\n]{0,200}' \w{1,80}=)"
)
_PRINTED_LIST = re.compile(r"\s{0,20}\[\s{0,20}'[^'\n]{0,200}'\s{0,20}(?:,[^\n]{0,10000})?\]\s{0,20}")


def _data(result: Result) -> Mapping[str, Any]:
    """Return the structured data of a success.

    Raises:
        NotApplicable: there is none, or the call failed: readable text is enough for that.
    """
    if result.value.get("isError"):
        raise NotApplicable("the call failed; connected-apps.error-readable is about its text")
    structured = result.value.get("structuredContent")
    if not isinstance(structured, Mapping) or not structured:
        raise NotApplicable("the result has no structured data: a sentence is a good answer")
    return structured


@rule("connected-apps.result-json-text", level=Level.MUST, strength=Strength.REQUIRED, source=RESPONSES)
def data_is_there_as_text(result: Result) -> None:
    """Structured data of a result stands in its text too, as JSON.

    Put the JSON of structuredContent into a text block. Python: TextContent(type="text", text=json.dumps(data)).
    TypeScript: {type: "text", text: JSON.stringify(data)}.
    """
    tool = result.server.tool(result.tool) or {}
    declared = isinstance(tool.get("outputSchema"), Mapping) and not result.value.get("isError")
    bare = declared and result.value.get("structuredContent") is None
    structured = {} if bare else _data(result)
    texts = texts_of(result.value)
    if any(text.is_data for text in texts) or (structured and says_the_same(texts, structured)):
        return
    what = "structuredContent holds data" if structured else "the tool declares an outputSchema"
    raise Broken(
        "a text block with the data as JSON",
        quote([text.text for text in texts], 200) if texts else "no text",
        at=result.at(*texts[0].place) if texts else result.at(),
        because=f"{what}, and no text has it as JSON; the platform reads texts, so a model sees {_seen(texts)}. {BOTH}",
        fix=TO_PASTE,
        lenient="it is so little that a sentence can hold it" if texts and _is_small(structured) else "",
    )


def _is_small(structured: Mapping[str, Any]) -> bool:
    """Whether data has neither a list nor an object with something in it."""
    return bool(structured) and not any(
        value and isinstance(value, dict | list) for value in structured.values()
    )


def _seen(texts: tuple[Text, ...]) -> str:
    return f"{quote(texts[0].text, 50)} alone" if texts else "nothing"


@rule(
    "connected-apps.result-text-equals-structured",
    level=Level.SHOULD,
    strength=Strength.GUIDANCE,
    source=RESPONSES,
)
def text_and_data_agree(result: Result) -> None:
    """The JSON text of a result says the same as structuredContent.

    Make both from one object: text=json.dumps(data) or JSON.stringify(data), structuredContent=data.
    """
    structured = _data(result)
    texts = texts_of(result.value)
    told = [text for text in texts if text.is_data]
    if not told:
        raise NotApplicable("no text is JSON (connected-apps.result-json-text)")
    if says_the_same(texts, structured):
        return
    shown = told[0]
    missing = [name for name in structured if not isinstance(shown.value, dict) or name not in shown.value]
    other = [
        name for name in structured if name not in missing and not equal(structured[name], shown.value[name])
    ]
    told_of = (
        f"{plural(len(missing), 'member')} of structuredContent missing: {quote(missing[:5], 100)}"
        if missing
        else ""
    )
    differs = f"another value of {quote(other[:5], 100)}" if other else ""
    raise Broken(
        "the JSON of structuredContent",
        "; ".join(part for part in (told_of, differs) if part) or quote(shown.text, 160),
        at=result.at(*shown.place),
        because="the JSON text says something else than structuredContent; the platform goes by the text, AdCP clients by the other",
    )


@rule("connected-apps.result-single-json", level=Level.SHOULD, strength=Strength.GUIDANCE, source=RESPONSES)
def a_list_is_one_text(result: Result) -> None:
    """A list stands in one text block, as one JSON array.

    Return the array as one JSON text: json.dumps(items), JSON.stringify(items). The official Python SDK makes a
    block of each item of a list that a tool returns: return {"items": items}, or the text itself.
    """
    texts = texts_of(result.value)
    if len(texts) < 2:
        raise NotApplicable("the result has no two texts")
    structured = result.value.get("structuredContent")
    wrapped = structured.get("result") if isinstance(structured, Mapping) else None
    split = isinstance(wrapped, list) and items_of(texts, wrapped)
    if structured is None and all(text.is_json and isinstance(text.value, dict) for text in texts):
        names = {frozenset(text.value) for text in texts}
        split = len(names) == 1
    elif structured is None and not split:
        split = all(
            text.is_json and isinstance(text.value, int | float) and not isinstance(text.value, bool)
            for text in texts
        )
    if split:
        raise Broken(
            "one text block with a JSON array",
            f"{len(texts)} text blocks, such as {quote(texts[0].text, 80)}",
            at=result.at("content"),
            because=f"a list came as {len(texts)} texts, an item each: a model sees pieces and no list",
        )


@rule("connected-apps.result-not-repr", level=Level.MUST, strength=Strength.REQUIRED, source=RESPONSES)
def texts_are_no_printout(result: Result) -> None:
    """The text of a result is JSON or prose, not what a programming language prints of its objects.

    Write it with json.dumps(data) or JSON.stringify(data), not str(data), repr(data), f"{data}" or "" + data.
    With Pydantic: data.model_dump_json().
    """
    texts = texts_of(result.value)
    if not texts:
        raise NotApplicable("the result has no text")
    for text in texts:
        head = text.text[:_CUT]
        printed = _PRINTED.match(head) or (len(head) < _CUT and _PRINTED_LIST.fullmatch(head))
        if printed and not text.is_json:
            raise Broken(
                "JSON, or a sentence",
                quote(text.text, 160),
                at=result.at(*text.place),
                because="the text is a printout of a programming language and no JSON; a model has to guess what it means",
                # Of one object there is one line; several may be a log, or the source text that was asked for.
                lenient="it may be a log, or a text that was asked for as it is"
                if printed.lastgroup and "\n" in text.text.strip()
                else "",
            )


@rule("connected-apps.result-not-empty", level=Level.MUST, strength=Strength.REQUIRED, source=RESPONSES)
def changes_are_confirmed(result: Result) -> None:
    """A call that changes something is answered with a text.

    Say what was done, with the id of the thing: "Created media buy mb_17." or its JSON. A handler that returns
    None, {} or nothing gives the model no way to tell that it worked.
    """
    sure = _changes(result)
    if sure is None:
        raise NotApplicable(f"{quote(result.tool, 60)} changes nothing")
    if result.value.get("isError"):
        raise NotApplicable("the call failed; connected-apps.error-readable is about its text")
    texts = texts_of(result.value)
    content = result.value.get("content")
    others = isinstance(content, list) and any(
        isinstance(b, Mapping) and b.get("type") not in ("text", None) for b in content
    )
    if others or any(text.text.strip().lower() not in _NOTHING for text in texts):
        return
    alone = " but structuredContent" if result.value.get("structuredContent") else ""
    raise Broken(
        "a text that says what was done",
        f"nothing{alone}: {quote([text.text for text in texts], 80)}",
        at=result.at("content") if "content" in result.value else result.at(),
        because=f"{quote(result.tool, 60)} changes something and answers nothing{alone} that the platform reads"
        + (f". {BOTH}" if alone else ""),
        fix=TO_PASTE if alone else "",
        lenient="" if sure else "only its name has a verb of change, which may be a noun there",
    )


def _changes(result: Result) -> bool | None:
    """Say whether it is sure that a tool changes something; None where it seems to change nothing."""
    task = catalogue().get(result.tool)
    if task is not None:
        return True if task.mutating else None
    tool = result.server.tool(result.tool) or {}
    annotations = tool.get("annotations")
    hint = annotations.get("readOnlyHint") if isinstance(annotations, Mapping) else None
    if hint is True:
        return None
    words, standards = words_of(result.tool), result.server.standards
    if not standards.among("read_verbs").union(standards.among("asking_words")).isdisjoint(words):
        return None
    if standards.among("write_verbs").isdisjoint(words):
        return None
    # conference_schedule and book_reviews have nouns there.
    return hint is False or words[0] in _ONLY_VERBS | standards.among("unmistakable_verbs")


@rule("connected-apps.result-size", level=Level.SHOULD, strength=Strength.GUIDANCE, source=RESPONSES)
def results_are_no_dumps(result: Result) -> None:
    """A result is small enough for a conversation.

    Filter, page and sum up before you answer, and leave out members that no conversation needs; a later call can
    ask for one thing in full.
    """
    texts = texts_of(result.value)
    if not texts:
        raise NotApplicable("the result has no text")
    size = sum(len(text.text.encode("utf-8", "surrogatepass")) for text in texts)
    most = result.server.standards.limit("result_bytes")
    if size > most:
        raise Broken(
            f"at most {most:,} bytes of text ({result.server.standards.whose('result_bytes')})",
            f"{size:,} bytes",
            at=result.at("content"),
            because=f"the answer has {size:,} bytes of text, all of which go into the conversation",
        )
