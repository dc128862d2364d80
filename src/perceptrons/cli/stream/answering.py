"""What a model answers to a stream, block by block, at constant memory: lines of labels, or a count of right ones."""

import json
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import scored, several_labels, winners
from perceptrons.cli.quality import Quality, Tally
from perceptrons.cli.screen import label_word
from perceptrons.cli.stream.reading import refusing_stream

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel
    from perceptrons.data.block import Block, Skipped
    from perceptrons.data.reader import Reader


def blocks_of(reader: "Reader") -> Iterator["Block"]:
    """The reader's blocks; errors become refusals."""
    blocks = iter(reader)
    while True:
        with refusing_stream():
            block = next(blocks, None)
        if block is None:
            return
        yield block


def records_of(reader: "Reader") -> Iterator[tuple[Any, list[tuple[int, "Skipped"]]]]:
    """The features of the blocks, and the records that were skipped, each with the number of examples before it."""
    outcomes = reader.with_skipped()
    while True:
        with refusing_stream():
            outcome = next(outcomes, None)
        if outcome is None:
            return
        block, skipped = outcome
        before = [0] * len(skipped)
        if block is not None and block.lines is not None:
            before = block.lines.searchsorted([one.line for one in skipped]).tolist()
        yield None if block is None else block.X, list(zip(before, skipped, strict=True))


def write_answers(model: "AnyModel", records: Iterable[Any], out: IO[str], scores: bool, as_json: bool) -> None:
    """A line for every record, in order; what is there is written out before more is waited for.

    A record that was skipped has an empty label, in JSON its line and the reason.
    """
    classes = model.classes_.tolist()
    words = [label_word(label) for label in classes]
    several = several_labels(model)
    with_score = classes if len(classes) > 2 or several else classes[-1:]
    if scores and not as_json:
        out.write("\t".join(["label", *(f"score of {label_word(label)}" for label in with_score)]) + "\n")
        out.flush()
    for X, skipped in records:
        lines: list[str] = []
        if X is not None:
            points = scored(model, X)
            won = winners(model, points)
            labels = [flags.nonzero()[0].tolist() for flags in won] if several else won.tolist()
            rows = points.reshape(len(labels), -1).tolist() if scores else []
            if as_json:
                lines = list(_json_lines(classes, labels, with_score, rows))
            elif several:
                lines = [",".join(words[k] for k in label) for label in labels]
            else:
                lines = [words[k] for k in labels]
            if scores and not as_json:
                pairs = zip(lines, rows, strict=True)
                lines = ["\t".join([text, *(f"{point:.6g}" for point in row)]) for text, row in pairs]
        written, done = list[str](), 0
        for before, one in skipped:
            written += [*lines[done:before], _json_of(one) if as_json else "\t" * len(with_score) * scores]
            done = before
        out.write("\n".join([*written, *lines[done:]]) + "\n")
        out.flush()


def _json_of(skipped: "Skipped") -> str:
    return json.dumps({"label": None, "line": skipped.line, "error": skipped.why}, allow_nan=False)


def _json_lines(classes: list[Any], labels: list[Any], with_score: list[Any], rows: list[Any]) -> Iterator[str]:
    for place, label in enumerate(labels):
        content: dict[str, Any] = {"label": [classes[k] for k in label] if isinstance(label, list) else classes[label]}
        if rows:
            content["scores"] = {str(name): point for name, point in zip(with_score, rows[place], strict=True)}
        yield json.dumps(content, allow_nan=False)


def measure_stream(model: "AnyModel", reader: "Reader") -> Quality:
    """Compare a model's answers with the labels of a stream."""
    tally = Tally(model.classes_)
    for block in blocks_of(reader):
        assert block.codes is not None
        assert block.classes is not None
        tally.add(block.classes, block.codes, winners(model, scored(model, block.X)))
    quality = tally.quality()
    if not quality.total:
        raise BadInputError(f"{reader.files[0]}: there is no example in it: give a line for each.")
    return quality
