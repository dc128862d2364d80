"""The results of `perceptrons train`, as text and as JSON, the same for every way to train."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from perceptrons.cli.files import is_kernel
from perceptrons.cli.first_visits import show_visits
from perceptrons.cli.folds import folds_for_machines, folds_in_words
from perceptrons.cli.inputs import skipped_in_words
from perceptrons.cli.options import CLUSTERS, LINEAR_ONLY, OF_KERNELS, RULE, STOPPING
from perceptrons.cli.screen import bar, count, grid, heading, listed, percent, plain, show_rows, show_suggestions
from perceptrons.cli.threshold import in_words as threshold_in_words
from perceptrons.data.bundled import SIDE
from perceptrons.engine.wording import apart, n_predictions, settings, shown_epochs, why_it_stopped
from perceptrons.inspection.audit import hashing_audit, hashing_in_words
from perceptrons.inspection.evaluation import Quality, beside, is_no_better_than_majority, metrics_in_words, unranked
from perceptrons.inspection.kernel_summary import kernel_in_words, support_in_words, support_names
from perceptrons.inspection.label_quality import BEST, SHOWN, LabelQuality, sets_in_words
from perceptrons.inspection.metrics import METRICS
from perceptrons.inspection.names import names_in_files
from perceptrons.inspection.weights import rows_of
from perceptrons.modelfile.summary import calibration_in_words, most_important, training_facts

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons import SequencePerceptron
    from perceptrons.cli.files import AnyModel

ROWS = 12  # lines at most of important weights
COMPLAINTS = 3  # shown to people
CROWDED = 0.1  # of the features; if more share a column, more columns may help
SHADES = " ░▒▓█"
DRAWN = (0, 3, 4, 6, 7, 2, 9, 5, 8, 1)  # the digits whose weights look most like them first
GAP = 3  # between two pictures
MANY, HARDLY = 50, 0.9  # epochs, and the part of the mistakes, from which more epochs are not worth trying
OF_TRAIN = (
    *RULE, *STOPPING, *CLUSTERS, *OF_KERNELS, "from_model", "test", "test_share", "time_order", "folds", "metric",
    "threshold", "probabilities", "classes", "in_memory", "no_shuffle", "no_intercept", "seed",
)  # fmt: skip
UNEQUAL = 0.75  # share of the commonest class from which weights of classes are worth trying
SOMETIMES = (  # keys of JSON that are null where they say nothing: linear models, kernels, clusters
    "margin", "n_nonzero", "hashing", "weights", "kernel", "gamma", "n_support", "support", "scheduler", "workers",
    "shards", "mixing", "bound",
)  # fmt: skip
COUNTED = {"mistakes": "weighted by their mistakes", "uniform": "weighted equally"}


@dataclass
class Run:
    """A finished training.

    how: "whole", "stream" or "cluster". split: the sizes of the training and the test set, in words. warnings: about
    the test set. train, test: how good the model is on what it learned from (None: not
    measured) and on what it did not. scaler: the one to advise. again: the command that learns so once more, without
    some options. folds: how good models like it are on each fold, and the metric to show of them. threshold: how it was
    chosen, if it was. trace: of the first visits, if they are to be shown.
    """

    model: "AnyModel"
    name: str
    data: Any
    how: str
    why: str
    seconds: float
    reader: Any
    split: str = ""
    warnings: Sequence[str] = ()
    train: Quality | LabelQuality | None = None
    test: Quality | LabelQuality | None = None
    test_reader: Any = None
    lines: np.ndarray | None = None
    scaler: str | None = None
    output: Path | None = None
    checkpoint: Any = None
    example: str | None = None
    again: Callable[..., str] = lambda *without: ""
    cluster: dict[str, Any] = field(default_factory=dict)
    folds: list[Quality] = field(default_factory=list)
    metric: str = "accuracy"
    threshold: Any = None
    trace: Any = None

    @property
    def progress(self) -> list[dict[str, Any]]:
        """Mistakes of the first epoch, each example predicted before it was learned from.

        The error is the share of wrong predictions; with several binary problems, each makes one for every example.
        """
        first = self.model.history_[0]
        marks = getattr(self.model, "progress_", None) or [(first["examples"], first["mistakes"])]
        k = n_predictions(self.model)
        return [{"examples": n, "mistakes": wrong, "error": wrong / (k * n) if n else 0.0} for n, wrong in marks]


def summary(run: Run) -> dict[str, Any]:
    """Everything as JSON knows it."""
    model, progress = run.model, run.progress
    rows = rows_of(model)
    hashing = {} if is_kernel(model) else {"hashing": hashing_audit(model, rows, 10)}
    test_skipped = 0 if run.test_reader is None else run.test_reader.skipped
    tested = dict.fromkeys(METRICS) if run.test is None else run.test.metrics()
    told = {
        "data": run.data,
        "how": run.how,
        "why_so": run.why,
        "model": None if run.output is None else str(run.output),
        "checkpoint": None if run.checkpoint is None else str(run.checkpoint.path),
        "resumed": run.checkpoint is not None and run.checkpoint.resumed,
        **training_facts(model),
        "examples": model.history_[0]["examples"],
        "test_examples": 0 if run.test is None else run.test.total,
        "history": model.history_,
        "progressive": progress,
        "progressive_error": progress[-1]["error"],
        "skipped": run.reader.skipped,
        "complaints": run.reader.complaints,
        "notices": run.reader.notices,
        "test_skipped": test_skipped,
        "train_accuracy": None if run.train is None else run.train.accuracy,
        **{f"test_{name}": value for name, value in tested.items()},
        "threshold_by": None if run.threshold is None else run.threshold._asdict(),
        "warnings": list(run.warnings),
        "folds": folds_for_machines(run.folds),
        **hashing,
        **most_important(model, rows, 10, run.lines),
        **run.cluster,
        "trace": None if run.trace is None else run.trace.to_dict(),
        "seconds": run.seconds,
    }
    return told | dict.fromkeys(name for name in SOMETIMES if name not in told)


def show(run: Run, console: "Console") -> None:
    """The report for people."""
    model = run.model
    classes = model.classes_.tolist()
    if run.how == "whole":
        size = f"{count(model.n_features_in_, 'feature')}, {count(len(classes), 'class', 'classes')}"
        console.print(f"{run.name}: {size}\n{run.split}", markup=False)
    for notice in run.reader.notices:
        console.print(f"{notice[0].upper()}{notice[1:]}.", markup=False, soft_wrap=True)
    if changed := settings(model):
        console.print(f"Settings: {changed}", markup=False)
    if is_kernel(model):
        console.print(f"Kernel: {kernel_in_words(model)}", markup=False)
    if run.trace is not None:
        show_visits(run.trace, console)
    if run.how == "whole" or (run.how == "stream" and model.n_iter_ > 1):
        console.print(heading(f"Mistakes during training{apart(model)}"), mistakes(model, console))
    console.print(f"\n{stopped(model, run.seconds)}", markup=False)
    if run.cluster:
        show_cluster(run.cluster, console)
    if is_kernel(model):
        console.print(f"It has {support_in_words(model, model.history_[0]['examples'])}.")
    _show_features(run, console)
    if run.how != "whole":
        last = run.progress[-1]
        n, k = last["examples"], n_predictions(model)
        wrong = f"{last['mistakes']:,} of {n:,} predicted wrongly before learning from them"
        if k > 1:
            wrong = f"{last['mistakes']:,} of {n * k:,} predictions were wrong, each made before learning{apart(model)}"
        console.print(f"Progressive error {percent(last['error'], 2)} ({wrong})", markup=False)
    show_skipped(run.reader, console)
    if model.threshold_ is not None:
        console.print(threshold_in_words(model, run.threshold), markup=False)
    if (told := calibration_in_words(model)) is not None:
        console.print(f"Probabilities {told}", markup=False)
    if run.folds:
        console.print(folds_in_words(run.folds, run.metric, console.options.ascii_only), markup=False, style="bold")
    if isinstance(run.test, LabelQuality):
        _show_sets("Test", run.test, console)
    elif run.test is not None:
        console.print(f"Test accuracy {percent(run.test.accuracy)} ({beside(run.test)})", markup=False, style="bold")
        if told := metrics_in_words(run.test, "roc_auc", "average_precision", "balanced_accuracy"):
            console.print(f"Test {told}", markup=False)
        if told := metrics_in_words(run.test, "log_loss", "brier_score", "calibration_error"):
            console.print(f"Test {told}", markup=False)
        if run.test.too_many:
            console.print(unranked(run.test), markup=False)
        if run.test.n_unknown:
            console.print(_unknown(run.test), markup=False, style="yellow")
    if run.how == "stream" and run.split:
        console.print(run.split, markup=False)
    for warning in run.warnings:
        console.print(warning, style="yellow", markup=False)
    if run.test is not None and run.test_reader is not None:
        for notice in run.test_reader.notices:
            if notice not in run.reader.notices:
                console.print(f"{run.test_reader.files[0]}: {notice}", style="yellow", markup=False, soft_wrap=True)
        show_skipped(run.test_reader, console)
    if isinstance(run.train, LabelQuality):
        _show_sets("Training", run.train, console)
    elif run.train is not None:
        compared = beside(run.train) if run.test is None else f"{run.train.right:,} of {run.train.total:,}"
        console.print(f"Training accuracy {percent(run.train.accuracy)} ({compared})", markup=False)
    if majority := _majority(run):
        label, _ = majority
        console.print(
            f"This is no better than always predicting {plain(str(label), 30)}. What to try next is below.",
            style="yellow", markup=False,
        )  # fmt: skip
    (_show_support if is_kernel(model) else _show_weights)(run, console)
    if run.output is not None:
        console.print(f"\nSaved as {run.output}", markup=False, soft_wrap=True)
    show_suggestions(suggestions(run), console)


def _unknown(quality: "Quality") -> str:
    """About test examples whose labels the training set does not have."""
    examples = count(quality.n_unknown, "test example has a label", "test examples have labels")
    return f"{examples} that the training set does not have (counted as wrong): {listed(quality.unknown, 5)}"


def _show_sets(of: str, quality: LabelQuality, console: "Console") -> None:
    """How good the model is where examples may have several labels."""
    labels = f"{count(quality.n_labels, 'label')} of {count(quality.total, 'example')}"
    told = f"{of} {sets_in_words(quality, *SHOWN)} ({labels})"
    console.print(told, markup=False, style="bold" if of == "Test" else None)
    if of == "Test" and (best := sets_in_words(quality, *BEST)):
        console.print(f"Test {best}", markup=False)


def stopped(model: "AnyModel | SequencePerceptron", seconds: float) -> str:
    """After how long, and why."""
    return f"Stopped after {count(model.n_iter_, 'epoch')} in {seconds:.2f} s. {why_it_stopped(model)}"


def show_cluster(told: dict[str, Any], console: "Console") -> None:
    """How many workers there were, how many shards, and how they were mixed."""
    shards = "1 shard"
    if told["shards"] > 1:
        shards = f"{count(told['shards'], 'shard')}, {COUNTED[told['mixing']]}"
    console.print(f"{count(told['workers'], 'worker')}, {shards}", markup=False)
    if told["bound"] is not None:
        console.print(told["bound"]["why"], markup=False)


def _show_features(run: Run, console: "Console") -> None:
    model = run.model
    hashing = hashing_audit(model, rows_of(model, mirrored=False), 10)
    if run.how == "whole" and hashing is None:
        return
    features = count(model.n_features_in_, "feature") if hashing is None else hashing_in_words(hashing)
    classes = model.classes_.tolist()
    console.print(f"{features[0].upper()}{features[1:]}; {len(classes)} classes: {listed(classes, 6)}", markup=False)


def mistakes(model: "AnyModel | SequencePerceptron", console: "Console") -> Any:
    """A bar per epoch, and its updates if they are others; of very many epochs the first, some, and the last."""
    rows = model.history_
    validated = rows[0]["validation_accuracy"] is not None
    updates = any(row["updates"] != row["mistakes"] for row in rows)
    by_phrases = "validation_phrase_f1" in rows[0]
    more = [("updates", "right")] * updates + [("held-out accuracy", "right")] * validated
    more += [("phrase F1", "right")] * by_phrases
    table = grid(("epoch", "right"), ("mistakes", "right"), ("", "left"), *more)
    longest = max(8, min(32, console.width - 18 - 28 * validated - 15 * by_phrases - 9 * updates))
    most = max(1, *(row["mistakes"] for row in rows))
    for place in shown_epochs(len(rows)):
        row = rows[place]
        cells = [f"{row['epoch']}", f"{row['mistakes']:,}", bar(row["mistakes"] / most, longest, console)]
        if updates:
            cells.append(f"{row['updates']:,}")
        if validated:
            cells.append(percent(row["validation_accuracy"]))
        if by_phrases:
            cells.append(percent(row["validation_phrase_f1"], 2))
        table.row(*cells)
    return table


def show_skipped(reader: Any, console: "Console") -> None:
    """How many records were skipped, if any, with the first reasons."""
    if reader.skipped:
        console.print(f"{skipped_in_words(reader)}", style="yellow", markup=False, soft_wrap=True)
        for complaint in reader.complaints[1:COMPLAINTS]:
            console.print(f"    {complaint}", style="yellow", markup=False, soft_wrap=True)


def _show_weights(run: Run, console: "Console") -> None:
    model = run.model
    rows = rows_of(model, mirrored=False)
    title = {"class": " of each class", "pair": " of each pair: weights above 0 are for its second class"}[
        rows[0].thing
    ]
    console.print(heading("Most important weights" + title * (len(rows) > 1)))
    show_rows(rows, names_in_files(model), 6 if len(rows) == 1 else 3, ROWS, console)
    picture = pictures(model, console) if run.data == "digits" else None
    if picture is not None:
        console.print(heading("Weights as pictures: shaded pixels are evidence for the digit, dots against it"))
        console.print(picture)
    if run.scaler is not None:
        console.print(
            "The features differ widely in scale, so their weights cannot be compared. Scaling may also improve "
            "accuracy.",
            style="yellow",
        )


def pictures(model: "AnyModel", console: "Console") -> Text | None:
    """The weights of some digits as pictures, side by side; None where there are no shades, or no weights a class."""
    rows = rows_of(model)
    if console.options.ascii_only or rows[0].thing != "class":
        return None
    shown = sorted(DRAWN[: max(1, (console.width + GAP) // (2 * SIDE + GAP))])
    text = Text((" " * GAP).join(f"{k:<{2 * SIDE}}" for k in shown).rstrip(), style="dim")
    weights = np.array([row.weights for row in rows]).reshape(-1, SIDE, SIDE)
    strength = weights / np.maximum(np.abs(weights).max(axis=(1, 2), keepdims=True), 1e-300)
    for row in range(SIDE):
        text.append("\n")
        for k in shown:
            for share in strength[k, row]:
                mark = SHADES[int(np.ceil(4 * share))] if share > 0.1 else "·" if share < -0.1 else " "
                text.append(mark * 2, style="green" if share > 0 else "red")
            text.append(" " * GAP * (k != shown[-1]))
    return text


def _show_support(run: Run, console: "Console") -> None:
    model = run.model
    assert is_kernel(model)
    rows, names = rows_of(model, mirrored=False), support_names(model, run.lines)
    console.print(heading("Support vectors with the largest coefficients" + " of each class" * (len(rows) > 1)))
    show_rows(rows, names, 6 if len(rows) == 1 else 3, ROWS, console, ("example", "coefficient"))
    if model.kernel != "cosine" and run.scaler is not None:
        console.print(
            "The features differ widely in scale, and the largest ones dominate the kernel: scale them first.",
            style="yellow",
        )


def suggestions(run: Run) -> list[tuple[str, str]]:
    """At most three commands that make sense after this run, each with its reason."""
    model, found = run.model, []
    if run.output is None:
        found.append(
            (f"{run.again()} -o {_file_name(run)}", "save the model, to use it with predict, evaluate and inspect")
        )
    elif run.data == "digits":
        found.append(
            (f"perceptrons inspect {shlex.quote(str(run.output))} --class 3", "show all weights of the digit 3")
        )
    else:
        saved = shlex.quote(str(run.output))
        new = 'echo "win a free prize" | perceptrons predict {} -' if run.example else "perceptrons predict {} NEW-DATA"
        found.append((new.format(saved), "predict one label per line; - reads what you type or pipe into it"))
        more = "support vectors" if is_kernel(model) else "weights"
        found.append((f"perceptrons inspect {saved} --top 20", f"show more {more}"))
    found += _better_settings(run)
    if run.test is None and run.how != "whole":
        found.append((f"{run.again('test_share')} --test FILE", "test it on examples it has not seen"))
    if run.data == "digits":
        found.append(("perceptrons train YOUR.csv", "train on your own table, with the label in its last column"))
    return found[:3]


def _majority(run: Run) -> tuple[Any, float] | None:
    """The commonest class and its share, if always predicting it would be as accurate as the model."""
    measured: list[Any] = [run.test] if run.test is not None else [*run.folds] or [run.train]
    qualities = [quality for quality in measured if isinstance(quality, Quality)]
    return qualities[0].commonest if qualities and is_no_better_than_majority(qualities) else None


def _better_features(run: Run, share: float) -> list[tuple[str, str]]:
    """What to try where a model is no better than always predicting the commonest class. share: of that class."""
    if share >= UNEQUAL and run.model.class_weight is None and run.how == "whole":
        found = [(f"{run.again()} --class-weight balanced", "give examples of rare classes more weight")]
    elif run.how == "whole" and not is_kernel(run.model):
        found = [(_with_kernel(run), "try a curved decision boundary")]
    else:
        found = []
    if run.data == "digits" or run.example is not None:
        return found
    look = run.again(*OF_TRAIN).replace("perceptrons train", "perceptrons look", 1)
    why = "see what is in the columns; text or names are read with --text-column NAME --chars 1-4"
    return [(look, why), *found]


def _better_settings(run: Run) -> list[tuple[str, str]]:
    model, train, test = run.model, run.train, run.test
    hashing = hashing_audit(model, rows_of(model, mirrored=False), 10)
    if hashing and hashing["features_sharing"] > CROWDED * hashing["features"]:
        more = min(31, hashing["bits"] + 2)
        return [(f"{run.again('hash_bits')} --hash-bits {more}", "many features share a column: use more columns")]
    is_perfect = train is not None and round(train.accuracy, 3) == 1.0  # shown as 100.0%
    is_unfinished = model.stop_reason_ == "max_iter" and not is_perfect
    if is_unfinished and not is_kernel(model) and more_epochs_are_vain(model.mistakes_):
        return _curved(run)
    majority = _majority(run)
    features = _better_features(run, majority[1]) if majority else []
    if is_unfinished:
        option = "epochs" if run.again() != run.again("epochs") else "max_iter"
        longer = f"{run.again(option)} --{option.replace('_', '-')} {2 * model.n_iter_}"
        return [*features[:1], (longer, "the weights were still changing: train for more epochs")]
    if features:
        return features
    if train and test and train.accuracy - test.accuracy > 0.03 and not (model.early_stopping or test.n_unknown):
        why = "it fits the training set better than the test set (overfitting): stop earlier"
        return [(f"{run.again()} --early-stopping", why)]
    if model.combine == "average":
        final = "coefficients" if is_kernel(model) else "weights"
        return [
            (f"{run.again('combine')} --combine last", f"see what averaging is good for: use only the last {final}")
        ]
    return []


def more_epochs_are_vain(mistakes: np.ndarray) -> bool:
    """Has the best epoch of the second half hardly fewer mistakes than that of the first, after many epochs?"""
    half = len(mistakes) // 2
    return len(mistakes) >= MANY and mistakes[half:].min() > HARDLY * mistakes[:half].min()


def _curved(run: Run) -> list[tuple[str, str]]:
    """What to do where no straight boundary gets better: prove it, and bend the boundary."""
    asked = run.again(*OF_TRAIN).replace("perceptrons train", "perceptrons diagnose", 1)
    found = [(asked, "prove whether a hyperplane can separate the classes")]
    if run.how == "whole":
        found.append((_with_kernel(run), "more epochs did not help: try a curved decision boundary"))
    return found


def _with_kernel(run: Run) -> str:
    """The command that trains on the same data with a kernel."""
    again = run.again(*LINEAR_ONLY, "combine", "multiclass", "max_iter", "epochs", "no_intercept", "from_model")
    return f"{again} --kernel rbf"


def _file_name(run: Run) -> str:
    first = Path(run.name).name.split(".")[0] if run.data != "digits" else "digits"
    return shlex.quote(f"{run.example or first.strip('<>') or 'new'}.model")
