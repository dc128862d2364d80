"""What `read_conll` gives: sentences of tokens with columns, as places in the bytes of their file.

Writing puts new labels between the old bytes, so all that is not the label column comes back as it was.
"""

import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, overload

import numpy as np

from perceptrons.data.compression import write_bytes
from perceptrons.data.table import DataFileError
from perceptrons.features.values import shown

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
NUMBER = re.compile(r"[+-]?\d{1,9}", re.ASCII)

Labels = Sequence[Any] | np.ndarray


@dataclass(frozen=True, eq=False)
class ColumnFile:
    """Sentences of tokens, each token with the same number of columns. `read_conll` makes it; an example is there.

    Places of columns count from 0 in `column`, `sentences` and `write`, and -1 is the last; `column_number` turns what
    a person calls a column into its place.

    Attributes
    ----------
    path : Path
        The file; "<stdin>" for standard input.
    format : {"columns", "conllu"}
        What it was read as.
    separator : str or None
        What stands between columns; None for any run of spaces and tabs.
    lengths : ndarray of shape (n_sentences,)
        The number of tokens of each sentence, never 0.
    n_tokens, n_columns : int
        The size of the file.
    """

    path: Path
    format: str
    separator: str | None
    lengths: np.ndarray
    content: bytes = field(repr=False)  # UTF-8
    starts: np.ndarray = field(repr=False)  # of shape (n_tokens, n_columns): where in the content each begins
    ends: np.ndarray = field(repr=False)
    documents: list[tuple[int, bytes]] = field(repr=False)  # where -DOCSTART- lines end, and their last columns
    encoding: str = field(repr=False)

    @property
    def n_tokens(self) -> int:
        return self.starts.shape[0]

    @property
    def n_columns(self) -> int:
        return self.starts.shape[1]

    def column_number(self, name: str | int) -> int:
        """The place of a column, counted from 0, by what people call it: its number from 1, or from -1 at the end.

        In CoNLL-U also its name: id, form, lemma, upos, xpos, feats, head, deprel, deps, misc.
        """
        text, n = str(name).strip(), self.n_columns
        named = self.format == "conllu"
        if named and text.lower() in CONLLU:
            return CONLLU.index(text.lower())
        if not NUMBER.fullmatch(text):
            what = f"no column is called {shown(text)}: give its number, from 1 to {n}"
            what += f", or one of {', '.join(CONLLU)}" if named else "; only the columns of CoNLL-U have names"
            raise DataFileError(self.path, what)
        number = int(text)
        if not 1 <= abs(number) <= n:
            what = f"there is no column {number}: columns are numbered from 1 to {n}, and from -1 (the last) to -{n}"
            raise DataFileError(self.path, what)
        return number - 1 if number > 0 else number + n

    def column(self, place: int) -> list[str]:
        """The column's values for all tokens of the file, sentence after sentence; `lengths` says where each ends."""
        if not isinstance(place, int | np.integer) or not -self.n_columns <= place < self.n_columns:
            raise ValueError(f"{place!r} is not a column: columns are numbered from 0 to {self.n_columns - 1}.")
        return texts(self.content, self.starts[:, place], self.ends[:, place])

    @overload
    def sentences(self, columns: int) -> list[list[str]]: ...

    @overload
    def sentences(self, columns: Sequence[int]) -> list[list[tuple[str, ...]]]: ...

    def sentences(self, columns: int | Sequence[int]) -> Any:
        """The tokens of each sentence: what they have in one column, or a tuple of what they have in several."""
        if isinstance(columns, list | tuple):
            tokens: list[Any] = list(zip(*map(self.column, columns), strict=True))
        else:
            tokens = self.column(columns)  # type: ignore[arg-type]  # or it says what is wrong with it
        stops = np.cumsum(self.lengths).tolist()
        return [tokens[start:stop] for start, stop in itertools.pairwise([0, *stops])]

    def line(self, token: int) -> int:
        """The line of the file, counted from 1, that holds a token; tokens count from 0."""
        return self.content.count(b"\n", 0, int(self.starts[token, 0])) + 1

    def with_labels(self, labels: Labels, place: int | None = None, behind: Labels | None = None) -> bytes:
        """The whole file with these labels in the column at this place, or in a new one behind the last.

        All else stays as it is, byte for byte: other columns, blank lines, comments, multiword ranges, empty nodes and
        line ends. On -DOCSTART- lines a new column repeats the last one, so that they are as long as the others.

        Parameters
        ----------
        labels : sequence of str, or of sequences of str
            A label for each token of the file, or for each sentence a sequence of labels.
        place : int, optional
            Which column to replace, counted from 0. CoNLL-U has ten columns, so there it must be given.
        behind : as labels, optional
            What to write in one more new column, the last. CoNLL-U has no room for it.
        """
        new = self._checked(labels)
        changes: list[tuple[int, int, bytes]] = []
        added = [] if behind is None else [self._checked(behind)]
        if place is not None:
            changes = list(zip(self.starts[:, place].tolist(), self.ends[:, place].tolist(), new, strict=True))
        else:
            added.insert(0, new)
        if added and self.format == "conllu":
            raise DataFileError(self.path, "CoNLL-U has ten columns, and none can be added: name the column to replace")
        if added:
            gap = (self.separator or " ").encode()
            cells = (b"".join(gap + cell for cell in token) for token in zip(*added, strict=True))
            changes += [(end, end, text) for end, text in zip(self.ends[:, -1].tolist(), cells, strict=True)]
            changes += [(end, end, (gap + last) * len(added)) for end, last in self.documents]
            changes.sort(key=itemgetter(0, 1))
        pieces: list[bytes] = []
        done = 0
        for start, end, label in changes:
            pieces += (self.content[done:start], label)
            done = end
        whole = b"".join([*pieces, self.content[done:]])
        try:
            return whole if self.encoding == "utf-8" else whole.decode().encode(self.encoding)
        except UnicodeError as error:
            raise DataFileError(self.path, f"the labels cannot be written in {self.encoding} ({error})") from error

    def write(self, path: str | os.PathLike[str], labels: Labels, place: int | None = None) -> None:
        """Write the file with these labels, compressed if the name ends in .gz, .xz or .bz2; "-" is standard output.

        See `with_labels` for labels and place. A file that is there is replaced, but not if the labels are wrong.
        """
        write_bytes(path, self.with_labels(labels, place))

    def _checked(self, labels: Labels) -> list[bytes]:
        """The labels as bytes, one a token, if there are as many as tokens and each can stand in a column."""
        flat = list(labels)
        if flat and not isinstance(flat[0], str) and hasattr(flat[0], "__len__"):
            lengths = [len(sentence) for sentence in flat]
            if len(lengths) != len(self.lengths):
                what = (
                    f"labels for {len(lengths)} sentences were given, but the file has {len(self.lengths)} "
                    "sentences: give labels for each"
                )
                raise DataFileError(self.path, what)
            for number, (given, needed) in enumerate(zip(lengths, self.lengths.tolist(), strict=True)):
                if given != needed:
                    what = f"{given} labels were given for the {needed} tokens of sentence {number} (numbered from 0)"
                    raise DataFileError(self.path, f"{what}: give one label per token")
            flat = list(itertools.chain.from_iterable(flat))
        if len(flat) != self.n_tokens:
            raise DataFileError(
                self.path, f"{len(flat)} labels were given for {self.n_tokens} tokens: give one label per token"
            )
        encoded = {label: self._encoded(label) for label in set(flat)}
        return [encoded[label] for label in flat]

    def _encoded(self, label: Any) -> bytes:
        """A label as UTF-8, if it can stand in a column."""
        text, between = str(label), "[ \t]" if self.separator is None else re.escape(self.separator)
        if not isinstance(label, str | int | np.integer) or text != text.strip(" \t") or not text:
            raise DataFileError(
                self.path, f"{shown(text)} is not a label: give text without spaces around it, or numbers"
            )
        if re.search(rf"[\r\n\0]|{between}", text):
            raise DataFileError(self.path, f"the label {shown(text)} contains a column separator: rename it")
        try:
            text.encode(self.encoding)
            return text.encode()
        except UnicodeEncodeError as error:
            what = f"the label {shown(text)} cannot be written in the file's encoding, {self.encoding}: rename it"
            raise DataFileError(self.path, what) from error


def texts(content: bytes, starts: np.ndarray, ends: np.ndarray) -> list[str]:
    """The pieces of the content that start and end there. None of them may have a newline in it."""
    sizes = ends - starts + 1
    pieces = np.frombuffer(content, dtype=np.uint8).take(runs(starts, sizes), mode="clip")
    pieces[np.cumsum(sizes) - 1] = ord("\n")
    return pieces.tobytes().decode().split("\n")[:-1]


def runs(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """From each start as many whole numbers as its size says: runs([7, 2], [2, 3]) is 7, 8, 2, 3, 4."""
    stops = np.cumsum(sizes)
    return np.arange(stops[-1] if len(stops) else 0) + np.repeat(starts - (stops - sizes), sizes)
