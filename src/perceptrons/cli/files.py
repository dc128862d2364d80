"""Opens, reads and writes the files of commands, with errors that name the file and end the command."""

import errno
import glob
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from perceptrons.cli.messages import BadInputError, say
from perceptrons.cli.options import READING, ReadingOptions, given, typed
from perceptrons.data import Table, stream
from perceptrons.data.reader import Reader
from perceptrons.data.source import STDIN as STANDARD_INPUT
from perceptrons.data.table import Block, DataPath
from perceptrons.engine.training.matrices import widened
from perceptrons.engine.wording import count
from perceptrons.inspection.evaluation import (
    LabelQuality,
    Quality,
    measure_blocks,
)
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.modelfile import ModelFileError, check_regular_file, load, save, write_whole
from perceptrons.sequence import SequencePerceptron
from perceptrons.structured import StructuredPerceptron

AnyModel = Perceptron | KernelPerceptron

STDIN = Path("-")
DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


# ---- errors


@contextmanager
def refusing(*kinds: type[Exception], about: object = None) -> Iterator[None]:
    """Turn exceptions of these kinds into refusals. about: the start of the message."""
    try:
        yield
    except kinds as error:
        raise BadInputError(str(error) if about is None else f"{about}: {error}") from error


@contextmanager
def refusing_to_open(path: Path) -> Iterator[None]:
    """Turn the system's errors about a file into refusals that name it."""
    try:
        yield
    except OSError as error:
        raise BadInputError(f"{path}: {(error.strerror or str(error)).lower()}") from error


@contextmanager
def refusing_data() -> Iterator[None]:
    """Turn errors of data, caches, checkpoints and missing packages into refusals."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        reason = reason[:1].lower() + reason[1:]
        if error.filename is None and error.errno in DISK_IS_FULL:
            reason += ": parsed data are kept in a temporary file in the folder TMPDIR: set TMPDIR to another folder"
        raise BadInputError(reason if error.filename is None else f"{error.filename}: {reason}") from error
    except (ValueError, ModuleNotFoundError) as error:
        raise BadInputError(str(error)) from error


def no_examples_error(about: object) -> BadInputError:
    return BadInputError(f"{about}: there are no examples in it: write one example per line.")


# ---- models


def load_any(path: Path, *, pipelines: bool = False) -> Any:
    """Load a model or a tagger. pipelines: also a pipeline of scikit-learn."""
    with refusing(ModelFileError), refusing_to_open(path):
        check_regular_file(path)
        path.open("rb").close()
        model = load(path)
    if isinstance(model, StructuredPerceptron):
        raise BadInputError(
            f"{path}: this is a StructuredPerceptron, which needs code that is not in the file: load it in Python."
        )
    if (hasattr(model, "steps") and not pipelines) or hasattr(model, "calibrated_classifiers_"):
        raise BadInputError(
            f"{path}: this is a {type(model).__name__} of scikit-learn, not a single model: load it in Python with "
            "perceptrons.load."
        )
    return model


def load_model(path: Path, instead: str) -> AnyModel:
    """Load a model of single examples. instead: the command to suggest for a tagger."""
    model: AnyModel | SequencePerceptron = load_any(path)
    if isinstance(model, SequencePerceptron):
        raise BadInputError(f"{path}: this is a tagger, for sentences of tokens: use perceptrons tag {instead}.")
    return model


def load_tagger(path: Path, instead: str) -> SequencePerceptron:
    """Load a tagger of columns of words. instead: the command to suggest for a model of single examples."""
    model: AnyModel | SequencePerceptron = load_any(path)
    if not isinstance(model, SequencePerceptron):
        raise BadInputError(f"{path}: this is not a tagger, but a model of single examples: use perceptrons {instead}.")
    if model.templates is None:
        raise BadInputError(
            f"{path}: this tagger takes features that were computed in Python, not columns of words: use it in Python."
        )
    return model


# ---- outputs


def save_model(model: AnyModel | SequencePerceptron, path: Path | None) -> None:
    """Save a model to the file of -o, if it was given."""
    if path is not None:
        with refusing_to_open(path):
            save(model, path)


def save_bytes(content: bytes, path: Path) -> None:
    """Write a file whole or not at all; a link is followed, not replaced."""
    with refusing_to_open(path):
        write_whole(Path(os.path.realpath(path)), content)


def check_output(path: Path | None, *inputs: Path | None) -> None:
    """Refuse a path that cannot be written, before any work is done, and one that would overwrite what is read."""
    if path is None:
        return
    if str(path) == "-":
        raise BadInputError(
            "-: this is not a valid output file: leave -o out to write to standard output, or give "
            "./- for a file called -."
        )
    folder, exists = path.parent, path.exists()
    problem = None
    if not folder.is_dir():
        problem = f", because the folder {folder} does not exist: create it first"
    elif path.is_dir():
        problem = ", because it is a folder: give the name of a file"
    elif exists and not path.is_file():
        problem = ", because it is not a regular file: give another name"
    elif not os.access(path if exists else folder, os.W_OK):
        problem = ": permission denied"
    if problem is not None:
        raise BadInputError(f"{path}: cannot be written{problem}.")
    for source in inputs if exists else ():
        matches = [] if source is None else [source] if source.exists() else glob.glob(str(source), recursive=True)
        if any(path.samefile(match) for match in matches):
            raise BadInputError(f"{path}: this command reads the file and would overwrite it: write to another file.")


def check_folder(path: Path | None) -> None:
    """Refuse a path in a folder that cannot be written, so that no long work is lost. Tries with a temporary file."""
    if path is not None:
        try:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise BadInputError(f"{path}: cannot be written in this folder: {reason}.") from error


# ---- data


def open_data(data: Sequence[Path], options: ReadingOptions, like: Any = None, **more: Any) -> Reader:
    """Open data. like: a model that says how to read where the options do not."""
    parameters: dict[str, Any] = given(options, READING)
    if len(parameters.get("label_column", ())) == 1:
        (parameters["label_column"],) = parameters["label_column"]
    if "missing" in parameters:
        parameters["missing"] = ",".join(parameters["missing"])
    text = {name: parameters.pop(name).sizes() for name in ("words", "chars") if name in parameters}
    if like is not None:
        more = {"text_labels": True, **more}  # those of a model may be words that look like numbers
    with refusing_data():
        try:
            reader = stream(*data, like=like, prepare=like is None, text=text or None, **{**more, **parameters})
        except ValueError as error:  # begins with the name of a parameter, which the command line spells otherwise
            name, blank, message = str(error).partition(" ")
            spelling = " and ".join(map(typed, text)) if text and name == "text" else name
            spelling = typed(name) if name in parameters else spelling
            raise BadInputError(f"{spelling}{blank}{message}") from error
    check_files(reader.files)
    return reader


def check_files(paths: Sequence[DataPath]) -> None:
    """Refuse what cannot be read before any work is done. Pipes are not opened: they can be only once."""
    for path in paths:
        if path in (STANDARD_INPUT, STDIN) or not isinstance(path, Path):  # a folder, whose files are listed already
            continue
        with refusing_to_open(path):
            path.stat()
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a directory")
            if path.is_file():
                path.open("rb").close()  # os.access would know nothing of capabilities
            elif not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, "permission denied")


def read_all(reader: Reader, reports: bool = True) -> Table:
    """Read all examples. reports: print on stderr how many records were skipped."""
    table = read_within(reader, None)
    assert table is not None
    if reports:
        say_skipped(reader)
    return table


def read_within(reader: Reader, limit: int | None) -> Table | None:
    """Read all examples if they take at most `limit` bytes; otherwise return None."""
    with refusing_data():
        table = reader.read(limit)
    if table is not None and not table.X.shape[0]:
        raise no_examples_error(name_of(reader))
    return table


def like_table(table: Table, path: Path, options: ReadingOptions, reports: bool = True) -> Table:
    """Read another file in the same way as a table. reports: print on stderr how many records were skipped."""
    like = SimpleNamespace(source_=table.source, columns_=table.columns, n_features_in_=table.X.shape[1])
    same_columns = ReadingOptions(
        label_column=options.label_column, labels=options.labels, text_column=options.text_column,
        on_error=options.on_error,
    )  # fmt: skip
    labels = table.y if table.classes is None else table.classes
    text_labels = labels is not None and labels.dtype.kind == "U"
    more = read_all(open_data([path], same_columns, like=like, text_labels=text_labels), reports)
    if more.X.shape[1] < table.X.shape[1]:
        more = replace(more, X=widened(more.X, table.X.shape[1]))
    return more


def measured_blocks(model: AnyModel, blocks: Iterable[Block]) -> Quality | LabelQuality | None:
    """Measure a model block by block; return None if there are no examples."""
    with refusing_data():
        return measure_blocks(model, blocks)


def check_seconds(seconds: float | None) -> None:
    """Refuse a time limit of nothing."""
    if seconds is not None and not seconds > 0:
        raise BadInputError(f"--max-seconds {seconds:g}: give a number above 0.")


def name_of(reader: Reader | Table) -> str:
    """Return the name of a file; of several their number, the first and the last."""
    paths = reader.files
    return str(paths[0]) if len(paths) == 1 else f"{count(len(paths), 'file')}: {paths[0]} ... {paths[-1]}"


def json_paths(paths: Sequence[DataPath]) -> str | list[str]:
    """Return the names of files, for JSON."""
    return str(paths[0]) if len(paths) == 1 else [str(path) for path in paths]


def describe_skipped(reader: Any) -> str:
    """Return text such as "3 records were skipped. The first: a.svm:7:3: ..."."""
    return f"{count(reader.skipped, 'record was', 'records were')} skipped. The first: {reader.complaints[0]}"


def say_skipped(reader: Reader) -> None:
    """Print on stderr the notices of a reader, and how many records were skipped."""
    for notice in reader.notices:
        say(f"{reader.files[0]}: {notice}")
    if reader.skipped:
        say(describe_skipped(reader))
