"""A real Firefox for pages on the disk: driven by WebDriver BiDi, on the loopback, with a profile of its own."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

FIREFOX = next((path for name in ("firefox-esr", "firefox") if (path := shutil.which(name))), None)
needs_firefox = pytest.mark.skipif(FIREFOX is None, reason="no Firefox here")
START_SECONDS, ANSWER_SECONDS = 60.0, 60.0
_LISTENS = re.compile(r"WebDriver BiDi listening on (ws://127\.0\.0\.1:[0-9]+)")
_PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.auto": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "extensions.getAddons.cache.enabled": False,
}


class Firefox:
    """One page in a browser; `requests` are the addresses that it asked for, `said` what its console said."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self.requests: list[str] = []
        self.said: list[str] = []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["network.beforeRequestSent", "log.entryAdded"])
        self._context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **parameters: Any) -> Any:
        """Ask for something and return its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=ANSWER_SECONDS))
            if message.get("id") == number:
                assert message["type"] == "success", message
                return message["result"]
            if message.get("method") == "network.beforeRequestSent":
                self.requests.append(message["params"]["request"]["url"])
            elif message.get("method") == "log.entryAdded":
                self.said.append(message["params"]["text"])

    def open(self, page: Path) -> None:
        """Load a page from the disk."""
        self.call("browsingContext.navigate", context=self._context, url=page.resolve().as_uri(), wait="complete")

    def run(self, expression: str) -> Any:
        """Return the text, number or flag that an expression of the page's has for a value."""
        told = self.call("script.evaluate", expression=expression, target={"context": self._context}, awaitPromise=True)
        assert told["type"] == "success", told
        return told["result"].get("value")

    def until(self, expression: str, seconds: float = ANSWER_SECONDS) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(expression):
            assert time.monotonic() < end, f"never true: {expression}; the console: {self.said}"
            time.sleep(0.02)


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """A browser whose profile is the folder; it is ended at the end."""
    assert FIREFOX is not None
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in _PREFERENCES.items())
    (profile / "user.js").write_text("".join(lines))
    environment = {"HOME": str(profile), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    said = profile / "said"
    command = [
        FIREFOX,
        "--headless",
        "--no-remote",
        "--remote-debugging-port=0",
        "--profile",
        str(profile),
        "about:blank",
    ]
    with (
        said.open("wb") as out,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            with connect(f"{_address(said, process)}/session", max_size=None) as socket:
                yield Firefox(socket)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _address(said: Path, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        found = _LISTENS.search(said.read_text(errors="replace"))
        if found is not None:
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"Firefox did not start: {said.read_text(errors='replace')[-500:]}")
