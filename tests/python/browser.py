"""A page in a headless Chromium, asked over the DevTools protocol by a pipe: what it shows, requests and complains about."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 60  # seconds for each answer


class Browser:
    """One page, from its beginning on."""

    def __init__(self, page: Path) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._number, self._rest, self._loaded = 0, b"", False
        self._folder = tempfile.TemporaryDirectory(prefix="plait-browser-", ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
        ]
        options += [f"--user-data-dir={self._folder.name}", "--remote-debugging-pipe", "--window-size=1100,1500", "about:blank"]
        # The protocol's pipes are 3 and 4.
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(["bash", "-c", script, CHROMIUM, *options], pass_fds=(to_browser, from_browser), **quiet)
        os.close(to_browser)
        os.close(from_browser)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Runtime", "Log", "Page"):
            self.send(f"{domain}.enable")
        self.send("Page.navigate", url=page.resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while not self._loaded:
            self._event(until)

    def evaluate(self, expression: str):
        """The value of an expression in the page, or of its promise."""
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def send(self, method: str, **parameters) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if hasattr(self, "_session") and not method.startswith("Target."):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._event(until)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _event(self, until: float) -> dict:
        while b"\0" not in self._rest:
            assert time.monotonic() < until, "the browser does not answer"
            got = os.read(self._in, 1 << 16)
            assert got, "the browser ended"
            self._rest += got
        text, _, self._rest = self._rest.partition(b"\0")
        event = json.loads(text)
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        return event

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_) -> None:
        self._process.terminate()
        self._process.wait(10)
        os.close(self._out)
        os.close(self._in)
        self._folder.cleanup()
