"""How the steps of the official client are named, and the requests that they begin with."""

from __future__ import annotations

from pytest_adcp.harness.transcript import Era

INTEROP = "interop"  # how the report names all of it
CONNECT = "connect"
LIST = "tools/list"
FIRST = {Era.HANDSHAKE: "initialize", Era.STATELESS: "server/discover"}  # what a connection begins with


def prefix(era: Era) -> str:
    """Return what the names of an era's steps and exchanges begin with."""
    return f"{INTEROP}/{era}"
