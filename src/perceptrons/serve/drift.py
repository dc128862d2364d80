"""Drift detection on the stream of progressive errors: a standardised Page-Hinkley test.

The test adds up how far each error (1 for a mistake, 0 otherwise) lies above the mean error so far, in standard
deviations, less a tolerance. The sum is cut at 0 and stays near it while the error is stable; after a rise of the error
it grows until it exceeds a threshold. Dividing by the standard deviation makes one threshold fit models with
1 % and with 40 % error; the classical form, and DDM, raise false alarms at one end or react late at the other
(`docs/decisions.md` has the numbers).
"""

from collections.abc import Iterable
from math import sqrt
from typing import Any

TOLERANCE = 0.1  # standard deviations above the mean that count as no change
THRESHOLD = 60.0  # of the sum; the expected time between false alarms grows exponentially with it
WARNING = 0.5  # share of the threshold from which the state is "warning"
FIRST = 100  # examples before the mean error can be trusted
SHOWN_FOR = 1_000  # examples for which the state stays "drift" after an alarm
SMALLEST_DEVIATION = 0.1  # that of 1 % error: a model that was never wrong may make a mistake without an alarm
KEPT = 20  # events


class DriftDetector:
    """Notices when a model's progressive error rises. Memory is bounded, and the same errors give the same events.

    After an alarm the test begins again with the next example, so that it learns the new level of error. A falling
    error never raises an alarm.

    Attributes
    ----------
    state : "stable", "warning" or "drift"
        "drift" from an alarm on, for the next 1,000 examples.
    since : int or None
        The version at which the warning or drift began.
    events : list of dict
        The last 20 alarms, oldest first: version, kind, error_before, error_after. error_after is the error since the
        sum last left 0, that is, since the change began as far as the test can tell.

    Examples
    --------
    >>> detector = DriftDetector()
    >>> for version in range(2_000):
    ...     detector.update(version % 20 == 0, version)  # 5 % error
    >>> detector.state, detector.events
    ('stable', [])
    >>> for version in range(2_000, 2_300):
    ...     detector.update(version % 2 == 0, version)  # 50 % error
    >>> detector.state, len(detector.events), detector.events[0]["error_before"]
    ('drift', 1, 0.05)
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.since: int | None = None
        self._alarm = 0  # examples for which the last alarm is still shown
        self._begin()

    def _begin(self) -> None:
        self._n, self._mistakes, self._sum = 0, 0, 0.0
        self._run_n, self._run_mistakes = 0, 0  # since the sum last left 0
        self._warned = False

    @property
    def state(self) -> str:
        return "drift" if self._alarm else "warning" if self._warned else "stable"

    def update(self, mistake: bool, version: int) -> None:
        """Take one progressive error. version: the number of examples learned once this one is."""
        self.extend((mistake,), version - 1)

    def extend(self, mistakes: Iterable[bool], version_before: int) -> None:
        """Take a block of errors: the same as `update` for each of them, only faster."""
        for version, mistake in enumerate(mistakes, version_before + 1):
            self._n = n = self._n + 1
            if mistake:
                self._mistakes += 1
                self._run_mistakes += 1
            self._run_n += 1
            mean = self._mistakes / n
            deviation = sqrt(mean * (1.0 - mean))
            if deviation < SMALLEST_DEVIATION:
                deviation = SMALLEST_DEVIATION
            total = self._sum + (mistake - mean) / deviation - TOLERANCE
            if total <= 0.0:
                total, self._run_n, self._run_mistakes = 0.0, 0, 0
            self._sum = total
            if self._alarm or self._warned or total >= WARNING * THRESHOLD:
                self._judge(version)

    def _judge(self, version: int) -> None:
        if self._n >= FIRST and self._sum > THRESHOLD:
            self._sound(version)
            return
        if self._alarm:
            self._alarm -= 1
        warned = self._n >= FIRST and self._sum >= WARNING * THRESHOLD
        if not self._alarm and (warned != self._warned or self.since is None or not warned):
            self.since = version if warned else None
        self._warned = warned

    def _sound(self, version: int) -> None:
        before = self._n - self._run_n
        event = {
            "version": version,
            "kind": "drift",
            "error_before": round((self._mistakes - self._run_mistakes) / before, 6) if before else None,
            "error_after": round(self._run_mistakes / self._run_n, 6),
        }
        self.events = [*self.events, event][-KEPT:]
        self._begin()
        self._alarm, self.since = SHOWN_FOR, version

    def shown(self) -> dict[str, Any]:
        """What `/stats` answers under "drift"."""
        return {"state": self.state, "since": self.since, "events": [dict(event) for event in self.events]}

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain numbers, for JSON: `from_dict` gives a detector that continues exactly."""
        numbers = {name: getattr(self, f"_{name}") for name in STATE}
        return {**numbers, "since": self.since, "events": [dict(event) for event in self.events]}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> "DriftDetector":
        """The detector that `as_dict` described."""
        detector = cls()
        for name in STATE:
            setattr(detector, f"_{name}", saved[name])
        detector.since, detector.events = saved["since"], [dict(event) for event in saved["events"]]
        return detector


STATE = ("n", "mistakes", "sum", "run_n", "run_mistakes", "warned", "alarm")
