"""Sequences of tokens as users give them: their features and labels, checked and as numbers.

Sequences are kept flat: the tokens of all of them in one list, and where each sequence begins. Features of tokens are
attribute strings or dicts (`NamedFeatures`) or rows of a matrix (`MatrixFeatures`); features of raw tokens by templates
are in `templates.py`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise, repeat
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import murmurhash3_32

from perceptrons.engine.rows import Sparse
from perceptrons.engine.training.inputs import Growth, check_matrix, largest
from perceptrons.engine.training.labels import MAX_LABEL_CHARACTERS, Target, check_labels, too_long
from perceptrons.engine.wording import short

NUMBERS = (bool, int, float, np.number, np.bool_)
COLLECTIONS = (list, tuple, set, frozenset)


# ---- sequences as one flat list


class Tokens(NamedTuple):
    """The rows of tokens, as passes read them."""

    rows: Sparse
    starts: np.ndarray  # the tokens of sequence i are starts[i]:starts[i + 1]

    def sequences(self, selected: np.ndarray) -> "Tokens":
        """Return some of the sequences, as a copy."""
        tokens, starts = tokens_of(self.starts, selected)
        features, ends = tokens_of(self.rows.starts, tokens)
        return Tokens(Sparse(self.rows.values[features], self.rows.columns[features], ends), starts)


class ReadSequences(Protocol):
    """Sequences of tokens as some kind of features reads them: checked, but without numbers of features."""

    @property
    def starts(self) -> np.ndarray: ...

    @property
    def dtype(self) -> np.dtype:
        """Return the type of weights that their values need."""

    def sequences(self, selected: np.ndarray) -> Any:
        """Return some of the sequences, as if there were no others."""


class Features(Protocol):
    """The features that a tagger knows: `MatrixFeatures`, `NamedFeatures` or `TemplateFeatures`."""

    kind: str

    @property
    def n_features(self) -> int: ...

    def names(self) -> list[str]:
        """Return the names of all features in the order of their numbers."""

    def tokens(self, sequences: Any, dtype: Any, learn: bool) -> Tokens:
        """Return the rows of known features. learn: first number new ones."""

    def forget_waiting(self) -> None:
        """Reset the counts of features that did not occur often enough."""


class TokenFeatures:
    """The result of `FeatureTemplates.transform`: the features of tokens, sequence by sequence.

    matrix : CSR matrix of shape (n_tokens, n_features)
    lengths : array of shape (n_sequences,), the number of tokens of each
    """

    def __init__(self, matrix: sp.csr_matrix, lengths: np.ndarray):
        self.matrix, self.lengths = matrix, lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        return f"<{len(self)} sequences of {self.matrix.shape[0]} tokens with {self.matrix.shape[1]} features>"


def is_matrix(X: Any) -> bool:
    """Return whether X has one row per token, and no sequences."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "biufc"
    return isinstance(X, TokenFeatures) or sp.issparse(X) or hasattr(X, "columns")


def flatten(sequences: Any, name: str = "X") -> tuple[list[Any], np.ndarray]:
    """Return all tokens in one list, and where each sequence begins."""
    for method in ("to_list", "to_pylist"):  # Series of lists, of pandas and polars; arrays of Arrow
        if hasattr(sequences, method):
            sequences = getattr(sequences, method)()
            break
    if isinstance(sequences, str | bytes | dict) or not isinstance(sequences, Iterable):
        raise TypeError(f"{name} is {type(sequences).__name__}, not a list of sequences of tokens.")
    sequences = sequences if isinstance(sequences, Sequence | np.ndarray) else list(sequences)
    if not set(map(type, sequences)) <= {list, tuple}:
        for i, sequence in enumerate(sequences):
            if isinstance(sequence, str | bytes | dict) or not isinstance(sequence, Sequence | np.ndarray):
                raise TypeError(
                    f"{name}[{i}] is {_describe(sequence)}, not a sequence: {name} is a list of sequences, each a list "
                    f"of {'labels' if name == 'y' else 'tokens'}."
                )
        sequences = [sequence.tolist() if isinstance(sequence, np.ndarray) else sequence for sequence in sequences]
    return list(chain.from_iterable(sequences)), starts_of(map(len, sequences), len(sequences))


def split(tokens: list[Any], starts: np.ndarray) -> list[list[Any]]:
    """Return a flat list as a list of sequences."""
    return [tokens[begin:end] for begin, end in pairwise(starts.tolist())]


def starts_of(lengths: Iterable[int], n: int) -> np.ndarray:
    """Return where each of n sequences begins in a flat list, and where the last one ends."""
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, n), out=starts[1:])
    return starts


def starts_from_lengths(lengths: Any, n: int) -> np.ndarray:
    """Return where each sequence begins, by lengths that a user gives for n tokens."""
    if lengths is None:
        raise ValueError(
            "X is a matrix with one row per token: give the number of tokens of each sequence, such as lengths=[24, "
            "7, ...]."
        )
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or (sizes.dtype.kind not in "iu" and len(sizes)):
        raise ValueError(f"lengths must be a list of whole numbers, one per sequence, not {short(repr(lengths), 60)}.")
    if len(sizes) and sizes.min() < 0:
        raise ValueError(f"lengths[{int(sizes.argmin())}] is {sizes.min()}: lengths must not be negative.")
    total = sum(sizes.tolist())  # Python integers cannot overflow
    if total != n:
        raise ValueError(f"lengths sum to {total}, but X has {n} rows: X needs one row per token.")
    return starts_of(sizes, len(sizes))


def tokens_of(starts: np.ndarray, selected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the tokens of some sequences, and where each of these begins among them."""
    lengths = np.diff(starts)[selected]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(starts[selected] - ends[:-1], lengths) + np.arange(ends[-1]), ends.astype(starts.dtype)


def position(starts: np.ndarray, token: int) -> str:
    """Return where a token is, for messages."""
    sequence = int(np.searchsorted(starts, token, side="right")) - 1
    return f"token {token - starts[sequence]} of sequence {sequence}"


# ---- strings as numbers


class _Numbers(dict[str, int]):
    """Numbers strings in the order in which they are first looked up."""

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


def number_strings(strings: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the distinct strings, and for each string its number. Raise TypeError for anything but strings."""
    numbers = _Numbers()
    codes = np.fromiter(map(numbers.__getitem__, strings), np.int32, len(strings))
    if not all(isinstance(string, str) for string in numbers):
        raise TypeError("not a string")
    return list(numbers), codes


def renumber(strings: list[str], codes: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return what `number_strings` returns for the strings with these codes alone."""
    used, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [strings[code] for code in used[order].tolist()], np.argsort(order)[inverse].astype(np.int32)


def hash_string(string: str) -> int:
    """Return a hash of 32 bits that is the same in every process, unlike Python's own."""
    return murmurhash3_32(string.encode("utf-8", "surrogatepass"), 0, True)


def ones(n: int, dtype: Any = np.float32) -> np.ndarray:
    """Return n values of 1 that take the memory of one."""
    return np.lib.stride_tricks.as_strided(np.ones(1, dtype), (n,), (0,))


# ---- labels


def read_labels(y: Any, starts: np.ndarray, by_sequence: bool) -> Target:
    """Return the label of every token. by_sequence: y must be a list of lists; otherwise it may also be flat."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    nested = by_sequence or (
        isinstance(y, list | tuple) and bool(len(y)) and isinstance(y[0], list | tuple | np.ndarray)
    )
    if nested:
        labels, ends = flatten(y, "y")
        if len(ends) != len(starts):
            raise ValueError(f"X has {len(starts) - 1} sequences, but y has {len(ends) - 1}.")
        uneven = np.flatnonzero(np.diff(ends) != np.diff(starts))
        if len(uneven):
            i = uneven[0]
            raise ValueError(
                f"Sequence {i} has {starts[i + 1] - starts[i]} tokens, but y has {ends[i + 1] - ends[i]} labels for it."
            )
    else:
        labels = y.tolist() if hasattr(y, "tolist") else list(y)
        if len(labels) != starts[-1]:
            raise ValueError(f"X has {starts[-1]} tokens, but y has {len(labels)} labels.")
    return target_of(labels, starts)


def target_of(labels: list[Any], starts: np.ndarray) -> Target:
    """Return the labels of all tokens with their distinct values."""
    if not labels:
        return Target("single", np.empty(0, dtype="U1"), np.empty(0, np.int32))
    classes = _distinct_labels(labels, starts)
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    return Target("single", classes, np.fromiter(map(code_of.__getitem__, labels), np.int32, len(labels)))


def _distinct_labels(labels: list[Any], starts: np.ndarray) -> np.ndarray:
    """Return the distinct labels, sorted. Raise ValueError unless they are all strings or all numbers."""
    try:
        distinct = dict.fromkeys(labels)
    except TypeError:  # one that cannot be hashed
        distinct = {}
    are_strings = all(isinstance(label, str) for label in distinct)
    if not distinct or not (are_strings or all(isinstance(label, NUMBERS) for label in distinct)):
        expected = str if isinstance(labels[0], str) else NUMBERS
        at = next(at for at, label in enumerate(labels) if not isinstance(label, expected))
        raise ValueError(
            f"The label of {position(starts, at)} is {_describe(labels[at])}, the first one {_describe(labels[0])}: "
            "labels must be all strings or all numbers."
        )
    if are_strings and max(map(len, distinct)) > MAX_LABEL_CHARACTERS:
        at = next(at for at, label in enumerate(labels) if len(label) > MAX_LABEL_CHARACTERS)
        raise ValueError(f"The label of {position(starts, at)} is {too_long(labels[at])}: use shorter class names.")
    classes = np.unique(check_labels(np.array(list(distinct))))
    if len(classes) < len(distinct) or set(classes.tolist()) != set(distinct):
        raise ValueError(
            f"The labels {short(repr(list(distinct)), 60)} cannot be distinguished in an array of {classes.dtype}: "
            "NumPy drops NUL at the end of strings, and digits of large numbers. Use other labels."
        )
    return classes


# ---- features from a matrix


class Matrix(NamedTuple):
    """A checked CSR matrix with one row per token."""

    X: sp.csr_matrix
    starts: np.ndarray  # the tokens of sequence i are starts[i]:starts[i + 1]

    @property
    def dtype(self) -> np.dtype:
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

    def read(self, X: Any, lengths: Any, dtype: Any, growth: Growth, estimator: BaseEstimator, reset: bool) -> Matrix:
        """Return X as a checked matrix. reset: it decides the number of columns."""
        if isinstance(X, TokenFeatures):
            if lengths is not None:
                raise ValueError("X already contains the lengths of its sequences: leave lengths out.")
            X, lengths = X.matrix, X.lengths
        n = np.shape(X)[0]
        if n == 0:  # scikit-learn refuses no rows, but all sequences may be empty
            X = np.zeros((1, np.shape(X)[1]), getattr(X, "dtype", np.float64))
        X = sp.csr_matrix(check_matrix(estimator, X, reset=reset, dtype=dtype, growth=growth))
        return Matrix(X if n else X[:0], starts_from_lengths(lengths, n))

    def forget_waiting(self) -> None:
        """Do nothing, because no feature waits to occur more often."""

    def tokens(self, matrix: Matrix, dtype: Any, learn: bool) -> Tokens:
        """Return the rows of the matrix."""
        X = matrix.X
        starts = X.indptr.astype(np.int64, copy=False)  # one type to compile for
        return Tokens(Sparse(X.data.astype(dtype, copy=False), X.indices, starts), matrix.starts)


# ---- features by name


class Named(NamedTuple):
    """Features of tokens by name."""

    strings: list[str]  # the distinct names, in order of their first occurrence
    codes: np.ndarray  # the string of each feature of each token
    values: np.ndarray | None  # None: all are 1
    ends: np.ndarray  # the features of token t are ends[t]:ends[t + 1]
    starts: np.ndarray  # the tokens of sequence i are starts[i]:starts[i + 1]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32 if self.values is None else np.float64)

    def sequences(self, selected: np.ndarray) -> "Named":
        """Return some of the sequences, as if there were no others."""
        tokens, starts = tokens_of(self.starts, selected)
        features, ends = tokens_of(self.ends, tokens)
        values = None if self.values is None else self.values[features]
        return Named(*renumber(self.strings, self.codes[features]), values, ends, starts)


class NamedFeatures:
    """The numbers of features by name; `waiting`: how often names occurred that are still too rare for a number."""

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

    def read(self, X: Any, dtype: Any, growth: Growth) -> Named:
        """Return the tokens of sequences with their features by name, checked. dtype: of the model, if there is one."""
        tokens, starts = flatten(X)
        types = set(map(type, tokens))
        if types & {set, frozenset}:  # whose order is not the same in every process
            tokens = [sorted(token, key=str) if isinstance(token, set | frozenset) else token for token in tokens]
        if types <= set(COLLECTIONS):
            return Named(*_number_attributes(tokens, starts), None, starts_of(map(len, tokens), len(tokens)), starts)
        names, values, ends = _read_dicts(tokens, starts, largest(dtype or np.float64, growth))
        return Named(*number_strings(names), values, ends, starts)

    def tokens(self, named: Named, dtype: Any, learn: bool) -> Tokens:
        """Return the rows of known features. learn: first number new ones."""
        strings, codes, values, ends, starts = named
        if self.hash_bits is not None:
            mask = 2**self.hash_bits - 1
            numbers = np.fromiter((hash_string(string) & mask for string in strings), np.int32, len(strings))
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
        """Reset the counts of names that did not occur often enough."""
        self.waiting = {name: count for name, count in self.waiting.items() if count >= self.min_count}

    def _learn(self, strings: list[str], codes: np.ndarray) -> None:
        """Give numbers to new names, in order of their first occurrence, once they have occurred often enough."""
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


def _number_attributes(tokens: list[Any], starts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the distinct attribute strings of tokens, and the number of each attribute."""
    try:
        return number_strings(list(chain.from_iterable(tokens)))
    except TypeError:
        for at, token in enumerate(tokens):
            _check_attributes(token, position(starts, at))
        raise


def _check_attributes(token: Any, token_position: str) -> None:
    for name in token:
        if not isinstance(name, str):
            raise TypeError(
                f"A feature of {token_position} is {name!r} ({type(name).__name__}): attributes must be strings. Give "
                "features with values as a dict."
            )


def _read_dicts(tokens: list[Any], starts: np.ndarray, limit: float) -> tuple[list[str], np.ndarray | None, np.ndarray]:
    """Return the names of all features, their values (None: all 1), and where those of each token end."""
    reader = _DictReader(limit)
    ends = np.zeros(len(tokens) + 1, np.int64)
    for at, token in enumerate(tokens):
        if isinstance(token, Mapping):
            try:
                reader.add(token)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{str(error).rstrip('.')}, in {position(starts, at)}.") from error
        elif isinstance(token, COLLECTIONS):
            _check_attributes(token, position(starts, at))
            reader.names += token
            reader.values += [1.0] * len(token)
        else:
            raise TypeError(
                f"{position(starts, at).capitalize()} is {token!r} ({type(token).__name__}): a token must be a dict of "
                "features or a list of attribute strings; for plain words give templates=FeatureTemplates(...)."
            )
        ends[at + 1] = len(reader.names)
    return reader.names, (np.array(reader.values) if reader.has_numbers else None), ends


class _DictReader:
    """Collects the names and values of features from dicts. limit: the largest possible value."""

    def __init__(self, limit: float):
        self.limit = limit
        self.names: list[str] = []
        self.values: list[float] = []
        self.has_numbers = False

    def add(self, features: Mapping[Any, Any], prefix: str = "") -> None:
        """Add the features of a dict: strings as "name=value", numbers with their values, items of lists one by one."""
        for name, value in features.items():
            if not isinstance(name, str):
                raise TypeError(f"Feature name {name!r} is {type(name).__name__}: feature names must be strings")
            name = prefix + name
            if isinstance(value, str):
                self.names.append(f"{name}={value}")
                self.values.append(1.0)
            elif isinstance(value, Mapping):
                self.add(value, f"{name}=")
            elif isinstance(value, COLLECTIONS):
                for item in sorted(value, key=str) if isinstance(value, set | frozenset) else value:
                    if isinstance(item, bytes | bytearray):
                        raise TypeError(f"Feature {name!r} has {item!r} (bytes): decode it to a string")
                    self.add({f"{item}": True}, f"{name}=")
            else:
                self._add_number(name, value)

    def _add_number(self, name: str, value: Any) -> None:
        """Add a feature with a value, unless that is 0. Raise TypeError or ValueError for what is no finite number."""
        try:
            if isinstance(value, bytes | bytearray):
                raise TypeError
            number = float(value)
        except (TypeError, ValueError):
            kind = f"{bytes(value)!r} (bytes)" if isinstance(value, bytes | bytearray) else repr(value)
            raise TypeError(f"Feature {name!r} is {kind}, which is neither a number nor a string") from None
        except OverflowError:
            number = math.inf
        if not abs(number) <= self.limit:
            raise ValueError(f"Feature {name!r} is {number!r}: values must be finite and at most {self.limit:.0e}")
        self.has_numbers |= not isinstance(value, bool | np.bool_)
        if number:
            self.names.append(name)
            self.values.append(number)


def _describe(thing: Any) -> str:
    return f"{short(repr(thing), 60)} ({type(thing).__name__})"
