"""The reference seller and its faults: the demo, the self-test, and a sparring partner for clients.

`running(SellerOptions(fault="nested-result"))` serves one from a thread and yields its URL; `serve` does it
on a running event loop; `python -m pytest_adcp.harness.seller` is the command.
`vectors` serves vectors in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .options import Answers, Eras, Release, SellerOptions

if TYPE_CHECKING:
    from .server import running, serve

__all__ = ["Answers", "Eras", "Release", "SellerOptions", "running", "serve"]


def __getattr__(name: str) -> Any:
    """Load the seller when it is wanted: a survey needs only the HTTP server of this package."""
    if name not in ("running", "serve"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import server

    return getattr(server, name)
