"""The messages of the extractor protocol: questions as lines, and lines as what the library says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pytest_adcp.harness import __version__
from pytest_adcp.harness.jsontext import parse
from pytest_adcp.harness.text import quote
from pytest_adcp.vectors.loader import UNTOLD, Kind, Transport, Untold

from .records import Answer, Asks, Declared, Extracted, Limit, NoAnswer, Question, Threw, Unit

PROTOCOL = 1
_LONGEST_NAME = 200
_Choice = TypeVar("_Choice", Transport, Kind)


class Refused(Exception):  # noqa: N818 - the library's, not ours
    """A handshake that this harness cannot work with; the text says what is wrong with it."""


def hello(asks: Asks) -> bytes:
    """Return the first line that a library gets."""
    return _line({"adcp_extractor": PROTOCOL, "harness": f"pytest-adcp/{__version__}", "asks": str(asks)})


def request(number: int, question: Question) -> bytes:
    """Return a question as a line."""
    message: dict[str, Any] = {
        "id": number,
        "kind": str(question.kind),
        "transport": str(question.transport),
    }
    if question.call is not None:
        call = question.call
        message["call"] = {"url": call.url, "tool": call.tool, "arguments": dict(call.arguments)}
    else:
        message["response"] = question.response
    if question.limit is not None:
        message["limit"] = question.limit
    return _line(message)


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode("ascii")


def read(line: bytes) -> dict[str, Any] | None:
    """Return the object that a line holds; None where it holds none, as what a library prints.

    NaN and the infinities are let through: a library that takes them is to be told what it extracted.
    """
    parsed = parse(line)
    if parsed.ok:
        return parsed.value if isinstance(parsed.value, dict) else None
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def declared(message: Mapping[str, Any]) -> Declared:
    """Read the answer to the handshake.

    Raises:
        Refused: it speaks another version, or a member of it is wrong.
    """
    version = message.get("adcp_extractor")
    if isinstance(version, bool) or version != PROTOCOL:
        raise Refused(
            f"it speaks version {quote(version, 40)} of the extractor protocol, and this is version {PROTOCOL}"
        )
    name = message.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Refused(f"`name` of its handshake must be the name of the library, not {quote(name, 80)}")
    said = message.get("version", "")
    if not isinstance(said, str):
        raise Refused(f"`version` of its handshake must be a string, not {quote(said, 80)}")
    return Declared(
        name.strip()[:_LONGEST_NAME],
        said[:_LONGEST_NAME],
        _several(message, "transports", Transport, frozenset({Transport.MCP})),
        _several(message, "kinds", Kind, frozenset(Kind)),
        _limit(message.get("limit")),
    )


def _several(
    message: Mapping[str, Any], name: str, choices: type[_Choice], default: frozenset[_Choice]
) -> frozenset[_Choice]:
    said = message.get(name)
    if said is None:
        return default
    if not isinstance(said, list) or not said or not all(item in list(choices) for item in said):
        among = " and ".join(f'"{choice}"' for choice in choices)
        raise Refused(f"`{name}` of its handshake must be a list of {among}, not {quote(said, 80)}")
    return frozenset(map(choices, said))


def _limit(said: Any) -> Limit | None:
    if said is None:
        return None
    if not isinstance(said, dict) or "size" not in said:
        raise Refused(f"`limit` of its handshake must be an object with `size`, not {quote(said, 80)}")
    size, unit, configurable = (
        said["size"],
        said.get("unit", str(Unit.UTF16)),
        said.get("configurable", False),
    )
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise Refused(
            f"`limit.size` of its handshake must be a whole number from 1, or null, not {quote(size, 80)}"
        )
    if unit not in list(Unit):
        raise Refused(
            f"`limit.unit` of its handshake must be one of {', '.join(Unit)}, not {quote(unit, 80)}"
        )
    if not isinstance(configurable, bool):
        raise Refused(
            f"`limit.configurable` of its handshake must be true or false, not {quote(configurable, 80)}"
        )
    return Limit(size, Unit(unit), configurable)


def answer(message: Mapping[str, Any]) -> Answer:
    """Read what a library says to a question."""
    if "error" in message:
        return _threw(message["error"])
    if "data" not in message:
        return NoAnswer(f"its answer holds neither data nor error: {quote(dict(message), 200)}")
    path, action, seconds = message.get("path"), message.get("action"), message.get("retry_after", UNTOLD)
    for name, value in (("path", path), ("action", action)):
        if value is not None and not isinstance(value, str):
            return NoAnswer(f"`{name}` of its answer must be a string, not {quote(value, 80)}")
    if not _are_seconds(seconds):
        return NoAnswer(f"`retry_after` of its answer must be seconds or null, not {quote(seconds, 80)}")
    return Extracted(message["data"], path, action, seconds)


def _are_seconds(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, Untold)
        or (isinstance(value, (int, float)) and not isinstance(value, bool))
    )


def _threw(error: Any) -> Answer:
    if not isinstance(error, dict) or not isinstance(error.get("type"), str):
        return NoAnswer(f"`error` of its answer must be an object with `type`, not {quote(error, 80)}")
    said = error.get("message", "")
    return Threw(error["type"], said if isinstance(said, str) else quote(said, 200))
