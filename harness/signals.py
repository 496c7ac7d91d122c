"""Being told to end, by whatever means: `timeout`, `docker stop` and CI servers send SIGTERM, a closed terminal SIGHUP."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_NAMES = ("SIGTERM", "SIGHUP")


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Have these signals end the block as Ctrl-C does, so that what was started is ended and what was recorded is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is told of signals
        return
    found = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    # One that is ignored, as under nohup, stays so.
    before = {
        number: signal.signal(number, _interrupt)
        for number in found
        if signal.getsignal(number) is signal.SIG_DFL
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
