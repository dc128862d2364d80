"""`perceptrons evaluate`: how good a model is on labelled data."""

from typing import Any

from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import load_model, several_labels
from perceptrons.cli.inputs import blocks_of, for_machines, opened, say_skipped
from perceptrons.cli.options import READING, takes
from perceptrons.cli.quality import beside, show_classes, show_confusion
from perceptrons.cli.screen import as_json, count, listed, percent, screen
from perceptrons.cli.train import measured_blocks


@takes("model", "files", *READING, "json")
def evaluate(asked: Any) -> None:
    """Compare the predictions for DATA with its labels: accuracy, precision, recall and F1 by class, confusions.

    Data of any size are read block by block, in the way the model learned.
    """
    data = asked.files
    model = load_model(asked.model, instead="evaluate")
    name = ", ".join(str(path) for path in data[:3]) + ", ..." * (len(data) > 3)
    if several_labels(model):
        raise BadInputError(
            f"{asked.model}: gives an example any number of labels, and {name} can hold only one for each: "
            "evaluate it in Python, with score or scikit-learn's metrics."
        )
    reader = opened(data, asked, like=model)
    quality = measured_blocks(model, blocks_of(reader))
    say_skipped(reader)
    if quality is None:
        raise BadInputError(f"{reader.files[0]}: there is no example in it: give a line for each.")
    unknown = quality.labels[quality.known :]
    strange = int(quality.confusion[quality.known :].sum())
    if strange == quality.total:
        raise BadInputError(
            f"{name}: none of its labels ({listed(unknown, 3)}) is a class of the model "
            f"({listed(quality.labels[: quality.known], 3)}): name the right column with --label-column."
        )
    if asked.json:
        content = {
            "model": str(asked.model), "data": for_machines(data),
            "examples": quality.total, "right": quality.right,
            "accuracy": quality.accuracy, "commonest_class_share": quality.commonest[1], "by_class": quality.by_class(),
            "labels": quality.labels, "unknown_labels": unknown, "confusion": quality.confusion.tolist(),
            "skipped": reader.skipped, "complaints": reader.complaints, "notices": reader.notices,
        }  # fmt: skip
        print(as_json(content), end="")
        return
    console = screen()
    console.print(f"Accuracy {percent(quality.accuracy)} ({beside(quality)})", markup=False)
    if strange:
        console.print(
            f"{count(strange, 'example')} with labels that the model does not know: {listed(unknown, 5)}", markup=False
        )
    show_classes(quality, console)
    show_confusion(quality, console)
