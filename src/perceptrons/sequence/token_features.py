"""Features of tokens as users give them: attribute strings, dicts of features, or the rows of a matrix.

What came in training has a number; features of raw tokens by templates: `template_features.py`.
"""

import math
from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.rows import Sparse
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.inputs import Growth, check_matrix, largest
from perceptrons.sequence.templates import template_features
from perceptrons.sequence.tokens import (
    TokenFeatures,
    Tokens,
    ends_of,
    flat,
    from_lengths,
    hashed,
    numbered,
    ones,
    only,
    place,
    tokens_of,
)

LISTS = (list, tuple, set, frozenset)


def is_matrix(X: Any) -> bool:
    """Return whether X has one row per token, and no sequences."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "biufc"
    return isinstance(X, TokenFeatures) or sp.issparse(X) or hasattr(X, "columns")


def features_for(estimator: Any, X: Any) -> Any:
    """Return what gives features their numbers, for a model that begins with these sequences."""
    if is_matrix(X):
        for name, plain in (("templates", None), ("min_count", 1), ("hash_bits", None)):
            if getattr(estimator, name) != plain:
                raise ValueError(f"{name}={getattr(estimator, name)!r} is for tokens, but X is a matrix of features.")
        return MatrixFeatures(0)
    if estimator.templates is not None:
        return template_features(estimator.templates, int(estimator.min_count), estimator.hash_bits)
    return NamedFeatures(int(estimator.min_count), estimator.hash_bits)


def read_tokens(estimator: Any, features: Any, X: Any, lengths: Any, reset: bool) -> Any:
    """Return the tokens of sequences as these features read them, checked. reset: of a model that begins."""
    dtype = None if reset else learner_of(estimator).dtype
    growth = Growth(eta=float(estimator.eta0))
    if features.kind == "matrix":
        if not is_matrix(X):
            raise ValueError("The model was created with a matrix, but X is now a list of sequences: fit it again.")
        return features.read(X, lengths, dtype, growth, estimator, reset)
    if is_matrix(X):
        raise ValueError("The model was created with lists of tokens, but X is now a matrix: fit it again.")
    if lengths is not None:
        raise ValueError("lengths is for a matrix, but X is a list of sequences: leave it out.")
    return features.read(X, dtype, growth)


class NamedFeatures:
    """The numbers of features by name; `waiting`: how often those were seen that are not known yet."""

    kind = "names"

    def __init__(self, min_count: int, hash_bits: int | None):
        self.min_count, self.hash_bits = min_count, hash_bits
        self.numbers: dict[str, int] = {}
        self.waiting: dict[str, int] = {}

    @property
    def n_features(self) -> int:
        return len(self.numbers) if self.hash_bits is None else 2**self.hash_bits

    def names(self) -> list[str]:
        if self.hash_bits is not None:
            return [f"#{number}" for number in range(self.n_features)]
        return list(self.numbers)

    def read(self, X: Any, dtype: Any, growth: Growth) -> "Named":
        """Return the tokens of sequences with their features by name, checked. dtype: of the model, if there is one."""
        tokens, starts = flat(X)
        kinds = set(map(type, tokens))
        if kinds & {set, frozenset}:  # in an order that is the same tomorrow
            tokens = [sorted(token, key=str) if isinstance(token, set | frozenset) else token for token in tokens]
        if kinds <= set(LISTS):
            values, ends = None, ends_of(map(len, tokens), len(tokens))
            strings, codes = _strings(tokens, starts)
        else:
            names, values, ends = _from_dicts(tokens, starts, largest(dtype or np.float64, growth))
            strings, codes = numbered(names)
        return Named(strings, codes, values, ends, starts)

    def tokens(self, named: "Named", dtype: Any, learn: bool) -> Tokens:
        """Return the rows of known features. learn: first number what is new."""
        strings, codes, values, ends, starts = named
        if self.hash_bits is not None:
            mask = 2**self.hash_bits - 1
            numbers = np.fromiter((hashed(string) & mask for string in strings), np.int32, len(strings))
        else:
            if learn:
                self._learn(strings, codes)
            numbers = np.fromiter(map(self.numbers.get, strings, repeat(-1)), np.int32, len(strings))
        columns = numbers[codes]
        is_known = columns >= 0
        if not is_known.all():
            ends = np.concatenate([[0], np.cumsum(is_known)])[ends]
            columns = columns[is_known]
            values = values[is_known] if values is not None else None
        values = ones(len(columns), dtype) if values is None else values.astype(dtype, copy=False)
        return Tokens(Sparse(values, columns, ends), starts)

    def forget_waiting(self) -> None:
        """Do nothing: no feature waits."""
        self.waiting = {name: count for name, count in self.waiting.items() if count >= self.min_count}

    def _learn(self, strings: list[str], codes: np.ndarray) -> None:
        """Give numbers to names that are new, in their order of coming, once they came often enough."""
        numbers, waiting = self.numbers, self.waiting
        if self.min_count == 1:
            new = [name for name in strings if name not in numbers]
            numbers.update(zip(new, range(len(numbers), len(numbers) + len(new)), strict=True))
            return
        for name, count in zip(strings, np.bincount(codes, minlength=len(strings)).tolist(), strict=True):
            if name in numbers:
                continue
            count += waiting.pop(name, 0)
            if count >= self.min_count:
                numbers[name] = len(numbers)
            else:
                waiting[name] = count


class Named(NamedTuple):
    """Names of features, token by token."""

    strings: list[str]  # the distinct names, in order of coming
    codes: np.ndarray  # which of them each feature of a token has
    values: np.ndarray | None  # None: all are 1
    ends: np.ndarray  # the features of token t are ends[t]:ends[t + 1]
    starts: np.ndarray  # the tokens of sequence i are starts[i]:starts[i + 1]

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float32 if self.values is None else np.float64)

    def sequences(self, selected: np.ndarray) -> "Named":
        """Return some of the sequences, as if there were no others."""
        tokens, starts = tokens_of(self.starts, selected)
        features, ends = tokens_of(self.ends, tokens)
        values = None if self.values is None else self.values[features]
        return Named(*only(self.strings, self.codes[features]), values, ends, starts)


def _strings(tokens: list[Any], starts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the distinct attributes of tokens, and which of them each is."""
    try:
        return numbered(list(chain.from_iterable(tokens)))
    except TypeError:
        for at, token in enumerate(tokens):
            _check_strings(token, place(starts, at))
        raise


def _check_strings(token: Any, place_name: str) -> None:
    for name in token:
        if not isinstance(name, str):
            raise TypeError(
                f"A feature of {place_name} is {name!r} ({type(name).__name__}): attributes must be strings. Give "
                "features with values as a dict."
            )


def _from_dicts(tokens: list[Any], starts: np.ndarray, limit: float) -> tuple[list[str], np.ndarray | None, np.ndarray]:
    names: list[str] = []
    values: list[float] = []
    numbers: list[str] = []  # names of features that came with a number
    ends = np.zeros(len(tokens) + 1, np.int64)
    for at, token in enumerate(tokens):
        if isinstance(token, Mapping):
            try:
                _add(token, "", names, values, numbers, limit)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{str(error).rstrip('.')}, in {place(starts, at)}.") from error
        elif isinstance(token, LISTS):
            _check_strings(token, place(starts, at))
            names += token
            values += [1.0] * len(token)
        else:
            raise TypeError(
                f"{place(starts, at).capitalize()} is {token!r} ({type(token).__name__}): a token must be a dict of "
                "features or a list of attribute strings; for plain words give templates=FeatureTemplates(...)."
            )
        ends[at + 1] = len(names)
    return names, (np.array(values) if numbers else None), ends


def _add(
    features: Mapping[Any, Any], prefix: str, names: list[str], values: list[float], numbers: list[str], limit: float
) -> None:
    """Add the features of one dict to the lists."""
    for name, value in features.items():
        if not isinstance(name, str):
            raise TypeError(f"Feature name {name!r} is {type(name).__name__}: feature names must be strings")
        name = prefix + name
        if isinstance(value, str):
            names.append(f"{name}={value}")
            values.append(1.0)
        elif isinstance(value, Mapping):
            _add(value, f"{name}=", names, values, numbers, limit)
        elif isinstance(value, LISTS):
            for item in sorted(value, key=str) if isinstance(value, set | frozenset) else value:
                if isinstance(item, bytes | bytearray):
                    raise TypeError(f"Feature {name!r} has {item!r} (bytes): decode it to a string")
                _add({f"{item}": True}, f"{name}=", names, values, numbers, limit)
        elif isinstance(value, bytes | bytearray):
            raise TypeError(f"Feature {name!r} is {bytes(value)!r} (bytes), which is neither a number nor a string")
        else:
            try:
                number = float(value)
            except (TypeError, ValueError):
                raise TypeError(f"Feature {name!r} is {value!r}, which is neither a number nor a string") from None
            except OverflowError:
                number = math.inf
            if not abs(number) <= limit:
                raise ValueError(f"Feature {name!r} is {number!r}: values must be finite and at most {limit:.0e}")
            if not isinstance(value, bool | np.bool_):
                numbers.append(name)
            if number:
                names.append(name)
                values.append(number)


class Matrix(NamedTuple):
    """A checked CSR matrix, and where in it each sequence begins."""

    X: Any
    starts: np.ndarray

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    def sequences(self, selected: np.ndarray) -> "Matrix":
        """Return some of the sequences."""
        tokens, starts = tokens_of(self.starts, selected)
        return Matrix(self.X[tokens], starts)


class MatrixFeatures:
    """Features of a matrix, whose number of columns never changes."""

    kind = "matrix"

    def __init__(self, n_features: int, columns: list[str] | None = None):
        self.n_features, self.columns = n_features, columns

    def names(self) -> list[str]:
        return self.columns or [f"x{column}" for column in range(self.n_features)]

    def read(self, X: Any, lengths: Any, dtype: Any, growth: Growth, estimator: Any, reset: bool) -> Matrix:
        if isinstance(X, TokenFeatures):
            if lengths is not None:
                raise ValueError("X already contains the lengths of its sequences: leave lengths out.")
            X, lengths = X.matrix, X.lengths
        if np.shape(X)[0] == 0:  # scikit-learn refuses it, but a block of empty sequences is none to stumble over
            row = np.zeros((1, np.shape(X)[1]), getattr(X, "dtype", np.float64))
            X = check_matrix(estimator, row, reset=reset, dtype=dtype, growth=growth)[:0]
        else:
            X = check_matrix(estimator, X, reset=reset, dtype=dtype, growth=growth)
        return Matrix(X if sp.issparse(X) else sp.csr_matrix(X), from_lengths(lengths, X.shape[0]))

    def forget_waiting(self) -> None:
        """Do nothing: no feature waits."""

    def tokens(self, read: Matrix, dtype: Any, learn: bool) -> Tokens:
        X = read.X
        starts = X.indptr.astype(np.int64, copy=False)  # one type to compile for
        return Tokens(Sparse(X.data.astype(dtype, copy=False), X.indices, starts), read.starts)
