"""The survey of a run: with the seller that is started for it, and an end that loses nothing."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import pytest

from .demo import FOR_APPS, DemoError, demo_seller
from .judging import order_of
from .own_server import OwnServerError, Running, not_surveyed, own_server, surveyed
from .plan import Plan
from .progress import Progress
from .redact import Redactor
from .signals import ended_as_by_ctrl_c
from .survey import Surveyor
from .target import Target
from .transcript import Transcript

if TYPE_CHECKING:
    from .settings import Settings


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What came of a survey."""

    transcript: Transcript
    plan: Plan | None  # None: the server that the run starts did not serve


class SurveyInterrupted(Exception):  # noqa: N818 - it is news, not an error
    """The user ended the survey; what was recorded by then is in the transcript."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self.transcript = transcript


def survey(settings: Settings, progress: Progress) -> Surveyed:
    """Survey the target that the settings name; the demo seller, or one of `server:`, runs just as long.

    Raises:
        pytest.UsageError: the seller cannot be started.
        SurveyInterrupted: by Ctrl-C, or a signal to end.
    """
    with ExitStack() as stack:
        stack.enter_context(ended_as_by_ctrl_c())
        target = _demo(settings, stack) if settings.demo else settings.target
        assert target is not None
        own: Running | None = None
        if settings.server is not None:
            redactor = Redactor(settings.secrets())
            try:
                own = stack.enter_context(
                    own_server(settings.server, target.url, target.display_url, redactor)
                )
            except OwnServerError as error:
                return Surveyed(not_surveyed(target, settings.limits, error), None)
        progress.begin(target.display_url)
        surveyor = Surveyor(order_of(settings, target), progress=progress.show, trace=progress.trace)
        try:
            anyio.run(surveyor.run)
        except KeyboardInterrupt:
            surveyor.recorder.stop("the run was interrupted")
            raise SurveyInterrupted(surveyed(surveyor.transcript(), own)) from None
        finally:
            progress.done()
        return Surveyed(surveyed(surveyor.transcript(), own), surveyor.plan)


def _demo(settings: Settings, stack: ExitStack) -> Target:
    options = FOR_APPS if settings.app is not None else ()
    try:
        return Target.parse(stack.enter_context(demo_seller(*options)), name="demo")
    except DemoError as error:
        raise pytest.UsageError(f"adcp: {error}") from None
