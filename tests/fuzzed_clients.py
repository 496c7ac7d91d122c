"""A client library as somebody might write it in Python after reading the page, and faults that such libraries have."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pytest_adcp.harness.jsontext import stringify_length
from pytest_adcp.harness.library.records import Answer, Declared, Extracted, NoAnswer, Question, Threw
from pytest_adcp.vectors.loader import Kind


class RefusedError(Exception):
    """The client raises an error."""


class Died(BaseException):
    """The client crashes."""


class Client:
    """Does what the page says. Keeps integers of any size, and refuses answers that break MCP by raising an error."""

    declared = Declared("client")

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        for question in questions:
            assert question.response is not None
            extract = self.success if question.kind is Kind.SUCCESS else self.error
            try:
                yield Extracted(extract(json.loads(question.response)))
            except RefusedError as error:
                yield Threw("Refused", str(error))
            except Died as death:
                yield NoAnswer(f"it ended with exit code 1: {death}")

    # -- success

    def success(self, result: dict[str, Any]) -> Any:
        if self.is_flagged(result):
            return None
        structured = result.get("structuredContent")
        if isinstance(structured, dict):
            return self.of_structured(structured, result)
        for value in self.texts(result):
            if self.is_data(value) and value.keys() != {"adcp_error"}:
                return self.data(value)
        return None

    def is_flagged(self, result: dict[str, Any]) -> bool:
        flag = result.get("isError", False)
        return flag not in (False, None, 0, "")

    def of_structured(self, structured: dict[str, Any], result: dict[str, Any]) -> Any:
        return None if structured.keys() == {"adcp_error"} else self.data(structured)

    def is_data(self, value: Any) -> bool:
        return isinstance(value, dict)

    def data(self, value: Any) -> Any:
        return value

    def texts(self, result: dict[str, Any]) -> Iterator[Any]:
        content = result.get("content")
        if content is not None and not isinstance(content, list):
            raise RefusedError("content is no list")
        for item in content or []:
            if not isinstance(item, dict):
                raise RefusedError("an item is no object")
            if item.get("type") == "text":
                if not isinstance(item.get("text"), str):
                    raise RefusedError("a text is no string")
                try:
                    yield self.read(item["text"])
                except (ValueError, RecursionError):
                    yield None

    def read(self, text: str) -> Any:
        def refuse(name: str) -> Any:
            raise ValueError(name)

        return json.loads(text, parse_constant=refuse)

    # -- error

    code_limit = 64

    def error(self, response: dict[str, Any]) -> Any:
        flagged = self.is_flagged(response)
        found = member(response.get("structuredContent"), "adcp_error") if flagged else None
        if truthy(found):
            return self.checked(found)
        found = member(member(response.get("error"), "data"), "adcp_error")
        if truthy(found):
            return self.checked(found)
        for value in self.texts(response) if flagged else ():
            if truthy(member(value, "adcp_error")):
                return self.checked(value["adcp_error"])
        return None

    def checked(self, error: Any) -> Any:
        code = member(error, "code")
        if not isinstance(code, str) or not 0 < units(code) <= self.code_limit:
            return None
        return error if stringify_length(error) <= 4096 else None


def member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def truthy(value: Any) -> bool:
    return isinstance(value, (dict, list)) or bool(value)


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


# -- faults -----------------------------------------------------------------------------------------------------


class TakesArrays(Client):
    def is_data(self, value: Any) -> bool:
        return isinstance(value, dict) or (isinstance(value, list) and bool(value))

    def success(self, result: dict[str, Any]) -> Any:
        if self.is_flagged(result):
            return None
        structured = result.get("structuredContent")
        if isinstance(structured, dict):
            return self.of_structured(structured, result)
        for value in self.texts(result):
            if self.is_data(value) and not (isinstance(value, dict) and value.keys() == {"adcp_error"}):
                return value
        return None


class IgnoresTheFlag(Client):
    def success(self, result: dict[str, Any]) -> Any:
        return super().success({name: value for name, value in result.items() if name != "isError"})


class FallsThrough(Client):
    def of_structured(self, structured: dict[str, Any], result: dict[str, Any]) -> Any:
        if structured.keys() != {"adcp_error"}:
            return structured
        return self.success({name: value for name, value in result.items() if name != "structuredContent"})


class TakesNaN(Client):
    def read(self, text: str) -> Any:
        return json.loads(text)


class LongCodes(Client):
    code_limit = 65


class Unwraps(Client):
    def data(self, value: Any) -> Any:
        return value["result"] if isinstance(value.get("result"), dict) and len(value) == 1 else value


class FirstTextOnly(Client):
    def texts(self, result: dict[str, Any]) -> Iterator[Any]:
        yield from [value for _, value in zip(range(1), super().texts(result), strict=False)]


class MergesPrototypes(Client):
    def data(self, value: Any) -> Any:
        return {name: member for name, member in value.items() if name != "__proto__"}


class ThrowsOnNull(Client):
    """At null in a list, wherever it is."""

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        for question in questions:
            if "[null" in (question.response or "") or ", null]" in (question.response or ""):
                yield Threw("TypeError", "null has no properties")
            else:
                yield from super().ask([question])


class Dies(Client):
    def read(self, text: str) -> Any:
        if "\\u" in text:
            raise Died("segmentation fault")
        return super().read(text)


class RepairsCommas(Client):
    def read(self, text: str) -> Any:
        return super().read(text.replace(",}", "}"))


class OneObjectAfterAnother(Client):
    def read(self, text: str) -> Any:
        return json.JSONDecoder(parse_constant=float).raw_decode(text.strip())[0]


FAULTS: dict[str, Callable[[], Client]] = {
    fault.__name__: fault
    for fault in (
        TakesArrays, IgnoresTheFlag, FallsThrough, TakesNaN, LongCodes, Unwraps, FirstTextOnly, MergesPrototypes,
        ThrowsOnNull, Dies, RepairsCommas, OneObjectAfterAnother,
    )
}  # fmt: skip


class ThrowsAtItems(Client):
    """Refuses an answer with an item that is no object before it looks at anything: that is its right."""

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        for question in questions:
            content = json.loads(question.response or "").get("content")
            if isinstance(content, list) and not all(isinstance(item, dict) for item in content):
                yield Threw("TypeError", "an item has no properties")
            else:
                yield from super().ask([question])
