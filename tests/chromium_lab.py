"""A real Chromium for pages on the disk: driven by its own protocol, on the loopback, with a profile of its own."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from websockets.sync.client import ClientConnection, connect

CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--remote-debugging-port=0", "--remote-allow-origins=*", "about:blank",
)  # fmt: skip
START_SECONDS, ANSWER_SECONDS = 30.0, 60.0


class Browser:
    """One page in a browser; `requests` are the addresses that it asked for, `said` what its console said."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self.requests: list[str] = []
        self.said: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Ask for something and return its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=ANSWER_SECONDS))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def open(self, page: Path) -> Self:
        """Load a page from the disk and wait until it stands."""
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.until("document.readyState === 'complete' && document.querySelector('.scripted:not([hidden])') !== null")
        return self

    def run(self, expression: str) -> Any:
        """Return what an expression of the page's has for a value, a promise awaited."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def until(self, expression: str, seconds: float = ANSWER_SECONDS) -> Any:
        """Wait until an expression is true and return it."""
        end = time.monotonic() + seconds
        while not (found := self.run(expression)):
            assert time.monotonic() < end, f"never true: {expression}; the console: {self.said}"
            time.sleep(0.02)
        return found

    def shape(self, width: int, height: int = 900, *, dark: bool = False, medium: str = "screen") -> None:
        """Make the window so wide and high, in that colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=medium, features=[scheme])

    def screenshot(self, target: Path) -> None:
        """Save a picture of the whole page."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        target.write_bytes(base64.b64decode(taken["data"]))

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif message.get("method") == "Log.entryAdded":
            self.said.append(parameters["entry"]["text"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.said.append(parameters["exceptionDetails"].get("text", "an exception"))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser whose profile is the folder; it is ended at the end."""
    assert CHROMIUM is not None
    environment = {"HOME": str(profile), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    command = [CHROMIUM, f"--user-data-dir={profile}", *_FLAGS]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            port, path = _port(profile / "DevToolsActivePort", process)
            with connect(f"ws://127.0.0.1:{port}{path}", max_size=None) as socket:
                target = _page_of(socket)
            with connect(f"ws://127.0.0.1:{port}/devtools/page/{target}", max_size=None) as socket:
                yield Browser(socket)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _port(file: Path, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) > 1:
            return int(lines[0]), lines[1]
        time.sleep(0.05)
    raise AssertionError("Chromium did not start")


def _page_of(socket: ClientConnection) -> str:
    socket.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
    told = json.loads(socket.recv(timeout=ANSWER_SECONDS))["result"]["targetInfos"]
    return str(next(item["targetId"] for item in told if item["type"] == "page"))
