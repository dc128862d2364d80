"""max_seconds is kept: the clock is looked at often enough, and work that cannot be stopped is not begun too late.

No time is measured here: clocks stand still, or go on when they are told to.
"""

from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from perceptrons import Perceptron
from perceptrons.engine.passes.max_margin import empty_active_set, enter
from perceptrons.report import boundary_section as in_report
from perceptrons.report import report
from perceptrons.selection import compare
from perceptrons.theory import examples, largest_margin, separability
from perceptrons.theory.exact import ExactSum
from perceptrons.theory.examples import check_examples
from perceptrons.theory.largest_margin import PairList

search = import_module("perceptrons.theory.separability")  # the package has a function of that name


class StandingClock:
    """In place of the module `time`: moves on only when it is told to."""

    def __init__(self):
        self.now = 1000.0

    def perf_counter(self):
        return self.now

    monotonic = perf_counter


@pytest.fixture
def clock(monkeypatch):
    clock = StandingClock()
    for module in (examples, in_report):
        monkeypatch.setattr(module, "time", clock)
    return clock


def overlapping(rng, n=120, d=3000):
    """Wide sparse rows that no hyperplane separates, since every row comes twice, nearly, with either label."""
    X = sp.random(n, d, density=0.02, format="csr", random_state=0)
    return sp.vstack([X, X + 0 * X], format="csr"), np.repeat([0, 1], n)


@pytest.mark.parametrize(("seconds", "begun"), [(1e-3, 0), (1e3, 1), (None, 1)])
def test_exact_elimination_is_begun_only_if_there_is_time_for_it(seconds, begun, clock, rng, monkeypatch):
    called = []
    monkeypatch.setattr(search, "null_weights", lambda M: called.append(M.shape))
    X, y = overlapping(rng)
    one = search.Prover(check_examples(X, y), True, examples.Clock(seconds))
    one._cancelling(PairList(np.arange(240), (1 - y).astype(np.int32)))
    assert len(called) == begun


def test_an_affordable_elimination_finds_the_same_proof_as_without_a_limit(rng):
    X = rng.integers(-2, 3, (60, 3)).astype(float)
    y = rng.integers(0, 2, 60)
    limited, free = separability(X, y, max_seconds=1e6), separability(X, y)
    assert limited.separable is free.separable is False
    assert limited.witness == free.witness


def test_too_many_dimensions_for_exact_arithmetic_are_known_before_any_equation_is_written(rng, monkeypatch):
    def written(*_):
        raise AssertionError("equations were written")

    monkeypatch.setattr(search, "cancellation_equations", written)
    X, y = overlapping(rng)
    one = search.Prover(check_examples(X, y), True, examples.Clock(None))
    assert one._decide_exactly(None) is None
    assert "too many dimensions" in one.undecided


def test_the_clock_is_looked_at_after_every_piece_of_the_search_for_the_nearest_point(rng):
    V = np.hstack([rng.standard_normal((1500, 900)) + 0.3, np.ones((1500, 1))])
    active = empty_active_set(*V.shape, 1)
    enter(V, 0, 1, active)
    active.a[0] = 1.0
    told = []
    found = largest_margin._nearest(V, np.ones(1), active, 1e-3, told.append)
    assert len(told) > 1
    assert max(told) <= largest_margin.MAX_WORK
    again = empty_active_set(*V.shape, 1)
    enter(V, 0, 1, again)
    again.a[0] = 1.0
    expected, _ = largest_margin.nearest_point(V, np.ones(1), again, 1e-3, 10**6)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_points_tried_in_vain_do_not_keep_the_search_for_ever(rng, monkeypatch):
    monkeypatch.setattr(largest_margin, "MAX_WORK", 1.0)  # a cycle at a time
    points = rng.standard_normal((40, 3)) + 2
    V = np.hstack([np.repeat(points, 10, axis=0), np.ones((400, 1))])  # each ten times: nine depend on it
    active = empty_active_set(*V.shape, 1)
    enter(V, 0, 1, active)
    active.a[0] = 1.0
    told = []

    def tick(work):
        told.append(work)
        assert len(told) < 10_000

    found = largest_margin._nearest(V, np.ones(1), active, 1e-9, tick)
    again = empty_active_set(*V.shape, 1)
    enter(V, 0, 1, again)
    again.a[0] = 1.0
    expected, _ = largest_margin.nearest_point(V, np.ones(1), again, 1e-9, 10**6)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_time_is_left_for_the_proof_of_what_the_search_found(clock):
    limit = examples.Clock(10.0)
    clock.now += 8.9
    limit.tick()
    clock.now += 0.2
    with pytest.raises(examples.TimeUp):
        limit.tick()


def test_everything_that_diagnose_does_shares_one_limit(clock, rng, monkeypatch):
    """Whoever gets some seconds uses them up, and a tenth more: in the end the limit is exceeded by a tenth at most."""
    given = []

    def slow(function):
        def wrapped(*arguments, max_seconds=None, **options):
            if max_seconds is not None:
                given.append(max_seconds)
                clock.now += 1.1 * max_seconds
            return function(*arguments, **options)

        return wrapped

    module = import_module("perceptrons.theory.diagnose")
    monkeypatch.setattr(module, "separability", slow(module.separability))
    monkeypatch.setattr(module, "mistake_bound", slow(module.mistake_bound))
    X = rng.standard_normal((60, 4))
    y = rng.integers(0, 4, 60)
    began = clock.now
    found = module.diagnose(X, y, max_seconds=10.0)
    assert found.certificate.separable is False
    assert len(given) >= 2
    assert clock.now - began <= 11.0 + 1e-6


def test_the_proof_and_the_bound_of_a_report_share_one_limit(clock, rng, monkeypatch):
    given = []

    def noted(function):
        def wrapped(*arguments, max_seconds, **options):
            given.append(max_seconds)
            return function(*arguments, **options)

        return wrapped

    for name in ("separability", "check_bound"):
        monkeypatch.setattr(in_report, name, noted(getattr(in_report, name)))
    X = rng.standard_normal((40, 3))
    y = (X[:, 0] > 0).astype(int)
    report(Perceptron().fit(X, y), X, y, max_seconds=7.0)
    assert len(given) == 2
    assert sum(given) == pytest.approx(7.0)


def test_the_exact_bound_is_the_sum_over_all_columns():
    whole = np.array([[3, -5, 2**70, 0], [1, 1, -1, 7]], object)
    total = ExactSum(whole, -3, np.zeros(2, object))
    expected = sum(int(whole[k, j]) ** 2 * Fraction(4) ** -3 for k, j in np.ndindex(2, 4))
    assert total.squared_bound(3) == expected / 18


class Slow(LinearSVC):
    """Takes four seconds by the standing clock."""

    clock = None

    def fit(self, X, y):
        Slow.clock.now += 4.0
        return super().fit(X, y)


def test_compare_begins_no_setting_of_a_learner_that_cannot_be_stopped_in_too_little_time(clock, rng, monkeypatch):
    monkeypatch.setattr(import_module("perceptrons.selection.compare"), "time", clock)
    monkeypatch.setattr(Slow, "clock", clock)
    X = rng.standard_normal((60, 3))
    grid = {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}
    row = compare(X, X[:, 0] > 0, learners=[("slow", Slow(), grid)], max_seconds=10.0, force=True).row("slow")
    assert (row.settings_tried, row.tuning_seconds) == (2, 8.0)
    assert "tuning ended at the time limit of 10 seconds, with setting 2 of 5" in row.notes
