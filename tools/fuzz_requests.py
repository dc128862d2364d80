"""Send forged requests to the service of `perceptrons serve`, as a web server would hand them on, without sockets.

    python -m tools.fuzz_requests --seconds 600 --seed 0

A finding is an answer with a status that is not documented, one without a line that says why, one that shows a stack
trace, a version that a refused request has changed, a server that stopped, and memory that grows without end. Each is
printed with its seed; `--seed THAT --cases 1` does it again. A seed is a hundred requests to a server of one kind.
"""

import asyncio
import gc
import json
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.cli import main as command
from perceptrons.sequence import FeatureTemplates
from perceptrons.serve.app import application
from perceptrons.serve.requests import Limits
from perceptrons.serve.security import LOCAL_HOSTS
from perceptrons.serve.service import Service, prepare
from perceptrons.serve.state import GrowthLimits
from perceptrons.serve.store import Store
from perceptrons.serve.writer import Writer
from tools.forging import RECORDS, SVMLIGHT, TEXTS, VW
from tools.fuzzing import Case, Cases, FoundError, run

REQUESTS = 100  # of one seed
STATUSES = {200, 400, 403, 404, 405, 408, 409, 410, 413, 415, 422, 429, 503, 507}
GROWN = 200 * 2**20  # bytes that a process may become larger after the first seeds
BEGINNING = 40  # seeds
ROUTES = ("/predict", "/learn", "/feedback", "/rollback", "/snapshot", "/log", "/model", "/model/file", "/stats",
          "/metrics", "/snapshots", "/healthz", "/readyz", "/", "/docs", "/openapi.json", "/promote")  # fmt: skip
ASKED = (*("/predict", "/learn", "/learn", "/feedback") * 6, "/rollback")
PATHS = ("/../etc/passwd", "/..%2f..%2fetc/passwd", "//evil.example/learn", "/learn/", "/learn\x00", "/LEARN", "",
         "/log/00000000000000000000.log", "/snapshots/../log", "/model/file/../../origin", "/\ud7ff",
         "/%ff")  # fmt: skip
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "", "GET\x00", "get", "CONNECT")
TYPES = ("application/json", "application/x-ndjson", "application/jsonl", "text/plain", "", "application/json; a=b",
         "multipart/form-data", "APPLICATION/JSON", "application/x-www-form-urlencoded", "\xff")  # fmt: skip
NUMBERS = ("0", "-1", "1e400", "-1e400", "1e308", "5e-324", "NaN", "Infinity", str(2**63 - 1), str(2**63),
           str(2**64 - 1), str(2**64), str(2**70), "-" + str(2**70), "1.5", "0.1", "-0.0", "9" * 400,
           "1E+2")  # fmt: skip
WORDS = ('"a"', '""', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\U0001f600"', '"a|b:c"', '"1:2 3:4"', '"1 1:2"',
         '"| a b"', '"1 | a"', '"4000000000:1"', '"-1:1"', '"1:1e400"', '"1:x"', '"\\n"', '"x\\ty\\r\\n"', '"spam"',
         '"ham"', '"\\u2028"', '"' + "w " * 3000 + '"', '"label"', '"\ufeff"', '"nan"',
         '"inf"', '"#"', '"=1+1"')  # fmt: skip
OTHERS = ("null", "true", "false", "{}", "[]", '""', "[[]]", "[null]", "[{}]", '{"":0}')
NAMES = ("label", "labels", "text", "x", "tokens", "size", "shop", "a", "b", "", "\\u0000", "1", "-1", "4000000000",
         "examples", "id", "version", "a=b", "a b", "é", "top", "__proto__", "feedback")  # fmt: skip


class Asgi:
    """A server without sockets: requests go to the application, answers come back."""

    def __init__(
        self, store: Store, growth: GrowthLimits, limits: Limits, token: str | None = None, max_waiting: int = 50_000
    ):
        writer = Writer(store, growth, max_waiting, snapshot_every=5000)
        self.service = Service(store, writer)
        self.app = application(self.service, limits, token, LOCAL_HOSTS)
        self.service._start()
        if self.service.error is not None:
            raise self.service.error
        self._loop = asyncio.new_event_loop()

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: list[tuple[bytes, bytes]] | None = None,
        query: bytes = b"",
    ) -> tuple[int, dict[str, str], bytes]:  # fmt: skip
        """The status, the headers and the body of the answer."""
        return self._loop.run_until_complete(self._asked(method, path, body, headers or [], query))

    async def _asked(
        self, method: str, path: str, body: bytes, headers: list[tuple[bytes, bytes]], query: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if not any(name == b"host" for name, _ in headers):
            headers = [(b"host", b"localhost"), *headers]
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1",
            "method": method, "scheme": "http", "path": path,
            "raw_path": path.encode(errors="replace"), "query_string": query, "root_path": "",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
        }  # fmt: skip
        middle = len(body) // 2
        parts = [(body[:middle], True), (body[middle:], False)]
        answered: list[Any] = []

        async def receive() -> dict[str, Any]:
            if not parts:
                return {"type": "http.disconnect"}
            part, more = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": more}

        async def send(message: Any) -> None:
            answered.append(message)

        await self.app(scope, receive, send)
        start = next(message for message in answered if message["type"] == "http.response.start")
        content = b"".join(message.get("body", b"") for message in answered if message["type"] == "http.response.body")
        told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
        return start["status"], told, content

    def json(self, path: str, content: Any, headers: list[tuple[bytes, bytes]] | None = None) -> tuple[int, Any]:
        """The status of a request with JSON, and what was answered."""
        sent = [(b"content-type", b"application/json"), *(headers or [])]
        status, _, answer = self.ask("POST", path, json.dumps(content).encode(), sent)
        return status, json.loads(answer)

    def close(self) -> None:
        self.service._close()
        self._loop.close()
        del self.service.writer.buffer  # two models, which would stay until garbage is collected


# ---- models


def _file(folder: Path, name: str, text: str, *options: str) -> Any:
    from perceptrons import load

    (folder / f"{name}.data").write_text(text)
    target = str(folder / f"{name}.model")
    if command(["train", str(folder / f"{name}.data"), *options, "--quiet", "-o", target]):
        raise FoundError(f"the model {name} cannot be made")
    return load(target)


def _tagger(folder: Path) -> Any:
    return SequencePerceptron(templates=FeatureTemplates(), max_iter=1).fit([["a", "b"], ["b"]], [["A", "B"], ["B"]])


def _kernel(folder: Path) -> Any:
    X = np.random.default_rng(0).standard_normal((20, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KernelPerceptron(budget=10, max_iter=1).fit(X, np.arange(20) % 3)


MODELS: dict[str, Callable[[Path], Any]] = {
    "empty": lambda folder: Perceptron(),
    "text": lambda folder: _file(folder, "text", TEXTS, "--format", "text", "--hash-bits", "8"),
    "table": lambda folder: _file(folder, "table", RECORDS, "--format", "jsonl"),
    "svmlight": lambda folder: _file(folder, "svmlight", SVMLIGHT, "--format", "svmlight"),
    "vw": lambda folder: _file(folder, "vw", VW, "--format", "vw"),
    "numbers": lambda folder: Perceptron().fit(np.eye(3), [0, 1, 2]),
    "tagger": _tagger,
    "kernel": _kernel,
}
EXAMPLES = {
    "empty": ('"spam now"', '{"a": 1, "b": "x"}', "[1, 2]", '["w", "v"]'), "text": ('"free cash"', '{"text": "hi"}'),
    "table": ('{"size": 1, "shop": "a", "text": "free"}', "{}"), "svmlight": ('"1:1 3:2"', '{"1": 2}'),
    "vw": ('"| a b:2"', '{"a": 1}'), "numbers": ("[1, 2, 3]", "[0.5, 1, 2]"),
    "tagger": ('["a", "b"]', '{"tokens": ["c"]}', '[{"f": 1}]'), "kernel": ("[1, 2, 3]", "[0.1, 0.2, 0.3]"),
}  # fmt: skip
LABELS = ('"spam"', '"ham"', "1", "2", "0", "true", "null", "1.5", "[]", '["A"]', '["A", "B"]', "[[1]]", '{"a": 1}',
          str(2**63), str(2**64), "-1", '""', '"\\u0000"', '"1"', "[" * 300 + "]" * 300)  # fmt: skip


def served(name: str, folder: Path) -> Asgi:
    """A server of a kind in a new folder."""
    folder.mkdir(parents=True)
    store = Store(folder / "data", sync=False, segment_bytes=2**16, keep_bytes=2**18)
    prepare(store, MODELS[name](folder), None)
    limits = Limits(body=2**16, examples=200, features=2000, seconds=5)
    return Asgi(store, GrowthLimits(features=2**12, classes=30), limits)


# ---- requests


def value(draw: random.Random, depth: int = 0) -> str:
    """JSON, or nearly."""
    which = draw.random()
    if which < 0.25 or depth > 5:
        return draw.choice(WORDS)
    if which < 0.45:
        return draw.choice(NUMBERS)
    if which < 0.6:
        return draw.choice(OTHERS)
    if which < 0.8:
        return "[" + ",".join(value(draw, depth + 1) for _ in range(draw.randrange(4))) + "]"
    cells = (f'"{draw.choice(NAMES)}":{value(draw, depth + 1)}' for _ in range(draw.randrange(5)))
    return "{" + ",".join(cells) + "}"


def body(draw: random.Random, name: str, path: str, ids: list[str]) -> bytes:
    """The body of a request that has something to do with the route, or not."""
    which = draw.random()
    if which < 0.04:
        return draw.randbytes(draw.randrange(200))
    if which < 0.07:
        return draw.choice((b"[", b"{", b'{"examples":')) * draw.choice((1, 100, 5000))
    if which < 0.08:
        return b" " * draw.choice((0, 1, 2**16, 2**16 + 1))
    if which < 0.2:
        return value(draw).encode("utf-8", "replace")
    text = _sensible(draw, name, path, ids)
    if draw.random() < 0.1:  # cut, or with a byte changed
        content = bytearray(text.encode("utf-8", "replace"))
        if content and draw.random() < 0.5:
            content[draw.randrange(len(content))] = draw.randrange(256)
            return bytes(content)
        return bytes(content[: draw.randrange(len(content) + 1)])
    return text.encode("utf-8", "replace")


def _sensible(draw: random.Random, name: str, path: str, ids: list[str]) -> str:
    if path == "/feedback":
        known = (
            ids[draw.randrange(len(ids))] if ids and draw.random() < 0.8 else draw.choice(("", "x-1", "-", "a" * 99))
        )
        one = f'{{"id": {draw.choice((json.dumps(known), value(draw, 4)))}, "label": {_label(draw)}}}'
        return one if draw.random() < 0.5 else f'{{"feedback": [{one}, {one.replace("spam", "ham")}]}}'
    if path == "/rollback":
        return f'{{"version": {draw.choice((*NUMBERS, "0", "0", "null", "true", WORDS[0]))}}}'
    n = draw.choice((0, 1, 1, 2, 3, 30, 201)) if draw.random() < 0.3 else draw.randrange(1, 4)
    examples = [draw.choice(EXAMPLES[name]) if draw.random() < 0.85 else value(draw, 2) for _ in range(n)]
    parts = [f'"examples": [{", ".join(examples)}]']
    if path == "/learn" or draw.random() < 0.05:
        labels = [_label(draw) for _ in range(n if draw.random() < 0.95 else n + 1)]
        parts.append(f'"labels": [{", ".join(labels)}]')
    if path == "/predict" and draw.random() < 0.5:
        option = draw.choice(("scores", "probabilities", "explain", "top", "wrong"))
        parts.append(f'"{option}": {draw.choice(("true", "true", "1", "3", value(draw, 4)))}')
    return "{" + ", ".join(parts) + "}"


def _label(draw: random.Random) -> str:
    return draw.choice(LABELS[:4] if draw.random() < 0.6 else LABELS)


def query(draw: random.Random) -> bytes:
    """A query string, seldom a good one."""
    if draw.random() < 0.7:
        return b""
    names = ("position", "wait", "top", "scores", "explain", "place", "a", "", "examples")
    values = ("0", "1", "-1", "²", "٣", "9" * 30, "true", "", "\x00", "a&b", "%", "1e3", "{}", "1 2")
    pairs = (f"{draw.choice(names)}={quote(draw.choice(values))}" for _ in range(draw.randrange(1, 4)))
    text = "&".join(pair for pair in pairs if not pair.startswith("wait=9")).encode()
    return text if draw.random() < 0.9 else draw.randbytes(20)


def headers(draw: random.Random) -> list[tuple[bytes, bytes]]:
    kind = TYPES[0] if draw.random() < 0.8 else draw.choice(TYPES)
    found = [(b"content-type", kind.encode("latin-1"))]
    if draw.random() < 0.3:
        key = draw.choice((f"k{draw.randrange(20)}", f"k{draw.random()}", "", "\x00", "é", "k" * 201, "k" * 200))
        found.append((b"idempotency-key", key.encode("latin-1")))
    if draw.random() < 0.1:
        said = draw.choice(("0", "-1", "²", "9" * 5000, "x", "70000", ""))
        found.append((b"content-length", said.encode("latin-1")))
    if draw.random() < 0.05:
        origin = draw.choice(("http://localhost", "http://evil.example", "null", "http://[", "", "\xff://"))
        found.append((b"origin", origin.encode("latin-1")))
    if draw.random() < 0.05:
        host = draw.choice(("evil.example", "", "[", "localhost:99999", "localhost/healthz?", "\xff", "[::1]:80"))
        found.append((b"host", host.encode("latin-1")))
    if draw.random() < 0.03:
        found += [(b"x-many", b"y" * 10_000)] * draw.randrange(1, 5)
    return found


class Fuzzed:
    """A server under fire: requests by seed, each answer judged. `statuses` counts them."""

    def __init__(self, name: str, folder: Path):
        self.name, self.server, self.ids, self.statuses = name, served(name, folder), list[str](), Counter[int]()

    def one(self, draw: random.Random) -> int:
        """Send a request. FoundError if the answer is not as it should be."""
        path = draw.choice(ASKED) if draw.random() < 0.85 else draw.choice((*ROUTES[:-1], *PATHS))
        right = "POST" if path in (*ASKED, "/snapshot", "/promote") else "GET"
        method = right if draw.random() < 0.97 else draw.choice(METHODS)
        sent, told, asked = body(draw, self.name, path, self.ids), headers(draw), query(draw)
        before = self.server.service.version
        try:
            status, _, content = self.server.ask(method, path, sent, told, asked)
        except Exception as error:
            raise FoundError(f"{method} {path}?{asked!r} {told} {sent[:300]!r}: {error!r}") from error
        self._judge(f"{method} {path}?{asked!r} {told} {sent[:300]!r}", path, status, content, before)
        self.statuses[status] += 1
        return status

    def _judge(self, what: str, path: str, status: int, content: bytes, before: int) -> None:
        if status not in STATUSES or not self.server.service.ready:
            raise FoundError(f"{what}: {status} {content[:200]!r}")
        if status == 200:
            if path == "/predict" and content[:1] == b"{":
                self.ids += [row["id"] for row in json.loads(content).get("predictions", [])]
                del self.ids[:-50]
            return
        if self.server.service.version != before:
            raise FoundError(f"{what}: {status}, but the version went from {before} to {self.server.service.version}")
        if status != 405 and content and (b"Traceback" in content or not json.loads(content)["error"]):
            raise FoundError(f"{what}: {status} {content[:200]!r}")


def resident() -> int:
    """The memory of this process, in bytes."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def begin(folder: Path) -> Cases:
    servers = {name: Fuzzed(name, folder / name) for name in MODELS}
    sizes: list[int] = []

    def case(generator: np.random.Generator) -> Case:
        draw = random.Random(int(generator.integers(2**62)))
        name = draw.choice(list(MODELS))

        def use() -> bool:
            found = [servers[name].one(draw) for _ in range(REQUESTS)]
            if sys.platform == "linux":
                sizes.append(resident())
                if len(sizes) > BEGINNING and sizes[-1] > sizes[BEGINNING] + GROWN:
                    raise FoundError(f"the process grew from {sizes[BEGINNING]:,} to {sizes[-1]:,} bytes")
            return 200 in found

        return Case(f"{REQUESTS} requests to {name}", use)

    return case


if __name__ == "__main__":
    sys.exit(run("tools.fuzz_requests", __doc__, "cases of 100 requests", begin))
