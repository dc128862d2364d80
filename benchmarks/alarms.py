"""Drift detectors on streams of errors: that of `perceptrons serve` beside River's, all on the same streams.

Generated streams have independent errors and one rise, so delays and false alarms can be counted. On elec2 nobody knows
when the data changed: there the error after an alarm is compared with the error before, beside the same comparison at
every other time.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from river import drift

from benchmarks import datasets, results
from perceptrons import Perceptron
from perceptrons.serve.drift import FIRST, DriftDetector

SEED = 0
RISES = ((0.01, 0.05), (0.05, 0.15), (0.1, 0.3), (0.3, 0.5), (0.4, 0.6))  # error before and after
STREAMS = 100  # generated for each rise, and as many without one
STABLE = 50_000  # examples of a stream without a rise
BEFORE, AFTER = 20_000, 10_000  # examples of a stream with a rise
SHUFFLES = 20  # random orders of the errors on elec2
DAY, WEEK = 48, 336  # examples of elec2, which has one for every half hour
WINDOWS = (DAY, 2 * DAY, WEEK)
CLEARLY = 0.05  # a week's error that is higher by more than that

Alarms = list[int]  # the number of examples seen, at each alarm
Detector = Callable[[list[int]], Alarms]


# ---- the detectors


def ours(errors: list[int]) -> Alarms:
    return [event["version"] for event in events(errors)]


def events(errors: list[int]) -> list[dict[str, Any]]:
    """All alarms of ours; the detector itself keeps only the last ones."""
    detector, found = DriftDetector(), []
    for version, error in enumerate(errors):
        detector.extend([bool(error)], version)
        if detector.events and detector.events[-1]["version"] == version + 1:
            found.append(detector.events[-1])
    return found


def river(make: Callable[[], Any], errors: list[int]) -> Alarms:
    detector, found = make(), []
    for seen, error in enumerate(errors, 1):
        detector.update(error)
        if detector.drift_detected:
            found.append(seen)
    return found


def adwin_rises(errors: list[int]) -> Alarms:
    """The alarms of ADWIN at which the mean of its window rose."""
    detector, found, mean = drift.ADWIN(), [], 0.0
    for seen, error in enumerate(errors, 1):
        detector.update(error)
        if detector.drift_detected and detector.estimation > mean:
            found.append(seen)
        mean = detector.estimation
    return found


OURS = "perceptrons serve"
DETECTORS: dict[str, Detector] = {
    OURS: ours,
    "River PageHinkley, rises": partial(river, partial(drift.PageHinkley, mode="up")),
    "River PageHinkley": partial(river, drift.PageHinkley),
    "River DDM": partial(river, drift.binary.DDM),
    "River ADWIN, rises": adwin_rises,
    "River ADWIN": partial(river, drift.ADWIN),
}
SHOWN = [name for name in DETECTORS if name not in ("River PageHinkley", "River ADWIN")]  # by the page: rises only


# ---- measuring


def run(quick: bool) -> None:
    streams, shuffles = (2, 2) if quick else (STREAMS, SHUFFLES)
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        rises = list(processes.map(partial(generated, streams=streams), RISES))
    errors = elec2_errors(5_000 if quick else None)
    stream = {
        "name": "elec2", "examples": len(errors), "error": float(errors.mean()),
        "detectors": {name: on_real(detect, errors, shuffles) for name, detect in DETECTORS.items()},
        "at any time": after_alarms(errors, range(len(errors))),
        "own level": own_level(errors),
    }  # fmt: skip
    found = {"streams": streams, "rises": rises, "stream": stream}
    markdown = f"{describe(found, DETECTORS)}\n\n{note(streams, shuffles)}"
    results.write("alarms", found, markdown, {"alarms": describe(found, SHOWN)}, quick)


def generated(rise: tuple[float, float], streams: int) -> dict[str, Any]:
    """Delays and false alarms of all detectors on the same streams. A delay of None: no alarm after the rise."""
    before, after = rise
    delays: dict[str, list[int | None]] = {name: [] for name in DETECTORS}
    false = dict.fromkeys(DETECTORS, 0)
    for seed in range(streams):
        rng = np.random.default_rng([SEED, round(100 * before), seed])
        stable = _errors(rng, (before, STABLE))
        rising = _errors(rng, (before, BEFORE), (after, AFTER))
        for name, detect in DETECTORS.items():
            false[name] += len(detect(stable))
            delays[name].append(next((alarm - BEFORE for alarm in detect(rising) if alarm > BEFORE), None))
    print(f"{before:.0%} to {after:.0%}: {streams} streams of each kind", flush=True)
    return {
        "before": before, "after": after,
        "detectors": {
            name: {
                "median_delay": _median(delays[name]), "missed": delays[name].count(None),
                "false_per_100_000": 1e5 * false[name] / (streams * STABLE),
                "longest_delay": max((delay for delay in delays[name] if delay is not None), default=None),
            }
            for name in DETECTORS
        },
    }  # fmt: skip


def _errors(rng: np.random.Generator, *parts: tuple[float, int]) -> list[int]:
    return np.concatenate([rng.random(n) < error for error, n in parts]).astype(int).tolist()


def _median(delays: list[int | None]) -> float | None:
    """None if half of the rises were missed."""
    median = float(np.median([np.inf if delay is None else delay for delay in delays]))
    return median if np.isfinite(median) else None


def elec2_errors(n: int | None) -> np.ndarray:
    """The progressive errors of a model as it comes: each example is predicted, then learned."""
    X, y = datasets.elec2_in_order()
    model, wrong = Perceptron(), list[bool]()
    for x, label in zip(X[:n], y[:n].tolist(), strict=True):
        wrong.append(not wrong or model.predict_one(x) != label)
        model.learn_one(x, label)
    return np.array(wrong, dtype=int)


def on_real(detect: Detector, errors: np.ndarray, shuffles: int) -> dict[str, Any]:
    """Alarms on real errors, what followed them, and alarms on the same errors in random orders: all false."""
    rng = np.random.default_rng(SEED)
    alarms = detect(errors.tolist())
    shuffled = [len(detect(rng.permutation(errors).tolist())) for _ in range(shuffles)]
    return {"alarms": alarms, "shuffled": shuffled, **after_alarms(errors, alarms)}


def after_alarms(errors: np.ndarray, alarms: Alarms | range) -> dict[str, Any]:
    """The week after each alarm beside the last week but one before it: the last may have raised the alarm."""
    sums = np.concatenate([[0], np.cumsum(errors)])
    at = np.array([alarm for alarm in alarms if 2 * WEEK <= alarm <= len(errors) - WEEK], dtype=int)
    rise = (sums[at + WEEK] - sums[at] - sums[at - WEEK] + sums[at - 2 * WEEK]) / WEEK
    return {
        "compared": len(at), "higher": int((rise > 0).sum()), "clearly": int((rise > CLEARLY).sum()),
        "mean_rise": float(rise.mean()) if len(at) else None,
    }  # fmt: skip


def own_level(errors: np.ndarray) -> dict[str, Any]:
    """How often the error after an alarm of ours was above the error_before that the page shows.

    Beside it, how often that is so at any time: there the level is the error since the alarm before.
    """
    found, sums = events(errors.tolist()), np.concatenate([[0], np.cumsum(errors)])
    alarms, windows = [event["version"] for event in found], {}
    for n in WINDOWS:
        known = [event for event in found if event["version"] + n <= len(errors) and event["error_before"] is not None]
        higher = [sums[event["version"] + n] - sums[event["version"]] > n * event["error_before"] for event in known]
        levels = [sums[at + n] - sums[at] > n * level for at, level in _levels(sums, alarms, n)]
        after = _mean((sums[event["version"] + n] - sums[event["version"]]) / n for event in known)
        windows[str(n)] = {
            "error": after, "compared": len(known), "higher": int(sum(higher)), "at any time": _mean(levels),
        }  # fmt: skip
    return {
        "error_before": _mean(event["error_before"] for event in found if event["error_before"] is not None),
        "error_after": _mean(event["error_after"] for event in found),
        "windows": windows,
    }  # fmt: skip


def _levels(sums: np.ndarray, alarms: Alarms, n: int) -> Iterator[tuple[int, float]]:
    """Each time at which an alarm could come, with n examples after it, and the error since the last alarm."""
    start = 0
    for stop in [*alarms, len(sums)]:
        for at in range(start + FIRST, min(stop, len(sums) - n)):
            yield at, (sums[at] - sums[start]) / (at - start)
        start = stop


def _mean(values: Iterable[float]) -> float | None:
    kept = list(values)
    return float(np.mean(kept)) if kept else None


# ---- in words


def describe(found: dict[str, Any], names: Collection[str]) -> str:
    rises, stream = found["rises"], found["stream"]
    head = [f"{_percent(one['before'])} → {_percent(one['after'])}" for one in rises]
    delays, false, real = [], [], []
    for name in names:
        by_rise = [one["detectors"][name] for one in rises]
        delays.append([name, *map(_delay, by_rise)])
        false.append([name, *[f"{one['false_per_100_000']:.1f}" for one in by_rise]])
        one = stream["detectors"][name]
        real.append([name, len(one["alarms"]), f"{np.mean(one['shuffled']):.1f}", *_followed(one)])
    real.append(["at any time", "", "", *_followed(stream["at any time"])])
    followed = ["followed by a higher error", f"by more than {100 * CLEARLY:.0f} points"]
    return "\n\n".join([
        "Median delay in examples, after the error rises:", results.table(["detector", *head], delays),
        "False alarms per 100,000 examples, while the error is stable:",
        results.table(["detector", *[_percent(one["before"]) for one in rises]], false),
        f"elec2, {stream['examples']:,} examples in the order of time, progressive error {_percent(stream['error'])}:",
        results.table(["detector", "alarms", "alarms if shuffled", *followed], real),
        *([describe_own(stream)] if stream["own level"]["error_before"] is not None else []),
    ])  # fmt: skip


def describe_own(stream: dict[str, Any]) -> str:
    own, ours = stream["own level"], stream["detectors"][OURS]
    spans = {DAY: "day", 2 * DAY: "two days", WEEK: "week"}
    lines = [
        [
            f"next {spans[int(n)]}", _percent(one["error"]),
            f"{_percent(one['higher'] / one['compared'])} ({one['higher']} of {one['compared']})",
            _percent(one["at any time"]),
        ]
        for n, one in own["windows"].items() if one["compared"]
    ]  # fmt: skip
    head = [f"after an alarm of {OURS}", "mean error", "above the error before", "above it at any time"]
    return (
        f"So {ours['compared'] - ours['higher']} of {ours['compared']} alarms of {OURS} did not precede a worse week. "
        f"The live page would show rises from {_percent(own['error_before'])} to {_percent(own['error_after'])}, on "
        "average. The second number is too high: it is the error on the examples that raised the alarm. What came "
        f"then:\n\n{results.table(head, lines)}"
    )


def _followed(one: dict[str, Any]) -> list[str]:
    """Shares, with the numbers they are of, unless every example is one."""
    if not one["compared"]:
        return ["-", "-"]
    counts = "alarms" in one
    return [
        _percent(one[key] / one["compared"]) + (f" ({one[key]} of {one['compared']})" if counts else "")
        for key in ("higher", "clearly")
    ]


def _delay(one: dict[str, Any]) -> str:
    shown = f"over {AFTER:,}" if one["median_delay"] is None else f"{one['median_delay']:,.0f}"
    return f"{shown} ({one['missed']} missed)" if one["missed"] else shown


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def note(streams: int, shuffles: int) -> str:
    return (
        f"Generated streams: {streams} with a rise after {BEFORE:,} examples, of which {AFTER:,} more follow, and "
        f"{streams} of {STABLE:,} examples without one, for each column. Errors are independent, and all detectors get "
        "the same. A rise is missed if no alarm comes after it. River's detectors have their default settings, which "
        "were not chosen for these streams; those of ours are tested on rises like these. "
        '"rises" is `PageHinkley(mode="up")`, or those alarms of ADWIN at which the mean of its window rose. '
        "PageHinkley and ADWIN by themselves also report falls.\n\n"
        f"elec2: `Perceptron()`, each example predicted, then learned. Shuffled: the mean over {shuffles} random "
        "orders of the same errors, in which nothing drifts. Followed by a higher error: the error of the week after "
        f"the alarm ({WEEK} examples) is above that of the week before last. The last week is left out, since its "
        "errors raised the alarm; alarms too near to an end of the stream are not counted. At any time: the same for "
        "all examples, whether there was an alarm or not. In the last table, the error before is then the error since "
        "the last alarm."
    )
