"""`perceptrons evaluate`: how good a model is on labelled data."""

from perceptrons.cli import options
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import load_model, predicted, read_for
from perceptrons.cli.quality import beside, measure, show_classes, show_confusion
from perceptrons.cli.screen import as_json, count, percent, plain, screen


def evaluate(
    model: options.Model,
    data: options.Data,
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    json: options.Json = False,
) -> None:
    """Compare the predictions for DATA with its labels: accuracy, precision, recall and F1 by class, confusions."""
    fitted = load_model(model)
    table = read_for(fitted, data, format, label_column, need_labels=True)
    quality = measure(fitted.classes_, table.y, predicted(fitted, table.X))
    unknown = quality.labels[quality.known :]
    strange = int(quality.confusion[quality.known :].sum())
    if strange == quality.total:
        theirs, ours = (
            ", ".join(plain(label) for label in some[:3]) for some in (unknown, quality.labels[: quality.known])
        )
        raise BadInputError(
            f"{data}: none of its labels ({theirs}, ...) is a class of the model ({ours}, ...): "
            "name the right column with --label-column."
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
        names = ", ".join(plain(label) for label in unknown[:5]) + (" ..." if len(unknown) > 5 else "")
        console.print(f"{count(strange, 'example')} with labels that the model does not know: {names}", markup=False)
    show_classes(quality, console)
    show_confusion(quality, console)
