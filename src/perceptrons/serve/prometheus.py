"""Numbers for Prometheus."""

from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
NUMBERS = {
    "version": "Examples that the published model has learned while it was served",
    "position": "Frames in the log",
    "queue": "Examples that wait to be learned",
    "learned": "Examples learned since the log began",
    "mistakes": "Examples that were predicted wrongly before they were learned",
    "predicted": "Examples predicted since the server began",
    "model_bytes": "Size of the newest snapshot",
    "log_bytes": "Size of the log",
}


class Metrics:
    """What is counted for each request, and what is asked of the service when somebody looks."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "perceptrons_requests", "Requests by route and status", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "perceptrons_request_seconds", "Time to answer", ["route"], buckets=SECONDS, registry=self._registry
        )
        self._numbers = {
            name: Gauge(f"perceptrons_{name}", what, registry=self._registry) for name, what in NUMBERS.items()
        }
        self._error = Gauge(
            "perceptrons_progressive_error", "Error of the newest examples, each predicted before it was learned",
            ["window"], registry=self._registry,
        )  # fmt: skip

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def render(self, windows: dict[str, float | None] | None = None, **numbers: Any) -> bytes:
        """All of it as text."""
        for name, number in numbers.items():
            self._numbers[name].set(number)
        for window, error in (windows or {}).items():
            if error is not None:
                self._error.labels(window).set(error)
        return generate_latest(self._registry)
