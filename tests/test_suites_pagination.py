from __future__ import annotations

import json
from typing import Any

import pytest
from evidence import Http, finding, judge_all, on, outcome
from probed import after_sample, error, prose, series
from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.verdict import Outcome, judge
from pytest_adcp.suites import CORE

COUPLING = "adcp.envelope.pagination-coupling"
PAGES = "adcp.envelope.pages"
TOTAL = "adcp.envelope.total-count"
SIZE = "adcp.envelope.page-size"


def page(*ids: str, **pagination: Any) -> dict[str, Any]:
    return {"products": [{"product_id": one} for one in ids], "pagination": pagination}


def pages(*answers: Any, **rest: Any) -> Evidence:
    return series(Probe.PAGE, *answers, **rest)


def test_pages_that_take_turns_never_end() -> None:
    a, b = {"has_more": True, "cursor": "c1"}, {"has_more": True, "cursor": "c2"}
    evidence = pages(page("a", **a), page("b", **b), page("a", has_more=True, cursor="c3"))
    rule = next(rule for rule in load(CORE) if rule.id == "adcp.envelope.pages")
    last = judge(rule, evidence.of(rule)[-1])
    assert last.outcome is Outcome.FAILED
    assert "an earlier page comes again" in last.message
    whole = pages(page("a", **a), page("b", **b), page("a", has_more=False))
    assert judge(rule, whole.of(rule)[-1]).outcome is Outcome.PASSED


# -- what pagination says --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pagination", "expected", "pointer"),
    [
        ({"has_more": True, "cursor": "c"}, Outcome.PASSED, None),
        ({"has_more": False}, Outcome.PASSED, None),
        ({"has_more": False, "cursor": None}, Outcome.PASSED, None),
        ({"has_more": False, "cursor": ""}, Outcome.ADVISORY, "/cursor"),
        ({"has_more": False, "cursor": "c"}, Outcome.FAILED, "/cursor"),
        ({"has_more": True}, Outcome.FAILED, ""),
        ({"has_more": True, "cursor": None}, Outcome.FAILED, ""),
        ({"has_more": True, "cursor": ""}, Outcome.FAILED, ""),
        ({"has_more": True, "cursor": 7}, Outcome.FAILED, "/cursor"),
        ({"has_more": "true", "cursor": "c"}, Outcome.FAILED, "/has_more"),
        ({"has_more": None}, Outcome.FAILED, "/has_more"),
        ({"cursor": "c"}, Outcome.FAILED, ""),
        ({}, Outcome.FAILED, ""),
    ],
)
def test_cursor_and_has_more(pagination: dict[str, Any], expected: Outcome, pointer: str | None) -> None:
    found = finding(pages(page("a", **pagination)), COUPLING)
    assert found.outcome is expected
    at = "/result/structuredContent/pagination"
    assert found.pointer == (None if pointer is None else f"{at}{pointer}")


@pytest.mark.parametrize("pagination", [[], "next", 3])
def test_pagination_is_an_object(pagination: Any) -> None:
    assert outcome(pages({"products": [], "pagination": pagination}), COUPLING) is Outcome.FAILED


@pytest.mark.parametrize("payload", [{"products": []}, {"products": [], "pagination": None}])
def test_a_list_without_pagination_is_not_judged(payload: dict[str, Any]) -> None:
    assert outcome(pages(payload), COUPLING) is Outcome.NOT_APPLICABLE


def test_a_task_that_pages_by_offset_needs_no_cursor() -> None:
    payload = {"creatives": [], "reporting_period": {}, "pagination": {"limit": 1, "has_more": True}}
    evidence = pages(payload, tool="get_creative_delivery")
    assert on(evidence, COUPLING, "get_creative_delivery/page-1") is Outcome.NOT_APPLICABLE


# -- what the pages are ----------------------------------------------------------------------------


def test_pages_that_go_on_to_the_end() -> None:
    evidence = pages(
        page("a", has_more=True, cursor="1", total_count=3),
        page("b", has_more=True, cursor="2", total_count=3),
        page("c", has_more=False, total_count=3),
    )
    assert [item.outcome for item in judge_all(evidence, PAGES)] == [
        Outcome.NOT_APPLICABLE,
        Outcome.PASSED,
        Outcome.PASSED,
    ]
    assert {item.outcome for item in judge_all(evidence, TOTAL)} == {Outcome.PASSED}
    assert on(evidence, SIZE, "get_products/page-1") is Outcome.PASSED
    assert on(evidence, SIZE, "get_products/page-2") is Outcome.NOT_APPLICABLE


def test_a_list_of_one_page_says_nothing_about_the_next() -> None:
    assert outcome(pages(page("a", has_more=False)), PAGES) is Outcome.NOT_APPLICABLE


def test_a_cursor_that_leads_to_itself() -> None:
    evidence = pages(page("a", has_more=True, cursor="1"), page("b", has_more=True, cursor="1"))
    found = finding(evidence, PAGES)
    assert found.outcome is Outcome.FAILED
    assert found.pointer == "/result/structuredContent/pagination/cursor"
    # On a last page it is a cursor that should not be there, which is one finding and not two.
    evidence = pages(page("a", has_more=True, cursor="1"), page("b", has_more=False, cursor="1"))
    assert outcome(evidence, PAGES) is Outcome.PASSED
    assert outcome(evidence, COUPLING) is Outcome.FAILED


def test_the_same_page_again_is_certain_the_third_time() -> None:
    evidence = pages(*(page("a", has_more=True, cursor=str(number)) for number in range(3)))
    assert on(evidence, PAGES, "get_products/page-2") is Outcome.NOT_APPLICABLE
    assert on(evidence, PAGES, "get_products/page-3") is Outcome.FAILED
    # Where there is no third one, an item may have come in between.
    evidence = pages(page("a", has_more=True, cursor="1"), page("a", has_more=False))
    assert on(evidence, PAGES, "get_products/page-2") is Outcome.ADVISORY


def test_an_item_that_comes_twice_because_the_list_grew() -> None:
    evidence = pages(
        page("a", has_more=True, cursor="1", total_count=2),
        page("a", has_more=True, cursor="2", total_count=3),
    )
    assert on(evidence, PAGES, "get_products/page-2") is Outcome.NOT_APPLICABLE
    assert on(evidence, TOTAL, "get_products/page-2") is Outcome.PASSED


def test_empty_pages_are_not_the_same_page() -> None:
    evidence = pages(page(has_more=True, cursor="1"), page(has_more=False))
    assert outcome(evidence, PAGES) is Outcome.PASSED


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (error("INVALID_REQUEST", field="pagination.cursor"), Outcome.FAILED),
        (error("CURSOR_EXPIRED"), Outcome.FAILED),
        (prose("KeyError: 'c1'"), Outcome.FAILED),
        (error("RATE_LIMITED", retry_after=1), Outcome.NOT_APPLICABLE),
        (error("AUTH_INVALID"), Outcome.BLOCKED),
    ],
)
def test_a_cursor_that_is_refused(answer: Any, expected: Outcome) -> None:
    evidence = pages(page("a", has_more=True, cursor="c1"), answer)
    # A plea for patience to the end is no answer at all, so that may be blocked too; it is never a failure.
    assert on(evidence, PAGES, "get_products/page-2") in {
        expected,
        Outcome.BLOCKED if expected is Outcome.NOT_APPLICABLE else expected,
    }


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([page("a", has_more=True, cursor="1", total_count=1)], Outcome.FAILED),
        ([page("a", "b", has_more=False, total_count=1)], Outcome.FAILED),
        ([page("a", has_more=True, cursor="1", total_count=2)], Outcome.PASSED),
        ([page("a", has_more=True, cursor="1", total_count=2.0)], Outcome.PASSED),
        ([page("a", has_more=True, cursor="1", total_count=True)], Outcome.FAILED),
        ([page("a", has_more=True, cursor="1", total_count="2")], Outcome.FAILED),
        ([page("a", has_more=True, cursor="1", total_count=2.5)], Outcome.FAILED),
        ([page(has_more=False, total_count=-1)], Outcome.FAILED),
        ([page("a", has_more=False, total_count=None)], Outcome.NOT_APPLICABLE),
        ([page("a", has_more=False)], Outcome.NOT_APPLICABLE),
        ([page(has_more=False, total_count=0)], Outcome.PASSED),
        # The list ends early, or not all that is counted is shown.
        ([page("a", has_more=True, cursor="1", total_count=5), page("b", has_more=False, total_count=5)], Outcome.ADVISORY),
        # A list that got shorter while it was read.
        ([page("a", has_more=True, cursor="1", total_count=3), page("b", has_more=False, total_count=2)], Outcome.ADVISORY),
        ([page("a", has_more=True, cursor="1", total_count=9), page("b", has_more=True, cursor="2", total_count=8)], Outcome.PASSED),
        # What is left: 3, 2, 1.
        (
            [
                page("a", has_more=True, cursor="1", total_count=3),
                page("b", has_more=True, cursor="2", total_count=2),
                page("c", has_more=False, total_count=1),
            ],
            Outcome.FAILED,
        ),
        # A list that grew, by less than was read.
        ([page("a", has_more=True, cursor="1", total_count=2), page("b", has_more=False, total_count=3)], Outcome.PASSED),
    ],
)  # fmt: skip
def test_total_count(answers: list[Any], expected: Outcome) -> None:
    assert outcome(pages(*answers), TOTAL) is expected


def test_a_count_that_no_number_holds() -> None:
    payload = page("a", has_more=True, cursor="1", total_count=7)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": payload}})
    evidence = pages(Http(body.replace('"total_count": 7', '"total_count": 1e999').encode()))
    assert outcome(evidence, TOTAL) is Outcome.FAILED


def test_a_count_without_end_is_quoted_and_no_more() -> None:
    found = finding(pages(page("a", has_more=True, cursor="1", total_count=-(10**400))), TOTAL)
    assert found.outcome is Outcome.FAILED
    assert len(found.received) <= 300
    assert outcome(pages(page("a", has_more=True, cursor="1", total_count=1e308)), TOTAL) is Outcome.PASSED


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (page("a", has_more=False), Outcome.PASSED),
        (page(has_more=False), Outcome.PASSED),
        (page("a", "b", has_more=False), Outcome.ADVISORY),
        ({"products": [{}, {}]}, Outcome.ADVISORY),
        ({"unchanged": True}, Outcome.NOT_APPLICABLE),
        (error(), Outcome.NOT_APPLICABLE),
    ],
)
def test_page_size(answer: Any, expected: Outcome) -> None:
    assert on(pages(answer), SIZE, "get_products/page-1") is expected


def test_the_sample_is_no_page() -> None:
    evidence = after_sample(Probe.UNKNOWN_FIELD, page("a", "b", has_more=False, total_count=1), page("a"))
    for rule in (PAGES, TOTAL, SIZE):
        assert outcome(evidence, rule) is Outcome.NOT_APPLICABLE
