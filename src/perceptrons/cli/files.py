"""Opens and writes the files of commands, with error messages that name the file."""

import glob
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from perceptrons.cli.errors import BadInputError, refusing, refusing_to_open

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron

    AnyModel = Perceptron | KernelPerceptron


def load_any(path: Path, *, pipelines: bool = False) -> "AnyModel | SequencePerceptron":
    """Load a model or a tagger. pipelines: also a pipeline of scikit-learn."""
    from perceptrons import ModelFileError, StructuredPerceptron, load
    from perceptrons.modelfile import check_ordinary

    with refusing(ModelFileError), refusing_to_open(path):
        check_ordinary(path)
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


def load_model(path: Path, instead: str) -> "AnyModel":
    """Load a model of single examples. instead: the command to suggest for a tagger."""
    model = load_any(path)
    if is_tagger(model):
        raise BadInputError(f"{path}: this is a tagger, for sentences of tokens: use perceptrons tag {instead}.")
    return model


def load_tagger(path: Path, instead: str) -> "SequencePerceptron":
    """Load a tagger of columns of words. instead: the command to suggest for a model of single examples."""
    model = load_any(path)
    if not is_tagger(model):
        raise BadInputError(f"{path}: this is not a tagger, but a model of single examples: use perceptrons {instead}.")
    if model.templates is None:
        raise BadInputError(
            f"{path}: this tagger takes features that were computed in Python, not columns of words: use it in Python."
        )
    return model


def is_kernel(model: "AnyModel | SequencePerceptron") -> "TypeIs[KernelPerceptron]":
    """Does the model learn in the space of a kernel?"""
    return hasattr(model, "kernel")


def is_tagger(model: "AnyModel | SequencePerceptron") -> "TypeIs[SequencePerceptron]":
    """Does the model label the tokens of sentences?"""
    return hasattr(model, "templates")


def save_model(model: "AnyModel | SequencePerceptron", path: Path) -> None:
    from perceptrons import save

    with refusing_to_open(path):
        save(model, path)


def save_text(text: str, path: Path) -> None:
    save_bytes(text.encode(), path)


def save_bytes(content: bytes, path: Path) -> None:
    """Write a file whole or not at all; a link is followed, not replaced."""
    from perceptrons.modelfile import write_whole

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
    folder = path.parent
    if not folder.is_dir():
        raise BadInputError(f"{path}: cannot be written, because the folder {folder} does not exist: create it first.")
    if path.is_dir():
        raise BadInputError(f"{path}: cannot be written, because it is a folder: give the name of a file.")
    if path.exists() and not path.is_file():
        raise BadInputError(f"{path}: cannot be written, because it is not a regular file: give another name.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise BadInputError(f"{path}: cannot be written: permission denied.")
    if not path.exists():
        return
    for path_read in inputs:
        if path_read is not None and any(path.samefile(file) for file in _matching_files(path_read)):
            raise BadInputError(f"{path}: this command reads the file and would overwrite it: write to another file.")


def _matching_files(path: Path) -> list[str]:
    """Return the files that a name or a pattern matches."""
    return [str(path)] if path.exists() else glob.glob(str(path), recursive=True)


def check_folder(path: Path | None) -> None:
    """Refuse a path in a folder that cannot be written, so that no long work is lost. Tries with a temporary file."""
    if path is not None:
        try:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise BadInputError(f"{path}: cannot be written in this folder: {reason}.") from error
