"""`perceptrons report`: one page about a model and its answers to labelled data."""

import hashlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.columns import ColumnNames, names_of
from perceptrons.cli.errors import BadInputError, refusing, refusing_to_open
from perceptrons.cli.files import check_output, load_model, save_text, several_labels
from perceptrons.cli.inputs import STDIN, blocks_of, opened, say_skipped
from perceptrons.cli.options import READING, given, takes, typed
from perceptrons.cli.screen import Waiting, visible
from perceptrons.cli.weights import name_of

if TYPE_CHECKING:
    import numpy as np

    from perceptrons.cli.files import AnyModel
    from perceptrons.cli.originals import Originals
    from perceptrons.data.reader import Reader

BLOCK = 2**20  # bytes to hash at a time
AS_LINES = ("text", "vw")  # formats whose lines can be read by people as they are
AGAIN = (
    *READING, "features", "image_shape", "no_images", "title", "max_seconds", "max_examples",
)  # fmt: skip
USUAL = {"max_seconds": 10.0, "max_examples": 200_000}


@takes(
    "model", "files", "output:page", *READING, "features", "image_shape", "no_images", "title",
    "max_seconds:page", "max_examples", "quiet",
)  # fmt: skip
def report(asked: Any) -> None:
    """Write one page about a model and its answers to labelled DATA: figures, mistakes, features, margins, proof.

    The page is one HTML file with everything inside. Best give data that the model has not learned from.
    """
    model, data, output = asked.model, asked.files, asked.output
    if not asked.max_seconds > 0:
        raise BadInputError(f"--max-seconds {asked.max_seconds:g}: give a number above 0.")
    check_output(output, model, *data)
    fitted = load_model(model, instead="evaluate")
    if several_labels(fitted):
        raise BadInputError(f"{model}: gives an example any number of labels, and a report is about one for each.")
    if STDIN in data:
        raise BadInputError(
            "-: a report looks at its data twice, and standard input can be read only once: give a file."
        )
    shape = shape_of(asked.image_shape, asked.no_images)
    with Waiting("Writing the report ...", shown=not asked.quiet):
        with refusing(ImportError):
            from perceptrons.report import Origin
            from perceptrons.report import report as make
        read = read_examples(fitted, opened(data, asked, like=fitted), asked.max_examples)
        told = given(asked, [name for name in AGAIN if getattr(asked, name) != USUAL.get(name)])
        names = [("data", str(path), checksum(path)) for path in read.files[:20]]
        origin = Origin(command(asked, told), (("model", str(model), checksum(model)), *names), read.more)
        about = data[0].name if len(data) == 1 else f"{len(read.files)} files"
        with refusing(ValueError, TypeError, about=data[0]):
            page = make(
                fitted, read.X, read.y, examples=read.examples, feature_names=names_for(fitted), image_shape=shape,
                features=asked.features, lines=read.lines, max_seconds=asked.max_seconds, origin=origin,
                title=f"{model.name} on {about}" if asked.title is None else asked.title,
            )  # fmt: skip
    save_text(page.html, output)
    if not asked.quiet:
        size = f"{len(page.html.encode()) / 1e6:.2f} MB"
        print(f"{visible(str(output))}: {size}, everything inside; open it in a browser.")


def command(asked: Any, told: dict[str, Any]) -> str:
    """The command that makes this page again."""
    words = ["perceptrons", "report", str(asked.model), *map(str, asked.files)]
    for name, value in told.items():
        for one in value if isinstance(value, list) else [value]:
            words.append(typed(name))
            if one is not True:
                parts = one if isinstance(one, tuple) else (one,)
                words += [f"{part:g}" if isinstance(part, float) else str(part) for part in parts]
    return shlex.join([*words, "-o", str(asked.output)])


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


def read_examples(model: "AnyModel", reader: "Reader", at_most: int) -> Read:
    """The first examples of the files."""
    import numpy as np

    from perceptrons.cli.originals import Originals
    from perceptrons.training.matrices import widened

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
    of_row, source = np.asarray(numbers)[of_part], reader.recipe()
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
