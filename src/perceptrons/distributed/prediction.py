"""Lazy predictions and scores on dask collections, which are computed where the chunks are."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from perceptrons.distributed.clients import need_dask
from perceptrons.distributed.shards import partitions
from perceptrons.engine.training.base import learner_of
from perceptrons.linear import Perceptron
from perceptrons.sequence import SequencePerceptron


def predict(model: Any, X: Any) -> Any:
    """Return the predictions for a dask array or dataframe as a lazy dask array; for a bag of sequences, a lazy bag.

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
        return _bag(X).map_partitions(_of_list, _shared(model), "predict")
    form = learner_of(model).form
    if form in ("array", "sparse"):
        return _by_block(model, X, _predict, np.dtype(np.intp), len(model.classes_))
    return _by_block(model, X, _predict, model.classes_.dtype if form == "single" else np.dtype(object), 0)


def decision_function(model: Any, X: Any) -> Any:
    """Return the scores for a dask array or dataframe as a lazy dask array; for a bag of sequences, a bag of arrays."""
    _check(model)
    if isinstance(model, SequencePerceptron):
        return _bag(X).map_partitions(_of_list, _shared(model), "decision_function")
    learner = learner_of(model)
    width = len(learner.classes) if len(learner.classes) > 2 or learner.scheme == "labels" else 0
    return _by_block(model, X, _scores, np.dtype(learner.dtype), width)


def score(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Return the accuracy, the share of examples predicted correctly, as a lazy number: `float(...)` computes it.

    Every chunk is scored where it is, and sends only two numbers. For a SequencePerceptron, X is a bag of pairs
    (tokens, labels), and the result is the share of tokens.
    """
    _check(model)
    import dask.array as da
    from dask import delayed

    if isinstance(model, SequencePerceptron):
        if y is not None or sample_weight is not None:
            raise ValueError("X is a bag of pairs (tokens, labels): leave y and sample_weight out.")
        shared = _shared(model)
        counts = [delayed(_count_right_tokens)(part, shared) for part in _bag(X).to_delayed()]
    else:
        if y is None:
            raise ValueError("y=None: labels are required, as a dask array or series with the partitions of X.")
        shared, blocks = _shared(model), [partitions(X, "X"), partitions(y, "y", X)]
        blocks.append(
            [None] * len(blocks[0]) if sample_weight is None else partitions(sample_weight, "sample_weight", X)
        )
        counts = [delayed(_count_right)(shared, *block) for block in zip(*blocks, strict=True)]
    return da.from_delayed(delayed(_accuracy)(counts), shape=(), dtype=np.float64)


def _check(model: Any) -> None:
    need_dask()
    if not isinstance(model, Perceptron | SequencePerceptron):
        raise TypeError(f"model is a {type(model).__name__}: give a fitted Perceptron or SequencePerceptron.")
    check_is_fitted(model)


def _shared(model: Any) -> Any:
    """Return the model as one value in the graph, which all chunks share."""
    from dask import delayed

    return delayed(model, pure=False, traverse=False)


def _bag(X: Any) -> Any:
    import dask.bag

    if not isinstance(X, dask.bag.Bag):
        raise TypeError(f"X is {type(X).__name__}: for a SequencePerceptron give a dask bag.")
    return X


def _by_block(model: Any, X: Any, function: Callable[[Any, Any], Any], dtype: np.dtype, width: int) -> Any:
    """Return the array of function(model, block) for every row block of X. width: its columns; 0: a vector."""
    import dask.array as da
    from dask import delayed

    shared = _shared(model)
    results = [delayed(function)(shared, block) for block in partitions(X, "X")]
    n_rows = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * len(results)
    columns = (width,) if width else ()
    return da.concatenate(
        [da.from_delayed(result, shape=(n, *columns), dtype=dtype) for result, n in zip(results, n_rows, strict=True)],
        allow_unknown_chunksizes=True,
    )


def _predict(model: Any, X: Any) -> Any:
    form = learner_of(model).form
    if not X.shape[0]:
        return np.empty((0, len(model.classes_)), np.intp) if form in ("array", "sparse") else model.classes_[:0]
    predicted = model.predict(X)
    if isinstance(predicted, list):  # label sets, which must not become a matrix
        label_sets = np.empty(len(predicted), object)
        for row, labels in enumerate(predicted):
            label_sets[row] = labels
        return label_sets
    return predicted.toarray() if hasattr(predicted, "toarray") else predicted


def _scores(model: Any, X: Any) -> np.ndarray:
    if not X.shape[0]:
        n = len(model.classes_)
        return np.empty((0, n) if n > 2 or learner_of(model).scheme == "labels" else 0, learner_of(model).dtype)
    return model.decision_function(X)


def _of_list(sequences: Any, model: Any, method: str) -> list[Any]:
    return getattr(model, method)(list(sequences))


def _count_right(model: Any, X: Any, y: Any, weight: Any) -> tuple[float, float]:
    """Return the number of correct predictions, and of examples, by weight."""
    n = X.shape[0]
    if not n:
        return 0.0, 0.0
    total = float(n if weight is None else np.sum(weight))
    return (model.score(X, y, sample_weight=weight) * total if total else 0.0), total


def _count_right_tokens(pairs: Any, model: Any) -> tuple[float, float]:
    pairs = list(pairs)
    n = sum(len(labels) for _, labels in pairs)
    if not n:
        return 0.0, 0.0
    return model.score([tokens for tokens, _ in pairs], [labels for _, labels in pairs]) * n, float(n)


def _accuracy(counts: list[tuple[float, float]]) -> np.float64:
    total = sum(n for _, n in counts)
    if not total:
        raise ValueError("There are no examples to score on.")
    return np.float64(sum(right for right, _ in counts) / total)
