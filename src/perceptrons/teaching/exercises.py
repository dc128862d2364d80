"""The exercises: the arguments of the student's function, and the library's answers. The examples never change.

Numbers are multiples of a quarter, so that no sum is rounded and a score of exactly 0 is exactly 0 for everybody.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import PolynomialFeatures

from perceptrons.engine.passes.viterbi import new_workspace, read_best, search, transposed_arcs
from perceptrons.engine.training.epochs import Counts, Outcome, Plan, Trainee, run_epochs
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.teaching import common_mistakes as mistakes
from perceptrons.theory import mistake_bound, signed_distance

Cases = list[tuple[Any, ...]]
N_RANDOM = 30  # examples, beside the worked ones


class Exercise(NamedTuple):
    """An exercise: the function to write, the examples it is tried on, the library's answers, and frequent mistakes."""

    name: str
    arguments: tuple[str, ...]
    parts: tuple[str, ...]  # the names of what it returns
    cases: Callable[[], Cases]
    library: Callable[..., Any]
    common_mistakes: mistakes.CommonMistakes  # (function, hint)


def _quarters(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-8, 9, shape) / 4


def _rule(**more: Any) -> Perceptron:
    """Return Rosenblatt's rule as the lecture states it, for one pass in the given order."""
    options: dict[str, Any] = {"shuffle": False, "tol": None, "max_iter": 1}
    return Perceptron.rosenblatt(**options | more)


def _one_visit(w: Any, b: float, x: Any, y: int, eta: float, margin: float = 0.0) -> tuple[np.ndarray, float]:
    """Return the weights after one visit. The second row has weight 0: it only names the other class."""
    model = _rule(eta0=eta, margin=margin)
    model.fit(np.array([x, x]), [y, -y], coef_init=w, intercept_init=b, sample_weight=[1, 0])
    return model.coef_[0], float(model.intercept_[0])


def _predict_cases() -> Cases:
    rng = np.random.default_rng(1)
    worked: Cases = [(np.array([1.0, 1.0]), -1.5, np.array(x)) for x in ([0.0, 1.0], [1.0, 1.0])]
    some: Cases = [(_quarters(rng, 3), float(_quarters(rng)), _quarters(rng, 3)) for _ in range(N_RANDOM - 2)]
    on_the_line: Cases = [(w, -float(w @ x), x) for w, _, x in some[:2]]
    return worked + on_the_line + some


def _predict(w: Any, b: float, x: Any) -> int:
    return int(Perceptron.from_weights(w, b, classes=[-1, 1]).predict([x])[0])


def _distance_cases() -> Cases:
    rng = np.random.default_rng(2)
    worked: Cases = [(np.array([3.0, 4.0]), -5.0, np.array(x)) for x in ([3.0, 4.0], [-1.0, 0.0])]
    worked.append((np.array([1.0, 1.0]), -1.5, np.array([0.5, 1.0])))  # on the line
    return worked + [(_quarters(rng, 3) + 0.125, float(_quarters(rng)), _quarters(rng, 3)) for _ in range(N_RANDOM)]


def _distance(w: Any, b: float, x: Any) -> float:
    return float(signed_distance(Perceptron.from_weights(w, b, classes=[-1, 1]), [x])[0])


_VISITS_AT_ZERO: Cases = [  # a score of exactly 0, which is a mistake for both labels
    (np.zeros(2), 0.0, np.array([1.0, 2.0]), 1, 1.0),
    (np.zeros(2), 0.0, np.array([1.0, 2.0]), -1, 1.0),
    (np.array([1.0, -0.5]), 0.5, np.array([1.0, 3.0]), 1, 0.5),
    (np.array([1.0, -0.5]), 0.5, np.array([1.0, 3.0]), -1, 0.5),
]


def _update_cases() -> Cases:
    rng = np.random.default_rng(3)
    worked: Cases = [
        (np.array([0.2, 0.0]), -0.1, np.array([1.0, 1.0]), -1, 0.1),
        (np.array([0.1, -0.1]), -0.2, np.array([2.0, 1.0]), 1, 0.1),
        (np.array([0.3, 0.0]), -0.1, np.array([1.5, -40.0]), 1, 0.1),
        *_VISITS_AT_ZERO,
    ]
    for _ in range(N_RANDOM):
        w, x = _quarters(rng, 3), _quarters(rng, 3)
        worked.append((w, float(_quarters(rng)), x, int(rng.choice([-1, 1])), float(rng.choice([0.5, 1.0, 2.0]))))
    return worked


_NEGATIVE_FIRST = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([-1, 1])  # at the start, the score of 0 is a mistake


def _perceptron_cases() -> Cases:
    return [(*_NEGATIVE_FIRST, 1), *((X, y, 1 + k % 3) for k, (X, y) in enumerate(_sets(4)))]


def _sets(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return small training sets with both labels in each."""
    rng = np.random.default_rng(seed)
    sets: list[tuple[np.ndarray, np.ndarray]] = []
    for k in range(N_RANDOM):
        X, y = _quarters(rng, 6, 2), rng.choice([-1, 1], 6)
        y[:2] = (1, -1) if k % 2 else (-1, 1)
        sets.append((X, y))
    return sets


def _perceptron(X: Any, y: Any, epochs: int = 1, **more: Any) -> tuple[np.ndarray, float]:
    model = _rule(max_iter=epochs, **more).fit(X, y)
    return model.coef_[0], float(model.intercept_[0])


def _bound_cases() -> Cases:
    rng = np.random.default_rng(5)
    cases: Cases = [(np.array([[2.0], [-1.0]]), np.array([1, -1]), np.array([1.0]))]
    while len(cases) <= N_RANDOM:
        X, u = _quarters(rng, 5, 2), np.array([0.6, 0.8]) * rng.choice([-1, 1], 2)
        side = X @ u
        if abs(side).min() > 0.1 and abs(side.sum()) < abs(side).sum():  # separated by u, with both labels
            cases.append((X, np.sign(side).astype(int), u))
    return cases


def _bound(X: Any, y: Any, u: Any) -> float:
    bound = mistake_bound(X, y, coef=u, fit_intercept=False)
    return float((bound.radius / bound.margin) ** 2)


def _average_cases() -> Cases:
    worked = (np.array([[2.0, 1.0], [1.0, 1.0], [3.0, 1.0]]), np.array([1, -1, 1]))
    return [worked, _NEGATIVE_FIRST, *_sets(6)]


def _stop_cases() -> Cases:
    rng = np.random.default_rng(13)
    cases: Cases = [([0.7, 0.8, 0.8, 0.75, 0.9], 2), ([0.5, 0.6, 0.7], 5)]
    for _ in range(N_RANDOM):
        cases.append((((rng.integers(50, 60, 12) + np.arange(12) // 2) / 100).tolist(), int(rng.integers(1, 5))))
    return cases


class _Replay(Trainee):
    """A training that learns nothing: the validation accuracies are given."""

    def __init__(self, accuracies: list[float]):
        self.accuracies = iter(accuracies)

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        yield Counts(len(order), 1, 1, 0.0)

    def accuracy(self) -> float:
        return next(self.accuracies)

    def change(self) -> float:
        return 1.0

    def norm(self) -> float:
        return 1.0

    def snapshot(self) -> None: ...

    def restore(self, snapshot: None) -> None: ...


def _stop(accuracies: list[float], patience: int) -> tuple[int, int]:
    outcome, plan = Outcome(), Plan(len(accuracies), None, False, patience, None, False)
    run_epochs(
        _Replay(accuracies), plan, rng=np.random.default_rng(0), epochs_before=0, n=1, train=None, held_out=True,
        outcome=outcome,
    )  # fmt: skip
    return len(outcome.history), int(outcome.returned_to)


def _multiclass_cases() -> Cases:
    rng = np.random.default_rng(7)
    words = np.zeros((3, 9))
    words[0, 8] = 1.0  # the lecture: POS, NEG, NEU over eight words and a constant 1; the bias of POS is 1
    first, second = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1.0]), np.array([1, 1, 1, 0, 0, 0, 0, 0, 1.0])
    after = words + np.outer([-1, 1, 0], first)
    cases: Cases = [(words, first, 1), (after, second, 1)]
    cases += [(np.zeros((3, 2)), np.array([1.0, 2.0]), y) for y in range(3)]  # all scores are equal
    two_are_best = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    cases += [(two_are_best, np.array([1.0, 2.0]), y) for y in range(3)]
    return cases + [(_quarters(rng, 3, 2), _quarters(rng, 2), int(rng.integers(3))) for _ in range(N_RANDOM)]


def _multiclass(theta: Any, x: Any, y: int) -> np.ndarray:
    others = [label for label in range(len(theta)) if label != y]
    model = _rule(fit_intercept=False)
    rows, labels = np.array([x] * len(theta)), [y, *others]
    model.fit(rows, labels, coef_init=theta, sample_weight=[1] + [0] * len(others))
    return model.coef_


def _margin_cases() -> Cases:
    third = (np.array([0.3, 0.0]), -0.1, np.array([1.5, 1.0]), 1, 0.1, 0.5)
    reached = (np.array([1.0, 0.0]), 0.0, np.array([0.5, 2.0]), 1, 1.0, 0.5)  # y s is exactly the margin
    reached_by_a_negative = (np.array([1.0, 0.0]), 0.0, np.array([-0.5, 2.0]), -1, 1.0, 0.5)
    without_a_margin = [(*case, 0.0) for case in _VISITS_AT_ZERO]
    rng, some = np.random.default_rng(8), _update_cases()[-N_RANDOM:]
    random = [(*case, float(rng.choice([0.0, 0.5, 2.0]))) for case in some]
    return [third, reached, reached_by_a_negative, *without_a_margin, *random]


def squared(x: Any, z: Any) -> float:
    return float((1 + np.dot(x, z)) ** 2)


def gaussian(x: Any, z: Any) -> float:
    return float(np.exp(-np.sum((np.asarray(x) - np.asarray(z)) ** 2)))


KERNELS: dict[Callable[..., float], dict[str, Any]] = {
    squared: {"kernel": "poly", "degree": 2, "gamma": 1, "coef0": 1},
    gaussian: {"kernel": "rbf", "gamma": 1},
}


def _trained(X: Any, y: Any, kernel: Callable[..., float]) -> KernelPerceptron:
    return KernelPerceptron(**KERNELS[kernel], combine="last", shuffle=False, max_iter=2, tol=None).fit(X, y)


def _kernel_cases() -> Cases:
    corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]), np.array([-1, 1, 1, -1])
    rng, cases = np.random.default_rng(9), []
    for place, (X, y) in enumerate([corners, corners, *_sets(10)]):
        for kernel in KERNELS:
            model = _trained(X, y, kernel)
            alpha = np.zeros(len(y))
            alpha[model.support_] = abs(model.dual_coef_[0])  # dual_coef_ is y alpha
            x = np.zeros(2) if place == 1 else _quarters(rng, 2)  # as far from each corner: the score is 0
            cases.append((alpha, X, y, kernel, x))
    return cases


def _kernel(alpha: Any, X: Any, y: Any, kernel: Callable[..., float], x: Any) -> float:
    return float(_trained(X, y, kernel).decision_function([x])[0])


def _viterbi_cases() -> Cases:
    rng = np.random.default_rng(11)
    they_fish = np.array([[0.0, 0.0], [-1.0, 1.0]]), np.array([[-1.0, 1.0], [0.0, 0.0]])
    fish_swim = np.array([[-1.0, 1.0], [0.0, 0.0]]), np.array([[-1.0, 1.0], [0.0, 0.0]])
    two_are_equal = np.zeros((2, 2)), np.array([[-1.0, 0.0], [0.0, -1.0]])
    all_are_equal = np.zeros((3, 3)), np.zeros((3, 3))
    cases: Cases = [they_fish, fish_swim, two_are_equal, all_are_equal]
    return cases + [(_quarters(rng, int(n), 3), _quarters(rng, 3, 3)) for n in rng.integers(1, 6, N_RANDOM)]


def _viterbi(emissions: Any, transitions: Any) -> list[int]:
    n, K = emissions.shape
    arcs = np.zeros((K + 1, K + 1))  # the last row and column are the two ends, which have no weight here
    arcs[:K, :K] = transitions
    workspace, arcs_t = new_workspace(n, K, np.float64), transposed_arcs(arcs, np.zeros_like(arcs))
    search(np.ascontiguousarray(emissions), arcs_t, n, workspace.v, workspace.level)
    read_best(workspace.v, arcs_t, n, workspace.y_hat, 0, workspace.v_other, False, workspace.y_hat)
    return workspace.y_hat[:n].tolist()


def _features_cases() -> Cases:
    rng = np.random.default_rng(12)
    corners: Cases = [(np.array(x),) for x in ([0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0])]
    return corners + [(_quarters(rng, 2),) for _ in range(N_RANDOM)]


def _features(x: Any) -> np.ndarray:
    return PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform([x])[0]


# Steps of the tutorial: 1 predict, 2 distance, 3 update and perceptron, 4 bound, 5 average and stop, then one each.
_ALL_EXERCISES = (
    Exercise("predict", ("w", "b", "x"), ("label",), _predict_cases, _predict, mistakes.PREDICT),
    Exercise("distance", ("w", "b", "x"), ("distance",), _distance_cases, _distance, mistakes.DISTANCE),
    Exercise("update", ("w", "b", "x", "y", "eta"), ("w", "b"), _update_cases, _one_visit, mistakes.UPDATE),
    Exercise("perceptron", ("X", "y", "epochs"), ("w", "b"), _perceptron_cases, _perceptron, mistakes.PERCEPTRON),
    Exercise("bound", ("X", "y", "u"), ("bound",), _bound_cases, _bound, mistakes.BOUND),
    Exercise(
        "average", ("X", "y"), ("w", "b"), _average_cases, partial(_perceptron, combine="average"), mistakes.AVERAGE
    ),
    Exercise("stop", ("accuracies", "patience"), ("last", "best"), _stop_cases, _stop, mistakes.STOP),
    Exercise("update_classes", ("theta", "x", "y"), ("theta",), _multiclass_cases, _multiclass, mistakes.CLASSES),
    Exercise(
        "update_margin", ("w", "b", "x", "y", "eta", "margin"), ("w", "b"), _margin_cases, _one_visit, mistakes.MARGIN
    ),
    Exercise("kernel_score", ("alpha", "X", "y", "kernel", "x"), ("score",), _kernel_cases, _kernel, mistakes.KERNEL),
    Exercise("viterbi", ("emissions", "transitions"), ("labels",), _viterbi_cases, _viterbi, mistakes.VITERBI),
    Exercise("feature_map", ("x",), ("features",), _features_cases, _features, mistakes.FEATURES),
)
EXERCISES = {exercise.name: exercise for exercise in _ALL_EXERCISES}
