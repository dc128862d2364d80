"""`perceptrons predict`: prints one label per line, suitable for pipes, with scores on request."""

import json
import sys
from collections.abc import Generator, Iterable
from contextlib import ExitStack, closing
from typing import IO, Any, NamedTuple

from perceptrons.cli import files
from perceptrons.cli.files import STDIN, AnyModel, refusing, refusing_data
from perceptrons.cli.messages import BadInputError, label_word
from perceptrons.cli.options import PredictOptions
from perceptrons.data.reader import Reader
from perceptrons.data.table import HasPlaces, Skipped
from perceptrons.inspection.evaluation import columns_matched, is_calibrated, probabilities, several_labels, winners


def predict(options: PredictOptions) -> None:
    """Run `perceptrons predict`."""
    data = options.data or []
    files.check_output(options.output, options.model, *data)
    model = files.load_model(options.model, instead="predict")
    if options.probabilities and not is_calibrated(model):
        raise BadInputError(
            f"{options.model}: the model is not calibrated, so its scores are not probabilities. Train it with "
            "--probabilities sigmoid, or use perceptrons.selection.calibrate in Python."
        )
    if not data:
        missing = "perceptrons predict: DATA is missing: give a file, or pipe data into the command"
        if sys.stdin is None or sys.stdin.isatty():
            raise BadInputError(f"{missing}.")
        if options.format is None and getattr(model, "source_", None) is None:
            raise BadInputError(f"{missing} and give --format.")
        data = [STDIN]
    reader = files.open_data(data, options, like=model, need_labels=False, prompt=STDIN in data)
    # the frames of an error hold the records, so they would keep the reader's thread and its file
    with ExitStack() as stack, closing(records_of(reader)) as records:
        out: IO[str] = sys.stdout
        if options.output is not None:
            stack.enter_context(files.refusing_to_open(options.output))
            out = stack.enter_context(options.output.open("w", encoding="utf-8"))
        has_names = any(isinstance(path, HasPlaces) for path in reader.files)
        write_predictions(model, records, out, options, has_names)
    files.say_skipped(reader)


class Records(NamedTuple):
    """A block of examples, and the records that were skipped in it, each with the number of examples before it.

    lines and names: of the examples, if they are known; of folders, the names of the files alone.
    """

    X: Any
    lines: list[int] | None
    names: list[str] | None
    skipped: list[tuple[int, Skipped]]


def records_of(reader: Reader) -> Generator[Records, None, None]:
    """Yield the records of a reader, block by block."""
    outcomes = reader.with_skipped()
    while True:
        with refusing_data():
            outcome = next(outcomes, None)
        if outcome is None:
            return
        block, skipped = outcome
        if block is None or block.lines is None:
            yield Records(None if block is None else block.X, None, None, [(0, record) for record in skipped])
            continue
        positions = block.lines.searchsorted([record.line for record in skipped]).tolist()
        lines, path = block.lines.tolist(), block.path
        names = [path.place(line, 1) for line in lines] if isinstance(path, HasPlaces) else None
        yield Records(block.X, lines if names is None else None, names, list(zip(positions, skipped, strict=True)))


def write_predictions(
    model: AnyModel, blocks: Iterable[Records], out: IO[str], options: PredictOptions, has_names: bool
) -> None:
    """Write a line for every record, in order, as soon as it is known. has_names: for a folder, whose files have names.

    A record that was skipped has an empty label. In JSON all lines have the same keys: label, scores and probabilities
    (null unless asked for), line and file (null where there are none) and error (null unless the record was skipped).
    """
    classes, is_multilabel, top = model.classes_.tolist(), several_labels(model), options.top
    words = [label_word(label) for label in classes]
    separator = (getattr(model, "source_", None) or {}).get("label_separator") or ","  # as in the training data
    first_scored = 0 if len(classes) > 2 or is_multilabel else len(classes) - 1
    titles = [f"score of {word}" for word in words[first_scored:]] if options.scores else []
    titles += [f"probability of {word}" for word in words] if options.probabilities else []
    if top is not None and len(classes) < 3 and not is_multilabel:
        raise BadInputError(f"--top {top}: the model has only two classes: use --scores instead.")
    if titles and not options.json:
        out.write("\t".join(["label", *titles, *["file"] * has_names]) + "\n")
        out.flush()

    def lines_of(block: Records) -> list[str]:
        with columns_matched(), refusing(ValueError):
            points = model.decision_function(block.X)
        labels: list[list[int]]  # the numbers of the labels of each example
        if top is not None:
            labels = (-points).argsort(axis=1, kind="stable")[:, :top].tolist()  # the highest scores, in order
        elif is_multilabel:
            labels = [flags.nonzero()[0].tolist() for flags in winners(model, points)]
        else:
            labels = [[label] for label in winners(model, points).tolist()]
        calibrated = probabilities(model, points) if options.probabilities else None
        scores = points.reshape(len(points), -1).tolist() if options.scores else None
        columns = ((classes[first_scored:], scores), (classes, None if calibrated is None else calibrated.tolist()))
        nothing: list[Any] = [None] * len(labels)
        if options.json:
            has_lists = is_multilabel or top is not None
            named = [[classes[k] for k in ks] if has_lists else classes[ks[0]] for ks in labels]
            by_class = (
                nothing if rows is None else [dict(zip(map(str, titled), row, strict=True)) for row in rows]
                for titled, rows in columns
            )
            return list(map(_json_line, named, *by_class, block.lines or nothing, block.names or nothing))
        lines = [separator.join(words[k] for k in ks) for ks in labels]
        for _, rows in columns:
            if rows is not None:
                pairs = zip(lines, rows, strict=True)
                lines = ["\t".join([line, *(f"{value:.6g}" for value in row)]) for line, row in pairs]
        if block.names is not None:
            lines = [f"{line}\t{label_word(name)}" for line, name in zip(lines, block.names, strict=True)]
        return lines

    for block in blocks:
        lines = [] if block.X is None else lines_of(block)
        output_lines, n_done = list[str](), 0
        for position, record in block.skipped:
            output_lines += [*lines[n_done:position], _skipped_line(record, len(titles), options.json)]
            n_done = position
        out.write("\n".join([*output_lines, *lines[n_done:]]) + "\n")
        out.flush()


def _skipped_line(record: Skipped, n_columns: int, as_json: bool) -> str:
    """Return the line for a record that was skipped: empty except for the name of its file."""
    name = record.path.place(record.line, 1) if isinstance(record.path, HasPlaces) else None
    if as_json:
        return _json_line(None, None, None, None if name else record.line, name, record.message)
    return "\t" * n_columns + ("" if name is None else f"\t{label_word(name)}")


def _json_line(
    label: Any, scores: Any, probabilities: Any, line: int | None, file: str | None, error: str | None = None
) -> str:
    content = {"label": label, "scores": scores, "probabilities": probabilities}
    return json.dumps(content | {"line": line, "file": file, "error": error}, allow_nan=False)
