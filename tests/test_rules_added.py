"""Each rule says since which release of the harness it exists: baselines of before must not fail by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_adcp.harness.baseline import version_numbers
from pytest_adcp.harness.baseline_file import RULES_VERSION
from pytest_adcp.harness.catalogue import all_rules
from pytest_adcp.harness.rules import FIRST_RELEASE, Level, rule, rules_of

FIRST = (Path(__file__).parent / "data" / "rules-of-the-first-release.txt").read_text("utf-8").split()


def test_a_rule_that_the_first_release_does_not_have_says_which_one_brought_it() -> None:
    missing = {rule.id for rule in all_rules() if rule.added == FIRST_RELEASE} - set(FIRST)
    assert not missing, (
        f"give @rule added={RULES_VERSION!r}; while the first release is not out, add them to "
        "tests/data/rules-of-the-first-release.txt instead"
    )


def test_no_rule_comes_from_the_future() -> None:
    assert {
        rule.id for rule in all_rules() if version_numbers(rule.added) > version_numbers(RULES_VERSION)
    } == set()
    assert len(FIRST) == len(set(FIRST))


@pytest.mark.parametrize("added", [None, "0.2.0"])
def test_a_rule_keeps_what_it_says(added: str | None) -> None:
    import types

    module = types.ModuleType(__name__)

    @rule("a.b", level=Level.MUST, source="https://spec.test", **({"added": added} if added else {}))
    def holds(answer) -> None:
        """It holds.

        Mend it.
        """

    module.holds = holds
    (found,) = rules_of(module)
    assert found.added == (added or FIRST_RELEASE)
