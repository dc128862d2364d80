"""What the tests of streams, caches and checkpoints share: blocks, files of them, and when two models are the same."""

import threading
import time

import numpy as np
import pytest

from tests.support.lecture import rosenblatt

COUNTERS = ("t_", "n_updates_", "n_mistakes_", "n_iter_", "stop_reason_", "converged_")


class BoomError(Exception):
    """No error that the library knows."""


def in_order(**parameters):
    return rosenblatt(**({"shuffle": False, "tol": None} | parameters))


def fitted(X, y, epochs, weight=None, **parameters):
    """The model of all rows at once."""
    return in_order(max_iter=epochs, **parameters).fit(X, y, sample_weight=weight)


def blocks_of(X, y, cuts, weight=None):
    """(X, y) or (X, y, weight) between the cuts."""
    parts = []
    for begin, end in zip([0, *cuts], [*cuts, X.shape[0]], strict=True):
        part = X[begin:end], y[begin:end]
        parts.append(part if weight is None else (*part, weight[begin:end]))
    return parts


def failing(parts, at):
    """The blocks, with an error in place of block number `at`."""
    for k, part in enumerate(parts):
        if k == at:
            raise BoomError("boom")
        yield part


def as_svmlight(X, y):
    """Lines that say exactly these rows, all nonzero values of them."""
    lines = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        lines.append(f"{label} " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1) if x) + "\n")
    return "".join(lines)


def without_seconds(history):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in history]


def same_weights(model, other, X):
    """Bit for bit the same weights, averages and answers."""
    for name in ("coef_last_", "intercept_last_", "coef_average_", "intercept_average_", "classes_"):
        ours, theirs = getattr(model, name), getattr(other, name)
        assert ours.dtype == theirs.dtype, name
        assert np.array_equal(ours, theirs), name
    assert np.array_equal(model.decision_function(X), other.decision_function(X))
    assert np.array_equal(model.predict(X), other.predict(X))


def same(model, other, X):
    """Bit for bit the same model; the sums of losses may be rounded in another order."""
    same_weights(model, other, X)
    for name in COUNTERS:
        assert getattr(model, name) == getattr(other, name), name
    assert np.array_equal(model.mistakes_, other.mistakes_)
    for ours, theirs in zip(without_seconds(model.history_), without_seconds(other.history_), strict=True):
        assert ours.pop("loss") == pytest.approx(theirs.pop("loss"), rel=1e-5)
        assert ours.pop("norm") == pytest.approx(theirs.pop("norm"), rel=1e-5)
        assert ours == theirs


def threads_end(before):
    """Are there no more threads than before? They may take a moment to see that nobody waits for them."""
    for _ in range(300):
        if threading.active_count() <= before:
            return True
        time.sleep(0.01)
    return False
