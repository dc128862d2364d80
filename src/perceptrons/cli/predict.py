"""`perceptrons predict`: a label per line, fit for pipes; scores if wanted."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from perceptrons.cli import options
from perceptrons.cli.files import check_output, load_model, read_for, refusing_to_open, scored, several_labels, winners
from perceptrons.cli.screen import as_json, plain
from perceptrons.cli.wording import NOT_PROBABILITIES


def predict(
    model: options.Model,
    data: options.Data,
    scores: Annotated[
        bool, typer.Option("--scores", help="Add the scores, separated by tabs, below a heading. Not probabilities.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", readable=False, help="Write to this file, not to stdout.")
    ] = None,
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    json: options.Json = False,
) -> None:
    """Print the class of every example in DATA, one a line; several labels with commas. DATA needs no labels."""
    check_output(output, model, data)
    fitted = load_model(model, instead="predict")
    table = read_for(fitted, data, format, label_column, need_labels=False)
    classes = fitted.classes_.tolist()
    points = scored(fitted, table.X)
    several = several_labels(fitted)
    labels = [[classes[k] for k in won.nonzero()[0]] if several else classes[won] for won in winners(fitted, points)]
    if json:
        content: dict[str, Any] = {"model": str(model), "data": str(data), "classes": classes, "predictions": labels}
        if scores:
            content |= {"scores": points.tolist(), "note": NOT_PROBABILITIES}
        text = as_json(content)
    else:
        text = "".join(f"{line}\n" for line in _lines(classes, labels, points.tolist() if scores else None))
    if output is None:
        sys.stdout.write(text)
    else:
        with refusing_to_open(output):
            output.write_text(text, encoding="utf-8")


def _lines(classes: list[Any], labels: list[Any], points: list[Any] | None) -> Iterator[str]:
    """Labels, or a heading and a line of label and scores each; with two classes the score of the second one."""
    if points is None:
        yield from (_word(label) for label in labels)
        return
    several = bool(points) and isinstance(points[0], list)
    yield "\t".join(["label", *(f"score of {_word(label)}" for label in (classes if several else classes[-1:]))])
    for label, row in zip(labels, points, strict=True):
        yield "\t".join([_word(label), *(f"{point:.6g}" for point in (row if several else [row]))])


def _word(label: Any) -> str:
    return ",".join(plain(one, at_most=sys.maxsize) for one in (label if isinstance(label, list) else [label]))
