"""What a person sees while a survey runs: a line that counts on a terminal, a line an exchange with --adcp-trace."""

from __future__ import annotations

import pytest

from .text import safe
from .transcript import Exchange


class Progress:
    """Writes to pytest's terminal reporter; quiet where there is none, and where nobody watches."""

    def __init__(self, config: pytest.Config, *, trace: bool) -> None:
        """Find out whether somebody watches."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        self._reporter: pytest.TerminalReporter | None = reporter
        self._watched = reporter is not None and reporter.isatty and config.option.verbose >= 0
        self._traced = trace
        self._written = False

    def begin(self, url: str) -> None:
        """Say who is asked, before anything has come back."""
        if self._reporter is not None and self._watched and not self._traced:
            self._reporter.rewrite(f"adcp: connecting to {safe(url, 80)}", erase=True)
            self._written = True

    def show(self, done: int, most: int, subject: str) -> None:
        """Say how far the calls are."""
        if self._reporter is not None and self._watched and not self._traced:
            self._reporter.rewrite(f"adcp: {done} of at most {most} calls, {safe(subject, 60)}", erase=True)
            self._written = True

    def trace(self, exchange: Exchange) -> None:
        """Say what one exchange was and how it ended."""
        if self._reporter is None or not self._traced:
            return
        response = exchange.response
        came = (
            f"HTTP {response.status}, {len(response.body)} bytes" if response is not None else "no response"
        )
        end = "" if exchange.end == "complete" else f", {exchange.end}: {exchange.detail}"
        line = f"adcp: {exchange.started:7.3f} s  {exchange.subject}: {came} in {exchange.seconds:.3f} s{end}"
        self._reporter.write_line(safe(line, 300))

    def done(self) -> None:
        """Leave the line."""
        if self._reporter is not None and self._written:
            self._reporter.rewrite("", erase=True)
