"""Examples from files or memory: `read` them as one table, or `stream` blocks of any number of them.

Each format has its module, which `options.py` names. Files of tokens in columns are not tables of examples:
`conll.py` reads and writes them.
"""

import os
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from perceptrons.data.options import (
    FORMATS,
    MEMORY,
    ReadOptions,
    options_for_model,
    options_of_format,
    table_options,
)
from perceptrons.data.sniffing import detect_format, is_folder
from perceptrons.data.source import InMemory, Inputs, is_stream
from perceptrons.data.table import DataFileError, Table

if TYPE_CHECKING:
    from perceptrons.data.reader import Reader

__all__ = ["FORMATS", "STREAMS", "DataFileError", "Table", "read", "stream"]

STREAMS = FORMATS  # every format can be read block by block
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(?=[^/])")


def read(*given: Any, **options: Any) -> Table:
    """Read all examples into one table in memory.

    Parameters
    ----------
    *given, **options
        Files or examples in memory, and how to read them, as for `stream`.

    Returns
    -------
    Table
        Labels are whole numbers if all of them look like whole numbers, unless text_labels is set.

    Raises
    ------
    DataFileError
        For the first malformed record, as "file:line:column: what is wrong: what to do", or if there are no examples.
        The column is the cell in CSV, and the character in other text files. A file that cannot be opened raises
        OSError.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from perceptrons.data import read
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = path.write_text("height,width,kind\\n1.5,2,tall\\n0.5,3,flat\\n")
    >>> table = read(path)
    >>> table.X.tolist(), table.y.tolist(), table.feature_names
    ([[1.5, 2.0], [0.5, 3.0]], ['tall', 'flat'], ['height', 'width'])
    """
    table = stream(*given, **options).read()
    assert table is not None  # as there is no limit
    return table


def stream(
    *given: str | os.PathLike[str] | IO[Any] | Any,
    format: str | None = None,
    hash_bits: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    text_labels: bool = False,
    need_labels: bool = True,
    prompt: bool = False,
    many_classes: bool = False,
    like: Any = None,
    prepare: bool = False,
    grow: bool = False,
    **options: Any,
) -> "Reader":
    """Read examples block by block: files of any size in bounded memory, or examples in memory.

    Parameters
    ----------
    *given : paths, streams or examples in memory
        Files, patterns such as "part-*.svm.gz", "-" for standard input, or open streams of text or bytes, such as
        `io.StringIO`; compressed by gzip, zstd, xz or bzip2, or not. A folder is a set of texts: each file in it is one
        example, and its label is the name of the folder directly below the given one. Instead of files: one frame
        (pandas, polars or pyarrow; a LazyFrame of polars is computed in batches), one list of records (dicts), or one
        pair of arrays (X, y), where y may be None.
    format : str, optional
        The format of the files, a key of `FORMATS`: "csv", "tsv", "whitespace" (columns separated by blanks), "arff",
        "jsonl", "parquet", "arrow", "xlsx", "svmlight", "libsvm", "vw", "text", "npz". By default, it is detected from
        the extension of the first file, or else from its first bytes: see `sniffing.format_of`. "text" is fastText's
        "__label__x text", or a label, a tab and a text. "jsonl", "parquet" and "arrow" need the package pyarrow, "xlsx"
        needs python-calamine.
    hash_bits : int, optional
        Hash features to 2^hash_bits columns; 0 stores their names instead. The default depends on the format: 18 bits
        for "vw", those of `text` for texts, no hashing for numbered features and tables.
    on_error : {"raise", "skip"}, default="raise"
        What to do with malformed records: raise DataFileError at the first, or skip and count them: `reader.skipped`,
        `reader.complaints`.
    text_labels : bool, default=False
        Whether to keep labels as strings. Otherwise they become whole numbers if all labels of the first block (in
        `read`, all labels) look like whole numbers, unless the classes of the model `like` are strings.
    need_labels : bool, default=True
        Whether an example without a label is an error.
    prompt : bool, default=False
        Whether to return lines as soon as they arrive, for interactive pipes.
    many_classes : bool, default=False
        Whether to accept data in which more than half of the examples of the first block have a label of their own.
        Otherwise this is an error, because such labels are usually prices, ids or texts rather than classes.
    like : fitted model, optional
        A model that should predict: files are read into its columns, in the same way as its training files. For a model
        that was trained on arrays, the columns of a table are chosen by `feature_names_in_`, or by position if the
        model or the file has no names. Features that the model does not know are left out; for numbered features, they
        are an error.
    prepare : bool, default=False
        Whether to prepare tables for training, as the command does: numbers are scaled, missing values filled,
        identifiers left out, and dates become features. Other data do not change. `ColumnOptions` has the options for
        each step: scale, on_missing, missing, keep, interactions, powers.
    grow : bool, default=False
        With like: read examples to keep training the model. New words, categories and columns are added after the
        columns of the model; scales and hashing do not change.
    **options
        Options of some formats. svmlight: zero_based, n_features, dtype ("float64", or "float32", as VW computes, with
        half the memory). vw: quadratic and cubic, interactions of namespaces by their first letters, such as ["ab"],
        like VW's -q and --cubic; ":" means all. npz: part ("train" or "test", for files with both). Tables: decimal
        ("," or ".", in CSV and the like; default: detected), label_column (a name, or a number from 1; a list of
        several whose cells are 1 or 0), labels (an XML file of MULAN that names such columns), text_column, categories
        (columns of numbers that are categories), ignore (columns to leave out). Texts: text, a `HashedText` that
        defines how words become features, or its parameters. All formats with named features: columns, the `Columns` of
        a model that should predict. All text formats: encoding, such as "latin-1" (default: UTF-8). All formats:
        multilabel, True if examples may have several labels or none (default: detected from the first block). Tables
        and texts: label_separator, the text between the labels of a cell, such as ";", which implies multilabel.

    Returns
    -------
    Reader
        Iterate over it, as often as you like, for blocks with X, y, weight, path and lines. `Perceptron.fit_stream`
        takes it directly. `read(limit)` returns all examples as one table, if they take at most `limit` bytes.
        `recipe()` returns the arguments to read other files in the same way.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from perceptrons.data import stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.svm"
    >>> _ = path.write_text("+1 1:0.5 3:2\\n-1 2:1\\n")
    >>> for block in stream(path):
    ...     print(block.X.toarray().tolist(), block.y.tolist())
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [1, -1]
    """
    memory_source = source_in_memory(given)
    paths, readers = given, FORMATS
    if memory_source is not None:
        if format is not None:
            raise ValueError(f"format={format!r} is for files: leave it out for examples in memory.")
        paths, readers, format = (memory_source,), MEMORY, memory_source.kind
    if like is not None:
        prepare = False
        format, paths, options = options_for_model(like, paths, format, options, grow)
        bits_of_model = options.pop("hash_bits", None)
        hash_bits = bits_of_model if hash_bits is None else hash_bits
        text_labels = text_labels or getattr(getattr(like, "classes_", None), "dtype", np.dtype(bool)).kind in "UO"
    if format is None:
        format, paths = detect_format(paths, options.get("encoding"))
    if format not in readers:
        raise ValueError(f"format={format!r}: choose one of {', '.join(FORMATS)}.")
    if hash_bits is not None and not (isinstance(hash_bits, int) and 0 <= hash_bits <= 31):
        raise ValueError(f"hash_bits={hash_bits!r}: give a whole number from 1 to 31, or 0 for no hashing.")
    selected = options_of_format(format, options)
    if "labels" in selected:
        if options.get("label_column") is not None and like is None:
            raise ValueError("labels (--labels) and label_column both name the label columns: leave one of them out.")
        from perceptrons.data.arff import label_names

        selected["label_column"] = label_names(selected.pop("labels"))
    shared: dict[str, Any] = {
        "format": format, "hash_bits": hash_bits, "on_error": on_error, "text_labels": text_labels,
        "need_labels": need_labels, "prompt": prompt, "for_model": like is not None,
        "many_classes": many_classes or (like is not None and not grow) or not need_labels,
    }  # fmt: skip
    module, name = readers[format].split(".")
    if format == "text" and (is_folder(paths[0]) or selected.get("form") == "files"):
        name = "TextFilesReader"
    try:
        reader_class: Callable[..., Reader] = getattr(import_module(f"perceptrons.data.{module}"), name)
        if module == "table_reader":
            reader = reader_class(paths, *table_options(shared, selected | {"prepare": prepare}))
        else:
            reader = reader_class(paths, ReadOptions(**shared, **selected))
    except TypeError as error:
        if like is None:
            raise
        raise ValueError(f"The model's description of its data format is invalid ({error}).") from error
    plain_options = {name: value for name, value in options.items() if isinstance(value, str | int | float | list)}
    reader.request = reader.recipe() | plain_options | {"on_error": on_error, "need_labels": need_labels}
    return reader


def source_in_memory(inputs: Inputs) -> InMemory | None:
    """Examples in memory under the name of their kind; None: these are files."""
    if len(inputs) == 2 and hasattr(inputs[0], "shape") and not _is_frame(inputs[0]):
        inputs = (inputs,)  # X and y
    for item in inputs:
        if isinstance(item, str | os.PathLike):
            _refuse_url(os.fspath(item))
            continue
        if is_stream(item):
            continue
        if len(inputs) > 1:
            raise TypeError(
                "Examples in memory cannot be combined with other data: give one frame, one list of records or one "
                "pair (X, y)."
            )
        if _is_frame(item):
            return InMemory("frame", item)
        if isinstance(item, tuple) and len(item) == 2 and not _is_frame(item[0]):
            return InMemory("arrays", item)
        if isinstance(item, list) and all(isinstance(record, Mapping) for record in item):
            return InMemory("records", item)
        hint = "give the name of a file, an open stream, a frame, a list of dicts, or a pair of arrays (X, y)"
        raise TypeError(f"{type(item).__name__} cannot be read: {hint}.")
    return None


def _refuse_url(name: object) -> None:
    """Raise ValueError for a name that is a URL and not a file. A path has lost one of its two slashes."""
    if isinstance(name, str) and URL.match(name) and not os.path.lexists(name):
        url = URL.sub(lambda match: f"{match[1]}://", name)
        hint = "download the file, or give an open stream, such as urllib.request.urlopen(url)"
        raise ValueError(f"{url}: files are not read over the network: {hint}")


def _is_frame(data: object) -> bool:
    """Return whether it is a frame of pandas or polars, a LazyFrame of polars, or a table of pyarrow."""
    return hasattr(data, "collect_schema") or hasattr(data, "columns") or hasattr(data, "column_names")
