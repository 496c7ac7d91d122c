"""What all HTML pages share: templates that escape whatever they print, and a style sheet that the policy knows by its digest."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")


@cache
def style(name: str) -> tuple[object, str]:
    """Return a style sheet, as markup, and its digest for the policy."""
    from markupsafe import Markup

    css = (_TEMPLATES / name).read_text(encoding="utf-8")
    return Markup(css), base64.b64encode(hashlib.sha256(css.encode()).digest()).decode("ascii")  # noqa: S704 - our own


def environment(printed: Callable[[Any], Any]) -> Environment:
    """Return what loads templates; `printed` makes safe whatever one prints."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # only the end of a run needs it

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=printed,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
