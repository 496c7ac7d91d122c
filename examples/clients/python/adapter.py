"""Speaks the extractor protocol for a Python function: `python adapter.py module:function`.

With a function of the same kind `--adcp-extractor=module:function` does this by itself. Start this file where the
library lives in an interpreter of its own, and copy it where your adapter has to do more.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any

Extract = Callable[[dict[str, Any]], dict[str, Any]]


def main(spec: str) -> None:
    """Import `module:function`, looking into the current folder first, and serve it."""
    sys.path.insert(0, os.getcwd())
    module_name, _, function = spec.partition(":")
    out = sys.stdout.buffer
    with contextlib.redirect_stdout(sys.stderr):  # what a library prints is no answer
        module = importlib.import_module(module_name)
        declared = {"name": module_name, **getattr(module, "ADCP_EXTRACTOR", {})}
        serve(getattr(module, function), declared, sys.stdin.buffer, out)


def serve(extract: Extract, declared: Mapping[str, Any], lines: IO[bytes], out: IO[bytes]) -> None:
    """Answer each line in turn, until there are no more."""
    for line in lines:
        request = json.loads(line)
        is_greeting = "adcp_extractor" in request
        own = {"adcp_extractor": 1} if is_greeting else {"id": request["id"]}
        said = declared if is_greeting else _answer(extract, request)
        out.write(json.dumps({**own, **said}).encode("ascii") + b"\n")
        out.flush()


def _answer(extract: Extract, request: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = extract(request)
        json.dumps(answer)  # data that is nested too deeply to be written counts as raised
    except Exception as error:
        return {"error": {"type": type(error).__name__, "message": str(error)[:1000]}}
    return answer


if __name__ == "__main__":
    main(sys.argv[1])
