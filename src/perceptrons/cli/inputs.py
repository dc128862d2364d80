"""Opens the data of commands, by the options or in the format of a model, as a whole or block by block."""

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing_data, refusing_to_open
from perceptrons.cli.options import READING, ReadingOptions, given, typed
from perceptrons.cli.screen import count, plain, say

if TYPE_CHECKING:
    import numpy as np

    from perceptrons.cli.files import AnyModel
    from perceptrons.data import Table
    from perceptrons.data.reader import Reader
    from perceptrons.data.table import Block, DataPath

STDIN = Path("-")
SHARE = 0.2  # of the examples, held out as a test set


def opened(data: Sequence[Path], options: ReadingOptions, like: "AnyModel | None" = None, **more: Any) -> "Reader":
    """Open data. like: a model that says how to read where the options do not."""
    from perceptrons.data import stream

    parameters: dict[str, Any] = given(options, READING)
    if isinstance(parameters.get("label_column"), list) and len(parameters["label_column"]) == 1:
        (parameters["label_column"],) = parameters["label_column"]
    if "missing" in parameters:
        parameters["missing"] = ",".join(parameters["missing"])
    text = {name: parameters.pop(name).sizes() for name in ("words", "chars") if name in parameters}
    if like is not None:
        more = {"text_labels": True, **more}  # those of a model may be words that look like numbers
    spelling = {"text": " and ".join(map(typed, text)), **{name: typed(name) for name in parameters}}
    with refusing_data(), _spelling_parameters(spelling):
        reader = stream(*data, like=like, prepare=like is None, text=text or None, **{**more, **parameters})
    check_files(reader.files)
    return reader


@contextmanager
def _spelling_parameters(spelling: dict[str, str]) -> Iterator[None]:
    """Spell the parameter at the start of an error message as the command line does."""
    try:
        yield
    except ValueError as error:
        name, _, message = str(error).partition(" ")
        if name not in spelling:
            raise
        raise BadInputError(f"{spelling[name]} {message}") from error


def check_files(files: "Sequence[DataPath]") -> None:
    """Refuse what cannot be read before any work is done. Pipes are not opened: they can be only once."""
    from perceptrons.data.source import STDIN as INPUT

    for path in files:
        if path in (INPUT, STDIN) or not isinstance(path, Path):  # a folder, whose files are listed already
            continue
        with refusing_to_open(path):
            path.stat()
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a directory")
            if path.is_file():
                path.open("rb").close()  # os.access would know nothing of capabilities
            elif not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, "permission denied")


def measured_blocks(model: "AnyModel", blocks: Iterable["Block"]) -> Any:
    """Measure a model block by block; return None if there are no examples."""
    from perceptrons.inspection.evaluation import measure_blocks, measure_set_blocks, several_labels

    with refusing_data():
        return (measure_set_blocks if several_labels(model) else measure_blocks)(model, blocks)


def read_all(reader: "Reader", **more: Any) -> "Table":
    """Read all examples, and print on stderr what was skipped."""
    table = read_within(reader, None, **more)
    assert table is not None
    return table


def read_within(reader: "Reader", limit: int | None, reports: bool = True) -> "Table | None":
    """Read all examples if they take at most `limit` bytes; otherwise return None."""
    with refusing_data():
        table = reader.read(limit)
    if table is None:
        return None
    if not table.X.shape[0]:
        raise no_examples_error(name_of(reader))
    if reports:
        say_skipped(reader)
    return table


def no_examples_error(about: object) -> BadInputError:
    return BadInputError(f"{about}: there are no examples in it: write one example per line.")


def check_seconds(seconds: float | None) -> None:
    """Refuse a time limit of nothing."""
    if seconds is not None and not seconds > 0:
        raise BadInputError(f"--max-seconds {seconds:g}: give a number above 0.")


def check_test(test: Path | None, test_share: float | None) -> None:
    """Refuse two test sets."""
    if test is not None and test_share is not None:
        raise BadInputError("--test and --test-share cannot be combined: give a test file, or a share to hold out.")


def name_of(reader: "Reader | Table") -> str:
    """Return the name of a file; of several their number, the first and the last."""
    files = reader.files
    return str(files[0]) if len(files) == 1 else f"{count(len(files), 'file')}: {files[0]} ... {files[-1]}"


def json_paths(files: "Sequence[DataPath]") -> str | list[str]:
    """Return the names of files, for JSON."""
    return str(files[0]) if len(files) == 1 else [str(path) for path in files]


def describe_skipped(reader: Any) -> str:
    """3 records were skipped, the first: a.svm:7:3: ..."""
    were = "record was" if reader.skipped == 1 else "records were"
    return f"{count(reader.skipped, were, were)} skipped. The first: {reader.complaints[0]}"


def say_skipped(reader: Any) -> None:
    """Print on stderr the notices of a reader, and how many records were skipped."""
    for notice in reader.notices:
        say(f"{reader.files[0]}: {notice}")
    if reader.skipped:
        say(describe_skipped(reader))


# ---- groups


def groups_in(data: Sequence[Path], options: ReadingOptions, column: str) -> "np.ndarray":
    """Return the group of every example: its value in a column that is not a feature."""
    if STDIN in data:
        raise BadInputError("--group-column reads DATA twice, but standard input can be read only once: give a file.")
    from perceptrons.data import NAMED

    if (format := opened(data, options).format) not in NAMED:
        raise BadInputError(f"--group-column: files of format {format} have no named columns: leave it out.")
    # a group is read as if it were the label, since it may be a word; as a feature it would give examples away
    label_options = replace(
        options,
        label_column=[column],
        labels=None,
        multilabel=False,
        label_separator=None,
        text_labels=True,
        many_classes=True,
    )
    try:
        groups = read_all(opened(data, label_options), reports=False).y
    except BadInputError as error:
        raise BadInputError(f"--group-column {plain(column)}, read in the same way as labels: {error}") from error
    assert groups is not None
    return groups


def has_text_labels(table: "Table") -> bool:
    """Are the labels strings?"""
    labels = table.y if table.classes is None else table.classes
    return labels is not None and labels.dtype.kind == "U"


def like_table(table: "Table", path: Path, options: ReadingOptions, reports: bool = True) -> "Table":
    """Read another file in the same way as a table. reports: print on stderr how many records were skipped."""
    like: Any = SimpleNamespace(source_=table.source, columns_=table.columns, n_features_in_=table.X.shape[1])
    same_columns = ReadingOptions(
        label_column=options.label_column, labels=options.labels, text_column=options.text_column,
        on_error=options.on_error,
    )  # fmt: skip
    more = read_all(opened([path], same_columns, like=like, text_labels=has_text_labels(table)), reports=reports)
    if more.X.shape[1] < table.X.shape[1]:
        from perceptrons.engine.training.matrices import widened

        more = replace(more, X=widened(more.X, table.X.shape[1]))
    return more
