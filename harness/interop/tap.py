"""The tap between the official client and the server: the client talks to a loopback port, and the survey sends and records.

The client learns neither the server's URL nor any credential, and is bounded like everything else: each request goes
through the survey's own HTTP client, and it gets what the transcript holds of the answer.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import anyio
from pytest_adcp.harness import jsontext
from pytest_adcp.harness.calls import PlannedCall
from pytest_adcp.harness.conversation import Conversation
from pytest_adcp.harness.recorder import Phase
from pytest_adcp.harness.seller.http import Reply, Request, Wire, listen
from pytest_adcp.harness.session import Outgoing
from pytest_adcp.harness.transcript import End, Era, Exchange
from pytest_adcp.harness.wire import Lane

from .steps import prefix

MOST_REQUESTS = 60
MOST_BYTES = 16 * 1024 * 1024  # of all answers
HOST = "127.0.0.1"

_SENT_ON = ("accept", "content-type")  # and all headers of MCP
_PASSED_BACK = ("content-type", "mcp-session-id")
_METHODS = ("initialize", "server/discover", "notifications/initialized", "tools/list")
_CALLS = 10  # places of the other methods come before
_DELETE = 99
_ERA = 100  # places of one era


@dataclass(frozen=True, slots=True)
class Visit:
    """What the client is to do in one era."""

    era: Era
    calls: tuple[PlannedCall, ...]

    @property
    def prefix(self) -> str:
        """How its steps and its exchanges are named."""
        return prefix(self.era)


class Tap:
    """Answers the client's requests with what the server says to them."""

    def __init__(self, talk: Conversation, visits: Sequence[Visit], lanes: Iterable[Lane]) -> None:
        """Make a tap; each lane carries one exchange at a time."""
        self._talk = talk
        # Whoever else is on this machine can reach the port, and does not know the paths.
        self._visits = {f"/{secrets.token_urlsafe(24)}": visit for visit in visits}
        self._idle = list(lanes)
        self._room = anyio.Semaphore(len(self._idle))
        self._sent: Counter[str] = Counter()
        self._bytes = 0
        self.full = (
            False  # something was not sent on any more: what the client says of it is not the server's doing
        )
        self._under_way = 0
        self._came = 0
        self._seen = 0

    def listening(self) -> AbstractAsyncContextManager[int]:
        """Serve the client while the block runs; gives the port."""
        return listen(HOST, 0, self)

    def url_of(self, visit: Visit, port: int) -> str:
        """Return the URL that stands for the server in one era."""
        path = next(path for path, other in self._visits.items() if other is visit)
        return f"http://{HOST}:{port}{path}"

    def is_busy(self) -> bool:
        """Whether the client has been waiting for an answer since this was last asked."""
        seen, self._seen = self._seen, self._came
        return self._under_way > 0 or self._came != seen

    def was_asked(self, step: str) -> bool:
        """Whether the client sent the request that a step begins with."""
        return self._sent[step] > 0

    async def __call__(self, request: Request, wire: Wire) -> None:
        """Answer one request."""
        self._came += 1
        self._under_way += 1
        try:
            await wire.send(await self._answer(request))
        finally:
            self._under_way -= 1
            self._came += 1

    async def _answer(self, request: Request) -> Reply:
        visit = self._visits.get(request.path)
        if visit is None:
            return Reply(404)
        if request.method == "DELETE":
            return await self._pass_on(visit, request, "delete", _DELETE)
        if request.method != "POST":
            # The client holds a stream open for as long as its session is. It has no answers to wait for there,
            # and a server may say so too.
            return Reply(405)
        message = jsontext.parse(request.body).value
        message = message if isinstance(message, Mapping) else {}
        place = _place(visit, message)
        if place is not None:
            return await self._pass_on(visit, request, *place)
        # Its answers to requests of the server's are too late, since it gets a stream when that is at its end.
        return (
            Reply(202) if message.get("id") is None or "method" not in message else _no_such_method(message)
        )

    async def _pass_on(self, visit: Visit, request: Request, name: str, place: int) -> Reply:
        if sum(self._sent.values()) >= MOST_REQUESTS or self._bytes > MOST_BYTES:
            self.full = True
            return Reply(503)
        subject = f"{visit.prefix}/{name}"
        self._sent[subject] += 1
        times = self._sent[subject]
        page = name == "tools/list" and times > 1
        headers = [
            (key, value) for key, value in request.headers if key in _SENT_ON or key.startswith("mcp-")
        ]
        async with self._room:
            lane = self._idle.pop()
            try:
                exchange = await self._talk.relay(
                    lane,
                    (Phase.INTEROP, list(Era).index(visit.era) * _ERA + place),
                    request.method,
                    Outgoing(tuple(headers), request.body),
                    subject=f"{subject}/page-{times}" if page else subject,
                    era=visit.era,
                    attempt=1 if page else times,
                )
            finally:
                self._idle.append(lane)
        return self._as_it_came(exchange)

    def _as_it_came(self, exchange: Exchange) -> Reply:
        response = exchange.response
        if response is not None:
            self._bytes += max(response.received, len(response.body))
        if response is None or (exchange.end is not End.COMPLETE and exchange.answered is None):
            return Reply(502)
        headers = [
            (key.lower(), value)
            for key, value in response.headers
            if key.lower() in _PASSED_BACK and value.isascii()
        ]
        return Reply(response.status, tuple(headers), response.body)


def _place(visit: Visit, message: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the name and the place of a request that may be sent on; None for all others."""
    method = message.get("method")
    if method in _METHODS:
        return str(method), _METHODS.index(method)
    params = message.get("params")
    if method != "tools/call" or not isinstance(params, Mapping):
        return None
    for number, call in enumerate(visit.calls):
        if params.get("name") == call.tool and jsontext.equal(params.get("arguments"), dict(call.arguments)):
            return call.subject, _CALLS + number
    return None


def _no_such_method(message: Mapping[str, Any]) -> Reply:
    error = {"code": -32601, "message": "not sent on"}
    body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": error}).encode()
    return Reply(404, (("content-type", "application/json"),), body)
