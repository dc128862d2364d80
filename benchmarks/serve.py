"""A served model beside other servers, client and server on one machine: `python -m benchmarks serve`.

Text messages (the SMS data, round and round) are predicted and learned singly and in batches of 100; then a server with
a million logged examples is killed and started again.
"""

import gzip
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import perceptrons.data
from benchmarks import results
from perceptrons.client import Client
from perceptrons.data.bundled import SMS

BATCH = 100
RATE = 500  # single requests per second
LOGGED = 1_000_000
AT_ONCE = 8  # connections


class Server(NamedTuple):
    """A running server: where it listens, its process, and how it is spoken to."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    way: str = "http"

    @property
    def resident(self) -> float:
        """Its memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def run(quick: bool) -> None:
    rows = messages()
    seconds, repeats = (1.0, 1) if quick else (5.0, 3)
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "sms.perceptron"
        texts = perceptrons.data.stream(SMS, format="text")
        perceptrons.save(perceptrons.Perceptron(max_iter=1, tol=None).fit_stream(texts), model)
        servers: dict[str, Callable[[], Any]] = {
            "perceptrons serve": lambda: ours(model, folder / "synced"),
            "perceptrons serve --no-sync": lambda: ours(model, folder / "not", "--no-sync"),
            "FastAPI + scikit-learn": lambda: peer("fastapi"),
            "VW daemon": lambda: peer("vw"),
        }
        for server, start in servers.items():
            with start() as running:
                found += jobs(running, server, rows, seconds, repeats)
        recovered = recovery(model, folder / "large", rows, 20_000 if quick else LOGGED)
    head = ["server", "job", "examples/s", "p50, ms", "p99, ms", "memory, MiB"]
    keys = ("server", "job", "examples_per_second", "p50_ms", "p99_ms", "mebibytes")
    table = results.table(head, [[one[key] for key in keys] for one in found])
    table += (
        f"\n\nStarted again after `kill -9` with {recovered['examples']:,} examples in the log: ready in "
        f"{recovered['seconds']:.1f} s ({recovered['megabytes']:.0f} MB of log, no snapshot since the first), "
        f"{recovered['with_snapshot']:.1f} s with a snapshot of the end. Memory {recovered['mebibytes']:.0f} MiB."
    )
    results.write("serve", {"results": found, "recovery": recovered}, table, {"serve": table}, quick)


def messages() -> list[tuple[str, str]]:
    """Labels and texts in a random order."""
    with gzip.open(SMS, "rt", encoding="utf-8") as file:
        rows = [(label, text) for label, _, text in (line.rstrip("\n").partition("\t") for line in file)]
    random.Random(0).shuffle(rows)
    return rows


def jobs(running: Server, name: str, rows: list[tuple[str, str]], seconds: float, repeats: int) -> Iterator[Any]:
    """What is asked of each server: name of the job, path, examples of a request, connections, rate."""
    asked: list[tuple[str, str, int, float | None]] = [
        ("predict, batches of 100", "/predict", BATCH, None), ("predict, single", "/predict", 1, None),
        (f"predict, single, {RATE} requests/s", "/predict", 1, RATE),
        ("learn, batches of 100", "/learn", BATCH, None), ("learn, single", "/learn", 1, None),
    ]  # fmt: skip
    for job, path, size, rate in asked:
        if name.endswith("--no-sync") and path == "/predict":
            continue
        plan = {
            "way": running.way, "path": path, "bodies": bodies(rows, path, size, running.way), "port": running.port,
            "connections": 1 if running.way == "lines" else AT_ONCE, "seconds": seconds, "rate": rate,
        }  # fmt: skip
        takes = [_load(plan) for _ in range(repeats)]
        assert not any(take["failed"] for take in takes), takes
        best = statistics.median(take["per_second"] for take in takes) * size
        latency = {key: statistics.median(take[key] for take in takes) for key in ("p50_ms", "p99_ms")}
        one = {"server": name, "job": job, "examples_per_second": best, **latency, "mebibytes": running.resident}
        print({key: value if isinstance(value, str) else round(value, 2) for key, value in one.items()}, flush=True)
        yield one


def bodies(rows: list[tuple[str, str]], path: str, size: int, way: str) -> list[Any]:
    """The content of requests, enough of them that nothing is answered from a cache."""
    parts = [rows[begin : begin + size] for begin in range(0, len(rows) - size + 1, size)]
    if way == "lines":
        return ["".join(_vw_line(label, text, path == "/learn") for label, text in part) for part in parts]
    labelled = path == "/learn"
    return [
        {"examples": [text for _, text in part]} | ({"labels": [label for label, _ in part]} if labelled else {})
        for part in parts
    ]


def _vw_line(label: str, text: str, labelled: bool) -> str:
    words = " ".join(text.lower().split()).replace(":", " ").replace("|", " ")
    return f"{ ({'spam': '1', 'ham': '-1'}[label] if labelled else '') } | {words}\n"


def _load(plan: dict[str, Any]) -> Any:
    """One measurement, by a client in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.serve_load"]
    done = subprocess.run(command, input=json.dumps(plan), text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


@contextmanager
def ours(model: Path, folder: Path, *options: str) -> Iterator[Server]:
    port = _free_port()
    command = [sys.executable, "-m", "perceptrons", "serve", str(model), "--data", str(folder), "--port", str(port)]
    with _running([*command, "--quiet", *options]) as process:
        _wait(Client(f"http://127.0.0.1:{port}", retries=0).is_ready, process)
        yield Server("perceptrons", port, process)


@contextmanager
def peer(kind: str) -> Iterator[Server]:
    port = _free_port()
    with _running([sys.executable, "-m", "benchmarks.serve_peers", kind, str(port)]) as process:
        _wait(lambda: _listens(port), process)
        yield Server(kind, port, process, "lines" if kind == "vw" else "http")


def recovery(model: Path, folder: Path, rows: list[tuple[str, str]], examples: int) -> dict[str, Any]:
    """How long a server takes to be ready again that was killed with so many examples in its log."""
    options = ("--snapshot-every", str(10 * examples))
    with ours(model, folder, *options) as running:
        client, size = Client(f"http://127.0.0.1:{running.port}"), 1000
        for begin in range(0, examples, size):
            part = [rows[(begin + k) % len(rows)] for k in range(size)]
            client.learn([text for _, text in part], [label for label, _ in part])
        running.process.kill()
    megabytes = sum(path.stat().st_size for path in (folder / "log").iterdir()) / 1e6
    began = time.perf_counter()
    with ours(model, folder, *options) as running:
        took, memory = time.perf_counter() - began, running.resident
        client = Client(f"http://127.0.0.1:{running.port}")
        assert client.stats()["version"] == examples
        client.snapshot()
        running.process.kill()
    began = time.perf_counter()
    with ours(model, folder, *options) as running:
        again = time.perf_counter() - began
    return {
        "examples": examples, "seconds": took, "with_snapshot": again, "megabytes": megabytes, "mebibytes": memory,
    }  # fmt: skip


@contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # VW has a child
        process.wait()


def _wait(ready: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + 600
    while not ready():
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < ends, "the server does not start"
        time.sleep(0.02)


def _listens(port: int) -> bool:
    """Does somebody listen? It is looked up, as VW does not survive a connection that says nothing."""
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(int(one[1].partition(":")[2], 16) == port and one[3] == "0A" for one in sockets)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
