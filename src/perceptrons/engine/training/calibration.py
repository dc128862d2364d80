"""Scores into probabilities: sigmoid (Platt), temperature or isotonic, fitted on examples that were held out.

Platt, "Probabilistic outputs for support vector machines", 1999, with the targets and the Newton method of Lin, Lin and
Weng, 2007. Temperature: Guo and others, 2017. Isotonic: Zadrozny and Elkan, 2002, by scikit-learn. As in scikit-learn's
`CalibratedClassifierCV`, sigmoid and isotonic treat every class against the rest and then divide by the sum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any, Literal, get_args

import numpy as np

CalibrationMethod = Literal["sigmoid", "temperature", "isotonic"]
METHODS = get_args(CalibrationMethod)
MAX_NEWTON_STEPS = 100  # of Newton's method, which needs about ten


@dataclass(frozen=True)
class Calibration:
    """How the scores of a model become probabilities. The arrays are all that there is of it in a model file.

    columns: of the scores: 1 for two classes, otherwise one for every class or label. several: any number of labels per
    example, whose probabilities do not sum up to 1. n: how many examples it was fitted on. t: how many the model had
    seen then. combine: which weights the scores were of. arrays: slope and offset by column (temperature: a slope, for
    several labels by column); isotonic: the corners of all curves, and how many each column has.
    """

    method: str
    several: bool
    columns: int
    n: int
    t: float
    combine: str
    arrays: dict[str, np.ndarray]

    def of(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of every class, (n, classes), by scores as `decision_function` gives them."""
        from scipy.special import softmax  # here and below: it takes long to import, and most models need none of it

        s = np.asarray(scores, np.float64).reshape(len(scores), self.columns)
        if self.method == "temperature" and self.columns > 1 and not self.several:
            return np.asarray(softmax(self.arrays["slope"] * s, axis=1))
        p = self._by_column(s)
        if self.several:
            return p
        if self.columns == 1:
            return np.hstack([1 - p, p])
        total = p.sum(axis=1, keepdims=True)
        return np.divide(p, total, out=np.full_like(p, 1 / self.columns), where=total > 0)

    def _by_column(self, s: np.ndarray) -> np.ndarray:
        if self.method != "isotonic":
            from scipy.special import expit

            return np.asarray(expit(s * self.arrays["slope"] + self.arrays.get("offset", 0.0)))
        ends = np.cumsum(self.arrays["corners"])
        xs, ps = (np.split(self.arrays[name], ends[:-1]) for name in ("scores", "shares"))
        return np.column_stack([np.interp(s[:, k], xs[k], ps[k]) for k in range(self.columns)])


def calibration_of(method: str, scores: np.ndarray, truth: np.ndarray, weight: Any, model: Any) -> Calibration:
    """Fit a calibration. truth: the number of each example's class, or for several labels a matrix of flags.

    weight: of the examples; those of 0 say nothing. model: the one that gave the scores.
    """
    if not len(scores):
        raise ValueError("There are no examples to calibrate with: give some of every class.")
    several = truth.ndim == 2
    s = np.asarray(scores, np.float64).reshape(len(scores), -1)
    w = np.ones(len(s)) if weight is None else np.asarray(weight, np.float64)
    s, truth, w = s[w > 0], truth[w > 0], w[w > 0]
    columns = s.shape[1]
    flags = truth.astype(bool) if several else truth[:, None] == (np.arange(columns) if columns > 1 else 1)
    if method == "temperature" and columns > 1 and not several:
        arrays = {"slope": np.array([_inverse_temperature(s, truth, w)])}
    elif method == "temperature":  # of two classes the scores are s and -s
        pairs = [_inverse_temperature(np.column_stack([-s[:, k], s[:, k]]), flags[:, k], w) for k in range(columns)]
        arrays = {"slope": 2 * np.array(pairs)}
    elif method == "sigmoid":
        fits = [_sigmoid(s[:, k], flags[:, k], w) for k in range(columns)]
        arrays = {"slope": np.array([a for a, _ in fits]), "offset": np.array([b for _, b in fits])}
    else:
        arrays = _isotonic(s, flags, w)
    return Calibration(method, several, columns, len(s), float(model.t_), model.combine, arrays)


def check_method(method: Any) -> None:
    if method not in METHODS:
        raise ValueError(f"method={method!r}: give one of {', '.join(map(repr, METHODS))}.")


def check_calibrated(model: Any, method: str) -> Calibration:
    """Return the calibration of a model. Raise AttributeError, with what to do, if there is none."""
    calibration = getattr(getattr(model, "_learner", None), "calibration", None)
    if isinstance(calibration, Calibration):
        if calibration.combine != model.combine:
            raise AttributeError(
                f"The scores of combine={calibration.combine!r} were calibrated, but combine is now {model.combine!r}: "
                "set it back, or calibrate again with perceptrons.selection.calibrate(model, X, y)."
            )
        return calibration
    name, fitted = type(model).__name__, hasattr(model, "_learner")
    remedy = f"{name}(probability='sigmoid').fit(X, y)"
    if model.probability is not None:
        remedy = "partial_fit and learn_one do not hold out examples: use fit" if fitted else "call fit"
    raise AttributeError(
        f"{name} has no {method}: its scores say which class wins and by how much, but are not probabilities. "
        f"Calibrate them: {remedy}; or perceptrons.selection.calibrate(model, X, y) with examples that it was not "
        f"trained on; or sklearn.calibration.CalibratedClassifierCV({name}()). "
        "For shares of votes, which are not probabilities either, use combine='vote' and vote_shares(X)."
    )


def if_calibrated(model: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of this module as a method of a calibrated model. Raise AttributeError for others."""
    check_calibrated(model, method.__name__)
    return MethodType(method, model)


def predict_proba(self: Any, X: Any) -> Any:
    """Return the probability of every class for every row of X, by the calibration of the scores.

    `predict` answers by scores. The most probable class may be another: of two classes where the calibration crosses
    one half elsewhere than at the threshold, of more where every class has a curve of its own. With
    probability="temperature" they agree, unless there is a `threshold_`.
    """
    return self._by_scores(X, "predict_proba", self._learner.calibration.of)


def predict_log_proba(self: Any, X: Any) -> Any:
    """Return the logarithms of `predict_proba(X)`."""
    with np.errstate(divide="ignore"):
        return self._by_scores(X, "predict_log_proba", lambda scores: np.log(self._learner.calibration.of(scores)))


def calibrate_held_out(model: Any, scores: np.ndarray, truth: np.ndarray, weight: Any) -> None:
    """Calibrate on examples that were held out: their scores, classes or flags, and weights."""
    model._learner.calibration = calibration_of(str(model.probability), scores, truth, weight, model)


def _sigmoid(s: np.ndarray, positive: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Return slope and offset of the sigmoid with the least log loss, for slightly smoothed targets.

    The loss is convex: Newton's method, with steps halved until the loss falls.
    """
    from scipy.special import expit, log_expit

    unit = float(np.abs(s).max()) or 1.0
    n_positive, n_negative = float(w[positive].sum()), float(w[~positive].sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    x = s / unit

    def loss(at: np.ndarray) -> float:
        z = at[0] * x + at[1]
        return float(-(w * (target * log_expit(z) + (1 - target) * log_expit(-z))).sum())

    at = np.array([0.0, np.log((n_positive + 1) / (n_negative + 1))])
    now = loss(at)
    for _ in range(MAX_NEWTON_STEPS):
        p = expit(at[0] * x + at[1])
        off, curve = w * (p - target), w * p * (1 - p)
        gradient = np.array([off @ x, off.sum()])
        hessian = np.array([[curve @ (x * x), curve @ x], [curve @ x, curve.sum()]])
        step = np.linalg.solve(hessian + 1e-12 * w.sum() * np.eye(2), gradient)
        size = 1.0
        while size > 1e-10 and loss(at - size * step) > now:
            size /= 2
        if size <= 1e-10 or np.abs(size * step).max() <= 1e-14 * (1 + np.abs(at).max()):
            break
        at = at - size * step
        now = loss(at)
    return float(at[0] / unit), float(at[1])


def _inverse_temperature(s: np.ndarray, codes: np.ndarray, w: np.ndarray) -> float:
    """Return the factor of the scores by which their softmax has the least log loss; 0 if they say nothing.

    If every example is right, the larger the factor the better, without end. Then it is the one by which the mean
    probability of the answers is (n + 1) / (n + 2), the most that n right answers are evidence of (Laplace).
    """
    from scipy.optimize import brentq
    from scipy.special import softmax

    true_scores = s[np.arange(len(s)), codes.astype(np.intp)]
    unit = float(np.abs(s - true_scores[:, None]).max())
    if not unit:
        return 0.0
    x, true_scores, total = s / unit, true_scores / unit, w.sum()

    def slope(factor: float) -> float:
        return float((w * ((softmax(factor * x, axis=1) * x).sum(axis=1) - true_scores)).sum() / total)

    def doubt(factor: float) -> float:
        return float((w * softmax(factor * x, axis=1).max(axis=1)).sum() / total - (total + 1) / (total + 2))

    rising = doubt if bool((true_scores >= x.max(axis=1)).all()) else slope
    if rising(0.0) >= 0:
        return 0.0
    high = 1.0
    while rising(high) < 0:
        if high > 1e12:  # ties, which no factor makes sure of
            break
        high *= 4
    else:
        return float(brentq(rising, 0.0, high, xtol=1e-15, rtol=1e-14)) / unit
    return high / unit


def _isotonic(s: np.ndarray, flags: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
    from sklearn.isotonic import IsotonicRegression

    xs, ps = [], []
    for k in range(s.shape[1]):
        fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(s[:, k], flags[:, k], w)
        xs.append(np.asarray(fitted.X_thresholds_, np.float64))
        ps.append(np.asarray(fitted.y_thresholds_, np.float64))
    sizes = np.array([len(x) for x in xs], np.int64)
    return {"scores": np.concatenate(xs), "shares": np.concatenate(ps), "corners": sizes}
