"""The recipe against a slow one written from the spec and the docstrings alone, without a look at how it is made."""

import json
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs, make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.features import HashedText
from perceptrons.selection import OpenedBeforeError, bootstrap, mcnemar, parts_of, recipe, wilson

TWO = make_classification(200, 8, n_informative=4, flip_y=0.15, random_state=1)
FOUR = make_classification(240, 8, n_informative=6, n_classes=4, weights=[0.6, 0.2, 0.15, 0.05], random_state=2)
WORDS = ["good", "bad", "funny", "dull", "story", "joke", "the", "a", "of", "fine"]
WEIGHTS = ("coef_", "intercept_", "coef_last_", "coef_average_", "n_iter_", "n_updates_")


def take(data, rows):
    """These rows of a list, an array, a sparse matrix or a frame."""
    if isinstance(data, list):
        return [data[row] for row in rows]
    return data.iloc[rows] if hasattr(data, "iloc") else data[rows]


def share_of_tokens(true, predicted):
    """How many tokens have their label."""
    right = [a == b for one, other in zip(true, predicted, strict=True) for a, b in zip(one, other, strict=True)]
    return sum(right) / len(right)


def slow_recipe(estimator, X, y, grid, epochs, prefix, measure, retrain, **split):
    """A run of its own for every setting and number of epochs."""
    parts = parts_of(X, y, **split)
    train, dev, test = parts.train.rows, parts.dev.rows, parts.test.rows
    curves, best = [], None
    for params in ParameterGrid(grid):
        curve = []
        for n in range(1, epochs + 1):
            model = clone(estimator).set_params(**params, **{prefix + "max_iter": n})
            model.fit(take(X, train), take(y, train))
            curve.append(measure(take(y, dev), model.predict(take(X, dev))))
            if best is None or curve[-1] > best[0]:
                best = curve[-1], params, n
        curves.append(curve)
    rows = sorted([*train, *dev]) if retrain else train
    model = clone(estimator).set_params(**best[1], **{prefix + "max_iter": best[2]}).fit(take(X, rows), take(y, rows))
    return curves, best, model, measure(take(y, test), model.predict(take(X, test)))


def check(estimator, X, y, grid, epochs=5, prefix="", measure=accuracy_score, retrain=True, **split):
    """Every figure of the recipe is the slow one's, to the last bit."""
    estimator = clone(estimator).set_params(**{prefix + "max_iter": epochs})
    curves, best, model, score = slow_recipe(estimator, X, y, grid, epochs, prefix, measure, retrain, **split)
    found = recipe(estimator, X, y, grid, retrain=retrain, force=True, **split)
    assert [setting.params for setting in found.settings] == list(ParameterGrid(grid))
    for setting, curve in zip(found.settings, curves, strict=True):
        made = list(setting.curve)  # a run that stopped by itself stays where it is
        assert made + made[-1:] * (epochs - len(made)) == curve
        assert (setting.score, setting.epochs) == (max(curve), curve.index(max(curve)) + 1)
    assert (found.dev_score, found.best.params, found.best.epochs) == best
    assert found.test_score == score
    mine, other = (m[-1] if hasattr(m, "steps") else m for m in (found.model, model))
    for name in WEIGHTS:
        if hasattr(other, name):
            np.testing.assert_array_equal(getattr(mine, name), getattr(other, name), err_msg=name)
    return found


@pytest.mark.parametrize("combine", ["average", "last", "vote", "pocket"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "sparse"])
def test_one_run_is_separate_runs_whatever_predicts(combine, dtype):
    X, y = FOUR
    X = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0)) if dtype == "sparse" else X.astype(dtype)
    check(Perceptron(combine=combine), X, y, {"random_state": [0, 3]})


@pytest.mark.parametrize(
    "grid",
    [
        {"step": ["pa", "pa1", "pa2", "arow"], "C": [0.01, 1.0]},
        {"margin": [0.0, 5.0], "penalty": [None, "l2"], "combine": ["last", "average"]},
        {"batch_size": [1, 7, "all"], "combine": ["average", "last", "vote"]},
        {"multiclass": ["joint", "ovr", "ovo"], "class_weight": [None, "balanced", {0: 0.3}]},
        {"tol": [None, 0.5], "shuffle": [True, False]},
    ],
    ids=lambda grid: "-".join(grid),
)
def test_one_run_is_separate_runs_for_every_way_of_learning(grid):
    check(Perceptron(), *FOUR, grid)


def test_one_run_is_separate_runs_from_every_start_and_for_every_score_of_zero():
    starts = {"init": ["zeros", "ones", "random"], "zero_score": ["mistake", "correct", "positive", "negative"]}
    check(Perceptron(), *TWO, starts, epochs=4)


def test_one_run_is_separate_runs_when_training_converges_midway():
    X, y = make_blobs(120, 2, centers=[(-2, 0), (2, 0)], cluster_std=0.6, random_state=3)
    found = check(Perceptron(combine="last"), X, y, {"shuffle": [False, True]}, epochs=25)
    assert len(found.settings[0].curve) < 25


def test_one_run_is_separate_runs_of_kernels():
    grid = {"kernel": ["rbf", "poly"], "combine": ["last", "average", "vote"], "multiclass": ["joint", "ovr"]}
    check(KernelPerceptron(), *FOUR, grid, epochs=3)


def test_one_run_is_separate_runs_of_sequences():
    draw = np.random.default_rng(0)
    sentences = [[str(word) for word in draw.choice(WORDS, draw.integers(1, 6))] for _ in range(50)]
    labels = [["J" if word in WORDS[:4] else "N" for word in words[:-1]] + ["X"] for words in sentences]
    tokens = [[[f"w={word}"] for word in words] for words in sentences]
    grid = {"combine": ["average", "last"], "transitions": [True, False]}
    for split in ({}, {"split": "time"}, {"groups": [i // 3 for i in range(50)]}):
        check(SequencePerceptron(), tokens, labels, grid, epochs=3, measure=share_of_tokens, **split)


def test_one_run_is_separate_runs_of_pipelines():
    X, y = FOUR
    pipeline = make_pipeline(StandardScaler(), SelectKBest(k=4), Perceptron())
    grid = {"perceptron__combine": ["average", "last"], "selectkbest__k": [2, 5], "standardscaler__with_mean": [True]}
    check(pipeline, X * np.logspace(-3, 3, 8), y, grid, prefix="perceptron__")


def test_one_run_is_separate_runs_of_texts_in_a_list():
    draw = np.random.default_rng(1)
    texts = [" ".join(draw.choice(WORDS, 5)) for _ in range(100)]
    labels = ["glad" if text.count("good") + text.count("fine") else "not glad" for text in texts]
    grid = {"hashedtext__words": [(1, 1), (1, 2)], "perceptron__step": ["constant", "arow"]}
    check(make_pipeline(HashedText(), Perceptron()), texts, labels, grid, prefix="perceptron__")


def test_one_run_is_separate_runs_of_frames_with_columns_of_two_kinds():
    X, y = TWO
    frame = pd.DataFrame(X[:, :3], columns=list("abc"), index=np.random.default_rng(0).permutation(len(X)) * 3)
    frame["colour"] = np.array(["red", "blue", "dark blue"])[np.arange(len(X)) % 3]
    columns = ColumnTransformer([("n", StandardScaler(), list("abc")), ("c", OneHotEncoder(), ["colour"])])
    grid = {"perceptron__combine": ["average", "last"]}
    check(make_pipeline(columns, Perceptron()), frame, pd.Series(y, index=frame.index), grid, prefix="perceptron__")


@pytest.mark.parametrize(
    "labels",
    [np.array(["b", "a a", "é", ""]), np.array(["b", "a a", "é", ""], object), np.array([-3.0, 0.0, 2.0, 7.0])],
    ids=["strings", "objects", "floats"],
)
def test_labels_may_be_anything(labels):
    X, y = FOUR
    check(Perceptron(), X, labels[y], {"combine": ["average", "last"]}, epochs=3)


def test_without_retraining_the_model_of_the_train_examples_is_tested():
    check(Perceptron(), *FOUR, {"combine": ["average", "last"]}, retrain=False)


@pytest.mark.parametrize("n", [5, 6, 7, 9])
def test_five_examples_are_enough_to_go_through(n):
    X = np.random.default_rng(n).normal(size=(n, 2))
    found = check(Perceptron(), X, np.arange(n) % 2, {"combine": ["average", "last"]})
    assert sum(len(part.rows) for part in (found.parts.train, found.parts.dev, found.parts.test)) == n


def test_a_class_with_one_member_can_be_learned():
    X, y = TWO
    y = np.where(np.arange(len(y)) == 17, 2, y)
    parts = parts_of(X, y)
    assert 17 in parts.train.rows
    check(Perceptron(), X, y, {"combine": ["average", "last"]}, epochs=3)


@pytest.mark.parametrize("seed", range(5))
def test_parts_are_disjoint_complete_and_stratified(seed):
    X, y = FOUR
    parts = parts_of(X, y, dev=0.25, test=0.15, random_state=seed)
    rows = [part.rows for part in (parts.train, parts.dev, parts.test)]
    assert sorted(np.concatenate(rows)) == list(range(len(y)))
    for share, part in zip((0.6, 0.25, 0.15), rows, strict=True):
        assert abs(len(part) - share * len(y)) <= 2
        for label in np.unique(y):
            assert abs(np.sum(y[part] == label) - share * np.sum(y == label)) <= 2


@pytest.mark.parametrize("seed", range(5))
def test_no_group_is_in_two_parts(seed):
    draw = np.random.default_rng(seed)
    groups = np.array([f"patient {i}" for i in draw.integers(0, 40, 240)])
    parts = parts_of(*FOUR, groups=groups, random_state=seed)
    of = [set(groups[part.rows]) for part in (parts.train, parts.dev, parts.test)]
    assert sum(map(len, of)) == len(set(groups))
    assert sum(len(part.rows) for part in (parts.train, parts.dev, parts.test)) == 240


def test_in_time_order_nothing_is_learned_from_the_future():
    parts = parts_of(*FOUR, split="time")
    train, dev, test = parts.train.rows, parts.dev.rows, parts.test.rows
    np.testing.assert_array_equal(np.concatenate([train, dev, test]), np.arange(240))
    assert (len(dev), len(test)) == (48, 48)


def test_neither_data_nor_estimator_are_changed():
    X, y = (part.copy() for part in TWO)
    mine = Perceptron().fit(X[:50], y[:50])
    weights, params = mine.coef_.copy(), mine.get_params()
    found = recipe(make_pipeline(StandardScaler(copy=False), mine), X, y, {"perceptron__combine": ["last"]}, force=True)
    np.testing.assert_array_equal(X, TWO[0])
    np.testing.assert_array_equal(y, TWO[1])
    np.testing.assert_array_equal(mine.coef_, weights)
    assert mine.get_params() == params
    assert found.model[-1] is not mine


def test_the_seal_counts_the_same_examples_in_any_container():
    X, y = make_classification(150, 6, random_state=77)
    assert recipe(Perceptron(), X, y).looks == 1
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for same in (X.tolist(), sp.csr_matrix(X), sp.csc_array(X), frame):
        with pytest.raises(OpenedBeforeError):
            recipe(Perceptron(combine="last"), same, y)
    test = parts_of(X, y).test.rows[::-1]  # another order is no other test
    with pytest.raises(OpenedBeforeError):
        recipe(Perceptron(), X, y, test=(X[test], y[test]))
    assert recipe(Perceptron(), X, y, force=True).looks == 1  # just the same again
    assert recipe(Perceptron(combine="last"), X, y, force=True).looks == 2
    assert recipe(Perceptron(), X, y, test=0).looks == 0


@pytest.mark.slow
def test_the_seal_is_counted_from_process_to_process(tmp_path):
    program = """if True:
        import sys
        from sklearn.datasets import make_classification
        from perceptrons import Perceptron
        from perceptrons.selection import OpenedBeforeError, recipe
        X, y = make_classification(100, 4, random_state=5)
        try:
            model, force = Perceptron(max_iter=int(sys.argv[2])), len(sys.argv) > 3
            print(recipe(model, X, y, ledger=sys.argv[1], force=force).looks)
        except OpenedBeforeError:
            print("refused")
    """

    def said(*arguments):
        command = [sys.executable, "-c", program, str(tmp_path / "looks"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout.strip()

    found = [said("2"), said("2"), said("3"), said("3", "force"), said("3"), said("2"), said("4")]
    assert found == ["1", "1", "refused", "2", "2", "2", "refused"]


def test_what_was_found_is_json():
    grid = {"class_weight": [None, {0: 1.0, 1: 2.0}], "margin": [np.float32(1)], "cost": [np.ones((2, 2)) - np.eye(2)]}
    found = recipe(Perceptron(max_iter=3), *TWO, grid, force=True)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["looks"] == found.looks


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (0, 40), (37, 40), (40, 40), (912, 1000), (5, 10)])
def test_wilson_is_the_formula(right, n):
    z, share = 1.959963984540054, right / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high, level, _ = wilson(right, n)
    assert (low, high) == pytest.approx((centre - half, centre + half), abs=1e-12)
    assert 0 <= low <= share <= high <= 1
    assert level == 0.95


@pytest.mark.parametrize(("only_one", "only_other"), [(0, 0), (1, 0), (5, 0), (9, 1), (30, 18), (7, 7)])
def test_mcnemar_is_the_exact_binomial_test_of_those_that_differ(only_one, only_other):
    one = [True] * only_one + [False] * only_other + [True] * 20 + [False] * 3
    other = [False] * only_one + [True] * only_other + [True] * 20 + [False] * 3
    n = only_one + only_other
    expected = binomtest(only_one, n).pvalue if n else 1.0
    by_hand = min(1.0, 2 * sum(math.comb(n, k) for k in range(min(only_one, only_other) + 1)) / 2**n)
    assert mcnemar(one, other) == mcnemar(other, one) == pytest.approx(expected) == pytest.approx(by_hand)


def test_the_bootstrap_is_the_same_every_time_and_holds_the_figure():
    draw = np.random.default_rng(0)
    y = draw.integers(0, 3, 200)
    predicted = np.where(draw.random(200) < 0.8, y, 0)

    def recall_of_two(true, said):
        return np.mean(said[true == 2] == 2)

    one, other = bootstrap(recall_of_two, y, predicted), bootstrap(recall_of_two, y, predicted)
    assert one == other
    assert one.low < recall_of_two(y, predicted) < one.high
    assert bootstrap(recall_of_two, y, predicted, level=0.5).high < one.high
