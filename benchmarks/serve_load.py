"""A client that costs little, so that the server is measured and not its client: requests are made beforehand.

`python -m benchmarks.serve_load` reads a plan in JSON from standard input and prints what it measured.
"""

import json
import socket
import sys
import threading
import time
from typing import Any


class Connection:
    """One connection that stays open."""

    def __init__(self, port: int):
        self._port = port
        self._socket = self._opened()
        self._rest = b""

    def _opened(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def http(self, request: bytes) -> int:
        """Send a request, take the whole answer, give its status."""
        self._socket.sendall(request)
        content = self._rest
        while (end := content.find(b"\r\n\r\n")) < 0:
            content += self._received()
        head = content[:end].lower()
        at = head.index(b"content-length:") + 15
        length = int(head[at : head.index(b"\r", at) if b"\r" in head[at:] else None])
        parts, size = [content[end + 4 :]], len(content) - end - 4
        while size < length:
            parts.append(self._received())
            size += len(parts[-1])
        return int(content[9:12])

    def lines(self, request: bytes) -> int:
        """Send lines, and take as many lines as answers: the protocol of VW's daemon."""
        self._socket.sendall(request)
        wanted = request.count(b"\n")
        while wanted > 0:
            wanted -= self._received().count(b"\n")
        return 200

    def _received(self) -> bytes:
        part = self._socket.recv(2**20)
        if not part:
            raise ConnectionError("the server closed the connection")
        return part


def post(path: str, body: Any) -> bytes:
    """A request as it is sent."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def measured(port: int, requests: list[bytes], connections: int, seconds: float, rate: float | None, way: str) -> Any:
    """Send the requests round and round for some seconds; latencies of all, and how many were answered otherwise.

    rate: requests per second, sent at their time whether or not others were answered; None: as fast as answers come.
    """
    latencies: list[list[float]] = [[] for _ in range(connections)]
    failed: list[int] = []
    begin = time.perf_counter() + 0.2

    def work(number: int) -> None:
        connection = Connection(port)
        send = getattr(connection, way)
        mine, k = latencies[number], number
        time.sleep(max(0.0, begin - time.perf_counter()))
        while True:
            due = time.perf_counter() if rate is None else begin + k / rate
            if due >= begin + seconds:
                return
            if rate is not None and due > (now := time.perf_counter()):
                time.sleep(due - now)
            status = send(requests[k % len(requests)])
            mine.append(time.perf_counter() - due)
            if status != 200:
                failed.append(status)
            k += connections

    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begin
    every = sorted(latency for some in latencies for latency in some)
    return {
        "requests": len(every), "seconds": took, "per_second": len(every) / took, "failed": len(failed),
        "p50_ms": 1000 * every[len(every) // 2], "p99_ms": 1000 * every[int(len(every) * 0.99)],
    }  # fmt: skip


def main() -> None:
    plan = json.load(sys.stdin)
    if plan["way"] == "http":
        requests = [post(plan["path"], body) for body in plan["bodies"]]
    else:
        requests = [body.encode() for body in plan["bodies"]]
    kept = {name: plan[name] for name in ("connections", "seconds", "rate", "way")}
    json.dump(measured(plan["port"], requests, **kept), sys.stdout)


if __name__ == "__main__":
    main()
