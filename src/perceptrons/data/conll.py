"""Files of one token per line, its values in columns: CoNLL-2000, CoNLL-2003, CoNLL-U, WNUT and similar formats.

`read_conll` looks at the whole file as an array of bytes and finds where lines and columns start and end; no line is
ever split by itself. A `ColumnFile` holds these places. Writing puts new labels between the old bytes, so all that is
not the label column comes back as it was.
"""

import itertools
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np

from perceptrons.data.source import (
    BOM,
    STDIN,
    as_utf8,
    compression_of,
    known_encoding,
    read_bytes,
    resolved,
    write_bytes,
)
from perceptrons.data.table import DataFileError
from perceptrons.engine.training.epochs import hold_out
from perceptrons.engine.wording import count, short
from perceptrons.features.values import shown

__all__ = ["FORMATS", "ColumnFile", "read_conll"]

FORMATS = ("columns", "conllu")
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
        """Return the place of a column, counted from 0. People call it by its number from 1, or from -1 at the end.

        In CoNLL-U also its name: id, form, lemma, upos, xpos, feats, head, deprel, deps, misc.
        """
        text, n = str(name).strip(), self.n_columns
        has_names = self.format == "conllu"
        if has_names and text.lower() in CONLLU:
            return CONLLU.index(text.lower())
        if not NUMBER.fullmatch(text):
            message = f"no column is called {shown(text)}: give its number, from 1 to {n}"
            message += f", or one of {', '.join(CONLLU)}" if has_names else "; only the columns of CoNLL-U have names"
            raise DataFileError(self.path, message)
        number = int(text)
        if not 1 <= abs(number) <= n:
            message = f"there is no column {number}: columns are numbered from 1 to {n}, and from -1 (the last) to -{n}"
            raise DataFileError(self.path, message)
        return number - 1 if number > 0 else number + n

    def column(self, place: int) -> list[str]:
        """Return the values of a column for all tokens of the file; `lengths` says where each sentence ends."""
        if not isinstance(place, int | np.integer) or not -self.n_columns <= place < self.n_columns:
            raise ValueError(f"{place!r} is not a column: columns are numbered from 0 to {self.n_columns - 1}.")
        return texts(self.content, self.starts[:, place], self.ends[:, place])

    @overload
    def sentences(self, columns: int) -> list[list[str]]: ...

    @overload
    def sentences(self, columns: Sequence[int]) -> list[list[tuple[str, ...]]]: ...

    def sentences(self, columns: int | Sequence[int]) -> Any:
        """Return the tokens of each sentence: what they have in one column, or a tuple of what they have in several."""
        if isinstance(columns, list | tuple):
            tokens: list[Any] = list(zip(*map(self.column, columns), strict=True))
        else:
            tokens = self.column(columns)  # type: ignore[arg-type]  # or it says what is wrong with it
        stops = np.cumsum(self.lengths).tolist()
        return [tokens[start:stop] for start, stop in itertools.pairwise([0, *stops])]

    def line(self, token: int) -> int:
        """Return the line of the file, counted from 1, that holds a token; tokens count from 0."""
        return self.content.count(b"\n", 0, int(self.starts[token, 0])) + 1

    def with_labels(self, labels: Labels, place: int | None = None, behind: Labels | None = None) -> bytes:
        """Return the whole file with these labels in the column at this place, or in a new one behind the last.

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
        new_columns = [] if behind is None else [self._checked(behind)]
        if place is not None:
            changes = list(zip(self.starts[:, place].tolist(), self.ends[:, place].tolist(), new, strict=True))
        else:
            new_columns.insert(0, new)
        if new_columns and self.format == "conllu":
            raise DataFileError(self.path, "CoNLL-U has ten columns, and none can be added: name the column to replace")
        if new_columns:
            gap = (self.separator or " ").encode()
            cells = (b"".join(gap + cell for cell in token) for token in zip(*new_columns, strict=True))
            changes += [(end, end, text) for end, text in zip(self.ends[:, -1].tolist(), cells, strict=True)]
            changes += [(end, end, (gap + last) * len(new_columns)) for end, last in self.documents]
            changes.sort(key=itemgetter(0, 1))
        pieces: list[bytes] = []
        copied = 0
        for start, end, label in changes:
            pieces += (self.content[copied:start], label)
            copied = end
        content = b"".join([*pieces, self.content[copied:]])
        try:
            return content if self.encoding == "utf-8" else content.decode().encode(self.encoding)
        except UnicodeError as error:
            raise DataFileError(self.path, f"the labels cannot be written in {self.encoding} ({error})") from error

    def write(self, path: str | os.PathLike[str], labels: Labels, place: int | None = None) -> None:
        """Write the file with these labels, compressed if the name ends in .gz, .xz or .bz2; "-" is standard output.

        See `with_labels` for labels and place. A file that is there is replaced, but not if the labels are wrong.
        """
        write_bytes(path, self.with_labels(labels, place))

    def _checked(self, labels: Labels) -> list[bytes]:
        """Return the labels as bytes, one a token, if there are as many as tokens and each can stand in a column."""
        flat = list(labels)
        if flat and not isinstance(flat[0], str) and hasattr(flat[0], "__len__"):
            if len(flat) != len(self.lengths):
                message = f"labels for {len(flat)} sentences were given, but the file has {len(self.lengths)} sentences"
                raise DataFileError(self.path, f"{message}: give labels for each")
            for number, (labels_given, needed) in enumerate(zip(flat, self.lengths.tolist(), strict=True)):
                if len(labels_given) != needed:
                    message = f"{len(labels_given)} labels were given for the {needed} tokens of sentence {number}"
                    raise DataFileError(self.path, f"{message} (numbered from 0): give one label per token")
            flat = list(itertools.chain.from_iterable(flat))
        if len(flat) != self.n_tokens:
            message = f"{len(flat)} labels were given for {self.n_tokens} tokens: give one label per token"
            raise DataFileError(self.path, message)
        encoded = {label: self._encoded(label) for label in set(flat)}
        return [encoded[label] for label in flat]

    def _encoded(self, label: Any) -> bytes:
        """Return a label as UTF-8, if it can stand in a column."""
        text, between = str(label), "[ \t]" if self.separator is None else re.escape(self.separator)
        if not isinstance(label, str | int | np.integer) or text != text.strip(" \t") or not text:
            message = f"{shown(text)} is not a label: give text without spaces around it, or numbers"
            raise DataFileError(self.path, message)
        if re.search(rf"[\r\n\0]|{between}", text):
            raise DataFileError(self.path, f"the label {shown(text)} contains a column separator: rename it")
        try:
            text.encode(self.encoding)
            return text.encode()
        except UnicodeEncodeError as error:
            message = f"the label {shown(text)} cannot be written in the file's encoding, {self.encoding}: rename it"
            raise DataFileError(self.path, message) from error


def texts(content: bytes, starts: np.ndarray, ends: np.ndarray) -> list[str]:
    """Return the pieces of the content that start and end there. None of them may have a newline in it."""
    sizes = ends - starts + 1
    pieces = np.frombuffer(content, dtype=np.uint8).take(runs(starts, sizes), mode="clip")
    pieces[np.cumsum(sizes) - 1] = ord("\n")
    return pieces.tobytes().decode().split("\n")[:-1]


def runs(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """From each start as many whole numbers as its size says: runs([7, 2], [2, 3]) is 7, 8, 2, 3, 4."""
    stops = np.cumsum(sizes)
    return np.arange(stops[-1] if len(stops) else 0) + np.repeat(starts - (stops - sizes), sizes)


ENDINGS = (".conllu", ".conll-u")
NO_TOKEN = re.compile(r"\d+-\d+|\d+\.\d+", re.ASCII)  # a multiword range, an empty node
LONE_RETURN = re.compile(rb"\r(?![\r\n]|\Z)")
NEWLINE, RETURN, SPACE, TAB = b"\n\r \t"


def read_conll(
    path: str | os.PathLike[str],
    separator: str | None = None,
    *,
    format: str | None = None,
    comments: bool | None = None,
    encoding: str = "utf-8",
) -> ColumnFile:
    r"""Read a file with one token per line, its values in columns, and blank lines between sentences.

    When to use it: for tagging, chunking and named entities, whose data usually have this format. When not: for
    examples that are not parts of a sequence, such as rows of numbers, use `perceptrons.data.read`.

    What is no token is kept for writing back, but neither learned from nor counted: comments, and in CoNLL-U multiword
    ranges (3-4) and empty nodes (5.1). So are the -DOCSTART- lines of CoNLL-2003, each a sentence of its own. The
    script conlleval takes them for tokens tagged correctly, so its accuracy comes out a little higher, its precision
    and recall the same.

    Parameters
    ----------
    path : path, or "-" for standard input
        Decompressed if it was compressed by gzip, xz or bzip2.
    separator : str, optional
        What stands between columns, such as "\t", or " " for exactly one space; or "whitespace" for any run of spaces
        and tabs. By default a tab if the first token's line has one, else "whitespace". Other white space, such as a
        no-break space, is part of a word.
    format : {"columns", "conllu"}, optional
        CoNLL-U has ten columns with names, tabs between them, and comments. By default it is known by the ending
        .conllu or .conll-u, or by ten columns in the first sentence, the first of them 1, 2, 3 and so on. CoNLL-X
        (2006, 2007) looks the same and is read the same.
    comments : bool, optional
        Are lines that start with # comments? By default only in CoNLL-U, since # is also a word.
    encoding : str, default="utf-8"
        The file is also written in it. A byte order mark is kept.

    Returns
    -------
    ColumnFile

    Raises
    ------
    DataFileError
        The first bad line as "file:line:column: what is wrong: what to do"; the column is that of the file. A file that
        cannot be opened raises OSError.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from perceptrons.data.conll import read_conll
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "chunks.txt"
    >>> _ = path.write_text("The DT B-NP\ncat NN I-NP\n\nIt PRP B-NP\nsat VBD B-VP\n")
    >>> file = read_conll(path)
    >>> file.n_columns, file.lengths.tolist(), file.column(0)
    (3, [2, 2], ['The', 'cat', 'It', 'sat'])
    >>> file.sentences([0, file.column_number(-1)])
    [[('The', 'B-NP'), ('cat', 'I-NP')], [('It', 'B-NP'), ('sat', 'B-VP')]]
    >>> print(file.with_labels(["a", "b", "c", "d"], 2).decode(), end="")
    The DT a
    cat NN b
    <BLANKLINE>
    It PRP c
    sat VBD d
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is {format!r}: give one of {', '.join(FORMATS)}, or None to detect it")
    if separator is not None and (not separator or re.search(r"[\r\n\0]", separator)):
        raise ValueError(f"separator is {separator!r}: give the text between two columns, or None to detect it")
    known_encoding(encoding)
    path = STDIN if str(path) == "-" else Path(path)
    content = read_bytes(path)
    encoding = resolved(encoding, content)
    lines = _lines(path, as_utf8(path, content, encoding))
    if format is None:
        format = "conllu" if separator in (None, "\t") and _looks_like_conllu(lines) else "columns"
    comment = lines.begin_with(b"#") & (format == "conllu" if comments is None else comments)
    document = lines.begin_with(b"-DOCSTART-") & (format == "columns")
    rows = np.flatnonzero(~(lines.blank | comment | document))
    if not len(rows):
        _refuse_empty(lines, comment)
    if separator is None and (format == "conllu" or b"\t" in lines.text(rows[0])):
        separator = "\t"
    elif separator == "whitespace":
        separator = None
    starts, ends, counts = _fields(lines, rows, separator)
    n_columns = len(CONLLU) if format == "conllu" else int(counts[0])
    if (counts != n_columns).any():
        _refuse_ragged(lines, rows, counts, n_columns, separator, format)
    starts, ends = starts.reshape(-1, n_columns), ends.reshape(-1, n_columns)
    sentence = np.cumsum(lines.blank | document)[rows]
    if format == "conllu":
        token = _tokens(lines, rows, sentence, texts(lines.content, starts[:, 0], ends[:, 0]))
        starts, ends, sentence = starts[token], ends[token], sentence[token]
    first_tokens = np.flatnonzero(np.diff(sentence, prepend=-1))
    lengths = np.diff(first_tokens, append=len(sentence))
    documents = _documents(lines, np.flatnonzero(document), separator, n_columns)
    return ColumnFile(path, format, separator, lengths, lines.content, starts, ends, documents, encoding)


class Lines(NamedTuple):
    """The lines of a file: where in its content each starts and ends, and which are blank.

    Spaces at the end of a line are left out. Tabs are part of it, as an empty column may be there, unless all is blank.
    """

    path: Path
    content: bytes
    starts: np.ndarray
    ends: np.ndarray
    blank: np.ndarray

    def text(self, line: int) -> bytes:
        return self.content[self.starts[line] : self.ends[line]]

    def begin_with(self, word: bytes) -> np.ndarray:
        """Return which lines begin with this word, whatever comes behind it."""
        begin_with_letter = np.frombuffer(self.content, np.uint8)[self.starts] == word[0]
        for line in np.flatnonzero(begin_with_letter) if len(word) > 1 else ():
            begin_with_letter[line] = self.content.startswith(word, self.starts[line])
        return begin_with_letter & ~self.blank


def _lines(path: Path, content: bytes) -> Lines:
    if not content.removeprefix(BOM):
        raise DataFileError(path, "the file is empty: write one token per line", 1)
    lone = LONE_RETURN.search(content)
    if lone is not None:
        line = content.count(b"\n", 0, lone.start()) + 1
        raise DataFileError(path, "a carriage return within a line: end every line by \\n or \\r\\n", line)
    data = np.frombuffer(content, dtype=np.uint8)
    newlines = np.flatnonzero(data == NEWLINE)
    starts = np.concatenate([[0], newlines + 1])
    ends = np.concatenate([newlines, [len(data)]])
    starts[0] = len(BOM) if content.startswith(BOM) else 0
    if content.endswith(b"\n"):
        starts, ends = starts[:-1], ends[:-1]
    ends -= (ends > starts) & (data[ends - 1] == RETURN)
    blank = ends == starts
    last = data[ends - 1]
    for line in np.flatnonzero(~blank & ((last == SPACE) | (last == TAB) | (last == RETURN))).tolist():
        text = content[starts[line] : ends[line]]
        blank[line] = not text.strip(b" \t\r")
        ends[line] = starts[line] + len(text.rstrip(b" \r"))
    return Lines(path, content, starts, ends, blank)


def _looks_like_conllu(lines: Lines) -> bool:
    """By its name, or by ten columns in the first sentence, the first of them 1, 2, 3, ..."""
    path = lines.path if compression_of(lines.path) is None else lines.path.with_suffix("")
    if path.suffix.lower() in ENDINGS:
        return True
    rows = np.flatnonzero(~(lines.blank | lines.begin_with(b"#")))
    if not len(rows):
        return False
    stop = rows[0] + int(np.argmax(np.append(lines.blank[rows[0] :], True)))
    cells = [lines.text(row).split(b"\t") for row in rows[:100] if row < stop]
    ids = [cell[0].decode() for cell in cells]
    numbers = [number for number in ids if not NO_TOKEN.fullmatch(number)]
    return {len(cell) for cell in cells} == {len(CONLLU)} and numbers == [str(i + 1) for i in range(len(numbers))]


def _fields(lines: Lines, rows: np.ndarray, separator: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where the columns on these lines start and end, one behind the other, and how many each line has."""
    row_starts, row_ends = lines.starts[rows], lines.ends[rows]
    data = np.frombuffer(lines.content, dtype=np.uint8)
    if separator is None:
        gap = (data == SPACE) | (data == TAB) | (data == NEWLINE)
        gap[: lines.starts[0]] = True  # a byte order mark
        edges = np.flatnonzero(np.diff(gap, prepend=True, append=True))
        first, stop = (np.searchsorted(edges[0::2], places) for places in (row_starts, row_ends))
        counts = stop - first
        positions = runs(first, counts)
        return edges[0::2][positions], np.minimum(edges[1::2][positions], np.repeat(row_ends, counts)), counts
    mark = separator.encode()
    if len(mark) == 1:
        cuts = np.flatnonzero(data == mark[0])
    else:
        cuts = np.array([match.start() for match in re.finditer(re.escape(mark), lines.content)], dtype=np.intp)
    first, stop = (np.searchsorted(cuts, places) for places in (row_starts, row_ends))
    cuts = cuts[runs(first, stop - first)]
    counts = stop - first + 1
    starts, ends = np.empty((2, len(cuts) + len(rows)), dtype=np.intp)
    after_cut = np.ones(len(starts), dtype=bool)
    after_cut[np.cumsum(counts) - counts] = False
    before_cut = np.append(after_cut[1:], False)
    starts[after_cut], starts[~after_cut] = cuts + len(mark), row_starts
    ends[before_cut], ends[~before_cut] = cuts, row_ends
    # a separator with a space at its end may reach into the white space that is left out
    return np.minimum(starts, ends), ends, counts


def _tokens(lines: Lines, rows: np.ndarray, sentence: np.ndarray, ids: list[str]) -> np.ndarray:
    """Return which rows of a CoNLL-U file are tokens, by their ids, which must be 1, 2, 3, ... in every sentence."""
    token = np.array([NO_TOKEN.fullmatch(name) is None for name in ids])
    places = np.flatnonzero(token)
    if not len(places):
        _refuse_empty(lines, ~token)
    first = np.flatnonzero(np.diff(sentence[places], prepend=-1))
    numbers = np.arange(1, len(places) + 1) - np.repeat(first, np.diff(first, append=len(places)))
    names = [str(number) for number in range(int(numbers.max()) + 1)]
    for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
        if ids[place] != names[number]:
            message = f"the id is {shown(ids[place])}, but {number} was expected: number the tokens of each sentence"
            message += " from 1, and leave a blank line between sentences"
            raise DataFileError(lines.path, message, int(rows[place]) + 1)
    return token


def _documents(lines: Lines, rows: np.ndarray, separator: str | None, n_columns: int) -> list[tuple[int, bytes]]:
    """Return where the -DOCSTART- lines with all columns end, and what is in their last column."""
    documents = []
    for row in rows.tolist():
        text = lines.text(row)
        cells = re.findall(rb"[^ \t]+", text) if separator is None else text.split(separator.encode())
        if len(cells) == n_columns:
            documents.append((int(lines.starts[row]) + len(text.rstrip(b" \t")), cells[-1]))
    return documents


def _refuse_empty(lines: Lines, has_text: np.ndarray) -> NoReturn:
    message = "the file has lines, but no tokens" if has_text.any() else "there are no tokens in the file"
    raise DataFileError(lines.path, f"{message}: write one token per line", 1)


def _refuse_ragged(
    lines: Lines, rows: np.ndarray, counts: np.ndarray, n_columns: int, separator: str | None, format: str
) -> NoReturn:
    """Raise the error for the first line that has not as many columns as it should."""
    token = int(np.argmax(counts != n_columns))
    width = f"{counts[token]} column{'s' if counts[token] > 1 else ''} here"
    expected = f"in line {rows[0] + 1}" if format == "columns" else "in CoNLL-U"
    between = {None: "spaces or tabs", "\t": "tabs", " ": "single spaces"}.get(separator, repr(separator))
    message = f"{width}, but {n_columns} {expected}: every token needs the same number, separated by {between}"
    if lines.text(rows[token]).startswith(b"#") and format == "columns":
        message += "; if # starts a comment in this file, give comments=True (--comments)"
    raise DataFileError(lines.path, message, int(rows[token]) + 1, min(int(counts[token]), n_columns) + 1)


# ---- sentences as a tagger takes them

NEVER_EMPTY = ("upos", "head", "deprel")  # _ says there that nothing is known; elsewhere it is a value


@dataclass(frozen=True)
class Corpus:
    """names: of the columns that are seen. A token is a string, or a tuple of one a column. label: its place."""

    file: ColumnFile
    names: list[str]
    sentences: list[list[Any]]
    labels: list[list[str]]
    label: int | None

    @classmethod
    def of(cls, file: ColumnFile, places: list[int], names: list[str], label: int | None) -> "Corpus":
        """Return the sentences of a file: the columns at these places, and the labels at another, if there are any."""
        sentences: list[Any] = file.sentences(places[0] if len(places) == 1 else places)
        return cls(file, names, sentences, [] if label is None else file.sentences(label), label)

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self.sentences))

    @property
    def words(self) -> Iterable[str]:
        """What all tokens have in the first column."""
        tokens = chain.from_iterable(self.sentences)
        return tokens if len(self.names) == 1 else (token[0] for token in tokens)

    @property
    def label_name(self) -> str:
        """What people call the column of the label."""
        place = self.label or 0
        return CONLLU[place] if self.file.format == "conllu" else f"column {place + 1}"

    @property
    def label_column(self) -> str:
        """How to ask for the column of the label in other files: by name in CoNLL-U, else by number, -1: the last."""
        place = self.label or 0
        if self.file.format == "conllu":
            return CONLLU[place]
        return "-1" if place == self.file.n_columns - 1 else str(place + 1)

    def part(self, rows: Iterable[int]) -> "Corpus":
        """Return only these sentences."""
        numbers = list(rows)
        sentences, labels = ([of[i] for i in numbers] for of in (self.sentences, self.labels))
        return replace(self, sentences=sentences, labels=labels)

    def place(self, token: int) -> str:
        """Return where the label of a token stands. Only of a whole file."""
        return f"{self.file.path}:{self.file.line(token)}:{(self.label or 0) + 1}"

    def first_missing(self) -> int | None:
        """Return the first token without a label."""
        missing = {"", "_"} if self.label_name in NEVER_EMPTY else {""}
        return next((k for k, label in enumerate(chain.from_iterable(self.labels)) if label in missing), None)

    def first_broken(self, scheme: Any) -> tuple[int, str] | None:
        """Return the first token whose label a scheme forbids there, and what is wrong with it."""
        from perceptrons.sequence.allowed import barriers  # only who checks a scheme needs it

        classes = np.unique(list(set(chain.from_iterable(self.labels))))
        ends = [*classes.tolist(), None]
        steps = zip(*np.nonzero(barriers(scheme, classes, stream=True)), strict=True)
        forbidden = {(ends[i], ends[j]) for i, j in steps}
        first = 0
        for labels in self.labels if forbidden else ():
            for at, (previous, label) in enumerate(pairwise([None, *labels, None])):
                if (previous, label) in forbidden:
                    if label is None:
                        return first + at - 1, f"{short(str(previous), 28)} at the end of a sentence"
                    place = "at the start of a sentence" if previous is None else f"after {short(previous, 28)}"
                    return first + at, f"{short(label, 28)} {place}"
            first += len(labels)
        return None


def split_corpus(corpus: Corpus, test: Corpus | None, share: float, seed: int) -> tuple[Corpus, Corpus | None, str]:
    """Return what to learn from, what to test on, and a sentence about it."""
    n = len(corpus.sentences)
    all_of_it = f"{count(n, 'sentence')} ({count(corpus.n_tokens, 'token')}) for training"
    if test is not None:
        there = f"{count(len(test.sentences), 'sentence')} ({count(test.n_tokens, 'token')})"
        return corpus, test, f"{all_of_it}; {there} in {test.file.path} for testing"
    if share == 0:
        return corpus, None, f"{all_of_it}, none held out"
    if n * share < 1 or n == 1:
        return corpus, None, f"{all_of_it}: too few to hold out {share:.0%} for testing"
    train, held_out = (corpus.part(rows) for rows in hold_out(np.zeros(n, np.intp), None, share, seed))
    description = (
        f"{count(len(train.sentences), 'sentence')} ({count(train.n_tokens, 'token')}) for training; "
        f"{len(held_out.sentences):,} ({count(held_out.n_tokens, 'token')}) held out for testing "
        f"({share:.0%}, seed {seed})"
    )
    return train, held_out, description


def column_names(file: ColumnFile, places: list[int]) -> list[str]:
    """Return what templates call these columns: by the names of CoNLL-U, elsewhere by where they are.

    word is the first, pos the second behind it, column3 the third.
    """
    if file.format == "conllu":
        return [CONLLU[place] for place in places]
    return [
        "word" if place == 0 else "pos" if (place, at) == (1, 1) else f"column{place + 1}"
        for at, place in enumerate(places)
    ]


def column_places(file: ColumnFile, names: list[str]) -> list[int] | None:
    """Return the places of the columns of these names, or of all columns; None if the file lacks one."""
    if file.format == "conllu":
        known_names = ["form"] if names == ["word"] else names
        return [CONLLU.index(name) for name in known_names] if set(known_names) <= set(CONLLU) else None
    if file.n_columns == len(names):
        return list(range(len(names)))
    numbers = [{"word": "column1", "pos": "column2"}.get(name, name) for name in names]
    matches = [re.fullmatch(r"column([1-9]\d{0,8})", name, re.ASCII) for name in numbers]
    places = [int(match[1]) - 1 for match in matches if match is not None]
    if len(places) < len(names):
        places = list(range(len(names)))
    return places if max(places) < file.n_columns else None
