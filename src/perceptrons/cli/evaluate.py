"""`perceptrons evaluate`: how good a model is on labelled data."""

from typing import TYPE_CHECKING

from perceptrons.cli import options
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import load_model, read_for, scored, several_labels, winners
from perceptrons.cli.quality import Quality, Tally, beside, show_classes, show_confusion
from perceptrons.cli.screen import as_json, count, listed, percent, screen

if TYPE_CHECKING:
    from pathlib import Path

    from perceptrons.cli.files import AnyModel


def evaluate(
    model: options.Model,
    data: options.Files,
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    text_column: options.TextColumn = None,
    on_error: options.OnError = None,
    json: options.Json = False,
) -> None:
    """Compare the predictions for DATA with its labels: accuracy, precision, recall and F1 by class, confusions.

    A model that learned from a stream reads data of any size, block by block, in the way it learned.
    """
    from perceptrons.cli.stream.answering import measure_stream
    from perceptrons.cli.stream.reading import Reading, refuse_skipping, say_skipped, stream_for

    fitted = load_model(model, instead="evaluate")
    name = ", ".join(str(path) for path in data[:3]) + ", ..." * (len(data) > 3)
    if several_labels(fitted):
        raise BadInputError(
            f"{model}: gives an example any number of labels, and {name} can hold only one for each: "
            "evaluate it in Python, with score or scikit-learn's metrics."
        )
    reader = stream_for(fitted, data, Reading(format, True, label_column, text_column, skip=on_error == "skip"))
    if reader is None:
        refuse_skipping(on_error)
        quality = _measure_whole(fitted, data, format, label_column)
    else:
        quality = measure_stream(fitted, reader)
        say_skipped(reader)
    unknown = quality.labels[quality.known :]
    strange = int(quality.confusion[quality.known :].sum())
    if strange == quality.total:
        raise BadInputError(
            f"{name}: none of its labels ({listed(unknown, 3)}) is a class of the model "
            f"({listed(quality.labels[: quality.known], 3)}): name the right column with --label-column."
        )
    if json:
        content = {
            "model": str(model), "data": str(data[0]) if len(data) == 1 else [str(path) for path in data],
            "examples": quality.total, "right": quality.right,
            "accuracy": quality.accuracy, "commonest_class_share": quality.commonest[1], "by_class": quality.by_class(),
            "labels": quality.labels, "unknown_labels": unknown, "confusion": quality.confusion.tolist(),
        }  # fmt: skip
        if reader is not None:
            content |= {"skipped": reader.skipped, "complaints": reader.complaints, "notices": reader.notices}
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


def _measure_whole(
    model: "AnyModel", data: list["Path"], format: options.DataFormat | None, label_column: str | None
) -> Quality:
    import numpy as np

    from perceptrons.cli.stream.reading import whole_files

    tally = Tally(model.classes_)
    for path in whole_files(data):
        table = read_for(model, path, format, label_column, need_labels=True)
        assert table.y is not None
        tally.add(*np.unique(table.y, return_inverse=True), winners(model, scored(model, table.X)))
    return tally.quality()
