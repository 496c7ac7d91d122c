"""Servers that mean harm at other places than a tool's answer: to probes, to sessions, on every request, or after a while."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from hostile import LOG, endless_stream, reset_after, silence
from hostile_http import EARLY_HINTS, endless, last
from rawserver import Peer
from scripted import SESSION, Call, Hook, Raw, Reply, good, initialized

MIB = 1024 * 1024


def _large(size: int) -> Raw:
    def raw(peer: Peer) -> None:
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(size // MIB):
            peer.chunk(b"x" * MIB)

    return raw


def hostile_to_probes(call: Call) -> Raw | Reply | None:
    """Serve what is asked for, and harm whoever asks for something unusual."""
    if call.header("origin") == "null":
        return silence
    if call.verb == "POST" and not call.message:
        return endless_stream(LOG * 20, 0.01) if call.http.body.startswith(b"{") else silence
    if call.verb == "DELETE":
        return _large(100 * MIB)
    if call.method.startswith("notifications/"):
        head = b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n"
        return endless(head, b"1\r\n \r\n", 0.01)(call)
    return None


def hostile_to_listeners(call: Call) -> Raw | Reply | None:
    """Flood whoever opens a stream, and never let a session be ended."""
    if call.verb == "GET":
        return endless_stream(LOG * 500, 0.0)
    return silence if call.verb == "DELETE" else None


def every_second_closed() -> Hook:
    """Close the connection without an answer on every second request that comes when the tools are known."""
    count = itertools.count(1)
    before = ("initialize", "server/discover", "notifications/initialized", "tools/list")

    def hook(call: Call) -> Raw | None:
        return reset_after(b"") if call.method not in before and next(count) % 2 == 0 else None

    return hook


def after(number: int, then: Raw) -> Hook:
    """Return a hook that serves some requests, and then none any more."""
    count = itertools.count(1)
    return lambda _: then if next(count) > number else None


def slow(seconds: float, answer: Callable[[Call], Raw | Reply | None]) -> Hook:
    """Return a hook that does what another does, later."""

    def hook(call: Call) -> Raw | Reply | None:
        reply = answer(call) or good(call)
        return replace(reply, pause=seconds) if isinstance(reply, Reply) else reply

    return hook


def new_session_every_time() -> Hook:
    """Give another session id with every answer, and serve all of them."""
    count = itertools.count(1)

    def hook(call: Call) -> Reply:
        reply = initialized(session=None) if call.method == "initialize" else good(call)
        return replace(reply, headers=[*reply.headers, f"Mcp-Session-Id: {SESSION}-{next(count)}"])

    return hook


def decorated(answer: Hook) -> Hook:
    """Return a hook with 150 cookies and 50 early hints around every answer."""

    def hook(call: Call) -> Raw | Reply | None:
        reply = answer(call) or good(call)
        if not isinstance(reply, Reply):
            return reply
        cookies = [f"Set-Cookie: c{number}={number}" for number in range(150)]

        def raw(peer: Peer) -> None:
            peer.send(EARLY_HINTS * 50)
            body, media_type = reply.content(call)
            headers = [*reply.headers, *([f"Content-Type: {media_type}"] if media_type else []), *cookies]
            peer.answer(body, *headers, status=f"{reply.status} Status")

        return raw

    return hook


def silent_calls(call: Call) -> Raw | None:
    return silence if call.tool else None


HTTP_2 = last(
    b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\x00\x04\x00\x00\xff\xff\x00\x05\x00\x00\x40\x00"
)
