"""Predictions and scores on dask collections: nothing is computed before it is asked for, each where its chunk is."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from perceptrons.distributed.clients import need_dask
from perceptrons.distributed.shards import partitions
from perceptrons.engine.training.base import learner_of
from perceptrons.linear import Perceptron
from perceptrons.sequence import SequencePerceptron


def predict(model: Any, X: Any) -> Any:
    """The predictions for a dask array, dataframe or bag, as a lazy dask array; for a bag of sequences a lazy bag.

    Parameters
    ----------
    model : fitted Perceptron or SequencePerceptron
    X : dask array or dataframe; for a SequencePerceptron a dask bag of sequences

    Examples
    --------
    >>> import dask.array as da, distributed, numpy as np, perceptrons
    >>> from perceptrons.distributed import predict, score
    >>> rows, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = perceptrons.Perceptron(combine="last").fit(rows, labels)
    >>> X, y = da.from_array(rows, chunks=(2, 1)), da.from_array(labels, chunks=2)
    >>> with distributed.Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0"):
    ...     predict(model, X).compute().tolist(), float(score(model, X, y))
    ([0, 0, 1, 1], 1.0)
    """
    _check(model)
    if isinstance(model, SequencePerceptron):
        return _bag(X).map_partitions(_predict_list, _sent(model))
    form = learner_of(model).form
    if form == "single":
        return _by_block(model, X, _predict, model.classes_.dtype, 0)
    if form in ("array", "sparse"):
        return _by_block(model, X, _predict, np.dtype(np.intp), len(model.classes_))
    return _by_block(model, X, _predict, np.dtype(object), 0)


def decision_function(model: Any, X: Any) -> Any:
    """The scores for a dask array or dataframe, as a lazy dask array; for a bag of sequences a lazy bag of arrays."""
    _check(model)
    if isinstance(model, SequencePerceptron):
        return _bag(X).map_partitions(_scores_list, _sent(model))
    learner = learner_of(model)
    width = len(learner.classes) if len(learner.classes) > 2 or learner.scheme == "labels" else 0
    return _by_block(model, X, _scores, np.dtype(learner.dtype), width)


def score(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """The share of examples answered right, as a lazy number: `float(...)` or `.compute()` works it out.

    Every chunk is counted where it is; only two numbers a chunk travel. For a SequencePerceptron X is a bag of pairs
    (tokens, labels), and the share is that of tokens.
    """
    _check(model)
    import dask.array as da
    from dask import delayed

    if isinstance(model, SequencePerceptron):
        if y is not None or sample_weight is not None:
            raise ValueError("X is a bag of pairs (tokens, labels): leave y and sample_weight out.")
        sent = _sent(model)
        counts = [delayed(_right_list)(part, sent) for part in _bag(X).to_delayed()]
    else:
        if y is None:
            raise ValueError("y=None: labels are required, as a dask array or series with the partitions of X.")
        sent, blocks = _sent(model), [partitions(X, "X"), partitions(y, "y", X)]
        blocks.append(
            [None] * len(blocks[0]) if sample_weight is None else partitions(sample_weight, "sample_weight", X)
        )
        counts = [delayed(_right)(sent, *block) for block in zip(*blocks, strict=True)]
    return da.from_delayed(delayed(_share)(counts), shape=(), dtype=np.float64)


def _check(model: Any) -> None:
    need_dask()
    if not isinstance(model, Perceptron | SequencePerceptron):
        raise TypeError(f"model is a {type(model).__name__}: give a fitted Perceptron or SequencePerceptron.")
    check_is_fitted(model)


def _sent(model: Any) -> Any:
    """The model as one value in the graph, however many chunks use it."""
    from dask import delayed

    return delayed(model, pure=False, traverse=False)


def _bag(X: Any) -> Any:
    import dask.bag

    if not isinstance(X, dask.bag.Bag):
        raise TypeError(f"X is {type(X).__name__}: for a SequencePerceptron give a dask bag.")
    return X


def _by_block(model: Any, X: Any, work: Any, dtype: np.dtype, width: int) -> Any:
    """An array of what `work` makes of each row block of X; width: columns of it, 0 for a plain vector."""
    import dask.array as da
    from dask import delayed

    sent = _sent(model)
    made = [delayed(work)(sent, block) for block in partitions(X, "X")]
    rows = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * len(made)
    more = (width,) if width else ()
    return da.concatenate(
        [da.from_delayed(one, shape=(n, *more), dtype=dtype) for one, n in zip(made, rows, strict=True)],
        allow_unknown_chunksizes=True,
    )


def _predict(model: Any, X: Any) -> Any:
    form = learner_of(model).form
    if not X.shape[0]:
        return np.empty((0, len(model.classes_)), np.intp) if form in ("array", "sparse") else model.classes_[:0]
    predicted = model.predict(X)
    if isinstance(predicted, list):  # label sets, which NumPy must not make a matrix of
        answers = np.empty(len(predicted), object)
        for row, labels in enumerate(predicted):
            answers[row] = labels
        return answers
    return predicted.toarray() if hasattr(predicted, "toarray") else predicted


def _scores(model: Any, X: Any) -> np.ndarray:
    if not X.shape[0]:
        n = len(model.classes_)
        return np.empty((0, n) if n > 2 or learner_of(model).scheme == "labels" else 0, learner_of(model).dtype)
    return model.decision_function(X)


def _predict_list(sequences: Any, model: Any) -> list[Any]:
    return model.predict(list(sequences))


def _scores_list(sequences: Any, model: Any) -> list[Any]:
    return model.decision_function(list(sequences))


def _right(model: Any, X: Any, y: Any, weight: Any) -> tuple[float, float]:
    """How many are right, and how many there are, by weight."""
    n = X.shape[0]
    if not n:
        return 0.0, 0.0
    total = float(n if weight is None else np.sum(weight))
    return (model.score(X, y, sample_weight=weight) * total if total else 0.0), total


def _right_list(pairs: Any, model: Any) -> tuple[float, float]:
    pairs = list(pairs)
    n = sum(len(labels) for _, labels in pairs)
    if not n:
        return 0.0, 0.0
    return model.score([tokens for tokens, _ in pairs], [labels for _, labels in pairs]) * n, float(n)


def _share(counts: list[tuple[float, float]]) -> np.float64:
    total = sum(n for _, n in counts)
    if not total:
        raise ValueError("There are no examples to score on.")
    return np.float64(sum(right for right, _ in counts) / total)
