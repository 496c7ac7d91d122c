"""Debian's Chromium without a window, driven over the DevTools protocol on two pipes: no port, no driver, no package."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parents[2] / ".integration/axe/node_modules/axe-core/axe.min.js"
_PATIENCE = 90  # seconds for one answer; a busy machine takes a while to start a browser
# What would be a sign of life of a hostile page.
_ALARMS = frozenset({"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"})
_LIFE = _ALARMS | {"Page.javascriptDialogOpening", "Page.windowOpen", "Page.downloadWillBegin"}
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--log-level=3",
    "--remote-debugging-pipe",
)


class Page:
    """A tab, and all that it did."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._rest = b""
        self._last = 0
        self.events: list[Mapping[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session: str | None = None
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Mapping[str, Any]:
        """Send a command and return its result."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last:
            self.events.append(answer)
        assert "result" in answer, answer
        result: Mapping[str, Any] = answer["result"]
        return result

    def open(self, file: Path) -> None:
        """Load a file and wait until it is there; what happened before is forgotten."""
        self.events.clear()
        self.call("Page.navigate", url=file.absolute().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression, of a promise what it comes to. The page's own policy does not bind it."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def look(self, *, width: int = 1280, dark: bool = False, media: str = "screen") -> None:
        """Set what the page is shown on."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        # What is measured next has to have been drawn.
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
        )

    def press(self, key: str) -> None:
        """Press a key that writes nothing."""
        codes = {"Tab": 9, "Enter": 13}
        more = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=codes[key], **more)

    def screenshot(self, file: Path) -> None:
        """Write a PNG of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """Return the page as it is printed."""
        self.call("Emulation.setEmulatedMedia", media="", features=[])
        printed = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        return base64.b64decode(printed["data"])

    def axe(self) -> list[str]:
        """Return what axe-core finds wrong with the page, as text: the rule, the element, why."""
        self.evaluate(AXE.read_text(encoding="utf-8") + "\n;0")
        found = self.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
            for violation in found["violations"]
            for node in violation["nodes"]
        ]

    @property
    def requests(self) -> list[str]:
        """What was asked for since the page was opened, the page itself too."""
        sent = (event for event in self.events if event["method"] == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    @property
    def alarms(self) -> list[Mapping[str, Any]]:
        """Messages of the console and of the policy, dialogs, downloads, since the page was opened."""
        self.evaluate("new Promise(done => setTimeout(done, 50))")
        return [event for event in self.events if event["method"] in _LIFE]

    def _next(self) -> dict[str, Any]:
        give_up = time.monotonic() + _PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, give_up - time.monotonic()))
            piece = os.read(self._read, 1 << 20) if ready else b""
            assert piece, "the browser says nothing more"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Start a browser whose files lie in a folder, yield its tab, and end it; skips the test where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium: run tests/integration/setup.sh")
    if not AXE.is_file():
        pytest.skip("no axe-core: run tests/integration/setup.sh where npm is")
    to_read, its_write = os.pipe()
    its_read, to_write = os.pipe()
    # It reads from 3 and writes to 4: what is to become those must stand elsewhere.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (its_read, its_write)]
    for end in (its_read, its_write):
        os.close(end)
    command = ["bash", "-c", f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}', "bash", program, *_OPTIONS]
    with subprocess.Popen(
        [*command, f"--user-data-dir={folder}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=ends,
        start_new_session=True,  # it is ended with its children
    ) as process:
        try:
            for end in ends:
                os.close(end)
            yield Page(to_read, to_write)
        finally:
            os.close(to_write)
            os.close(to_read)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
