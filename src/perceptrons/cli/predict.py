"""`perceptrons predict`: one label per line, fit for pipes; scores if wanted."""

import json as as_text
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing, refusing_data, refusing_to_open
from perceptrons.cli.files import check_output, load_model
from perceptrons.cli.inputs import STDIN, opened, say_skipped
from perceptrons.cli.options import READING, takes
from perceptrons.cli.screen import label_word

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel
    from perceptrons.data.reader import Reader
    from perceptrons.data.table import Skipped


@takes("model", "data", "scores", "output:answers", *READING, "json:lines")
def predict(asked: Any) -> None:
    """Print the class of every example in DATA, one per line; several labels with commas. DATA needs no labels.

    Lines are answered as they come, in constant memory. There is one output line for each record; one that --on-error
    skip leaves out has an empty label.
    """
    data = asked.data or []
    check_output(asked.output, asked.model, *data)
    model = load_model(asked.model, instead="predict")
    if not data:
        if sys.stdin is None or sys.stdin.isatty():
            raise BadInputError("perceptrons predict: DATA is missing: give a file, or pipe something into it.")
        if asked.format is None and getattr(model, "source_", None) is None:
            raise BadInputError("perceptrons predict: DATA is missing: give a file, or pipe some in and give --format.")
        data = [STDIN]
    reader = opened(data, asked, like=model, need_labels=False, prompt=STDIN in data)
    with _written(asked.output) as out:
        write_answers(model, records_of(reader), out, asked.scores, asked.json)
    say_skipped(reader)


@contextmanager
def _written(path: Path | None) -> Iterator[IO[str]]:
    """Where answers go."""
    if path is None:
        yield sys.stdout
        return
    with refusing_to_open(path), path.open("w", encoding="utf-8") as file:
        yield file


def records_of(reader: "Reader") -> Iterator[tuple[Any, Any, list[tuple[int, "Skipped"]]]]:
    """The features of the blocks, their lines if known, and the records that were skipped.

    Each of these has the number of examples before it.
    """
    outcomes = reader.with_skipped()
    while True:
        with refusing_data():
            outcome = next(outcomes, None)
        if outcome is None:
            return
        block, skipped = outcome
        before = [0] * len(skipped)
        if block is not None and block.lines is not None:
            before = block.lines.searchsorted([one.line for one in skipped]).tolist()
        X, lines = (None, None) if block is None else (block.X, block.lines)
        yield X, lines, list(zip(before, skipped, strict=True))


def write_answers(model: "AnyModel", records: Iterable[Any], out: IO[str], scores: bool, as_json: bool) -> None:
    """A line for every record, in order; what is there is written out before more is waited for.

    A record that was skipped has an empty label. In JSON all lines have the same keys: label, scores (null unless asked
    for), line (null where there are none) and error (null unless the record was skipped).
    """
    from perceptrons.inspection.evaluation import columns_matched, several_labels, winners

    classes = model.classes_.tolist()
    words = [label_word(label) for label in classes]
    several = several_labels(model)
    with_score = classes if len(classes) > 2 or several else classes[-1:]
    if scores and not as_json:
        out.write("\t".join(["label", *(f"score of {label_word(label)}" for label in with_score)]) + "\n")
        out.flush()
    for X, places, skipped in records:
        lines: list[str] = []
        if X is not None:
            with columns_matched(), refusing(ValueError):
                points = model.decision_function(X)
            won = winners(model, points)
            labels = [flags.nonzero()[0].tolist() for flags in won] if several else won.tolist()
            rows = points.reshape(len(labels), -1).tolist() if scores else []
            if as_json:
                named = [[classes[k] for k in label] if several else classes[label] for label in labels]
                numbers = [None] * len(named) if places is None else places.tolist()
                keys = [str(label) for label in with_score]
                scored: list[Any] = [dict(zip(keys, row, strict=True)) for row in rows] or [None] * len(named)
                lines = list(map(_json_line, named, scored, numbers))
            elif several:
                lines = [",".join(words[k] for k in label) for label in labels]
            else:
                lines = [words[k] for k in labels]
            if scores and not as_json:
                pairs = zip(lines, rows, strict=True)
                lines = ["\t".join([text, *(f"{point:.6g}" for point in row)]) for text, row in pairs]
        written, done = list[str](), 0
        for before, one in skipped:
            said = _json_line(None, None, one.line, one.why) if as_json else "\t" * len(with_score) * scores
            written += [*lines[done:before], said]
            done = before
        out.write("\n".join([*written, *lines[done:]]) + "\n")
        out.flush()


def _json_line(label: Any, scores: dict[str, float] | None, line: int | None, error: str | None = None) -> str:
    return as_text.dumps({"label": label, "scores": scores, "line": line, "error": error}, allow_nan=False)
