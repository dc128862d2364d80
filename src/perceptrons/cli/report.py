"""`perceptrons report`: writes one HTML page about a model and its predictions for labelled data."""

import hashlib
import shlex
from pathlib import Path
from typing import Any

from perceptrons.cli import files
from perceptrons.cli.files import refusing, refusing_data
from perceptrons.cli.messages import BadInputError, visible
from perceptrons.cli.options import READING, ReportOptions, command_text, refuse_both
from perceptrons.cli.screen import Waiting
from perceptrons.data.look import first_examples
from perceptrons.data.table import DataPath, named_lines
from perceptrons.data.text import Folder
from perceptrons.inspection.weights import names_as_files

REPEATED = (*READING, "features", "image_shape", "no_images", "title", "max_seconds", "max_examples")


def report(options: ReportOptions) -> None:
    """Run `perceptrons report`."""
    model, data, output = options.model, options.data, options.output
    files.check_seconds(options.max_seconds)
    files.check_output(output, model, *data)
    fitted = files.load_model(model, instead="evaluate")
    if files.STDIN in data:
        raise BadInputError("-: a report reads its data twice, but standard input can be read only once: give a file.")
    refuse_both(options, "image_shape", ("no_images",), "give one of them")
    shape = shape_of(options.image_shape, options.no_images)
    with Waiting("Writing the report ...", options):
        with refusing(ImportError):
            from perceptrons.report import Origin
            from perceptrons.report import report as make
        reader = files.open_data(data, options, like=fitted)
        with refusing_data():
            sample = first_examples(reader, fitted.n_features_in_, options.max_examples)
        files.say_skipped(reader)
        if sample is None:
            raise files.no_examples_error(reader.files[0])
        names = [("data", str(path), checksum(path)) for path in reader.files[:20]]
        command = command_text(["perceptrons", "report", model, *data], options, REPEATED)
        command = f"{command} -o {shlex.quote(str(output))}"
        origin = Origin(command, (("model", str(model), checksum(model)), *names), sample.more)
        about = data[0].name if len(data) == 1 else f"{len(reader.files)} files"
        with refusing(ValueError, TypeError, about=data[0]):
            page = make(
                fitted, sample.X, sample.y, examples=sample.texts(reader), feature_names=names_as_files(fitted),
                image_shape=shape, features=options.features,
                lines=named_lines(reader.files, sample.of_file, sample.lines), max_seconds=options.max_seconds,
                origin=origin,
                title=f"{model.name} on {about}" if options.title is None else options.title,
            )  # fmt: skip
    content = page.html.encode()
    files.save_bytes(content, output)
    if not options.quiet:
        size = f"{len(content) / 1e6:.2f} MB"
        print(f"{visible(str(output))}: {size} in one file; open it in a browser.")


def checksum(path: DataPath) -> str:
    """Return the SHA-256 of a file; of a folder that of the names and checksums of its files."""
    if isinstance(path, Folder):
        listed = [f"{checksum(path.member(number))} {member.name}" for number, member in enumerate(path.members, 1)]
        return hashlib.sha256("\n".join(sorted(listed)).encode("utf-8", "surrogateescape")).hexdigest()
    assert isinstance(path, Path)
    with files.refusing_to_open(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def shape_of(text: str | None, no_images: bool) -> Any:
    """28x28 as (28, 28)."""
    if text is None:
        return None if no_images else "auto"
    with refusing(ValueError, about=f"--image-shape {text}: give ROWSxCOLUMNS, such as 28x28"):
        rows, columns = (int(side) for side in text.lower().replace("×", "x").split("x"))
    return rows, columns
