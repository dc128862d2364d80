"""Decides whether the perceptron converges, bounds its updates, and traces how it approaches a solution."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from perceptrons.engine.rows import add, dot
from perceptrons.engine.training.base import learner_of, seed_of
from perceptrons.engine.training.inputs import as_rows
from perceptrons.engine.training.parameters import check_choices
from perceptrons.linear import Perceptron
from perceptrons.theory.bounds import falling_distance, mistake_bound, most_updates
from perceptrons.theory.certificate import Certificate
from perceptrons.theory.examples import Clock, Examples, augmented, check_examples
from perceptrons.theory.geometry import norms
from perceptrons.theory.model_bound import starting_weights
from perceptrons.theory.results import TheoryResult
from perceptrons.theory.separability import separability

MAX_EPOCHS = 2**31 - 1  # of one run
MAX_TRACED_UPDATES = 10**13  # with more, float64 cannot hold the change of the distance at an update


@dataclass(frozen=True, eq=False)
class Convergence(TheoryResult):
    """The result of `convergence`.

    Attributes
    ----------
    converges : True, False or None
        Whether the data are linearly separable. None: not decided within the time limit.
    at_most : int or None
        The largest possible number of updates from this start and with this learning rate, in any order.
    updates, epochs : int or None
        The updates and epochs of the run, including the last epoch without a mistake; None if it was not run, or did
        not finish in time.
    rho : float or None
        The scale of the solution for which |w_k - rho w*|^2 falls at every update: eta0 R^2 / gamma.
    solution : tuple of coef and intercept, or None
        w*, of norm 1 together: that of the largest margin.
    trace : array of shape (updates + 1,) or None
        |w_k - rho w*|^2 for k = 0, 1, ..., bias included. Not given for margins so small (`at_most` above 10^13) that
        its steps would be lost in rounding.
    certificate : Certificate
        The proof that the data are separable, or that they are not.
    """

    _shown = ("converges", "at_most", "updates", "epochs")

    converges: bool | None
    at_most: int | None
    updates: int | None
    epochs: int | None
    rho: float | None
    solution: tuple[Any, Any] | None
    trace: np.ndarray | None
    certificate: Certificate

    def explain(self) -> str:
        """Return the result in words."""
        if self.converges is None:
            return f"It is not known whether the perceptron converges. {self.certificate.explain()}"
        if not self.converges:
            return f"The perceptron never converges: it makes mistakes in every epoch. {self.certificate.explain()}"
        text = f"The perceptron converges after at most {self.at_most:,} updates from this start, in any order"
        if self.updates is None:
            return f"{text}. The run did not finish within the time limit."
        text += f"; in this order it took {self.updates:,}, in {self.epochs:,} epochs"
        if self.trace is None:
            return f"{text}."
        return f"{text}, and |w - rho w*|^2 fell from {self.trace[0]:.4g} to {self.trace[-1]:.4g}."


def convergence(
    X: Any,
    y: Any,
    *,
    init: Any = "zeros",
    eta0: float = 1.0,
    fit_intercept: bool = True,
    shuffle: bool = False,
    random_state: Any = 0,
    trace: bool = False,
    max_seconds: float | None = None,
) -> Convergence:
    """Decide whether the perceptron converges on these data, bound its updates, and run it until it converges.

    The run uses Rosenblatt's rule, `Perceptron(combine="last", margin=0, intercept_scaling=1)`, until an epoch
    makes no mistake. It converges because |w - rho w*|^2 falls by at least eta0^2 R^2 at every update, for a suitable
    rho and a solution w*. R is the length of the longest example, for several classes that of f(x, y) - f(x, r), which
    is sqrt(2) times as long.

    Use it to see the convergence theorem at work, and how the start, the learning rate and the order matter. To train,
    use `Perceptron.fit`. On data with a very small margin, give `max_seconds`, because the run may be as long as the
    bound.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`; dense or sparse, one label per example
    init : {"zeros", "ones", "random"} or tuple of coef and intercept, default="zeros"
        The start.
    eta0 : float, default=1.0
    fit_intercept : bool, default=True
    shuffle : bool, default=False
        Whether to use a new random order in every epoch, by `random_state`; otherwise the order of X.
    random_state : int, RandomState or None, default=0
    trace : bool, default=False
        Whether to keep the trace. It needs 80 bytes per update, and a copy of the examples that made one.
    max_seconds : float, optional
        The time limit for everything; what is not decided or finished by then is None.

    Returns
    -------
    Convergence

    Examples
    --------
    >>> from perceptrons.theory import convergence
    >>> result = convergence([[0.0, 2.0], [0.0, -2.0], [1.0, 2.0]], [1, 0, 1], init=([0.0, -1.0], 0.0), trace=True)
    >>> result.converges, result.at_most, result.updates, result.epochs
    (True, 2, 1, 2)
    >>> bool((result.trace[1:] < result.trace[:-1]).all())
    True
    """
    clock = Clock(max_seconds)
    examples = check_examples(X, y)
    init_name: Any = init if isinstance(init, str) else "zeros"
    init_weights = (None, None) if isinstance(init, str) else _check_init(init, len(examples.classes))
    model = Perceptron(
        margin=0,
        intercept_scaling=1,
        combine="vote" if trace else "last",
        init=init_name,
        eta0=eta0,
        fit_intercept=fit_intercept,
        shuffle=shuffle,
        random_state=random_state,
        tol=None,
        max_seconds=clock.seconds,
    )
    check_choices(model)
    model.random_state = seed_of(model)
    start = starting_weights(model, examples, examples.X.dtype, model.random_state, 1.0, *init_weights)
    labels = examples.classes[examples.codes]
    certificate = separability(examples.X, labels, max_seconds, fit_intercept=bool(fit_intercept))
    nothing_known = Convergence(certificate.separable, None, None, None, None, None, None, certificate)
    if not certificate.separable:
        return nothing_known
    bound = mistake_bound(examples.X, examples.codes, fit_intercept=bool(fit_intercept), max_seconds=clock.left)
    if bound.deviation > 0:  # the time was up before the margin was known
        return nothing_known
    at_most = most_updates(bound, start, float(eta0), 0.0)
    solution, rho = falling_distance(bound, eta0)
    model.set_params(max_iter=min(MAX_EPOCHS, at_most + 1), max_seconds=clock.left)
    model.fit(examples.X, examples.codes, *init_weights)
    finished = model.converged_
    return Convergence(
        converges=True,
        at_most=at_most,
        updates=int(model.n_updates_) if finished else None,
        epochs=model.n_iter_ if finished else None,
        rho=rho,
        solution=(bound.coef, bound.intercept),
        trace=_trace(model, examples, start - rho * solution) if trace and at_most < MAX_TRACED_UPDATES else None,
        certificate=certificate,
    )


def _trace(model: Perceptron, examples: Examples, v: np.ndarray) -> np.ndarray:
    """Return |v_k|^2 after every update of the log, in float64, from v = w_0 - rho w*, which changes.

    An update v += step a, with a = y x or f(x, y) - f(x, y_hat), adds step (2 a·v + step |a|^2).
    """
    votes, several = learner_of(model).votes, len(v) > 1
    assert votes is not None  # combine="vote"
    matrix = votes.matrix(examples.X.shape[1])
    support = augmented(examples._replace(X=matrix), float(model.fit_intercept)).X.astype(np.float64)
    rows, squares = as_rows(support), norms(support) ** 2
    v = v[..., : support.shape[1]]  # without intercept there is no bias to follow
    distances = [float(np.sum(v * v))]
    for _, i, y, y_hat, step in votes.log:
        x, distance = int(i), distances[-1]
        for part, change in ((v[int(y)], step), (v[int(y_hat)], -step)) if several else ((v[0], step if y else -step),):
            distance += change * (2 * float(dot(rows, x, part)) + change * squares[x])
            add(rows, x, change, part)
        distances.append(distance)
    return np.array(distances)


def _check_init(init: Any, K: int) -> tuple[Any, Any]:
    if not (isinstance(init, tuple | list) and len(init) == 2):
        raise ValueError(f"init={init!r}: give 'zeros', 'ones', 'random', or a tuple of coef and intercept.")
    return init[0], np.full(K, init[1]) if K > 2 and np.ndim(init[1]) == 0 else init[1]
