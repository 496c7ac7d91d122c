"""The user guide names options that there are, messages that are said, and files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest_adcp.harness.options import OPTIONS

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "harness").rglob("*.py"))
# A text that is written over two lines of source is one text, and so are its braces.
SAID = re.sub(r'"\n\s*f?"', "", SOURCE)
_PYTESTS_OWN = {"unrecognized arguments: --server-url"}


def messages() -> list[str]:
    """Return the quoted parts of the messages in the tables at the end."""
    tables = GUIDE[GUIDE.index("## When it says") :]
    cells = [line.split("|")[1] for line in tables.splitlines() if line.startswith("| `")]
    return [
        part for cell in cells for quoted in re.findall(r"`([^`]+)`", cell) for part in quoted.split(" ... ")
    ]


@pytest.mark.parametrize("message", sorted(set(messages()) - _PYTESTS_OWN))
def test_messages_are_what_is_said(message: str) -> None:
    # Numbers and addresses come in while it runs.
    fixed = [part for part in re.split(r"HTTP \d+|\(HTTP", message) if part.strip()]
    assert all(part.strip() in SAID for part in fixed)


def test_options_exist() -> None:
    named = set(re.findall(r"--adcp-[a-z]+(?:-[a-z]+)*(?![a-z*-])", GUIDE))
    assert named <= {option.flag for option in OPTIONS}


def test_links_lead_somewhere() -> None:
    headings = re.findall(r"^## (.+)$", GUIDE, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for link in re.findall(r"\]\(([^)]+)\)", GUIDE):
        if link.startswith("#"):
            assert link[1:] in anchors, link
        elif not link.startswith("http"):
            assert (ROOT / "docs" / link).exists(), link
