"""Vowpal Wabbit's text, "[label [importance]] ['tag]|namespace feature:value ..." a line. Compiled: `scan/vw.py`.

What VW would read only in part, or take for 0, is refused; all else is read as VW reads it, to the same columns.
"""

import threading
from typing import Any

import numpy as np

from perceptrons.data.reader import Bad, Parsed, Reader, Texts, texts_of
from perceptrons.data.source import Piece
from perceptrons.data.vwfaults import fault
from perceptrons.features import Columns
from perceptrons.features.assembling import assemble_values
from perceptrons.features.local import Workspace, local_names
from perceptrons.scan.vw import LONGEST_NAMESPACE, Found, scan_vw
from perceptrons.scan.vwnames import hash_features
from perceptrons.training.inputs import LARGEST_WEIGHT, SMALLEST_WEIGHT

BITS = 18  # as VW has it
WEIGHTS = SMALLEST_WEIGHT, LARGEST_WEIGHT  # of an example, if it is not 0


class VwReader(Reader):
    """Reads Vowpal Wabbit's text files.

    Features are hashed as VW's --hash strings does; values are float32, those of 0 left out, those of one column added
    up. No feature is constant: models have their intercept. A feature is called "namespace^feature", in the default
    namespace "feature". hash_bits: 0 for a column of its own for every name. columns: those of a model that is to
    predict. Lines may be without labels if need_labels is False; a block has labels if all its lines have.
    """

    format = "vw"

    def __init__(
        self,
        paths: tuple[Any, ...],
        *,
        hash_bits: int | None = None,
        columns: Columns | None = None,
        **shared: Any,
    ):
        super().__init__(paths, **shared)
        self._given = columns
        if columns is not None:
            if hash_bits is not None and hash_bits != (columns.bits or 0):
                raise ValueError(f"hash_bits={hash_bits}, but the columns are of {columns.bits or 0} bits.")
            hash_bits = columns.bits or 0
        self.hash_bits = BITS if hash_bits is None else hash_bits
        self._rooms = threading.local()
        self._begin()

    def _begin(self) -> None:
        self.columns = Columns(self.hash_bits or None, signed=False) if self._given is None else self._given
        self.n_features = self.columns.n_columns

    def recipe(self) -> dict[str, Any]:
        return {"format": self.format, "hash_bits": self.hash_bits, "text_labels": self.text_labels}

    def _parse(self, piece: Piece) -> Parsed:
        if not hasattr(self._rooms, "words"):
            self._rooms.words, self._rooms.labels = Workspace(), Workspace()
        with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
            found, counts = self._scanned(piece)
            n_lines, n_rows, n_values, n_bad, n_unlabelled, n_weighted = counts
            ends = found.ends[: n_values + 1]
            numbers, names = local_names(found.names, ends[:-1], ends[1:], self._rooms.words)
            hashes = np.empty(len(names.counts), np.uint32)
            hash_features(names.arena, names.ends, found.prefix, hashes)
        labels = None
        if not n_unlabelled:
            begin, end = np.ascontiguousarray(found.labels[:n_rows].T)
            of_rows, distinct = local_names(piece.content, begin, end, self._rooms.labels)
            labels = Texts(of_rows, texts_of(distinct))
        weight = found.weights[:n_rows] if n_weighted else None
        bad = [
            Bad(line, *fault(piece.content[first:last].tobytes(), self.need_labels, *WEIGHTS))
            for line, first, last in found.bad[:n_bad].tolist()
        ]
        rows = found.starts[: n_rows + 1], numbers, found.values[:n_values], names, hashes
        return Parsed(n_lines, found.lines[:n_rows], labels, rows, weight, bad)

    def _scanned(self, piece: Piece) -> tuple[Found, tuple[int, ...]]:
        n_lines, n_names = int(np.count_nonzero(piece.content[: piece.size] == 10)), 2 * piece.size + 1024
        while True:
            found = Found(
                values=np.empty(piece.size // 2 + 1),
                ends=np.empty(piece.size // 2 + 2, np.int64),
                names=np.empty(n_names, np.uint8),
                prefix=np.empty(LONGEST_NAMESPACE + 1, np.uint8),
                starts=np.empty(n_lines + 1, np.int64),
                labels=np.empty((n_lines, 2), np.int64),
                weights=np.empty(n_lines),
                lines=np.empty(n_lines, np.int64),
                bad=np.empty((n_lines, 3), np.int64),
            )
            counts = scan_vw(piece.content, piece.size, self.need_labels, *WEIGHTS, found)
            if counts[2] >= 0:
                return found, counts
            n_names *= 2  # short features in a namespace of a long name

    def _matrix(self, parsed: Parsed) -> Any:
        starts, numbers, values, names, hashes = parsed.rows
        assert self.columns is not None
        found = self.columns.find(names, hashes if self.columns.bits else None)
        self.n_features = self.columns.n_columns
        return assemble_values(starts, numbers, values, found, self.n_features)
