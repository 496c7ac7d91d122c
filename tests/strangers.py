"""A scripted seller that knows one buyer, and what became of callers that it does not know."""

from __future__ import annotations

import re

from pytest_adcp.harness import calls
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.transcript import Exchange, Kind, Transcript
from scripted import Call, Reply, result

TOKEN = "t0ken-of-the-buyer"
READ = "list_creatives"
TOOLS = ("get_adcp_capabilities", READ)
NOBODY = re.compile(r"invalid-[0-9a-f]{32}")
CHALLENGE = ["WWW-Authenticate: Bearer"]
KNOWN = Credentials(bearer=TOKEN)


def header(exchange: Exchange, name: str) -> str | None:
    return next((value for key, value in exchange.request.headers if key.lower() == name), None)


def tried(transcript: Transcript) -> dict[str, Exchange]:
    """Return the last exchange of each way to be nobody, by its name."""
    found = [e for e in transcript.exchanges if e.kind is Kind.REFUSAL and not e.retried]
    return {
        e.subject.rpartition("/")[2]: e
        for e in found
        if e.subject.rpartition("/")[2] in list(calls.Credentials)
    }


def statuses(transcript: Transcript) -> list[int]:
    return [e.response.status if e.response else 0 for e in tried(transcript).values()]


def why_not(transcript: Transcript) -> list[str]:
    return [left.why for left in transcript.survey.not_called if left.item == "probe/credentials"]


def guarded(call: Call) -> Reply | None:
    """Ask for the token as a good seller does; the read has data."""
    if call.verb != "GET" and call.header("authorization") != f"Bearer {TOKEN}":
        return Reply(status=401, headers=CHALLENGE)
    return Reply(result=result({"status": "completed", "creatives": []})) if call.tool == READ else None
