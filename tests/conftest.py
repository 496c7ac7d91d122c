"""What holds for all tests."""

from __future__ import annotations

import socket

import pytest
from hypothesis import settings

# The same examples on every machine, and no time limit that a busy one could break.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture
def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
