"""A real browser for tests: Chromium without a window, driven by its DevTools protocol over a pipe.

Standard library only. `browser()` starts one, `open` loads a file and gives a page that can be asked, resized and
photographed; everything it wrote to its console or wanted from the network is kept.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
    "--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--mute-audio", "--hide-scrollbars",
    "--force-color-profile=srgb", "--font-render-hinting=none",
)  # fmt: skip
LAUNCHER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 300.0  # seconds; a browser on a busy machine is slow


def find_browser() -> str | None:
    """The program, or None where none is installed; PERCEPTRONS_BROWSER names another one."""
    asked = os.environ.get("PERCEPTRONS_BROWSER")
    return asked if asked else next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """A running browser. Messages end with a NUL byte; it reads them from its file 3 and writes to its file 4."""

    def __init__(self, program: str, folder: Path):
        import fcntl  # not on every system

        self._kept, self._number, self.events = b"", 0, list[dict[str, Any]]()
        self._said = folder / "stderr"
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        # numbers that the launcher's dup2 cannot overwrite
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
        home = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
        command = [sys.executable, "-c", LAUNCHER, *map(str, ends), program]
        with self._said.open("wb") as errors:
            self._process = subprocess.Popen(
                [*command, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, pass_fds=ends,
                env={**os.environ, **home}, start_new_session=True,
            )  # fmt: skip
        for fd in (to_read, to_write, *ends):
            os.close(fd)

    def close(self) -> None:
        """End it, with all processes that it started."""
        for fd in (self._write, self._read):
            os.close(fd)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(5)

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self._write, content) :]
        answer = self.wait(lambda event: event.get("id") == self._number, method)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait(self, wanted: Any, what: str) -> dict[str, Any]:
        """The first message from now on that is wanted; all others are kept as events."""
        end = time.monotonic() + PATIENCE
        while True:
            message = self._next(end, what)
            if wanted(message):
                return message
            self.events.append(message)

    def _next(self, end: float, what: str) -> dict[str, Any]:
        while b"\0" not in self._kept:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"The browser did not answer {what} in {PATIENCE:g} seconds.")
            more = os.read(self._read, 2**20)
            if not more:
                said = self._said.read_text("utf-8", "replace")[-500:]
                raise RuntimeError(f"The browser ended while it was asked for {what}: {said}")
            self._kept += more
        message, _, self._kept = self._kept.partition(b"\0")
        return json.loads(message)

    def open(self, path: Path, width: int = 1280, height: int = 900, dark: bool = False) -> "Page":
        """Load a file in a new tab of this size."""
        return Page(self, Path(path).resolve().as_uri(), width, height, dark)


class Page:
    """A tab with a loaded page."""

    def __init__(self, browser: Browser, address: str, width: int, height: int, dark: bool):
        self._browser, self.address = browser, address
        target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self._target = target
        self._session = browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{part}.enable")
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._send("Emulation.setEmulatedMedia", features=scheme)
        self.resize(width, height)
        browser.events.clear()
        went = self._send("Page.navigate", url=address)
        if went.get("errorText"):
            raise OSError(f"{address}: {went['errorText']}")
        if not any(event.get("method") == "Page.loadEventFired" for event in browser.events):
            browser.wait(lambda event: event.get("method") == "Page.loadEventFired", "to load the page")

    def resize(self, width: int, height: int = 900) -> None:
        self._send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression; of a promise, what it gives."""
        answer = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key, such as ArrowRight."""
        for kind in ("keyDown", "keyUp"):
            code = {"ArrowRight": 39, "ArrowLeft": 37, "Tab": 9}.get(key, 0)
            self._send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def click(self, x: float, y: float, to: tuple[float, float] | None = None) -> None:
        """Click at a place of the window, or drag from there to another."""
        ends = [(x, y)] if to is None else [(x, y), ((x + to[0]) / 2, (y + to[1]) / 2), to]
        mouse = {"button": "left", "buttons": 1, "clickCount": 1}
        self._send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **mouse)
        for place in ends[1:]:
            self._send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1], **mouse)
        self._send("Input.dispatchMouseEvent", type="mouseReleased", x=ends[-1][0], y=ends[-1][1], **mouse)

    def touch(self, x: float, y: float, to: tuple[float, float] | None = None) -> None:
        """The same with a finger."""
        self._send("Emulation.setTouchEmulationEnabled", enabled=True)
        self._send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        for part in (0.3, 0.6, 1.0, 1.0) if to is not None else ():
            time.sleep(0.1)  # a finger that is lifted in motion would fling, and the next tap only stop that
            place = {"x": x + part * (to[0] - x), "y": y + part * (to[1] - y)}
            self._send("Input.dispatchTouchEvent", type="touchMove", touchPoints=[place])
        self._send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def photograph(self, path: Path, part: str = "body", height: int | None = None) -> None:
        """A picture of the first element that a selector finds, cut at this height, as PNG."""
        where = self.ask(
            f"(box => [box.top + scrollY, box.height])(document.querySelector({part!r}).getBoundingClientRect())"
        )
        top, all_of_it = where
        clip = {"x": 0, "y": top, "width": self.ask("innerWidth"), "height": min(all_of_it, height or 1e6), "scale": 1}
        answer = self._send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    @property
    def complaints(self) -> list[str]:
        """What the console shows: errors, warnings, exceptions."""
        self.ask("0")  # events that came before this answer are here then
        found = []
        for event in self._events():
            method, told = event["method"], event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(told["exceptionDetails"].get("text")))
            elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
                found.append(f"{told['entry']['level']}: {told['entry']['text']}")
            elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
                found.append(f"console.{told['type']}: {told['args']}")
        return found

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for, but for what a page holds itself."""
        self.ask("0")
        sent = [event["params"]["request"]["url"] for event in self._events()
                if event["method"] == "Network.requestWillBeSent"]  # fmt: skip
        return [url for url in sent if not url.startswith(("data:", "blob:"))]

    def close(self) -> None:
        self._browser.send("Target.closeTarget", targetId=self._target)

    def _events(self) -> Iterator[dict[str, Any]]:
        return (
            event for event in self._browser.events if event.get("sessionId") == self._session and "method" in event
        )

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **parameters)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty home of its own, gone in the end."""
    program = find_browser()
    if program is None:
        raise FileNotFoundError(f"None of {', '.join(NAMES)} is installed.")
    with tempfile.TemporaryDirectory(prefix="perceptrons-browser-", ignore_cleanup_errors=True) as folder:
        running = Browser(program, Path(folder))
        try:
            running.send("Browser.getVersion")
            yield running
        finally:
            running.close()
