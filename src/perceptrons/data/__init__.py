"""Examples from files: `read` a table at once, or `stream` blocks of files of any size. Each format has its module.

Files of tokens in columns are not tables: `conll.py` reads and writes them.
"""

import os
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from perceptrons.data.csvfile import read_csv
from perceptrons.data.npzfile import read_npz
from perceptrons.data.openstream import OpenStream, is_stream
from perceptrons.data.packed import packing_of
from perceptrons.data.svmlight import read_svmlight
from perceptrons.data.table import DataFileError, Table, Wanted

if TYPE_CHECKING:
    from perceptrons.data.reader import Reader

__all__ = ["FORMATS", "STREAMS", "DataFileError", "Table", "read", "stream"]

FORMATS = {"csv": read_csv, "tsv": read_csv, "svmlight": read_svmlight, "libsvm": read_svmlight, "npz": read_npz}
ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".txt": "svmlight", ".npz": "npz",
}  # fmt: skip
TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")
STREAMS = {
    "svmlight": "svmlight.SvmlightReader", "libsvm": "svmlight.SvmlightReader", "vw": "vw.VwReader",
    "text": "labelled.LabelledTextReader", **dict.fromkeys(TABLES, "tables.TableReader"),
}  # fmt: skip
STREAM_ENDINGS = {
    ".vw": "vw", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ft": "text", ".labelled": "text",
}  # fmt: skip
OPTIONS = {  # that only some formats know
    "zero_based": ("svmlight", "libsvm"),
    "n_features": ("svmlight", "libsvm"),
    "dtype": ("svmlight", "libsvm"),
    "text": ("text", *TABLES),
    "columns": ("vw", "text", *TABLES),
    "form": ("text",),
    **dict.fromkeys(("label_column", "text_column", "prefix", "categories", "numbers", "ignore", "optional"), TABLES),
    **dict.fromkeys(("names", "header"), ("csv", "tsv")),
}


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    label_column: str | None = None,
    feature_names: list[str] | None = None,
    n_features: int | None = None,
    need_labels: bool = True,
    text_labels: bool = False,
    part: str = "train",
) -> Table:
    """Read examples and labels from a file.

    Parameters
    ----------
    path : path
        A text file may be gzipped; its name then ends in .gz.
    format : {"csv", "tsv", "svmlight", "libsvm", "npz"}, optional
        Otherwise known by the ending: .csv, .tsv, .svm, .svmlight, .libsvm, .txt (svmlight), .npz.
    label_column : str, optional
        CSV only: the name of the label column, or its number counted from 1. Otherwise it is the last one.
    feature_names, n_features : list of str, int, optional
        What the model was trained on. CSV columns are then chosen by name if the file has a header, and by their number
        if not; svmlight rows are padded to n_features; more features than that are an error.
    need_labels : bool, default=True
        Is it an error if the file has no labels?
    text_labels : bool, default=False
        Keep labels as strings. Otherwise they become whole numbers if all of them look like whole numbers.
    part : {"train", "test"}, default="train"
        npz only: which arrays to prefer in a file that holds both, such as X_train and X_test.

    Returns
    -------
    Table

    Raises
    ------
    DataFileError
        The first bad record as "file:line:column: what is wrong: what to do". The column is the cell in CSV, the
        character in svmlight. A file that cannot be opened raises OSError as usual.

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
    path = Path(path)
    wanted = Wanted(label_column, feature_names, n_features, need_labels, text_labels, part)
    return FORMATS[format_of(path) if format is None else format](path, wanted)


def stream(
    *paths: str | os.PathLike[str] | IO[Any],
    format: str | None = None,
    hash_bits: int | None = None,
    on_error: str = "raise",
    text_labels: bool = False,
    need_labels: bool = True,
    prompt: bool = False,
    many_classes: bool = False,
    like: Any = None,
    **options: Any,
) -> "Reader":
    """Read files of any size, block by block, in bounded memory.

    Parameters
    ----------
    paths : paths
        Files, patterns such as "part-*.svm.gz", "-" for standard input, or streams that are open already, of text or
        bytes, such as `io.StringIO`; compressed by gzip, zstd, xz or bzip2 or not.
    format : {"svmlight", "libsvm", "vw", "text", "csv", "tsv", "jsonl", "parquet", "arrow"}, optional
        Otherwise known by the ending of the first file. "text" is fastText's "__label__x text", or a label, a tab and
        a text. Tables (from "csv" on) need the package pyarrow.
    hash_bits : int, optional
        Features to 2^hash_bits columns; 0: none is hashed, names are remembered. Otherwise as is usual for the
        format: 18 bits for "vw", those of `text` for texts, none for numbered features and tables.
    on_error : {"raise", "skip"}, default="raise"
        The first record that is no example raises DataFileError, or such records are skipped and counted:
        `reader.skipped`, `reader.complaints`.
    text_labels : bool, default=False
        Keep labels as strings. Otherwise they are whole numbers if all of the first block look like it.
    need_labels : bool, default=True
        Is an example without a label an error?
    prompt : bool, default=False
        Give lines as soon as they are there, for a pipe that somebody waits for.
    many_classes : bool, default=False
        Accept data in which more than half of the examples of the first block have a label of their own. Otherwise
        this is an error, as such labels are prices, ids or texts rather than classes.
    like : Perceptron, optional
        A model that learned by `fit_stream`: files are read as its were, into its columns. What it has no column for
        is left out, or for numbered features an error.
    **options
        Of some formats. svmlight: zero_based, n_features, dtype ("float64", or "float32", as VW computes, at half the
        memory). Tables: label_column, text_column, categories (columns that are categories though they look like
        numbers), ignore (columns to leave out). Texts: text, a `HashedText` that says how words become features, or
        its parameters. Of all with named features: columns, the `Columns` of a model that is to predict.

    Returns
    -------
    Reader
        Iterate over it, as often as you like, for blocks with X, y, weight, path and lines; `Perceptron.fit_stream`
        takes it as it is. `recipe()` has the arguments to read other files alike.

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
    if like is not None:
        format, hash_bits, options = _alike(like, format, hash_bits, options)
    if format is None:
        format = stream_format(paths)
    if format not in STREAMS:
        raise ValueError(f"format={format!r}: choose one of {', '.join(STREAMS)}.")
    if hash_bits is not None and not (isinstance(hash_bits, int) and 0 <= hash_bits <= 31):
        raise ValueError(f"hash_bits={hash_bits!r}: give a whole number from 1 to 31, or 0 to hash nothing.")
    chosen = {name: value for name, value in options.items() if value is not None}
    for name in chosen:
        if name not in OPTIONS:
            raise TypeError(f"stream() knows no option {name!r}.")
        if format not in OPTIONS[name]:
            raise ValueError(f"{name} says nothing about files of format {format!r}: leave it out.")
    if STREAMS[format].startswith("tables."):
        chosen["format"] = format
    shared = {
        "on_error": on_error, "text_labels": text_labels, "need_labels": need_labels, "prompt": prompt,
        "many_classes": many_classes or like is not None or not need_labels,
    }  # fmt: skip
    try:
        if isinstance(chosen.get("text"), dict):
            from perceptrons.features import HashedText

            chosen["text"] = HashedText(**chosen["text"])
        module, name = STREAMS[format].split(".")
        kind = getattr(import_module(f"perceptrons.data.{module}"), name)
        reader = kind(paths, hash_bits=hash_bits, **shared, **chosen)
    except TypeError as error:
        if like is None:
            raise
        raise ValueError(f"What the model says about reading files makes no sense ({error}).") from error
    given = {name: value for name, value in options.items() if isinstance(value, str | int | float | list)}
    reader.asked = reader.recipe() | given | {"on_error": on_error, "need_labels": need_labels}
    return reader


def _alike(
    model: Any, format: str | None, hash_bits: int | None, options: dict[str, Any]
) -> tuple[str, int | None, dict[str, Any]]:
    """Format, hash_bits and options to read files for a model as those were read that it learned from."""
    if getattr(model, "source_", None) is None:
        raise ValueError("like: this model did not learn by fit_stream, so it does not know how files are read.")
    recipe = dict(model.source_)
    format = format or str(recipe.get("format"))
    known = {name: value for name, value in recipe.items() if format in OPTIONS.get(name, ()) and value is not None}
    if format in TABLES:
        known.setdefault("prefix", False)  # as models were trained that do not say it
    if getattr(model, "columns_", None) is not None and format in OPTIONS["columns"]:
        known["columns"] = model.columns_.as_frozen()
    elif format in OPTIONS["n_features"] and not recipe.get("hash_bits"):
        known["n_features"] = model.n_features_in_
    given = {name: value for name, value in options.items() if value is not None}  # None says nothing of its own
    return format, recipe.get("hash_bits") if hash_bits is None else hash_bits, known | given


def stream_format(paths: tuple[Any, ...]) -> str:
    """The format that the ending of the first name stands for."""
    for given in paths:
        path = OpenStream.of(given, 1) if is_stream(given) else Path(given)
        known = ENDINGS | STREAM_ENDINGS
        found = known.get(_ending(path))
        if found in STREAMS:
            return found
        if found is not None:
            raise DataFileError(path, f"files of format {found} are not read as a stream: give them to read()")
        break
    what = "the ending of this name says nothing about the format"
    raise DataFileError(path if paths else Path("-"), f"{what}: choose one of {', '.join(STREAMS)} (--format)")


def format_of(path: Path) -> str:
    """The format that the ending of a file's name stands for."""
    known = ENDINGS.get(_ending(path))
    if known is None:
        raise DataFileError(
            path,
            f"the ending of this name says nothing about the format: choose one of {', '.join(FORMATS)} (--format)",
        )
    return known


def _ending(path: Path) -> str:
    """The ending of a name that says the format, in lower case: that before .gz and the like."""
    return Path(path.stem if packing_of(path) else path.name).suffix.lower()
