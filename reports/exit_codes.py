"""What the exit codes of `python -m pytest_adcp.reports` mean, command by command, for --help."""

from __future__ import annotations

_WRITTEN = ((0, "the output is written"),)
_MEANINGS: dict[str, tuple[tuple[int, str], ...]] = {
    **dict.fromkeys(("html", "md", "badge", "sarif", "fleet"), _WRITTEN),
    "verify": (
        (0, "the report is what the transcript gives"),
        (1, "the report is not what the transcript gives"),
    ),
    # As a run over the whole fleet ends: harness.verdict.ExitCode, the gravest of any target.
    "merge": (
        (0, "the whole is written, and no target fails, or only as its baseline knows"),
        (1, "a target fails, or its baseline has a stale or expired entry"),
        (3, "a target met a fault of the harness"),
        (5, "nothing was judged on a target"),
        (
            6,
            "a target could not be surveyed (which weighs more than 1), or is inconclusive (which weighs less)",
        ),
    ),
}
_UNUSABLE = (
    2,
    "the command line is wrong, a file cannot be read or is no such report, or the output cannot be written",
)
EVERY = tuple(_MEANINGS)


def epilog(*commands: str) -> str:
    """Return the exit codes of commands; those of several under the names of those that share them."""
    shared: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for command in commands:
        shared.setdefault(_MEANINGS[command], []).append(command)
    if len(shared) == 1:
        (meanings,) = shared
        return "\n".join(["exit codes:", *_lines(*meanings, _UNUSABLE)])
    blocks = [
        [f"exit codes of {', '.join(names)}:", *_lines(*meanings)] for meanings, names in shared.items()
    ]
    return "\n".join(
        line for block in [*blocks, ["exit code of each:", *_lines(_UNUSABLE)]] for line in block
    )


def _lines(*meanings: tuple[int, str]) -> list[str]:
    return [f"  {code}  {meaning}" for code, meaning in sorted(meanings)]
