"""The comparison (spec 13): the perceptron's variants beside its relatives, on one split, tuned alike, tested once."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from perceptrons.selection.compared import Compared
from perceptrons.selection.examples import check_labels_meet, overlap
from perceptrons.selection.grids import mean_square
from perceptrons.selection.metrics import Metric
from perceptrons.selection.relatives import LEARNERS, learners_for
from perceptrons.selection.request import request_digest
from perceptrons.selection.seal import Ledger, SealedTest
from perceptrons.selection.splitting import Part, Parts, parts_of
from perceptrons.selection.tuned import Tuned, tune
from perceptrons.theory.inputs import check_rows
from perceptrons.theory.scales import uneven

FAR_OFF = 1e8  # a mean |x|^2 of which, or 1 over it, asks for standardising


def compare(
    X: Any,
    y: Any,
    *,
    dev: Any = 0.2,
    test: Any = 0.2,
    split: str | None = None,
    groups: Any = None,
    random_state: Any = 0,
    learners: Iterable[Any] | None = None,
    metric: str | Callable[[Any, Any], float] = "accuracy",
    scale: Any = "auto",
    force: bool = False,
    ledger: "str | os.PathLike[str] | None" = None,
    max_seconds: float | None = None,
    tell: Callable[[str], None] | None = None,
) -> Compared:
    """The perceptron's variants and their relatives beside each other: same parts, tuned alike, tested once together.

    Each learner tries at most five settings on the same development examples, all relative to the scale of the data;
    epochs of perceptrons are found from the same runs. Then each learns from train and development examples together,
    and all are tested in one opening of the test part.

    When to use it: to see which kind of learner suits your data, and what that costs. When not: to get a model
    (`recipe` tunes one more finely); for several labels an example, or sequences.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Dense data on uneven scales are standardised.
    y : array of shape (n_samples,)
    dev, test : float, or tuple of X and y, default=0.2
        Shares of all examples, or data of their own.
    split : {"stratified", "grouped", "time"}, optional
        See `parts_of`.
    groups : array, optional
        The group of every example; groups stay whole.
    random_state : int, RandomState or None, default=0
        Seed of the split and, if it is an int, of the learners.
    learners : list, optional
        Exactly those to compare: names of `LEARNERS`, and tuples (name, estimator, grid) of your own, which are left
        out, with the reason, if they fail.
    metric : str or function of true and predicted labels, default="accuracy"
        What settings are chosen by and learners ranked by. Differences in accuracy are tested by McNemar's test, in
        other figures by swapping answers.
    scale : {"auto", True, False}, default="auto"
        Standardise dense data for all alike: if the largest values of features differ by more than a factor of 30 or
        all of them are very large or small, or as said. Means and deviations are of what is learned from. Sparse data
        stay as they are.
    force : bool, default=False
        Look at test examples that were looked at before; the result says so. Not needed to ask just the same again.
    ledger : path, optional
        A file that remembers looks from process to process; otherwise this process does.
    max_seconds : float, optional
        Of tuning, for each learner. What is beyond is not tried; a perceptron that makes no epoch in it is left out.
        Either is said. Another learner, which cannot be stopped, tries one setting whatever it takes, and no setting
        more than there is time for by what those before took.
    tell : function, optional
        Is told in a line what each learner did on development examples, to show progress.

    Returns
    -------
    Compared

    Examples
    --------
    >>> from perceptrons.selection import compare
    >>> from sklearn.datasets import load_iris
    >>> found = compare(*load_iris(return_X_y=True), learners=["average", "kernel", "logistic"])
    >>> sorted(row.name for row in found.rows), found.looks
    (['average', 'kernel', 'logistic'], 1)
    >>> print(found.to_markdown().splitlines()[0])
    | learner | family | accuracy | 95% interval | p | learned in s | 1,000 answers in s | kB | probabilities |
    """
    figure = Metric(metric)
    if scale not in ("auto", True, False):
        raise ValueError(f"scale={scale!r}: give 'auto', True or False.")
    if max_seconds is not None and not max_seconds > 0:
        raise ValueError(f"max_seconds={max_seconds!r}: give a number above 0, or None.")
    X, y = _examples(X, y, "")
    dev, test = (_given(part, name, X.shape[1]) for part, name in ((dev, "dev"), (test, "test")))
    parts = parts_of(X, y, dev=dev, test=test, split=split, groups=groups, random_state=random_state)
    if parts.test is None:
        raise ValueError("test=0 leaves nothing to compare on: give a share between 0 and 1, or data (X, y).")
    check_labels_meet(parts)
    settings = {"learners": learners, "metric": metric, "scale": scale, "max_seconds": max_seconds}
    request = request_digest(parts, what="compare", random_state=random_state, **settings)
    sealed = SealedTest(parts.test, Ledger(ledger), force, request)
    overlap(parts, sealed)
    held = Parts(Part(*parts.train.taken()), Part(*parts.dev.taken()), None, parts.how)
    train, y_train = held.train.taken()
    if len(np.unique(y_train)) < 2:
        raise ValueError("The train part has one class only: there must be two or more in it.")
    scaled = _scaled(train, scale)
    seed = random_state if isinstance(random_state, int) else 0
    asked = learners_for(StandardScaler().fit_transform(train) if scaled else train, learners, seed)
    learnable = parts.learnable().taken()
    tuned: list[Tuned] = []
    left_out: dict[str, str] = {}
    for learner in asked:
        try:
            reason, one = tune(learner, held, learnable, figure, scaled, max_seconds)
        except Exception as error:
            if learner.name in LEARNERS:
                raise
            reason, one = f"it failed, {type(error).__name__}: {error}", None  # the caller's own code
        if one is None:
            left_out[learner.name] = reason
        else:
            tuned.append(one)
        if tell is not None:
            tell(f"{learner.what}: left out: {reason}" if one is None else one.line(figure.name))
    if not tuned:
        raise ValueError(f"No learner is left to compare: {'; '.join(f'{n}: {r}' for n, r in left_out.items())}.")
    X_test, y_test = sealed.open()
    rows = [one.tested(X_test, y_test, figure) for one in tuned]
    sizes = {"train": len(parts.train), "dev": len(parts.dev), "test": sealed.n}
    return Compared(
        rows, left_out, np.asarray(y_test), parts, sizes, figure, scaled, sealed.looks, X.shape[1], sealed.rerun
    )


def _scaled(train: Any, scale: Any) -> bool:
    if sp.issparse(train):
        if scale is True:
            raise ValueError("scale=True: sparse data are not standardised, as their zeros would be lost.")
        return False
    if scale != "auto":
        return bool(scale)
    return uneven(train) or not 1 / FAR_OFF < mean_square(train) < FAR_OFF


def _examples(X: Any, y: Any, where: str) -> tuple[Any, np.ndarray]:
    """Numbers and one label each, as all learners take them."""
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], str):
        raise ValueError(f"{where}X holds texts: make features of them first, by HashedText or a vectorizer.")
    X = check_rows(X)
    if sp.issparse(X) and X.nnz < 2**31 and X.shape[1] < 2**31:  # liblinear reads no others
        X = sp.csr_matrix((X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32)), shape=X.shape)
    if sp.issparse(y) or (isinstance(y, list | tuple) and any(isinstance(one, list | tuple | set) for one in y)):
        raise ValueError(f"{where}y has several labels an example: compare takes one for each.")
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"{where}y has {y.ndim} dimensions: compare takes one label for each example.")
    if y.dtype.kind == "f" and not np.array_equal(y, np.round(y)):
        raise ValueError(f"{where}y holds fractions or missing values: compare takes classes.")
    return X, y


def _given(part: Any, name: str, n_features: int) -> Any:
    if not isinstance(part, tuple) or len(part) != 2:
        return part
    X, y = _examples(*part, f"{name}: ")
    if X.shape[1] != n_features:
        raise ValueError(f"{name}: has {X.shape[1]:,} features, and X has {n_features:,}: give the same.")
    return X, y
