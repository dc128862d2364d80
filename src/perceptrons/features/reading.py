"""Texts as they come, as pieces of bytes: lists of strings, arrays, columns of pandas, polars and pyarrow."""

from typing import Any, NamedTuple

import numpy as np

from perceptrons.features.values import is_missing

PIECE = 2**20  # bytes, about: what one thread cuts at a time
ONE_TEXT = "a list of texts was expected: put a single text in a list"


class Piece(NamedTuple):
    """Row i is content[begin[i]:end[i]]."""

    content: np.ndarray
    begin: np.ndarray
    end: np.ndarray


class Listed:
    """A list of str or bytes, encoded piece by piece."""

    def __init__(self, texts: list[Any]):
        self.texts, kinds = texts, set(map(type, texts))
        if not kinds <= {str, bytes}:
            self.texts = [_plain(text, row) for row, text in enumerate(texts)]
        lengths = np.fromiter(map(len, self.texts), np.int64, len(texts))
        self.cuts = cuts(np.concatenate([[0], np.cumsum(lengths)]))
        self.size = int(lengths.sum())

    def __len__(self) -> int:
        return len(self.texts)

    def piece(self, k: int) -> Piece:
        """Piece k of those that `cuts` says."""
        part = self.texts[self.cuts[k] : self.cuts[k + 1]]
        # half a surrogate pair has no UTF-8: its bytes are those of no character, and so separate words
        encoded = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in part]
        ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        return Piece(np.frombuffer(b"".join(encoded), np.uint8), np.concatenate([[0], ends[:-1]]), ends)


class Arrowed:
    """A string column of Arrow, read where it lies in memory."""

    def __init__(self, chunks: list[Any]):
        self.parts: list[Piece] = []
        self.rows = self.size = 0
        for chunk in chunks:
            if chunk.null_count:
                missing = next(row for row, valid in enumerate(chunk.is_valid().to_pylist()) if not valid)
                raise ValueError(f"Row {self.rows + missing} is None: fill in missing texts first, for instance by ''.")
            wide = str(chunk.type).startswith("large")
            _, offsets, data = chunk.buffers()
            ends = np.frombuffer(offsets or b"", np.int64 if wide else np.int32)[chunk.offset :][: len(chunk) + 1]
            content = np.frombuffer(data or b"", np.uint8)
            for first, last in zip(*_pairs(cuts(ends)), strict=True):
                self.parts.append(Piece(content, ends[first:last], ends[first + 1 : last + 1]))
            self.rows += len(chunk)
            self.size += int(ends[-1] - ends[0]) if len(chunk) else 0
        self.cuts = np.concatenate([[0], np.cumsum([len(part.begin) for part in self.parts], dtype=np.int64)])

    def __len__(self) -> int:
        return self.rows

    def piece(self, k: int) -> Piece:
        return self.parts[k]


def _pairs(places: np.ndarray) -> tuple[list[int], list[int]]:
    return places[:-1].tolist(), places[1:].tolist()


def cuts(ends: np.ndarray) -> np.ndarray:
    """Rows at which to cut texts with these ends (the first is where they begin), so that pieces have PIECE bytes."""
    n = len(ends) - 1
    if n < 1:
        return np.zeros(1, np.int64)
    wanted = np.arange(int(ends[0]) + PIECE, int(ends[-1]), PIECE)
    return np.unique(np.concatenate([[0], np.searchsorted(ends, wanted), [n]]))


def read_texts(X: Any) -> Listed | Arrowed:
    """The texts, checked. Raises TypeError or ValueError that names the row which is none."""
    if isinstance(X, str | bytes):
        raise ValueError(f"X is one text, {X[:40]!r}: {ONE_TEXT}, [text].")
    if X is None or not hasattr(X, "__iter__"):
        raise TypeError(f"X is {X!r} ({type(X).__name__}): a list of texts was expected.")
    if isinstance(X, dict) or hasattr(X, "columns") or getattr(X, "ndim", 1) != 1:
        shape = f" of shape {X.shape}" if hasattr(X, "shape") else ""
        raise ValueError(f"X is a {type(X).__name__}{shape}: give one column of texts, for instance X['text'].")
    library = type(X).__module__.split(".")[0]
    if library == "polars":
        X = _from_polars(X)
        library = type(X).__module__.split(".")[0]
    if library == "pyarrow":
        return _from_pyarrow(X)
    return Listed(X.tolist() if isinstance(X, np.ndarray) else list(X))


def _from_polars(series: Any) -> Any:
    try:
        return series.to_arrow()
    except ModuleNotFoundError:  # polars works without pyarrow
        return series.to_list()


def _from_pyarrow(column: Any) -> Listed | Arrowed:
    kind = str(column.type)
    if kind.startswith("dictionary") or kind in ("string_view", "binary_view"):
        column, kind = column.cast("large_string"), "large_string"
    if kind not in ("string", "large_string"):
        return Listed(column.to_pylist())
    return Arrowed(column.chunks if hasattr(column, "chunks") else [column])


def _plain(text: Any, row: int) -> str | bytes:
    """A text of a type derived from str or bytes as it is."""
    if isinstance(text, str | bytes):
        return text
    if is_missing(text):
        raise ValueError(f"Row {row} is {text!r}: fill in missing texts first, for instance by ''.")
    raise TypeError(
        f"Row {row} is {text!r} ({type(text).__name__}): every row must be a text (str, or bytes of UTF-8)."
    )
