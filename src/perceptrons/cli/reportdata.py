"""The examples of a report, read as the model reads them, with the places where they stand."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.columns import ColumnNames, names_of
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import read_for, refusing_to_open
from perceptrons.cli.stream.options import STDIN
from perceptrons.cli.stream.reading import Reading, format_for, refuse_skipping, say_skipped, stream_for, whole_files
from perceptrons.cli.weights import name_of

if TYPE_CHECKING:
    import numpy as np

    from perceptrons.cli.files import AnyModel
    from perceptrons.cli.originals import Originals
    from perceptrons.data.reader import Reader

BLOCK = 2**20  # bytes to hash at a time
AS_LINES = ("text", "vw")  # formats whose lines can be read by people as they are


@dataclass
class Read:
    """Examples: lines are numbers, or file:line where there are several files; None where files have no lines."""

    X: Any
    y: "np.ndarray"
    lines: Any
    examples: "Originals | None"
    files: list[Path]
    more: bool  # are there more than were read?


class Called:
    """What the features of a model are called, looked up as they are needed."""

    def __init__(self, names: Any):
        self._names = names

    def __getitem__(self, column: int) -> str:
        return name_of(self._names, column)


def names_for(model: "AnyModel") -> Called | None:
    """Names as commands give them; None where the model knows them by itself."""
    names = names_of(model)
    return None if isinstance(names, ColumnNames) else Called(names)


def read_examples(model: "AnyModel", data: list[Path], how: Reading, at_most: int, on_error: Any) -> Read:
    """The first examples of the files."""
    if STDIN in data:
        raise BadInputError(
            "-: a report looks at its data twice, and standard input can be read only once: give a file."
        )
    reader = stream_for(model, data, how)
    if reader is not None:
        return _streamed(model, reader, how, at_most)
    refuse_skipping(on_error)
    parts = []
    files = whole_files(data)
    for path in files:
        table = read_for(model, path, how.format, how.label_column, need_labels=True)
        parts.append((table.X, table.y, table.lines))
        if sum(part[0].shape[0] for part in parts) > at_most:
            break
    X, y, of_row, lines, more = _joined(parts, at_most)
    return Read(X, y, _places(files, of_row, lines), None, files, more or len(parts) < len(files))


def _streamed(model: "AnyModel", reader: "Reader", how: Reading, at_most: int) -> Read:
    import numpy as np

    from perceptrons.cli.originals import Originals
    from perceptrons.cli.stream.answering import blocks_of
    from perceptrons.training.blocks import widened

    parts, numbers, seen = [], [], 0
    places = {path: number for number, path in enumerate(reader.files)}
    for block in blocks_of(reader):
        parts.append((widened(block.X, model.n_features_in_), block.y, block.lines))
        numbers.append(places[block.path])
        seen += block.X.shape[0]
        if seen > at_most:
            break
    say_skipped(reader)
    if not parts:
        raise BadInputError(f"{reader.files[0]}: there is no example in it: give a line for each.")
    X, y, of_part, lines, more = _joined(parts, at_most)
    of_row = np.asarray(numbers)[of_part]
    source = {**(getattr(model, "source_", None) or reader.recipe()), **how.columns()}
    source["format"] = format_for(model, reader.files[0], how.format) if hasattr(model, "source_") else source["format"]
    as_text = source["format"] in AS_LINES or source.get("text_column")
    texts = Originals(reader.files, of_row, lines, source) if as_text and lines is not None else None
    return Read(X, y, _places(reader.files, of_row, lines), texts, list(reader.files), more)


def _joined(parts: list[Any], at_most: int) -> tuple[Any, Any, Any, Any, bool]:
    """The matrices, labels and lines of several parts as one, cut; and which part each row is of."""
    import numpy as np
    import scipy.sparse as sp

    matrices, labels, lines = zip(*parts, strict=True)
    of_row = np.repeat(np.arange(len(parts)), [X.shape[0] for X in matrices])
    X = matrices[0]
    if len(parts) > 1:
        X = sp.vstack(matrices, format="csr") if any(map(sp.issparse, matrices)) else np.concatenate(matrices)
    kept = None if any(part is None for part in lines) else np.concatenate(lines)[:at_most]
    return X[:at_most], np.concatenate(labels)[:at_most], of_row[:at_most], kept, X.shape[0] > at_most


def _places(files: list[Path], of_row: Any, lines: Any) -> Any:
    if lines is None or len(files) == 1:
        return lines
    return [f"{files[number]}:{line}" for number, line in zip(of_row.tolist(), lines.tolist(), strict=True)]


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with refusing_to_open(path), path.open("rb") as file:
        while content := file.read(BLOCK):
            digest.update(content)
    return digest.hexdigest()


def shape_of(text: str | None, no_images: bool) -> Any:
    """28x28 as (28, 28)."""
    if no_images:
        if text is not None:
            raise BadInputError("--image-shape and --no-images exclude each other: give one.")
        return None
    if text is None:
        return "auto"
    with refusing(ValueError, about=f"--image-shape {text}: give ROWSxCOLUMNS, such as 28x28"):
        rows, columns = (int(side) for side in text.lower().replace("×", "x").split("x"))
    return rows, columns
