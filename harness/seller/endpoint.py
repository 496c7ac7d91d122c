"""The MCP endpoint: what HTTP asks of a request, then the era that it belongs to."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import urlsplit

from . import metadata, rpc, sse, stateless
from .exchange import Exchange, Hooks
from .handshake import SESSION_HEADER, WITH_BATCHES, Handshake
from .http import Reply
from .options import Answers, Eras, SellerOptions
from .rpc import INVALID_REQUEST, Json, RpcError
from .stateless import Stateless
from .toolbox import Tools

PATH = SellerOptions().path
LOOPBACK = ("127.0.0.1", "localhost", "::1")
JSON_TYPE = "application/json"
EVENTS_TYPE = "text/event-stream"


class Endpoint:
    """One conforming MCP server over Streamable HTTP, with the hooks a fault may have set."""

    def __init__(self, options: SellerOptions, hooks: Hooks, tools: Tools) -> None:
        self._options = options
        self._hooks = hooks
        self._handshake = Handshake(tools, sessions=options.sessions)
        self._stateless = Stateless(tools, only=options.eras is Eras.STATELESS)

    async def answer(self, exchange: Exchange) -> Reply:
        """Return the response to one HTTP request."""
        try:
            if self._options.discovery and (found := self._document(exchange)) is not None:
                return found
            self._admit(exchange)
            match exchange.request.method:
                case "POST":
                    return self._post(exchange)
                case "GET" if "GET" in self._methods():
                    return self._get(exchange)
                case "DELETE" if "DELETE" in self._methods():
                    return self._delete(exchange)
                case _:
                    return Reply(HTTPStatus.METHOD_NOT_ALLOWED, (("Allow", ", ".join(self._methods())),))
        except RpcError as error:
            return self._refuse(exchange, error)
        except _RefusedError as refusal:
            return refusal.reply

    def _methods(self) -> Sequence[str]:
        methods = ["POST"]
        if self._options.eras is not Eras.STATELESS:
            methods += ["GET"] if self._options.answers is Answers.SSE else []
            methods += ["DELETE"] if self._options.sessions else []
        return methods

    def _is_stateless(self, exchange: Exchange) -> bool:
        if self._options.eras is Eras.BOTH:
            return stateless.claims(exchange)
        return self._options.eras is Eras.STATELESS

    def _admit(self, exchange: Exchange) -> None:
        request = exchange.request
        if request.path != self._options.path:
            raise _RefusedError(HTTPStatus.NOT_FOUND)
        if not self._is_own(_origin(exchange)):
            raise _RefusedError(HTTPStatus.MISDIRECTED_REQUEST)
        origin = request.header("origin")
        if origin is not None and not self._is_own(origin):
            raise RpcError(INVALID_REQUEST, "This Origin is not allowed.", status=HTTPStatus.FORBIDDEN)
        token = self._options.bearer
        if token is not None and not _carries(request.header("authorization"), token):
            asked = 'Bearer realm="reference seller"'
            if self._options.discovery:
                asked += f", {metadata.challenge(_origin(exchange), self._options.path)}"
            raise _RefusedError(HTTPStatus.UNAUTHORIZED, (("WWW-Authenticate", asked),))

    def _document(self, exchange: Exchange) -> Reply | None:
        origin = _origin(exchange)
        found = metadata.document(exchange.request.path, origin, self._options.path)
        if found is None or exchange.request.method != "GET" or not self._is_own(origin):
            return None
        return Reply(HTTPStatus.OK, (("Content-Type", JSON_TYPE),), rpc.encode(found))

    def _is_own(self, origin: str) -> bool:
        """Tell whether a page of that origin is the seller's own: what keeps DNS rebinding out."""
        try:
            parts = urlsplit(origin)
            name = parts.hostname
        except ValueError:
            return False
        # On a wildcard address the seller does not know by which names it is reached.
        anywhere = self._options.host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
        return parts.scheme == "http" and bool(name) and (anywhere or name in (*LOOPBACK, self._options.host))

    def _post(self, exchange: Exchange) -> Reply:
        request = exchange.request
        if _media_type(request.header("content-type") or "") != JSON_TYPE:
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        accept = request.header("accept") or ""
        if not (_accepts(accept, JSON_TYPE) and _accepts(accept, EVENTS_TYPE)):
            message = f"Accept has to list {JSON_TYPE} and {EVENTS_TYPE}."
            raise RpcError(INVALID_REQUEST, message, status=HTTPStatus.NOT_ACCEPTABLE)
        if request.header("mcp-protocol-version") == WITH_BATCHES and (batch := rpc.batch(request.body)):
            return self._batch(exchange, batch)
        if exchange.problem is not None:
            raise exchange.problem
        if self._is_stateless(exchange):
            if not exchange.wants_answer:
                return Reply(HTTPStatus.ACCEPTED)
            return self._respond(exchange, self._stateless.answer(exchange), ())
        if not exchange.wants_answer:
            self._handshake.admit(exchange)
            return Reply(HTTPStatus.ACCEPTED)
        return self._respond(exchange, *self._handshake.answer(exchange))

    def _batch(self, exchange: Exchange, messages: list[Json]) -> Reply:
        self._handshake.admit(exchange)
        parts = [replace(exchange, message=message, problem=None) for message in messages]
        if any(part.method == "initialize" for part in parts):
            raise RpcError(
                INVALID_REQUEST, "initialize is no part of a batch.", status=HTTPStatus.BAD_REQUEST
            )
        answers = [self._part(part) for part in parts if part.wants_answer]
        if not answers:
            return Reply(HTTPStatus.ACCEPTED)
        return Reply(HTTPStatus.OK, (("Content-Type", JSON_TYPE),), rpc.encode(answers))

    def _part(self, exchange: Exchange) -> Json:
        try:
            return rpc.result(exchange.id, self._handshake.answer(exchange)[0])
        except RpcError as error:
            return error.answer(exchange.id)

    def _get(self, exchange: Exchange) -> Reply:
        self._handshake.admit(exchange)
        if not _accepts(exchange.request.header("accept") or "", EVENTS_TYPE):
            raise _RefusedError(HTTPStatus.NOT_ACCEPTABLE)
        return Reply(HTTPStatus.OK, sse.HEADERS, stream=sse.quiet())

    def _delete(self, exchange: Exchange) -> Reply:
        session = exchange.request.header(SESSION_HEADER.lower())
        if session is None:
            raise _RefusedError(HTTPStatus.BAD_REQUEST)
        if not self._handshake.end_session(session):
            raise _RefusedError(HTTPStatus.NOT_FOUND)
        return Reply(HTTPStatus.NO_CONTENT)

    def _respond(self, exchange: Exchange, result: Json, headers: tuple[tuple[str, str], ...]) -> Reply:
        body = self._written(exchange, rpc.result(exchange.id, result), HTTPStatus.OK)
        return self._carried(exchange, body, headers)

    def _refuse(self, exchange: Exchange, error: RpcError) -> Reply:
        body = self._written(exchange, error.answer(exchange.id), error.status)
        if error.status == HTTPStatus.OK:
            return self._carried(exchange, body, ())
        return Reply(error.status, (("Content-Type", JSON_TYPE),), body)

    def _written(self, exchange: Exchange, message: Json, status: int) -> bytes:
        changed = self._hooks.message(exchange, message, status) if self._hooks.message else message
        return changed if isinstance(changed, bytes) else rpc.encode(changed)

    def _carried(self, exchange: Exchange, body: bytes, headers: tuple[tuple[str, str], ...]) -> Reply:
        if self._options.answers is Answers.JSON:
            return Reply(HTTPStatus.OK, (("Content-Type", JSON_TYPE), *headers), body)
        event = sse.event(body)
        stream = self._hooks.stream(exchange, event) if self._hooks.stream else sse.once(event)
        return Reply(HTTPStatus.OK, (*sse.HEADERS, *headers), stream=stream)


class _RefusedError(Exception):
    """A request that is refused below JSON-RPC."""

    def __init__(self, status: int, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(status)
        self.reply = Reply(status, headers)


def _origin(exchange: Exchange) -> str:
    return f"http://{exchange.request.header('host') or ''}"


def _media_type(value: str) -> str:
    return value.partition(";")[0].strip().lower()


def _accepts(accept: str, media_type: str) -> bool:
    wanted = (media_type, media_type.partition("/")[0] + "/*", "*/*")
    return any(_media_type(item) in wanted for item in accept.split(","))


def _carries(authorization: str | None, token: str) -> bool:
    scheme, _, credentials = (authorization or "").partition(" ")
    # Both checks are made: the comparison takes its time whatever was sent.
    same = hmac.compare_digest(credentials.strip().encode("latin-1"), token.encode("utf-8"))
    return same and scheme.lower() == "bearer"
