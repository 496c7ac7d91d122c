"""`python -m pytest_adcp.reports fleet` and `merge`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import fleet_html, fleet_markdown
from .destination import STDOUT, write
from .exit_codes import epilog
from .fleet import load, save
from .fleet_outputs import beside, write_beside
from .fleet_terminal import summary
from .fleet_words import ended
from .merge import merge

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[Any]


def register(subparsers: Subparsers) -> None:
    """Add the commands. Each sets `run`: a function from the parsed arguments to an exit code, which may raise ReportError."""
    page = subparsers.add_parser(
        "fleet",
        help="the page of a fleet, or its Markdown",
        description="Write the page of a fleet, for people, or its Markdown.",
        epilog=epilog("fleet"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    page.add_argument("file", type=Path, metavar="FLEET.json")
    page.add_argument("--md", action="store_true", help="write Markdown, for a pull request")
    page.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="- is stdout; default: fleet.html or fleet.md beside fleet.json",
    )
    page.set_defaults(run=_page)
    merged = subparsers.add_parser(
        "merge",
        help="put the shards of a fleet together again",
        description="Put the shards of a fleet together again. In GitHub Actions the Markdown is added to the job's summary.",
        epilog=epilog("merge"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    merged.add_argument("files", type=Path, nargs="+", metavar="FLEET.json", help="of every shard")
    merged.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the whole; its page and its Markdown are written beside it",
    )
    merged.set_defaults(run=_merge)


def _page(arguments: argparse.Namespace) -> int:
    fleet = load(arguments.file)
    page, text = beside(arguments.file)
    out: str = arguments.output or str(text if arguments.md else page)
    if arguments.md:
        return write(fleet_markdown.render(fleet), out)
    folder = arguments.file.parent if out == STDOUT else Path(out).parent
    return write(fleet_html.render(fleet, folder), out)


def _merge(arguments: argparse.Namespace) -> int:
    """Return the exit code of the whole: the gravest of any shard."""
    output: Path = arguments.output
    fleet = merge(arguments.files, output)
    save(fleet, output)
    unwritten = write_beside(fleet, output)
    files = [str(file) for file in (output, *beside(output)) if file.is_file()]
    sys.stdout.writelines(f"{line}\n" for line, _ in summary(fleet, files=files, why=ended(fleet)))
    sys.stderr.writelines(f"{line}\n" for line in unwritten)
    return int(fleet.exit_code)
