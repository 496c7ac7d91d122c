"""Several shards of one fleet, put together again: a checked operation, so that a shard that never ran is not overlooked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_adcp.harness.text import plural, safe

from .fleet import Fleet, ReportFile, TargetResult, load, worst_first
from .records import ReportError, read_file, read_json

_NAMED = 20  # missing shards


def merge(paths: Sequence[Path], out: Path | None = None) -> Fleet:
    """Return the fleet whose shards the files are.

    Args:
        paths: fleet.json of every shard, in any order; the targets' reports lie beside them as they were written.
        out: where the result will be written, from which its links to those reports lead; where the first file is by default.

    Raises:
        ReportError: a file is no fleet.json of this schema version, the files are not the shards of one list judged by
            one version of harness and rules, one is there twice or missing, or a target's report is not what was written.
    """
    if not paths:
        raise ReportError("nothing to merge: name the fleet.json of every shard")
    shards = [(path, load(path)) for path in paths]
    _check_alike(shards)
    _check_whole(shards)
    folder = (out or paths[0]).absolute().parent
    targets: dict[str, tuple[Path, TargetResult]] = {}
    for path, fleet in shards:
        for target in fleet.targets:
            if (found := targets.get(target.name)) is not None:
                raise ReportError(f"{path}: {target.name} is in {found[0]} too")
            targets[target.name] = path, replace(target, report=_report(path, target, folder))
    first = shards[0][1]
    if len(targets) != first.listed.targets:
        raise ReportError(
            f"{plural(len(targets), 'target')} in all, and the list has {first.listed.targets}: a file was cut or changed"
        )
    return replace(
        first,
        generated_at=max(fleet.generated_at for _, fleet in shards),
        shard=None,
        seconds=max(fleet.seconds for _, fleet in shards),
        targets=worst_first(target for _, target in targets.values()),
    )


def _check_alike(shards: Sequence[tuple[Path, Fleet]]) -> None:
    path, first = shards[0]
    for other, fleet in shards:
        if fleet.shard is None:
            raise ReportError(
                f"{other}: this is a whole fleet, no shard of one: there is nothing to merge it with"
            )
        if fleet.harness != first.harness:
            raise ReportError(
                f"{other}: judged by {_judge(fleet)}, and {path} by {_judge(first)}; judge all shards with one version"
            )
        if fleet.listed != first.listed:
            raise ReportError(f"{other}: a shard of another list of targets than {path}")


def _check_whole(shards: Sequence[tuple[Path, Fleet]]) -> None:
    seen: dict[int, Path] = {}
    count = 0
    for path, fleet in shards:
        assert fleet.shard is not None
        count = count or fleet.shard.count
        if fleet.shard.count != count:
            raise ReportError(
                f"{path}: one of {fleet.shard.count} shards, and {shards[0][0]} is one of {count}"
            )
        if fleet.shard.index >= count:
            raise ReportError(f"{path}: there is no shard {fleet.shard.index}/{count}")
        if (other := seen.get(fleet.shard.index)) is not None:
            twice = (
                "is there twice"
                if other == path
                else f"is shard {fleet.shard.index}/{count} too, as {other} is"
            )
            raise ReportError(f"{path} {twice}: each shard is merged once")
        seen[fleet.shard.index] = path
    missing = [f"{index}/{count}" for index in range(count) if index not in seen]
    if missing:
        named = ", ".join(missing[:_NAMED])
        rest = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise ReportError(f"{plural(len(missing), 'shard')} missing: {named}{rest}")


def _report(path: Path, target: TargetResult, folder: Path) -> ReportFile | None:
    """Return a target's report as seen from a folder, found to be the one that was written."""
    if target.report is None:
        return None
    file = path.absolute().parent / target.report.file
    if not file.resolve().is_relative_to(path.absolute().parent.resolve()):
        raise ReportError(f"{path}: the report of {target.name} lies elsewhere: {safe(target.report.file)}")
    try:
        data = read_file(file)
    except ReportError as error:
        raise ReportError(f"{path}: the report of {target.name} does not lie beside it: {error}") from None
    digest = hashlib.sha256(data).hexdigest()
    if digest != target.report.sha256:
        raise ReportError(
            f"{file}: not the report of {target.name} that {path} speaks of: its SHA-256 is another"
        )
    if not _agrees(read_json(file, data), target):
        raise ReportError(
            f"{path}: it does not say of {target.name} what its report does, {file}: it was changed"
        )
    return ReportFile(Path(os.path.relpath(file, folder)).as_posix(), digest)


def _agrees(report: Any, target: TargetResult) -> bool:
    """Whether a report of one target, as plain JSON, has the verdict and the counts that the fleet has of it."""
    match report:
        case {"targets": [{"verdict": verdict, "counts": counts}]}:
            return bool(verdict == target.verdict and counts == dict(target.counts))
    return False


def _judge(fleet: Fleet) -> str:
    return safe(f"{fleet.harness.name} {fleet.harness.version} (rules {fleet.harness.rules_version})")
