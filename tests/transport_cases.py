"""The cases in tests/data/transport: what a strict server does otherwise, and what is to be said of that.

Each file holds kinds of cases by name, each kind a list. A case says

    at       which requests are answered otherwise: words of strict.Strict.occasion, "every-call" or "every-request"
    first    only so many of them, from the first on
    as       "good": as if there were nothing odd about them; or another word: as if they were about that
    status, headers, media_type
    body, message, result, error, stream (the text of an event stream)
             the answer. In it stand for the request's id `"$id"`, for its digits in the other type `"$retyped"`, for the
             good response `"$response"` and for the good result `"$result"`.
    ends     "chunked", "held" (the stream stays open) or "dies" (the connection is closed in the middle)
    session  the id of each session that is opened
    server   members of strict.Strict
    tool     put over the definition of get_products; `without` takes a member out of it

and what is to be said of it: `fails`, `warns` and `unusable` (the cause) and in the first finding `says`.
Rules are named without "mcp."; those of AdCP are not looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import yaml
from rawserver import Peer
from scripted import Call, Raw, Reply, good
from strict import TOOLS, Strict

FOLDER = Path(__file__).with_name("data") / "transport"
_GROUPS = {"every-call": ("call",), "every-request": ("list", "call", "ping")}
_ANSWERS = ("body", "message", "result", "error", "stream", "status", "headers", "session")


@dataclass(frozen=True)
class TransportCase:
    """One case."""

    id: str
    kind: str
    says: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    unusable: str = ""
    at: tuple[str, ...] = ()
    first: int = 1 << 30
    served_as: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)

    def strict(self) -> Strict:
        """Return the server's side."""
        seen = count(1)

        def odd(call: Call, asked: str) -> Reply | Raw | None:
            asked = "initialize" if asked.startswith("initialize") else asked
            wanted = asked in self.at or "everything" in self.at or call.tool in self.at
            if not wanted or next(seen) > self.first:
                return None
            return self._odd(server, call)

        server = Strict(odd, **self.server)
        return server

    def _odd(self, server: Strict, call: Call) -> Reply | Raw | None:
        if self.served_as == "good":
            return good(call, [tool for page in server.pages for tool in page])
        if self.served_as:
            return server.answer(call, self.served_as)
        if "session" in self.answer:
            return server.opened(call, self.answer["session"])
        headers = list(self.answer.get("headers", []))
        body, media_type = self._body(call)
        media_type = self.answer.get("media_type", media_type)
        headers += [f"Content-Type: {media_type}"] if media_type else []
        if "ends" in self.answer:
            return _chunked(body, headers, self.answer.get("status", 200), self.answer["ends"])
        return Reply(body=body, status=self.answer.get("status", 200), headers=headers)

    def _body(self, call: Call) -> tuple[bytes, str]:
        answer = self.answer
        for name, media_type in (("body", ""), ("stream", "text/event-stream")):
            if name in answer:
                return _marked(answer[name], call).encode("utf-8", "surrogatepass"), media_type
        message = answer.get("message", ...)
        if message is ...:
            outcome = {name: answer[name] for name in ("result", "error") if name in answer}
            message = {"jsonrpc": "2.0", "id": "$id", **outcome} if outcome else ...
        if message is ...:
            return b"", ""
        return _marked(json.dumps(message), call).encode(), "application/json"


def load_cases() -> Iterator[TransportCase]:
    """Read all cases."""
    for file in sorted(FOLDER.glob("*.yaml")):
        for kind, cases in yaml.safe_load(file.read_text(encoding="utf-8")).items():
            for case in cases:
                yield _case(f"{file.stem}/{kind}", **_expanded(case))


def _case(kind: str, *, id: str, **given: Any) -> TransportCase:  # noqa: A002 - as in the file
    server = dict(given.pop("server", {}))
    tool = given.pop("tool", None)
    without = given.pop("without", None)
    if tool is not None or without is not None:
        changed = {name: value for name, value in TOOLS[1].items() if name != without} | (tool or {})
        server["pages"] = ((TOOLS[0], changed),)
    if "tools" in server:
        names = server.pop("tools")
        server["pages"] = tuple(tuple(tool for tool in TOOLS if tool["name"] in page) for page in names)
    at = tuple(item for word in _some(given.pop("at", ())) for item in _GROUPS.get(word, (word,)))
    told = {name: _some(given.pop(name, ())) for name in ("fails", "warns", "says")}
    plain = {name: given.pop(name) for name in ("first", "unusable") if name in given}
    served_as = given.pop("as", "")
    assert not given or set(given) <= {*_ANSWERS, "media_type", "ends"}, (kind, id, given)
    return TransportCase(
        f"{kind}/{id}", kind, at=at, served_as=served_as, answer=given, server=server, **told, **plain
    )


def _chunked(body: bytes, headers: list[str], status: int, ends: str) -> Raw:
    def send(peer: Peer) -> None:
        peer.head(*headers, "Transfer-Encoding: chunked", status=f"{status} Status")
        for start in range(0, len(body), 100):
            peer.chunk(body[start : start + 100])
        if ends == "chunked":
            peer.send(b"0\r\n\r\n")
        elif ends == "held":
            peer.until_closed()
        else:
            peer.socket.close()

    return send


def _marked(text: str, call: Call) -> str:
    request_id = call.message.get("id")
    digits = str(request_id)
    retyped: Any = digits if isinstance(request_id, int) else int(digits) if digits.isdigit() else digits
    marks = {"id": json.dumps(request_id), "retyped": json.dumps(retyped)}
    if "$res" in text:
        response = good(call).content(call)[0].decode()
        marks |= {"response": response, "result": json.dumps(json.loads(response).get("result"))}
    return re.sub(r'"\$(\w+)"', lambda match: marks[match[1]], text)


def _some(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _expanded(value: Any) -> Any:
    """Write out what strings repeat."""
    if isinstance(value, str):
        return re.sub(r"<(.)\*(\d+)>", lambda match: match[1] * int(match[2]), value)
    if isinstance(value, dict):
        return {key: _expanded(member) for key, member in value.items()}
    return [_expanded(item) for item in value] if isinstance(value, list) else value
