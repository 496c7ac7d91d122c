"""What holds for all tests."""

from __future__ import annotations

import importlib.util
import os
import socket

import pytest

# Runs that tests make would add to the summary of the job that runs the tests.
os.environ.pop("GITHUB_STEP_SUMMARY", None)

# A bare checkout that judges a server loads this file too, and needs nothing that only tests need.
if importlib.util.find_spec("hypothesis") is not None:
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
