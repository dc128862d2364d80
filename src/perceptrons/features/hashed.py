"""`HashedText` and `HashedFeatures`, the transformers that turn texts and named features into sparse rows.

Texts come as lists, arrays, or columns of pandas, polars and pyarrow. The compiled loops are in `scan/words.py`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.scan.name_table import extended, grown, new_table
from perceptrons.engine.scan.words import Clean, Entries, Rule, add_up, cut, folded, room_for
from perceptrons.engine.streaming.threads import in_order
from perceptrons.engine.training.inputs import as_configured
from perceptrons.engine.training.matrices import stack_csr
from perceptrons.engine.training.parameters import NONE, Domain, Flag, Number, Words, check_parameters
from perceptrons.features.cells import TextColumn
from perceptrons.features.columns import MIN_SLOTS, OPTIONS, Columns, NamedRows, Names, assemble, local_names, slots_for
from perceptrons.features.values import is_missing

Result = TypeVar("Result")
HASHING: dict[str, tuple[Domain, ...]] = {
    "bits": OPTIONS["bits"],
    "signed": OPTIONS["signed"],
    "seed": OPTIONS["seed"],
    "min_count": (Number(1, 2**62, whole=True),),
}
CUTTING: dict[str, tuple[Domain, ...]] = {
    "lowercase": (Flag(),),
    "values": (Words(("log", "count", "binary")),),
    "norm": (Words(("l2",)), NONE),
}
MAX_GRAM = 16  # words or characters of an n-gram
PIECE_BYTES = 2**20  # of text, about: what one thread cuts at a time
PIECE_ROWS = 4096  # of named features
MAX_ENTRIES = 2**31 - 2  # features of a piece that 32 bits can number
LARGEST = float(np.finfo(np.float32).max)
LOGS = np.array([0.0, *(1.0 + math.log(count) for count in range(1, 256))])
ONE_TEXT = "give a list of texts: put a single text in a list"


# auto_wrap_output_keys=None: rows stay sparse where scikit-learn makes frames, as those of its HashingVectorizer
class _HashedRows(TransformerMixin, BaseEstimator, ABC, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Rows of named features to a sparse matrix: hashed, which needs no fit, or by a vocabulary that `fit` learns."""

    bits: int | None
    signed: bool
    seed: int
    min_count: int
    norm: Literal["l2"] | None = None
    columns_: Columns
    _uses_threads = False  # is a piece read without holding Python's lock?

    @abstractmethod
    def _pieces(self, X: Any) -> list[Callable[[], NamedRows]]:
        """Return functions that read X piece by piece. X is checked here, its rows perhaps only there."""

    def _check(self) -> None:
        check_parameters(self, HASHING)
        if self.bits is not None and self.min_count > 1:
            name = type(self).__name__
            raise ValueError(
                f"{name}(bits={self.bits}, min_count={self.min_count}) does not work: hashed features are not "
                "counted. Use one of the two."
            )

    def new_columns(self) -> Columns:
        """Return empty columns by bits, signed and seed."""
        self._check()
        return Columns(self.bits, self.signed, self.seed)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary; where columns are hashed, only remember names for `columns_` to show.

        Parameters
        ----------
        X : rows
        y : ignored

        Returns
        -------
        self
        """
        columns = self.new_columns()
        for rows in self._each_piece(X, lambda rows: rows):
            columns.find(rows.names)
        return self._finish(columns)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sp.csr_matrix:
        """Learn from rows and give them as a matrix: as `fit`, then `transform`, but read once."""
        columns = self.new_columns()
        if self.min_count > 1:
            return self.fit(X).transform(X)
        rows = self.rows(X, columns)
        self._finish(columns)
        return as_configured(rows)

    def transform(self, X: Any) -> sp.csr_matrix:
        """Return the rows as a sparse matrix.

        Parameters
        ----------
        X : rows

        Returns
        -------
        scipy.sparse.csr_matrix of float32, of shape (rows, columns)
            It stays sparse where scikit-learn is configured with transform_output="pandas".
            Columns stand in a row in order of first occurrence, each once. A csr_array where scikit-learn is
            configured with sparse_interface="sparray".
        """
        columns = self.new_columns()
        columns.frozen = True
        if self.bits is None:
            check_is_fitted(self)
            columns = self.columns_
        return as_configured(self.rows(X, columns))

    def rows(self, X: Any, columns: Columns) -> sp.csr_matrix:
        """Return the rows as a matrix of these columns, which learn the names in them unless they are frozen."""

        def to_matrix(rows: NamedRows) -> sp.csr_matrix:
            return assemble(rows, columns.find(rows.names), columns.n_columns, self.norm)

        if columns.frozen:
            matrices = list(self._each_piece(X, to_matrix))
        else:  # names are numbered in the order of the pieces
            matrices = list(map(to_matrix, self._each_piece(X, lambda rows: rows)))
        if len(matrices) == 1 and matrices[0].shape[1] == columns.n_columns:
            return matrices[0]
        return stack_csr(matrices, columns.n_columns)

    def _finish(self, columns: Columns) -> Self:
        columns.frozen = True
        self.columns_ = columns.frequent(self.min_count) if self.min_count > 1 else columns
        return self

    def _each_piece(self, X: Any, then: Callable[[NamedRows], Result]) -> Iterator[Result]:
        """Yield what `then` makes of the rows of each piece; several threads work at once where that helps."""
        pieces = self._pieces(X)
        if len(pieces) > 1 and self._uses_threads:
            return (result for _, result in in_order(pieces, lambda read_piece: then(read_piece())))
        return (then(read_piece()) for read_piece in pieces)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of every name; with bits, of the names remembered by `fit`."""
        check_is_fitted(self, "columns_")
        return dict(zip(self.columns_.names(), self.columns_.columns.tolist(), strict=True))

    @property
    def counts_(self) -> np.ndarray:
        """How often each name of `vocabulary_` came."""
        check_is_fitted(self, "columns_")
        return self.columns_.counts.copy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of each column; of a hashed one all names that `fit` found, or #number if there is none."""
        check_is_fitted(self)
        columns = self.columns_ if hasattr(self, "columns_") else self.new_columns()
        return np.array(columns.labels() if columns.bits is not None else columns.names(), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return self.bits is not None or hasattr(self, "columns_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = self.bits is None
        return tags


class HashedText(_HashedRows, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn texts into sparse rows of words and n-grams, hashed to columns or with a vocabulary.

    A word is a run of letters, digits and underscores in the sense of Unicode, in lower case; everything else separates
    words. It is compiled, and uses several threads for a megabyte of text or more; the result does not depend on them.

    Use it to prepare texts for a linear model, above all for many texts or a stream: hashing needs no first pass over
    the data and has a fixed width. For columns that are never shared, set bits=None and call `fit`. For other
    tokenizers, stop words or idf weights, use scikit-learn's `TfidfVectorizer`; `TfidfTransformer` also works after
    this transformer.

    Parameters
    ----------
    bits : int or None, default=20
        Hash to 2**bits columns, 1 to 31. None: one column per word found by `fit`; other words are dropped.
    words : (int, int) or None, default=(1, 1)
        The smallest and largest size of word n-grams, up to 16: (1, 2) is single words and pairs, such as "new york".
    chars : (int, int) or None, default=None
        The smallest and largest size of character n-grams within words, with a space before and after the word; shorter
        words are used whole. They are shown in ‹ ›.
    lowercase : bool, default=True
        Whether to convert everything to lower case, character by character.
    values : {"log", "count", "binary"}, default="log"
        The value of a feature that occurs c times in a text: 1 + ln c, c, or 1.
    norm : {"l2"} or None, default="l2"
        Whether to scale every row to Euclidean length 1.
    signed : bool, default=True
        Whether half of the hashed features count negatively, so that features that share a column do not add up.
    seed : int, default=0
        The seed of the hash, MurmurHash3 of the feature as UTF-8.
    min_count : int, default=1
        With bits=None: leave out features that occur less often in the texts of `fit`.

    Attributes
    ----------
    columns_ : Columns
        After `fit`: names and columns; `columns_.audit(weights)` shows what shares a column, `columns_.name_of(j)` what
        is in column j.
    vocabulary_ : dict of str to int
        The column of each name found in `fit`.
    counts_ : array
        How often each name occurred, in the order of `vocabulary_`.

    Notes
    -----
    Texts are str, or bytes in UTF-8; bytes that are not UTF-8 separate words. Letters and lower case are those of
    Python's `str`.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.features import HashedText
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["free prize, call now", "see you at home", "you won a prize", "call me at home"]
    >>> model = make_pipeline(HashedText(), Perceptron()).fit(texts, ["spam", "ham", "spam", "ham"])
    >>> model.predict(["a free prize for you"]).tolist()
    ['spam']
    """

    _uses_threads = True

    def __init__(
        self, *, bits: int | None = 20, words: tuple[int, int] | None = (1, 1), chars: tuple[int, int] | None = None,
        lowercase: bool = True, values: Literal["log", "count", "binary"] = "log", norm: Literal["l2"] | None = "l2",
        signed: bool = True, seed: int = 0,
        min_count: int = 1,
    ) -> None:  # fmt: skip
        self.bits = bits
        self.words = words
        self.chars = chars
        self.lowercase = lowercase
        self.values = values
        self.norm = norm
        self.signed = signed
        self.seed = seed
        self.min_count = min_count

    def _check(self) -> None:
        super()._check()
        check_parameters(self, CUTTING)
        if self.words is None and self.chars is None:
            raise ValueError("HashedText(words=None, chars=None) leaves no features: give words or chars.")
        for name in ("words", "chars"):
            self._gram_sizes(name)

    def _gram_sizes(self, name: str) -> tuple[int, int]:
        """Return the parameter as two numbers; for None two between which there is none."""
        value = getattr(self, name)
        if value is None:
            return (1, 0)
        sizes = list(value) if isinstance(value, tuple | list) else []
        are_whole = all(isinstance(size, Integral) and not isinstance(size, bool) for size in sizes)
        if not (len(sizes) == 2 and are_whole and 1 <= sizes[0] <= sizes[1] <= MAX_GRAM):
            raise ValueError(
                f"HashedText({name}={value!r}): {name} must be None or two whole numbers from 1 to {MAX_GRAM}, the "
                "smaller first, such as (1, 2)."
            )
        return int(sizes[0]), int(sizes[1])

    def rule(self) -> Rule:
        """Return how texts are cut, for `cut`."""
        self._check()
        return Rule(*self._gram_sizes("words"), *self._gram_sizes("chars"), folded(bool(self.lowercase)))

    def _amounts(self, counts: np.ndarray) -> np.ndarray:
        """Return the values of features that occur so often: 1 + ln count, count or 1."""
        if self.values == "binary":
            return np.ones(len(counts))
        if self.values == "count":
            return counts.astype(np.float64)
        amounts = LOGS.take(counts, mode="clip")
        large = np.flatnonzero(counts >= len(LOGS))
        amounts[large] = [1.0 + math.log(count) for count in counts[large].tolist()]  # NumPy's rounds otherwise
        return amounts

    def _pieces(self, X: Any) -> list[Callable[[], NamedRows]]:
        rule = self.rule()
        return [partial(self._cut_piece, read_piece, rule) for read_piece in text_pieces(X)]

    def _cut_piece(self, read_piece: Callable[[], TextColumn], rule: Rule) -> NamedRows:
        return cut_texts(self, read_piece(), rule)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


def text_pieces(X: Any) -> list[Callable[[], TextColumn]]:
    """Return functions that read texts piece by piece. Raises TypeError or ValueError that names a row without text."""
    if isinstance(X, str | bytes):
        raise ValueError(f"X is one text, {X[:40]!r}: {ONE_TEXT}, [text].")
    if X is None or not hasattr(X, "__iter__"):
        raise TypeError(f"X is {X!r} ({type(X).__name__}): give a list of texts.")
    if isinstance(X, dict) or hasattr(X, "columns") or getattr(X, "ndim", 1) != 1:
        shape = f" of shape {X.shape}" if hasattr(X, "shape") else ""
        raise ValueError(f"X is a {type(X).__name__}{shape}: give one column of texts, for instance X['text'].")
    if type(X).__module__.split(".")[0] == "polars":
        try:
            X = X.to_arrow()
        except ModuleNotFoundError:  # polars works without pyarrow
            X = X.to_list()
    if type(X).__module__.split(".")[0] == "pyarrow":
        if str(X.type).startswith("dictionary") or str(X.type) in ("string_view", "binary_view"):
            X = X.cast("large_string")
        if str(X.type) in ("string", "large_string"):
            return _arrow_pieces(X.chunks if hasattr(X, "chunks") else [X])
        X = X.to_pylist()
    texts = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if not {*map(type, texts)} <= {str, bytes}:
        for row, text in enumerate(texts):
            _check_text(text, row)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    cuts = _cuts(np.concatenate([[0], np.cumsum(lengths)]))
    return [partial(TextColumn.of, texts[first:last]) for first, last in pairwise(cuts)]


def _arrow_pieces(chunks: list[Any]) -> list[Callable[[], TextColumn]]:
    """Return pieces of a string column of Arrow, read where it lies in memory."""
    pieces: list[Callable[[], TextColumn]] = []
    n_rows = 0
    for chunk in chunks:
        if chunk.null_count:
            missing = next(row for row, is_valid in enumerate(chunk.is_valid().to_pylist()) if not is_valid)
            raise ValueError(f"Row {n_rows + missing} is None: replace missing texts first, for instance with ''.")
        _, offsets, data = chunk.buffers()
        offset_type = np.int64 if str(chunk.type).startswith("large") else np.int32
        ends = np.frombuffer(offsets or b"", offset_type)[chunk.offset :][: len(chunk) + 1]
        content = np.frombuffer(data or b"", np.uint8)
        pieces += [
            partial(TextColumn, content, ends[first:last], ends[first + 1 : last + 1])
            for first, last in pairwise(_cuts(ends))
        ]
        n_rows += len(chunk)
    return pieces


def _cuts(ends: np.ndarray) -> list[int]:
    """Return the rows at which to cut texts into pieces. ends: where texts end, after the start of the first."""
    n = len(ends) - 1
    if n < 1:
        return [0]
    positions = np.arange(int(ends[0]) + PIECE_BYTES, int(ends[-1]), PIECE_BYTES)
    return np.unique(np.concatenate([[0], np.searchsorted(ends, positions), [n]])).tolist()


def _check_text(text: Any, row: int) -> None:
    """Raise TypeError or ValueError for what is no text."""
    if is_missing(text):
        raise ValueError(f"Row {row} is {text!r}: replace missing texts first, for instance with ''.")
    if not isinstance(text, str | bytes):
        raise TypeError(
            f"Row {row} is {text!r} ({type(text).__name__}): every row must be a text (str, or bytes of UTF-8)."
        )


class HashedFeatures(_HashedRows, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn rows of named features into a sparse matrix, hashed to columns or with a vocabulary.

    A row is a dict of names and values (a number, or a string: then "name=value" has the value 1), a list of pairs of
    names and values, or a list of names, which have the value 1. As scikit-learn's `FeatureHasher`, but
    it remembers the names it met in `fit` and which of them share a column; its columns and signs are others.

    Use it for computed features whose names are not known in advance. For texts use `HashedText`, for tables with fixed
    columns `TableFeatures`.

    Parameters
    ----------
    bits : int or None, default=20
        Hash to 2**bits columns, 1 to 31. None: one column per name found by `fit`; other names are dropped.
    signed : bool, default=True
        Whether half of the hashed features count negatively, so that features that share a column do not add up.
    seed : int, default=0
        The seed of the hash, MurmurHash3 of the name as UTF-8.
    min_count : int, default=1
        With bits=None: leave out names that occur less often in the rows of `fit`.

    Attributes
    ----------
    columns_ : Columns
        After `fit`: names and columns; `columns_.audit(weights)` shows what shares a column.
    vocabulary_ : dict of str to int
        The column of each name found in `fit`.
    counts_ : array
        How often each name occurred, in the order of `vocabulary_`.

    Examples
    --------
    >>> from perceptrons.features import HashedFeatures
    >>> rows = [{"city": "Rome", "rooms": 3}, {"city": "Oslo", "rooms": 2}]
    >>> features = HashedFeatures(bits=None)
    >>> features.fit_transform(rows).toarray().tolist()
    [[1.0, 3.0, 0.0], [0.0, 2.0, 1.0]]
    >>> features.get_feature_names_out().tolist()
    ['city=Rome', 'rooms', 'city=Oslo']
    """

    def __init__(self, *, bits: int | None = 20, signed: bool = True, seed: int = 0, min_count: int = 1) -> None:
        self.bits = bits
        self.signed = signed
        self.seed = seed
        self.min_count = min_count

    def _pieces(self, X: Any) -> list[Callable[[], NamedRows]]:
        if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
            raise TypeError(f"X is a {type(X).__name__}: give a list of rows, each a dict or a list of names.")
        if hasattr(X, "columns"):
            raise TypeError(f"X is a {type(X).__name__}: give rows as dicts, for instance X.to_dict('records').")
        self._check()
        rows = list(X)
        return [partial(_read_rows, rows, first) for first in range(0, len(rows), PIECE_ROWS)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.dict = True
        return tags


def _read_rows(rows: list[object], first: int) -> NamedRows:
    """Return the rows of a piece, which begins at row `first`."""
    names: list[bytes] = []
    amounts: list[float] = []
    starts = [0]
    for number, row in enumerate(rows[first : first + PIECE_ROWS], first):
        for name, value in _features(row, number):
            encoded_name, amount = _feature(name, value, number)
            if amount:
                names.append(encoded_name)
                amounts.append(amount)
        starts.append(len(names))
    numbers, distinct = local_names(*TextColumn.of(names))
    return NamedRows(np.array(starts), numbers, np.array(amounts, np.float64), distinct)


def _features(row: object, number: int) -> Iterable[tuple[object, object]]:
    """Return the names and values of a row, as they come."""
    if isinstance(row, Mapping):
        return row.items()
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        raise TypeError(
            f"Row {number} is {row!r} ({type(row).__name__}): a row must be a dict, or a list of names or of pairs."
        )
    return (_pair(item, number) for item in row)


def _pair(item: object, number: int) -> tuple[object, object]:
    if isinstance(item, str):
        return item, 1
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise TypeError(f"Row {number} has {item!r} ({type(item).__name__}): give a name, or a pair of a name and a value.")


def _feature(name: object, value: object, number: int) -> tuple[bytes, float]:
    """Return a name as it is hashed, and its value."""
    if not isinstance(name, str):
        raise TypeError(f"Row {number} has a feature {name!r} ({type(name).__name__}): names must be strings.")
    if isinstance(value, str):
        name, value = f"{name}={value}", 1.0
    if not isinstance(value, Real | np.bool_):
        raise TypeError(f"Row {number}: feature {name!r} is {value!r}, which is neither a number nor a string.")
    amount = math.inf
    with suppress(OverflowError):  # a whole number beyond all floats
        amount = float(value)
    if not abs(amount) <= LARGEST:
        message = f"values must be finite and at most {LARGEST:.0e}."
        raise ValueError(f"Row {number}: feature {name!r} is {amount!r}: {message}")
    try:
        return name.encode(), amount
    except UnicodeEncodeError as error:
        raise ValueError(
            f"Row {number}: the name {name!r} contains half a surrogate pair, which is not a character."
        ) from error


def cut_texts(hashed: HashedText, texts: TextColumn, rule: Rule) -> NamedRows:
    """Return the features of texts, a row each, with the values that do not depend on other features."""
    content, begin, end = texts.checked()
    lengths = end - begin
    size, max_length = int(lengths.sum()), int(lengths.max(initial=0))
    table = new_table(slots_for(size))
    n_bytes, n_words = room_for(max_length)
    clean = Clean(np.empty(n_bytes, np.uint8), np.empty(n_words, np.int64))
    starts, (numbers, counts) = (
        np.zeros(len(begin) + 1, np.int64),
        np.empty((2, max(size // 8, MIN_SLOTS)), np.int32),
    )
    row = n = 0
    with np.errstate(over="ignore"):  # hashes overflow on purpose; NumPy would warn where nothing is compiled
        while row < len(begin):
            row, n = cut(content, begin, end, row, rule, table, clean, Entries(starts, numbers, counts))
            if row < len(begin):
                if n == len(numbers) == MAX_ENTRIES:
                    raise ValueError("A text has more than two billion features: split it into smaller texts.")
                if n == len(numbers):
                    numbers, counts = (extended(part, min(2 * n, MAX_ENTRIES)) for part in (numbers, counts))
                table = grown(table, 1, n_bytes)
    totals = np.zeros(int(table.used[0]), np.int64)
    add_up(numbers[:n], counts[:n], totals)
    return NamedRows(starts, numbers[:n], hashed._amounts(counts[:n]), Names.in_table(table, totals))
