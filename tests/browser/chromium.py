"""A headless Chromium, spoken to through a pair of pipes (the DevTools protocol)."""

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE_S = 240.0
"""How long an answer may take, on a machine that is busy."""
INSIDE = ("file:", "data:", "about:", "blob:")


class Browser:
    """One process; :meth:`opened` gives pages. Use it in a ``with`` statement."""

    def __init__(self, program: Path, profile: Path) -> None:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # The protocol's ends have to be the descriptors 3 and 4.
        line = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", line, "bash", program, "--headless=new", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update",
             "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(PATIENCE_S)

    def call(self, method: str, page: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; what happens meanwhile goes to the pages."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params}
        if page is not None:
            message["sessionId"] = page
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            said = self._read()
            if said.get("id") == number:
                assert "error" not in said, f"{method}: {said['error']}"
                result: dict[str, Any] = said["result"]
                return result
            self._tell(said)

    def until(self, holds: Callable[[], bool]) -> None:
        """Listen to what happens until something holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, "the browser was waited for in vain"
            self._tell(self._read())

    def opened(
        self, url: str, width: int = 1440, height: int = 900, scheme: str = "light"
    ) -> "Page":
        """Open an address in a window of this size, and wait until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        key = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[key] = Page(self, key)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Page.setLifecycleEventsEnabled", enabled=True)
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.call("Emulation.setEmulatedMedia", features=[feature])
        loading = page.call("Page.navigate", url=url)["loaderId"]
        self.until(lambda: loading in page.loads)  # the blank page may be loaded only now, too
        return page

    def _tell(self, said: dict[str, Any]) -> None:
        page = self._pages.get(said.get("sessionId", ""))
        if page is not None and "method" in said:
            page.hear(said["method"], said.get("params", {}))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], PATIENCE_S)
            assert ready, "the browser says nothing"
            got = os.read(self._in, 1 << 20)
            assert got, "the browser is gone"
            self._buffer += got
        line, _, self._buffer = self._buffer.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        return said


@dataclass
class Page:
    """An open page, and what it has complained of and asked for."""

    browser: Browser
    key: str
    complaints: list[str] = field(default_factory=list)
    """Errors and warnings of the console, and exceptions."""
    requests: list[str] = field(default_factory=list)
    """Addresses that were asked for, the page's own included."""
    loads: list[str] = field(default_factory=list)
    """Documents that were loaded, by the names that the browser gives their loading."""

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self.key, **params)

    def hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.lifecycleEvent" and params["name"] == "load":
            self.loads.append(params["loaderId"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"].get("text")))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])

    def value(self, expression: str) -> Any:
        """Return what an expression of JavaScript is worth; promises are waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def load_next(self, cause: Callable[[], object]) -> None:
        """Do what makes the page load another document, and wait until it has."""
        before = {*self.loads}
        cause()
        self.browser.until(lambda: not before.issuperset(self.loads))

    def processor_s(self) -> float:
        """Return the processor's time, in seconds, of the process that shows the page."""
        self.call("Performance.enable")
        metrics = self.call("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "ProcessTime"))

    def press(self, key: str) -> None:
        """Press and release a key: "Tab", "Enter"."""
        code = {"Tab": 9, "Enter": 13}[key]
        text = "\r" if key == "Enter" else None
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=code, **more)  # fmt: skip

    def screenshot(self, whole: bool = False) -> bytes:
        """Return the window as PNG, or the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(shot["data"])

    @property
    def outside(self) -> list[str]:
        """Return the requests that left the page."""
        return [url for url in self.requests if not url.startswith(INSIDE)]
