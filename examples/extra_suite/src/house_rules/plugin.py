"""The pytest plugin: it only names the suites, so that a pytest run of anything else imports nothing of them."""

from __future__ import annotations


def pytest_adcp_suites() -> list[str]:
    """Add our suites to a conformance run."""
    return ["house_rules.products"]
