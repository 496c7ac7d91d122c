"""The two extraction algorithms, what they say about why nothing came out, and what a client does then."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from pytest_adcp.harness.error_codes import ERROR_CODES, Recovery
from pytest_adcp.harness.extraction import (
    DEFAULT_CLIENT_LIMIT,
    Action,
    Path,
    Reason,
    TextOutcome,
    action,
    extract_error,
    extract_success,
    retry_after,
)

DATA = {"products": [{"product_id": "p1"}]}
ERROR = {"code": "CONFLICT", "message": "Busy", "recovery": "transient"}


def text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}


class TestSuccess:
    def test_from_structured_content(self) -> None:
        found = extract_success({"content": [text({"other": 1})], "structuredContent": DATA})
        assert (found.data, found.path, found.pointer) == (
            DATA,
            Path.STRUCTURED_CONTENT,
            "/structuredContent",
        )
        assert (found.reason, found.texts) == (None, ())

    def test_from_text(self) -> None:
        found = extract_success({"content": [text("Hello"), {"type": "image"}, text(DATA), text("not read")]})
        assert (found.data, found.path, found.pointer) == (DATA, Path.TEXT_FALLBACK, "/content/2/text")
        assert found.reason is None
        assert [(t.index, t.outcome, t.units, t.pointer) for t in found.texts] == [
            (0, TextOutcome.NOT_JSON, 5, "/content/0/text"),
            (2, TextOutcome.FOUND, len(json.dumps(DATA)), "/content/2/text"),
        ]
        assert found.texts[1].value == DATA

    @pytest.mark.parametrize(
        ("result", "reason", "path", "pointer"),
        [
            ({"isError": True, "structuredContent": DATA}, Reason.IS_ERROR, Path.ERROR, "/isError"),
            ({"isError": "false", "structuredContent": DATA}, Reason.IS_ERROR, Path.ERROR, "/isError"),
            (
                {"structuredContent": {"adcp_error": ERROR}},
                Reason.ADCP_ERROR_ONLY,
                Path.NONE,
                "/structuredContent",
            ),
            ({"content": [text({"adcp_error": ERROR}), text("[1]")]}, Reason.ADCP_ERROR_ONLY, Path.NONE, ""),
            ({"content": [text("prose"), text("[1]")]}, Reason.NO_JSON_OBJECT, Path.NONE, ""),
            ({"content": [text("prose"), text("")]}, Reason.NO_JSON_TEXT, Path.NONE, ""),
            ({"content": [text(""), {"type": "image"}]}, Reason.NO_TEXT, Path.NONE, ""),
            ({"content": "x", "structuredContent": [1]}, Reason.NO_TEXT, Path.NONE, ""),
            ({}, Reason.NO_TEXT, Path.NONE, ""),
            ([], Reason.NO_TEXT, Path.NONE, ""),
            ("text", Reason.NO_TEXT, Path.NONE, ""),
            (None, Reason.THROWS, Path.NONE, ""),
            ({"content": [text("prose"), None, text(DATA)]}, Reason.THROWS, Path.NONE, "/content/1"),
            (
                {"content": [{"type": "text", "text": {"length": {"toString": 1}}}]},
                Reason.THROWS,
                Path.NONE,
                "/content/0/text",
            ),
        ],
    )
    def test_says_why_nothing_came_out(
        self, result: object, reason: Reason, path: Path, pointer: str
    ) -> None:
        found = extract_success(result)
        assert (found.data, found.reason, found.path, found.pointer) == (None, reason, path, pointer)

    def test_stops_before_an_item_that_would_throw(self) -> None:
        assert extract_success({"content": [text(DATA), None]}).data == DATA

    def test_limit_is_one_of_utf_16_units(self) -> None:
        item = text('{"a":"\U0001f3af\U0001f3af"}')
        assert extract_success({"content": [item]}, limit=12).data == {"a": "\U0001f3af\U0001f3af"}
        found = extract_success({"content": [item]}, limit=11)
        assert (found.data, found.reason) == (None, Reason.TEXT_TOO_LARGE)
        assert [(t.outcome, t.units, t.parsed) for t in found.texts] == [(TextOutcome.TOO_LARGE, 12, None)]

    def test_default_limit_is_4_mib(self) -> None:
        padding = "x" * (DEFAULT_CLIENT_LIMIT - len('{"a":""}'))
        assert extract_success({"content": [text(f'{{"a":"{padding}"}}')]}).data == {"a": padding}
        assert extract_success({"content": [text(f'{{"a":"{padding}x"}}')]}).reason is Reason.TEXT_TOO_LARGE

    def test_a_text_over_the_limit_is_named_before_other_reasons(self) -> None:
        found = extract_success({"content": [text({"adcp_error": ERROR}), text("x" * 100)]}, limit=90)
        assert found.reason is Reason.TEXT_TOO_LARGE

    def test_texts_keep_what_a_strict_reader_objects_to(self) -> None:
        found = extract_success({"content": [text('{"a":1,"a":2}')]})
        assert found.texts[0].parsed is not None
        assert [o.pointer for o in found.texts[0].parsed.objections] == ["/a"]

    def test_text_that_is_no_string_goes_through_its_string(self) -> None:
        assert extract_success({"content": [{"type": "text", "text": ['{"a":1}']}]}).data == {"a": 1}
        assert (
            extract_success({"content": [{"type": "text", "text": {"a": 1}}]}).reason is Reason.NO_JSON_TEXT
        )

    def test_records_do_not_print_or_compare_payloads(self) -> None:
        deep = "[" * 50_000 + "]" * 50_000
        found = extract_success({"content": [text(f'{{"a":{deep}}}')]})
        assert found.data is not None
        assert len(repr(found)) < 2000
        assert found == found


class TestError:
    def test_from_structured_content(self) -> None:
        found = extract_error({"isError": True, "structuredContent": {"adcp_error": ERROR}})
        assert (found.error, found.path, found.reason) == (ERROR, Path.STRUCTURED_CONTENT, None)
        assert found.pointer == "/structuredContent/adcp_error"
        assert found.candidate is found.error

    def test_from_text(self) -> None:
        found = extract_error(
            {"isError": True, "content": [text("Busy."), text({"adcp_error": ERROR}), text("x")]}
        )
        assert (found.error, found.path, found.pointer) == (ERROR, Path.TEXT_FALLBACK, "/content/1/text")
        assert [t.outcome for t in found.texts] == [TextOutcome.NOT_JSON, TextOutcome.FOUND]

    def test_from_a_jsonrpc_error(self) -> None:
        found = extract_error(
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32029, "data": {"adcp_error": ERROR}}}
        )
        assert (found.error, found.path, found.pointer) == (
            ERROR,
            Path.JSONRPC_ERROR,
            "/error/data/adcp_error",
        )

    def test_jsonrpc_error_comes_before_text(self) -> None:
        other = {"code": "TEXT"}
        flagged = {
            "isError": True,
            "content": [text({"adcp_error": other})],
            "error": {"data": {"adcp_error": ERROR}},
        }
        assert extract_error(flagged).error == ERROR

    @pytest.mark.parametrize(
        ("response", "reason", "path"),
        [
            ({"structuredContent": {"adcp_error": ERROR}}, Reason.NOT_FLAGGED, Path.NONE),
            ({"isError": 0, "content": [text({"adcp_error": ERROR})]}, Reason.NOT_FLAGGED, Path.NONE),
            ("text", Reason.NOT_FLAGGED, Path.NONE),
            ({"isError": True}, Reason.NO_ADCP_ERROR, Path.NONE),
            ({"isError": True, "content": "text"}, Reason.NO_ADCP_ERROR, Path.NONE),
            ({"isError": True, "content": [text({"error": ERROR})]}, Reason.NO_ADCP_ERROR, Path.NONE),
            ({"error": {"code": -32601, "message": "no"}}, Reason.NO_ADCP_ERROR, Path.NONE),
            (None, Reason.THROWS, Path.NONE),
            ({"isError": True, "content": [None]}, Reason.THROWS, Path.NONE),
            ({"isError": True, "content": {"type": "text"}}, Reason.THROWS, Path.NONE),
            ({"isError": True, "content": 1}, Reason.THROWS, Path.NONE),
        ],
    )
    def test_says_why_none_was_found(self, response: object, reason: Reason, path: Path) -> None:
        found = extract_error(response)
        assert (found.error, found.candidate, found.reason, found.path) == (None, None, reason, path)

    @pytest.mark.parametrize(
        ("candidate", "reason"),
        [
            ([ERROR], Reason.NOT_AN_OBJECT),
            ("CONFLICT", Reason.NOT_AN_OBJECT),
            ({"message": "no code"}, Reason.CODE_NOT_A_STRING),
            ({"code": 409}, Reason.CODE_NOT_A_STRING),
            ({"code": ""}, Reason.CODE_EMPTY),
            ({"code": "C" * 65}, Reason.CODE_TOO_LONG),
            ({"code": "\U0001f3af" * 33}, Reason.CODE_TOO_LONG),
            ({"code": "C", "message": "m" * 4072}, Reason.ERROR_TOO_LARGE),
        ],
    )
    def test_an_invalid_one_ends_the_search_and_is_shown(self, candidate: Any, reason: Reason) -> None:
        structured = {
            "isError": True,
            "structuredContent": {"adcp_error": candidate},
            "content": [text({"adcp_error": ERROR})],
        }
        in_text = {"isError": True, "content": [text({"adcp_error": candidate}), text({"adcp_error": ERROR})]}
        for response, path in ((structured, Path.STRUCTURED_CONTENT), (in_text, Path.TEXT_FALLBACK)):
            found = extract_error(response)
            assert (found.error, found.candidate, found.reason, found.path) == (None, candidate, reason, path)

    def test_bounds_are_inclusive(self) -> None:
        for error in ({"code": "C" * 64}, {"code": "\U0001f3af" * 32}, {"code": "C", "message": "m" * 4071}):
            assert extract_error({"isError": True, "structuredContent": {"adcp_error": error}}).error == error


class TestAction:
    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (None, Action.GENERIC_ERROR),
            ({"code": "X", "recovery": "transient"}, Action.RETRY),
            ({"code": "X", "recovery": "correctable"}, Action.SURFACE_TO_CALLER),
            ({"code": "X", "recovery": "terminal"}, Action.ESCALATE_TO_HUMAN),
            ({"code": "CONFLICT", "recovery": "fatal"}, Action.ESCALATE_TO_HUMAN),
            ({"code": "CONFLICT", "recovery": ["transient"]}, Action.ESCALATE_TO_HUMAN),
            ({"code": "CONFLICT", "recovery": None}, Action.ESCALATE_TO_HUMAN),
            ({"code": "CONFLICT"}, Action.RETRY),
            ({"code": "INVALID_REQUEST"}, Action.SURFACE_TO_CALLER),
            ({"code": "AUTH_INVALID"}, Action.ESCALATE_TO_HUMAN),
            ({"code": "X_ACME_UNKNOWN"}, Action.ESCALATE_TO_HUMAN),
        ],
    )
    def test_action(self, error: dict[str, Any] | None, expected: Action) -> None:
        assert action(error) is expected

    @pytest.mark.parametrize(
        ("sent", "seconds"),
        [
            (5, 5),
            (0, 1),
            (-3, 1),
            (0.2, 1),
            (1.2, 2),
            (3600, 3600),
            (3599.5, 3600),
            (86400, 3600),
            (1e300, 3600),
        ],
    )
    def test_retry_after(self, sent: float, seconds: int) -> None:
        assert retry_after({"code": "X", "retry_after": sent}) == seconds

    @pytest.mark.parametrize("sent", ["5", None, True, math.inf, math.nan, [5]])
    def test_retry_after_that_says_nothing(self, sent: object) -> None:
        assert retry_after({"code": "X", "retry_after": sent}) is None
        assert retry_after({"code": "X"}) is None

    def test_standard_codes(self) -> None:
        first = [code.since for code in ERROR_CODES.values()]
        assert (first.count("3.0"), first.count("3.1"), first.count("3.2")) == (45, 47, 28)
        assert ERROR_CODES["RATE_LIMITED"].recovery is Recovery.TRANSIENT
        assert ERROR_CODES["CURSOR_EXPIRED"].since == "3.2"
        assert all(name == code.name and name.isupper() for name, code in ERROR_CODES.items())
