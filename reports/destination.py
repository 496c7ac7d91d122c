"""Where a command of `python -m pytest_adcp.reports` writes to: a file, or stdout."""

from __future__ import annotations

import sys
from pathlib import Path

from pytest_adcp.harness.files import replace_file

from .records import ReportError

STDOUT = "-"


def write(text: str, out: str) -> int:
    """Write a text as UTF-8 and return exit code 0; a file is written under a temporary name and renamed, mode 0644.

    Raises:
        ReportError: the file cannot be written.
    """
    data = text.encode("utf-8", "replace")
    if out == STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return 0
    try:
        replace_file(Path(out), [data], mode=0o644)
    except OSError as error:
        raise ReportError(f"{out} cannot be written: {error.strerror or error}") from None
    return 0
