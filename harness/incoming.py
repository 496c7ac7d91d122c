"""A response while it is read, within its bounds."""

from __future__ import annotations

from collections.abc import Iterator

import h11

from .coding import CodingError, CodingTooLargeError, Decoding
from .cookies import masked
from .http1 import MAX_HEADER_BYTES, Fault
from .sse import Decoder, Event
from .text import plural
from .transcript import End, Response

MAX_HEADERS = 200
MAX_EVENTS = 2_000


class Incoming:
    """A response, from its headers on; what is over a bound is cut off and raises Fault."""

    def __init__(self, head: h11.Response, limit: int) -> None:
        """Take the headers, and the bytes that the body may have, before and after content decoding."""
        pairs = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers.raw_items()
        ]
        kept, size = 0, 0
        for name, value in pairs[:MAX_HEADERS]:
            size += len(name) + len(value)
            if size > MAX_HEADER_BYTES:
                break
            kept += 1
        self.status = head.status_code
        self.events = 0
        self._version = f"HTTP/{head.http_version.decode('ascii')}"
        self._headers = tuple(pairs[:kept])
        self._headers_lost = len(pairs) - kept
        self._limit = limit
        self._received = 0
        self._body = bytearray()
        self._raw = bytearray()  # the body before decoding, where there is a coding to undo
        self._decoding: Decoding | None = None
        self._problem = ""
        try:
            self._decoding = Decoding(self.values("content-encoding"), limit)
        except CodingError as error:
            self._problem = str(error)
        self._decoder = Decoder() if self.response().media_type == "text/event-stream" else None

    @property
    def is_stream(self) -> bool:
        """Whether it is an event stream."""
        return self._decoder is not None

    @property
    def progress(self) -> str:
        """How much of the body came."""
        declared = self._declared()
        if declared is None:
            return f"{plural(self._received, 'byte')} came"
        return f"{self._received} of {plural(declared, 'byte')} came"

    def values(self, name: str) -> list[str]:
        """Return the values of the headers of that name (lower case)."""
        return [value for key, value in self._headers if key.lower() == name]

    def check(self, *, bodiless: bool) -> None:
        """Look at the headers, before a body is read that need not be."""
        if self._headers_lost:
            raise Fault(
                End.HEADERS,
                f"{len(self._headers) + self._headers_lost} headers: at most {MAX_HEADERS} of together"
                f" {MAX_HEADER_BYTES} bytes are read",
            )
        declared = self._declared()
        if declared is not None and declared > self._limit and not bodiless:
            raise Fault(
                End.TOO_LARGE, f"content-length is {declared}, and {self._limit} bytes are read at most"
            )
        if self._decoding is None and self.is_stream:
            raise Fault(End.ENCODING, self._problem)

    def feed(self, part: bytes) -> Iterator[Event]:
        """Take bytes of the body and yield the events that they end."""
        room = self._limit - self._received
        self._received += len(part)
        for piece in self._undone(part[:room]):
            space = self._limit - len(self._body)
            self._body += piece[:space]
            for event in self._decoder.feed(piece[:space]) if self._decoder is not None else ():
                self.events += 1
                yield event
                if self.events >= MAX_EVENTS:
                    raise Fault(End.EVENTS, f"{self.events} events, and no response among them")
            if len(piece) > space:
                raise Fault(End.TOO_LARGE, f"more than {self._limit} bytes with the content coding undone")
        if len(part) > room:
            raise Fault(End.TOO_LARGE, f"more than {self._limit} bytes")

    def finish(self) -> None:
        """Check at its end that the body could be decoded."""
        if self._decoding is not None:
            try:
                self._decoding.finish()
            except CodingError as error:
                self._problem = str(error)
        if self._problem:
            raise Fault(End.ENCODING, self._problem)

    def response(self) -> Response:
        """Return the record of what is there. A body whose coding cannot be undone is recorded as it came."""
        headers = (
            (name, masked(value) if name.lower() == "set-cookie" else value) for name, value in self._headers
        )
        body = self._raw if self._problem and self._decoding else self._body
        return Response(self.status, self._version, tuple(headers), bytes(body), self._received)

    def _declared(self) -> int | None:
        if self.values("transfer-encoding"):
            return None
        lengths = self.values("content-length")
        return int(lengths[0].partition(",")[0]) if lengths else None

    def _undone(self, data: bytes) -> Iterator[bytes]:
        """Yield bytes with the content coding undone; of one that is unknown, as they are."""
        if not self._decoding:
            yield data
            return
        self._raw += data
        try:
            yield from self._decoding.feed(data)
        except CodingError as error:
            self._problem = str(error)
            raise Fault(End.ENCODING, self._problem) from None
        except CodingTooLargeError:
            raise Fault(
                End.TOO_LARGE, f"a content coding that inflates to more than {self._limit} bytes"
            ) from None
