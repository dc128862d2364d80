"""`perceptrons evaluate`: how good a model is on labelled data."""

from perceptrons.cli import options
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import load_model, read_for, scored, several_labels, winners
from perceptrons.cli.quality import beside, measure, show_classes, show_confusion
from perceptrons.cli.screen import as_json, count, listed, percent, screen


def evaluate(
    model: options.Model,
    data: options.Data,
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    json: options.Json = False,
) -> None:
    """Compare the predictions for DATA with its labels: accuracy, precision, recall and F1 by class, confusions."""
    fitted = load_model(model, instead="evaluate")
    if several_labels(fitted):
        raise BadInputError(
            f"{model}: gives an example any number of labels, and {data} can hold only one for each: "
            "evaluate it in Python, with score or scikit-learn's metrics."
        )
    table = read_for(fitted, data, format, label_column, need_labels=True)
    quality = measure(fitted.classes_, table.y, winners(fitted, scored(fitted, table.X)))
    unknown = quality.labels[quality.known :]
    strange = int(quality.confusion[quality.known :].sum())
    if strange == quality.total:
        raise BadInputError(
            f"{data}: none of its labels ({listed(unknown, 3)}) is a class of the model "
            f"({listed(quality.labels[: quality.known], 3)}): name the right column with --label-column."
        )
    if json:
        content = {
            "model": str(model), "data": str(data), "examples": quality.total, "right": quality.right,
            "accuracy": quality.accuracy, "commonest_class_share": quality.commonest[1], "by_class": quality.by_class(),
            "labels": quality.labels, "unknown_labels": unknown, "confusion": quality.confusion.tolist(),
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
