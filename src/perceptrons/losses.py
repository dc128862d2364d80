"""The perceptron's loss function and others to compare it with: values and (sub)gradients.

Two classes: y is -1 or +1, and s of shape (n,) has one score per example; the loss depends on the margin y s. More
classes: y has class numbers, and s of shape (n, K) one score per class. The gradient with respect to the weights is
that with respect to s, times x.
"""

from abc import ABC, abstractmethod
from numbers import Real
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

ValueAndGradient = tuple[np.ndarray, np.ndarray]


class Loss(ABC):
    """A loss of labels and scores, one value per example. Take one of `ALL`, or make a `Hinge`.

    Examples
    --------
    >>> from perceptrons import losses
    >>> losses.perceptron.value([1, 1, -1], [2.0, -0.5, 0.5])
    array([0. , 0.5, 0.5])
    >>> losses.perceptron.gradient([1, 1, -1], [2.0, -0.5, 0.5])
    array([ 0., -1.,  1.])
    >>> losses.perceptron.gradient([2], [[1.0, 3.0, 1.5]])  # three classes, the last is the true one
    array([[ 0.,  1., -1.]])
    >>> {name: float(loss.of_margin(0.5).round(2)) for name, loss in losses.ALL.items()}
    {'perceptron': 0.0, 'hinge': 0.5, 'zero_one': 0.0, 'squared': 0.25, 'logistic': 0.47}
    """

    name: str

    def value(self, y: ArrayLike, s: ArrayLike) -> np.ndarray:
        """Return the loss of every example, (n,): y of -1 and +1 with s (n,), or class numbers with s (n, K)."""
        return self._value_and_gradient(y, s)[0]

    def gradient(self, y: ArrayLike, s: ArrayLike) -> np.ndarray:
        """Return the derivative with respect to s, in its shape; at a kink the subgradient that the perceptron takes.

        There a score of exactly 0 is a mistake, a margin that is only just reached is not enough, and a tie of classes
        goes to the first. So minus the gradient of the perceptron loss, times x, is the update of the perceptron rule.
        """
        return self._value_and_gradient(y, s)[1]

    def of_margin(self, z: ArrayLike) -> np.ndarray:
        """Return the loss for two classes at margins z = y s of any shape; with a cost, that of the label +1."""
        z = _numbers("z", z)
        return self._two(np.ones_like(z), z)[0]

    def __repr__(self) -> str:
        return f"<{self.name} loss>"

    def _value_and_gradient(self, y: ArrayLike, s: ArrayLike) -> ValueAndGradient:
        y, s = _examples(y, s)
        return self._two(y, s) if s.ndim == 1 else self._several(y, s)

    @abstractmethod
    def _two(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        """Return the loss and its derivative for scores of shape (n,)."""

    @abstractmethod
    def _several(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        """Return the same for scores of shape (n, K)."""


class Hinge(Loss):
    """max(0, margin - y s);  for more classes max_k (s_k + [k != y] margin + cost[y, k]) - s_y  (Crammer and Singer).

    Use it for a large margin: correct predictions close to the boundary cost too, as in a support vector machine.

    Parameters
    ----------
    margin : float, optional
        At least 0. Default: 1, or 0 if there is a cost.
    cost : array of shape (K, K), optional
        cost[y, k] is the cost of predicting k if y is true: not negative, 0 on the diagonal. With scores of shape (n,)
        it is 2 by 2, -1 before +1.

    Examples
    --------
    >>> from perceptrons import losses
    >>> losses.Hinge(margin=2).value([1, -1], [1.5, 1.5])
    array([0.5, 3.5])
    >>> losses.Hinge(cost=[[0, 1, 5], [1, 0, 1], [1, 1, 0]]).value([0, 2], [[3.0, 0, 0], [3, 0, 0]])
    array([2., 4.])
    """

    def __init__(self, margin: float | None = None, cost: ArrayLike | None = None) -> None:
        if margin is not None and not (isinstance(margin, Real) and 0 <= margin < np.inf):
            raise ValueError(f"margin={margin!r}: give a number of at least 0.")
        self.margin = float(margin) if margin is not None else 1.0 if cost is None else 0.0
        self.cost = None if cost is None else _costs(cost)
        self.name = ("hinge" if self.margin == 1 else f"hinge, margin {self.margin:g}") + ", cost" * (cost is not None)

    def _two(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        margin = self._distance((y > 0).astype(np.intp), 2, s.dtype).max(axis=-1)
        return np.maximum(0, margin - y * s), np.where(y * s <= margin, -y, 0)

    def _several(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        augmented = s + self._distance(y, s.shape[1], s.dtype)
        y_hat = augmented.argmax(axis=1)
        true = _one_hot(y, s)
        return augmented.max(axis=1) - s[true > 0], _one_hot(y_hat, s) - true

    def _distance(self, y: np.ndarray, K: int, dtype: np.dtype) -> np.ndarray:
        """Return the lead over each class that y must have: margin + cost[y, k], and 0 for k = y."""
        if self.cost is not None and len(self.cost) != K:
            raise ValueError(f"cost has the shape {self.cost.shape}, but there are {K} classes: give ({K}, {K}).")
        others = np.arange(K) != y[..., None]
        return (others * (self.margin + (0.0 if self.cost is None else self.cost[y]))).astype(dtype)


class PerceptronLoss(Hinge):
    """max(0, -y s): 0 when right, |s| when wrong;  for more classes max_k s_k - s_y.  It is the hinge of margin 0.

    Use it to learn online from mistakes alone: a gradient step on one example is the perceptron rule. Do not minimise
    it over a whole data set: weights of zero already make it zero.
    """

    def __init__(self) -> None:
        super().__init__(margin=0)
        self.name = "perceptron"


class ZeroOne(Loss):
    """1 for a mistake, y s <= 0 or argmax_k s_k != y, and 0 otherwise.

    Use it to report, not to learn: its gradient is 0 wherever it has one, and is returned as 0 everywhere.
    """

    name = "zero_one"

    def _two(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        return (y * s <= 0).astype(s.dtype), np.zeros_like(s)

    def _several(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        return (s.argmax(axis=1) != y).astype(s.dtype), np.zeros_like(s)


class Squared(Loss):
    """(y - s)^2 = (1 - y s)^2;  for more classes sum_k (s_k - [k = y])^2.

    Use it for least squares in closed form, if scores stay near the targets: an example that is "too correct",
    y s > 1, costs as much as a mistake.
    """

    name = "squared"

    def _two(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        return (s - y) ** 2, 2 * (s - y)

    def _several(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        off = s - _one_hot(y, s)
        return (off**2).sum(axis=1), 2 * off


class Logistic(Loss):
    """log(1 + exp(-y s));  for more classes log(sum_k exp(s_k)) - s_y, the cross-entropy of the softmax.

    Use it for scores that should become probabilities, 1 / (1 + exp(-s)) or the softmax. It is never quite 0.
    """

    name = "logistic"

    def _two(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        small = np.exp(-np.abs(s))  # exp without overflow
        return np.logaddexp(0, -y * s), -y * np.where(y * s > 0, small, 1) / (1 + small)

    def _several(self, y: np.ndarray, s: np.ndarray) -> ValueAndGradient:
        true = _one_hot(y, s) > 0
        p = np.exp(s - s.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[true] = 0
        p[true] = -p.sum(axis=1)  # p - 1, also where p is almost 1
        return np.logaddexp.reduce(s - s[true][:, None], axis=1), p


perceptron, hinge, zero_one, squared, logistic = PerceptronLoss(), Hinge(), ZeroOne(), Squared(), Logistic()
ALL = MappingProxyType({loss.name: loss for loss in (perceptron, hinge, zero_one, squared, logistic)})


def _one_hot(y: np.ndarray, s: np.ndarray) -> np.ndarray:
    return (np.arange(s.shape[1]) == y[:, None]).astype(s.dtype)


def _examples(y: ArrayLike, s: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return checked labels and scores: y as numbers of the type of s, or as indices of its columns."""
    y, s = _numbers("y", y), _numbers("s", s)
    if s.ndim not in (1, 2) or (s.ndim == 2 and s.shape[1] < 2):
        raise ValueError(f"s has the shape {s.shape}: give (n,) for two classes, or (n, K) with one score per class.")
    if y.shape != s.shape[:1]:
        raise ValueError(f"y has the shape {y.shape} and s {s.shape}: give one label per example, ({len(s)},).")
    if s.ndim == 1:
        advice = "with scores of shape (n,), labels must be -1 and +1. Convert them: np.where(y == positive, 1, -1)."
        _refuse("y", y, np.abs(y) != 1, advice)
        return y.astype(s.dtype), s
    K = s.shape[1]
    advice = f"with scores of shape (n, {K}) labels must be class numbers, 0 to {K - 1}: np.searchsorted(classes, y)."
    _refuse("y", y, (y < 0) | (y >= K) | (y != np.floor(y)), advice)
    return y.astype(np.intp), s


def _costs(cost: ArrayLike) -> np.ndarray:
    matrix = _numbers("cost", cost).astype(float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"cost has the shape {matrix.shape}: give (K, K), one row per true class.")
    is_invalid = (matrix < 0) | (matrix * np.eye(len(matrix)) > 0)
    _refuse("cost", matrix, is_invalid, "give costs of at least 0, 0 on the diagonal.")
    return matrix


def _numbers(name: str, values: ArrayLike) -> np.ndarray:
    """Return values as an array of finite numbers; float32 stays float32."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    if array.dtype.kind not in "iuf" or np.ma.is_masked(values):
        raise ValueError(f"{name} is {type(values).__name__} of {array.dtype}: give numbers, none of them masked.")
    _refuse(name, array, ~np.isfinite(array), "give finite numbers; look for NaN or overflow in data and weights.")
    return array.astype(np.result_type(array.dtype, np.float32), copy=False)


def _refuse(name: str, array: np.ndarray, is_invalid: np.ndarray, advice: str) -> None:
    """Raise ValueError for the first invalid value."""
    if is_invalid.any():
        place = np.unravel_index(np.argmax(is_invalid), is_invalid.shape)
        raise ValueError(f"{name}{[int(i) for i in place] or ''} = {array[place]}: {advice}")
