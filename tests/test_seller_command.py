"""The reference seller as a command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from buyers import Buyer
from pytest_adcp.harness.seller.faults import faults

COMMAND = [sys.executable, "-m", "pytest_adcp.harness.seller"]
SECONDS = 20


@contextmanager
def started(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the URL that it printed."""
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    with process:
        try:
            word, _, url = process.stdout.readline().strip().rpartition(" ")
            assert word == "listening on"
            yield process, url
        finally:
            process.kill()


def ended(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=SECONDS)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it(number: signal.Signals) -> None:
    with started() as (process, url), Buyer(url) as buyer:
        assert buyer.ask("ping")["result"] == {}  # its connection stays open
        process.send_signal(number)
        assert process.wait(SECONDS) == 0
        assert process.stderr.read() == ""


def test_it_ends_with_its_parent() -> None:
    with started("--until-stdin-closes", "--answers", "sse") as (process, url), Buyer(url) as buyer:
        with buyer.http.stream("GET", url, headers={"accept": "text/event-stream"}):
            process.stdin.close()
            assert process.wait(SECONDS) == 0
        assert process.stderr.read() == ""


def test_it_does_what_its_options_say() -> None:
    options = [
        "--fault",
        "nested-result",
        "--version",
        "3.2",
        "--answers",
        "sse",
        "--no-sessions",
        "--era",
        "handshake",
    ]
    with (
        started(*options, "--latency", "0.1", "--bearer-env", "SELLER_TOKEN", SELLER_TOKEN="hush") as (
            _,
            url,
        ),
        Buyer(url, connect=False) as buyer,
    ):
        assert buyer.http.post(url, json={}).status_code == 401
        buyer.http.headers["authorization"] = "Bearer hush"
        begun = time.monotonic()
        response = buyer.post(
            buyer.message("tools/call", {"name": "get_products", "arguments": {"buying_mode": "wholesale"}})
        )
        assert time.monotonic() - begun >= 0.1
        assert response.headers["content-type"] == "text/event-stream"
        assert '"structuredContent":{"result":{' in response.text
        assert '"adcp_version":"3.2"' in response.text
        with buyer.http.stream("GET", url, headers={"accept": "text/event-stream"}) as stream:
            assert stream.status_code == 200


def test_faults_are_listed_with_their_rules() -> None:
    result = ended("--list-faults")
    assert (result.returncode, result.stderr) == (0, "")
    names = [line.partition(":")[0] for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert names == list(faults())
    fault = faults()["text-5mb"]
    assert (
        f"text-5mb: {fault.says}\n    failed    adcp.extraction.extractable\n    advisory  " in result.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ["--fault", "nested-results"],
            2,
            "--fault: there is no fault 'nested-results'; did you mean nested-result",
        ),
        (
            ["--bearer-env", "NO_SUCH_VARIABLE"],
            2,
            "environment variable NO_SUCH_VARIABLE is not set or empty",
        ),
        (["--fault", "status-missing", "--fault", "nested-result"], 2, "--fault: a seller has one fault"),
        (["--version", "2.5"], 2, "--version"),
        (["--host", "192.0.2.1"], 1, "cannot listen on 192.0.2.1:0"),
    ],
)
def test_mistakes_are_named(arguments: list[str], code: int, said: str) -> None:
    result = ended("--port", "0", *arguments)
    assert result.returncode == code
    assert said in result.stderr
    assert "Traceback" not in result.stderr
