"""Thousands of texts, byte strings and tool results, seeded: node and we read each of them alike."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from javascript import ask, dump, needs_node, settle
from pytest_adcp.harness import jsontext
from pytest_adcp.harness.extraction import Reason, extract_error, extract_success
from pytest_adcp.harness.jsontext import parse

# -- JSON texts ---------------------------------------------------------------------------------------------

TOKENS = (
    *'{}[]:,"\\ \t\n\r\x0b\x0c\x00\x1f\x7f\u00a0\u2028\ufeff/',
    *(
        "0",
        "-0",
        "1",
        "-1",
        "007",
        "1.5",
        "1.",
        ".5",
        "1e5",
        "1E+400",
        "1e-400",
        "9007199254740993",
        "123456789012345678901",
    ),
    *(
        "0.1",
        "1e21",
        "1e-7",
        "5e-324",
        "1.7976931348623157e308",
        "12345678901234567.5",
        "100000000000000000000000",
    ),
    *(
        "true",
        "false",
        "null",
        "NaN",
        "-Infinity",
        "undefined",
        "True",
        '""',
        '"a"',
        '"a":',
        '"toString":',
        '"length":',
    ),
    *(
        '"__proto__":',
        '"10":',
        '"2":',
        '"\\u0061"',
        '"\\ud83c\\udfaf"',
        '"\\ud800"',
        '"\\uDC00x"',
        '"é"',
        '"\U0001f3af"',
    ),
    *(
        "\ud83c",
        "\udfaf",
        "\\ud83c",
        "\\udfaf",
        "\\\\",
        '\\"',
        "\\n",
        "\\x",
        "\\u12",
        "[]",
        "{}",
        "[1,2]",
        '{"a":1,"a":2}',
    ),
)


def a_value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(9 if depth < 4 else 7)
    if kind == 7:
        return [a_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 8:
        return {a_string(rng): a_value(rng, depth + 1) for _ in range(rng.randrange(4))}
    choices = (
        None,
        True,
        False,
        a_string(rng),
        rng.randrange(-(10**18), 10**18),
        rng.random() * 10 ** rng.randrange(-30, 30),
        -0.0,
    )
    return choices[kind]


def a_string(rng: random.Random) -> str:
    pool = 'ab"\\/\n\x00\x1f\x7fé\u2028\ud800\udc00\U0001f3af0129'
    return rng.choice(["", "a", "10", "toString", "__proto__"]) or "".join(
        rng.choices(pool, k=rng.randrange(6))
    )


def a_text(rng: random.Random) -> str:
    """A JSON text, or one that may have been spoilt."""
    if rng.random() < 0.3:
        return "".join(rng.choices(TOKENS, k=rng.randrange(1, 9)))
    text = json.dumps(a_value(rng), ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
    for _ in range(rng.choice([0, 0, 1, 2])):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(("", *TOKENS)) + text[at + rng.randrange(2) :]
    return text


@needs_node
def test_texts_are_read_as_node_reads_them() -> None:
    rng = random.Random(20261)
    texts = [a_text(rng) for _ in range(6000)]
    accepted = 0
    for text, answer in zip(texts, ask([{"op": "text", "text": text} for text in texts]), strict=True):
        parsed = parse(text)
        assert parsed.ok == (answer is not None), ascii(text)
        if answer is None:
            continue
        accepted += 1
        assert dump(parsed.value) == settle(answer["value"]), ascii(text)
        assert jsontext.stringify_length(parsed.value) == answer["length"], ascii(text)
        assert jsontext.truthy(parsed.value) == answer["truthy"], ascii(text)
        if "error" in answer["string"]:
            with pytest.raises(TypeError):
                jsontext.to_string(parsed.value)
        else:
            assert jsontext.to_string(parsed.value) == answer["string"]["value"], ascii(text)
    assert 1500 < accepted < 5500  # both sides of the question are asked


@needs_node
def test_bytes_are_read_as_node_reads_them() -> None:
    rng = random.Random(20262)
    bodies = []
    for _ in range(1500):
        body = bytearray(a_text(rng).encode("utf-8", "surrogatepass"))
        for _ in range(rng.randrange(3)):
            at = rng.randrange(len(body) + 1)
            body[at:at] = rng.choice(
                [
                    b"\xef\xbb\xbf",
                    b"\xff",
                    b"\xed\xa0\x80",
                    b"\xe2\x82",
                    b"\xf0\x9f\x8e",
                    b"\xc0\xaf",
                    b"\x80",
                ]
            )
        bodies.append(bytes(body))
    cases = [{"op": "bytes", "base64": base64.b64encode(body).decode()} for body in bodies]
    accepted = 0
    for body, answer in zip(bodies, ask(cases), strict=True):
        parsed = parse(body)
        assert parsed.ok == (answer is not None), body
        if answer is not None:
            accepted += 1
            assert dump(parsed.value) == settle(answer["value"]), body
    assert accepted > 200


@needs_node
def test_deep_texts_are_accepted_as_node_accepts_them() -> None:
    texts = ["[" * n + inside + "]" * n for n in (1, 900, 5000) for inside in ("", "1", "NaN", "]", '"')]
    texts += [
        '{"a":' * n + tail for n in (900, 5000) for tail in ("1" + "}" * n, "}" * n, "1" + "}" * (n - 1))
    ]
    texts += ["[" * 100_000 + "]" * 100_000, "[" * 100_000]
    answers = ask([{"op": "accepts", "text": text} for text in texts])
    assert [parse(text).ok for text in texts] == answers
    assert True in answers
    assert False in answers


# -- tool results -------------------------------------------------------------------------------------------

ERROR = {"code": "CONFLICT", "message": "Busy", "recovery": "transient"}
SCALARS = (
    None,
    True,
    False,
    0,
    -0.0,
    1,
    1.5,
    "",
    "x",
    "false",
    "[object Object]",
    "12",
    [],
    {},
    [None],
    ["{}"],
)
OBJECTS = (
    *(
        {},
        {"a": 1},
        {"adcp_error": None},
        {"adcp_error": ERROR},
        {"adcp_error": ERROR, "a": 1},
        {"adcp_error": 0, "b": []},
    ),
    *({"adcp_error": "CONFLICT"}, {"adcp_error": [ERROR]}, {"adcp_error": {}}, {"adcp_error": {"code": 5}}),
    *({"adcp_error": {"code": ""}}, {"adcp_error": {"code": "C" * 64}}, {"adcp_error": {"code": "C" * 65}}),
    *({"adcp_error": {"code": "\U0001f3af" * n}} for n in (32, 33)),
    *(
        {"adcp_error": {"code": "C", "m": unit * n}}
        for unit, n in (("x", 4077), ("x", 4078), ('"', 2038), ('"', 2039))
    ),
    *(
        {"adcp_error": {"code": "C", "m": unit * n}}
        for unit, n in (("\ud800", 679), ("\ud800", 680), ("\x01", 679))
    ),
    *({"adcp_error": {"code": "C", "m": "x" * n, "f": 1e21, "g": 0.5}} for n in range(4058, 4066)),
    *(
        {"__proto__": {"adcp_error": ERROR}},
        {"__proto__": {"isError": True}},
        {"toString": 1},
        {"length": 999},
        {"2": 1, "1": 2},
    ),
)
LIMIT = 60


def a_text_value(rng: random.Random) -> Any:
    kind = rng.randrange(10)
    if kind < 5:
        written = json.dumps(rng.choice(OBJECTS), ensure_ascii=rng.random() < 0.5)
        return (
            rng.choice(("",) * 12 + (" ", "\n", "\ufeff", "\u00a0", "```", "x"))
            + written
            + rng.choice(("",) * 9 + (" ", ",", "x", "\x00"))
        )
    if kind == 5:
        body = "é" * rng.randrange(40, 60) if rng.random() < 0.5 else "\U0001f3af" * rng.randrange(20, 30)
        return json.dumps({"a": body}, ensure_ascii=False)
    if kind == 6:
        return rng.choice(
            (
                "prose",
                "[{}]",
                "null",
                "7",
                '"{}"',
                "{'a':1}",
                '{"a":NaN}',
                '{"adcp_error":1,"adcp_error":{"code":"C"}}',
            )
        )
    if kind == 7:
        return rng.choice(
            (
                [json.dumps(rng.choice(OBJECTS))],
                [["{}"], None],
                [{"toString": 1}],
                ["[1", "2]"],
                [0] * (LIMIT + 1),
            )
        )
    if kind == 8:
        return {
            "length": rng.choice(
                (*SCALARS, 10**6, "1000000", [10**6], {"toString": 1}, [{"toString": 1}], {"valueOf": 1})
            )
        }
    return rng.choice((*SCALARS, *OBJECTS))


def an_item(rng: random.Random) -> Any:
    if rng.random() < 0.07:
        return rng.choice((None, None, None, None, *SCALARS, "text", ["text"]))
    item: dict[str, Any] = {"type": rng.choice(("text",) * 8 + ("Text", "image", ["text"], None))}
    if rng.random() < 0.95:
        item["text"] = a_text_value(rng)
    return item


def a_result(rng: random.Random, *, flagged: float) -> Any:
    if rng.random() < 0.01:
        return rng.choice(SCALARS)
    result: dict[str, Any] = {}
    if rng.random() < flagged:
        result["isError"] = rng.choice((*SCALARS, True, True, True))
    if rng.random() < 0.35:
        result["structuredContent"] = rng.choice((*SCALARS, *OBJECTS, "{}", [{"adcp_error": ERROR}]))
    if rng.random() < 0.9:
        items = [an_item(rng) for _ in range(rng.randrange(4))]
        result["content"] = (
            items if rng.random() < 0.95 else rng.choice((*SCALARS, {"type": "text", "text": "{}"}))
        )
    if rng.random() < 0.15:
        result["error"] = rng.choice(
            (*SCALARS, {"data": rng.choice((*SCALARS, *OBJECTS))}, {"data": {"adcp_error": ERROR}})
        )
    return result


@needs_node
@pytest.mark.parametrize("algorithm", ["success", "error"])
def test_results_are_read_as_the_reference_reads_them(algorithm: str) -> None:
    rng = random.Random(f"20263-{algorithm}")
    flagged = 0.2 if algorithm == "success" else 0.95
    texts = [json.dumps(a_result(rng, flagged=flagged)) for _ in range(6000)]
    seen = {"data": 0, "nothing": 0, "throws": 0}
    for source, answer in zip(
        texts, ask([{"op": algorithm, "text": t, "limit": LIMIT} for t in texts]), strict=True
    ):
        result = parse(source).value
        if algorithm == "success":
            success = extract_success(result, limit=LIMIT)
            found, reason = success.data, success.reason
        else:
            error = extract_error(result)
            found, reason = error.error, error.reason
        assert (reason is None) == (found is not None), source
        if "error" in answer:
            seen["throws"] += 1
            assert (reason, answer["error"]) == (Reason.THROWS, "TypeError"), source
        else:
            seen["nothing" if found is None else "data"] += 1
            assert dump(found) == settle(answer["value"]), source
            assert reason is not Reason.THROWS, source
    assert min(seen.values()) > 50, seen  # every kind of answer is asked for
