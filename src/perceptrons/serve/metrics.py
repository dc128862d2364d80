"""Progress of the service: the numbers of the live page (`Progress`) and those for Prometheus (`Metrics`).

Progress comes from what the log holds, in its order, so a server that starts again shows what it showed before. Only
throughput is of the moment.
"""

from collections import deque
from collections.abc import Callable
from itertools import compress
from threading import Lock
from typing import Any

from msgspec import structs
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from perceptrons.serve.schemas import HistoryPoint, ProgressStats, Rate, RecentMistake, Throughput
from perceptrons.serve.state import Change

WINDOWS = (100, 1000, 10_000)  # examples over which the progressive error is taken
MAX_POINTS = 400  # points of the history
FIRST_POINT_EXAMPLES = 10  # examples of one point at first; when there are too many points, neighbours are merged
MAX_MISTAKES = 20
RATE_SECONDS, MEAN_RATE_SECONDS = 60, 10
MAX_SHOWN_CHARACTERS, MAX_SHOWN_ITEMS = 500, 30  # limits for one example
LATENCY_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds
GAUGES = {
    "version": "Examples that the published model has learned while it was served",
    "position": "Frames in the log",
    "queue": "Examples that wait to be learned",
    "learned": "Examples learned since the log began",
    "mistakes": "Examples that were predicted wrongly before they were learned",
    "predicted": "Examples predicted since the server began",
    "model_bytes": "Size of the newest snapshot",
    "log_bytes": "Size of the log",
}


class Progress:
    """Counts what is learned and predicted. clock: seconds that never jump."""

    def __init__(self, clock: Callable[[], float]):
        self._clock, self._lock = clock, Lock()
        self._learned, self._mistakes, self.predictions = 0, 0, 0
        self._newest: deque[bool] = deque(maxlen=WINDOWS[-1])  # newest examples: was the prediction wrong?
        self._history: list[list[int]] = []  # [version, mistakes, examples]
        self._point_examples = FIRST_POINT_EXAMPLES
        self._recent: deque[RecentMistake] = deque(maxlen=MAX_MISTAKES)
        self._rates: deque[Rate] = deque(maxlen=RATE_SECONDS + 1)  # t: a second of the clock

    def add_learned(self, change: Change, version: int, has_label_sets: bool, is_live: bool) -> int:
        """Count examples that were predicted and then learned. Return the number of mistakes.

        version: before the change. is_live: it is learned now, and not replayed from the log.
        """
        labels, predictions = change.labels, change.predictions
        if has_label_sets:
            labels, predictions = list(map(set, labels)), [set(predicted or ()) for predicted in predictions]
        mistakes = [label != predicted for label, predicted in zip(labels, predictions, strict=True)]
        with self._lock:
            self._learned += len(mistakes)
            self._mistakes += sum(mistakes)
            self._newest.extend(mistakes)
            self._add_points(mistakes, version)
            for row in list(compress(range(len(mistakes)), mistakes))[-MAX_MISTAKES:]:
                columns = change.examples, change.labels, change.predictions
                self._recent.appendleft(RecentMistake(version + row, *(shorten(column[row]) for column in columns)))
            if is_live:
                self._current_rate().learned += len(mistakes)
        return sum(mistakes)

    def add_predicted(self, n: int) -> None:
        with self._lock:
            self.predictions += n
            self._current_rate().predicted += n

    def totals(self) -> tuple[int, int]:
        """Return the number of examples that were ever learned, and of the mistakes made before."""
        return self._learned, self._mistakes

    def set_totals(self, learned: int, mistakes: int) -> None:
        """Set what was counted before the oldest part of the log that is still there."""
        self._learned, self._mistakes = learned, mistakes

    def stats(self) -> ProgressStats:
        """Return what the live page shows."""
        with self._lock:
            newest = list(self._newest)
            history = [HistoryPoint(version, mistakes / n, n) for version, mistakes, n in self._history]
            windows = {str(n): sum(newest[-n:]) / n if len(newest) >= n else None for n in WINDOWS}
            return ProgressStats(
                self._learned, self._mistakes, windows, history, self._throughput(), list(self._recent)
            )

    def _add_points(self, mistakes: list[bool], version: int) -> None:
        start = 0
        while start < len(mistakes):
            if not self._history or self._history[-1][2] >= self._point_examples:
                self._history.append([version + start, 0, 0])
                if len(self._history) > MAX_POINTS:
                    self._merge_points()
            last = self._history[-1]
            part = mistakes[start : start + self._point_examples - last[2]]
            last[1] += sum(part)
            last[2] += len(part)
            start += len(part)

    def _merge_points(self) -> None:
        """Merge neighbouring points, so that there are half as many."""
        self._point_examples *= 2
        full, last = self._history[:MAX_POINTS], self._history[MAX_POINTS:]
        pairs = zip(full[::2], full[1::2], strict=True)
        self._history = [[a[0], a[1] + b[1], a[2] + b[2]] for a, b in pairs] + last

    def _current_rate(self) -> Rate:
        second = int(self._clock())
        if not self._rates or self._rates[-1].t != second:
            self._rates.append(Rate(second, 0, 0))
        return self._rates[-1]

    def _throughput(self) -> Throughput:
        now, by_second = int(self._clock()), {rate.t: rate for rate in self._rates}
        times = range(-RATE_SECONDS, 0)
        series = [structs.replace(by_second.get(now + t, Rate(t, 0, 0)), t=t) for t in times]
        newest = series[-MEAN_RATE_SECONDS:]
        learned, predicted = sum(rate.learned for rate in newest), sum(rate.predicted for rate in newest)
        return Throughput(learned / len(newest), predicted / len(newest), series)


def shorten(value: Any) -> Any:
    """Return an example to show to people: whole if it is short, else its beginning."""
    if value is None or isinstance(value, int | float | bool):
        return value
    if isinstance(value, str):
        return value if len(value) <= MAX_SHOWN_CHARACTERS else value[:MAX_SHOWN_CHARACTERS] + " ..."
    beginning = dict(list(value.items())[:MAX_SHOWN_ITEMS]) if isinstance(value, dict) else value[:MAX_SHOWN_ITEMS]
    text = str(beginning)
    is_short = len(beginning) == len(value) and len(text) <= MAX_SHOWN_CHARACTERS
    return value if is_short else text[:MAX_SHOWN_CHARACTERS] + " ..."


class Metrics:
    """The numbers for Prometheus."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "perceptrons_requests", "Requests by route and status", ["route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "perceptrons_request_seconds", "Time to answer", ["route"], buckets=LATENCY_BUCKETS, registry=registry
        )
        self._gauges = {name: Gauge(f"perceptrons_{name}", about, registry=registry) for name, about in GAUGES.items()}
        about_error = "Error of the newest examples, each predicted before it was learned"
        self._error = Gauge("perceptrons_progressive_error", about_error, ["window"], registry=registry)

    def observe(self, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def render(self, progress: ProgressStats | None = None, **gauges: float) -> bytes:
        """Return all numbers as text."""
        for name, number in gauges.items():
            self._gauges[name].set(number)
        for window, error in progress.windows.items() if progress is not None else ():
            if error is not None:
                self._error.labels(window).set(error)
        return generate_latest(self._registry)
