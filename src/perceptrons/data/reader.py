"""What readers of all formats share: blocks of examples in the order of the files, bad records, kinds of labels."""

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from perceptrons.data.labels import LabelReader, joined_label_sets, not_classes
from perceptrons.data.options import ReadOptions
from perceptrons.data.source import FilePart, Inputs, Piece, decoded_from, find_files, identity, only_once, pieces
from perceptrons.data.table import (
    BadRecord,
    Block,
    DataFileError,
    DataPath,
    Identity,
    Outcome,
    ParsedPiece,
    Skipped,
    Table,
    concatenate_rows,
    joined,
    n_bytes,
)
from perceptrons.engine.streaming.threads import in_order, prefetched
from perceptrons.engine.training.memory import memory
from perceptrons.features import Columns
from perceptrons.features.columns import local_names
from perceptrons.features.rows import check_recipe
from perceptrons.features.values import LearnedState, Recipe

MAX_COLUMNS = 2**26 + 1  # of rows of numbered features
TABLE_SHARE = 0.4  # of the memory that a table may take: it is there twice for a moment
COMPLAINTS = 10  # messages about skipped records that are kept


class Reader:
    """Blocks of examples; iterate as often as you like, but once over standard input. `read` gives all as one table.

    The blocks are the same every time, whatever the number of threads. Threads keep reading while a block is used.
    """

    columns: Columns | None = None  # names of the features, where they have names
    n_features: int = 0  # as far as known
    request: Recipe  # the recipe before anything was read
    file_part: FilePart | None = None  # how much of every file is read, where several readers divide them; None: all
    no_features = "no example has any features: add at least one"
    more_on_labels = False  # has the format more to say of a missing label than others?
    keyed = False  # are hashes of the records wanted?
    unprepared = False  # are the cells of tables wanted as they are, to look at?
    learn_from: Callable[[list[Block]], list[np.ndarray]] | None = None  # flags for the rows that are learned from

    def __init__(self, paths: Inputs, options: ReadOptions) -> None:
        self.options = options
        self.files, self.encoding = find_files(paths), decoded_from(options.encoding)
        self.format, self.need_labels = options.format, options.need_labels
        self.skipped, self.complaints = 0, list[str]()
        self._accepts_many_classes = options.many_classes
        self._identities: dict[DataPath, Identity | None] = {}
        self._labels = LabelReader(options.text_labels, options.multilabel, options.label_separator, options.for_model)
        self._buffered: deque[Outcome] = deque()  # what `read` has read, and where it stopped
        self._remaining: Generator[Outcome, None, None] | None = None
        self._restored: Recipe | None = None  # how the files were read, as a cache says

    # ---- what a format says

    def _recipe(self) -> Recipe:
        """Return the part of the recipe that only this format has."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Forget what was learned of the files in an iteration before."""
        raise NotImplementedError

    def _parse(self, piece: Piece) -> ParsedPiece:
        """Read a piece; runs in several threads at once, and changes nothing of the reader."""
        raise NotImplementedError

    def _matrix(self, parsed: ParsedPiece) -> Any:
        """Return the rows of the piece as a matrix; runs in the order of the pieces."""
        raise NotImplementedError

    def _unfit(self, parsed: ParsedPiece, piece: Piece) -> dict[int, tuple[str, int]]:
        """Return rows that do not go with the pieces before: what is wrong, and in which column; runs in order."""
        return {}

    def _describe_unlabelled(self, line: bytes) -> tuple[str, int]:
        """Return what is wrong with a line that has no label, and the column; for formats with `more_on_labels`."""
        raise NotImplementedError

    @property
    def notices(self) -> list[str]:
        """Messages about the files, though they can be read."""
        return []

    def _feature_names(self) -> list[str] | None:
        """Return what features are called, if each has one column to itself."""
        return None if self.columns is None or self.columns.bits is not None else self.columns.names()

    def _nothing(self) -> DataFileError:
        """Return the error where there is no example."""
        return DataFileError(self.files[0], "there are no examples in the file: write one example per line", 1)

    # ---- how other files are read in the same way

    def recipe(self) -> Recipe:
        """Return the keyword arguments of `stream` that read other files as these are read; fit for JSON."""
        if self._restored is not None:
            return dict(self._restored)
        encoding = {} if self.encoding is None else {"encoding": self.encoding}
        shared = {"format": self.format, "text_labels": self.options.text_labels}
        return shared | self._recipe() | encoding | self._labels.recipe()

    def learned_state(self) -> LearnedState:
        """Return what was learned of the files, as a cache keeps it: the recipe, and how features have columns."""
        columns, arrays = (None, {}) if self.columns is None else self.columns.state()
        return self.recipe() | {"n_features": self.n_features, "columns": columns}, arrays

    def restore(self, facts: Recipe, arrays: dict[str, np.ndarray]) -> None:
        """Take from a cache what would else be learned of the files. ValueError for what no reader had learned."""
        recipe = dict(facts)
        state, n_features = recipe.pop("columns"), int(recipe.pop("n_features"))
        check_recipe(recipe)
        if recipe.get("format") != self.format:
            raise ValueError(f"expected the format {self.format!r}")
        if self.columns is not None:
            columns = Columns.from_state(state, arrays)
            options = {name: getattr(self.columns, name) for name in ("bits", "signed", "seed")}
            options["bits"] = recipe.get("hash_bits", options["bits"]) or None
            if any(getattr(columns, name) != value for name, value in options.items()):
                raise ValueError("expected columns that are numbered as they are now")
            self.columns, n_features = columns, columns.n_columns
        elif not self.n_features <= n_features <= max(self.n_features, MAX_COLUMNS):
            raise ValueError(f"expected a number of features that the files can have, not {n_features}")
        self._restored, self.n_features = recipe, n_features

    # ---- blocks

    def __iter__(self) -> Iterator[Block]:
        return prefetched(self._blocks())

    def with_skipped(self) -> Iterator[Outcome]:
        """Return the blocks, each with the records that were skipped; the block is None if all were skipped."""
        return prefetched(self._resumed())

    def _blocks(self) -> Generator[Block, None, None]:
        with closing(self._resumed()) as outcomes:
            for block, _ in outcomes:
                if block is not None:
                    yield block

    def _resumed(self) -> Generator[Outcome, None, None]:
        """Yield the blocks from the beginning; those that `read` has read already are not read again."""
        if self._remaining is None:
            self._labels.is_deferred = False
            yield from self._outcomes()
            return
        remaining, self._remaining = self._remaining, None
        buffered, self._buffered = self._buffered, deque()
        self._settle_labels([block for block, _ in buffered if block is not None])
        with closing(remaining):
            while buffered:
                block, skipped = buffered.popleft()
                yield block if block is None else self._finished([block])[0], skipped
            yield from remaining

    def read(self, limit: int | None = None) -> Table | None:
        """Return all examples as one table.

        Parameters
        ----------
        limit : int, optional
            The largest size of the parsed data in bytes. If there is more, the result is None, and iterating gives the
            blocks that were read so far and then the others, so that a pipe is read only once.

        Raises
        ------
        DataFileError
            The first malformed record, or the lack of any example.
        """
        if self._remaining is None:
            self._labels.is_deferred = True
            self._remaining, self._buffered = self._outcomes(), deque()
        size, max_bytes = sum(n_bytes(block) for block, _ in self._buffered), int(TABLE_SHARE * memory())
        try:
            for outcome in self._remaining:
                self._buffered.append(outcome)
                size += n_bytes(outcome[0])
                if limit is not None and size > limit:
                    return None
                if size > max_bytes:
                    message = f"more than {max_bytes:,} bytes of parsed data, too much for the memory of this machine"
                    raise DataFileError(self.files[0], f"{message}: split them, or use perceptrons.data.stream")
        except BaseException:
            self._remaining, self._buffered = None, deque()
            raise
        blocks, self._remaining, self._buffered = (
            [block for block, _ in self._buffered if block is not None],
            None,
            deque(),
        )
        if not blocks:
            raise self._nothing()
        self._settle_labels(blocks)
        return self._joined(blocks)

    def _settle_labels(self, blocks: list[Block]) -> None:
        """Decide by all labels of these blocks what the others are read as."""
        self._labels.settle(blocks)
        labels = {label for block in blocks for label in block.labels()} if self._must_check_classes else set()
        if labels:
            self._check_classes(blocks[0].path, labels, sum(block.X.shape[0] for block in blocks))

    def _finished(self, blocks: list[Block]) -> list[Block]:
        """Return blocks that were read before it was known what others are."""
        return [self._labels.finished(block) for block in blocks]

    def _joined(self, blocks: list[Block]) -> Table:
        """Return one table of blocks. The list is emptied meanwhile, so that no example is in memory twice for long."""
        blocks[:] = self._finished(blocks)
        sizes = [block.X.shape[0] for block in blocks]
        lines, keys = (joined([getattr(block, name) for block in blocks]) for name in ("lines", "keys"))
        y, classes = self._joined_labels(blocks)
        weight = None
        if any(block.weight is not None and (block.weight != 1).any() for block in blocks):
            weights = [block.weight for block in blocks]
            weight = np.concatenate([np.ones(n) if w is None else w for n, w in zip(sizes, weights, strict=True)])
        of_file = None
        if len(self.files) > 1:
            of_file = np.repeat([self.files.index(block.path) for block in blocks], sizes)
        parts = [block.X for block in blocks]
        del blocks[:]
        X = concatenate_rows(parts, self.n_features)
        if not X.shape[1]:
            raise DataFileError(self.files[0], self.no_features, None if lines is None else int(lines[0]))
        recipe = self.recipe()
        return Table(
            X=X, y=y, feature_names=self._feature_names(), label_name=recipe.get("label_column"), path=self.files[0],
            lines=lines, weight=weight, files=list(self.files), of_file=of_file, source=recipe, columns=self.columns,
            skipped=self.skipped, complaints=list(self.complaints), notices=self.notices, keys=keys, classes=classes,
        )  # fmt: skip

    def _joined_labels(self, blocks: list[Block]) -> tuple[Any, np.ndarray | None]:
        """Return the labels of all blocks, and those of the columns where examples may have several."""
        if not all(block.several for block in blocks):
            return joined([block.y for block in blocks]), None
        y, classes = joined_label_sets(blocks)
        if y.shape[0] * y.shape[1] > TABLE_SHARE * memory():
            message = f"{y.shape[0]:,} examples by {y.shape[1]:,} labels are too much for the memory of this machine"
            raise DataFileError(self.files[0], f"{message}: use perceptrons.data.stream (--in-memory 0)")
        return y, classes

    def fingerprint(self) -> list[Any]:
        """Return what tells whether other files, or changed ones, are read now, or the same in another way."""
        with_identity = [path for path in self.files if identity(path) is not None]
        return [
            [[str(path), *(self._identity(path) or ())] for path in with_identity],
            len(with_identity),
            self.request,
        ]

    @property
    def _must_check_classes(self) -> bool:
        return not (self._accepts_many_classes or self._labels.is_deferred or self._labels.several)

    def _check_classes(self, path: DataPath, labels: Collection[Any], n: int) -> None:
        """Refuse labels that are not classes; asked once, of the first block or of the whole."""
        self._accepts_many_classes = True
        message = not_classes(labels, n, self.recipe().get("label_column"))
        if message is not None:
            raise DataFileError(path, message)

    def _begin_file(self, path: DataPath) -> None:
        if only_once(path) and path in self._identities:
            raise DataFileError(path, "it has already been read, and can be read only once: use a cache")
        self._identity(path)

    def _identity(self, path: DataPath) -> Identity | None:
        now = identity(path)
        if self._identities.setdefault(path, now) != now:
            raise DataFileError(path, "the file has changed since it was first read: start again")
        return now

    # ---- pieces

    def _outcomes(self) -> Generator[Outcome, None, None]:
        """Yield the blocks from the beginning, each with the records among its lines that were skipped."""
        self.skipped, self.complaints, self._restored = 0, [], None
        self._labels.begin()
        self._begin()
        line = 1
        # Do not prefetch interactive input.
        parsed_at_once = ((piece, self._parse(piece)) for piece in self._pieces()) if self.options.prompt else None
        for piece, parsed in parsed_at_once or in_order(self._pieces(), self._parse):
            line = 1 if piece.first else line
            block, skipped, error = self._block(piece, parsed, line)
            line += parsed.n_lines
            if block is not None or skipped:
                yield block, skipped
            if error is not None:
                raise error

    def _pieces(self) -> Iterator[Piece]:
        for path in self.files:
            self._begin_file(path)
            yield from pieces(path, self.options.prompt, self.file_part, self.encoding)

    def _block(
        self, piece: Piece, parsed: ParsedPiece, line: int
    ) -> tuple[Block | None, list[Skipped], DataFileError | None]:
        """Return the block, the records that were skipped, and the error that ends it, if one does."""
        unfit = self._unfit(parsed, piece)
        codes = distinct = None
        labels = parsed.labels
        if not self.need_labels and not self._labels.several:  # not every example needs to have one
            has_other = labels is not None and any(not text or isinstance(text, tuple) for text in labels.distinct)
            labels = None if has_other else labels
        if labels is not None:
            codes = labels.codes
            distinct, wrong_labels = self._labels.read(labels.distinct)
            if wrong_labels:
                rows = np.flatnonzero(np.isin(codes, list(wrong_labels))).tolist()
                unfit = {row: (wrong_labels[int(codes[row])], parsed.label_column) for row in rows} | unfit
                unlabelled = [row for row in rows if self.more_on_labels and not labels.distinct[codes[row]]]
                text_lines = piece.content[: piece.size].tobytes().split(b"\n") if unlabelled else []
                unfit |= {row: self._describe_unlabelled(text_lines[parsed.lines[row]]) for row in unlabelled}
        bad = [*parsed.bad, *(BadRecord(int(parsed.lines[row]), *reason) for row, reason in unfit.items())]
        skipped, error = self._complain(piece, sorted(bad, key=lambda one: one.line), line)
        X, weight, keys = self._matrix(parsed), parsed.weight, parsed.keys
        lines: Any = parsed.lines + line
        if unfit or error is not None:
            keep = np.setdiff1d(np.arange(len(lines)), list(unfit))
            if error is not None:
                keep = keep[lines[keep] < (error.line or 0) - self._lines_before(piece.path)]
            parts = X, lines, weight, codes, keys
            X, lines, weight, codes, keys = (None if part is None else part[keep] for part in parts)
        block = Block(X, codes, distinct, weight, piece.path, lines, keys) if X.shape[0] else None
        if block is not None and codes is not None and self._must_check_classes:
            self._check_classes(piece.path, block.labels(), len(codes))
        return block, skipped, error

    def _lines_before(self, path: DataPath) -> int:
        """Lines of the file that others read. Known only where something is wrong, as counting takes a reading."""
        return 0 if self.file_part is None else self.file_part.lines_before(Path(str(path)))

    def _complain(self, piece: Piece, bad: list[BadRecord], line: int) -> tuple[list[Skipped], DataFileError | None]:
        """Count bad records, or give the error for the first."""
        skipped = []
        for record in bad:
            number = line + record.line + self._lines_before(piece.path)
            error = DataFileError(piece.path, record.message, number, record.column)
            if self.options.on_error == "raise":
                return [], error
            self.skipped += 1
            skipped.append(Skipped(piece.path, number, str(error)))
            if len(self.complaints) < COMPLAINTS:
                self.complaints.append(str(error))
        return skipped, None


def check_bits(hash_bits: int | None, columns: Columns) -> None:
    """Raise ValueError for bits that are not those of the columns."""
    if hash_bits is not None and hash_bits != (columns.bits or 0):
        raise ValueError(f"hash_bits={hash_bits}, but the columns have {columns.bits or 0} bits.")


def read_labels(content: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return which of the distinct texts of labels each row has. spans: where the label of each row begins and ends.

    Bytes that are not UTF-8 become surrogates, which no label may have.
    """
    numbers, names = local_names(content, *spans.T)
    return numbers, [name.decode("utf-8", "surrogateescape") for name in names.as_bytes()]


def bad_records(piece: Piece, spans: np.ndarray, describe: Callable[[bytes], tuple[str, int]]) -> list[BadRecord]:
    """Return the malformed lines of a piece. spans: the number of each, from 0, where it begins and where it ends."""
    return [BadRecord(line, *describe(piece.content[a:b].tobytes())) for line, a, b in spans.tolist()]
