"""Read tables from files or memory: numbers by name, categories one-hot, texts as words.

Each format is a `TableFormat` in its own file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.labels import COMMA
from perceptrons.data.reader import PieceReader
from perceptrons.data.source import STDIN, Inputs, OpenStream, Piece
from perceptrons.data.table import Block, DataFileError, DataPath, ParsedPiece, Skipped, Table
from perceptrons.data.table_format import (
    Cells,
    LabelRule,
    Layout,
    TableFormat,
    check_cells,
    relocate_columns,
    with_label_sets,
)
from perceptrons.engine.streaming.threads import in_order
from perceptrons.features import Columns, HashedText
from perceptrons.features.cells import Contents, Roles, record_keys
from perceptrons.features.column_options import ColumnOptions, listed
from perceptrons.features.named_rows import Workspaces
from perceptrons.features.preparation import (
    ColumnFacts,
    ColumnKinds,
    Derived,
    Preparation,
    infer_facts,
    measure_preparation,
    preparation_without_data,
    select_columns,
)
from perceptrons.features.rows import (
    LocatedRows,
    Rows,
    are_dense,
    dense_rows,
    find_columns,
    number_names,
    sparse_rows,
    text_prefixes,
    to_rows,
    unnamed_keys,
)
from perceptrons.features.term_weights import Occurrences, TermWeights
from perceptrons.features.values import LearnedState, Recipe
from perceptrons.features.values import listed as in_list

WITH_LISTS = ("jsonl", "parquet", "arrow", "frame", "records")  # formats whose cells can be lists
NAME_CHARS = (1, 4)  # sizes of the character n-grams of names
KIND_ROWS = 5000  # the first rows, by which the kinds of columns are inferred: as many of a file as of a frame


def table_format(format: str) -> TableFormat:
    """Return the format's own part of the reader."""
    if format in ("csv", "tsv"):
        from perceptrons.data.csv import CsvTable

        return CsvTable(format == "tsv")
    if format == "whitespace":
        from perceptrons.data.csv import WhitespaceTable

        return WhitespaceTable()
    if format == "arff":
        from perceptrons.data.arff import ArffTable

        return ArffTable()
    if format == "xlsx":
        from perceptrons.data.xlsx import XlsxTable

        return XlsxTable()
    if format in ("frame", "records"):
        from perceptrons.data.records import FrameTable, RecordTable

        return FrameTable() if format == "frame" else RecordTable()
    if format not in ("jsonl", "parquet", "arrow"):
        from perceptrons.data import TABLES

        raise ValueError(f"format={format!r}: choose one of {', '.join(TABLES)}.")
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        message = f"Files of format {format!r} need the package pyarrow: pip install 'perceptrons[files]'."
        raise ModuleNotFoundError(message) from error
    if format == "jsonl":
        from perceptrons.data.json import JsonTable

        return JsonTable()
    from perceptrons.data.arrow import ArrowTable

    return ArrowTable(format)


class UnpreparedRows:
    """The cells of a block in place of its matrix, until the preparation is measured."""

    def __init__(self, contents: Contents):
        self.contents = contents
        self.shape = (len(contents.numbers), 0)

    @property
    def nbytes(self) -> int:
        return self.contents.nbytes

    def __getitem__(self, rows: np.ndarray) -> "UnpreparedRows":
        keep = np.zeros(self.shape[0], bool)
        keep[rows] = True
        return UnpreparedRows(self.contents.part(keep))


class PieceColumns(NamedTuple):
    """What was known of the columns when a piece was cut; threads parse it by this alone."""

    roles: Roles | None
    layout: Layout | None
    preparation: Preparation | None


class TableReader(PieceReader):
    r"""Reads tables, in which columns have names and an example is a row, or an object of JSON on a line.

    The first block decides what a column is: a number is a feature with the name of its column; strings, truth values
    and categories are features "column=value" of value 1, one for each value, an empty one too. In CSV a column is of
    numbers if more than half of its cells that are not empty are, in JSON if more than half of its values are; a cell
    that does not fit is a bad record there and later. Dates, lists and bytes are refused.

    X is an array if all features are numbers and none is hashed (float32 if all columns are), otherwise a CSR matrix:
    of float32 with texts or hashing, else of float64 without the zeros, numbers in the first columns.

    Parameters
    ----------
    paths : tuple of paths
    format : {"csv", "tsv", "whitespace", "arff", "jsonl", "parquet", "arrow", "xlsx", "frame", "records"}
        "arrow" is the file format (Feather) or the stream.
    hash_bits : int, optional
        Features to 2^hash_bits columns; 0 to remember names. Default: as `text` says; without texts none is hashed.
    columns : Columns, optional
        Those of a model that is to predict.
    **more
        The fields of `ColumnOptions`, and what every `Reader` has.

    Notes
    -----
    A file may have its columns in any order and more of them; those that are missing are an error. Spaces around a cell
    of CSV do not count. The column of "file:line:column" is the number of the cell, in JSON of the character; lines of
    Parquet and Arrow are rows.

    JSON: keys are columns, "a.b" for b within a; lists of strings are categories of which a record may have several. A
    key that is null or missing is a missing number, or an empty category, unless it is one of the `optional` ones. A
    key that the first block has not is taken by what each value is, unless X is an array: then it is a bad record. Keys
    that a model does not know are left out and named in `notices`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from perceptrons.data import stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = path.write_text("height,color,kind\n1.5,red,tall\n0.5,blue,flat\n")
    >>> reader = stream(path)
    >>> [(block.X.toarray().tolist(), block.y.tolist()) for block in reader]
    [([[1.5, 1.0, 0.0], [0.5, 0.0, 1.0]], ['tall', 'flat'])]
    >>> reader.columns.names()
    ['height', 'color=red', 'color=blue']
    """

    def __init__(
        self, paths: Inputs, *, format: str, hash_bits: int | None = None, columns: Columns | None = None,
        **more: Any,
    ):  # fmt: skip
        names = {field.name for field in fields(ColumnOptions)} - {"need_labels"}
        options = ColumnOptions(**{name: more.pop(name) for name in [*more] if name in names})
        super().__init__(paths, **(_with_several(more) if isinstance(options.label_column, list) else more))
        self.format, self._form = format, table_format(format)
        _check_files(self.files, format)
        self._given_columns, self._given_bits = columns, hash_bits
        self._bits = _bits(hash_bits, options.text, columns)
        keys = None
        if columns is not None and columns.frozen and format == "jsonl":
            feature_names = [*(options.numbers or ()), *options.categories, *listed(options.text_column)]
            keys = unnamed_keys(columns, feature_names, words=options.text is not None)
        fixed = columns is not None and columns.frozen and columns.bits is None and not keys
        if options.grow and options.preparation is not None:
            options = options.for_new_columns(options.preparation)
        self._given_options = replace(
            options, need_labels=self.need_labels, several=bool(self._several.asked), other_keys=keys,
            closed=options.model is not None or fixed,
        )  # fmt: skip
        self._rooms = Workspaces()
        self._begin()

    def _begin(self) -> None:
        self._options = self._given_options
        self._form = table_format(self.format)
        self._form.decimal, self._form.encoding = self._options.decimal, self.encoding
        self._form.missing = self._options.missing_values
        self._roles: Roles | None = None
        self._settled = False  # is it known how columns are prepared, but for what is measured?
        preparation = self._options.preparation
        self._derived = Derived() if preparation is None else preparation.derived
        self._preparation: Preparation | None = None
        self._dense, self._number_names = False, number_names([])
        self.left_out: list[ColumnFacts] = []
        self.decided: ColumnKinds | None = None
        self.hash_bits = self._bits
        self._read_text_by(self._options.text)
        self._read_as_text = ""  # notice of columns that are read as texts though nobody asked for it

    def _read_text_by(self, text: HashedText | None) -> None:
        """Set how texts become features, and begin with no columns unless they are given."""
        self._text, self._rule = text, None if text is None else text.rule()
        columns = self._given_columns
        if columns is None and text is not None:
            columns = Columns(self.hash_bits or None, text.signed, text.seed)
        self._take(columns or Columns(self.hash_bits or None))

    def _take(self, columns: Columns) -> None:
        self.columns, self.n_features = columns, columns.n_columns

    def recipe(self) -> Recipe:
        options, roles = self._options, self._roles
        text = None if self._text is None else self._text.get_params() | {"bits": self.hash_bits or None}
        recipe: Recipe = {
            "format": self.format,
            "label_column": options.label_column if roles is None else list(roles.labels) or roles.label,
            "text_column": options.text_column if roles is None else roles.texts or None,
            "categories": options.categories if roles is None else roles.categories,
            "numbers": options.numbers if roles is None else roles.numbers,
            "ignore": options.ignore,
            "optional": options.optional if roles is None else roles.optional,
            "prefix": options.prefix,
            "text": text,
            "hash_bits": self.hash_bits,
            "text_labels": self.text_labels,
            **self._preparation_recipe(),
            **self._shared(),
        }
        if self.format in ("csv", "tsv", "whitespace"):
            recipe |= {"names": self._form.names or options.names, "header": options.header}
            recipe |= {} if self._form.decimal is None else {"decimal": self._form.decimal}
        return recipe

    def _preparation_recipe(self) -> Recipe:
        """Return how a recipe describes the preparation: as it was asked for, or, once it is known, as it is."""
        options, usual = self._options, ColumnOptions()
        keep = {"keep": options.keep} if options.keep else {}
        if self._preparation is not None:
            trivial = self._preparation.is_trivial
            return keep if trivial else keep | {"preparation": self._preparation.as_dict()}
        names = ("scale", "on_missing", "missing", "interactions", "powers")
        settings = {name: getattr(options, name) for name in names if getattr(options, name) != getattr(usual, name)}
        return settings | keep | ({"prepare": True} if options.infers_kinds else {})

    @property
    def notices(self) -> list[str]:
        left_out = [str(column.notice()) for column in self.left_out]
        read_as_text = [self._read_as_text] * bool(self._read_as_text)
        return [*self._form.notices.values(), *left_out, *read_as_text, *self._lacking()]

    def _lacking(self) -> list[str]:
        """Return what was done where numbers are missing."""
        names = (
            () if self._preparation is None or self._options.preparation is not None else self._preparation.indicators
        )
        return [f"missing numbers in {in_list(list(names))} are filled with the mean"] if names else []

    def _feature_names(self) -> list[str] | None:
        return None if self._form.unnamed else super()._feature_names()

    def _joined(self, blocks: list[Block]) -> Table:
        table = super()._joined(blocks)
        return replace(table, label_name=None) if self._form.unnamed else table

    def _nothing(self) -> DataFileError:
        if self.skipped:
            return super()._nothing()
        return DataFileError(self.files[0], *self._form.nothing(self.files[0]))

    def learned_state(self) -> LearnedState:
        assert self.columns is not None
        facts, arrays = self.columns.state()
        preparation = None if self._preparation is None or self._preparation.is_trivial else self._preparation.as_dict()
        facts_of_table = {
            "roles": self._roles and self._roles._asdict(), "names": self._form.names, "preparation": preparation,
            "decimal": self._form.decimal,
        }  # fmt: skip
        text = self._text.get_params() if self._given_options.text is None and self._text is not None else None
        return {"columns": facts, **facts_of_table, "ignore": self._options.ignore, "text": text}, arrays

    def _restore(self, facts: Recipe, arrays: dict[str, np.ndarray]) -> None:
        if (
            facts["columns"]["bits"]
            and not self.hash_bits
            and self._options.preparation is None
            and self._options.interactions
        ):
            self._hash(facts["columns"]["bits"])
        if facts.get("text") is not None:
            self.hash_bits = facts["columns"]["bits"] or 0
            self._read_text_by(HashedText(**facts["text"]))
        super()._restore(facts, arrays)
        self._roles = None if facts["roles"] is None else Roles(**facts["roles"])
        self._settled = self._roles is not None
        self._form.names, self._form.decimal = facts["names"], facts.get("decimal")
        self._options = replace(self._options, ignore=facts.get("ignore", self._options.ignore))
        if facts.get("preparation") is not None:
            self._preparation = Preparation.from_dict(facts["preparation"])

    # ---- pieces to cells

    def _pieces(self) -> Iterator[Piece]:
        for path in self.files:
            self._begin_file(path)
            layout = None
            for piece in self._form.pieces(path, self.prompt):
                if layout is None or self._roles is None:
                    self._roles, layout = self._form.find_columns(piece, self._options, self._roles)
                has_rows = piece.size or not self._options.infers_kinds  # Arrow's first piece has no rows
                if not self._settled and self._roles is not None and layout is not None and has_rows:
                    layout = self._settle(piece, layout)
                yield piece._replace(details=PieceColumns(self._roles, layout, self._preparation))

    def _settle(self, piece: Piece, layout: Layout) -> Layout:
        """Infer the kinds of the columns by the first rows, and how they are prepared, unless it has to be measured."""
        assert self._roles is not None
        self._settled = True
        if layout.sparse:  # a missing number is 0 there, and scaling would make something else of it
            self._options = self._options.without_preparation()
            self._form.missing = self._options.missing_values
        elif self._options.infers_kinds:
            layout = self._infer_kinds(piece, layout)
            if self.unprepared:
                return layout
        preparation = self._options.preparation
        if preparation is None or not {*self._roles.numbers, *self._derived.numbers()} <= {*preparation.names}:
            preparation = preparation_without_data(self._roles, self._derived, self._options)
        if preparation is not None:
            self._prepare(preparation)
        return layout

    def _infer_kinds(self, piece: Piece, layout: Layout) -> Layout:
        """Infer from the first rows which columns are dates, flags, texts or identifiers, and leave some out."""
        assert self._roles is not None
        options, all_roles = self._options, self._roles
        cells = self._cells(piece, all_roles, layout)
        keep = np.ones(len(cells.lines), bool)
        keep[list(cells.faults.rows)] = False
        keep &= np.cumsum(keep) <= KIND_ROWS
        facts = infer_facts(cells.contents.part(keep), all_roles, options.missing_values)
        for name in options.keep:
            if name not in {*all_roles.numbers, *all_roles.categories, *all_roles.texts}:
                raise DataFileError(piece.path, f"keep (--keep) names {name!r}, which is not a feature column")
        fixed = {*options.keep, *options.categories, *(options.numbers or ())}
        roles, derived, self.left_out = select_columns(all_roles, facts, fixed)
        texts = [name for name in roles.texts if name not in all_roles.texts]
        are_names = any(column.kind == "identifier" for column in facts if column.name in texts)
        facts = [column._replace(kind="text") if column.name in texts else column for column in facts]
        self.decided = ColumnKinds(all_roles, roles, derived, facts, layout.names, options.missing_values)
        if self.unprepared:
            return layout
        if texts:
            self._begin_texts(texts, are_names)
        self._roles, self._derived = roles, self._derived.plus(derived)
        self._options = options.ignoring([column.name for column in self.left_out])
        return relocate_columns(layout, roles, self._options.ignore)

    def _begin_texts(self, names: list[str], are_names: bool) -> None:
        """Read columns as texts that nobody called so. are_names: they hold names rather than sentences."""
        text = HashedText(chars=NAME_CHARS if are_names else None)
        self.hash_bits = _bits(self._given_bits, text, None)
        self._read_text_by(text)
        low, high = NAME_CHARS
        command_options = "".join(f" --text-column {name}" for name in names) + f" --chars {low}-{high}" * are_names
        by = f"words and sequences of {low} to {high} characters" if are_names else "words"
        self._read_as_text = (
            f"there are no other features, so {in_list(names)}, with different values in nearly all rows, is read as "
            f"text, by {by} (as{command_options}): to learn each value as a category, give keep (--keep)"
        )

    def _cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        if roles is None or layout is None:
            return self._form.cells(piece, roles, layout)
        cells = self._form.cells(piece, roles.with_label_columns(layout.labels), layout)
        return with_label_sets(cells, layout, self.need_labels)

    def _parse(self, piece: Piece) -> ParsedPiece:
        assert isinstance(piece.details, PieceColumns)
        roles, layout, preparation = piece.details
        cells = self._cells(piece, roles, layout)
        if roles is None or layout is None:
            return ParsedPiece(cells.n_lines, cells.lines, None, None, None, cells.bad)
        assert self.columns is not None
        derived = (
            Preparation(words=self._options.missing_values, derived=self._derived)
            if preparation is None
            else preparation
        )
        separator = self._several.separator or (None if self.format in WITH_LISTS else COMMA)
        parsed = check_cells(
            cells, layout, derived, is_dense=self._dense and preparation is not None,
            is_float32=self.columns.bits is not None or self._text is not None,
            labels=LabelRule(self.need_labels, bool(self._several.asked), separator),
        )  # fmt: skip
        keys = record_keys(parsed.rows) if self.keyed else None
        return parsed._replace(
            rows=parsed.rows if preparation is None else self._rows(parsed.rows, preparation), keys=keys
        )

    # ---- cells to rows

    def _prepare(self, preparation: Preparation) -> None:
        """Set how cells become features, and whether rows are arrays."""
        assert self.columns is not None
        assert self._roles is not None
        if preparation.hash_bits and self._given_bits is None and not self.hash_bits and self._given_columns is None:
            self._hash(preparation.hash_bits)
        names = preparation.number_names
        self._dense = are_dense(names, self.columns, preparation.only_numbers(self._roles))
        self._number_names = number_names(names)
        self._preparation = preparation

    def _hash(self, bits: int) -> None:
        self.hash_bits = bits
        self._take(Columns(bits))

    def _rows(self, contents: Contents, preparation: Preparation, into: np.ndarray | None = None) -> Rows:
        """Return rows that do not depend on other blocks; runs in several threads. into: memory for the numbers."""
        assert self._roles is not None
        prefixes = text_prefixes(self._roles.texts) if self._options.prefix else []
        return to_rows(preparation.apply(contents, into), self._dense, self._rule, prefixes, self._rooms.words)

    def _located(self, rows: Rows) -> Rows | LocatedRows:
        """Return the rows with the columns of their features; runs in the order of the blocks."""
        assert self.columns is not None
        return rows if rows.named is None else find_columns(rows.named, rows.words, self.columns)

    def _assembled(self, rows: Rows | LocatedRows) -> Any:
        """Return the matrix of these rows."""
        columns = self.columns
        assert columns is not None
        if isinstance(rows, Rows):
            X = dense_rows(rows.values, self._number_names, columns)
        else:
            weights = None if self._preparation is None else self._preparation.term_weights
            X = sparse_rows(rows, columns, self._text, weights)
        self.n_features = columns.n_columns
        return X

    def _matrix(self, parsed: ParsedPiece) -> Any:
        assert self.columns is not None
        if parsed.rows is None or not len(parsed.lines):
            return np.empty((0, self.columns.n_columns))
        if isinstance(parsed.rows, Contents):
            return UnpreparedRows(parsed.rows)
        return self._assembled(self._located(parsed.rows))

    # ---- blocks whose cells wait until the preparation is measured

    def _block(
        self, piece: Piece, parsed: ParsedPiece, line: int
    ) -> tuple[Block | None, list[Skipped], DataFileError | None]:
        block, skipped, error = super()._block(piece, parsed, line)
        if block is not None and not self._labels.wait:
            block = self._prepared(block)
        return block, skipped, error

    def _finished(self, block: Block) -> Block:
        return self._prepared(super()._finished(block))

    def _prepared(self, block: Block) -> Block:
        """Return the block with its matrix, measuring the preparation on it unless it is known."""
        if not isinstance(block.X, UnpreparedRows) or self.unprepared:
            return block
        learned = self._measure([block])
        assert self._preparation is not None
        rows = self._located(self._rows(block.X.contents, self._preparation))
        self._measure_term_weights([rows], learned)
        return block._replace(X=self._assembled(rows))

    def _finished_all(self, blocks: list[Block]) -> list[Block]:
        blocks = super()._finished_all(blocks)
        waiting = [block.X.contents for block in blocks if isinstance(block.X, UnpreparedRows)]
        if not waiting:
            return blocks
        learned = self._measure(blocks)
        preparation = self._preparation
        assert preparation is not None
        tasks = zip(waiting, self._memory_for(waiting, len(blocks)), strict=True)
        results = in_order(tasks, lambda task: self._rows(task[0], preparation, task[1]))
        located: Iterable[Rows | LocatedRows] = (self._located(rows) for _, rows in results)
        if preparation.weigh_terms:
            located = [*located]  # weights are measured when all words have been seen
            self._measure_term_weights(located, learned)
        matrices = (self._assembled(rows) for rows in located)
        return [block._replace(X=next(matrices)) if isinstance(block.X, UnpreparedRows) else block for block in blocks]

    def _memory_for(self, waiting: list[Contents], n_blocks: int) -> list[np.ndarray | None]:
        """Return parts of one array for the rows of each block, so that joining arrays of numbers copies nothing."""
        if not self._dense or len(waiting) < n_blocks or any(part.numbers.dtype != np.float64 for part in waiting):
            return [None] * len(waiting)
        assert self._preparation is not None
        ends = np.cumsum([0, *(part.n for part in waiting)])
        memory = np.empty((ends[-1], len(self._preparation.number_names)))
        return [memory[begin:end] for begin, end in pairwise(ends.tolist())]

    def _measure(self, blocks: list[Block]) -> list[np.ndarray]:
        """Measure the preparation on the rows that are learned from, unless it is known.

        Returns for every block that waited which of its rows these are.
        """
        waiting = [block for block in blocks if isinstance(block.X, UnpreparedRows)]
        if self._preparation is not None or not waiting:
            return []
        assert self._roles is not None
        learned = [np.ones(block.X.contents.n, bool) for block in waiting]
        if self.learn_from is not None:
            learned = self.learn_from(waiting)
        parts = [block.X.contents.part(keep) for block, keep in zip(waiting, learned, strict=True)]
        try:
            self._prepare(measure_preparation(parts, self._roles, self._derived, self._options))
        except ValueError as error:
            raise DataFileError(waiting[0].path, str(error).removesuffix(".")) from error
        return learned

    def _measure_term_weights(self, located: Iterable[Rows | LocatedRows], learned: list[np.ndarray]) -> None:
        """Measure the weights of words, unless they are known. learned: which rows of each block are learned from."""
        assert self._preparation is not None
        if not self._preparation.weigh_terms:
            return
        assert self.columns is not None
        assert self._roles is not None
        rows = [part for part in located if isinstance(part, LocatedRows)]
        occurrences = (
            Occurrences(part.words.starts, part.word_columns.columns[part.words.numbers], is_counted)
            for part, is_counted in zip(rows, learned, strict=True)
            if part.words is not None and part.word_columns is not None
        )
        n_others = self._preparation.n_beside_texts(self._roles.categories)
        weights = TermWeights.measured(occurrences, self.columns.n_columns, n_others)
        self._prepare(self._preparation.weighed(weights))


def _with_several(shared: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a reader whose tables have several label columns. Raise ValueError if they contradict."""
    if shared.get("label_separator") is not None:
        raise ValueError(
            "label_separator is for several labels in one column, but label_column names several columns: leave one of "
            "them out."
        )
    if shared.get("multilabel") is False:
        reason = "the model was trained on one label per example" if shared.get("of_model") else "multilabel=False"
        raise ValueError(f"label_column names several columns, but {reason}: name one column.")
    return shared | {"multilabel": True}


def _check_files(files: list[DataPath], format: str) -> None:
    for path in files if format == "parquet" else ():
        if path == STDIN or isinstance(path, OpenStream):
            raise DataFileError(path, "Parquet cannot be read from a stream: give the file, or an Arrow stream")


def _bits(hash_bits: int | None, text: HashedText | None, columns: Columns | None) -> int:
    """Bits of the columns' numbers, 0 if nothing is hashed."""
    if columns is None:
        return hash_bits if hash_bits is not None else (0 if text is None else text.bits or 0)
    if hash_bits is not None and hash_bits != (columns.bits or 0):
        raise ValueError(f"hash_bits={hash_bits}, but the columns have {columns.bits or 0} bits.")
    return columns.bits or 0
