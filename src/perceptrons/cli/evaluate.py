"""`perceptrons evaluate`: how good a model is on labelled data."""

from typing import TYPE_CHECKING, Any

from perceptrons.cli.files import json_paths, load_model, measured_blocks, no_examples_error, opened, say_skipped
from perceptrons.cli.options import EvaluateOptions, command
from perceptrons.cli.screen import (
    PROBABILITY_METRICS,
    RANKING_METRICS,
    BadInputError,
    capitalized,
    count,
    grid,
    heading,
    listed,
    percent,
    plain,
    print_result,
)

if TYPE_CHECKING:
    from perceptrons.cli.consoles import Screen
    from perceptrons.inspection.evaluation import LabelQuality, Quality

MAX_CLASSES_SHOWN = 20  # of more, the tables show the worst
LABEL_METRICS = ("balanced_accuracy", "f1", "matthews")


@command
def evaluate(options: EvaluateOptions) -> None:
    """Compare the predictions for DATA with its labels: accuracy, precision, recall, F1 and confusion matrix.

    For several labels per example, it shows micro and macro F1, Hamming loss, subset accuracy and precision at k.

    Data of any size are read block by block, in the same way as for training.
    """
    from perceptrons.inspection.evaluation import several_labels

    data = options.data
    model = load_model(options.model, instead="evaluate")
    reader = opened(data, options, like=model)
    quality = measured_blocks(model, reader)
    say_skipped(reader)
    if quality is None:
        raise no_examples_error(reader.files[0])
    if several_labels(model):
        if quality.n_unknown:
            refuse_strange(quality, reader.files[0], "label of the model", "--label-column")
    else:
        name = ", ".join(str(path) for path in data[:3]) + ", ..." * (len(data) > 3)
        refuse_strange(quality, name, "class of the model", "--label-column")
    about = {"model": str(options.model), "data": json_paths(data)}
    skipped = {"skipped": reader.skipped, "complaints": reader.complaints, "notices": reader.notices}
    show = show_sets if several_labels(model) else show_quality
    print_result(
        options, lambda: about | to_dict(quality, model.threshold_) | skipped, lambda console: show(quality, console)
    )


def to_dict(quality: "Quality | LabelQuality", threshold: float | None) -> dict[str, Any]:
    """Return everything, for JSON."""
    from perceptrons.inspection.evaluation import LabelQuality

    content = {"examples": quality.total, "right": quality.right, **quality.metrics(), "threshold": threshold}
    labels = {"by_class": quality.by_class(), "labels": quality.labels, "unknown_labels": quality.unknown}
    if isinstance(quality, LabelQuality):
        return content | labels
    curve = None
    if quality.reliability is not None:
        names = ("probability", "share", "examples")
        curve = [dict(zip(names, point, strict=True)) for point in quality.reliability.curve()]
    share = {"reliability": curve, "commonest_class_share": quality.commonest[1]}
    return content | share | labels | {"confusion": quality.confusion.tolist()}


def show_quality(quality: "Quality", console: "Screen") -> None:
    """Print the quality of a model whose examples have one label."""
    from perceptrons.inspection.evaluation import (
        describe_accuracy,
        describe_metrics,
        is_no_better_than_majority,
        unranked,
    )

    console.print(f"Accuracy {percent(quality.accuracy)} ({describe_accuracy(quality)})")
    if is_no_better_than_majority([quality]):
        label = plain(str(quality.commonest[0]), 30)
        console.warn(
            f"This is no better than always predicting {label}. Look at the columns of the training data (perceptrons "
            "look), or train with --class-weight balanced or --kernel rbf."
        )
    of_classes = " (one-vs-rest, the mean of the classes)" * (quality.n_known > 2)
    for names, note in ((LABEL_METRICS, ""), (RANKING_METRICS, of_classes), (PROBABILITY_METRICS, "")):
        if metrics := describe_metrics(quality, *names):
            console.print(f"{capitalized(metrics)}{note}")
    if quality.too_many:
        console.print(unranked(quality))
    if quality.n_unknown:
        strange = f"{count(quality.n_unknown, 'example')} with labels that the model does not know"
        console.print(f"{strange}: {listed(quality.unknown, 5)}")
    show_classes(quality, console)
    show_confusion(quality, console)


def show_sets(quality: "LabelQuality", console: "Screen") -> None:
    """Print the quality of a model whose examples may have several labels."""
    from perceptrons.inspection.evaluation import LABEL_SET_METRICS, PRECISIONS_AT_K, describe_metrics

    console.print(capitalized(describe_metrics(quality, *LABEL_SET_METRICS)))
    if ranking_metrics := describe_metrics(quality, *PRECISIONS_AT_K):
        console.print(capitalized(ranking_metrics))
    per_example = f"{quality.n_labels / quality.total:.2f} per example"
    console.print(f"{count(quality.total, 'example')}, {count(quality.n_labels, 'label')}, {per_example}")
    if quality.n_unknown:
        unknown = f"{count(quality.n_unknown, 'label')} that the model does not know"
        console.print(f"{unknown}: {listed(quality.unknown, 5)}")
    show_classes(quality, console, "label")


def refuse_strange(quality: "Quality | LabelQuality", about: object, thing: str, option: str) -> None:
    """Refuse data none of whose labels the model knows: it would be the wrong column."""
    if quality.n_unknown == getattr(quality, "n_labels", quality.total):
        classes = listed(quality.labels[: quality.n_known], 3)
        raise BadInputError(
            f"{about}: none of its labels ({listed(quality.unknown, 3)}) is a {thing} ({classes}): "
            f"name the right column with {option}, or correct the labels."
        )


def show_classes(quality: "Quality | LabelQuality", console: "Screen", thing: str = "class") -> None:
    """Print precision, recall, F1 and count; of very many classes those with the lowest F1. thing: class or label."""
    rows = quality.by_class()
    title = f"By {thing}"
    if len(rows) > MAX_CLASSES_SHOWN:
        present = [row for row in rows if row["count"]]
        rows = sorted(present, key=lambda row: (row["f1"] or 0.0, -row["count"]))[:MAX_CLASSES_SHOWN]
        title = f"By {thing}: the {MAX_CLASSES_SHOWN} of {len(quality.labels)} with the lowest F1 (use --json for all)"
    table = grid(thing, ">precision", ">recall", ">F1", ">count")
    for row in rows:
        shares = ["-" if row[name] is None else percent(row[name]) for name in ("precision", "recall", "f1")]
        table.row(plain(row["class"]), *shares, f"{row['count']:,}")
    console.print(heading(title), table)


def show_confusion(quality: "Quality", console: "Screen", thing: str = "class") -> None:
    """Print the confusion matrix if it fits, else the most frequent confusions."""
    none = "." if console.options.ascii_only else "·"
    cells = [[f"{number:,}" if number else none for number in row] for row in quality.confusion.tolist()]
    for at_most in (28, 12, 6):
        labels = [plain(label, at_most) for label in quality.labels]
        widths = [2 + max(len(label), *(len(row[j]) for row in cells)) for j, label in enumerate(labels)]
        if len(labels) <= MAX_CLASSES_SHOWN and max(4, *map(len, labels)) + sum(widths) <= console.width:
            console.print(heading(f"Confusion matrix: true {thing} in rows, predicted {thing} in columns"))
            console.print(_matrix(labels, cells))
            return
    show_confusions(quality, console)


def show_confusions(quality: "Quality", console: "Screen", at_most: int = 10) -> None:
    """Print the most frequent confusions."""
    pairs = quality.confusions()
    rows = ((plain(true), plain(predicted), f"{times:,}") for true, predicted, times in pairs[:at_most])
    table = grid("true", "predicted as", ">times", rows=rows)
    kinds = count(len(pairs), "confusion")
    console.print(heading(f"The most frequent of {kinds}" if len(pairs) > at_most else f"All {kinds}"), table)


def _matrix(labels: list[str], cells: list[list[str]]) -> Any:
    from rich.text import Text

    table = grid("true", *[f">{label}" for label in labels])
    for k, row in enumerate(cells):
        styles = ["bold green" if k == j else "red" if cell[0].isdigit() else "dim" for j, cell in enumerate(row)]
        table.row(labels[k], *(Text(cell, style) for cell, style in zip(row, styles, strict=True)))
    return table
