"""Serves an ASGI application on a free loopback port, says where, and ends with the process that started it."""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import Any

import uvicorn


def serve(app: Any) -> None:
    """Print the URL of the endpoint, then serve until the process is ended or its standard input closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The socket listens before its URL is said: nobody has to poll, and no port can be lost to somebody else.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)
