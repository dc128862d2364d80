"""The table of all command line options: name, type, domain, default and help. Each command names its options.

Parameters of estimators have their domains where they are checked: `training/parameters.py`, `kernel/choices.py`.
"""

import inspect
import math
import re
import shlex
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, get_args

import typer

from perceptrons.cli.screen import plain
from perceptrons.cli.sparing import load_libraries

LEARN, STOP, READ = "Training", "Stopping", "Reading data"
COLUMNS = "Columns of FILE"
KERNELS, RUN, CLUSTER, SPLIT = "Kernels", "Long runs", "Clusters (Dask)", "Splitting and testing"
SERVER, DURABLE, LIMITS = "Server", "Log and snapshots", "Limits"
BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
REQUIRED = inspect.Parameter.empty
# the names of perceptrons.inspection.metrics, whose import would make --help slow
THRESHOLDS = ("accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_micro", "f1_weighted", "matthews", "youden")
METRICS = (*THRESHOLDS, "roc_auc", "average_precision")


class Range(NamedTuple):
    """N-grams from `least` to `most` words or characters; none at all if `least` is 0."""

    least: int
    most: int

    def __str__(self) -> str:
        return "none" if not self.least else f"{self.least}-{self.most}" if self.most > self.least else f"{self.least}"

    def sizes(self) -> tuple[int, int] | None:
        return (self.least, self.most) if self.least else None


def n_grams(text: str) -> Range:
    """1-2, or 2, or none."""
    match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?|none", text, re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{plain(text)} is not a range such as 1-2, a number, or none.")
    return Range(int(match[1] or 0), int(match[2] or match[1] or 0))


def seconds(text: str) -> float:
    """60s, 5m, 1h, 90."""
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smh]?)", text.strip(), re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{plain(text)} is not a time. Write 60s, 5m or 90 (seconds).")
    return float(match[1]) * SECONDS[match[2]]


def size(text: str) -> int:
    """2GiB, 500MB, 0."""
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([kmg]i?)?b?", text.strip().lower(), re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{plain(text)} is not a size. Write 2GiB, 500MB or 0.")
    return int(float(match[1]) * BYTES[match[2] or ""])


def whole_or_all(text: str) -> int | str:
    """A batch size as the user writes it."""
    try:
        return text if text == "all" else int(text)
    except ValueError:
        raise typer.BadParameter(f"{plain(text)} is neither a whole number nor all.") from None


def number_or_word(text: str) -> float | str:
    """Gamma as the user writes it."""
    try:
        return text if text in ("scale", "auto") else float(text)
    except ValueError:
        raise typer.BadParameter(f"{plain(text)} is not a number, scale or auto.") from None


def number_or_auto(text: str) -> float | str:
    """A number in the units of scores or features, or the word for that of the data."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise typer.BadParameter(f"{plain(text)} is neither a number nor auto.") from None


def threshold(text: str) -> float | str:
    """A number, the name of a metric, or cost: and JSON or a file."""
    if text.startswith("cost:") or text in THRESHOLDS:
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise typer.BadParameter(f"{plain(text)} is not a number, cost:JSON or one of {', '.join(THRESHOLDS)}.")
    return number


def one_of(name: str, *words: str) -> Any:
    return StrEnum(name, {word.replace("-", "_"): word for word in words})


class Option(NamedTuple):
    """An option, or an argument if it has no flags. more: what typer is to be told besides."""

    flags: tuple[str, ...]
    kind: Any
    help: str
    panel: str | None = None
    metavar: str | None = None
    default: Any = None
    more: Any = None

    def parameter(self, name: str) -> inspect.Parameter:
        told = {"help": self.help, "metavar": self.metavar, **(self.more or {})}
        if _of_paths(self.kind):
            told["readable"] = False  # typer's own check would come first, in other words than those of the readers
        if self.flags:
            made: Any = typer.Option(*self.flags, rich_help_panel=self.panel, show_default=False, **told)
        else:
            made = typer.Argument(show_default=False, **told)
        kind: Any = Annotated[self.kind, made]
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=self.default, annotation=kind)

    def usual(self) -> Any:
        """The default, as a command gets it."""
        parse = (self.more or {}).get("parser")
        return self.default if parse is None or self.default is None else parse(self.default)


def _of_paths(kind: Any) -> bool:
    return kind is Path or any(map(_of_paths, get_args(kind)))


def flag(name: str, help: str, panel: str | None = None) -> Option:
    return Option((name,), bool, help, panel, default=False)


def takes(*names: str) -> Callable[[Callable[[Any], None]], Callable[..., None]]:
    """A decorator: the command takes these options, and is called with their values as attributes of one object."""

    def decorate(command: Callable[[Any], None]) -> Callable[..., None]:
        @wraps(command)
        def called(**values: Any) -> None:
            load_libraries()
            command(SimpleNamespace(**values))

        parameters = [OPTIONS[name].parameter(_python(name)) for name in names]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return decorate


def _python(name: str) -> str:
    return name.partition(":")[0]


def given(asked: Any, names: Iterable[str]) -> dict[str, Any]:
    """Those of the options that the user gave, by name: words and numbers, enumerations as their words."""
    values = {_python(name): getattr(asked, _python(name)) for name in names}
    return {
        name: getattr(value, "value", value)
        for name, value in values.items()
        if value is not None and value is not False and value != []
    }


def typed(name: str) -> str:
    """How the command line calls a parameter."""
    return "--" + name.replace("_", "-")


def command_text(begin: Iterable[Any], asked: Any, names: Iterable[str], without: Iterable[str] = ()) -> str:
    """The command that was given, to be typed again: without some options, and those at their defaults."""
    words = [str(word) for word in begin]
    for name in dict.fromkeys(names):
        told = given(asked, [name]).get(_python(name))
        if told is None or told == OPTIONS[name].usual() or _python(name) in without:
            continue
        for one in told if isinstance(told, list) else [told]:
            words.append(OPTIONS[name].flags[-1])
            if one is not True:
                words += map(str, one if type(one) is tuple else (one,))
    return shlex.join(words)


Format = one_of("Format", "csv", "tsv", "whitespace", "arff", "jsonl", "parquet", "arrow", "xlsx", "svmlight", "libsvm", "vw", "text", "npz")  # fmt: skip
OnError = one_of("OnError", "raise", "skip")
Decimal = StrEnum("Decimal", {"point": ".", "comma": ","})
OnMissing = one_of("OnMissing", "fill", "raise")
Scale = one_of("Scale", "auto", "standard", "max-abs", "none")
Combine = one_of("Combine", "average", "recent", "last", "vote", "pocket")
Step = one_of("Step", "constant", "pa", "pa1", "pa2", "arow")
Multiclass = one_of("Multiclass", "joint", "ovr", "ovo")
Kernel = one_of("Kernel", "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine")
OnFull = one_of("OnFull", "remove_random", "forget_oldest", "project")
Mixing = one_of("Mixing", "mistakes", "uniform")
Example = one_of("Example", "sms")
Metric = one_of("Metric", *METRICS)
ColumnFormat = one_of("ColumnFormat", "columns", "conllu")
TaggerMetric = one_of("TaggerMetric", "phrase_f1", "accuracy")
TaggerCombine = one_of("TaggerCombine", "average", "last")
TaggerStep = one_of("TaggerStep", "constant", "pa1")
TaggerCost = one_of("TaggerCost", "hamming")
Scheme = one_of("Scheme", "bio", "bioes")
StrictScheme = one_of("StrictScheme", "IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU")
Calibrator = one_of("Calibrator", "sigmoid", "temperature", "isotonic")
OnBadLabel = StrEnum("OnBadLabel", {"refuse": "raise", "skip": "skip", "repair": "repair"})
ExportInputs = one_of("ExportInputs", "raw", "columns")
Demo = one_of("Demo", "too-correct", "copied-features")

OPTIONS: dict[str, Option] = {
    # what is read and written
    "model": Option((), Path, "Model file, as written by train -o.", metavar="MODEL", default=REQUIRED),
    "data": Option((), list[Path] | None, "Files, patterns such as 'part-*.svm', folders of texts by class, or - for standard input.", metavar="DATA"),
    "files": Option((), list[Path], "Files, patterns such as 'part-*.svm', folders of texts by class, or - for standard input.", metavar="DATA", default=REQUIRED),
    "output": Option(("-o", "--output"), Path | None, "Save the model to this file.", metavar="MODEL"),
    "output:answers": Option(("-o", "--output"), Path | None, "Write to this file instead of standard output.", metavar="FILE"),
    "output:page": Option(("-o", "--output"), Path, "Write the page to this file (default: report.html).", metavar="PAGE", default=Path("report.html")),
    "output:lab": Option(("-o", "--output"), Path, "Write the page to this file (default: lab.html).", metavar="PAGE", default=Path("lab.html")),
    "no_open": flag("--no-open", "Do not open the page in the browser."),
    "from_model": Option(("--from",), Path | None, "Keep training this model instead of a new one: one pass over DATA, or --epochs. Its settings, scaling and hashing stay; new columns, categories and classes are learned.", metavar="MODEL"),
    "certificate": Option(("--certificate",), Path | None, "Write the proof to this file, as JSON.", metavar="FILE"),
    "test": Option(("--test",), Path | None, "Use this file as the test set.", metavar="FILE"),
    "dev": Option(("--dev",), Path | None, "Use this file as the validation set, by which hyperparameters are chosen.", metavar="FILE"),
    "data:inspected": Option(("--data",), list[Path] | None, "Examples to compute feature scales and votes from. --example needs them.", metavar="DATA"),
    # how it is read
    "format": Option(("--format",), Format | None, "Format of DATA: csv, tsv, whitespace, arff, jsonl, parquet, arrow, xlsx, svmlight, libsvm, vw, text or npz (default: detected from the file name or the content).", READ, "FORMAT"),
    "label_column": Option(("--label-column",), list[str] | None, "Tables: column of the labels, by name, in CSV also by number from 1 (default: the last). If repeated, each column holds 1 or 0 for one label.", READ, "NAME"),
    "labels": Option(("--labels",), Path | None, "Tables: XML file of MULAN that names the label columns, each of 1 or 0.", READ, "FILE.xml"),
    "text_column": Option(("--text-column",), list[str] | None, "Tables: column of text, split into words. May be repeated.", READ, "NAME"),
    "words": Option(("--words",), str | None, "Texts: sizes of the word n-grams, such as 1-2 (default: 1).", READ, "RANGE", more={"parser": n_grams}),
    "chars": Option(("--chars",), str | None, "Texts: also use character n-grams of these sizes, such as 3-5 (default: none).", READ, "RANGE", more={"parser": n_grams}),
    "categories": Option(("--categories",), list[str] | None, "Tables: treat the numbers in this column as categories. May be repeated.", READ, "NAME"),
    "ignore": Option(("--ignore",), list[str] | None, "Tables: column to leave out. May be repeated.", READ, "NAME"),
    "keep": Option(("--keep",), list[str] | None, "Tables: column to learn from even if it looks like an identifier. May be repeated.", READ, "NAME"),
    "scale": Option(("--scale",), Scale | None, "Tables: how to scale numbers: standard (mean 0, standard deviation 1; words of texts weighted by idf), max-abs (largest absolute value 1) or none (default: auto, which is standard).", READ, "HOW"),
    "missing": Option(("--missing",), list[str] | None, "Tables: text that marks a missing value, in addition to empty cells, ?, NA and the like. May be repeated.", READ, "A,B,..."),
    "on_missing": Option(("--on-missing",), OnMissing | None, "Tables: fill a missing number with the mean of its column, or raise an error (default: fill).", READ, "HOW"),
    "interactions": Option(("--interactions",), list[str] | None, "Tables: learn from products of columns: 'a*b', 'a*' (a with every other column) or '*' (all pairs). May be repeated.", READ, "PAIRS"),
    "powers": Option(("--powers",), int | None, "Tables: also learn from powers of numbers, up to N (default: 1).", READ, "N", more={"min": 1, "max": 9}),
    "hash_bits": Option(("--hash-bits",), int | None, "Hash features to 2^B columns; 0 stores their names instead (default: 20 for text, 18 for vw, no hashing for other formats).", READ, "B", more={"min": 0, "max": 31}),
    "quadratic": Option(("-q", "--quadratic"), list[str] | None, "vw: multiply the features of two namespaces, given by their first letters, like VW's -q; : means all namespaces. May be repeated.", READ, "AB"),
    "cubic": Option(("--cubic",), list[str] | None, "vw: multiply the features of three namespaces, like -q. May be repeated.", READ, "ABC"),
    "zero_based": flag("--zero-based", "svmlight: feature indices start at 0 (default: detected).", READ),
    "decimal": Option(("--decimal",), Decimal | None, "CSV and the like: what separates decimals, . or , (default: detected).", READ, "SIGN"),
    "encoding": Option(("--encoding",), str | None, "Encoding of text, such as latin-1, cp1252 or utf-16 (default: utf-8).", READ, "NAME"),
    "text_labels": flag("--text-labels", "Treat labels as text, even if they look like whole numbers.", READ),
    "multilabel": flag("--multilabel", "Allow several labels per example, or none (default: detected from the data).", READ),
    "label_separator": Option(("--label-separator",), str | None, "Text between several labels in one cell; implies --multilabel (default: a comma).", READ, "TEXT"),
    "many_classes": flag("--many-classes", "Accept data in which most examples have a label of their own.", READ),
    "on_error": Option(("--on-error",), OnError | None, "Malformed records: stop at the first (raise), or leave them out (skip) (default: raise).", READ, "HOW"),
    "in_memory": Option(("--in-memory",), str, "Load data into memory if they take at most this much space there; train on larger data while reading them. 0 always trains while reading (default: 2GiB).", READ, "SIZE", default="2GiB", more={"parser": size}),
    # how to learn
    "combine": Option(("--combine",), Combine | None, "Weights to predict with: average, recent, last, vote or pocket (default: average).", LEARN, "WHICH"),
    "window": Option(("--window",), float | None, "Number of recent examples that --combine recent averages over (default: 500).", LEARN, "N", more={"min": 2}),
    "step": Option(("--step",), Step | None, "Length of an update: constant, or computed from the loss: pa, pa1, pa2 or arow (default: constant).", LEARN, "RULE"),
    "eta0": Option(("--eta0",), float | None, "Learning rate for --step constant (default: 1).", LEARN, "ETA"),
    "C": Option(("--C",), float | None, "Aggressiveness of --step pa1, pa2 and arow (default: 1).", LEARN, "C"),
    "margin": Option(("--margin",), str | None, "Required margin: update unless the score is right by at least this much. A number, 0 for Rosenblatt's rule, or auto, which follows the scale of the data (default: auto).", LEARN, "M", more={"parser": number_or_auto}),
    "penalty": Option(("--penalty",), one_of("Penalty", "l2", "l1", "elasticnet") | None, "Regularization: l2 (weight decay), l1 (makes most weights 0) or elasticnet, which is both (default: none).", LEARN, "NAME"),
    "alpha": Option(("--alpha",), float | None, "Strength of --penalty (default: 0.0001).", LEARN, "ALPHA"),
    "l1_ratio": Option(("--l1-ratio",), float | None, "Share of the L1 penalty in --penalty elasticnet (default: 0.15).", LEARN, "SHARE"),
    "batch_size": Option(("--batch-size",), str | None, "Number of examples per update, or all (default: 1).", LEARN, "N", more={"parser": whole_or_all}),
    "multiclass": Option(("--multiclass",), Multiclass | None, "Method for three or more classes: joint, one-vs-rest (ovr) or one-vs-one (ovo) (default: joint).", LEARN, "HOW"),
    "cost": Option(("--cost",), str | None, 'Cost of each kind of mistake, as {"true class": {"predicted class": cost}}, or a JSON file (default: all mistakes cost the same).', LEARN, "JSON"),
    "class_weight": Option(("--class-weight",), str | None, 'Weight of each class, as {"class": weight}, a JSON file, or balanced (default: 1 for every class).', LEARN, "JSON"),
    "init": Option(("--init",), one_of("Init", "zeros", "ones", "random") | None, "Initial weights: zeros, ones or random (default: zeros).", LEARN, "HOW"),
    "zero_score": Option(("--zero-score",), one_of("ZeroScore", "mistake", "correct", "positive", "negative") | None, "Two classes: how training treats a score of exactly 0: as a mistake or as correct for both classes, or as a prediction of the positive or negative class (default: mistake).", LEARN, "WHAT"),
    "classes": Option(("--classes",), str | None, "All classes. Ties go to the first one; of two classes, the first is the negative one (default: found while reading, sorted).", LEARN, "A,B,..."),
    "no_shuffle": flag("--no-shuffle", "Do not shuffle: visit the examples in the order of DATA.", LEARN),
    "no_intercept": flag("--no-intercept", "Do not learn a bias.", LEARN),
    "intercept_scaling": Option(("--intercept-scaling",), str | None, "Value of the constant feature whose weight is the bias: a number, or auto, which follows the scale of the data (default: auto).", LEARN, "X", more={"parser": number_or_auto}),
    "no_intercept:origin": flag("--no-intercept", "Consider only hyperplanes through the origin (no bias)."),
    "seed": Option(("--seed",), int, "Random seed for splitting and shuffling (default: 0).", LEARN, "N", 0, {"min": 0}),
    "kernel": Option(("--kernel",), Kernel | None, "Train a kernel perceptron, with a curved decision boundary: linear, poly, rbf, sigmoid, laplacian or cosine (default: no kernel).", KERNELS, "NAME"),
    "gamma": Option(("--gamma",), str | None, "Coefficient of the poly, rbf, sigmoid and laplacian kernels: a number, scale or auto (default: scale).", KERNELS, "G", more={"parser": number_or_word}),
    "degree": Option(("--degree",), int | None, "Degree of the poly kernel (default: 3).", KERNELS, "N"),
    "coef0": Option(("--coef0",), float | None, "Constant term of the poly and sigmoid kernels (default: 1).", KERNELS, "C0"),
    "budget": Option(("--budget",), int | None, "Keep at most this many support vectors (default: no limit).", KERNELS, "N"),
    "on_full": Option(("--on-full",), OnFull | None, "How to make room when the budget is used up: project, forget_oldest or remove_random (default: project).", KERNELS, "HOW"),
    "cache_size": Option(("--cache-size",), float | None, "Megabytes of kernel values to cache; affects speed only (default: 200).", KERNELS, "MB"),
    # when to stop
    "epochs": Option(("--epochs",), int | None, "Make exactly N passes over the data, or fewer if a pass needs no update. Replaces --max-iter and --tol.", STOP, "N", more={"min": 1}),
    "max_iter": Option(("--max-iter",), int | None, "Maximum number of epochs (default: 1,000).", STOP, "N", more={"min": 1}),
    "tol": Option(("--tol",), float | None, "Stop when the averaged weights change by less than this share of their norm in an epoch; 0 disables this (default: 0.005).", STOP, "T", more={"min": 0}),
    "early_stopping": flag("--early-stopping", "Stop when accuracy on held-out training examples no longer improves.", STOP),
    "max_seconds": Option(("--max-seconds",), float | None, "Stop after this many seconds (default: no limit).", STOP, "S"),
    "max_seconds:proof": Option(("--max-seconds",), float, "Time limit in seconds, half of it for the proof (default: 60).", metavar="S", default=60.0),
    "max_seconds:page": Option(("--max-seconds",), float, "Time limit in seconds for the proof and the mistake bound (default: 10).", metavar="S", default=10.0),
    "max_seconds:each": Option(("--max-seconds",), float | None, "Time limit in seconds for tuning each learner; slower learners are left out (default: no limit).", metavar="S"),
    # how it is split and tested
    "test_share": Option(("--test-share",), float | None, "Share of the examples to hold out as a test set; 0 holds none out (default: 0.2).", SPLIT, "SHARE"),
    "dev_share": Option(("--dev-share",), float | None, "Share of the examples to use as the validation set, by which hyperparameters are chosen (default: 0.2).", SPLIT, "SHARE"),
    "group_column": Option(("--group-column",), str | None, "Tables: keep examples with the same value in this column together when splitting, such as those of one patient.", SPLIT, "NAME"),
    "time_order": flag("--time-order", "Split in the given order: the last examples are the test set, those before them the validation set.", SPLIT),
    "time_order:train": flag("--time-order", "Split in the given order: the last examples are the test set.", SPLIT),
    "metric": Option(("--metric",), Metric, f"Metric to choose and test by: {', '.join(METRICS[:-1])} or {METRICS[-1]} (default: accuracy).", SPLIT, "NAME", Metric("accuracy")),
    "metric:folds": Option(("--metric",), Metric, f"Metric to show for the folds besides accuracy: {', '.join(METRICS[1:-1])} or {METRICS[-1]} (default: accuracy only).", SPLIT, "NAME", Metric("accuracy")),
    "folds": Option(("--folds",), int | None, "Cross-validation: choose hyperparameters by their mean score over K folds instead of one validation set.", SPLIT, "K", more={"min": 2}),
    "folds:train": Option(("--folds",), int | None, "Cross-validation: test on each of K folds after training on the others, then train on all data (default: 5 if the examples are too few for a test set).", SPLIT, "K", more={"min": 2}),
    "threshold": Option(("--threshold",), str | None, f"Two classes: predict the second one for scores at or above this number; or choose the number on held-out training data (tune: the validation set) by {', '.join(THRESHOLDS)}, or by the cost of mistakes, as cost:JSON (default: 0).", LEARN, "HOW", more={"parser": threshold}),
    "probabilities": Option(("--probabilities",), Calibrator | None, "Calibrate the scores on held-out training data (tune: the validation set), so that predict --probabilities works: sigmoid, temperature or isotonic (default: no probabilities).", LEARN, "HOW"),
    "probabilities:shown": flag("--probabilities", "Add the probability of every class, separated by tabs, below a header line. The model must be calibrated."),
    "force": flag("--force", "Use a test set that was used before; the result says so.", SPLIT),
    "ledger": Option(("--ledger",), Path | None, "File that records the uses of test sets (default: a file in the user's folder for program state).", SPLIT, "FILE"),
    "grid": Option(("--grid",), str | None, 'Hyperparameter values to try, as {"C": [0.1, 1]}, or a JSON file (default: a built-in grid).', SPLIT, "JSON"),
    "no_retrain": flag("--no-retrain", "Do not train again on the training and validation sets together.", SPLIT),
    "learner": Option(("--learner",), list[str] | None, "Compare only this learner, such as average, arow, kernel, logistic, svm. May be repeated.", SPLIT, "NAME"),
    "demo": Option(("--demo",), Demo | None, "Run a demonstration, too-correct or copied-features, with data that mislead other linear models.", SPLIT, "NAME"),
    "jobs": Option(("--jobs",), int, "Number of settings to try at the same time (default: 1).", SPLIT, "N", 1, {"min": 1}),
    "inputs": Option(("--inputs",), ExportInputs, "Input of the exported model: raw examples, as MODEL takes them, or columns, for rows that are prepared elsewhere (default: raw).", metavar="WHAT", default=ExportInputs("raw")),
    "exported": Option((), Path, "File to write; its extension selects the format: .onnx or .json.", metavar="FILE", default=REQUIRED),
    # serving
    "model:served": Option((), Path | None, "Model file to start with. Without one, the server starts with an empty model, or with the one in --data.", metavar="MODEL"),
    "data:folder": Option(("--data",), Path | None, "Folder for the log and the snapshots (default: MODEL.served).", metavar="DIR"),
    "host": Option(("--host",), str, "Address to listen on. An address that other machines can reach needs --token-file (default: 127.0.0.1).", SERVER, "HOST", "127.0.0.1"),
    "port": Option(("--port",), int, "Port to listen on; 0 selects a free one (default: 8080).", SERVER, "N", 8080, {"min": 0, "max": 65535}),
    "token_file": Option(("--token-file",), Path | None, "Require the token in this file with every request (default: no token).", SERVER, "FILE"),
    "tls_cert": Option(("--tls-cert",), Path | None, "Certificate file for HTTPS (default: HTTP).", SERVER, "FILE"),
    "tls_key": Option(("--tls-key",), Path | None, "File with the private key of the certificate.", SERVER, "FILE"),
    "follow": Option(("--follow",), str | None, "Follow the server at this URL: copy what it learns, and only predict (default: learn).", SERVER, "URL"),
    "leader_token_file": Option(("--leader-token-file",), Path | None, "File with the token of the server to follow (default: --token-file).", SERVER, "FILE"),
    "accept_older": flag("--accept-older", "Follow a leader that has less than this server, or other examples: move the log and the snapshots here to a folder beside them, and begin again with the model of the leader.", SERVER),
    "no_sync": flag("--no-sync", "Do not wait for the disk before answering. This is faster, but a power failure may lose the last examples.", DURABLE),
    "snapshot_every": Option(("--snapshot-every",), int, "Number of learned examples between two snapshots (default: 100,000).", DURABLE, "N", 100_000, {"min": 1}),
    "keep_log": Option(("--keep-log",), str, "Size up to which old parts of the log are kept (default: 1GiB).", DURABLE, "SIZE", "1GiB", {"parser": size}),
    "repair": flag("--repair", "Move the damaged part of the log and everything after it aside, and exit.", DURABLE),
    "max_body": Option(("--max-body",), str, "Maximum size of a request (default: 16MiB).", LIMITS, "SIZE", "16MiB", {"parser": size}),
    "max_examples:request": Option(("--max-examples",), int, "Maximum number of examples in one request (default: 10,000).", LIMITS, "N", 10_000, {"min": 1}),
    "max_queue": Option(("--max-queue",), int, "Maximum number of examples that wait to be learned; further requests get status 429 (default: 50,000).", LIMITS, "N", 50_000, {"min": 1}),
    "max_features": Option(("--max-features",), int, "Maximum number of features of the model (default: 16,777,216).", LIMITS, "N", 2**24, {"min": 1}),
    "max_classes": Option(("--max-classes",), int, "Maximum number of classes of the model (default: 1,000).", LIMITS, "N", 1000, {"min": 1}),
    # long runs and clusters
    "checkpoint": Option(("--checkpoint",), Path | None, "Save the state of the run to this file from time to time, so that --resume can continue.", RUN, "FILE"),
    "every": Option(("--every",), str | None, "Time between checkpoints: 90s, 5m (default: 60s).", RUN, "TIME", more={"parser": seconds}),
    "resume": flag("--resume", "Continue from --checkpoint, if it exists, as if the run had never stopped.", RUN),
    "cache": Option(("--cache",), Path | None, "Keep parsed data that do not fit in memory in this file, also for later runs.", RUN, "FILE"),
    "dask": Option(("--dask",), str | None, "Train on the cluster with this scheduler, such as tcp://host:8786; its workers read DATA.", CLUSTER, "ADDRESS"),
    "workers": Option(("--workers",), int | None, "Train on N processes of this machine.", CLUSTER, "N", more={"min": 1, "max": 1024}),
    "shards": Option(("--shards",), int | None, "Number of parts of DATA to train on at the same time (default: one per thread of the workers).", CLUSTER, "S", more={"min": 1}),
    "mixing": Option(("--mixing",), Mixing | None, "Weight of each shard when the shards' models are averaged: by its mistakes, or uniform (default: mistakes).", CLUSTER, "HOW"),
    # taggers
    "model:tagger": Option((), Path, "Model file of a tagger, as written by tag train -o.", metavar="MODEL", default=REQUIRED),
    "file": Option((), Path, "File with one token per line, its columns side by side, and blank lines between sentences; also .gz, .xz, .bz2; - for standard input.", metavar="FILE", default=REQUIRED),
    "output:tagger": Option(("-o", "--output"), Path | None, "Save the tagger to this file.", metavar="MODEL"),
    "output:tagged": Option(("-o", "--output"), Path | None, "Write to this file instead of standard output.", metavar="OUTPUT"),
    "into": Option(("--into",), str | None, "Write labels into this column, by number or name (default: a new last column; in CoNLL-U the column that the tagger was trained on).", metavar="COLUMN"),
    "resume:tagger": Option(("--resume",), Path | None, "Keep training this tagger, on the same FILE or another.", metavar="MODEL"),
    "test_share:tagger": Option(("--test-share",), float | None, "Share of the sentences to hold out as a test set (default: 0.1).", metavar="SHARE", more={"min": 0, "max": 0.9}),
    "seed:tagger": Option(("--seed",), int | None, "Random seed for splitting and shuffling (default: 0).", metavar="N", more={"min": 0}),
    "label:column": Option(("--label",), str | None, "Column of the labels: a number from 1, -1 for the last, or a name in CoNLL-U (default: the last; upos in CoNLL-U).", COLUMNS, "COLUMN"),
    "columns": Option(("--columns",), str | None, "Columns to learn from, such as 1,2 or form,xpos (default: those left of the label; form in CoNLL-U).", COLUMNS, "COLUMNS"),
    "columns:there": Option(("--columns",), str | None, "Columns of FILE that correspond to those the tagger was trained on, such as 1,2 or form,xpos (default: the same columns).", COLUMNS, "COLUMNS"),
    "format:columns": Option(("--format",), ColumnFormat | None, "Format of FILE: columns or conllu (default: detected).", COLUMNS, "FORMAT"),
    "separator": Option(("--separator",), str | None, "Separator of the columns: tab, space, whitespace (any run of tabs and spaces), or any text (default: detected).", COLUMNS, "TEXT"),
    "encoding:columns": Option(("--encoding",), str, "Encoding of FILE, such as latin-1 (default: utf-8).", COLUMNS, "NAME", "utf-8"),
    "comments": flag("--comments", "Treat lines that start with # as comments, as in CoNLL-U.", COLUMNS),
    "templates": Option(("--templates",), str | None, "Templates that make features of a token: words, chunking, or a file with one template per line, such as word[-1]|word[0] (default: a rich set for the given columns).", LEARN, "WHICH"),
    "allowed": Option(("--allowed",), Scheme | None, "Allow only label sequences of this scheme: bio or bioes (default: any sequence).", LEARN, "SCHEME"),
    "scheme": Option(("--scheme",), StrictScheme | None, "Count only phrases labelled exactly by this scheme, as seqeval's strict mode does: IOB1, IOB2, IOE1, IOE2, IOBES or BILOU (default: count as conlleval does).", COLUMNS, "SCHEME"),
    "on_bad_label": Option(("--on-bad-label",), OnBadLabel, "How to handle a label that --allowed forbids, such as I-NP after O: raise an error, skip its sentence, or repair it (I-NP becomes B-NP) (default: raise).", LEARN, "WHAT", OnBadLabel("raise")),
    "combine:tagger": Option(("--combine",), TaggerCombine | None, "Weights to predict with: average or last (default: average).", LEARN, "WHICH"),
    "step:tagger": Option(("--step",), TaggerStep | None, "Length of an update: constant, or computed from the loss: pa1 (default: constant).", LEARN, "RULE"),
    "C:tagger": Option(("--C",), float | None, "Aggressiveness of --step pa1 (default: 1).", LEARN, "C"),
    "margin:tagger": Option(("--margin",), float | None, "Required margin: update unless the score of the true labels leads by this much (default: 0; 1 for --step pa1).", LEARN, "M"),
    "cost:tagger": Option(("--cost",), TaggerCost | None, "hamming: require a margin that grows by 1 with every wrong label (default: no cost).", LEARN, "COST"),
    "min_count": Option(("--min-count",), int | None, "Use only features that occur at least N times (default: 1).", LEARN, "N", more={"min": 1}),
    "hash_bits:tagger": Option(("--hash-bits",), int | None, "Hash features to 2^B columns, which bounds memory but loses feature names (default: no hashing).", LEARN, "B"),
    "max_iter:tagger": Option(("--max-iter",), int | None, "Maximum number of epochs of this run (default: 10).", STOP, "N", more={"min": 1}),
    "max_iter:tuned": Option(("--max-iter",), int, "Maximum number of epochs; smaller numbers are evaluated in the same run (default: 20).", STOP, "N", 20, {"min": 1}),
    "metric:tagger": Option(("--metric",), TaggerMetric | None, "Metric to choose and test by: phrase_f1, or accuracy of tokens (default: phrase_f1 if labels mark phrases, such as B-NP, else accuracy).", SPLIT, "NAME"),
    "time_order:tagger": flag("--time-order", "Split in the given order: the last sentences are the test set, those before them the validation set.", SPLIT),
    "grid:tagger": Option(("--grid",), str | None, 'Hyperparameter values to try, as {"margin": [0, 10], "templates": ["words"]}, or a JSON file (default: several margins, and --step pa1).', SPLIT, "JSON"),
    "tol:tagger": Option(("--tol",), float | None, "Stop when the averaged weights change by less than this share of their norm in an epoch (default: never).", STOP, "T", more={"min": 0}),
    "early_stopping:tagger": flag("--early-stopping", "Stop when the score on held-out training sentences, or on --dev, no longer improves, and keep the best epoch.", STOP),
    "metric:stopping": Option(("--metric",), TaggerMetric | None, "Metric for --early-stopping: phrase_f1, or accuracy of tokens (default: phrase_f1 if labels mark phrases, such as B-NP, else accuracy).", STOP, "NAME"),
    "dev:stopping": Option(("--dev",), Path | None, "Use this file as the validation set for --early-stopping (default: a tenth of the training sentences).", STOP, "FILE"),
    # what is shown
    "example": Option(("--example",), Example | None, "Train on data that come with the package: sms, text messages of which some are spam.", metavar="NAME"),
    "example:number": Option(("--example",), int | None, "Explain the prediction for the N-th example of DATA.", metavar="N", more={"min": 1}),
    "confidence": flag("--confidence", "Add the lead of each label over the second best label; with --json also the lead of each sentence's labelling over the second best. Leads are not probabilities."),
    "scores": flag("--scores", "Add the scores, separated by tabs, below a header line. Scores are not probabilities."),
    "top": Option(("--top",), int, "Number of weights or support vectors to show per class (default: 10).", metavar="N", default=10, more={"min": 1}),
    "top:labels": Option(("--top",), int | None, "Print the N labels with the highest scores, highest first, instead of the predicted labels.", metavar="N", more={"min": 1}),
    "label": Option(("--class",), str | None, "Show only this class, or the pair 'A vs B'.", metavar="LABEL"),
    "collisions": flag("--collisions", "Hashed features: show the columns with a weight that several features share."),
    "features": Option(("--features",), tuple[str, str] | None, "Draw the decision boundary in the plane of these two features.", metavar="A B"),
    "image_shape": Option(("--image-shape",), str | None, "Treat the features as pixels of images of this shape (default: guessed).", metavar="ROWSxCOLUMNS"),
    "no_images": flag("--no-images", "Do not treat the features as pixels."),
    "title": Option(("--title",), str | None, "Title of the page (default: the names of MODEL and DATA).", metavar="TEXT"),
    "max_examples": Option(("--max-examples",), int, "Read at most this many examples (default: 200,000).", metavar="N", default=200_000, more={"min": 1}),
    "quiet": flag("--quiet", "Print nothing but errors."),
    "verbose": flag("--verbose", "Show a live progress bar while training."),
    "trace": Option(("--trace",), int | None, "Show the first N visits: the example, its score, and the weights after it.", metavar="N", more={"min": 1}),
    "json": flag("--json", "Print one JSON object instead of text."),
    "json:lines": flag("--json", "Print one JSON object per line instead of text."),
}  # fmt: skip

READING = (
    "format", "label_column", "labels", "text_column", "words", "chars", "categories", "ignore", "keep", "scale", "missing",
    "on_missing", "interactions", "powers", "hash_bits", "quadratic", "cubic", "zero_based", "text_labels",
    "multilabel", "label_separator", "many_classes", "on_error", "decimal", "encoding",
)  # fmt: skip
RULE = (
    "combine", "window", "step", "eta0", "C", "margin", "intercept_scaling", "penalty", "alpha", "l1_ratio",
    "batch_size", "multiclass", "cost", "class_weight", "init", "zero_score",
)  # fmt: skip
LINEAR_ONLY = ("window", "step", "C", "margin", "intercept_scaling", "penalty", "alpha", "l1_ratio", "batch_size", "cost", "init", "zero_score")  # fmt: skip
OF_KERNELS = ("kernel", "gamma", "degree", "coef0", "budget", "on_full", "cache_size")
STOPPING = ("epochs", "max_iter", "tol", "early_stopping", "max_seconds")
LONG_RUNS = ("checkpoint", "every", "resume", "cache")
CLUSTERS = ("dask", "workers", "shards", "mixing")
OF_FILE = ("format:columns", "separator", "encoding:columns", "comments")
TAGGER_RULE = ("allowed", "combine:tagger", "step:tagger", "C:tagger", "margin:tagger", "cost:tagger", "min_count", "hash_bits:tagger")  # fmt: skip
