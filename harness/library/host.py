"""`module:function` in a process of its own: speaks the extractor protocol for a Python function.

Run as `python -m pytest_adcp.harness.library.host MODULE:FUNCTION`. What the function's module prints goes to stderr,
and its stdin is empty.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any

from pytest_adcp.harness.jsonwriter import write

_DECLARED = "ADCP_EXTRACTOR"
SPEC = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
"""What `module:function` looks like."""


class Unusable(Exception):  # noqa: N818 - told to the user as it is
    """A function that cannot be called; one line that says why."""


def find(spec: str) -> tuple[Callable[[dict[str, Any]], Any], Mapping[str, Any]]:
    """Import a function and what its module declares about it.

    Raises:
        Unusable: there is none, or the declaration is no dict.
    """
    name, _, path = spec.partition(":")
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise Unusable(f"{name} cannot be imported: {type(error).__name__}: {_words(error)}") from error
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            near = sorted(
                n for n in vars(found) if not n.startswith("_") and callable(getattr(found, n, None))
            )
            raise Unusable(f"{name} has no {path}; it has {', '.join(near[:20]) or 'nothing to call'}")
        found = getattr(found, part)
    if not callable(found):
        raise Unusable(f"{spec} is no function but {type(found).__name__}")
    declared = getattr(module, _DECLARED, {})
    if not isinstance(declared, Mapping):
        raise Unusable(f"{_DECLARED} of {name} must be a dict, not {type(declared).__name__}")
    return found, {"name": name, **declared}


def serve(
    function: Callable[[dict[str, Any]], Any],
    declared: Mapping[str, Any],
    incoming: IO[bytes],
    out: IO[bytes],
) -> None:
    """Answer line after line until the input ends."""
    for line in incoming:
        message = json.loads(line)
        if "adcp_extractor" in message:
            answer: dict[str, Any] = {"adcp_extractor": 1, **declared}
        else:
            number = message.get("id")  # before the function can change the request
            answer = _answer(function, message) | {"id": number}
        out.write(_line(answer) + b"\n")
        out.flush()


def _answer(function: Callable[[dict[str, Any]], Any], message: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = function(message)
    except Exception as error:
        return {"error": {"type": type(error).__name__, "message": _words(error)}}
    except BaseException as error:  # it ends every program that the library is part of
        sys.stderr.write(f"the function raised {type(error).__name__}: {_words(error)}\n")
        raise
    if isinstance(answer, Mapping):
        with contextlib.suppress(Exception):
            return dict(answer)
    return {"error_in_adapter": f"the function returned {type(answer).__name__}, not a dict with data"}


def _words(error: BaseException) -> str:
    try:
        return str(error)[:1000]
    except Exception:
        return "(its text cannot be had)"


def _line(answer: Mapping[str, Any]) -> bytes:
    try:
        try:
            return json.dumps(answer).encode("ascii")
        except RecursionError:
            return write(answer)
    except Exception as error:  # a dict of the library's own can raise anything
        told = {
            "id": answer.get("id"),
            "error_in_adapter": f"the answer cannot be written as JSON: {type(error).__name__}: {_words(error)}",
        }
        return json.dumps(told).encode("ascii")


def main(spec: str) -> int:
    """Serve a function on stdin and stdout."""
    out = os.fdopen(os.dup(1), "wb")
    incoming = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)  # what the library prints belongs to nobody else's lines
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # nor are the requests the library's to read
    os.close(nothing)
    sys.path.insert(0, os.getcwd())
    try:
        function, declared = find(spec)
    except Unusable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    serve(function, declared, incoming, out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
