"""`perceptrons report`: one page about a model and its answers to labelled data."""

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from perceptrons.cli import options
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, load_model, save_text, several_labels
from perceptrons.cli.screen import screen


def report(
    model: options.Model,
    data: options.Files,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="PAGE", readable=False, help="Write the page here.")
    ] = Path("report.html"),
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    text_column: options.TextColumn = None,
    on_error: options.OnError = None,
    features: Annotated[
        tuple[str, str] | None,
        typer.Option("--features", metavar="A B", help="Draw the boundary over these two features."),
    ] = None,
    image_shape: Annotated[
        str | None,
        typer.Option("--image-shape", metavar="ROWSxCOLUMNS", help="Features are pixels; otherwise it is guessed."),
    ] = None,
    no_images: Annotated[bool, typer.Option("--no-images", help="Features are no pixels.")] = False,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="The heading of the page.")] = None,
    max_seconds: Annotated[
        float,
        typer.Option("--max-seconds", metavar="S", help="Time limit in seconds for the proof and the mistake bound."),
    ] = 10.0,
    max_examples: Annotated[
        int, typer.Option("--max-examples", metavar="N", min=1, help="Read so many examples at most.")
    ] = 200_000,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Write one page about a model and its answers to labelled DATA: figures, mistakes, features, margins, proof.

    The page is one HTML file with everything inside. Best give data that the model has not learned from.
    """
    from perceptrons.cli.reportdata import checksum, names_for, read_examples, shape_of
    from perceptrons.cli.stream.reading import Reading

    if not max_seconds > 0:
        raise BadInputError(f"--max-seconds {max_seconds:g}: give a number above 0.")
    check_output(output, model, *data)
    fitted = load_model(model, instead="evaluate")
    if several_labels(fitted):
        raise BadInputError(f"{model}: gives an example any number of labels, and a report is about one for each.")
    shape = shape_of(image_shape, no_images)
    with waiting(quiet):
        with refusing(ImportError):
            from perceptrons.report import Origin
            from perceptrons.report import report as make
        how = Reading(format, True, label_column, text_column, skip=on_error is not None and on_error == "skip")
        read = read_examples(fitted, data, how, max_examples, on_error)
        asked = {
            "format": format, "label_column": label_column, "text_column": text_column, "on_error": on_error,
            "image_shape": image_shape, "no_images": no_images, "title": title, "features": features,
            "max_seconds": None if max_seconds == 10.0 else f"{max_seconds:g}",
            "max_examples": None if max_examples == 200_000 else max_examples,
        }  # fmt: skip
        names = [("data", str(path), checksum(path)) for path in read.files[:20]]
        origin = Origin(
            command(model, data, output, asked), (("model", str(model), checksum(model)), *names), read.more
        )  # fmt: skip
        about = data[0].name if len(data) == 1 else f"{len(read.files)} files"
        with refusing(ValueError, TypeError, about=data[0]):
            page = make(
                fitted, read.X, read.y, examples=read.examples, feature_names=names_for(fitted), image_shape=shape,
                features=features, lines=read.lines, max_seconds=max_seconds, origin=origin,
                title=f"{model.name} on {about}" if title is None else title,
            )  # fmt: skip
    save_text(page.html, output)
    if not quiet:
        print(f"{output}: {len(page.html.encode()) / 1e6:.2f} MB, everything inside; open it in a browser.")


def waiting(quiet: bool) -> Any:
    """A spinner, if somebody is watching."""
    if quiet or not sys.stderr.isatty():
        return nullcontext()
    return screen(stderr=True).status("Writing the report ...")


def command(model: Path, data: list[Path], output: Path, asked: dict[str, Any]) -> str:
    """The command that makes this page again."""
    words = ["perceptrons", "report", str(model), *map(str, data)]
    for name, value in asked.items():
        if value is None or value is False:
            continue
        for one in value if isinstance(value, list) else [value]:
            words.append(f"--{name.replace('_', '-')}")
            if one is not True:
                words += map(str, one) if isinstance(one, tuple) else [getattr(one, "value", str(one))]
    return shlex.join([*words, "-o", str(output)])
