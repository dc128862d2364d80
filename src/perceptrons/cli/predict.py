"""`perceptrons predict`: a label per line, fit for pipes; scores if wanted."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from perceptrons.cli import options
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import check_output, load_model, read_for, refusing_to_open, scored, several_labels, winners
from perceptrons.cli.screen import as_json
from perceptrons.cli.wording import NOT_PROBABILITIES


def predict(
    model: options.Model,
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DATA",
            readable=False,
            show_default=False,
            help="Files, patterns such as 'part-*.svm', or - for stdin, which is read if something is piped into it.",
        ),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Add the scores, separated by tabs, below a heading. Not probabilities.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", readable=False, help="Write to this file, not to stdout.")
    ] = None,
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    text_column: options.TextColumn = None,
    on_error: options.OnError = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON for machines: an object a line for streams, else one for all.")
    ] = False,
) -> None:
    """Print the class of every example in DATA, one a line; several labels with commas. DATA needs no labels.

    A model that learned from a stream answers line by line as they come, at constant memory. There is one output line
    for each record; one that --on-error skip leaves out has an empty label.
    """
    from perceptrons.cli.stream.answering import records_of, write_answers
    from perceptrons.cli.stream.options import STDIN
    from perceptrons.cli.stream.reading import Reading, refuse_skipping, say_skipped, stream_for, whole_files

    check_output(output, model, *(data or []))
    fitted = load_model(model, instead="predict")
    if not data:
        if sys.stdin is None or sys.stdin.isatty():
            raise BadInputError("perceptrons predict: DATA is missing: give a file, or pipe something into it.")
        if format is None and getattr(fitted, "source_", None) is None:
            raise BadInputError("perceptrons predict: DATA is missing: give a file, or pipe some in and give --format.")
        data = [STDIN]
    how = Reading(format, False, label_column, text_column, skip=on_error == "skip", prompt=STDIN in data)
    reader = stream_for(fitted, data, how)
    if reader is not None:
        records: Iterable[Any] = records_of(reader)
    else:
        refuse_skipping(on_error)
        tables = (read_for(fitted, path, format, label_column, need_labels=False) for path in whole_files(data))
        records = [(table.X, []) for table in tables]
    with written(output) as out:
        if json and reader is None and len(data) == 1:
            out.write(_one_object(fitted, model, data[0], [X for X, _ in records], scores))
        else:
            write_answers(fitted, records, out, scores, json)
    if reader is not None:
        say_skipped(reader)


@contextmanager
def written(path: Path | None) -> Iterator[IO[str]]:
    """Where answers go."""
    if path is None:
        yield sys.stdout
        return
    with refusing_to_open(path), path.open("w", encoding="utf-8") as file:
        yield file


def _one_object(model: Any, path: Path, data: Path, matrices: Iterable[Any], scores: bool) -> str:
    """All answers in one JSON object."""
    classes = model.classes_.tolist()
    labels, points = [], []
    for X in matrices:
        here = scored(model, X)
        points += here.tolist()
        several = several_labels(model)
        labels += [[classes[k] for k in won.nonzero()[0]] if several else classes[won] for won in winners(model, here)]
    content: dict[str, Any] = {"model": str(path), "data": str(data), "classes": classes, "predictions": labels}
    if scores:
        content |= {"scores": points, "note": NOT_PROBABILITIES}
    return as_json(content)
