"""Examples of recent predictions, so that feedback can come later by the id of a prediction."""

import secrets
from bisect import bisect_right
from threading import Lock
from typing import Any

KEPT, KEPT_BYTES = 100_000, 2**26


class Remembered:
    """The newest examples that were predicted, within bounds of number and memory."""

    def __init__(self) -> None:
        self._name = secrets.token_hex(4)  # ids of a server that ran before are not taken for ids of this one
        self._first: list[int] = []  # numbers of the first examples of requests
        self._requests: list[tuple[list[Any], int]] = []
        self._n_bytes, self._next, self._lock = 0, 0, Lock()

    def add(self, examples: list[Any], n_bytes: int) -> list[str]:
        """Keep the examples of a request of this size; returns their ids."""
        with self._lock:
            first = self._next
            self._next += len(examples)
            self._first.append(first)
            self._requests.append((examples, n_bytes))
            self._n_bytes += n_bytes
            self._forget()
        return [f"{self._name}-{number}" for number in range(first, first + len(examples))]

    def find(self, name: str) -> Any:
        """The example with this id. LookupError if it is not known, or not any more."""
        begin, _, number = name.partition("-")
        if begin == self._name and number.isascii() and number.isdigit() and len(number) < 19:
            with self._lock:
                place = bisect_right(self._first, int(number)) - 1
                if place >= 0 and int(number) < self._next:
                    return self._requests[place][0][int(number) - self._first[place]]
        raise LookupError(f"There is no recent prediction with the id {name[:40]!r}: send its example to /learn.")

    def _forget(self) -> None:
        """Forget the oldest, many at a time, so that it costs little."""
        if self._next - self._first[0] <= KEPT and self._n_bytes <= KEPT_BYTES:
            return
        keep = 0
        while keep < len(self._first) - 1 and (
            self._next - self._first[keep] > KEPT * 0.9 or self._n_bytes > KEPT_BYTES * 0.9
        ):
            self._n_bytes -= self._requests[keep][1]
            keep += 1
        del self._first[:keep], self._requests[:keep]
