"""What a rule is told where it has no subject: that there was none, or that none gave a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rules import Judged
from .subjects import Entry, Gap
from .tasks import CAPABILITIES
from .transcript import Era

if TYPE_CHECKING:
    from .evidence import Evidence

_NOTHING = {
    Judged.REPLY: "nothing was sent",
    Judged.RESPONSE: "nothing was sent",
    Judged.MESSAGE: "no JSON-RPC response came",
    Judged.NOTIFICATION: "no notification was sent: the server is not in the handshake era",
    Judged.OPENING: "initialize was not sent",
    Judged.HANDSHAKE: "the server does not answer initialize",
    Judged.DISCOVERY: "the server does not answer server/discover: it is not in the stateless era",
    Judged.STREAM: "no answer was an event stream",
    Judged.MODERN_REPLY: "no request of MCP 2026-07-28 was answered",
    Judged.TOOLS: "tools/list gave no list",
    Judged.PAGE: "tools/list gave no list",
    Judged.UNKNOWN_TOOL: "no unknown tool was called",
    Judged.RESULT: "no tool result came",
    Judged.ANSWER: "no AdCP task was called",
    Judged.INTERIM: "no answer was submitted, working, input-required or auth-required",
    Judged.EXPECTATION: "no configured call says what it expects",
    Judged.CAPABILITIES: f"{CAPABILITIES} gave no success to judge",
    Judged.CHALLENGE: "no answer was HTTP 401",
    Judged.METADATA: "the server serves no OAuth metadata",
    Judged.APP: "tools/list gave no list",
    Judged.CLIENT_SESSION: "the official client did not connect",
    Judged.CLIENT_LIST: "the official client read no list",
    Judged.CLIENT_RESULT: "no read was called that could be called once more",
    Judged.ENDPOINT: "nothing was sent",
    Judged.CALLED: "no tool was called",
    Judged.IN_CONTEXT: "no call with the context of a user was made",
    Judged.LOGIN: "the server asks for no credentials: no answer was HTTP 401, and it serves no OAuth metadata",
    Judged.VERIFICATION: "nobody says that the domain is verified; say `verification: true` under connected_apps",
    Judged.VIEW: "no tool names a user interface, and the server lists none",
}
_OPTIONAL = {
    Judged.STREAM,
    Judged.NOTIFICATION,
    Judged.DISCOVERY,
    Judged.INTERIM,
    Judged.EXPECTATION,
    Judged.CHALLENGE,
    Judged.METADATA,
    Judged.CLIENT_SESSION,
    Judged.CLIENT_LIST,
    Judged.CLIENT_RESULT,
    Judged.IN_CONTEXT,
    Judged.LOGIN,
    Judged.VERIFICATION,
    Judged.VIEW,
}


def settled(kind: Judged, entries: tuple[Entry, ...], evidence: Evidence) -> tuple[Entry, ...]:
    """Make sure that a rule has something to say: one gap instead of nothing, and one instead of only blocked ones."""
    if entries and not all(isinstance(entry, Gap) and entry.blocked for entry in entries):
        return entries
    if entries:
        reasons = list(dict.fromkeys(entry.why for entry in entries if isinstance(entry, Gap)))
        return (Gap("-", "; ".join(reasons[:3]), blocked=True, exchange=entries[0].exchange),)
    if kind in (Judged.SUCCESS, Judged.ERROR):
        return (evidence.none_of(kind),)
    if kind is Judged.CAPABILITIES and all(call.tool != CAPABILITIES for call in evidence.calls.values()):
        return (Gap("-", f"{CAPABILITIES} was not called", blocked=False),)
    optional = kind in _OPTIONAL or (kind is Judged.HANDSHAKE and evidence.server.era is Era.STATELESS)
    return (Gap("-", _NOTHING[kind], blocked=not optional),)
