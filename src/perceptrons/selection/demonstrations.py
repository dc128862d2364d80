"""Two demonstrations on generated data that change the decision boundary of other models, but not the perceptron's."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from perceptrons.engine import html
from perceptrons.linear import Perceptron
from perceptrons.selection.compare import align_columns
from perceptrons.selection.learners import LeastSquares

N_TRAIN, N_TEST, N_FAR = 200, 4000, 40  # examples
# The centre of class 1 (class 0 is opposite) and the standard deviations of both features:
CLOUDS = ((1.5, 0.0), (0.7, 1.0))  # in too_correct
FAR_CLOUD = ((12.0, -8.0), (0.7, 0.7))
INFORMATIVE = ((0.6, 2.0), (1.0, 1.0))  # in copied_features: the second feature is more informative
STEP = 1e-4  # of the differences for the gradient of a score
ROBUST = {  # the learners that neither demonstration misleads
    "averaged perceptron": Perceptron(margin=0, intercept_scaling=1),  # the lecture's
    "logistic regression": LogisticRegression(),
}
HEAD = ("learner", "right before", "right after", "lost", "turned", "shifted")


@dataclass(frozen=True, eq=False)
class Moved:
    """A learner before and after a change of the training data.

    Attributes
    ----------
    name : str
    before, after : float
        Accuracy on the same test examples.
    turned : float
        The angle in degrees by which the boundary turned, halfway between the classes.
    shifted : float
        The change of its distance from that place.
    model_before, model_after : fitted estimators of two features
    """

    name: str
    before: float
    after: float
    turned: float
    shifted: float
    model_before: Any = field(repr=False)
    model_after: Any = field(repr=False)

    @property
    def lost(self) -> float:
        """Points of accuracy lost, in percent."""
        return 100 * (self.before - self.after)


@dataclass(frozen=True, eq=False)
class Demonstration:
    """The result of a demonstration.

    Attributes
    ----------
    title : str
    rows : list of Moved
        The first is the misled one; the perceptron is called "averaged perceptron".
    before, after, test : tuples of X and y
        All of two features.
    story : tuple of str
        The change of the data, and the reasons for the effect.
    """

    title: str
    rows: list[Moved]
    before: tuple[np.ndarray, np.ndarray] = field(repr=False)
    after: tuple[np.ndarray, np.ndarray] = field(repr=False)
    test: tuple[np.ndarray, np.ndarray] = field(repr=False)
    story: tuple[str, ...]

    def row(self, name: str) -> Moved:
        """Return the learner of that name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"{name!r}: the learners are {', '.join(row.name for row in self.rows)}.")

    def explain(self) -> str:
        """Return the result in words."""
        misled, ours = self.rows[0], self.row("averaged perceptron")
        numbers = (
            f"{misled.name} loses {misled.lost:.1f} points of accuracy, and its decision boundary turns by "
            f"{misled.turned:.0f}°; the averaged perceptron loses {max(0.0, ours.lost):.1f} points and turns by "
            f"{ours.turned:.0f}°."
        )
        change, *reasons = self.story
        return "\n".join([change, numbers, *reasons])

    def table(self) -> list[list[str]]:
        return [
            [row.name, f"{row.before:.1%}", f"{row.after:.1%}", f"{row.lost:.1f}", f"{row.turned:.1f}°",
             f"{row.shifted:.2f}"]
            for row in self.rows
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without data and models."""
        names = ("name", "before", "after", "lost", "turned", "shifted")
        rows = [{name: getattr(row, name) for name in names} for row in self.rows]
        return {"title": self.title, "rows": rows, "explanation": self.explain()}

    def __str__(self) -> str:
        return "\n".join([self.title, "", align_columns(HEAD, self.table()), "", self.explain()])

    def _repr_html_(self) -> str:
        words = [html.note(line) for line in self.explain().splitlines()]
        return html.block(html.note(self.title), html.table(self.table(), HEAD), *words)


def too_correct(random_state: int = 0) -> Demonstration:
    """Show that examples far on their correct side mislead least squares, but not the perceptron.

    Use it to see, or to teach, what the squared loss does: it penalises a score of 20 if the target is 1. To judge
    least squares on your data, use `compare`.

    Returns
    -------
    Demonstration

    Examples
    --------
    >>> from perceptrons.selection import too_correct
    >>> shown = too_correct()
    >>> shown.row("least squares on ±1").lost > 5 > 1 > shown.row("averaged perceptron").lost
    True
    """
    rng = np.random.default_rng(random_state)
    (X, y), test = _clouds(rng, N_TRAIN, *CLOUDS), _clouds(rng, N_TEST, *CLOUDS)
    far = rng.normal(*FAR_CLOUD, (N_FAR, 2))
    after = np.vstack([X, far]), np.concatenate([y, np.ones(N_FAR, y.dtype)])
    learners = {"least squares on ±1": LeastSquares(), **ROBUST, "linear SVM": LinearSVC(random_state=0)}
    rows = [_moved(name, model, (X, y), after, test) for name, model in learners.items()]
    scores = rows[0].model_before.decision_function(far)
    further = clone(learners["averaged perceptron"]).fit(X, y)
    updates = further.partial_fit(far, np.ones(N_FAR, y.dtype)).n_updates_ - rows[1].model_before.n_updates_
    return Demonstration(
        "Examples that are too correct", rows, (X, y), after, test,
        (
            f"{N_FAR} examples were added to {N_TRAIN}, far on the correct side of every decision boundary: no learner "
            "has a reason to change.",
            f"Least squares wants every score of class 1 to be 1, but the new examples score {scores.mean():.1f} on "
            "average. That is penalised as if it were wrong, so the boundary turns until they score less, and "
            "examples near the boundary become mistakes.",
            "The perceptron learns from mistakes only. If the model from before keeps training on the new examples, "
            f"it makes {updates or 'no'} update{'s' * (updates != 1)}. Trained from scratch, as here, it can meet one "
            "of them early and make a long step, which later examples undo.",
            "Logistic regression and the SVM give little or no weight to examples that are right by a large margin.",
        ),
    )  # fmt: skip


def copied_features(copies: int = 20, random_state: int = 0) -> Demonstration:
    """Show that many copies of a feature mislead naive Bayes, but not the perceptron.

    Use it to see, or to teach, what the assumption of independent features does: it counts the same evidence again and
    again. To judge naive Bayes on your data, use `compare`.

    Parameters
    ----------
    copies : int, default=20
        The number of copies of the weaker of two features.
    random_state : int, default=0

    Returns
    -------
    Demonstration
        Its models take the two features, and copy the first by themselves.

    Examples
    --------
    >>> from perceptrons.selection import copied_features
    >>> shown = copied_features()
    >>> shown.row("Gaussian naive Bayes").lost > 10 > 1 > shown.row("averaged perceptron").lost
    True
    """
    if isinstance(copies, bool) or not isinstance(copies, int) or not 2 <= copies <= 1000:
        raise ValueError(f"copies={copies!r}: give a whole number from 2 to 1000.")
    rng = np.random.default_rng(random_state)
    train, test = _clouds(rng, N_TRAIN, *INFORMATIVE), _clouds(rng, N_TEST, *INFORMATIVE)
    learners = {"Gaussian naive Bayes": GaussianNB(), **ROBUST, "least squares on ±1": LeastSquares()}
    copying = FunctionTransformer(_copy_first, kw_args={"copies": copies})
    rows = [
        _moved(name, model, train, train, test, lambda model: make_pipeline(clone(copying), model))
        for name, model in learners.items()
    ]
    single, copied = rows[1].model_before.coef_[0], rows[1].model_after[-1].coef_[0]
    return Demonstration(
        f"A feature that is repeated {copies} times", rows, train, train, test,
        (
            f"The less informative of two features was copied: it is now there {copies} times, without new "
            "information.",
            f"Naive Bayes treats the copies as {copies} independent features and multiplies their evidence, so the "
            "more informative feature is outvoted.",
            f"The perceptron divides the weight among the copies: each has {copied[0]:.3g}, all of them "
            f"{copies * copied[0]:.3g}, which is {copies * copied[0] / copied[-1]:.2f} of the weight of the other "
            f"feature; without copies it was {single[0] / single[1]:.2f}. The copies act like one feature that is "
            f"{copies**0.5:.1f} times as large: updates along it are longer, so the boundary is not quite the same, "
            "but mistakes correct it.",
            "Logistic regression and least squares divide the weight in the same way.",
        ),
    )  # fmt: skip


def _clouds(rng: np.random.Generator, n: int, centre: Any, deviations: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes around opposite centres."""
    y = np.repeat([0, 1], n // 2)
    return rng.normal(0.0, deviations, (n, 2)) + np.outer(2 * y - 1, centre), y


def _copy_first(X: np.ndarray, copies: int) -> np.ndarray:
    X = np.asarray(X)
    return np.column_stack([np.repeat(X[:, :1], copies, axis=1), X[:, 1:]])


def _moved(
    name: str, learner: BaseEstimator, before: Any, after: Any, test: Any,
    wrap: Callable[[Any], Any] = lambda model: model,
) -> Moved:  # fmt: skip
    """Train the learner on both data sets. wrap: makes the estimator for the second one."""
    first, second = clone(learner).fit(*before), wrap(clone(learner)).fit(*after)
    X, y = test
    middle = (X[y == 0].mean(axis=0) + X[y == 1].mean(axis=0)) / 2
    (angle, offset), (angle_after, offset_after) = _boundary(first, middle), _boundary(second, middle)
    turned = abs((angle_after - angle + 180) % 360 - 180)
    return Moved(
        name, float(first.score(X, y)), float(second.score(X, y)), turned, abs(offset_after - offset), first, second
    )


def _boundary(model: Any, middle: np.ndarray) -> tuple[float, float]:
    """Return the direction in degrees in which the score rises in the middle, and the distance of the boundary."""
    around = middle + STEP * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    if hasattr(model, "decision_function"):
        scores = model.decision_function(around)
    else:
        scores = np.subtract(*model.predict_log_proba(around).T[::-1])
    gradient = np.array([scores[1] - scores[2], scores[3] - scores[4]]) / (2 * STEP)
    return float(np.degrees(np.arctan2(gradient[1], gradient[0]))), float(-scores[0] / np.linalg.norm(gradient))
