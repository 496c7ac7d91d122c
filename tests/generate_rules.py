"""Makes the rule reference: `python tests/generate_rules.py [--refresh [RULE ...]]`.

Without --refresh the pages in docs/rules are written from the rules and the packaged examples. With it the examples are
recorded again first, all of them (some minutes) or those of some rules. AdCP's schemas have to be at hand for that: install
the adcp package, or name its _schemas folder in ADCP_TEST_SCHEMAS.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import client_examples
from bundle import WHY_SKIPPED, validators
from pytest_adcp.harness.catalogue import all_rules
from pytest_adcp.harness.files import replace_file
from pytest_adcp.harness.interop.process import why_not
from pytest_adcp.harness.reference import examples
from pytest_adcp.harness.reference.examples import Pair
from pytest_adcp.harness.rules import Profile, Rule
from rule_examples import Recorder
from rule_pages import pages

DOCS = Path(__file__).parents[1] / "docs" / "rules"


def recorded(rules: Sequence[Rule]) -> dict[str, Pair]:
    """Record the examples of rules.

    Raises:
        LookupError: a rule is broken no more by what is to break it.
    """
    recorder = Recorder()
    recorder.prepare([rule for rule in rules if rule.profile is not Profile.CLIENT])
    return {
        rule.id: client_examples.pair(rule) if rule.profile is Profile.CLIENT else recorder.pair(rule)
        for rule in rules
    }


def save(new: Mapping[str, Pair]) -> None:
    """Write examples into the files of their families, in the order of the rules; examples of rules that are gone go."""
    families: dict[str, dict[str, Pair]] = {}
    for rule in all_rules():
        pair = new.get(rule.id) or examples.of_rule(rule.family, rule.id)
        if pair is not None:
            families.setdefault(rule.family, {})[rule.id] = pair
    for family, pairs in families.items():
        replace_file(examples.FOLDER / f"{family}.json", [examples.dumps(pairs)], mode=0o644)
    for path in examples.FOLDER.glob("*.json"):
        if path.stem not in families:
            path.unlink()
    examples.of_family.cache_clear()


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description="Make the rule reference in docs/rules.")
    parser.add_argument(
        "--refresh",
        nargs="*",
        metavar="RULE",
        help="record the examples again: all, or of the rules that match",
    )
    wanted = parser.parse_args(argv).refresh
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
        save(recorded(chosen))
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
