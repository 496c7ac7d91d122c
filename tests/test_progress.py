"""What a person sees while a survey runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from runs import run
from scripted import Call, Reply, scripted

pty = pytest.importorskip("pty", reason="terminals of POSIX")


def on_a_terminal(folder: Path, *arguments: str) -> str:
    """Run pytest on a terminal of its own and return everything that it wrote."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTEST_", "ADCP_", "NO_COLOR"))
    }
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *arguments],
        cwd=folder,
        env={**clean, "COLUMNS": "100", "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    try:
        while data := os.read(ours, 65536):
            written += data
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait(30)
    return written.decode()


def test_a_line_counts_the_calls_and_goes_away(tmp_path: Path) -> None:
    (tmp_path / "adcp.yaml").write_text("plan: {probes: false}")
    with scripted() as seller:
        out = on_a_terminal(tmp_path, f"--server-url={seller.url}")
    counted = re.findall(r"\radcp: (\d+) of at most (\d+) calls, (\S+)", out)
    assert [int(number) for number, _, _ in counted] == [1, 2, 3, 4, 5, 6]
    most = [int(number) for _, number, _ in counted]
    assert most == sorted(most, reverse=True)
    assert most[-1] < 10 <= most[0]
    assert "get_products/sample" in {subject for _, _, subject in counted}
    last = out.rindex(" of at most ")
    assert re.match(r" of at most \d+ calls, \S+ *\r +", out[last:])  # written over


@pytest.mark.parametrize("arguments", [(), ("-q",)])
def test_nobody_watches_nothing_is_written(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with scripted() as seller:
        done = run(tmp_path, f"--server-url={seller.url}", *arguments)
        assert " calls, " not in done.out
        if arguments:
            assert " calls, " not in on_a_terminal(tmp_path, f"--server-url={seller.url}", *arguments)


def test_a_trace_has_a_line_an_exchange(tmp_path: Path) -> None:
    def hook(call: Call) -> Reply | None:
        return Reply(status=429, headers=["Retry-After: 3600"]) if call.tool == "get_products" else None

    with scripted(hook) as seller:
        done = run(tmp_path, f"--server-url={seller.url}", "--adcp-trace")
    lines = [line for line in done.out.splitlines() if re.match(r"adcp: +\d+\.\d{3} s  ", line)]
    assert len(lines) == len(seller.calls)
    assert re.search(r" s  tools/list: HTTP 200, \d+ bytes in \d+\.\d{3} s$", "\n".join(lines), re.MULTILINE)
    assert re.search(r" s  get_products/sample: HTTP 429, 0 bytes in ", "\n".join(lines))


def test_a_trace_says_how_an_exchange_broke(tmp_path: Path, free_port: int) -> None:
    done = run(tmp_path, f"--server-url=http://127.0.0.1:{free_port}/mcp", "--adcp-trace")
    assert re.search(r"initialize: no response in \d\.\d{3} s, refused: nothing listens at", done.out)
