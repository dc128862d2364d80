"""What readers of all formats share: blocks of examples in the order of the files, bad records, kinds of labels."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.openstream import OpenStream, only_once
from perceptrons.data.packed import STDIN
from perceptrons.data.source import Identity, Piece, Share, find_files, identity, pieces
from perceptrons.data.table import WHOLE, DataFileError, not_classes
from perceptrons.features import Columns
from perceptrons.features.local import Names
from perceptrons.features.recipe import check_recipe
from perceptrons.features.values import is_label, no_label, shown
from perceptrons.training.threads import ahead, in_order

COMPLAINTS = 10  # of the records that were skipped, so many are kept


class Block(NamedTuple):
    """Some examples that follow each other in a file.

    Labels are numbers of `classes`, the labels of this block as they came: some may be equal, as 1 and 1.0 are, and
    some of no example. Both are None where there are no labels.
    """

    X: Any  # CSR matrix or array; as many columns as features are known by now
    codes: np.ndarray | None  # int32
    classes: np.ndarray | None
    weight: np.ndarray | None
    path: Path
    lines: np.ndarray | None  # where each example begins, from 1

    @property
    def y(self) -> np.ndarray | None:
        return None if self.codes is None or self.classes is None else self.classes[self.codes]


class Texts(NamedTuple):
    """A column of strings: which distinct one each example has."""

    numbers: np.ndarray  # int32 (examples,)
    distinct: list[str]
    column: int = 1  # where in a record they stand


class Bad(NamedTuple):
    """A record that is no example."""

    line: int  # within the piece, from 0
    what: str
    column: int = 1


class Skipped(NamedTuple):
    """A record that was left out."""

    path: Path
    line: int  # from 1
    why: str  # "file:line:column: what is wrong: what to do"


class Parsed(NamedTuple):
    """What a thread makes of a piece, before anything is known of the pieces before it."""

    n_lines: int
    lines: np.ndarray  # int64: of each example, within the piece, from 0
    labels: Texts | None
    rows: Any  # the format's own
    weight: np.ndarray | None
    bad: list[Bad]


class Reader(ABC):
    """Blocks of examples from files; iterate as often as you like, but once over standard input.

    The blocks are the same every time, whatever the number of threads. Reading goes on in threads while a block is
    used. on_error: "raise" the first bad record in the order of the files, or "skip" and count them.
    """

    format: str
    columns: Columns | None = None  # names of the features, where they have names
    n_features: int = 0  # as far as known
    asked: dict[str, Any]  # the recipe before anything was read
    share: Share | None = None  # how much of every file is read, where several readers divide them; None: all

    def __init__(
        self, paths: tuple[Any, ...], *, on_error: str, text_labels: bool, need_labels: bool, prompt: bool = False,
        many_classes: bool = True,
    ):  # fmt: skip
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}: choose 'raise' or 'skip'.")
        self.files = find_files(paths)
        self.on_error, self.text_labels, self.need_labels, self.prompt = on_error, text_labels, need_labels, prompt
        self.many_classes = many_classes  # may nearly every example have a label of its own?
        self.skipped, self.complaints = 0, list[str]()
        self._seen: dict[Path, Identity | None] = {}

    # ---- what a format says

    @abstractmethod
    def _parse(self, piece: Piece) -> Parsed:
        """Read a piece; runs in several threads at once, and changes nothing of the reader."""

    @abstractmethod
    def _matrix(self, parsed: Parsed) -> Any:
        """The rows of the piece as a matrix; runs in the order of the pieces."""

    def _unfit(self, parsed: Parsed, piece: Piece) -> dict[int, tuple[str, int]]:
        """Rows that do not go with the pieces before: what is wrong, and in which column; runs in order."""
        return {}

    @abstractmethod
    def recipe(self) -> dict[str, Any]:
        """Keyword arguments of `stream` that read other files as these are read; fit for JSON."""

    @abstractmethod
    def _begin(self) -> None:
        """Forget what was learned of the files in an iteration before."""

    @property
    def notices(self) -> list[str]:
        """What somebody should be told of the files, though they can be read."""
        return []

    def known(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What was learned of the files, as a cache keeps it."""
        if self.columns is None:
            return {}, {}
        state, arrays = self.columns.state()
        return {"columns": state}, arrays

    def know(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take from a cache what would else be learned of the files. ValueError for what no reader had learned."""
        self._know(facts, arrays)
        check_recipe(self.recipe())

    def _know(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """What a format takes from a cache."""
        if self.columns is not None:
            columns = Columns.from_state(facts["columns"], arrays)
            if any(getattr(columns, name) != getattr(self.columns, name) for name in ("bits", "signed", "seed")):
                raise ValueError("expected columns that are numbered as they are now")
            self.columns, self.n_features = columns, columns.n_columns

    # ---- blocks

    def __iter__(self) -> Iterator[Block]:
        return ahead(self._blocks())

    def with_skipped(self) -> Iterator[tuple[Block | None, list[Skipped]]]:
        """The blocks, each with the records among its lines that were skipped; None where nothing else is left."""
        return ahead(self._outcomes())

    def _blocks(self) -> Generator[Block, None, None]:
        with closing(self._outcomes()) as outcomes:
            for block, _ in outcomes:
                if block is not None:
                    yield block

    def fingerprint(self) -> list[Any]:
        """What tells whether other files, or changed ones, are read now, or the same in another way."""
        named = [path for path in self.files if path != STDIN and not isinstance(path, OpenStream)]
        return [[[str(path), *(self._identity(path) or ())] for path in named], len(named), self.asked]

    def _outcomes(self) -> Generator[tuple[Block | None, list[Skipped]], None, None]:
        self.skipped, self.complaints = 0, []
        kinds = Labels(self.text_labels)
        self._begin()
        line = 1
        # who waits for a line must not wait for the next ones to fill the threads
        at_once = ((piece, self._parse(piece)) for piece in self._pieces()) if self.prompt else None
        for piece, parsed in at_once or in_order(self._pieces(), self._parse):
            line = 1 if piece.first else line
            block, skipped, error = self._block(piece, parsed, line, kinds)
            line += parsed.n_lines
            if block is not None or skipped:
                yield block, skipped
            if error is not None:
                raise error

    def _pieces(self) -> Iterator[Piece]:
        for path in self.files:
            self._begin_file(path)
            yield from pieces(path, self.prompt, self.share)

    def _begin_file(self, path: Path) -> None:
        if (path == STDIN or only_once(path)) and path in self._seen:
            raise DataFileError(path, "it was read already, and can be read only once: keep a cache")
        self._identity(path)

    def _identity(self, path: Path) -> Identity | None:
        now = identity(path)
        if self._seen.setdefault(path, now) != now:
            raise DataFileError(path, "the file is not what it was when it was read first: begin anew")
        return now

    def _block(
        self, piece: Piece, parsed: Parsed, line: int, kinds: "Labels"
    ) -> tuple[Block | None, list[Skipped], DataFileError | None]:
        """The block, records that were skipped, and the error that ends it if bad records are not to be skipped."""
        unfit = self._unfit(parsed, piece)
        classes = codes = None
        if parsed.labels is not None:
            codes = parsed.labels.numbers
            classes, wrong = kinds.read(parsed.labels.distinct)
            if wrong:
                rows = np.flatnonzero(np.isin(codes, list(wrong))).tolist()
                unfit = {row: (wrong[int(codes[row])], parsed.labels.column) for row in rows} | unfit
        bad = [*parsed.bad, *(Bad(int(parsed.lines[row]), *why) for row, why in unfit.items())]
        skipped, error = self._complain(piece, sorted(bad, key=lambda one: one.line), line)
        X, weight = self._matrix(parsed), parsed.weight
        lines: Any = parsed.lines + line
        if unfit or error is not None:
            keep = np.setdiff1d(np.arange(len(lines)), list(unfit))
            if error is not None:
                keep = keep[lines[keep] < (error.line or 0) - self._lines_before(piece.path)]
            X, lines, weight, codes = (None if part is None else part[keep] for part in (X, lines, weight, codes))
        block = Block(X, codes, classes, weight, piece.path, lines) if X.shape[0] else None
        if not self.many_classes and block is not None and codes is not None and classes is not None:
            self._check_classes(piece.path, codes, classes)
            self.many_classes = True  # the first block decides
        return block, skipped, error

    def _check_classes(self, path: Path, codes: np.ndarray, classes: np.ndarray) -> None:
        what = not_classes([classes[code] for code in np.unique(codes)], len(codes), self.recipe().get("label_column"))
        if what is not None:
            raise DataFileError(path, what)

    def _lines_before(self, path: Path) -> int:
        """Lines of the file that others read. Known only where something is wrong, as counting takes a reading."""
        return 0 if self.share is None else self.share.lines_before(path)

    def _complain(self, piece: Piece, bad: list[Bad], line: int) -> tuple[list[Skipped], DataFileError | None]:
        """Count bad records, or give the error for the first."""
        skipped = []
        for one in bad:
            number = line + one.line + self._lines_before(piece.path)
            error = DataFileError(piece.path, one.what, number, one.column)
            if self.on_error == "raise":
                return [], error
            self.skipped += 1
            skipped.append(Skipped(piece.path, number, str(error)))
            if len(self.complaints) < COMPLAINTS:
                self.complaints.append(str(error))
        return skipped, None


def texts_of(names: Names) -> list[str]:
    """Distinct names as strings; bytes that are not UTF-8 become surrogates, which no label may have."""
    arena, ends = names.arena.tobytes(), names.ends.tolist()
    return [arena[ends[k] : ends[k + 1]].decode("utf-8", "surrogateescape") for k in range(len(ends) - 1)]


class Labels:
    """Labels as they are written, and as they are learned: whole numbers if all of the first block look like it."""

    def __init__(self, text: bool):
        self._whole: bool | None = False if text else None

    def read(self, texts: list[str]) -> tuple[np.ndarray, dict[int, str]]:
        """The labels, and what is wrong with those that are none."""
        wrong = {
            number: f"{no_label(text)}: give one, or remove the record"
            for number, text in enumerate(texts)
            if not is_label(text) or not is_text(text)
        }
        sound = [text for number, text in enumerate(texts) if number not in wrong]
        if self._whole is None and sound:
            self._whole = all(WHOLE.fullmatch(text) for text in sound)
        if not self._whole:
            return np.array(["" if number in wrong else text for number, text in enumerate(texts)], str), wrong
        labels = np.zeros(len(texts), np.int64)
        for number, text in enumerate(texts):
            if WHOLE.fullmatch(text):
                labels[number] = int(text.partition(".")[0])
            elif number not in wrong:
                what = "is no whole number, as all labels before it are"
                wrong[number] = (
                    f"label {shown(text)} {what}: if labels are words, give text_labels=True (--text-labels)"
                )
        return labels, wrong


def is_text(text: str) -> bool:
    """UTF-8, and without NUL, which NumPy's strings drop at the end."""
    if "\0" in text:
        return False
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
