"""`HashedText`, the transformer that turns texts into sparse rows of words and n-grams.

Texts come as lists, arrays, or columns of pandas, polars and pyarrow. The compiled loops are in `scan/words.py`.
"""

from collections.abc import Callable
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.scan.words import Rule, folded
from perceptrons.engine.training.parameters import NONE, Domain, Flag, Words, check_parameters
from perceptrons.features.cells import TextColumn, strings_of
from perceptrons.features.hashed import Naming
from perceptrons.features.named_rows import NORMS, VALUES, ColumnPlaces, LocalRows, Workspace, assemble, cut_text
from perceptrons.features.values import is_missing

LONGEST = 16  # words or characters of an n-gram
DOMAINS: dict[str, tuple[Domain, ...]] = {
    "lowercase": (Flag(),),
    "values": (Words(VALUES),),
    "norm": (Words(NORMS), NONE),
}
PIECE = 2**20  # bytes, about: what one thread cuts at a time
ONE_TEXT = "give a list of texts: put a single text in a list"


class HashedText(Naming, auto_wrap_output_keys=None):  # type: ignore[call-arg]
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

    _threaded = True

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

    def rule(self) -> Rule:
        """Return how texts are cut, for `perceptrons.features.named_rows.cut_text`."""
        self._check()
        return Rule(*_span(self, "words"), *_span(self, "chars"), folded(bool(self.lowercase)))

    def _check(self) -> None:
        super()._check()
        check_parameters(self, DOMAINS)
        if self.words is None and self.chars is None:
            raise ValueError("HashedText(words=None, chars=None) leaves no features: give words or chars.")
        for name in ("words", "chars"):
            _span(self, name)

    def _read(self, X: Any) -> "Listed | Arrowed":
        return read_texts(X)

    def _cutter(self) -> "Callable[[Listed | Arrowed, int, Workspace], LocalRows]":
        rule = self.rule()
        return lambda source, k, workspace: cut_text(*source.piece(k), rule, workspace)

    def _assemble(self, local: LocalRows, name_columns: ColumnPlaces, n_columns: int) -> sp.csr_matrix:
        return assemble(local, name_columns, n_columns, self.values, self.norm)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


def _span(text: HashedText, name: str) -> tuple[int, int]:
    """Return the parameter as two numbers; for None two between which there is none."""
    span = getattr(text, name)
    if span is None:
        return (1, 0)
    sizes = list(span) if isinstance(span, tuple | list) else []
    if not (
        len(sizes) == 2
        and all(isinstance(size, Integral) and not isinstance(size, bool) for size in sizes)
        and 1 <= sizes[0] <= sizes[1] <= LONGEST
    ):
        raise ValueError(
            f"HashedText({name}={span!r}): {name} must be None or two whole numbers from 1 to {LONGEST}, the smaller "
            "first, such as (1, 2)."
        )
    return int(sizes[0]), int(sizes[1])


class Listed:
    """A list of str or bytes, encoded piece by piece."""

    def __init__(self, texts: list[Any]) -> None:
        self.texts, kinds = texts, set(map(type, texts))
        if not kinds <= {str, bytes}:
            self.texts = [_plain(text, row) for row, text in enumerate(texts)]
        lengths = np.fromiter(map(len, self.texts), np.int64, len(texts))
        self.cuts = cuts(np.concatenate([[0], np.cumsum(lengths)]))
        self.size = int(lengths.sum())

    def __len__(self) -> int:
        return len(self.texts)

    def piece(self, k: int) -> TextColumn:
        part = self.texts[self.cuts[k] : self.cuts[k + 1]]
        # half a surrogate pair has no UTF-8: its bytes are those of no character, and so separate words
        return strings_of(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in part)


class Arrowed:
    """A string column of Arrow, read where it lies in memory."""

    def __init__(self, chunks: list[Any]) -> None:
        self.parts: list[TextColumn] = []
        self.rows = self.size = 0
        for chunk in chunks:
            if chunk.null_count:
                missing = next(row for row, valid in enumerate(chunk.is_valid().to_pylist()) if not valid)
                raise ValueError(
                    f"Row {self.rows + missing} is None: replace missing texts first, for instance with ''."
                )
            wide = str(chunk.type).startswith("large")
            _, offsets, data = chunk.buffers()
            ends = np.frombuffer(offsets or b"", np.int64 if wide else np.int32)[chunk.offset :][: len(chunk) + 1]
            content = np.frombuffer(data or b"", np.uint8)
            for first, last in pairwise(cuts(ends).tolist()):
                self.parts.append(TextColumn(content, ends[first:last], ends[first + 1 : last + 1]))
            self.rows += len(chunk)
            self.size += int(ends[-1] - ends[0]) if len(chunk) else 0
        self.cuts = np.concatenate([[0], np.cumsum([len(part.begin) for part in self.parts], dtype=np.int64)])

    def __len__(self) -> int:
        return self.rows

    def piece(self, k: int) -> TextColumn:
        return self.parts[k]


def cuts(ends: np.ndarray) -> np.ndarray:
    """Return the rows at which to cut texts into pieces of PIECE bytes. ends: where texts end, after a first start."""
    n = len(ends) - 1
    if n < 1:
        return np.zeros(1, np.int64)
    positions = np.arange(int(ends[0]) + PIECE, int(ends[-1]), PIECE)
    return np.unique(np.concatenate([[0], np.searchsorted(ends, positions), [n]]))


def read_texts(X: Any) -> Listed | Arrowed:
    """Return the texts, checked. Raises TypeError or ValueError that names the row which is none."""
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
        return _from_pyarrow(X)
    return Listed(X.tolist() if isinstance(X, np.ndarray) else list(X))


def _from_pyarrow(column: Any) -> Listed | Arrowed:
    kind = str(column.type)
    if kind.startswith("dictionary") or kind in ("string_view", "binary_view"):
        column, kind = column.cast("large_string"), "large_string"
    if kind not in ("string", "large_string"):
        return Listed(column.to_pylist())
    return Arrowed(column.chunks if hasattr(column, "chunks") else [column])


def _plain(text: Any, row: int) -> str | bytes:
    """Return a text of a type derived from str or bytes as it is."""
    if isinstance(text, str | bytes):
        return text
    if is_missing(text):
        raise ValueError(f"Row {row} is {text!r}: replace missing texts first, for instance with ''.")
    raise TypeError(
        f"Row {row} is {text!r} ({type(text).__name__}): every row must be a text (str, or bytes of UTF-8)."
    )
