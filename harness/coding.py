"""Content codings undone with a bound, for servers that compress although nobody asked."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterable, Iterator

MAX_LAYERS = 2

_PIECE = 64 * 1024  # bytes that one step inflates to at most
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_NAMES = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}


class CodingError(ValueError):
    """A content coding that is unknown, piled too high, or broken."""


class CodingTooLargeError(ValueError):
    """A layer in between that inflates beyond the limit."""


class Decoding:
    """The codings of one body, undone piece by piece: whoever stops taking pieces stops the work."""

    def __init__(self, headers: Iterable[str], limit: int) -> None:
        """Take the values of Content-Encoding and the bytes that a layer may inflate to.

        Raises:
            CodingError: a coding other than gzip, deflate and identity, or more than two of them.
        """
        names = [name.strip().lower() for value in headers for name in value.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        for name in names:
            if name not in _NAMES:
                raise CodingError(f"the content coding {name[:40]!r} was not asked for and is not known")
        if len(names) > MAX_LAYERS:
            raise CodingError(f"{len(names)} content codings on top of each other")
        # The last one named was applied last.
        self._layers = [_Layer(_NAMES[name]) for name in reversed(names)]
        self._limit = limit
        self._between = 0

    def __bool__(self) -> bool:
        """Whether there is anything to undo."""
        return bool(self._layers)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Undo the codings of the next bytes, in pieces of at most 64 KiB.

        Raises:
            CodingError: the data is broken.
            CodingTooLargeError: the layer in between grows beyond the limit.
        """
        if not self._layers:
            yield data
        elif len(self._layers) == 1:
            yield from self._layers[0].feed(data)
        else:
            for piece in self._layers[0].feed(data):
                self._between += len(piece)
                if self._between > self._limit:
                    raise CodingTooLargeError
                yield from self._layers[1].feed(piece)

    def finish(self) -> None:
        """Check that the data came to its end. An empty body is fine.

        Raises:
            CodingError: it did not.
        """
        for layer in self._layers:
            layer.finish()


class _Layer:
    """One coding."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._engine: zlib._Decompress | None = None
        self._head = b""  # the first bytes of a deflate body, until they tell which kind it is

    def feed(self, data: bytes) -> Iterator[bytes]:
        pending = self._head + data
        self._head = b""
        while pending:
            if self._engine is not None and self._engine.eof:
                if self._name != "gzip":
                    raise CodingError(f"{len(pending)} bytes after the end of the {self._name} data")
                self._engine = None  # gzip may go on with another member
            if self._engine is None:
                self._engine = self._open(pending)
            if self._engine is None:
                self._head = pending
                return
            pending = yield from _inflate(self._engine, pending, self._name)

    def finish(self) -> None:
        if self._head or (self._engine is not None and not self._engine.eof):
            raise CodingError(f"the {self._name} data ends early")

    def _open(self, data: bytes) -> zlib._Decompress | None:
        if self._name == "gzip":
            return zlib.decompressobj(_GZIP)
        if len(data) < 2:
            return None
        # Deflate means the zlib format, but some servers send the bare data.
        wrapped = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2], "big") % 31 == 0
        return zlib.decompressobj(_ZLIB if wrapped else _RAW)


def _inflate(engine: zlib._Decompress, data: bytes, name: str) -> Generator[bytes, None, bytes]:
    """Yield what comes out and return what is left over behind the end."""
    while not engine.eof:
        try:
            piece = engine.decompress(data, _PIECE)
        except zlib.error:
            raise CodingError(f"the {name} data is broken") from None
        data = engine.unconsumed_tail
        if piece:
            yield piece
        # A full piece may leave output inside the engine although all input is used up.
        if not data and len(piece) < _PIECE:
            break
    return engine.unused_data
