"""`python -m pytest_adcp.reports`: other forms of a saved report, and whether it is what its transcript gives."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_adcp.harness.text import safe

from . import fleet_commands, model
from .destination import STDOUT, write
from .exit_codes import EVERY, epilog
from .model import Report
from .records import ReportError

_PROGRAM = "python -m pytest_adcp.reports"
_DONE, _DIFFERS, _UNUSABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; what is wrong goes to stderr in one line."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except BrokenPipeError:
        # Whoever reads has seen enough, as `head` has; nothing more can be written there, not even by the interpreter.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _DONE
    except ReportError as error:
        sys.stderr.write(f"{_PROGRAM}: {safe(str(error), 600)}\n")
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"{_PROGRAM}: {safe(f'{name}{error.strerror or error}', 600)}\n")
    return _UNUSABLE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        _PROGRAM,
        description="Turn report.json or a fleet's fleet.json into other forms, check a report against its transcript, "
        "or put the shards of a fleet together.",
        epilog=epilog(*EVERY),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    html = _command(commands, "html", "one page with everything, for people", _html)
    html.add_argument(
        "--transcript",
        action="append",
        default=[],
        type=Path,
        metavar="TRANSCRIPT",
        help="a transcript, where it was moved (again for each)",
    )
    md = _command(commands, "md", "Markdown, for a pull request", _markdown)
    md.add_argument(
        "--limit",
        type=int,
        default=65_536,
        metavar="BYTES",
        help="most bytes to write (default 65536, a comment)",
    )
    badge = _command(commands, "badge", "a badge: JSON for shields.io, or an SVG", _badge)
    badge.add_argument("--svg", action="store_true", help="write an SVG (default where OUT ends in .svg)")
    _command(commands, "sarif", "SARIF 2.1.0, for code scanning", _sarif)
    verify = commands.add_parser(
        "verify",
        help="judge a transcript again, and say whether the report is what it gives",
        epilog=epilog("verify"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verify.add_argument("report", type=Path, metavar="REPORT", help="report.json")
    verify.add_argument(
        "transcript",
        type=Path,
        nargs="?",
        metavar="TRANSCRIPT",
        help="transcript.jsonl (default the one that the report names)",
    )
    verify.add_argument(
        "--schemas", type=Path, metavar="DIR", help="the AdCP schemas that the report was judged with"
    )
    verify.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module of further rules that the run had from another package (again for each)",
    )
    verify.set_defaults(run=_verify)
    fleet_commands.register(commands)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    about: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add a subcommand that turns reports into one text."""
    command = commands.add_parser(
        name,
        help=about,
        description=f"Write {about}.",
        epilog=epilog(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("files", type=Path, nargs="+", metavar="FILE", help="report.json; - is stdin")
    command.add_argument(
        "-o", dest="out", default=STDOUT, metavar="OUT", help="where to write (default -, stdout)"
    )
    command.set_defaults(run=run)
    return command


def _load(path: Path) -> Report:
    return model.loads(sys.stdin.buffer.read(), "stdin") if str(path) == STDOUT else model.load(path)


def _together(files: Sequence[Path]) -> Report:
    """Return several reports as one; what is said of the whole run is the first one's."""
    first, *others = [_load(file) for file in files]
    return replace(first, targets=tuple(target for each in (first, *others) for target in each.targets))


def _html(options: argparse.Namespace) -> int:
    from pytest_adcp.harness.transcript import Transcript, TranscriptError

    from . import html

    reports = [_load(file) for file in options.files]
    try:
        transcripts = [Transcript.load(file) for file in options.transcript]
    except TranscriptError as error:
        raise ReportError(str(error)) from None
    for report, file in zip(reports, options.files, strict=True):
        transcripts += html.recorded(report, file.parent)
    return write(html.render(*reports, transcripts=transcripts), options.out)


def _markdown(options: argparse.Namespace) -> int:
    from . import markdown

    return write(markdown.render(_together(options.files), limit=options.limit), options.out)


def _badge(options: argparse.Namespace) -> int:
    from . import badge

    form = badge.svg if options.svg or options.out.endswith(".svg") else badge.endpoint
    return write(form(_together(options.files)), options.out)


def _sarif(options: argparse.Namespace) -> int:
    from pytest_adcp.harness.catalogue import all_rules

    from . import sarif

    reports = [_load(file) for file in options.files]
    requirements = {rule.id: rule.requirement for rule in all_rules()}
    return write(sarif.render(*reports, requirements=requirements), options.out)


def _verify(options: argparse.Namespace) -> int:
    from pytest_adcp.harness.transcript import TranscriptError

    from .verify import verify

    report = model.load(options.report)
    try:
        done = [
            verify(report, file, schemas=options.schemas, suites=options.suite)
            for file in _transcripts(options, report)
        ]
    except TranscriptError as error:
        raise ReportError(str(error)) from None
    name = safe(str(options.report), 400)
    differs = False
    for each in done:
        notes = "".join(f"; {note}" for note in each.notes)
        if each.differences:
            differs = True
            sys.stdout.write(f"{name} is not what this transcript gives ({each.summary}){notes}\n")
            sys.stdout.writelines(f"  {line}\n" for line in each.differences)
        else:
            sys.stdout.write(f"{name} is what this transcript gives: {each.summary}{notes}\n")
    return _DIFFERS if differs else _DONE


def _transcripts(options: argparse.Namespace, report: Report) -> list[Path]:
    if options.transcript is not None:
        return [options.transcript]
    named = [target.transcript.file for target in report.targets if target.transcript]
    if not named:
        raise ReportError(f"{options.report}: it names no transcript; give the file")
    files = [options.report.parent / name.replace("\0", "") for name in named]
    for file in files:
        # A report may be a foreign file: what it names is only read where it is a plain one.
        if not file.is_file():
            raise ReportError(f"{file}: there is no such file; give the transcript")
    return files


if __name__ == "__main__":
    raise SystemExit(main())
