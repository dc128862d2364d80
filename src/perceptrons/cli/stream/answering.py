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
    from perceptrons.data.reader import Block, Reader


def blocks_of(reader: "Reader") -> Iterator["Block"]:
    """The reader's blocks; errors become refusals."""
    blocks = iter(reader)
    while True:
        with refusing_stream():
            block = next(blocks, None)
        if block is None:
            return
        yield block


def matrices_of(reader: "Reader") -> Iterator[Any]:
    """The features of the blocks."""
    return (block.X for block in blocks_of(reader))


def write_answers(model: "AnyModel", matrices: Iterable[Any], out: IO[str], scores: bool, as_json: bool) -> None:
    """A line for every example, in order; what is there is written out before more is waited for."""
    classes = model.classes_.tolist()
    words = [label_word(label) for label in classes]
    several = several_labels(model)
    with_score = classes if len(classes) > 2 or several else classes[-1:]
    if scores and not as_json:
        out.write("\t".join(["label", *(f"score of {label_word(label)}" for label in with_score)]) + "\n")
        out.flush()
    for X in matrices:
        points = scored(model, X)
        won = winners(model, points)
        labels = [flags.nonzero()[0].tolist() for flags in won] if several else won.tolist()
        rows = points.reshape(len(labels), -1).tolist() if scores else []
        if as_json:
            out.writelines(_json_lines(classes, labels, with_score, rows))
        else:
            texts = [",".join(words[k] for k in label) for label in labels] if several else [words[k] for k in labels]
            if scores:
                pairs = zip(texts, rows, strict=True)
                texts = ["\t".join([text, *(f"{point:.6g}" for point in row)]) for text, row in pairs]
            out.write("\n".join(texts) + "\n")
        out.flush()


def _json_lines(classes: list[Any], labels: list[Any], with_score: list[Any], rows: list[Any]) -> Iterator[str]:
    for place, label in enumerate(labels):
        content: dict[str, Any] = {"label": [classes[k] for k in label] if isinstance(label, list) else classes[label]}
        if rows:
            content["scores"] = {str(name): point for name, point in zip(with_score, rows[place], strict=True)}
        yield json.dumps(content, allow_nan=False) + "\n"


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
