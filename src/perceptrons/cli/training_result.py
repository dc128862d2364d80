"""The results of `perceptrons train`, as text and as JSON, the same for every way to train."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich.text import Text

from perceptrons.cli.evaluate import PROBABILITY_METRICS, RANKING_METRICS
from perceptrons.cli.files import AnyModel, describe_skipped, json_paths
from perceptrons.cli.messages import plain
from perceptrons.cli.models import describe_threshold
from perceptrons.cli.options import LINEAR_ONLY, READING, REPEATED_BY_TRAIN, TrainOptions, command_text
from perceptrons.cli.progress import ReportedCheckpoint
from perceptrons.cli.screen import Grid, Screen, capitalized, grid, heading, show_rows
from perceptrons.data.bundled import SIDE
from perceptrons.engine.wording import (
    apart,
    count,
    in_percent,
    listed,
    n_predictions,
    settings,
    shown_epochs,
    why_it_stopped,
)
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
from perceptrons.inspection.metrics import METRICS, format_metric
from perceptrons.inspection.summary import (
    describe_calibration,
    describe_following,
    describe_hashing,
    describe_kernel,
    describe_support,
    training_facts,
)
from perceptrons.inspection.weights import hashing_audit, most_important, names_in_files, rows_of, support_names
from perceptrons.kernel import KernelPerceptron
from perceptrons.sequence import SequencePerceptron
from perceptrons.theory import Trace

if TYPE_CHECKING:
    from perceptrons.selection import Threshold

MAX_ROWS = 12  # of important weights
MAX_COMPLAINTS = 3  # shown to people
CROWDED = 0.1  # of the features; if more share a column, more columns may help
SHADES = " ░▒▓█"
DRAWN_DIGITS = (0, 3, 4, 6, 7, 2, 9, 5, 8, 1)  # those whose weights look most like them first
GAP = 3  # characters between two pictures
MIN_EPOCHS_TO_JUDGE, MIN_PROGRESS = 50, 0.9  # more epochs are not worth trying if mistakes stay above this part
UNEQUAL = 0.75  # share of the commonest class from which weights of classes are worth trying
OPTIONAL_KEYS = (  # keys of JSON that are null where they say nothing: linear models, kernels, clusters
    "margin", "n_nonzero", "hashing", "weights", "kernel", "gamma", "n_support", "support", "scheduler", "workers",
    "shards", "mixing", "bound",
)  # fmt: skip
MIXING = {"mistakes": "weighted by their mistakes", "uniform": "weighted equally"}

Suggestion = tuple[str, str]  # a command, and the reason to run it


@dataclass
class TrainingResult:
    """A finished training: everything that its text and its JSON say.

    split: the sizes of the training and test sets, in words. warnings: about the test set. train, test: the quality on
    these sets; None if it was not measured. scaler: the one to advise. threshold: how it was chosen. trace: the first
    visits.
    """

    model: AnyModel
    options: TrainOptions
    name: str
    how: Literal["whole", "stream", "cluster"]
    reason: str
    seconds: float
    reader: Any
    split: str = ""
    warnings: Sequence[str] = ()
    train: Quality | LabelQuality | None = None
    test: Quality | LabelQuality | None = None
    test_reader: Any = None
    lines: np.ndarray | None = None
    scaler: str | None = None
    checkpoint: ReportedCheckpoint | None = None
    cluster: dict[str, Any] = field(default_factory=dict)
    folds: list[Quality] = field(default_factory=list)
    threshold: "Threshold | None" = None
    trace: Trace | None = None

    # ---- numbers

    @property
    def data(self) -> str | list[str]:
        """Files, or the name of data that come with the package."""
        return json_paths(self.options.data) if self.options.data else self.options.example or "digits"

    @cached_property
    def hashing(self) -> dict[str, Any] | None:
        """How many features share a column; None if they are not hashed."""
        return hashing_audit(self.model, rows_of(self.model, mirrored=False), 10)

    @property
    def progress(self) -> list[dict[str, Any]]:
        """Mistakes of the first epoch, each example predicted before it was learned from.

        The error is the share of wrong predictions; with several binary problems, each makes one for every example.
        """
        first = self.model.history_[0]
        marks = getattr(self.model, "progress_", None) or [(first["examples"], first["mistakes"])]
        k = n_predictions(self.model)
        return [{"examples": n, "mistakes": wrong, "error": wrong / (k * n) if n else 0.0} for n, wrong in marks]

    @property
    def majority(self) -> tuple[Any, float] | None:
        """The commonest class and its share, if always predicting it would be as accurate as the model."""
        measured: list[Any] = [self.test] if self.test is not None else [*self.folds] or [self.train]
        qualities = [quality for quality in measured if isinstance(quality, Quality)]
        return qualities[0].commonest if qualities and is_no_better_than_majority(qualities) else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        model, progress = self.model, self.progress
        rows = rows_of(model)
        tested = dict.fromkeys(METRICS) if self.test is None else self.test.metrics()
        content = {
            "data": self.data,
            "how": self.how,
            "why_so": self.reason,
            "model": None if self.options.output is None else str(self.options.output),
            "checkpoint": None if self.checkpoint is None else str(self.checkpoint.path),
            "resumed": self.checkpoint is not None and self.checkpoint.resumed,
            **training_facts(model),
            "examples": model.history_[0]["examples"],
            "test_examples": 0 if self.test is None else self.test.total,
            "history": model.history_,
            "progressive": progress,
            "progressive_error": progress[-1]["error"],
            "skipped": self.reader.skipped,
            "complaints": self.reader.complaints,
            "notices": self.reader.notices,
            "test_skipped": 0 if self.test_reader is None else self.test_reader.skipped,
            "train_accuracy": None if self.train is None else self.train.accuracy,
            **{f"test_{name}": value for name, value in tested.items()},
            "threshold_by": None if self.threshold is None else self.threshold._asdict(),
            "warnings": list(self.warnings),
            "folds": [{"examples": quality.total, **quality.metrics()} for quality in self.folds],
            **({} if isinstance(model, KernelPerceptron) else {"hashing": hashing_audit(model, rows, 10)}),
            **most_important(model, rows, 10, self.lines),
            **self.cluster,
            "trace": None if self.trace is None else self.trace.to_dict(),
            "seconds": self.seconds,
        }
        return content | dict.fromkeys(name for name in OPTIONAL_KEYS if name not in content)

    # ---- text

    def show(self, console: Screen) -> None:
        """Print the result."""
        self._show_training(console)
        self._show_quality(console)
        (self._show_support if isinstance(self.model, KernelPerceptron) else self._show_weights)(console)
        console.show_saved(self.options.output)
        console.show_suggestions(self.suggestions())

    def _show_training(self, console: Screen) -> None:
        """Print the data, the settings, the mistakes by epoch, and why training stopped."""
        model = self.model
        if self.how == "whole":
            classes = count(len(model.classes_), "class", "classes")
            console.print(f"{self.name}: {count(model.n_features_in_, 'feature')}, {classes}\n{self.split}")
        for notice in self.reader.notices:
            console.print(f"{capitalized(notice)}.", soft_wrap=True)
        if changes := settings(model):
            console.print(f"Settings: {changes}")
        if isinstance(model, KernelPerceptron):
            console.print(f"Kernel: {describe_kernel(model)}")
        if self.trace is not None:
            n = len(self.trace)
            console.print(heading(f"The first {count(n, 'visit')}" if n > 1 else "The first visit"))
            console.print(str(self.trace), no_wrap=True, crop=False, overflow="ignore")
        if self.how == "whole" or (self.how == "stream" and model.n_iter_ > 1):
            console.print(heading(f"Mistakes during training{apart(model)}"), mistakes_table(model, console))
        console.print(f"\n{describe_stop(model, self.seconds)}")
        if self.cluster:
            show_cluster(self.cluster, console)
        if isinstance(model, KernelPerceptron):
            console.print(f"It has {describe_support(model, model.history_[0]['examples'])}.")
        if self.how != "whole" or self.hashing is not None:
            features = count(model.n_features_in_, "feature")
            features = features if self.hashing is None else describe_hashing(self.hashing)
            labels = model.classes_.tolist()
            console.print(f"{capitalized(features)}; {len(labels)} classes: {listed(labels, 6)}")
        if self.how != "whole":
            last, k = self.progress[-1], n_predictions(model)
            mistakes = f"{last['mistakes']:,} of {last['examples']:,} predicted wrongly before learning from them"
            if k > 1:
                of_all = f"{last['mistakes']:,} of {last['examples'] * k:,} predictions were wrong"
                mistakes = f"{of_all}, each made before learning{apart(model)}"
            console.print(f"Progressive error {in_percent(last['error'], 2)} ({mistakes})")
        show_skipped(self.reader, console)
        if model.threshold_ is not None:
            console.print(describe_threshold(model, self.threshold))
        if (following := describe_following(model)) is not None:
            console.print(f"Keeps learning: {following}", soft_wrap=True)
        if (calibration := describe_calibration(model)) is not None:
            console.print(f"Probabilities {calibration}")

    def _show_quality(self, console: Screen) -> None:
        """Print the quality on folds, on the test set and on the training set, with warnings."""
        test, train = self.test, self.train
        if self.folds:
            console.print(describe_folds(self.folds, self.options.metric, console), style="bold")
        if isinstance(test, LabelQuality):
            _show_sets("Test", test, console)
        elif test is not None:
            console.print(f"Test accuracy {in_percent(test.accuracy)} ({describe_accuracy(test)})", style="bold")
            for names in ((*RANKING_METRICS, "balanced_accuracy"), PROBABILITY_METRICS):
                if metrics := describe_metrics(test, *names):
                    console.print(f"Test {metrics}")
            if test.too_many:
                console.print(unranked(test))
            if test.n_unknown:
                examples = count(test.n_unknown, "test example has a label", "test examples have labels")
                known = "that the training set does not have (counted as wrong)"
                console.warn(f"{examples} {known}: {listed(test.unknown, 5)}")
        if self.how == "stream" and self.split:
            console.print(self.split)
        console.warn(*self.warnings)
        if test is not None and self.test_reader is not None:
            for notice in self.test_reader.notices:
                if notice not in self.reader.notices:
                    console.print(f"{self.test_reader.files[0]}: {notice}", style="yellow", soft_wrap=True)
            show_skipped(self.test_reader, console)
        if isinstance(train, LabelQuality):
            _show_sets("Training", train, console)
        elif train is not None:
            compared = describe_accuracy(train) if test is None else f"{train.right:,} of {train.total:,}"
            console.print(f"Training accuracy {in_percent(train.accuracy)} ({compared})")
        if self.majority:
            label = plain(self.majority[0], 30)
            console.warn(f"This is no better than always predicting {label}. What to try next is below.")

    def _show_weights(self, console: Screen) -> None:
        model, rows = self.model, rows_of(self.model, mirrored=False)
        by = {"class": " of each class", "pair": " of each pair: weights above 0 are for its second class"}
        console.print(heading("Most important weights" + by[rows[0].thing] * (len(rows) > 1)))
        show_rows(rows, names_in_files(model), 6 if len(rows) == 1 else 3, MAX_ROWS, console)
        if self.data == "digits" and (picture := pictures(model, console)) is not None:
            console.print(heading("Weights as pictures: shaded pixels are evidence for the digit, dots against it"))
            console.print(picture)
        if self.scaler is not None:
            console.warn(
                "The features differ widely in scale, so their weights cannot be compared. Scaling may also improve "
                "accuracy."
            )

    def _show_support(self, console: Screen) -> None:
        model, rows = self.model, rows_of(self.model, mirrored=False)
        assert isinstance(model, KernelPerceptron)
        names = support_names(model, self.lines)
        console.print(heading("Support vectors with the largest coefficients" + " of each class" * (len(rows) > 1)))
        show_rows(rows, names, 6 if len(rows) == 1 else 3, MAX_ROWS, console, ("example", "coefficient"))
        if model.kernel != "cosine" and self.scaler is not None:
            console.warn(
                "The features differ widely in scale, and the largest ones dominate the kernel: scale them first."
            )

    # ---- what to try next

    def suggestions(self) -> list[Suggestion]:
        """Return at most three commands that make sense after this run, each with its reason."""
        options, is_digits = self.options, self.data == "digits"
        saved = shlex.quote(str(options.output))
        if options.output is None:
            reason = "save the model, to use it with predict, evaluate and inspect"
            commands = [(f"{self._repeat()} -o {self._model_name()}", reason)]
        elif is_digits:
            commands = [(f"perceptrons inspect {saved} --class 3", "show all weights of the digit 3")]
        else:
            predict = f"perceptrons predict {saved}"
            predict = f'echo "win a free prize" | {predict} -' if options.example else f"{predict} NEW-DATA"
            more = "support vectors" if isinstance(self.model, KernelPerceptron) else "weights"
            commands = [
                (predict, "predict one label per line; - reads what you type or pipe into it"),
                (f"perceptrons inspect {saved} --top 20", f"show more {more}"),
            ]
        commands += self._better_settings()
        if self.test is None and self.how != "whole":
            commands.append((f"{self._repeat('test_share')} --test FILE", "test it on examples it has not seen"))
        if is_digits:
            commands.append(
                ("perceptrons train YOUR.csv", "train on your own table, with the label in its last column")
            )
        return commands[:3]

    def _repeat(self, *without: str) -> str:
        """Return the command that trains in the same way, without some options."""
        words = ["perceptrons", "train", *(self.options.data or [])]
        return command_text(words, self.options, REPEATED_BY_TRAIN, without)

    def _repeat_reading(self, command: str) -> str:
        """Return another command that reads the same data."""
        return command_text(["perceptrons", command, *(self.options.data or [])], self.options, READING)

    def _with_kernel(self, reason: str) -> list[Suggestion]:
        """Return the command that trains on the same data with a kernel, if there is none and data are in memory."""
        if self.how != "whole" or isinstance(self.model, KernelPerceptron):
            return []
        again = self._repeat(*LINEAR_ONLY, "combine", "multiclass", "max_iter", "epochs", "no_intercept", "from_model")
        return [(f"{again} --kernel rbf", reason)]

    def _model_name(self) -> str:
        first = Path(self.name).name.split(".")[0] if self.data != "digits" else "digits"
        return shlex.quote(f"{self.options.example or first.strip('<>') or 'new'}.model")

    def _better_features(self) -> list[Suggestion]:
        """Return what to try if a model is no better than always predicting the commonest class."""
        if self.majority is None:
            return []
        commands = []
        if self.data != "digits" and self.options.example is None:
            reason = "see what is in the columns; text or names are read with --text-column NAME --chars 1-4"
            commands.append((self._repeat_reading("look"), reason))
        if self.how == "whole" and self.majority[1] >= UNEQUAL and self.model.class_weight is None:
            reason = "give examples of rare classes more weight"
            return [*commands, (f"{self._repeat()} --class-weight balanced", reason)]
        return commands + self._with_kernel("try a curved decision boundary")

    def _better_settings(self) -> list[Suggestion]:
        model, train, test, hashing = self.model, self.train, self.test, self.hashing
        if hashing and hashing["features_sharing"] > CROWDED * hashing["features"]:
            more = f"{self._repeat('hash_bits')} --hash-bits {min(31, hashing['bits'] + 2)}"
            return [(more, "many features share a column: use more columns")]
        is_perfect = train is not None and round(train.accuracy, 3) == 1.0  # shown as 100.0%
        is_unfinished = model.stop_reason_ == "max_iter" and not is_perfect
        is_kernel = isinstance(model, KernelPerceptron)
        if is_unfinished and not is_kernel and more_epochs_are_vain(model.mistakes_):
            proof = (self._repeat_reading("diagnose"), "prove whether a hyperplane can separate the classes")
            kernel = self._with_kernel("more epochs did not help: try a curved decision boundary")
            return [proof] * bool(self.options.data) + kernel
        features = self._better_features()
        if is_unfinished:
            option = "epochs" if self.options.epochs is not None else "max_iter"
            longer = f"{self._repeat(option)} --{option.replace('_', '-')} {2 * model.n_iter_}"
            return [*features[:1], (longer, "the weights were still changing: train for more epochs")]
        if features:
            return features
        if train and test and train.accuracy - test.accuracy > 0.03 and not (model.early_stopping or test.n_unknown):
            reason = "it fits the training set better than the test set (overfitting): stop earlier"
            return [(f"{self._repeat()} --early-stopping", reason)]
        if model.combine != "average":
            return []
        reason = f"see what averaging is good for: use only the last {'coefficients' if is_kernel else 'weights'}"
        return [(f"{self._repeat('combine')} --combine last", reason)]


def more_epochs_are_vain(mistakes: np.ndarray) -> bool:
    """Return whether the second half of many epochs hardly reduced the mistakes."""
    half = len(mistakes) // 2
    return len(mistakes) >= MIN_EPOCHS_TO_JUDGE and mistakes[half:].min() > MIN_PROGRESS * mistakes[:half].min()


# ---- parts of the text, also of taggers


def describe_folds(folds: list[Quality], metric: str, console: Screen) -> str:
    """Return text such as "5 folds, mean ± standard deviation: accuracy 93.1% ± 1.2%, ROC AUC 0.981 ± 0.004"."""
    parts, plus_minus = [], "+-" if console.is_ascii else "±"
    for name in dict.fromkeys(["accuracy", metric]):
        values = [value for quality in folds if (value := quality.metrics()[name]) is not None]
        spread = "not defined on these folds"
        if len(values) > 1:
            spread = f"{format_metric(name, mean(values))} {plus_minus} {format_metric(name, stdev(values))}"
        parts.append(f"{METRICS[name].title} {spread}")
    return f"{len(folds)} folds, mean {plus_minus} standard deviation: {', '.join(parts)}"


def _show_sets(of: str, quality: LabelQuality, console: Screen) -> None:
    """Print the quality of a model whose examples may have several labels."""
    labels = f"{count(quality.n_labels, 'label')} of {count(quality.total, 'example')}"
    text = f"{of} {describe_metrics(quality, *LABEL_SET_METRICS)} ({labels})"
    console.print(text, style="bold" if of == "Test" else None)
    if of == "Test" and (best := describe_metrics(quality, *PRECISIONS_AT_K)):
        console.print(f"Test {best}")


def describe_stop(model: AnyModel | SequencePerceptron, seconds: float) -> str:
    """Return how long training took, and why it stopped."""
    return f"Stopped after {count(model.n_iter_, 'epoch')} in {seconds:.2f} s. {why_it_stopped(model)}"


def show_cluster(facts: dict[str, Any], console: Screen) -> None:
    """Print the numbers of workers and shards, and how these were mixed."""
    shards = "1 shard"
    if facts["shards"] > 1:
        shards = f"{count(facts['shards'], 'shard')}, {MIXING[facts['mixing']]}"
    console.print(f"{count(facts['workers'], 'worker')}, {shards}")
    if facts["bound"] is not None:
        console.print(facts["bound"]["why"])


def mistakes_table(model: AnyModel | SequencePerceptron, console: Screen) -> Grid:
    """Return a table of mistakes by epoch, with updates if they differ; of very many epochs some are left out."""
    rows = model.history_
    validated, by_phrases = rows[0]["validation_accuracy"] is not None, "validation_phrase_f1" in rows[0]
    updates = any(row["updates"] != row["mistakes"] for row in rows)
    titles = [">updates"] * updates + [">held-out accuracy"] * validated + [">phrase F1"] * by_phrases
    table = grid(">epoch", ">mistakes", "", *titles)
    longest = max(8, min(32, console.width - 18 - 28 * validated - 15 * by_phrases - 9 * updates))
    maximum = max(1, *(row["mistakes"] for row in rows))
    for row in (rows[epoch] for epoch in shown_epochs(len(rows))):
        cells = [f"{row['epoch']}", f"{row['mistakes']:,}", console.bar(row["mistakes"] / maximum, longest)]
        cells += [f"{row['updates']:,}"] * updates
        cells += [in_percent(row["validation_accuracy"])] if validated else []
        cells += [in_percent(row["validation_phrase_f1"], 2)] if by_phrases else []
        table.row(*cells)
    return table


def show_skipped(reader: Any, console: Screen) -> None:
    """Print how many records were skipped, if any, with the first reasons."""
    if reader.skipped:
        console.print(describe_skipped(reader), style="yellow", soft_wrap=True)
        for complaint in reader.complaints[1:MAX_COMPLAINTS]:
            console.print(f"    {complaint}", style="yellow", soft_wrap=True)


def pictures(model: AnyModel, console: Screen) -> Text | None:
    """Return the weights of some digits as pictures, side by side; None without shades or weights per class."""
    rows = rows_of(model)
    if console.is_ascii or rows[0].thing != "class":
        return None
    digits = sorted(DRAWN_DIGITS[: max(1, (console.width + GAP) // (2 * SIDE + GAP))])
    text = Text((" " * GAP).join(f"{k:<{2 * SIDE}}" for k in digits).rstrip(), style="dim")
    weights = np.array([row.weights for row in rows]).reshape(-1, SIDE, SIDE)
    strength = weights / np.maximum(np.abs(weights).max(axis=(1, 2), keepdims=True), 1e-300)
    for line in range(SIDE):
        text.append("\n")
        for k in digits:
            for weight in strength[k, line]:
                mark = "·" if weight < -0.1 else SHADES[int(np.ceil(4 * weight))] if weight > 0.1 else " "
                text.append(mark * 2, style="green" if weight > 0 else "red")
            text.append(" " * GAP * (k != digits[-1]))
    return text
