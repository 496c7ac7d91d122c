"""Answers of sellers as a fuzzer needs them: put together from parts that matter, and mutated vectors.

The response itself is JSON that all parsers read alike; what they differ on stands in the text items of MCP alone. Texts
stay far below every limit. About half of the responses carry something to extract, as a success or as an error.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from pytest_adcp.harness.jsontext import parse
from pytest_adcp.vectors.loader import Transport, own

from . import answer_parts as parts

_LARGEST = 64 * 1024  # bytes of a vector's response that is mutated
_MOST_MUTATIONS = 3
_COUNTS = (0, 1, 1, 1, 1, 2, 2, 2, 3, 3)  # of the items of a list
_ODD_TYPES = ("Text", "TEXT", "text ", "", None, 1, ["text"])
_LOOKALIKES = ("structured_content", "structuredcontent", "is_error", "_meta")
_ODD_NAMES = (
    *(*parts.PROTOTYPES, *parts.WRAPPERS),
    *("adcp_error", "isError", "type", "text", "content", "error", ""),
)
_CHARACTERS = '{}[],:" \n\\0n\ufeff'


class GeneratedAnswers:
    """Responses of one transport without end; the same seed gives the same ones.

    Args:
        transport: what they come over.
        seed: a whole number.
    """

    def __init__(self, transport: Transport, seed: int) -> None:
        self._transport = transport
        self._chance = random.Random(f"{transport} {seed}")  # noqa: S311 - nothing secret
        self._pick = self._chance.choice
        self._bases = _bases(transport)

    def next(self) -> dict[str, Any]:
        """Return a response: two of three are made, the third is a mutated vector. Its parts are shared with others."""
        if self._bases and self._roll(3) == 0:
            return self._mutated()
        return self._mcp() if self._transport is Transport.MCP else self._a2a()

    def _roll(self, sides: int = 100) -> int:
        return int(self._chance.random() * sides)

    # -- objects ---------------------------------------------------------------------------------------------

    def _error(self) -> Any:
        """Make what stands under `adcp_error`; most are valid."""
        roll = self._roll()
        if roll < 6:
            return self._pick(parts.NO_ERRORS)
        if roll < 9:
            return self._pick(parts.SIZED_ERRORS)
        code = self._pick(parts.CODES) if roll < 30 else "RATE_LIMITED"
        error: dict[str, Any] = {"code": code, "message": "Slow down"}
        if roll % 20 == 19:
            del error["code"]
        if roll % 3 == 0:
            error["recovery"] = self._pick(parts.RECOVERIES)
        if roll % 4 == 0:
            error.update([self._pick(parts.ERROR_MEMBERS)])
        return error

    def _object(self, *, is_error: bool = False) -> dict[str, Any]:
        """Make an object that may stand in structuredContent, in a text or in a part of A2A.

        Args:
            is_error: whether it is for an answer that is flagged as an error: then an AdCP error is likely.
        """
        roll = self._roll()
        if is_error and roll < 65:
            return {"adcp_error": self._error()}
        if roll < 48:
            return self._pick(parts.PAYLOADS)
        if roll < 62:
            return {"adcp_error": self._error()}
        if roll < 74:
            return {"adcp_error": self._error(), **self._pick(parts.PAYLOADS)}
        if roll < 83:
            return {self._pick(parts.PROTOTYPES): {"polluted": True}, **self._pick(parts.PAYLOADS)}
        if roll < 87:
            return {self._pick(parts.WRAPPERS): self._pick(parts.NO_OBJECTS)}
        inner = self._pick(parts.PAYLOADS) if roll < 96 else {"adcp_error": self._error()}
        return {self._pick(parts.WRAPPERS): inner}

    # -- MCP -------------------------------------------------------------------------------------------------

    def _text(self, *, is_error: bool = False) -> str:
        roll = self._roll()
        if roll < 8:
            return self._pick(parts.NO_JSON)
        if roll < 16:
            return self._pick(parts.SCALARS)
        text = json.dumps(self._object(is_error=is_error), ensure_ascii=roll % 2 == 0)
        if roll >= 50:
            text = parts.with_member(text, self._pick(parts.MEMBERS))
        if 44 <= roll < 57:
            text = self._pick(parts.ENVELOPES)(text)
        return text

    def _item(self, *, is_error: bool) -> Any:
        roll = self._roll(120)
        if roll < 104:
            item = {"type": "text", "text": self._text(is_error=is_error)}
            return item if roll < 100 else item | {"annotations": {"priority": 1}, "_meta": {"a": 1}}
        value = self._object()
        text = json.dumps(value)
        match roll - 104:
            case 0 | 1:
                return {"type": "image", "data": "e30=", "mimeType": "image/png", "text": text}
            case 2 | 3 | 4:
                inner = {"uri": "adcp://products", "mimeType": "application/json", "text": text}
                return {"type": "resource", "resource": inner}
            case 5 | 6:
                return {"type": "resource_link", "uri": "adcp://products", "name": "products", "text": text}
            case 7 | 8:
                return {"type": "audio", "data": "", "mimeType": "audio/wav", "text": text}
            case 9:
                return {"type": "json", "json": value, "text": text}
            case 10:
                return {"type": self._pick(_ODD_TYPES), "text": text}
            case 11:
                return {"text": text}
            case 12:
                return {"type": "text", "data": value}
            case 13 | 14:
                return {"type": "text", "text": self._pick((value, [text], *parts.NO_OBJECTS))}
            case _:
                return self._pick(parts.NO_OBJECTS)

    def _mcp(self) -> dict[str, Any]:
        if self._roll() < 12:
            return self._rpc()
        roll = self._roll()
        is_error = roll < 42
        items = [self._item(is_error=is_error) for _ in range(self._pick(_COUNTS))]
        response: dict[str, Any] = {"content": items}
        if roll < 60:
            response["isError"] = is_error
        elif roll < 64:
            response["isError"] = self._pick(parts.FLAGS)
        roll = self._roll()
        if roll < 2:
            response["content"] = self._pick(parts.NO_OBJECTS)
        elif roll == 3:
            del response["content"]
        roll = self._roll()
        if roll < 40:
            response["structuredContent"] = self._object(is_error=is_error)
        elif roll < 46:
            response["structuredContent"] = self._pick(parts.NO_OBJECTS)
        elif roll < 51:
            response[self._pick(_LOOKALIKES)] = self._object()
        elif roll < 54:
            data = {"adcp_error": self._error()}
            response["error"] = {"code": -32000, "message": "Slow down", "data": data}
        return response

    def _rpc(self) -> dict[str, Any]:
        roll = self._roll()
        data: Any = {"adcp_error": self._error()}
        if roll >= 75:
            data = self._object() if roll < 90 else self._pick(parts.NO_OBJECTS)
        error: dict[str, Any] = {"code": -32000 - roll % 5, "message": "Slow down", "data": data}
        if roll % 20 == 19:
            del error["data"]
        if roll % 20 == 7:
            return {"jsonrpc": "2.0", "id": 1, "error": self._pick(parts.NO_OBJECTS)}
        return {"error": error} if roll % 10 == 8 else {"jsonrpc": "2.0", "id": 1, "error": error}

    # -- A2A -------------------------------------------------------------------------------------------------

    def _part(self, *, has_kind: bool) -> dict[str, Any]:
        """Make a part as A2A 0.3 writes it, or as 1.0 does: without `kind`."""
        roll = self._roll()
        kind, value = "data", self._pick(parts.NO_OBJECTS) if roll < 38 else self._object()
        if roll < 25:
            kind, value = "text", self._text()
        elif roll < 30:
            kind, value = "file", {"uri": "https://acme.example/x.json", "mimeType": "application/json"}
        part = {kind: value}
        return {"kind": kind, **part} if has_kind else part

    def _parts(self, *, has_kind: bool) -> list[dict[str, Any]]:
        return [self._part(has_kind=has_kind) for _ in range(self._pick(_COUNTS))]

    def _a2a(self) -> dict[str, Any]:
        roll = self._roll()
        state = self._pick(parts.STATES if roll < 94 else parts.ODD_STATES)
        has_kind = not state.startswith("TASK_")
        task: dict[str, Any] = {"id": "task_1", "contextId": "ctx_1", "status": {"state": state}}
        if roll % 3 != 0:
            task["status"]["message"] = {
                "role": "agent" if has_kind else "ROLE_AGENT",
                "messageId": "m1",
                "parts": self._parts(has_kind=has_kind),
            }
        if roll % 4 != 0:
            count = 2 if roll % 7 == 0 else 0 if roll % 11 == 0 else 1
            task["artifacts"] = [
                {"artifactId": f"a{number}", "parts": self._parts(has_kind=has_kind)}
                for number in range(count)
            ]
        if roll % 8 == 5:
            task = {self._pick(parts.STREAM_ENVELOPES): task}
        return {"task": task} if roll == 77 else task

    # -- mutated vectors -------------------------------------------------------------------------------------

    def _mutated(self) -> dict[str, Any]:
        response: dict[str, Any] = json.loads(self._pick(self._bases))
        for _ in range(1 + self._roll(_MOST_MUTATIONS)):
            places = list(_places(response))
            if places:
                self._mutate(*self._pick(places))
        return response

    def _mutate(self, holder: Any, name: Any) -> None:
        value = holder[name]
        roll = self._roll(10)
        if isinstance(value, str) and name == "text" and roll < 8:
            holder[name] = self._mutated_text(value, roll)
        elif roll < 2:
            del holder[name]
        elif roll < 4:
            holder[name] = copy.deepcopy(self._pick(parts.NO_OBJECTS))
        elif roll < 6:
            holder[name] = copy.deepcopy(self._object())
        elif roll == 6 and isinstance(holder, dict):
            holder[self._pick(_ODD_NAMES)] = copy.deepcopy(value)
        elif roll == 7 and isinstance(holder, list):
            holder.insert(name, copy.deepcopy(value))
        else:
            holder[name] = {self._pick(parts.WRAPPERS): value} if roll % 2 else [value]

    def _mutated_text(self, text: str, roll: int) -> str:
        if roll == 0:
            return self._pick(parts.ENVELOPES)(text)
        if roll < 4 and text.endswith("}"):
            return parts.with_member(text, self._pick(parts.MEMBERS))
        if roll < 6:
            return self._text()
        at = self._roll(len(text) + 1)
        return text[:at] + text[at + 1 :] if roll == 6 else text[:at] + self._pick(_CHARACTERS) + text[at:]


@cache
def _bases(transport: Transport) -> tuple[str, ...]:
    """Return the responses of the packaged vectors as JSON, but those that are large, deep or read differently.

    Where a tool result has no `content`, which MCP demands, it is added: typed clients would refuse all that comes of it.
    """
    found = [vector.response for vector in own() if vector.transport is transport]
    if transport is Transport.MCP:
        found = [response if "error" in response else {"content": []} | response for response in found]
    texts = dict.fromkeys(map(json.dumps, found))
    return tuple(text for text in texts if len(text) <= _LARGEST and not parse(text).objections)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container with the names or indexes in it."""
    stack = [value]
    while stack:
        holder = stack.pop()
        if isinstance(holder, (dict, list)):
            for name in holder if isinstance(holder, dict) else range(len(holder)):
                yield holder, name
                stack.append(holder[name])
