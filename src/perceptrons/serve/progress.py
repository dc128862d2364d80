"""How learning goes: progressive error in windows and over time, throughput, recent mistakes.

All of it comes from what the log holds, in its order, so a server that starts again shows what it showed before; only
throughput is of the moment.
"""

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

WINDOWS = (100, 1000, 10_000)
POINTS = 400  # of the history
FIRST_BIN = 10  # examples of one point at first; when there are too many points, neighbours are put together
MISTAKES = 20
SECONDS = 60
LONGEST = 500  # characters of an example that is shown


class Progress:
    """Counts what is learned and predicted. clock: seconds that never jump."""

    def __init__(self, clock: Callable[[], float]):
        self._clock, self._lock = clock, Lock()
        self._learned, self._mistakes, self.predictions = 0, 0, 0
        self._ring, self._place = np.zeros(WINDOWS[-1], bool), 0  # the newest errors, and how many there ever were
        self._sums = dict.fromkeys(WINDOWS, 0)
        self._history: list[list[int]] = []  # [version, mistakes, examples]
        self._bin = FIRST_BIN
        self._recent: deque[dict[str, Any]] = deque(maxlen=MISTAKES)
        self._rates: deque[list[int]] = deque(maxlen=SECONDS + 1)  # [second, learned, predicted]

    def learned(
        self, examples: list[Any], labels: list[Any], predictions: list[Any], version: int, sets: bool, now: bool = True
    ) -> int:
        """Count a block that was predicted and then learned. Returns the number of mistakes.

        version: before it. sets: each example has a set of labels. now: it happens now, not when the log is read again.
        """
        if sets:
            wrong = [set(label) != set(said or ()) for label, said in zip(labels, predictions, strict=True)]
        else:
            wrong = [label != said for label, said in zip(labels, predictions, strict=True)]
        mistakes = sum(wrong)
        with self._lock:
            self._learned += len(wrong)
            self._mistakes += mistakes
            self._slide(np.array(wrong, bool))
            self._add_points(wrong, version)
            if mistakes:
                for offset in [row for row, mistake in enumerate(wrong) if mistake][-MISTAKES:]:
                    self._recent.appendleft(
                        {
                            "version": version + offset, "example": shortened(examples[offset]),
                            "label": shortened(labels[offset]), "predicted": shortened(predictions[offset]),
                        }
                    )  # fmt: skip
            if now:
                self._rate(1, len(wrong))
        return mistakes

    def predicted(self, n: int) -> None:
        """Count predictions."""
        with self._lock:
            self.predictions += n
            self._rate(2, n)

    def totals(self) -> tuple[int, int]:
        """The examples that were ever learned, and the mistakes made before."""
        return self._learned, self._mistakes

    def set_totals(self, learned: int, mistakes: int) -> None:
        """What was counted before the oldest part of the log that is still there."""
        self._learned, self._mistakes = learned, mistakes

    def windows(self) -> dict[str, float | None]:
        """The progressive error of the newest examples, by window size; None where there are too few examples."""
        return {str(n): None if self._place < n else self._sums[n] / n for n in WINDOWS}

    def as_dict(self) -> dict[str, Any]:
        """What the live page shows."""
        with self._lock:
            return {
                "learned": self._learned, "mistakes": self._mistakes, "windows": self.windows(),
                "history": [{"version": at, "error": wrong / n, "n": n} for at, wrong, n in self._history],
                "throughput": self._throughput(), "recent_mistakes": list(self._recent),
            }  # fmt: skip

    def _slide(self, wrong: np.ndarray) -> None:
        """Move the windows over a block, piece by piece, as it may be longer than the smallest of them."""
        for begin in range(0, len(wrong), WINDOWS[0]):
            part = wrong[begin : begin + WINDOWS[0]]
            for n in WINDOWS:
                old = np.arange(self._place - n, self._place - n + len(part))
                self._sums[n] += int(part.sum()) - int(self._ring[old[old >= 0] % len(self._ring)].sum())
            self._ring[np.arange(self._place, self._place + len(part)) % len(self._ring)] = part
            self._place += len(part)

    def _add_points(self, wrong: list[bool], version: int) -> None:
        begin = 0
        while begin < len(wrong):
            if not self._history or self._history[-1][2] >= self._bin:
                self._history.append([version + begin, 0, 0])
                if len(self._history) > POINTS:
                    self._halve()
            last = self._history[-1]
            part = wrong[begin : begin + self._bin - last[2]]
            last[1] += sum(part)
            last[2] += len(part)
            begin += len(part)

    def _halve(self) -> None:
        """Put neighbouring points together, so that there are half as many."""
        self._bin *= 2
        full, last = self._history[:POINTS], self._history[POINTS:]
        pairs = zip(full[::2], full[1::2], strict=True)
        self._history = [[a[0], a[1] + b[1], a[2] + b[2]] for a, b in pairs] + last

    def _rate(self, column: int, n: int) -> None:
        second = int(self._clock())
        if not self._rates or self._rates[-1][0] != second:
            self._rates.append([second, 0, 0])
        self._rates[-1][column] += n

    def _throughput(self) -> dict[str, Any]:
        now = int(self._clock())
        found = {second: (learned, predicted) for second, learned, predicted in self._rates}
        series = [
            {"t": t, "learned": found.get(now + t, (0, 0))[0], "predicted": found.get(now + t, (0, 0))[1]}
            for t in range(-SECONDS, 0)
        ]
        last = series[-10:]
        return {
            "learned_per_second": sum(one["learned"] for one in last) / len(last),
            "predicted_per_second": sum(one["predicted"] for one in last) / len(last),
            "series": series,
        }


def shortened(value: Any) -> Any:
    """An example for people: as it is if it is short, else its beginning."""
    if value is None or isinstance(value, int | float | bool):
        return value
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST] + " ..."
    if isinstance(value, dict):
        some = dict(list(value.items())[:30])
        return value if len(str(some)) <= LONGEST and len(some) == len(value) else str(some)[:LONGEST] + " ..."
    return value if len(value) <= 30 and len(str(value)) <= LONGEST else str(value[:30])[:LONGEST] + " ..."
