"""Makes the rule reference: `python tests/generate_rules.py [--refresh [RULE ...]]`.

Without --refresh the examples (harness/reference) are made of the recordings in tests/data/rules, and the pages in docs/rules
of the rules and the examples. With it sellers are surveyed again first, for all rules (some minutes) or some. AdCP's schemas
have to be at hand for that: install the adcp package, or name its _schemas folder in ADCP_TEST_SCHEMAS.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import client_examples
import rule_recordings
from bundle import WHY_SKIPPED, validators
from pytest_adcp.harness.catalogue import all_rules
from pytest_adcp.harness.files import replace_file
from pytest_adcp.harness.interop.process import why_not
from pytest_adcp.harness.reference import examples
from pytest_adcp.harness.reference.examples import Pair
from pytest_adcp.harness.rules import Profile, Rule
from rule_examples import Recorder, stored
from rule_pages import pages

DOCS = Path(__file__).parents[1] / "docs" / "rules"


def recorded(rules: Sequence[Rule]) -> tuple[dict[str, Pair], dict[str, bytes]]:
    """Record the examples of rules; return them by rule, and the transcripts that they are made of by file name.

    Raises:
        LookupError: a rule is broken no more by what is to break it, or nothing passes it.
    """
    recorder = Recorder()
    recorder.prepare([rule for rule in rules if rule.profile is not Profile.CLIENT])
    pairs: dict[str, Pair] = {}
    transcripts: dict[str, bytes] = {}
    for rule in rules:
        if rule.profile is Profile.CLIENT:
            pairs[rule.id] = client_examples.pair(rule)
            continue
        two = recorder.two(rule)
        pairs[rule.id] = two.pair
        for side, of in (("fails", two.faulty), ("passes", two.clean)):
            transcripts[rule_recordings.name_of(rule.id, side)] = rule_recordings.saved(of.transcript)
    return pairs, transcripts


def remade() -> dict[str, Pair]:
    """Make the examples of rules about servers again, of the recordings that there are.

    What only AdCP's schemas can tell stays as it is where they are not at hand.

    Raises:
        LookupError: a recording breaks, or keeps, its rule no more: it has to be recorded again.
    """
    found: dict[str, Pair] = {}
    for rule in all_rules():
        pair = examples.of_rule(rule.family, rule.id)
        if rule.profile is not Profile.CLIENT and pair is not None and rule_recordings.can_be_judged(rule):
            found[rule.id] = stored(rule, pair).pair
    return found


def save(new: Mapping[str, Pair], transcripts: Mapping[str, bytes]) -> None:
    """Write examples into the files of their families, in the order of the rules; examples of rules that are gone go."""
    families: dict[str, dict[str, Pair]] = {}
    for rule in all_rules():
        pair = new.get(rule.id) or examples.of_rule(rule.family, rule.id)
        if pair is not None:
            families.setdefault(rule.family, {})[rule.id] = pair
    for family, pairs in families.items():
        replace_file(examples.FOLDER / f"{family}.json", [examples.dumps(pairs)], mode=0o644)
        if any(name.startswith(f"{rule}.") for rule in pairs for name in transcripts):
            rule_recordings.save(family, pairs, transcripts)
    for path in (*examples.FOLDER.glob("*.json"), *rule_recordings.FOLDER.glob("*.tar.xz")):
        if path.name.removesuffix(".json").removesuffix(".tar.xz") not in families:
            path.unlink()
    examples.of_family.cache_clear()


def write_whole(parser: argparse.ArgumentParser, name: str) -> int:
    """Write the transcripts that a rule's examples are made of, for --adcp-replay."""
    rule = next((rule for rule in all_rules() if rule.id == name), None)
    if rule is None or rule.profile is Profile.CLIENT:
        parser.error(f"--whole: there is no rule about servers {name!r}")
    for side in ("fails", "passes"):
        file = rule_recordings.name_of(rule.id, side)
        replace_file(Path(file), [rule_recordings.of_family(rule.family)[file]], mode=0o644)
        sys.stdout.write(f"{file}\n")
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description="Make the rule reference in docs/rules.")
    parser.add_argument(
        "--refresh",
        nargs="*",
        metavar="RULE",
        help="record the examples again: all, or of the rules that match",
    )
    parser.add_argument(
        "--whole",
        metavar="RULE",
        help="write the recordings of a rule's examples into the current folder, and end",
    )
    arguments = parser.parse_args(argv)
    if arguments.whole is not None:
        return write_whole(parser, arguments.whole)
    wanted = arguments.refresh
    if wanted is not None:
        chosen = [
            r for r in all_rules() if not wanted or any(fnmatchcase(r.id, pattern) for pattern in wanted)
        ]
        if not chosen:
            parser.error(f"--refresh: no rule matches {' '.join(wanted)}")
        if validators() is None:
            parser.error(WHY_SKIPPED)
        if why_not():
            parser.error(why_not())
        save(*recorded(chosen))
    else:
        save(remade(), {})
    DOCS.mkdir(parents=True, exist_ok=True)
    made = pages()
    for name, text in made.items():
        replace_file(DOCS / name, [text.encode("utf-8")], mode=0o644)
    for path in DOCS.glob("*.md"):
        if path.name not in made:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
