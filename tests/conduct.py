"""What a good server of the handshake era says to requests that try its transport, around the hook of a test.

    with scripted(conduct(hook)) as seller: ...

The hook comes first; sessions that it opens itself are none of these.
"""

from __future__ import annotations

import json
import secrets
from urllib.parse import urlsplit

from scripted import Call, Hook, Raw, Reply, initialized

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_LOCAL = ("127.0.0.1", "localhost", "::1")


def conduct(hook: Hook) -> Hook:
    """Return a hook that keeps sessions and refuses what a server has to refuse."""
    sessions: set[str] = set()

    def well_behaved(call: Call) -> Reply | Raw | None:
        return hook(call) or _transport(call, sessions)

    return well_behaved


def _transport(call: Call, sessions: set[str]) -> Reply | None:
    origin, session = call.header("origin"), call.header("mcp-session-id")
    if origin is not None and urlsplit(origin).hostname not in _LOCAL:
        return Reply(status=403)
    version = call.header("mcp-protocol-version")
    if call.method == "server/discover" or version not in (None, *REVISIONS):
        return _refused(-32601 if call.method == "server/discover" else -32600, call)
    if call.verb == "POST" and not call.message:
        return _refused(-32600 if _is_json(call.http.body) else -32700)
    if call.method == "initialize":
        sessions.add(new := secrets.token_hex(16))
        offer = call.message.get("params", {}).get("protocolVersion")
        return initialized(offer if offer in REVISIONS else REVISIONS[-1], session=new)
    if session not in sessions:
        return Reply(status=400 if session is None else 404)
    if call.verb == "DELETE":
        sessions.discard(session or "")
    return None


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def _refused(code: int, call: Call | None = None) -> Reply:
    number = call.message.get("id") if call is not None else None
    return Reply(
        status=400, message={"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": "no"}}
    )
