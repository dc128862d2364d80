"""`perceptrons predict`: prints one label per line, suitable for pipes, with scores on request."""

import json as as_text
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing, refusing_data, refusing_to_open
from perceptrons.cli.files import check_output, load_model
from perceptrons.cli.inputs import STDIN, opened, say_skipped
from perceptrons.cli.options import ModelArgument, OptionalDataArgument, PredictionOptions, ReadingOptions, command
from perceptrons.cli.screen import label_word

if TYPE_CHECKING:
    import numpy as np

    from perceptrons.cli.files import AnyModel
    from perceptrons.data.reader import Reader
    from perceptrons.data.table import Skipped


@dataclass(frozen=True, kw_only=True)
class PredictOptions(ModelArgument, OptionalDataArgument, PredictionOptions, ReadingOptions):
    """The options of `perceptrons predict`."""


@command
def predict(options: PredictOptions) -> None:
    """Print the predicted class of every example in DATA, one per line. DATA needs no labels.

    Several labels of one example are separated by commas, or as in the training data; with --json they are a list.

    Predictions are written while DATA is read, in constant memory. There is one output line per record; a record that
    --on-error skip leaves out has an empty label. For a folder of texts, the file name follows each label.
    """
    from perceptrons.inspection.evaluation import is_calibrated

    data = options.data or []
    check_output(options.output, options.model, *data)
    model = load_model(options.model, instead="predict")
    if options.probabilities and not is_calibrated(model):
        raise BadInputError(
            f"{options.model}: the model is not calibrated, so its scores are not probabilities. Train it with "
            "--probabilities sigmoid, or use perceptrons.selection.calibrate in Python."
        )
    if not data:
        if sys.stdin is None or sys.stdin.isatty():
            raise BadInputError("perceptrons predict: DATA is missing: give a file, or pipe data into the command.")
        if options.format is None and getattr(model, "source_", None) is None:
            raise BadInputError(
                "perceptrons predict: DATA is missing: give a file, or pipe data into the command and give --format."
            )
        data = [STDIN]
    reader = opened(data, options, like=model, need_labels=False, prompt=STDIN in data)
    # the frames of an error hold the records, so they would keep the reader's thread and its file
    with _open_output(options.output) as out, closing(records_of(reader)) as records:
        columns = Columns(model, options.scores, options.probabilities)
        write_answers(model, records, out, columns, options.json, _names_files(reader), options.top)
    say_skipped(reader)


@contextmanager
def _open_output(path: Path | None) -> Iterator[IO[str]]:
    """Yield the file for the predictions."""
    if path is None:
        yield sys.stdout
        return
    with refusing_to_open(path), path.open("w", encoding="utf-8") as file:
        yield file


def records_of(
    reader: "Reader",
) -> Generator[tuple[Any, Any, list[tuple[int, "Skipped"]], list[str] | None], None, None]:
    """Yield the features of the blocks, their lines if known, and the records that were skipped.

    Each of these has the number of examples before it. For folders also the names of the files, one for each example.
    """
    from perceptrons.data.table import HasPlaces

    outcomes = reader.with_skipped()
    while True:
        with refusing_data():
            outcome = next(outcomes, None)
        if outcome is None:
            return
        block, skipped = outcome
        positions = [0] * len(skipped)
        if block is not None and block.lines is not None:
            positions = block.lines.searchsorted([record.line for record in skipped]).tolist()
        names = None
        if block is not None and block.lines is not None and isinstance(block.path, HasPlaces):
            names = [block.path.place(line, 1) for line in block.lines.tolist()]
        X, lines = (None, None) if block is None else (block.X, None if names else block.lines)
        yield X, lines, list(zip(positions, skipped, strict=True)), names


def _names_files(reader: "Reader") -> bool:
    """Are there folders, whose examples are files?"""
    from perceptrons.data.table import HasPlaces

    return any(isinstance(path, HasPlaces) for path in reader.files)


class Columns:
    """The columns beside the labels: scores, probabilities, both or none."""

    def __init__(self, model: "AnyModel", scores: bool, probabilities: bool):
        from perceptrons.inspection.evaluation import several_labels

        self.model, self.scores, self.probabilities = model, scores, probabilities
        classes = model.classes_.tolist()
        self._all = [str(label) for label in classes]
        self._scored = self._all if len(classes) > 2 or several_labels(model) else self._all[-1:]
        label_texts = [label_word(label) for label in classes]
        scored = label_texts[-len(self._scored) :] if scores else []
        self.heading = [f"score of {word}" for word in scored]
        self.heading += [f"probability of {word}" for word in label_texts] if probabilities else []

    def of(self, points: "np.ndarray") -> tuple[list[Any], list[Any], list[list[float]]]:
        """Return scores and probabilities by class for every row (None if they are not shown), and both as lists."""
        from perceptrons.inspection import evaluation

        scored: list[Any] = [None] * len(points)
        probable, listed = scored, list[list[float]]([] for _ in scored)
        if self.scores:
            rows = points.reshape(len(points), -1).tolist()
            scored = [dict(zip(self._scored, row, strict=True)) for row in rows]
            listed = rows
        shares = evaluation.probabilities(self.model, points) if self.probabilities else None
        if shares is not None:
            probable = [dict(zip(self._all, row, strict=True)) for row in shares.tolist()]
            listed = [[*row, *more] for row, more in zip(listed, shares.tolist(), strict=True)]
        return scored, probable, listed


def write_answers(
    model: "AnyModel", records: Iterable[Any], out: IO[str], columns: Columns, as_json: bool, files: bool = False,
    top: int | None = None,
) -> None:  # fmt: skip
    """Write a line for every record, in order, as soon as it is known.

    A record that was skipped has an empty label. In JSON all lines have the same keys: label, scores and probabilities
    (null unless asked for), line and file (null where there are none) and error (null unless the record was skipped).
    files: has each record the name of a file? top: this many labels with the highest scores, not those predicted.
    """
    from perceptrons.inspection.evaluation import columns_matched, several_labels, winners

    classes = model.classes_.tolist()
    label_texts = [label_word(label) for label in classes]
    is_multilabel, separator = several_labels(model), _separator(model)
    if top is not None and len(classes) < 3 and not is_multilabel:
        raise BadInputError(f"--top {top}: the model has only two classes: use --scores instead.")
    if columns.heading and not as_json:
        out.write("\t".join(["label", *columns.heading, *["file"] * files]) + "\n")
        out.flush()
    for X, places, skipped, names in records:
        lines: list[str] = []
        if X is not None:
            with columns_matched(), refusing(ValueError):
                points = model.decision_function(X)
            labels = _numbers(winners(model, points), is_multilabel) if top is None else _best(points, top)
            scored, probable, rows = columns.of(points)
            if as_json:
                listed = is_multilabel or top is not None
                named = [[classes[k] for k in label] if listed else classes[label] for label in labels]
                none = [None] * len(named)
                numbers = none if places is None else places.tolist()
                lines = list(map(_json_line, named, scored, probable, numbers, names or none))
            elif is_multilabel or top is not None:
                lines = [separator.join(label_texts[k] for k in label) for label in labels]
            else:
                lines = [label_texts[k] for k in labels]
            if columns.heading and not as_json:
                pairs = zip(lines, rows, strict=True)
                lines = ["\t".join([text, *(f"{point:.6g}" for point in row)]) for text, row in pairs]
            if names is not None and not as_json:
                lines = [f"{line}\t{label_word(name)}" for line, name in zip(lines, names, strict=True)]
        output_lines, n_done = list[str](), 0
        for position, record in skipped:
            output_lines += [*lines[n_done:position], _skipped(record, len(columns.heading), as_json)]
            n_done = position
        out.write("\n".join([*output_lines, *lines[n_done:]]) + "\n")
        out.flush()


def _separator(model: "AnyModel") -> str:
    """Return the text between several labels: the same as in the training data."""
    return (getattr(model, "source_", None) or {}).get("label_separator") or ","


def _numbers(won: "np.ndarray", several: bool) -> list[Any]:
    """The numbers of the labels predicted for each example."""
    return [flags.nonzero()[0].tolist() for flags in won] if several else won.tolist()


def _best(points: "np.ndarray", top: int) -> list[Any]:
    """The numbers of the labels with the highest scores, the highest first."""
    return (-points).argsort(axis=1, kind="stable")[:, :top].tolist()


def _skipped(one: "Skipped", n_columns: int, as_json: bool) -> str:
    """The line for a record that was skipped: all that there is to say is empty, but the name of its file."""
    from perceptrons.data.table import HasPlaces

    name = one.path.place(one.line, 1) if isinstance(one.path, HasPlaces) else None
    if as_json:
        return _json_line(None, None, None, None if name else one.line, name, one.message)
    return "\t" * n_columns + ("" if name is None else f"\t{label_word(name)}")


def _json_line(
    label: Any, scores: Any, probabilities: Any, line: int | None, file: str | None, error: str | None = None
) -> str:
    content = {"label": label, "scores": scores, "probabilities": probabilities}
    content |= {"line": line, "file": file, "error": error}
    return as_text.dumps(content, allow_nan=False)
