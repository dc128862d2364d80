"""The drift detector on streams of errors whose change points are known."""

import numpy as np
import pytest

from perceptrons.serve.drift import FIRST, KEPT, SHOWN_FOR, DriftDetector

RISES = [(0.01, 0.05), (0.01, 0.3), (0.05, 0.15), (0.1, 0.3), (0.3, 0.5), (0.4, 0.6)]
BEFORE = 10_000


def errors(*parts, seed=0):
    """A stream of mistakes. parts: (error, examples)."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.random(n) < error for error, n in parts]).tolist()


def alarms(stream):
    """The versions of all alarms."""
    detector, found = DriftDetector(), []
    for version, mistake in enumerate(stream):
        detector.extend([mistake], version)
        if detector.since == version + 1 and detector.state == "drift":
            found.append(version + 1)
    return found


@pytest.mark.parametrize("error", [0.0, 0.01, 0.05, 0.2, 0.5, 0.9, 1.0])
def test_a_stable_error_raises_less_than_one_alarm_in_50_000_examples(error):
    found = [len(alarms(errors((error, 20_000), seed=seed))) for seed in range(5)]
    assert sum(found) <= 2


@pytest.mark.parametrize(("before", "after"), RISES)
def test_a_rise_is_noticed_within_400_examples_and_with_both_errors(before, after):
    for seed in range(5):
        detector = DriftDetector()
        detector.extend(errors((before, BEFORE), (after, 400), seed=seed), 0)
        event = next(one for one in detector.events if one["version"] > BEFORE)
        assert event["version"] <= BEFORE + 400
        assert event["error_before"] == pytest.approx(before, abs=0.02)
        assert event["error_after"] > before + 0.4 * (after - before)
        assert detector.state == "drift"
        assert detector.since == detector.events[-1]["version"]


@pytest.mark.parametrize(("after", "before"), RISES)
def test_a_falling_error_raises_no_alarm(before, after):
    for seed in range(5):
        assert [one for one in alarms(errors((before, BEFORE), (after, BEFORE), seed=seed)) if one > BEFORE] == []


def test_a_slow_rise_is_noticed_too():
    rng = np.random.default_rng(0)
    stream = rng.random(20_000) < np.concatenate([np.full(10_000, 0.1), np.linspace(0.1, 0.4, 10_000)])
    found = alarms(stream.tolist())
    assert found
    assert 10_000 < found[0] < 14_000


def test_the_new_level_is_learned_and_another_rise_is_noticed_again():
    stream = errors((0.05, 5_000), (0.2, 5_000), (0.5, 5_000))
    found = alarms(stream)
    assert len(found) == 2
    assert 5_000 < found[0] < 5_400
    assert 10_000 < found[1] < 10_400


def test_a_warning_comes_first_then_drift_for_1_000_examples_then_the_error_is_stable():
    detector, states, since = DriftDetector(), [], []
    for version, mistake in enumerate(errors((0.05, 3_000), (0.4, 3_000))):
        detector.extend([mistake], version)
        states.append(detector.state)
        since.append(detector.since)
    (event,) = detector.events
    alarm = event["version"] - 1  # its place in the lists
    warning = states.index("warning", 3_000)
    assert 3_000 <= warning < alarm
    assert set(states[warning:alarm]) == {"warning"}
    assert set(since[warning:alarm]) == {warning + 1}
    assert set(states[alarm : alarm + SHOWN_FOR]) == {"drift"}
    assert set(since[alarm : alarm + SHOWN_FOR]) == {event["version"]}
    assert states[alarm + SHOWN_FOR] == "stable"
    assert since[alarm + SHOWN_FOR] is None
    assert states[-1] == "stable"


def test_blocks_of_any_size_give_the_same_as_single_errors():
    stream = errors((0.1, 3_000), (0.5, 2_000), (0.2, 2_000), (0.6, 1_200))
    whole, single, blocks = DriftDetector(), DriftDetector(), DriftDetector()
    whole.extend(stream, 0)
    for version, mistake in enumerate(stream):
        single.extend([mistake], version)
    for begin in range(0, len(stream), 700):
        blocks.extend(stream[begin : begin + 700], begin)
    assert len(whole.events) >= 2
    assert vars(whole) == vars(single) == vars(blocks)
    assert whole.as_dict() == {"state": whole.state, "since": whole.since, "events": whole.events}


def test_a_model_that_was_never_wrong_may_make_some_mistakes():
    assert alarms([False] * 5_000 + [True] * 3 + [False] * 5_000) == []
    assert alarms([False] * 5_000 + [True] * 20)


def test_the_first_examples_raise_no_alarm_whatever_they_are():
    for stream in ([False] * 50 + [True] * (FIRST - 51), [True] * (FIRST - 1)):
        assert alarms(stream) == []


def test_only_the_newest_alarms_are_kept():
    detector = DriftDetector()
    detector.extend(errors(*[(0.02, 1_000), (0.9, 200)] * (KEPT + 5)), 0)
    versions = [event["version"] for event in detector.events]
    assert len(versions) == KEPT
    assert versions == sorted(versions)
    assert versions[0] > 5 * 1_200


def test_versions_go_on_from_where_the_block_begins():
    detector = DriftDetector()
    detector.extend(errors((0.05, 2_000), (0.6, 300)), 1_000_000)
    assert 1_002_000 < detector.events[0]["version"] < 1_002_300
