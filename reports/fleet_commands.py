"""`python -m pytest_adcp.reports fleet` and `merge`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import fleet_html
from .fleet import Fleet, load, save
from .fleet_terminal import summary
from .merge import merge

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[Any]


def register(subparsers: Subparsers) -> None:
    """Add the commands. Each sets `run`: a function from the parsed arguments to an exit code, which may raise ReportError."""
    page = subparsers.add_parser("fleet", help="write the page of a fleet")
    page.add_argument("file", type=Path, metavar="FLEET.json")
    page.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: fleet.html beside the file")
    page.set_defaults(run=_page)
    merged = subparsers.add_parser("merge", help="put the shards of a fleet together again")
    merged.add_argument("files", type=Path, nargs="+", metavar="FLEET.json", help="of every shard")
    merged.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the whole; its page is written beside it",
    )
    merged.set_defaults(run=_merge)


def _page(arguments: argparse.Namespace) -> int:
    output = arguments.output or arguments.file.with_name("fleet.html")
    fleet_html.save(load(arguments.file), output)
    return 0


def _merge(arguments: argparse.Namespace) -> int:
    """Return the exit code of the whole: the gravest of any shard."""
    output: Path = arguments.output
    fleet = merge(arguments.files, output)
    save(fleet, output)
    fleet_html.save(fleet, output.with_suffix(".html"))
    _tell(fleet, output)
    return int(fleet.exit_code)


def _tell(fleet: Fleet, output: Path) -> None:
    for line, _ in summary(fleet, file=str(output)):
        sys.stdout.write(f"{line}\n")
