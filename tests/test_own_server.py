"""`server:` in adcp.yaml: a real process is started, waited for, watched, and ended with its children."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_adcp.harness.transcript import End
from runs import _BYTECODE, Run, run
from told import complaint, quiet, told
from wireclient import exchange

SECRET = "seller-s3cret-1234"

# A wrapper around the reference seller, as `npm start` or `make serve` would be: the server is its child.
WRAPPER = """
import os, pathlib, subprocess, sys, time
port, conduct = sys.argv[1], sys.argv[2]
print("token is", os.environ.get("TOKEN"), "and", sorted(os.environ), flush=True)
if conduct == "dies":
    print("no module named \\x1b[31mseller", file=sys.stderr)
    sys.exit(3)
if conduct == "silent":
    print("still thinking", flush=True)
    time.sleep(60)
child = subprocess.Popen([sys.executable, "-m", "pytest_adcp.harness.seller", "--port", port])
pathlib.Path("children").write_text(f"{os.getpid()} {child.pid}")
if conduct == "leaves":
    until = time.monotonic() + 60
    while not pathlib.Path("asked").exists() and time.monotonic() < until:
        time.sleep(0.02)
    child.kill()
    # A daemon, in a session of its own, which nobody waits for.
    daemon = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    pathlib.Path("children").write_text(f"{os.getpid()} {child.pid} {daemon.pid}")
    print("out of memory", flush=True)
    sys.exit(9)
sys.exit(child.wait())
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., int]:
    """Write adcp.yaml for a wrapper of that conduct; return its port."""

    def write(conduct: str = "serves", more: str = "") -> int:
        port = free_port()
        (tmp_path / "wrapper.py").write_text(WRAPPER)
        (tmp_path / "adcp.yaml").write_text(
            f"server_url: http://127.0.0.1:{port}/mcp\nplan: {{probes: false}}\nserver:\n"
            f"  command: [{json.dumps(sys.executable)}, wrapper.py, '{port}', {conduct}]\n"
            f"  env: {{TOKEN: SELLER_TOKEN}}\n{more}"
        )
        return port

    return write


def judged(folder: Path, *arguments: str) -> Run:
    return run(
        folder, "--adcp-config=adcp.yaml", *arguments, env={"SELLER_TOKEN": SECRET, "OTHER_SECRET": "x"}
    )


def gone(folder: Path) -> bool:
    """Whether the wrapper and its child have ended, or do so within a second."""
    pids = (folder / "children").read_text().split()
    for _ in range(50):
        if not any(map(is_running, pids)):
            return True
        time.sleep(0.02)
    return False


def is_running(pid: str) -> bool:
    """Whether a process runs; one that has ended may stand there until somebody asks for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def no_secret(folder: Path, out: str) -> bool:
    files = [path.read_bytes() for path in (folder / "adcp-report").iterdir()]
    return SECRET not in out and not any(SECRET.encode() in data for data in files)


def test_it_is_started_judged_and_ended_with_its_children(tmp_path: Path, configured) -> None:
    port = configured()
    done = judged(tmp_path)
    assert done.code == 0, done.out
    assert done.target["verdict"] == "conformant"
    assert exchange(f"http://127.0.0.1:{port}/mcp").end is End.REFUSED
    assert gone(tmp_path)
    assert no_secret(tmp_path, done.out)
    assert done.report["settings"]["server"] == {"program": sys.executable, "env": ["TOKEN"], "ready": 60.0}


def test_one_that_dies_shows_the_end_of_its_log(tmp_path: Path, configured) -> None:
    configured("dies")
    done = judged(tmp_path)
    assert done.code == 6, done.out
    diagnosis = done.target["diagnosis"]
    assert diagnosis["cause"] == "own-server"
    assert "ended with exit code 3 before" in diagnosis["message"]
    assert diagnosis["message"].endswith(r"no module named \x1b[31mseller")
    assert "\x1b[31m" not in done.out
    assert "token is [redacted]" in diagnosis["message"]
    assert "OTHER_SECRET" not in diagnosis["message"], "only what is named gets through"
    notes = [item["note"] for item in done.target["observations"] if item["id"] == "own-server-log"]
    assert len(notes) == 2
    assert no_secret(tmp_path, done.out)


def test_one_that_never_answers_is_not_waited_for_longer(tmp_path: Path, configured) -> None:
    configured("silent", "  ready: 1.5\n")
    began = time.monotonic()
    done = judged(tmp_path)
    assert done.code == 6, done.out
    assert "within 1.5 s; it said last:" in done.target["diagnosis"]["message"]
    assert done.target["diagnosis"]["message"].endswith("still thinking")
    assert time.monotonic() - began < 45


def test_one_that_leaves_during_the_survey_is_told_of(tmp_path: Path, configured) -> None:
    configured("leaves")
    # The first line of --adcp-trace that is a call lets the wrapper go.
    plugin = (
        "import pathlib\n"
        "from pytest_adcp.harness import progress\n"
        "shown = progress.Progress.show\n"
        "def show(self, *told):\n"
        "    pathlib.Path('asked').touch()\n"
        "    shown(self, *told)\n"
        "progress.Progress.show = show\n"
    )
    (tmp_path / "letgo.py").write_text(plugin)
    (tmp_path / "slow.yaml").write_text((tmp_path / "adcp.yaml").read_text() + "rate: 2\n")
    done = run(
        tmp_path,
        "-p",
        "letgo",
        "--adcp-config=slow.yaml",
        env={"SELLER_TOKEN": SECRET, "PYTHONPATH": str(tmp_path)},
    )
    assert done.code == 6, done.out
    assert done.target["reasons"][0] == "the server that adcp.yaml starts ended by itself during the survey"
    notes = {item["id"]: item["note"] for item in done.target["observations"]}
    assert notes["own-server"].endswith("exit code 9")
    assert notes["own-server-log"].endswith("out of memory")
    assert gone(tmp_path), "the daemon too"
    assert "THE SERVER'S LAST WORDS\n" in done.out
    assert "\n  out of memory\n" in done.out
    assert "\n- `out of memory`\n" in (tmp_path / "adcp-report/report.md").read_text()
    again = run(tmp_path, "--adcp-replay=adcp-report/transcript.jsonl", "--adcp-report-dir=adcp-report")
    assert {item["id"]: item["note"] for item in again.target["observations"]} == notes


def test_a_server_that_is_there_already_is_not_judged_in_its_place(tmp_path: Path, configured) -> None:
    port = configured()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        done = judged(tmp_path)
    assert done.code == 4
    assert f"adcp.yaml, line 3, server: something listens at http://127.0.0.1:{port}/mcp already" in done.out
    assert not (tmp_path / "children").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_interrupt_ends_it_too(tmp_path: Path, configured, number: signal.Signals) -> None:
    port = configured()
    (tmp_path / "adcp.yaml").write_text((tmp_path / "adcp.yaml").read_text() + "rate: 1\n")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "ADCP_"))}
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--adcp-config=adcp.yaml"],
        cwd=tmp_path,
        env={**clean, "SELLER_TOKEN": SECRET, "PYTHONPYCACHEPREFIX": str(_BYTECODE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    ) as process:
        until = time.monotonic() + 60
        while time.monotonic() < until and exchange(f"http://127.0.0.1:{port}/mcp").end is not End.COMPLETE:
            time.sleep(0.1)
        time.sleep(1)
        os.killpg(process.pid, number)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 2, out
    assert "survey interrupted" in out
    assert gone(tmp_path)


def test_another_server_on_the_command_line_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet(monkeypatch, tmp_path)
    own = "server_url: http://127.0.0.1:8000/mcp\nserver: {command: serve --port 8000}\n"
    started = told("--adcp-config=adcp.yaml", yaml=own).server
    assert started is not None
    assert (started.words, started.folder, started.env) == (("serve", "--port", "8000"), tmp_path, {})
    assert told("--server-url=http://127.0.0.1:9000/mcp", yaml=own).server is None
    assert told("--server-url=http://127.0.0.1:8000/mcp", yaml=own).server is not None


def test_what_is_secret_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet(monkeypatch, tmp_path)
    held = {
        "DATABASE_URL": "postgres://me:pass-s3cret@db/x",
        "AUTH_ENABLED": "true",
        "PORT": "8000",
        "API_TOKEN": "hunter",
        "REGION": "eu-west",
    }
    for name, value in held.items():
        monkeypatch.setenv(name, value)
    env = "".join(f"\n    {name}:" for name in held)
    settings = told(
        "--adcp-config=adcp.yaml",
        yaml=f"server_url: http://127.0.0.1:8000/mcp\nserver:\n  command: serve\n  env:{env}\n",
    )
    assert settings.server is not None
    assert settings.server.env == held
    assert {"pass-s3cret", "hunter"} <= set(settings.secrets())
    assert {"true", "8000", "eu-west"}.isdisjoint(settings.secrets())
    assert "s3cret" not in repr(settings)
    assert "s3cret" not in str(settings.public())


SERVER = "server_url: http://127.0.0.1:8000/mcp\nserver: "


@pytest.mark.parametrize(
    ("yaml", "error"),
    [
        (SERVER + "{command: \"serve 'x\"}", """server: command "serve 'x" is no command: No closing quotation"""),
        (SERVER + '{command: " "}', "server: command names no program"),
        (SERVER + "{folder: .}", 'server: the key "command" is missing'),
        (SERVER + "{command: x, folder: gone}", 'server: folder "gone" is not a folder'),
        (SERVER + "{command: x, env: {A: NOT_SET}}", "server: the environment variable NOT_SET is not set"),
        (SERVER + "{command: x, env: {A: 's3cret value'}}",
         "server.env.A: must be the name of an environment variable, or nothing for the same name; a secret itself never "
         "stands in this file"),
        (SERVER + "{comand: x}", 'server.comand: unknown key; did you mean "command"?'),
        (SERVER + "{command: x, ready: 0}", "server.ready: must be a number of seconds up to 86400"),
    ],
)  # fmt: skip
def test_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, yaml: str, error: str) -> None:
    quiet(monkeypatch, tmp_path)
    assert complaint("--adcp-config=adcp.yaml", yaml=yaml) == f"adcp.yaml, line 2, {error}"


def test_a_server_without_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet(monkeypatch, tmp_path)
    said = complaint("--server-url=http://127.0.0.1:8000/mcp", yaml="server: {command: x}")
    assert said == "adcp.yaml, line 1, server: needs server_url in the same file: where the server listens"


def test_a_program_that_is_not_there(tmp_path: Path, configured) -> None:
    configured()
    text = (tmp_path / "adcp.yaml").read_text()
    (tmp_path / "adcp.yaml").write_text(text.replace(json.dumps(sys.executable), "no-such-program"))
    done = judged(tmp_path)
    assert done.code == 4
    assert 'server: "no-such-program" cannot be started: No such file or directory' in done.out
