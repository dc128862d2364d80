"""Examples of recent predictions, so that feedback can come later by the id of a prediction.

They are kept as JSON: as Python objects they would take ten times the memory.
"""

import secrets
from bisect import bisect_right
from threading import Lock
from typing import Any

from msgspec import json

MAX_EXAMPLES, MAX_BYTES = 100_000, 2**26
REQUEST_BYTES = 200  # that a request takes beside its examples


class Remembered:
    """The newest examples that were predicted, within bounds of number and memory."""

    def __init__(self) -> None:
        self._name = secrets.token_hex(4)  # ids of a server that ran before are not taken for ids of this one
        self._first: list[int] = []  # numbers of the first examples of requests
        self._requests: list[bytes] = []  # the examples of each request, as JSON
        self._n_bytes, self._next, self._lock = 0, 0, Lock()

    def add(self, examples: list[Any]) -> list[str]:
        """Keep the examples of a request. Returns their ids."""
        content = bytes(memoryview(json.encode(examples)))  # a copy, as the encoder reserves more memory than it needs
        with self._lock:
            first = self._next
            self._next += len(examples)
            self._first.append(first)
            self._requests.append(content)
            self._n_bytes += len(content) + REQUEST_BYTES
            self._forget()
        return [f"{self._name}-{number}" for number in range(first, first + len(examples))]

    def find(self, names: list[str]) -> dict[str, Any]:
        """Return the examples with these ids. Ids that are unknown or were forgotten are missing from the result."""
        examples, requests = dict[str, Any](), dict[int, list[Any]]()  # a request is parsed once for all its ids
        for name in names:
            begin, _, number = name.partition("-")
            if begin != self._name or not (number.isascii() and number.isdigit() and len(number) < 19):
                continue
            with self._lock:
                place = bisect_right(self._first, int(number)) - 1
                if place < 0 or int(number) >= self._next:
                    continue
                first, content = self._first[place], self._requests[place]
            if first not in requests:
                requests[first] = json.decode(content)
            examples[name] = requests[first][int(number) - first]
        return examples

    def _forget(self) -> None:
        """Forget the oldest requests, many at a time, so that it costs little."""
        if self._next - self._first[0] <= MAX_EXAMPLES and self._n_bytes <= MAX_BYTES:
            return
        keep = 0
        while keep < len(self._first) - 1 and (
            self._next - self._first[keep] > MAX_EXAMPLES * 0.9 or self._n_bytes > MAX_BYTES * 0.9
        ):
            self._n_bytes -= len(self._requests[keep]) + REQUEST_BYTES
            keep += 1
        del self._first[:keep], self._requests[:keep]
