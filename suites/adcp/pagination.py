"""Lists that come a page at a time: what `pagination` says, and whether the pages are what it says."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.probes.pages import BY_OFFSET, ITEMS_ASKED
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.subjects import Answer, Probed
from pytest_adcp.harness.text import plural, quote

from .barred import not_put_off
from .failures import kind_of
from .refusals import accepted, gist, place
from .roots import data_root

_PAGINATION = "https://adcontextprotocol.org/schemas/v3/core/pagination-response.json"
_CHANGING = "the list may have changed while it was read"
_SURE = 2  # pages on which a count may differ because the list itself did


@rule("adcp.envelope.pagination-coupling", level=Level.MUST, source=_PAGINATION)
def cursor_and_has_more_agree(success: Answer) -> None:
    """`pagination` says in has_more whether there is another page, and has a cursor exactly where there is one.

    Send {"has_more": true, "cursor": "..."} on every page but the last, and {"has_more": false} on that.
    """
    pagination = _pagination(success)
    at = success.in_payload("pagination")
    if not isinstance(pagination, Mapping):
        raise Broken(
            "an object with has_more",
            quote(pagination),
            at=at,
            because=f"pagination is {kind_of(pagination)}; buyers look for has_more and cursor in an object",
        )
    more, cursor = pagination.get("has_more"), pagination.get("cursor")
    if not isinstance(more, bool):
        raise Broken(
            "has_more: true or false",
            quote(more) if "has_more" in pagination else "no such member",
            at=f"{at}/has_more" if "has_more" in pagination else at,
            because=f"has_more is {kind_of(more)}, not a boolean"
            if "has_more" in pagination
            else "pagination comes without has_more, so a buyer cannot tell whether this is the whole list",
        )
    if cursor is not None and not isinstance(cursor, str):
        raise Broken(
            "a string",
            quote(cursor),
            at=f"{at}/cursor",
            because=f"cursor is {kind_of(cursor)}; buyers send it back as the string that AdCP says it is",
        )
    if more and not cursor:
        raise Broken(
            "a cursor beside has_more: true",
            quote(pagination),
            at=at,
            because="has_more is true and there is no cursor: a buyer knows that there is more and cannot ask for it",
            fix="send the cursor of the next page, or has_more: false where this is the last one",
        )
    if not more and cursor is not None:
        raise Broken(
            "no cursor beside has_more: false",
            quote(cursor),
            at=f"{at}/cursor",
            because="has_more is false and there is a cursor: buyers that follow it read past the end of the list",
            fix="leave cursor out of the last page",
            lenient="" if cursor else "an empty cursor leads nowhere",
        )


@rule("adcp.envelope.pages", level=Level.MUST, source=_PAGINATION, probes=[Probe.PAGE])
def cursor_leads_on(probed: Probed) -> None:
    """The cursor of a page gives the next one: other items, and another cursor or the end of the list.

    Make the cursor stand for the place where the page ended (the last item's key, or an offset), and read it when it comes
    back in pagination.cursor.
    """
    if not probed.before:
        raise NotApplicable("the first page")
    answer, last = probed.answer, probed.before[-1]
    if not accepted(answer):
        not_put_off(answer)
        raise Broken(
            "the next page",
            gist(answer),
            at=place(answer),
            because="the cursor that the page before gave is refused, so the rest of the list cannot be read",
        )
    items, before = _items(answer), _items(last)
    cursor = _member(answer, "cursor")
    # A cursor on a last page is none that anybody follows: adcp.envelope.pagination-coupling speaks about it.
    if cursor is not None and equal(cursor, _member(last, "cursor")) and _member(answer, "has_more") is True:
        raise Broken(
            "another cursor, or has_more: false",
            f"the same again: {quote(cursor, 100)}",
            at=answer.in_payload("pagination", "cursor"),
            because="the cursor leads back to itself: a buyer that reads the list to its end never gets there",
        )
    earlier = next((page for page in probed.before[:-1] if items and equal(items, _items(page))), None)
    if earlier is not None and not equal(items, before) and _member(answer, "has_more") is True:
        raise Broken(
            "items that have not come yet, or has_more: false",
            quote(items, 160),
            at=answer.in_payload(_list_name(answer)),
            because="an earlier page comes again with has_more: true: a buyer that reads the list to its end never gets there",
            lenient=_CHANGING if _has_grown(earlier, answer) else "",
        )
    if items and before and equal(items, before):
        if _has_grown(last, answer):
            raise NotApplicable("the list has grown while it was read")
        sure = len(probed.before) > 1 and equal(items, _items(probed.before[-2]))
        if not sure and _member(answer, "has_more") is True:
            raise NotApplicable(
                "the same items once more: the next page tells whether that is the list's doing"
            )
        raise Broken(
            "other items than on the page before",
            quote(items, 160),
            at=answer.in_payload(_list_name(answer)),
            because="the page that the cursor leads to holds the same items as the one before it: the cursor is not read",
            lenient="" if sure else _CHANGING,
        )


@rule("adcp.envelope.total-count", level=Level.MUST, source=_PAGINATION, probes=[Probe.PAGE])
def total_count_is_true(probed: Probed) -> None:
    """total_count, where a list has it, is the number of all items: the same on every page.

    Count what matches the request before the page is cut out of it, or leave total_count out.
    """
    answer = probed.answer
    if not accepted(answer):
        raise NotApplicable("no page came")
    pagination = _pagination(answer)
    total = pagination.get("total_count") if isinstance(pagination, Mapping) else None
    if not isinstance(pagination, Mapping) or total is None:
        raise NotApplicable("no total_count came")
    at = answer.in_payload("pagination", "total_count")
    if not _is_count(total):
        raise Broken(
            "a whole number from 0 on",
            quote(total),
            at=at,
            because=f"total_count is {quote(total, 60)}, which counts nothing",
        )
    items = _items(answer)
    if items is None:
        raise NotApplicable("the items cannot be counted")
    more = pagination.get("has_more") is True
    if len(items) > total or (more and len(items) == total):
        raise Broken(
            f"more than {len(items)}" if more else f"at least {len(items)}",
            quote(total),
            at=at,
            because=f"total_count is {quote(total, 40)}, on a page of {plural(len(items), 'item')}"
            f"{' that is not the last one' if more else ''}: it does not count the whole list",
        )
    counts = [_member(page, "total_count") for page in probed.before]
    if not counts or not all(map(_is_count, counts)):
        return
    counts.append(total)
    ended = pagination.get("has_more") is False
    sure = len(counts) > _SURE
    # Where more is to come, the next page tells whether this is the list's doing.
    if (sure or ended) and all(later < earlier for earlier, later in pairwise(counts)):
        raise Broken(
            f"{quote(counts[0], 40)}, as on the first page",
            ", then ".join(quote(count, 40) for count in counts),
            at=at,
            because="total_count gets smaller from page to page: it counts what is left, not the whole list",
            lenient="" if sure else _CHANGING,
        )
    read = sum(len(_items(page) or ()) for page in (*probed.before, answer))
    if ended and read < total and len(set(counts)) == 1:
        raise Broken(
            f"{read}, or the other {quote(total - read, 40)} as well",
            quote(total),
            at=at,
            because=f"total_count is {quote(total, 40)}, and the list ends after {plural(read, 'item')}",
            lenient="what is counted may not all be shown to this buyer",
        )


@rule("adcp.envelope.page-size", level=Level.SHOULD, source=_PAGINATION, probes=[Probe.PAGE])
def page_is_as_small_as_asked(probed: Probed) -> None:
    """A page holds no more items than pagination.max_results asks for; fewer are fine.

    Read pagination.max_results before you cut the page, and send has_more and a cursor for the rest.
    """
    if probed.before:
        raise NotApplicable("judged on the first page")
    if not accepted(probed.answer):
        raise NotApplicable("no page came")
    items = _items(probed.answer)
    if items is None:
        raise NotApplicable("the items cannot be counted")
    if len(items) > ITEMS_ASKED:
        raise Broken(
            f"at most {plural(ITEMS_ASKED, 'item')}",
            plural(len(items), "item"),
            at=probed.answer.in_payload(_list_name(probed.answer)),
            because=f"pagination.max_results asked for {plural(ITEMS_ASKED, 'item')} a page, and {len(items)} came; "
            "a buyer that pages to keep its answers small cannot",
        )


def _pagination(answer: Answer) -> Any:
    """Return what stands under `pagination`.

    Raises:
        NotApplicable: nothing does, or it is one without cursors.
    """
    pagination = data_root(answer).get("pagination")
    if pagination is None:
        raise NotApplicable("no pagination came")
    if answer.task.name in BY_OFFSET:
        raise NotApplicable(f"{answer.task.name} pages by offset, without a cursor")
    return pagination


def _member(answer: Answer, name: str) -> Any:
    pagination = answer.payload.get("pagination")
    return pagination.get(name) if isinstance(pagination, Mapping) else None


def _list_name(answer: Answer) -> str:
    """Return the root field that holds the items of a list; empty where none, or more than one, is a list."""
    lists = [name for name in sorted(answer.task.root) if isinstance(answer.payload.get(name), list)]
    return lists[0] if len(lists) == 1 else ""


def _items(answer: Answer) -> list[Any] | None:
    name = _list_name(answer)
    items = answer.payload.get(name) if name else None
    return items if isinstance(items, list) else None


def _is_count(value: Any) -> bool:
    """Whether a value is a whole number from 0 on; 3.0 is one, infinity is none."""
    if isinstance(value, float):
        return value.is_integer() and value >= 0
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _has_grown(before: Answer, answer: Answer) -> bool:
    """Whether a list got further items between two pages: read by offset, it then gives an item twice."""
    counts = (_member(before, "total_count"), _member(answer, "total_count"))
    return all(map(_is_count, counts)) and counts[0] < counts[1]
