"""Drift detection on the stream of progressive errors: a standardised Page-Hinkley test.

The test adds up how far each error (1 for a mistake, 0 otherwise) lies above the mean error so far, in standard
deviations, less a tolerance. The sum is cut at 0 and stays near it while the error is stable. When the error rises, the
sum grows until it exceeds a threshold: that is an alarm. Dividing by the standard deviation makes one threshold fit
models with 1 % and with 40 % error.
"""

from collections.abc import Iterable
from math import sqrt
from typing import Any

TOLERANCE = 0.1  # standard deviations above the mean that count as no change
THRESHOLD = 60.0  # of the sum; the time between false alarms grows exponentially with it
WARNING = 0.5  # share of the threshold from which the state is "warning"
BEGUN = 0.1  # share of the threshold that the sum exceeds only now and then while the error is stable
FIRST = 100  # examples before the mean error can be trusted
SHOWN_FOR = 1_000  # examples for which the state stays "drift" after an alarm
SMALLEST_DEVIATION = 0.1  # that of 1 % error: a model that was never wrong may make a mistake without an alarm
KEPT = 20  # events


class DriftDetector:
    """Notices when a model's progressive error rises.

    After an alarm the test begins again with the next example, so that it learns the new level of error. A falling
    error never raises an alarm. Memory is bounded, and the same errors give the same alarms.

    Attributes
    ----------
    state : "stable", "warning" or "drift"
        "drift" from an alarm on, for the next 1,000 examples.
    since : int or None
        The version at which the warning or drift began.
    events : list of dict
        The last 20 alarms, oldest first: version, error_before, error_after. error_after is the error since the sum
        was last small, that is, since the change began as far as the test can tell.

    Examples
    --------
    >>> detector = DriftDetector()
    >>> detector.extend([version % 20 == 0 for version in range(2_000)], 0)  # 5 % error
    >>> detector.state, detector.events
    ('stable', [])
    >>> detector.extend([version % 2 == 0 for version in range(300)], 2_000)  # 50 % error
    >>> detector.state, len(detector.events), round(detector.events[0]["error_before"], 2)
    ('drift', 1, 0.05)
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._alarm = 0  # examples for which the last alarm is still shown
        self._begin()

    def _begin(self) -> None:
        self._n, self._mistakes, self._sum = 0, 0, 0.0
        self._run_n, self._run_mistakes = 0, 0  # since the sum was last small
        self._warned_at: int | None = None

    @property
    def state(self) -> str:
        return "drift" if self._alarm else "stable" if self._warned_at is None else "warning"

    @property
    def since(self) -> int | None:
        return self.events[-1]["version"] if self._alarm else self._warned_at

    def extend(self, mistakes: Iterable[bool], version: int) -> None:
        """Take a block of errors. version: the number of examples that were learned before it."""
        for mistake in mistakes:
            version += 1
            self._n += 1
            self._run_n += 1
            if mistake:
                self._mistakes += 1
                self._run_mistakes += 1
            mean = self._mistakes / self._n
            deviation = max(sqrt(mean * (1.0 - mean)), SMALLEST_DEVIATION)
            self._sum = max(0.0, self._sum + (mistake - mean) / deviation - TOLERANCE)
            if self._sum <= BEGUN * THRESHOLD:
                self._run_n, self._run_mistakes = 0, 0
            if self._alarm:
                self._alarm -= 1
            if self._sum < WARNING * THRESHOLD or self._n < FIRST:
                self._warned_at = None
            elif self._sum > THRESHOLD:
                self._sound(version)
            elif self._warned_at is None:
                self._warned_at = version

    def _sound(self, version: int) -> None:
        """Raise an alarm, and begin again."""
        before = self._n - self._run_n
        error_before = round((self._mistakes - self._run_mistakes) / before, 6) if before else None
        error_after = round(self._run_mistakes / self._run_n, 6)
        event = {"version": version, "error_before": error_before, "error_after": error_after}
        self.events = [*self.events, event][-KEPT:]
        self._begin()
        self._alarm = SHOWN_FOR

    def as_dict(self) -> dict[str, Any]:
        """What `/stats` answers under "drift"."""
        return {"state": self.state, "since": self.since, "events": [dict(event) for event in self.events]}
