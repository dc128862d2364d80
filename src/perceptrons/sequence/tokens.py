"""Sequences of tokens as one list of rows and where each sequence begins; labels and strings of tokens as numbers."""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import murmurhash3_32

from perceptrons.engine.rows import Sparse
from perceptrons.engine.training.labels import MAX_LABEL_CHARACTERS, Target, check_labels, too_long
from perceptrons.engine.wording import short

NUMBERS = (bool, int, float, np.number, np.bool_)


class Tokens(NamedTuple):
    """Rows, one a token, and where in them each sequence begins: sequence i is starts[i]:starts[i + 1]."""

    rows: Sparse
    starts: np.ndarray

    def sequences(self, selected: np.ndarray) -> "Tokens":
        """Return some of the sequences, as a copy."""
        tokens, starts = tokens_of(self.starts, selected)
        features, ends = tokens_of(self.rows.starts, tokens)
        return Tokens(Sparse(self.rows.values[features], self.rows.columns[features], ends), starts)


class TokenFeatures:
    """What `FeatureTemplates.transform` gives: the features of tokens, sequence by sequence.

    matrix : CSR matrix of shape (n_tokens, n_features)
    lengths : array of shape (n_sequences,), tokens of each
    """

    def __init__(self, matrix: sp.csr_matrix, lengths: np.ndarray):
        self.matrix, self.lengths = matrix, lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        return f"<{len(self)} sequences of {self.matrix.shape[0]} tokens with {self.matrix.shape[1]} features>"


def hashed(string: str) -> int:
    """Return 32 bits that are the same in every process, unlike those of Python's own hash."""
    return murmurhash3_32(string.encode("utf-8", "surrogatepass"), 0, True)


def ones(n: int, dtype: Any = np.float32) -> np.ndarray:
    """Return n values of 1 that take the memory of one."""
    return np.lib.stride_tricks.as_strided(np.ones(1, dtype), (n,), (0,))


class Numbering(dict[str, int]):
    """Number keys in the order in which they are first looked up."""

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


def numbered(strings: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the distinct strings, and for each string its number. Raise TypeError for something else than a string."""
    numbers = Numbering()
    codes = np.fromiter(map(numbers.__getitem__, strings), np.int32, len(strings))
    if not all(isinstance(string, str) for string in numbers):
        raise TypeError("not a string")
    return list(numbers), codes


def only(strings: list[str], codes: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return what `numbered` gives for those of the strings with these numbers."""
    present, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [strings[code] for code in present[order].tolist()], np.argsort(order)[inverse].astype(np.int32)


def flat(sequences: Any, name: str = "X") -> tuple[list[Any], np.ndarray]:
    """Return all tokens, one behind the other, and where each sequence begins."""
    for plain in ("to_list", "to_pylist"):  # Series of lists, of pandas and polars; arrays of Arrow
        if hasattr(sequences, plain):
            sequences = getattr(sequences, plain)()
            break
    if isinstance(sequences, str | bytes | dict) or not isinstance(sequences, Iterable):
        raise TypeError(f"{name} is {type(sequences).__name__}, not a list of sequences of tokens.")
    sequences = sequences if isinstance(sequences, Sequence | np.ndarray) else list(sequences)
    kinds = set(map(type, sequences))
    if not kinds <= {list, tuple}:
        for i, sequence in enumerate(sequences):
            if isinstance(sequence, str | bytes | dict) or not isinstance(sequence, Sequence | np.ndarray):
                raise TypeError(
                    f"{name}[{i}] is {_kind(sequence)}, not a sequence: {name} is a list of sequences, each a list of "
                    f"{'labels' if name == 'y' else 'tokens'}."
                )
        sequences = [sequence.tolist() if isinstance(sequence, np.ndarray) else sequence for sequence in sequences]
    return list(chain.from_iterable(sequences)), ends_of(map(len, sequences), len(sequences))


def ends_of(lengths: Iterable[int], n: int) -> np.ndarray:
    """Return where each of n things begins if they lie one behind the other, and where the last ends."""
    ends = np.zeros(n + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, n), out=ends[1:])
    return ends


def tokens_of(starts: np.ndarray, selected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of some sequences, one behind the other, and where each of these begins among them."""
    lengths = np.diff(starts)[selected]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(starts[selected] - ends[:-1], lengths) + np.arange(ends[-1]), ends.astype(starts.dtype)


def place(starts: np.ndarray, token: int) -> str:
    """Return where a token stands, in words."""
    sequence = int(np.searchsorted(starts, token, side="right")) - 1
    return f"token {token - starts[sequence]} of sequence {sequence}"


def from_lengths(lengths: Any, n: int) -> np.ndarray:
    """Return where each sequence begins, of n tokens in all."""
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
    total = sum(sizes.tolist())  # which cannot overflow
    if total != n:
        raise ValueError(f"lengths sum to {total}, but X has {n} rows: X needs one row per token.")
    return ends_of(sizes, len(sizes))


def read_labels(y: Any, starts: np.ndarray, by_sequence: bool) -> Target:
    """Return the label of every token. by_sequence: y must be a list of lists, else it may also be flat."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    nested = by_sequence or (
        isinstance(y, list | tuple) and bool(len(y)) and isinstance(y[0], list | tuple | np.ndarray)
    )
    if nested:
        labels, ends = flat(y, "y")
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
    """Return the label of every token as a number, and what the numbers stand for."""
    if not labels:
        return Target("single", np.empty(0, dtype="U1"), np.empty(0, np.int32))
    classes = _distinct(labels, starts)
    numbers = {label: number for number, label in enumerate(classes.tolist())}
    return Target("single", classes, np.fromiter(map(numbers.__getitem__, labels), np.int32, len(labels)))


def _distinct(labels: list[Any], starts: np.ndarray) -> np.ndarray:
    """Return the labels that there are, sorted: all strings or all numbers."""
    try:
        kinds = dict.fromkeys(labels)
    except TypeError:  # one that cannot be hashed
        kinds = {}
    strings = all(isinstance(label, str) for label in kinds)
    if not kinds or not (strings or all(isinstance(label, NUMBERS) for label in kinds)):
        first = str if isinstance(labels[0], str) else NUMBERS
        at = next(at for at, label in enumerate(labels) if not isinstance(label, first))
        raise ValueError(
            f"The label of {place(starts, at)} is {_kind(labels[at])}, the first one {_kind(labels[0])}: labels must "
            "be all strings or all numbers."
        )
    if strings and max(map(len, kinds)) > MAX_LABEL_CHARACTERS:
        at = next(at for at, label in enumerate(labels) if len(label) > MAX_LABEL_CHARACTERS)
        raise ValueError(f"The label of {place(starts, at)} is {too_long(labels[at])}: use shorter class names.")
    classes = np.unique(check_labels(np.array(list(kinds))))
    if len(classes) < len(kinds) or set(classes.tolist()) != set(kinds):
        raise ValueError(
            f"The labels {short(repr(list(kinds)), 60)} cannot be distinguished in an array of {classes.dtype}: "
            "NumPy drops NUL at the end of strings, and digits of large numbers. Use other labels."
        )
    return classes


def cut(labels: list[Any], starts: np.ndarray) -> list[list[Any]]:
    """Return a flat list as a list of sequences."""
    ends = starts.tolist()
    return [labels[begin:end] for begin, end in pairwise(ends)]


def _kind(thing: Any) -> str:
    return f"{short(repr(thing), 60)} ({type(thing).__name__})"
