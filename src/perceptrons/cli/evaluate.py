"""`perceptrons evaluate`: how good a model is on labelled data."""

from rich.text import Text

from perceptrons.cli.files import json_paths, load_model, measured_blocks, no_examples_error, open_data, say_skipped
from perceptrons.cli.messages import BadInputError, plain
from perceptrons.cli.options import EvaluateOptions
from perceptrons.cli.screen import Grid, Screen, capitalized, grid, heading, print_result
from perceptrons.engine.wording import count, in_percent, listed
from perceptrons.inspection.evaluation import (
    LABEL_SET_METRICS,
    PRECISIONS_AT_K,
    LabelQuality,
    Quality,
    describe_accuracy,
    describe_metrics,
    is_no_better_than_majority,
    unranked,
)

MAX_CLASSES_SHOWN = 20  # of more, the tables show the worst
MAX_CONFUSIONS_SHOWN = 10
LABEL_METRICS = ("balanced_accuracy", "f1", "matthews")
RANKING_METRICS = ("roc_auc", "average_precision")
PROBABILITY_METRICS = ("log_loss", "brier_score", "calibration_error")


def evaluate(options: EvaluateOptions) -> None:
    """Run `perceptrons evaluate`."""
    data = options.data
    model = load_model(options.model, instead="evaluate")
    reader = open_data(data, options, like=model)
    quality = measured_blocks(model, reader)
    say_skipped(reader)
    if quality is None:
        raise no_examples_error(reader.files[0])
    if isinstance(quality, LabelQuality):
        if quality.n_unknown:
            refuse_strange(quality, reader.files[0], "label of the model", "--label-column")
    else:
        name = ", ".join(str(path) for path in data[:3]) + ", ..." * (len(data) > 3)
        refuse_strange(quality, name, "class of the model", "--label-column")
    about = {"model": str(options.model), "data": json_paths(data)}
    skipped = {"skipped": reader.skipped, "complaints": reader.complaints, "notices": reader.notices}
    print_result(
        options,
        lambda: about | quality.to_dict() | {"threshold": model.threshold_} | skipped,
        lambda console: show_quality(quality, console),
    )


def refuse_strange(quality: Quality | LabelQuality, about: object, thing: str, option: str) -> None:
    """Refuse data none of whose labels the model knows: it would be the wrong column."""
    if quality.n_unknown == getattr(quality, "n_labels", quality.total):
        classes = listed(quality.labels[: quality.n_known], 3)
        raise BadInputError(
            f"{about}: none of its labels ({listed(quality.unknown, 3)}) is a {thing} ({classes}): "
            f"name the right column with {option}, or correct the labels."
        )


def show_quality(quality: Quality | LabelQuality, console: Screen) -> None:
    """Print the quality of a model."""
    if isinstance(quality, LabelQuality):
        thing, unknown = "label", f"{count(quality.n_unknown, 'label')} that the model does not know"
        metrics = [(LABEL_SET_METRICS, ""), (PRECISIONS_AT_K, "")]
    else:
        thing, unknown = "class", f"{count(quality.n_unknown, 'example')} with labels that the model does not know"
        of_classes = " (one-vs-rest, the mean of the classes)" * (quality.n_known > 2)
        metrics = [(LABEL_METRICS, ""), (RANKING_METRICS, of_classes), (PROBABILITY_METRICS, "")]
        console.print(f"Accuracy {in_percent(quality.accuracy)} ({describe_accuracy(quality)})")
        if is_no_better_than_majority([quality]):
            console.warn(
                f"This is no better than always predicting {plain(quality.commonest[0], 30)}. Look at the columns of "
                "the training data (perceptrons look), or train with --class-weight balanced or --kernel rbf."
            )
    for names, note in metrics:
        if text := describe_metrics(quality, *names):
            console.print(f"{capitalized(text)}{note}")
    if isinstance(quality, LabelQuality):
        per_example = f"{quality.n_labels / quality.total:.2f} per example"
        console.print(f"{count(quality.total, 'example')}, {count(quality.n_labels, 'label')}, {per_example}")
    elif quality.too_many:
        console.print(unranked(quality))
    if quality.n_unknown:
        console.print(f"{unknown}: {listed(quality.unknown, 5)}")
    show_classes(quality, console, thing)
    if isinstance(quality, Quality):
        show_confusion(quality, console)


def show_classes(quality: Quality | LabelQuality, console: Screen, thing: str) -> None:
    """Print precision, recall, F1 and count; of very many classes those with the lowest F1. thing: class or label."""
    rows = quality.by_class()
    title = f"By {thing}"
    if len(rows) > MAX_CLASSES_SHOWN:
        present = [row for row in rows if row["count"]]
        rows = sorted(present, key=lambda row: (row["f1"] or 0.0, -row["count"]))[:MAX_CLASSES_SHOWN]
        title = f"By {thing}: the {MAX_CLASSES_SHOWN} of {len(quality.labels)} with the lowest F1 (use --json for all)"
    table = grid(thing, ">precision", ">recall", ">F1", ">count")
    for row in rows:
        values = ["-" if row[name] is None else in_percent(row[name]) for name in ("precision", "recall", "f1")]
        table.row(plain(row["class"]), *values, f"{row['count']:,}")
    console.print(heading(title), table)


def show_confusion(quality: Quality, console: Screen, thing: str = "class") -> None:
    """Print the confusion matrix if it fits, else the most frequent confusions."""
    zero = "." if console.is_ascii else "·"
    cells = [[f"{number:,}" if number else zero for number in row] for row in quality.confusion.tolist()]
    for max_length in (28, 12, 6):
        labels = [plain(label, max_length) for label in quality.labels]
        widths = [2 + max(len(label), *(len(row[j]) for row in cells)) for j, label in enumerate(labels)]
        if len(labels) <= MAX_CLASSES_SHOWN and max(4, *map(len, labels)) + sum(widths) <= console.width:
            console.print(heading(f"Confusion matrix: true {thing} in rows, predicted {thing} in columns"))
            console.print(_matrix(labels, cells))
            return
    show_confusions(quality, console)


def show_confusions(quality: Quality, console: Screen) -> None:
    """Print the most frequent confusions."""
    pairs = quality.confusions()
    rows = ((plain(true), plain(predicted), f"{n:,}") for true, predicted, n in pairs[:MAX_CONFUSIONS_SHOWN])
    table, kinds = grid("true", "predicted as", ">times", rows=rows), count(len(pairs), "confusion")
    title = f"The most frequent of {kinds}" if len(pairs) > MAX_CONFUSIONS_SHOWN else f"All {kinds}"
    console.print(heading(title), table)


def _matrix(labels: list[str], cells: list[list[str]]) -> Grid:
    table = grid("true", *[f">{label}" for label in labels])
    for k, row in enumerate(cells):
        styles = ["bold green" if k == j else "red" if cell[0].isdigit() else "dim" for j, cell in enumerate(row)]
        table.row(labels[k], *(Text(cell, style) for cell, style in zip(row, styles, strict=True)))
    return table
