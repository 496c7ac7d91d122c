"""Transcripts with everything in them that one can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_adcp.harness.calls import Expect, NotCalled, PlannedCall, Probe, Purpose, Take
from pytest_adcp.harness.transcript import (
    Diagnosis,
    End,
    Era,
    Exchange,
    Kind,
    Limits,
    Request,
    Response,
    Survey,
    Tls,
    Transcript,
)

BODIES = [
    b"",
    b"\x00",
    b"\n\r\n\r",
    b"plain \xc3\xa9 text",
    b"\xff\xfe invalid \xc3\x28",
    b"\xed\xa0\x80 a lone surrogate, as no UTF-8 has it",
    "\u2028 \u2029 \x85 \x0b \x0c \x1c".encode(),
    b'{"escaped": "\\ud800 \\u0000"}',
    b"\xef\xbb\xbf{}",
    bytes(range(256)),
    "\U0001f600".encode() * 1000,
]


def exchange(index: int, body: bytes = b"", **members: Any) -> Exchange:
    headers = (("X-Odd", "caf\xe9 \x85 \x00"), ("x-odd", ""), ("X-Odd", "again"))
    given: dict[str, Any] = {
        "subject": f"t/{index}",
        "kind": Kind.CALL,
        "request": Request("POST", "http://seller.test/mcp", headers, body),
        "response": Response(200, "HTTP/1.1", headers, body, len(body)),
        "end": End.COMPLETE,
    }
    return Exchange(index=index, **(given | members))


def surveyed(**members: Any) -> Survey:
    given: dict[str, Any] = {
        "harness": "0.1.0",
        "run_id": "run",
        "started_at": "2026-11-29T00:00:00.000+00:00",
        "url": "http://seller.test/mcp",
        "name": "seller",
        "limits": Limits(),
    }
    return Survey(**(given | members))


FULL = Transcript(
    surveyed(
        limits=Limits(1.5, 2.0, 3, 4, 5, 0.25),
        options={"auto": True, "tools": ["a*"], "nested": {"deep": [None, 1, 2.5, "\ud800"]}},
        calls=(
            PlannedCall(
                "t",
                "1",
                {"a": [1, {"b": None}], "\ud800": "\u2028"},
                Purpose.CONFIGURED,
                mutating=True,
                expect=Expect.ERROR,
                error_codes=("X", "Y"),
                violates="all",
                after="t/0",
                takes=(Take("/a/0", "u", "/x/0"),),
                probe=Probe.PAGE,
                baseline="t/0",
            ),
            PlannedCall("t", "2", {}, Purpose.BAD),
        ),
        not_called=(NotCalled("x", "why", blocked=True), NotCalled("y", "why not")),
        problems=("one", "two"),
        complete=False,
        stopped="five of a kind",
        unusable=Diagnosis("cause", "message", "cure"),
        seconds=1.25,
        longest_chain=0.1,
        tls=Tls("TLSv1.3", "TLS_AES_256_GCM_SHA384", "CN=seller", "O=Authority", "2027-01-01T00:00:00+00:00"),
    ),
    (
        exchange(0, era=Era.STATELESS, attempt=2, retried=True, redirects=("http://a/", "http://b/")),
        exchange(1, response=None, end=End.INTERRUPTED, detail="cut\nhere \x1b", era=Era.HANDSHAKE),
        exchange(2, started=0.1, seconds=1e-9, first_byte=0.0, answered=12345.678901),
    ),
)


def saved(transcript: Transcript, folder: Path) -> Path:
    path = folder / "transcript.jsonl"
    transcript.save(path)
    return path
