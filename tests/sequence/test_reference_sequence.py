"""The reference of the sequence perceptron itself: worked by hand, and beside the reference for several classes."""

import numpy as np
import pytest

from tests.conftest import whole_numbers
from tests.reference import large
from tests.reference import sequence as reference

AB = ["a", "b"]
X = [np.ones((2, 1))]
Y = [["b", "a"]]


def run_of(epochs=1, X=X, Y=Y, classes=AB, **keywords):
    return reference.train(X, Y, [range(len(X))] * epochs, reference.beginning(classes, X[0].shape[1]), **keywords)


def listed(run):
    return [part.tolist() for part in run.parts("last")]


def test_features_by_hand():
    x = np.array([[1.0, 2.0], [0.5, 0.0], [0.0, 3.0]])
    coef, transitions, start, stop = reference.split(reference.features(x, (1, 0, 1), 2), 2, 2)
    assert coef.tolist() == [[0.5, 0], [1, 5]]
    assert transitions.tolist() == [[0, 1], [1, 0]]
    assert (start.tolist(), stop.tolist()) == ([0, 1], [0, 1])
    bare = reference.features(x, (1, 0, 1), 2, transitions=False, start_stop=False)
    assert bare.tolist() == reference.flat(coef, np.zeros((2, 2)), [0, 0], [0, 0]).tolist()
    assert not reference.features(np.zeros((0, 2)), (), 2).any()


def test_three_visits_by_hand():
    run = run_of(1)
    # all scores are 0: aa, the first, is predicted
    assert listed(run) == [[[-1], [1]], [[-1, 0], [1, 0]], [-1, 1], [0, 0]]
    # then aa has -2 - 1 - 1, ab -1, ba 0 + 1 + 1 = 2, bb 2 + 1 = 3: bb leads by 1
    run = run_of(3)
    assert listed(run) == [[[0], [0]], [[-1, 0], [2, -1]], [-1, 1], [1, -1]]
    assert (run.mistakes, run.updates, run.losses, run.examples) == ([1, 1, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1])
    np.testing.assert_allclose(run.norms, np.sqrt([6, 10, 10]))
    np.testing.assert_allclose(run.average, (run.path[0] + 2 * run.w) / 3)
    assert run_of(9, stop=True).mistakes == [1, 1, 0]


def test_demands_by_hand():
    once = {"margin": 1.0}
    assert listed(run_of(**once)) == listed(run_of())  # all others lead by 1, aa first
    assert (run_of(**once).losses, run_of(**once).mistakes) == ([1], [1])
    run = run_of(hamming=True)  # ab is wrong twice, leads by 2
    assert listed(run) == [[[0], [0]], [[0, -1], [1, 0]], [-1, 1], [1, -1]]
    assert run.losses == [2]
    w = reference.flat([[0], [0]], [[0, 0], [0, 0.5]], [0, 0], [0, 0])
    assert reference.best_path(X[0], w, AB) == (["b", "b"], 0.5)
    assert reference.best_path(X[0], w, AB, truth=["b", "a"], hamming=True, margin=1.0) == (["a", "b"], 3.0)
    assert reference.best_path(X[0], w, AB, truth=["b", "b"], margin=0.5) == (["a", "a"], 0.5)
    assert reference.best_path(X[0], w, AB, truth=["b", "b"], margin=0.25) == (["b", "b"], 0.5)


@pytest.mark.parametrize(("C", "tau"), [(1.0, 1 / 6), (0.125, 0.125)])
def test_the_passive_aggressive_step_by_hand(C, tau):
    # loss 1; six weights change by 1
    np.testing.assert_allclose(run_of(step="pa1", C=C).w, tau * run_of().w)
    assert run_of(step="pa1", C=C).losses == [1]
    exact = run_of(2, step="pa1", start_stop=False, transitions=False, X=[np.ones((1, 1))], Y=[["b"]])
    # tau = 1/2, then b leads by 1 and a ties with it, of loss 0: nothing is asked
    assert (exact.updates, exact.mistakes, exact.losses) == ([1, 0], [1, 0], [1, 0])
    assert listed(exact)[0] == [[-0.5], [0.5]]


@pytest.mark.parametrize(
    ("allowed", "names", "may"),
    [
        ("bio", "B-x I-x I-x O B-y B-x", True),
        ("bio", "I-x", False),
        ("bio", "O I-x", False),
        ("bio", "B-y I-x", False),
        ("bio", "O O", True),
        ("bioes", "B-x I-x E-x O S-x S-y B-y E-y", True),
        ("bioes", "B-x", False),
        ("bioes", "B-x E-y", False),
        ("bioes", "B-x I-x", False),
        ("bioes", "B-x O", False),
        ("bioes", "E-x", False),
        ("bioes", "S-x I-x E-x", False),
        ("bioes", "B-x E-x E-x", False),
        ({"a": ["b"]}, "a b b a", True),
        ({"a": ["b"]}, "a a", False),
        ({"a": ["b"]}, "b b a", True),
        ({None: ["b"]}, "b a a", True),
        ({None: ["b"]}, "a", False),
        ({"a": []}, "b a", True),
        ({"a": []}, "a b", False),
        ({"a": [], None: []}, "", True),
    ],
)
def test_what_is_allowed_by_hand(allowed, names, may):
    assert reference.permitted(names.split(), allowed) is may


def test_best_scores_through_a_label_by_hand():
    w = reference.flat([[0], [1]], [[0, 4], [0, 0]], [0, 0], [2, 0])
    # aa 2, ab 1 + 4 = 5, ba 1 + 2 = 3, bb 2
    assert reference.max_marginals(X[0], w, AB).tolist() == [[5, 3], [3, 5]]
    assert reference.max_marginals(X[0], w, AB, {"a": ["a"]}).tolist() == [[2, 3], [3, 2]]
    assert reference.max_marginals(X[0], w, AB, {None: ["b"]}).tolist() == [[-np.inf, 3], [3, 2]]
    assert reference.best_path(X[0], w, AB, {"a": ["a"]}) == (["b", "a"], 3)
    assert reference.max_marginals(np.zeros((0, 1)), w, AB).shape == (0, 2)


@pytest.mark.parametrize("allowed", [None, {"a": ["b"], "c": ["a", "c"], None: ["a", "b"]}])
@pytest.mark.parametrize("demands", [{}, {"margin": 1.0}, {"hamming": True}, {"hamming": True, "margin": 0.5}])
def test_the_best_of_all_labellings_is_found_without_trying_them_all(allowed, demands, rng):
    classes = ["a", "b", "c"]
    for n in (0, 1, 2, 3, 4, 4, 4, 5):
        x, w = rng.integers(-1, 2, (n, 2)).astype(float), rng.integers(-1, 2, reference.size(3, 2)).astype(float)
        truths = reference.labellings(n, classes, allowed)
        truth = [classes[k] for k in truths[rng.integers(len(truths))]]
        given = {"truth": truth, **demands} if demands else {}
        assert reference.long_path(x, w, classes, allowed, **given) == reference.best_path(
            x, w, classes, allowed, **given
        )


@pytest.mark.parametrize("keywords", [{}, {"eta": 0.5, "margin": 2.0}, {"step": "pa1", "C": 0.25}, {"step": "pa1"}])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("hamming", [False, True])
def test_chains_of_one_token_are_the_multiclass_reference(seed, keywords, hamming):
    rows, y = whole_numbers(np.random.default_rng(seed), 25, 4, 3)
    rows[:] += np.random.default_rng(seed).random(rows.shape)
    classes = ["a", "b", "c"]
    orders = [np.random.default_rng(k).permutation(25) for k in range(3)]
    run = reference.train(
        [row[None] for row in rows], [[classes[k]] for k in y], orders, reference.beginning(classes, 4),
        hamming=hamming, start_stop=False, **keywords,
    )  # fmt: skip
    given = {"margin": 1.0 if keywords.get("step") == "pa1" else 0.0, **keywords}
    given["cost"] = 1.0 - np.eye(3) if hamming else None
    beside = large.train_joint(rows, y, orders, 3, fit_intercept=False, **given)
    np.testing.assert_allclose(run.parts("last")[0], beside.w, atol=1e-12)
    np.testing.assert_allclose(run.parts("average")[0], beside.average_w, atol=1e-12)
    assert (run.mistakes, run.updates) == (beside.mistakes, beside.updates)
    assert not any(part.any() for part in run.parts("last")[1:])
    if not hamming and keywords.get("step") != "pa1":
        np.testing.assert_allclose(run.losses, beside.losses, atol=1e-9)


def test_a_widened_run_has_zeros_where_nothing_was():
    run = run_of(2)
    wide = run.widened(["Z", "a", "b"], 2, [1])
    assert wide.n_features == 2
    coef, transitions, start, stop = wide.parts("last")
    assert coef.tolist() == [[0, 0], [0, 0], [0, 0]]
    assert transitions.tolist() == [[0, 0, 0], [0, -1, 0], [0, 2, -1]]
    assert (start.tolist(), stop.tolist()) == ([0, -1, 1], [0, 1, -1])
    first = reference.split(wide.path[0], 3, 2)[0]
    assert first.tolist() == [[0, 0], [0, -1], [0, 1]]
    assert len(wide.path) == 2


def test_attributes_by_hand():
    token = {
        "word": "in",
        "title": True,
        "upper": False,
        "length": 2,
        "parts": ["i", "n"],
        "next": {"word": "x", "n": 3},
    }
    assert reference.attributes(token) == [
        ("word=in", 1), ("title", 1), ("length", 2), ("parts=i", 1), ("parts=n", 1), ("next=word=x", 1), ("next=n", 3),
    ]  # fmt: skip
    (x, empty), names = reference.matrices([[["q", "p", "q"], {"p": 0.5}], []])
    assert names == ["p", "q"]
    assert x.tolist() == [[1, 2], [0.5, 0]]
    assert empty.shape == (0, 2)
    assert reference.matrices([[["q", "p"]]], ["q"])[0][0].tolist() == [[1]]
