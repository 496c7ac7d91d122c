"""The reference seller and its faults: the demo, the self-test, and a sparring partner for clients.

`running(SellerOptions(fault="nested-result"))` serves one from a thread and yields its URL; `serve` does it
on a running event loop; `python -m pytest_adcp.harness.seller` is the command.
"""

from __future__ import annotations

from .options import Answers, Eras, Release, SellerOptions
from .server import running, serve

__all__ = ["Answers", "Eras", "Release", "SellerOptions", "running", "serve"]
