"""What generated answers are put together from: payloads, errors, and texts that readers of JSON disagree on.

All of it is plain data. Nothing here may be changed in place: the parts are shared by all answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pytest_adcp.harness.extraction import MAX_CODE_LENGTH, MAX_ERROR_LENGTH
from pytest_adcp.harness.jsontext import stringify_length

# -- objects --------------------------------------------------------------------------------------------------

PAYLOADS: tuple[dict[str, Any], ...] = (
    {"products": []},
    {"products": [{"product_id": "p1", "price": 1.5}], "total": 1},
    {},
    {"status": "completed", "media_buy_id": "mb_1", "revision": 0},
    {"errors": [{"code": "RATE_LIMITED", "message": "Slow down"}]},
    {"isError": True, "products": []},
    {"items": [None, [], {}, "", 0, False]},
    {"message": "caf\u00e9 \u2028 \U0001f600 \u0000", "a/b~c": {"": 1}},
    {"adcp_error": None, "products": []},
)
WRAPPERS = (
    "response",
    "result",
    "result",
    "response",
    "data",
    "payload",
    "structuredContent",
    "content",
    "body",
    "adcp",
    "task",
)
PROTOTYPES = ("__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "length", "then")

FLAGS: tuple[Any, ...] = (None, 0, 1, "", "true", "false", [], {}, 0.5)
"""What stands for isError and is no boolean."""

NO_OBJECTS: tuple[Any, ...] = (None, [], [{"products": []}], '{"products":[]}', "", 0, 1, True, False)


# -- errors ---------------------------------------------------------------------------------------------------

CODES: tuple[Any, ...] = (
    "RATE_LIMITED",
    "PRODUCT_NOT_FOUND",
    "X_ACME_UNKNOWN",
    "lower",
    "0",
    " ",
    "",
    None,
    0,
    42,
    True,
    ["RATE_LIMITED"],
    {},
    *(unit * MAX_CODE_LENGTH for unit in ("A", "\u00e9")),
    *(unit * (MAX_CODE_LENGTH + 1) for unit in ("A", "\u00e9")),
    "\U0001f600" * (MAX_CODE_LENGTH // 2),
    "\U0001f600" * (MAX_CODE_LENGTH // 2 + 1),
    "A" * (MAX_CODE_LENGTH - 1),
    "A" * 255,
)
RECOVERIES: tuple[Any, ...] = ("transient", "correctable", "terminal", "Transient", "retry", "", None, 1)
ERROR_MEMBERS: tuple[tuple[str, Any], ...] = (
    ("message", "Slow down"),
    ("message", None),
    ("message", ""),
    ("field", "packages[0].budget"),
    ("retry_after", 5),
    ("retry_after", 0),
    ("retry_after", -1.5),
    ("retry_after", "5"),
    ("retry_after", 86400),
    ("suggestion", "caf\u00e9 \U0001f600"),
    ("details", {"adcp_error": {"code": "INNER", "message": "not this one"}}),
    ("details", [None, {}]),
    ("adcp_error", {"code": "INNER", "message": "not this one"}),
    *((name, {"code": "INNER"}) for name in PROTOTYPES[:3]),
)
NO_ERRORS: tuple[Any, ...] = (None, False, 0, "", [], {}, "RATE_LIMITED", True, [{"code": "RATE_LIMITED"}], 1)


def _sized(units: int, unit: str) -> dict[str, Any]:
    """Return an error that takes so many UTF-16 units, or one fewer where the unit does not fit."""
    error = {"code": "RATE_LIMITED", "message": ""}
    error["message"] = unit * ((units - stringify_length(error)) // (stringify_length(unit) - 2))
    error["message"] += "x" * (units - stringify_length(error))
    return error


SIZED_ERRORS = tuple(
    _sized(units, unit)
    for units in (MAX_ERROR_LENGTH - 1, MAX_ERROR_LENGTH, MAX_ERROR_LENGTH + 1, MAX_ERROR_LENGTH + 100)
    for unit in ("x", "\u00e9", "\U0001f600", '"', "/", "\u2028", "\u007f")
)


# -- texts ----------------------------------------------------------------------------------------------------

NO_JSON = (
    "",
    " ",
    "Found 3 products.",
    "{",
    "}",
    "{}}",
    "{products: []}",
    "{'products': []}",
    "[object Object]",
    "NaN",
    "undefined",
    "None",
    '{"a":1,"a"}',
    "\ufeff{}",
    "<products/>",
    "products: []",
)
SCALARS = (
    "null",
    "true",
    "0",
    "-0",
    "1e400",
    '"products"',
    '"{}"',
    "[]",
    "[{}]",
    '[{"products":[]}]',
    "[[]]",
)

MEMBERS: tuple[str, ...] = (
    *(
        '"n":9007199254740993',
        '"n":1e400',
        '"n":-0',
        '"n":1E+2',
        '"n":0.1',
        '"n":1.0',
        '"n":12345678901234567890',
    ),
    *('"n":01', '"n":+1', '"n":.5', '"n":5.', '"n":0x10', '"n":1_000', '"n":--1', '"n":1e', '"n":-'),
    *(
        '"n":NaN',
        '"n":Infinity',
        '"n":-Infinity',
        '"n":nan',
        '"n":undefined',
        '"n":None',
        '"n":True',
        '"n":nil',
    ),
    *("\"n\":'x'", "'n':1", "n:1", '"n"=1', '"n":', '"n"', '"n":1;', '"n":(1)'),
    *('/* c */"n":1', '"n":1/* c */', '"n":1 // c\n', '"n":1 # c\n'),
    *('"s":"\\ud800"', '"s":"\\udc00\\ud800"', '"s":"\\ud83d\\ude00"', '"s":"\\u0000"', '"\\ud800":1'),
    *(
        '"s":"a\nb"',
        '"s":"a\tb"',
        '"s":"\x00"',
        '"s":"\x7f\u2028\ufffe"',
        '"s":"\\x41"',
        '"s":"\\u00"',
        '"s":"\\\'"',
    ),
    *('"s":"\\/"', '"s":"\\u007B"', '"s":"a\\\nb"', '"s":"\u00e9"', '"s":"e\u0301"'),
    *('"__proto__":{"polluted":true}', '"constructor":{"prototype":{"polluted":true}}', '"toString":"x"'),
    *(
        '"products":null',
        '"products":[1]',
        '"n":1,"n":2',
        '"a":{"b":1,"b":2}',
        '"\\u0061":1,"a":2',
        '"":1',
        '"":{"":2}',
    ),
    *('"n":[1,]', '"n":[,]', '"n":[1 2]', '"n":{"m":1,}', '"n":[1', '"n":[1}', ""),
    '"isError":true',
    '"adcp_error":{"code":"RATE_LIMITED","message":"Slow down"}',
    '"adcp_error":null',
    *('"deep":' + "[" * levels + "]" * levels for levels in (64, 127, 150, 250)),
    '"deep":' + '{"a":' * 120 + "0" + "}" * 120,
)
"""Members for the end of a JSON object, as they stand in its text; some are read alike by all, some by none."""

ENVELOPES: tuple[Callable[[str], str], ...] = (
    lambda text: f"\ufeff{text}",
    lambda text: f"```json\n{text}\n```",
    lambda text: f"```\n{text}\n```",
    lambda text: f"Here it is: {text}",
    lambda text: f"{text}\nAnything else?",
    lambda text: f"{text}{text}",
    lambda text: f"{text}\n{text}",
    lambda text: f" \t\r\n{text}\n",
    lambda text: f"\u00a0{text}",
    lambda text: f"{text}\x0c",
    lambda text: f"{text}\x00",
    lambda text: f"{text};",
    lambda text: f"{text},",
    lambda text: f"({text})",
    lambda text: f"[{text}]",
    lambda text: f")]}}'\n{text}",
    lambda text: f"// c\n{text}",
    lambda text: f"data: {text}\n\n",
    lambda text: text[:-1],
    lambda text: f"{text}}}",
    lambda text: text.replace('"', "'"),
    lambda text: text.replace('"', "\u201d"),
    lambda text: text.replace(":", " : ").replace(",", " ,\n"),
    json.dumps,
    *(lambda text, name=name: f'{{"{name}":{text}}}' for name in WRAPPERS),
    lambda text: json.dumps({"content": [{"type": "text", "text": text}]}),
    lambda text: json.dumps({"result": text}),
)
"""What is done to a whole text."""


def with_member(text: str, member: str) -> str:
    """Return the text of a JSON object with one more member at its end; an empty one leaves a trailing comma."""
    assert text.endswith("}"), "the text of an object is wanted"
    head = text[:-1].rstrip()
    return f"{head}{'' if head == '{' and member else ','}{member}}}"


# -- A2A ------------------------------------------------------------------------------------------------------

STATES = (
    *("completed", "completed", "TASK_STATE_COMPLETED", "TASK_STATE_COMPLETED"),
    *(
        "completed",
        "failed",
        "canceled",
        "rejected",
        "working",
        "submitted",
        "input-required",
        "auth-required",
    ),
    *("TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"),
    *("TASK_STATE_WORKING", "TASK_STATE_SUBMITTED", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"),
)
ODD_STATES = (
    *("completed", "completed", "TASK_STATE_COMPLETED", "TASK_STATE_COMPLETED"),
    "unknown",
    "TASK_STATE_UNSPECIFIED",
    "COMPLETED",
    "Completed",
    "input_required",
    "",
    " completed",
    "done",
)
STREAM_ENVELOPES = ("task", "message", "statusUpdate", "artifactUpdate")
