"""Taggers whose weights are kept in short lists of labels are mixed as those with full rows are."""

import numpy as np
import pytest

from perceptrons import SequencePerceptron
from perceptrons.distributed.mixing import PassReport, add_changes, change_of_pass, common_weights, mix
from perceptrons.engine.training.epochs import Counts
from perceptrons.sequence.learner import rule_of
from tests.sequence.test_sequence_shortlists import EXTRA, USED, case, trained


@pytest.mark.parametrize("labels", [USED, USED + EXTRA])
def test_weights_of_shards_mix_as_dense_matrices_do(labels):
    X, y, _ = case("lists")
    model = trained(labels, X[:20], y[:20], {})
    learner = model._learner
    common, start = learner.weights, common_weights(learner.weights)
    v, t = common.matrix(common.w).astype(np.float64), common.t[0]
    summed = t * v - common.matrix(common.lazy_sum_w)
    moves, steps, drifts = [], [], []
    for part in (slice(20, 40), slice(40, 60)):
        learner.weights = start.to_weights()
        np.testing.assert_array_equal(learner.weights.matrix(learner.weights.w), v)
        read = learner.features.read(X[part], None, None)
        names = [name for labels_of_one in y[part] for name in labels_of_one]
        codes = np.searchsorted(learner.classes, names).astype(np.int32)
        tokens = learner.features.tokens(read, learner.dtype, learn=False)
        counts = learner.learn(tokens, codes, np.arange(20), learner.limits(model, stream=True), rule_of(model))
        now = learner.weights
        w, late = now.matrix(now.w).astype(np.float64), now.matrix(now.lazy_sum_w)
        steps.append(counts.updates * (w - v))
        drifts.append(now.t[0] * w - late - now.t[0] * v)
        moves.append(change_of_pass(start, now, PassReport(counts, 0.0, {}), is_uniform=False))
    mix(common, add_changes(moves))
    wanted = (v + sum(steps) / sum(move.weight for move in moves)).astype(np.float32)
    np.testing.assert_array_equal(common.matrix(common.w), wanted)
    average = (summed + 40 * v + sum(drifts)) / (t + 40)
    np.testing.assert_allclose(common.matrix(common.average()[0]), average, rtol=1e-5, atol=1e-6)


def test_a_weight_that_returns_to_zero_on_the_first_sequence_still_moves():
    model = SequencePerceptron(start_stop=False, transitions=False).partial_fit([[["a"]]], [["y"]], classes=["x", "y"])
    learner, start = model._learner, common_weights(model._learner.weights)
    learner.weights = start.to_weights()
    tokens = learner.features.tokens(learner.features.read([[["a"]]], None, None), learner.dtype, learn=False)
    learner.learn(tokens, np.zeros(1, np.int32), np.arange(1), learner.limits(model, stream=True), rule_of(model))
    assert not learner.weights.entries().features.size
    move = change_of_pass(start, learner.weights, PassReport(Counts(1, 1, 1), 0.0, {}), is_uniform=False)
    assert move.step.ravel().tolist() == [1.0, -1.0]
