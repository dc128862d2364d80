"""Readers of streams: for what `train` was asked, and for a model that has learned. Errors become refusals."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import feature_names, refusing_to_open
from perceptrons.cli.screen import count, say
from perceptrons.cli.stream.options import ONLY_STREAMS, STDIN, Asked, format_by_name, option

if TYPE_CHECKING:
    from perceptrons import Perceptron
    from perceptrons.cli.files import AnyModel
    from perceptrons.cli.options import DataFormat
    from perceptrons.data.reader import Reader

TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")  # formats whose columns have names
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def refusing_stream() -> Iterator[None]:
    """Turn what can be wrong with files, caches, checkpoints and missing packages into refusals."""
    try:
        yield
    except OSError as error:
        what = error.strerror or str(error)
        what = what[:1].lower() + what[1:]
        if error.filename is None and error.errno in FULL:
            what += ": what was read is kept in a temporary file, in the folder that TMPDIR names: choose another one"
        raise BadInputError(what if error.filename is None else f"{error.filename}: {what}") from error
    except (ValueError, ModuleNotFoundError) as error:
        raise BadInputError(str(error)) from error


def reader_of(data: Sequence[Path], format: "DataFormat | None", label_column: str | None, asked: Asked) -> "Reader":
    """What `train` is to learn from."""
    wanted = {
        "label_column": label_column, "text_column": asked.text_column or None, "zero_based": asked.zero_based or None,
        "categories": asked.categories or None, "ignore": asked.ignore or None,
    }  # fmt: skip
    text = {
        name: grams.sizes() for name, grams in (("words", asked.words), ("chars", asked.chars)) if grams is not None
    }
    return _open(
        data,
        None if format is None else format.value,
        {name: value for name, value in wanted.items() if value is not None},
        text,
        hash_bits=asked.hash_bits,
        text_labels=asked.text_labels,
        many_classes=asked.many_classes,
        on_error="raise" if asked.on_error is None else asked.on_error.value,
    )


def _open(
    data: Sequence[Path], format: str | None, wanted: dict[str, Any], text: dict[str, Any], **shared: Any
) -> "Reader":
    from perceptrons.data import OPTIONS, stream, stream_format

    with refusing_stream():
        format = format or format_by_name(data[0]) or stream_format(tuple(data))
        if format == "npz":
            raise BadInputError(f"{data[0]}: {format} files are read whole: give one, and no option for streams.")
        for name in (*wanted, *text):
            if format not in OPTIONS["text" if name in text else name]:
                raise BadInputError(f"{option(name)} says nothing about files of format {format}: leave it out.")
        reader = stream(*data, format=format, text=text or None, **wanted, **shared)
    check_files(reader.files)
    return reader


def check_files(files: Sequence[Path]) -> None:
    """Refuse what cannot be read before any work is done. Nothing is opened: a pipe can be only once."""
    from perceptrons.data.compression import STDIN as INPUT

    for path in files:
        if path in (INPUT, STDIN):
            continue
        with refusing_to_open(path):
            path.stat()
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a directory")
            if not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, "permission denied")


class Reading(NamedTuple):
    """How data for a model are to be read, where the model does not say it."""

    format: "DataFormat | None"
    need_labels: bool
    label_column: str | None = None
    text_column: list[str] | None = None
    skip: bool = False  # records that are no examples
    prompt: bool = False

    def shared(self) -> dict[str, Any]:
        """Labels stay as they are written: those of a model may be words that look like numbers."""
        on_error = "skip" if self.skip else "raise"
        return {"on_error": on_error, "need_labels": self.need_labels, "prompt": self.prompt, "text_labels": True}

    def columns(self) -> dict[str, Any]:
        """Columns that are called otherwise than in what the model learned from."""
        named = {"label_column": self.label_column, "text_column": self.text_column or None}
        return {name: value for name, value in named.items() if value is not None}


def stream_for(model: "AnyModel", data: Sequence[Path], how: Reading) -> "Reader | None":
    """What a model is to answer, as a stream; None: the files are to be read whole."""
    names = [format_by_name(path) if how.format is None else how.format.value for path in data]
    if getattr(model, "source_", None) is not None:
        return None if "npz" in names else reader_for(model, data, how)
    for name in ONLY_STREAMS.intersection(filter(None, names)):
        raise BadInputError(f"files of format {name} are for models that learned from a stream, and this one did not.")
    if how.text_column:
        raise BadInputError("--text-column is for models that learned from a stream, and this one did not.")
    if STDIN not in data:
        return None
    if how.format is None or len(data) > 1:
        raise BadInputError(
            "DATA is standard input, and nothing says what it holds: give --format csv or svmlight, and no other files."
        )
    if how.format not in ("svmlight", "libsvm"):
        return None
    first = (feature_names(model) or [""])[0]
    return _open(
        data, how.format.value, {"n_features": model.n_features_in_, "zero_based": first == "0"}, {}, **how.shared()
    )


def reader_for(model: "Perceptron", data: Sequence[Path], how: Reading) -> "Reader":
    """What a model that learned from a stream is to answer, read as that was."""
    format = format_for(model, data[0], how.format)
    return _open(data, format, how.columns(), {}, like=model, **how.shared())


def whole_files(data: Sequence[Path]) -> list[Path]:
    """Files to be read whole, one after the other."""
    from perceptrons.data.source import find_files

    with refusing_stream():
        return find_files(tuple(data))


def format_for(model: "Perceptron", path: Path, format: "DataFormat | None") -> str:
    """The format to read a file in: as asked, or as the model learned; other kinds of tables by their names."""
    if format is not None:
        return format.value
    learned, named = str(model.source_.get("format")), format_by_name(path)
    return named if named in TABLES and learned in TABLES else learned


def refuse_skipping(on_error: object) -> None:
    """Files that are read whole are read whole or not at all."""
    if on_error is not None:
        raise BadInputError("--on-error is for streams, and these data are read whole: leave it out.")


def skipped_in_words(reader: "Reader") -> str:
    """3 records were skipped, the first: a.svm:7:3: ..."""
    were = "record was" if reader.skipped == 1 else "records were"
    return f"{count(reader.skipped, were, were)} skipped, the first: {reader.complaints[0]}"


def say_skipped(reader: "Reader") -> None:
    """Say on stderr how many records were skipped, if any, and what else there is to say."""
    for notice in reader.notices:
        say(f"{reader.files[0]}: {notice}")
    if reader.skipped:
        say(skipped_in_words(reader))
