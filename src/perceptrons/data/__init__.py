"""Examples from files or memory: `read` them as one table, or `stream` blocks of any number of them.

Each format has its module. Files of tokens in columns are not tables of examples: `conll.py` reads and writes them.
"""

import os
import re
from collections.abc import Mapping
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from perceptrons.data.source import InMemory, Inputs, OpenStream, compression_of, is_stream
from perceptrons.data.table import DataFileError, Table
from perceptrons.features.values import Recipe

if TYPE_CHECKING:
    from perceptrons.data.reader import Reader

__all__ = ["FORMATS", "STREAMS", "DataFileError", "Table", "read", "stream"]

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(?=[^/])")
TABLES = ("csv", "tsv", "whitespace", "arff", "jsonl", "parquet", "arrow", "xlsx")
FORMATS = {
    **dict.fromkeys(TABLES, "table_reader.TableReader"),
    "svmlight": "svmlight.SvmlightReader", "libsvm": "svmlight.SvmlightReader", "vw": "vw.VwReader",
    "text": "text.LabelledTextReader", "npz": "npz.ArrayReader",
}  # fmt: skip
STREAMS = FORMATS  # every format can be read block by block
MEMORY = {"frame": "table_reader.TableReader", "records": "table_reader.TableReader", "arrays": "npz.ArrayReader"}
NAMED = (*TABLES, "frame", "records")  # whose columns have names
ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".npz": "npz", ".vw": "vw", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ft": "text", ".labelled": "text", ".arff": "arff", ".xlsx": "xlsx",
}  # fmt: skip
SPARSE = ("svmlight", "libsvm")
BY_DELIMITER = ("csv", "tsv", "whitespace")
NUMERIC = (*NAMED, *SPARSE, "npz", "arrays")  # any of which can be read for a model that learned from another
INTERACTIONS = ("quadratic", "cubic")
OF_MODEL = ("scale", "on_missing", "missing", "keep", "interactions", "powers")  # what a model has settled
OPTIONS = {  # that only some formats know
    "zero_based": SPARSE,
    "n_features": (*SPARSE, "npz", "arrays"),
    "dtype": SPARSE,
    "text": ("text", *NAMED),
    "columns": ("vw", "text", *NAMED),
    "form": ("text",),
    "part": ("npz",),
    **dict.fromkeys(INTERACTIONS, ("vw",)),
    **dict.fromkeys(
        ("label_column", "labels", "text_column", "prefix", "categories", "numbers", "ignore", "optional", "model",
         "preparation", "labelled", "grow", *OF_MODEL), NAMED,
    ),
    **dict.fromkeys(("names", "header", "decimal"), BY_DELIMITER),
    "encoding": (*BY_DELIMITER, "arff", "jsonl", *SPARSE, "vw", "text"),
    "multilabel": (*FORMATS, *MEMORY),
    "label_separator": ("text", *NAMED),
}  # fmt: skip


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
    paths, kinds = given, FORMATS
    if memory_source is not None:
        if format is not None:
            raise ValueError(f"format={format!r} is for files: leave it out for examples in memory.")
        paths, kinds, format = (memory_source,), MEMORY, memory_source.kind
    if like is not None:
        prepare = False
        format, paths, hash_bits, options = options_for_model(like, paths, format, hash_bits, options, grow)
        text_labels = text_labels or getattr(getattr(like, "classes_", None), "dtype", np.dtype(bool)).kind in "UO"
    if format is None:
        format, paths = detect_format(paths, options.get("encoding"))
    if format not in kinds:
        raise ValueError(f"format={format!r}: choose one of {', '.join(FORMATS)}.")
    if hash_bits is not None and not (isinstance(hash_bits, int) and 0 <= hash_bits <= 31):
        raise ValueError(f"hash_bits={hash_bits!r}: give a whole number from 1 to 31, or 0 for no hashing.")
    format_options = {name: value for name, value in options.items() if value is not None}
    if format_options.get("scale") == "none" and format not in OPTIONS["scale"]:
        del format_options["scale"]  # as nothing else is scaled
    for name in format_options:
        if name not in OPTIONS:
            raise TypeError(f"stream() has no option {name!r}.")
        if format not in OPTIONS[name]:
            raise ValueError(f"{name} does not apply to files of format {format!r}: leave it out.")
    if "labels" in format_options:
        if options.get("label_column") is not None and like is None:
            raise ValueError("labels (--labels) and label_column both name the label columns: leave one of them out.")
        from perceptrons.data.arff import label_names

        format_options["label_column"] = label_names(format_options.pop("labels"))
    module, name = kinds[format].split(".")
    if format == "text" and (is_folder(paths[0]) or format_options.get("form") == "files"):
        name = "TextFilesReader"
    if module == "table_reader":
        format_options |= {"format": format, "prepare": prepare}
    shared = {
        "on_error": on_error, "text_labels": text_labels, "need_labels": need_labels, "prompt": prompt,
        "many_classes": many_classes or (like is not None and not grow) or not need_labels, "of_model": like is not None
    }  # fmt: skip
    try:
        if isinstance(format_options.get("text"), dict):
            from perceptrons.features import HashedText

            format_options["text"] = HashedText(**format_options["text"])
        kind = getattr(import_module(f"perceptrons.data.{module}"), name)
        reader = kind(paths, hash_bits=hash_bits, **shared, **format_options)
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


def options_for_model(
    model: Any, paths: Inputs, format: str | None, hash_bits: int | None, options: Recipe,
    grow: bool = False,
) -> tuple[str, Inputs, int | None, Recipe]:  # fmt: skip
    """Format, paths, hash_bits and options to read files into the columns of a fitted model, or to let them grow."""
    recipe = dict(getattr(model, "source_", None) or {})
    learned = str(recipe.get("format"))
    if recipe and learned not in {*FORMATS, *MEMORY}:
        raise ValueError(f"The model's description of its data format is invalid (format {learned[:40]!r}).")
    if format is None:
        format_of_name = _format_by_name(paths[0])  # what the model learned from says more than what is in a file
        if learned in FORMATS and format_of_name != "npz" and not (learned in NUMERIC and format_of_name in NUMERIC):
            format = learned
        else:
            format, paths = detect_format(paths, options.get("encoding"))
    unnamed = learned not in NAMED and getattr(model, "columns_", None) is None
    if format in ("npz", "arrays") or (format in NAMED and unnamed):
        model_options: Recipe = _options_by_position(model, format)
    else:
        model_options = _options_by_recipe(model, format, recipe, grow)
        hash_bits = recipe.get("hash_bits") if hash_bits is None else hash_bits
    if model_options.get("form") == "files" and _format_by_name(paths[0]) == "text":
        del model_options["form"]  # lines of text, for a model that learned from whole files
    given_options = {name: value for name, value in options.items() if value is not None}
    for name in OF_MODEL:
        if name in given_options and recipe.get("preparation") is not None:
            typed = name.replace("_", "-")
            raise ValueError(f"{name} (--{typed}): the model already knows how to prepare tables: leave it out.")
    if format in NAMED and given_options.get("text_column") and not (recipe.get("text_column") or recipe.get("text")):
        raise ValueError("text_column (--text-column): the model was not trained on text columns: leave it out.")
    if isinstance(model_options.get("text"), dict) and isinstance(given_options.get("text"), dict):
        given_options["text"] = model_options["text"] | given_options["text"]
    if "categories" in given_options and "categories" in model_options:
        from perceptrons.features.column_options import listed

        for name in listed(given_options.pop("categories")):
            if name not in model_options["categories"]:
                message = f"categories names {name!r}, which is not a category column of the model: leave it out."
                raise ValueError(message)
    for name in INTERACTIONS:
        if format == "vw" and name in given_options and given_options[name] != model_options.get(name):
            learned_with = f"with {', '.join(model_options[name])}" if name in model_options else "without"
            raise ValueError(f"{name} is fixed by the model, which was trained {learned_with}: leave it out.")
    combined = model_options | given_options
    return format, paths, hash_bits, combined | _label_options(model, combined)


def _label_options(model: Any, options: Recipe) -> Recipe:
    """Return how the labels of files are read for a model: one each, or several, as it was trained."""
    from perceptrons.engine.training.base import Classifier, has_learned
    from perceptrons.inspection.evaluation import several_labels

    if not (isinstance(model, Classifier) and has_learned(model)):
        return {}
    several = several_labels(model)
    return {"multilabel": several} | (
        {} if several or not options.get("label_separator") else {"label_separator": None}
    )


def _options_by_recipe(model: Any, format: str, recipe: Recipe, grow: bool) -> Recipe:
    """Return what a model says of files that are like those it learned from, or at least have the same features."""
    options = {name: value for name, value in recipe.items() if format in OPTIONS.get(name, ()) and value is not None}
    if format in NAMED:
        options.setdefault("prefix", False)  # as models were trained that do not say it
    if getattr(model, "columns_", None) is not None and format in OPTIONS["columns"]:
        options["columns"] = deepcopy(model.columns_) if grow else model.columns_.as_frozen()
        options["columns"].frozen = not grow
        options |= {"grow": True} if grow and format in NAMED else {}
    elif format in SPARSE and not recipe.get("hash_bits"):
        options |= {} if grow else {"n_features": model.n_features_in_}
        if not recipe and str(next(iter(getattr(model, "feature_names_in_", [])), "")) == "0":
            options["zero_based"] = True
    elif not recipe:
        message = f"like: this model was not trained on files of format {format}, so it does not know how to read them"
        raise ValueError(f"{message}.")
    return options


def _options_by_position(model: Any, format: str) -> Recipe:
    """Return the names of the features of a model that learned from arrays, or their number."""
    n_features = int(model.n_features_in_)
    if format not in NAMED:
        return {"n_features": n_features}
    from perceptrons.features.column_options import ModelColumns

    names = getattr(model, "feature_names_in_", None)
    return {"model": ModelColumns(None if names is None else [str(name) for name in names], n_features)}


def _format_by_name(path: Any) -> str | None:
    """Return the format that the ending of a name, or that before .gz and the like, stands for, if any."""
    name = _name_of(path)
    return ENDINGS.get(Path(name.stem if compression_of(name) else name.name).suffix.lower())


def is_folder(path: Any) -> bool:
    """Return whether it is a folder of files."""
    return not is_stream(path) and not isinstance(path, InMemory) and os.path.isdir(path)


def stream_format(paths: Inputs) -> str:
    """Return the format that the ending of the first name stands for."""
    format = _format_by_name(paths[0])
    if format is None:
        raise unknown_format(paths[0], "the file extension does not tell the format:")
    return format


def detect_format(paths: Inputs, encoding: str | None) -> tuple[str, Inputs]:
    """Return the format by the first name, or by what is in that file; and what to read, from its beginning."""
    format_of_name = _format_by_name(paths[0]) if paths else None
    if format_of_name is not None or not paths:
        return format_of_name or "text", paths  # of nothing: the reader says that there is nothing to read
    if is_folder(paths[0]):
        return "text", paths
    from perceptrons.data.sniffing import first_bytes, format_of, why_none

    content, paths = first_bytes(paths, encoding)
    format = format_of(content)
    if format is None:
        raise unknown_format(paths[0], why_none(content))
    return format, paths


def unknown_format(path: Any, message: str) -> DataFileError:
    """Return the error for a file of which nobody knows the format: all that there are, and how to say it."""
    return DataFileError(_name_of(path), f"{message} choose one of {', '.join(FORMATS)} (--format)")


def _name_of(path: Any) -> Path:
    """Return the name of a file or of an open stream."""
    return Path(str(OpenStream(path, 1)) if is_stream(path) else path)
