"""The table of all command line options: type, flags, domain, default and help, in groups of one dataclass each.

A command has a dataclass of its own, made of these groups. It is an instance of this that the function of the command
gets, from the module of the same name: see `as_function`. Parameters of estimators have their domains where they are
checked: `training/parameters.py`, `kernel/estimator.py`.
"""

import inspect
import math
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, dataclass_transform, get_args

import typer

from perceptrons.cli.libraries import import_sklearn
from perceptrons.cli.messages import BadInputError, plain

# The groups of options in --help, in this order.
READ, COLUMNS, SPLIT, LEARN = "Reading data", "Columns of FILE", "Splitting and testing", "Training"
KERNELS, STOP, RUN, CLUSTER = "Kernels", "Stopping", "Long runs", "Clusters (Dask)"
SERVER, DURABLE, LIMITS = "Server", "Log and snapshots", "Limits"
PANELS = (None, READ, COLUMNS, SPLIT, LEARN, KERNELS, STOP, RUN, CLUSTER, SERVER, DURABLE, LIMITS)

BYTES_PER_UNIT = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
SECONDS_PER_UNIT = {"": 1, "s": 1, "m": 60, "h": 3600}
# the names of perceptrons.inspection.metrics, whose import would make --help slow
THRESHOLDS = ("accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_micro", "f1_weighted", "matthews", "youden")

Format = Literal[
    "csv", "tsv", "whitespace", "arff", "jsonl", "parquet", "arrow", "xlsx", "svmlight", "libsvm", "vw", "text", "npz"
]
OnError = Literal["raise", "skip"]
Combine = Literal["average", "recent", "last", "vote", "pocket"]
Multiclass = Literal["joint", "ovr", "ovo"]
Step = Literal["constant", "pa", "pa1", "pa2", "arow"]
Kernel = Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine"]
OnFull = Literal["remove_random", "forget_oldest", "project"]
Metric = Literal[
    "accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_micro", "f1_weighted", "matthews", "youden", "roc_auc",
    "average_precision",
]  # fmt: skip
KeepLearning = Literal["follow", "average"]
METRICS = get_args(Metric)


# ---- values that are not plain numbers or words


class Range(NamedTuple):
    """N-grams from `least` to `most` words or characters; none at all if `least` is 0."""

    least: int
    most: int

    def __str__(self) -> str:
        return "none" if not self.least else f"{self.least}-{self.most}" if self.most > self.least else f"{self.least}"

    def sizes(self) -> tuple[int, int] | None:
        return (self.least, self.most) if self.least else None


def parse_n_grams(text: str) -> Range:
    """Parse 1-2, 2 or none."""
    match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?|none", text, re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{plain(text)} is not a range such as 1-2, a number, or none.")
    return Range(int(match[1] or 0), int(match[2] or match[1] or 0))


def parse_seconds(text: str) -> float:
    """Parse 60s, 5m, 1h or 90."""
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smh]?)", text.strip(), re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{plain(text)} is not a time. Write 60s, 5m or 90 (seconds).")
    return float(match[1]) * SECONDS_PER_UNIT[match[2]]


def parse_size(text: str) -> int:
    """Parse 2GiB, 500MB or 0, in bytes."""
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([kmg]i?)?b?", text.strip().lower(), re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{plain(text)} is not a size. Write 2GiB, 500MB or 0.")
    return int(float(match[1]) * BYTES_PER_UNIT[match[2] or ""])


def number_or(*words: str, message: str, kind: Callable[[str], float] = float) -> Callable[[str], Any]:
    """Return a parser of a number or one of these words. message: what other texts are."""

    def parse(text: str) -> float | str:
        try:
            return text if text in words else kind(text)
        except ValueError:
            raise typer.BadParameter(f"{plain(text)} is {message}.") from None

    return parse


parse_batch_size = number_or("all", message="neither a whole number nor all", kind=int)
parse_gamma = number_or("scale", "auto", message="not a number, scale or auto")
parse_number_or_auto = number_or("auto", message="neither a number nor auto")


def parse_threshold(text: str) -> float | str:
    """Parse a number, the name of a metric, or cost: with JSON or a file."""
    if text.startswith("cost:") or text in THRESHOLDS:
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise typer.BadParameter(f"{plain(text)} is not a number, cost:JSON or one of {', '.join(THRESHOLDS)}.")
    return number


# ---- from fields to parameters of commands


def option(
    *flags: str, help: str, panel: str | None = None, metavar: str | None = None, default: Any = None, **settings: Any
) -> Any:
    """Return a field for an option. default: as typed, so before a parser. settings: for typer, such as min or parser."""
    parser = settings.get("parser")
    value = default if parser is None or default is None else parser(default)
    settings |= {"help": help, "metavar": metavar, "rich_help_panel": panel}
    return field(default=value, metadata={"flags": flags, "default": default, "settings": settings})


def argument(help: str, *, metavar: str, required: bool = False) -> Any:
    """Return a field for an argument."""
    settings = {"help": help, "metavar": metavar}
    default = inspect.Parameter.empty if required else None
    return field(
        default=MISSING if required else None, metadata={"flags": (), "default": default, "settings": settings}
    )


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """Return a field for an option without a value."""
    return option(name, help=help, panel=panel, default=False)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Options:
    """Base of the groups below. Every subclass is a frozen dataclass; the docstring of a command's is its help."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)  # which take time at every start


def as_function(options_class: type[Options], module: str, name: str) -> Callable[..., None]:
    """Return a function with one parameter per option, for typer. It calls the function of a module with the options.

    The module is imported then, so that --help needs neither NumPy nor scikit-learn.
    """

    def run(**values: Any) -> None:
        import_sklearn()
        vars(import_module(module))[name](options_class(**values))

    parameters = [_parameter(each) for each in _fields_in_order(options_class)]
    run.__doc__ = options_class.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _fields_in_order(options_class: Any) -> list[Field[Any]]:
    """Return arguments first, then options by panel. The fields of a class come before those of its bases."""
    by_name = {each.name: each for each in fields(options_class)}
    names = dict.fromkeys(name for base in options_class.__mro__ for name in inspect.get_annotations(base))
    in_order = [by_name[name] for name in names]
    return sorted(in_order, key=lambda each: (bool(each.metadata["flags"]), PANELS.index(_panel(each))))


def _panel(each: Field[Any]) -> str | None:
    panel: str | None = each.metadata["settings"].get("rich_help_panel")
    return panel


def _parameter(each: Field[Any]) -> inspect.Parameter:
    """Return a field as a parameter that typer understands."""
    flags, default, settings = each.metadata["flags"], each.metadata["default"], each.metadata["settings"]
    kind: Any = each.type
    if "parser" in settings:  # what is parsed is a string; typer knows no unions
        kind = str if default is not None else str | None
    if _has_path(kind):
        settings = {**settings, "readable": False}  # typer's own check would come first, in other words than ours
    make: Any = typer.Option if flags else typer.Argument
    annotation: Any = Annotated[kind, make(*flags, show_default=False, **settings)]
    return inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _has_path(kind: Any) -> bool:
    return kind is Path or any(map(_has_path, get_args(kind)))


def field_names(*groups: Any) -> tuple[str, ...]:
    """Return the names of the options in these groups."""
    return tuple(each.name for group in groups for each in fields(group))


def given(options: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return those of the named options that have a value; an option that is not given is None, False or []."""
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None and value is not False and value != []}


def typed(name: str) -> str:
    """Return an option as the command line spells it."""
    return "--" + name.replace("_", "-")


def refuse_both(options: Any, name: str, others: Iterable[str], advice: str) -> None:
    """Refuse an option together with any of the others."""
    for other in given(options, others) if given(options, (name,)) else ():
        raise BadInputError(f"{typed(name)} and {typed(other)} cannot be combined: {advice}.")


def command_text(first_words: Iterable[Any], options: Any, names: Iterable[str], without: Iterable[str] = ()) -> str:
    """Return a command to type: these words, and the named options that are not at their defaults, without some."""
    parts = [str(word) for word in first_words]
    by_name = {each.name: each for each in fields(options)}
    for name, value in given(options, dict.fromkeys(names)).items():
        if value == by_name[name].default or name in without:
            continue
        for item in value if isinstance(value, list) else [value]:
            parts.append(by_name[name].metadata["flags"][-1])
            if item is not True:
                parts += map(str, item if type(item) is tuple else (item,))
    return shlex.join(parts)


# ---- the table: one option per line
# fmt: off


class ModelArgument(Options):
    """The model file of a command that needs one."""

    model: Path = argument("Model file, as written by train -o.", metavar="MODEL", required=True)


class DataArgument(Options):
    """The files of a command that needs some."""

    data: list[Path] = argument("Files, patterns such as 'part-*.svm', folders of texts by class, or - for standard input.", metavar="DATA", required=True)


class OptionalDataArgument(Options):
    """The files of a command that also works without any."""

    data: list[Path] | None = argument("Files, patterns such as 'part-*.svm', folders of texts by class, or - for standard input.", metavar="DATA")


class JsonOption(Options):
    """JSON instead of text."""

    json: bool = flag("--json", "Print one JSON object instead of text.")


class QuietOption(Options):
    """No output."""

    quiet: bool = flag("--quiet", "Print nothing but errors.")


class ReadingOptions(Options):
    """How DATA is read."""

    format: Format | None = option("--format", help="Format of DATA: csv, tsv, whitespace, arff, jsonl, parquet, arrow, xlsx, svmlight, libsvm, vw, text or npz (default: detected from the file name or the content).", panel=READ, metavar="FORMAT")
    label_column: list[str] | None = option("--label-column", help="Tables: column of the labels, by name, in CSV also by number from 1 (default: the last). If repeated, each column holds 1 or 0 for one label.", panel=READ, metavar="NAME")
    labels: Path | None = option("--labels", help="Tables: XML file of MULAN that names the label columns, each of 1 or 0.", panel=READ, metavar="FILE.xml")
    text_column: list[str] | None = option("--text-column", help="Tables: column of text, split into words. May be repeated.", panel=READ, metavar="NAME")
    words: Range | None = option("--words", help="Texts: sizes of the word n-grams, such as 1-2 (default: 1).", panel=READ, metavar="RANGE", parser=parse_n_grams)
    chars: Range | None = option("--chars", help="Texts: also use character n-grams of these sizes, such as 3-5 (default: none).", panel=READ, metavar="RANGE", parser=parse_n_grams)
    categories: list[str] | None = option("--categories", help="Tables: treat the numbers in this column as categories. May be repeated.", panel=READ, metavar="NAME")
    ignore: list[str] | None = option("--ignore", help="Tables: column to leave out. May be repeated.", panel=READ, metavar="NAME")
    keep: list[str] | None = option("--keep", help="Tables: column to learn from even if it looks like an identifier. May be repeated.", panel=READ, metavar="NAME")
    scale: Literal["auto", "standard", "max-abs", "none"] | None = option("--scale", help="Tables: how to scale numbers: standard (mean 0, standard deviation 1; words of texts weighted by idf), max-abs (largest absolute value 1) or none (default: auto, which is standard).", panel=READ, metavar="HOW")
    missing: list[str] | None = option("--missing", help="Tables: text that marks a missing value, in addition to empty cells, ?, NA and the like. May be repeated.", panel=READ, metavar="A,B,...")
    on_missing: Literal["fill", "raise"] | None = option("--on-missing", help="Tables: fill a missing number with the mean of its column, or raise an error (default: fill).", panel=READ, metavar="HOW")
    interactions: list[str] | None = option("--interactions", help="Tables: learn from products of columns: 'a*b', 'a*' (a with every other column) or '*' (all pairs). May be repeated.", panel=READ, metavar="PAIRS")
    powers: int | None = option("--powers", help="Tables: also learn from powers of numbers, up to N (default: 1).", panel=READ, metavar="N", min=1, max=9)
    hash_bits: int | None = option("--hash-bits", help="Hash features to 2^B columns; 0 stores their names instead (default: 20 for text, 18 for vw, no hashing for other formats).", panel=READ, metavar="B", min=0, max=31)
    quadratic: list[str] | None = option("-q", "--quadratic", help="vw: multiply the features of two namespaces, given by their first letters, like VW's -q; : means all namespaces. May be repeated.", panel=READ, metavar="AB")
    cubic: list[str] | None = option("--cubic", help="vw: multiply the features of three namespaces, like -q. May be repeated.", panel=READ, metavar="ABC")
    zero_based: bool = flag("--zero-based", "svmlight: feature indices start at 0 (default: detected).", READ)
    text_labels: bool = flag("--text-labels", "Treat labels as text, even if they look like whole numbers.", READ)
    multilabel: bool = flag("--multilabel", "Allow several labels per example, or none (default: detected from the data).", READ)
    label_separator: str | None = option("--label-separator", help="Text between several labels in one cell; implies --multilabel (default: a comma).", panel=READ, metavar="TEXT")
    many_classes: bool = flag("--many-classes", "Accept data in which most examples have a label of their own.", READ)
    on_error: OnError | None = option("--on-error", help="Malformed records: stop at the first (raise), or leave them out (skip) (default: raise).", panel=READ, metavar="HOW")
    decimal: Literal[".", ","] | None = option("--decimal", help="CSV and the like: what separates decimals, . or , (default: detected).", panel=READ, metavar="SIGN")
    encoding: str | None = option("--encoding", help="Encoding of text, such as latin-1, cp1252 or utf-16 (default: utf-8).", panel=READ, metavar="NAME")


class RuleOptions(Options):
    """The rule of the perceptron."""

    combine: Combine | None = option("--combine", help="Weights to predict with: average, recent, last, vote or pocket (default: average).", panel=LEARN, metavar="WHICH")
    window: float | None = option("--window", help="Number of recent examples that --combine recent averages over (default: 500).", panel=LEARN, metavar="N", min=2)
    step: Step | None = option("--step", help="Length of an update: constant, or computed from the loss: pa, pa1, pa2 or arow (default: constant).", panel=LEARN, metavar="RULE")
    eta0: float | None = option("--eta0", help="Learning rate for --step constant (default: 1).", panel=LEARN, metavar="ETA")
    C: float | None = option("--C", help="Aggressiveness of --step pa1, pa2 and arow (default: 1).", panel=LEARN, metavar="C")
    margin: float | str | None = option("--margin", help="Required margin: update unless the score is right by at least this much. A number, 0 for Rosenblatt's rule, or auto, which follows the scale of the data (default: auto).", panel=LEARN, metavar="M", parser=parse_number_or_auto)
    intercept_scaling: float | str | None = option("--intercept-scaling", help="Value of the constant feature whose weight is the bias: a number, or auto, which follows the scale of the data (default: auto).", panel=LEARN, metavar="X", parser=parse_number_or_auto)
    penalty: Literal["l2", "l1", "elasticnet"] | None = option("--penalty", help="Regularization: l2 (weight decay), l1 (makes most weights 0) or elasticnet, which is both (default: none).", panel=LEARN, metavar="NAME")
    alpha: float | None = option("--alpha", help="Strength of --penalty (default: 0.0001).", panel=LEARN, metavar="ALPHA")
    l1_ratio: float | None = option("--l1-ratio", help="Share of the L1 penalty in --penalty elasticnet (default: 0.15).", panel=LEARN, metavar="SHARE")
    batch_size: int | str | None = option("--batch-size", help="Number of examples per update, or all (default: 1).", panel=LEARN, metavar="N", parser=parse_batch_size)
    multiclass: Multiclass | None = option("--multiclass", help="Method for three or more classes: joint, one-vs-rest (ovr) or one-vs-one (ovo) (default: joint).", panel=LEARN, metavar="HOW")
    cost: str | None = option("--cost", help='Cost of each kind of mistake, as {"true class": {"predicted class": cost}}, or a JSON file (default: all mistakes cost the same).', panel=LEARN, metavar="JSON")
    class_weight: str | None = option("--class-weight", help='Weight of each class, as {"class": weight}, a JSON file, or balanced (default: 1 for every class).', panel=LEARN, metavar="JSON")
    init: Literal["zeros", "ones", "random"] | None = option("--init", help="Initial weights: zeros, ones or random (default: zeros).", panel=LEARN, metavar="HOW")
    keep_learning: KeepLearning | None = option("--keep-learning", help="How the averaged weights of a trained model learn from new examples: follow them and forget what is outdated, or average them with everything before (default: follow).", panel=LEARN, metavar="HOW")
    zero_score: Literal["mistake", "correct", "positive", "negative"] | None = option("--zero-score", help="Two classes: how training treats a score of exactly 0: as a mistake or as correct for both classes, or as a prediction of the positive or negative class (default: mistake).", panel=LEARN, metavar="WHAT")


class KernelOptions(Options):
    """The kernel perceptron."""

    kernel: Kernel | None = option("--kernel", help="Train a kernel perceptron, with a curved decision boundary: linear, poly, rbf, sigmoid, laplacian or cosine (default: no kernel).", panel=KERNELS, metavar="NAME")
    gamma: float | str | None = option("--gamma", help="Coefficient of the poly, rbf, sigmoid and laplacian kernels: a number, scale or auto (default: scale).", panel=KERNELS, metavar="G", parser=parse_gamma)
    degree: int | None = option("--degree", help="Degree of the poly kernel (default: 3).", panel=KERNELS, metavar="N")
    coef0: float | None = option("--coef0", help="Constant term of the poly and sigmoid kernels (default: 1).", panel=KERNELS, metavar="C0")
    budget: int | None = option("--budget", help="Keep at most this many support vectors (default: no limit).", panel=KERNELS, metavar="N")
    on_full: OnFull | None = option("--on-full", help="How to make room when the budget is used up: project, forget_oldest or remove_random (default: project).", panel=KERNELS, metavar="HOW")
    cache_size: float | None = option("--cache-size", help="Megabytes of kernel values to cache; affects speed only (default: 200).", panel=KERNELS, metavar="MB")


class StoppingOptions(Options):
    """When training stops."""

    epochs: int | None = option("--epochs", help="Make exactly N passes over the data, or fewer if a pass needs no update. Replaces --max-iter and --tol.", panel=STOP, metavar="N", min=1)
    max_iter: int | None = option("--max-iter", help="Maximum number of epochs (default: 1,000).", panel=STOP, metavar="N", min=1)
    tol: float | None = option("--tol", help="Stop when the averaged weights change by less than this share of their norm in an epoch; 0 disables this (default: 0.005).", panel=STOP, metavar="T", min=0)
    early_stopping: bool = flag("--early-stopping", "Stop when accuracy on held-out training examples no longer improves.", STOP)
    max_seconds: float | None = option("--max-seconds", help="Stop after this many seconds (default: no limit).", panel=STOP, metavar="S")


class CalibrationOptions(Options):
    """What is fitted on held-out training examples."""

    threshold: float | str | None = option("--threshold", help=f"Two classes: predict the second one for scores at or above this number; or choose the number on held-out training data (tune: the validation set) by {', '.join(THRESHOLDS)}, or by the cost of mistakes, as cost:JSON (default: 0).", panel=LEARN, metavar="HOW", parser=parse_threshold)
    probabilities: Literal["sigmoid", "temperature", "isotonic"] | None = option("--probabilities", help="Calibrate the scores on held-out training data (tune: the validation set), so that predict --probabilities works: sigmoid, temperature or isotonic (default: no probabilities).", panel=LEARN, metavar="HOW")


class LongRunOptions(Options):
    """Checkpoints and caches."""

    checkpoint: Path | None = option("--checkpoint", help="Save the state of the run to this file from time to time, so that --resume can continue.", panel=RUN, metavar="FILE")
    every: float | None = option("--every", help="Time between checkpoints: 90s, 5m (default: 60s).", panel=RUN, metavar="TIME", parser=parse_seconds)
    resume: bool = flag("--resume", "Continue from --checkpoint, if it exists, as if the run had never stopped.", RUN)
    cache: Path | None = option("--cache", help="Keep parsed data that do not fit in memory in this file, also for later runs.", panel=RUN, metavar="FILE")


class ClusterOptions(QuietOption, JsonOption):
    """Training in several processes or on several machines."""

    dask: str | None = option("--dask", help="Train on the cluster with this scheduler, such as tcp://host:8786; its workers read DATA.", panel=CLUSTER, metavar="ADDRESS")
    workers: int | None = option("--workers", help="Train on N processes of this machine.", panel=CLUSTER, metavar="N", min=1, max=1024)
    shards: int | None = option("--shards", help="Number of parts of DATA to train on at the same time (default: one per thread of the workers).", panel=CLUSTER, metavar="S", min=1)
    mixing: Literal["mistakes", "uniform"] | None = option("--mixing", help="Weight of each shard when the shards' models are averaged: by its mistakes, or uniform (default: mistakes).", panel=CLUSTER, metavar="HOW")
    verbose: bool = flag("--verbose", "Show a live progress bar while training.")


class SplitOptions(QuietOption, JsonOption):
    """A validation set, and a test set that is used once."""

    dev_share: float | None = option("--dev-share", help="Share of the examples to use as the validation set, by which hyperparameters are chosen (default: 0.2).", panel=SPLIT, metavar="SHARE")
    test_share: float | None = option("--test-share", help="Share of the examples to hold out as a test set; 0 holds none out (default: 0.2).", panel=SPLIT, metavar="SHARE")
    test: Path | None = option("--test", help="Use this file as the test set.", metavar="FILE")
    seed: int = option("--seed", help="Random seed for splitting and shuffling (default: 0).", panel=LEARN, metavar="N", default=0, min=0)
    force: bool = flag("--force", "Use a test set that was used before; the result says so.", SPLIT)
    ledger: Path | None = option("--ledger", help="File that records the uses of test sets (default: a file in the user's folder for program state).", panel=SPLIT, metavar="FILE")


class ExampleSplitOptions(SplitOptions):
    """How `tune` and `compare` split examples."""

    group_column: str | None = option("--group-column", help="Tables: keep examples with the same value in this column together when splitting, such as those of one patient.", panel=SPLIT, metavar="NAME")
    time_order: bool = flag("--time-order", "Split in the given order: the last examples are the test set, those before them the validation set.", SPLIT)
    metric: Metric = option("--metric", help=f"Metric to choose and test by: {', '.join(METRICS[:-1])} or {METRICS[-1]} (default: accuracy).", panel=SPLIT, metavar="NAME", default="accuracy")


class SearchOptions(Options):
    """What `tune` and `tag tune` share."""

    dev: Path | None = option("--dev", help="Use this file as the validation set, by which hyperparameters are chosen.", metavar="FILE")
    no_retrain: bool = flag("--no-retrain", "Do not train again on the training and validation sets together.", SPLIT)
    jobs: int = option("--jobs", help="Number of settings to try at the same time (default: 1).", panel=SPLIT, metavar="N", default=1, min=1)


class MaxExamplesOption(Options):
    """A limit for commands that need a sample only."""

    max_examples: int = option("--max-examples", help="Read at most this many examples (default: 200,000).", metavar="N", default=200_000, min=1)


# ---- the options of each command


class LookOptions(DataArgument, ReadingOptions, MaxExamplesOption, JsonOption):
    """Show what is in DATA before you train: columns, missing values, classes and likely problems.

    It reads tables as train does. It says which columns train leaves out, which columns give the label away, which rows
    are duplicates, and which command to try next.
    """


class TrainOptions(
    OptionalDataArgument, ReadingOptions, RuleOptions, CalibrationOptions, KernelOptions, StoppingOptions,
    LongRunOptions, ClusterOptions,
):
    """Train a perceptron, test it on examples it has not seen, and show the results.

    Without DATA, it trains on scikit-learn's handwritten digits. Data that fit in memory are loaded; larger data are
    used for training while they are read, with the same options.

    With --workers or --dask, it trains on shards of the files in several processes or machines, and averages.
    """

    output: Path | None = option("-o", "--output", help="Save the model to this file.", metavar="MODEL")
    from_model: Path | None = option("--from", help="Keep training this model instead of a new one: one pass over DATA, or --epochs. Its settings, scaling and hashing stay, except --combine and --keep-learning; new columns, categories and classes are learned.", metavar="MODEL")
    example: Literal["sms"] | None = option("--example", help="Train on data that come with the package: sms, text messages of which some are spam.", metavar="NAME")
    in_memory: int = option("--in-memory", help="Load data into memory if they take at most this much space there; train on larger data while reading them. 0 always trains while reading (default: 2GiB).", panel=READ, metavar="SIZE", default="2GiB", parser=parse_size)
    test: Path | None = option("--test", help="Use this file as the test set.", metavar="FILE")
    test_share: float | None = option("--test-share", help="Share of the examples to hold out as a test set; 0 holds none out (default: 0.2).", panel=SPLIT, metavar="SHARE")
    time_order: bool = flag("--time-order", "Split in the given order: the last examples are the test set.", SPLIT)
    folds: int | None = option("--folds", help="Cross-validation: test on each of K folds after training on the others, then train on all data (default: 5 if the examples are too few for a test set).", panel=SPLIT, metavar="K", min=2)
    metric: Metric = option("--metric", help=f"Metric to show for the folds besides accuracy: {', '.join(METRICS[1:-1])} or {METRICS[-1]} (default: accuracy only).", panel=SPLIT, metavar="NAME", default="accuracy")
    seed: int = option("--seed", help="Random seed for splitting and shuffling (default: 0).", panel=LEARN, metavar="N", default=0, min=0)
    classes: str | None = option("--classes", help="All classes. Ties go to the first one; of two classes, the first is the negative one (default: found while reading, sorted).", panel=LEARN, metavar="A,B,...")
    no_shuffle: bool = flag("--no-shuffle", "Do not shuffle: visit the examples in the order of DATA.", LEARN)
    no_intercept: bool = flag("--no-intercept", "Do not learn a bias.", LEARN)
    trace: int | None = option("--trace", help="Show the first N visits: the example, its score, and the weights after it.", metavar="N", min=1)


class PredictOptions(ModelArgument, OptionalDataArgument, ReadingOptions):
    """Print the predicted class of every example in DATA, one per line. DATA needs no labels.

    Several labels of one example are separated by commas, or as in the training data; with --json they are a list.

    Predictions are written while DATA is read, in constant memory. There is one output line per record; a record that
    --on-error skip leaves out has an empty label. For a folder of texts, the file name follows each label.
    """

    scores: bool = flag("--scores", "Add the scores, separated by tabs, below a header line. Scores are not probabilities.")
    probabilities: bool = flag("--probabilities", "Add the probability of every class, separated by tabs, below a header line. The model must be calibrated.")
    top: int | None = option("--top", help="Print the N labels with the highest scores, highest first, instead of the predicted labels.", metavar="N", min=1)
    output: Path | None = option("-o", "--output", help="Write to this file instead of standard output.", metavar="FILE")
    json: bool = flag("--json", "Print one JSON object per line instead of text.")


class EvaluateOptions(ModelArgument, DataArgument, ReadingOptions, JsonOption):
    """Compare the predictions for DATA with its labels: accuracy, precision, recall, F1 and confusion matrix.

    For several labels per example, it shows micro and macro F1, Hamming loss, subset accuracy and precision at k.

    Data of any size are read block by block, in the same way as for training.
    """


class InspectOptions(ModelArgument, ReadingOptions, JsonOption):
    """Show how a model was trained, why training stopped, and its most important weights.

    For a kernel model, it shows the support vectors with the largest coefficients; for a tagger, also transitions. With
    --data, it also says whether weights can be compared, and --example N explains one prediction.
    """

    top: int = option("--top", help="Number of weights or support vectors to show per class (default: 10).", metavar="N", default=10, min=1)
    label: str | None = option("--class", help="Show only this class, or the pair 'A vs B'.", metavar="LABEL")
    data: list[Path] | None = option("--data", help="Examples to compute feature scales and votes from. --example needs them.", metavar="DATA")
    example: int | None = option("--example", help="Explain the prediction for the N-th example of DATA.", metavar="N", min=1)
    collisions: bool = flag("--collisions", "Hashed features: show the columns with a weight that several features share.")


class DiagnoseOptions(DataArgument, ReadingOptions, JsonOption):
    """Decide whether the classes of DATA are linearly separable, with a proof, and show what makes training hard.

    Shows the margin, the radius, the mistake bound, the scales of the features, and identical rows with different
    labels.
    """

    max_seconds: float = option("--max-seconds", help="Time limit in seconds, half of it for the proof (default: 60).", metavar="S", default=60.0)
    certificate: Path | None = option("--certificate", help="Write the proof to this file, as JSON.", metavar="FILE")
    no_intercept: bool = flag("--no-intercept", "Consider only hyperplanes through the origin (no bias).")


class TuneOptions(DataArgument, ReadingOptions, ExampleSplitOptions, SearchOptions, CalibrationOptions):
    """Tune hyperparameters on a validation set, train with the best ones, and test the model once.

    The data are split into a training set, a validation set to choose hyperparameters by, and a test set that is used
    once, at the end. One run per setting finds the number of epochs. A second use of the same test set is refused
    unless you give --force; the results and the model then say so. Running the same command again is allowed.
    """

    output: Path | None = option("-o", "--output", help="Save the model to this file.", metavar="MODEL")
    folds: int | None = option("--folds", help="Cross-validation: choose hyperparameters by their mean score over K folds instead of one validation set.", panel=SPLIT, metavar="K", min=2)
    grid: str | None = option("--grid", help='Hyperparameter values to try, as {"C": [0.1, 1]}, or a JSON file (default: a built-in grid).', panel=SPLIT, metavar="JSON")
    combine: Combine | None = option("--combine", help="Weights to predict with: average, recent, last, vote or pocket (default: average).", panel=LEARN, metavar="WHICH")
    kernel: Kernel | None = option("--kernel", help="Train a kernel perceptron, with a curved decision boundary: linear, poly, rbf, sigmoid, laplacian or cosine (default: no kernel).", panel=KERNELS, metavar="NAME")
    max_iter: int | None = option("--max-iter", help="Maximum number of epochs (default: 1,000).", panel=STOP, metavar="N", min=1)


class CompareOptions(OptionalDataArgument, ReadingOptions, ExampleSplitOptions):
    """Compare the perceptron's variants with naive Bayes, logistic regression, linear SVM, least squares and ridge.

    All learners get the same training, validation and test sets. Each is tuned on the validation set and tested once.
    The table shows the test score with its confidence interval, significance, time and size. A second use of the same
    test set is refused unless you give --force; the result then says so. Running the same command again is allowed.
    """

    learner: list[str] | None = option("--learner", help="Compare only this learner, such as average, arow, kernel, logistic, svm. May be repeated.", panel=SPLIT, metavar="NAME")
    max_seconds: float | None = option("--max-seconds", help="Time limit in seconds for tuning each learner; slower learners are left out (default: no limit).", metavar="S")
    demo: Literal["too-correct", "copied-features"] | None = option("--demo", help="Run a demonstration, too-correct or copied-features, with data that mislead other linear models.", panel=SPLIT, metavar="NAME")


class ReportOptions(ModelArgument, DataArgument, MaxExamplesOption, ReadingOptions, QuietOption):
    """Write one HTML page about a model and labelled DATA: scores, mistakes, features, margins and a proof.

    The page is a single file without external resources. Use data that the model was not trained on.
    """

    output: Path = option("-o", "--output", help="Write the page to this file (default: report.html).", metavar="PAGE", default=Path("report.html"))
    features: tuple[str, str] | None = option("--features", help="Draw the decision boundary in the plane of these two features.", metavar="A B")
    image_shape: str | None = option("--image-shape", help="Treat the features as pixels of images of this shape (default: guessed).", metavar="ROWSxCOLUMNS")
    no_images: bool = flag("--no-images", "Do not treat the features as pixels.")
    title: str | None = option("--title", help="Title of the page (default: the names of MODEL and DATA).", metavar="TEXT")
    max_seconds: float = option("--max-seconds", help="Time limit in seconds for the proof and the mistake bound (default: 10).", metavar="S", default=10.0)


class LabOptions(OptionalDataArgument, ReadingOptions, QuietOption):
    """Write a page on which a perceptron learns step by step, and open it in the browser.

    The page is one HTML file with everything inside, to try rules and data, and to hand out. With DATA it starts with
    these examples, in two features or two principal components; their units stay as they are.
    """

    output: Path = option("-o", "--output", help="Write the page to this file (default: lab.html).", metavar="PAGE", default=Path("lab.html"))
    no_open: bool = flag("--no-open", "Do not open the page in the browser.")


class ExportedFileArgument(Options):
    """The file to write."""

    exported: Path = argument("File to write; its extension selects the format: .onnx or .json.", metavar="FILE", required=True)


class ExportOptions(ModelArgument, ExportedFileArgument, JsonOption, QuietOption):
    """Export MODEL for other programs: FILE.onnx (an ONNX graph) or FILE.json (weights by name)."""

    inputs: Literal["raw", "columns"] = option("--inputs", help="Input of the exported model: raw examples, as MODEL takes them, or columns, for rows that are prepared elsewhere (default: raw).", metavar="WHAT", default="raw")


class ServeOptions(QuietOption):
    """Serve MODEL over HTTP: it predicts, keeps learning, and loses nothing that it acknowledged.

    Examples are in a log on disk before the server acknowledges them, so a server that was killed restarts with the
    same model. The page at / shows the progressive error, and /docs describes the API.
    """

    model: Path | None = argument("Model file to start with. Without one, the server starts with an empty model, or with the one in --data.", metavar="MODEL")
    data: Path | None = option("--data", help="Folder for the log and the snapshots (default: MODEL.served).", metavar="DIR")
    combine: Combine | None = option("--combine", help="Weights to predict with, at the first start with MODEL: average, recent, last, vote or pocket (default: those of the model).", panel=LEARN, metavar="WHICH")
    keep_learning: KeepLearning | None = option("--keep-learning", help="How the averaged weights of MODEL learn from new examples, at the first start: follow them and forget what is outdated, or average them with everything before (default: as in the model).", panel=LEARN, metavar="HOW")
    host: str = option("--host", help="Address to listen on. An address that other machines can reach needs --token-file (default: 127.0.0.1).", panel=SERVER, metavar="HOST", default="127.0.0.1")
    port: int = option("--port", help="Port to listen on; 0 selects a free one (default: 8080).", panel=SERVER, metavar="N", default=8080, min=0, max=65535)
    token_file: Path | None = option("--token-file", help="Require the token in this file with every request (default: no token).", panel=SERVER, metavar="FILE")
    tls_cert: Path | None = option("--tls-cert", help="Certificate file for HTTPS (default: HTTP).", panel=SERVER, metavar="FILE")
    tls_key: Path | None = option("--tls-key", help="File with the private key of the certificate.", panel=SERVER, metavar="FILE")
    follow: str | None = option("--follow", help="Follow the server at this URL: copy what it learns, and only predict (default: learn).", panel=SERVER, metavar="URL")
    leader_token_file: Path | None = option("--leader-token-file", help="File with the token of the server to follow (default: --token-file).", panel=SERVER, metavar="FILE")
    accept_older: bool = flag("--accept-older", "Follow a leader that has less than this server, or other examples: move the log and the snapshots here to a folder beside them, and begin again with the model of the leader.", SERVER)
    no_sync: bool = flag("--no-sync", "Do not wait for the disk before answering. This is faster, but a power failure may lose the last examples.", DURABLE)
    snapshot_every: int = option("--snapshot-every", help="Number of learned examples between two snapshots (default: 100,000).", panel=DURABLE, metavar="N", default=100_000, min=1)
    keep_log: int = option("--keep-log", help="Size up to which old parts of the log are kept (default: 1GiB).", panel=DURABLE, metavar="SIZE", default="1GiB", parser=parse_size)
    repair: bool = flag("--repair", "Move the damaged part of the log and everything after it aside, and exit.", DURABLE)
    max_body: int = option("--max-body", help="Maximum size of a request (default: 16MiB).", panel=LIMITS, metavar="SIZE", default="16MiB", parser=parse_size)
    max_examples: int = option("--max-examples", help="Maximum number of examples in one request (default: 10,000).", panel=LIMITS, metavar="N", default=10_000, min=1)
    max_queue: int = option("--max-queue", help="Maximum number of examples that wait to be learned; further requests get status 429 (default: 50,000).", panel=LIMITS, metavar="N", default=50_000, min=1)
    max_features: int = option("--max-features", help="Maximum number of features of the model (default: 16,777,216).", panel=LIMITS, metavar="N", default=2**24, min=1)
    max_classes: int = option("--max-classes", help="Maximum number of classes of the model (default: 1,000).", panel=LIMITS, metavar="N", default=1000, min=1)


class WarmupOptions(JsonOption):
    """Compile the code that the usual commands need, so that their first run is as fast as later ones.

    It runs train, predict, evaluate, diagnose and tag on small files with example data.
    The compiled code is saved where later runs look for it: in NUMBA_CACHE_DIR if it is set.
    """


# fmt: on

READING = field_names(ReadingOptions)
RULE = field_names(RuleOptions)
LINEAR_ONLY = ("window", "step", "C", "margin", "intercept_scaling", "penalty", "alpha", "l1_ratio", "batch_size", "cost", "init", "zero_score", "keep_learning")  # fmt: skip
KEPT_LEARNING = ("combine", "keep_learning")  # of the rule, what a trained model may change when it learns more
KERNEL_PARAMETERS = field_names(KernelOptions)
CLUSTER_PARAMETERS = ("dask", "workers", "shards", "mixing")
LONG_RUN = field_names(LongRunOptions)
NOT_WITH_FROM = (*(name for name in RULE if name not in KEPT_LEARNING), *KERNEL_PARAMETERS, *LONG_RUN, *CLUSTER_PARAMETERS, "classes", "example", "no_intercept")  # fmt: skip
REPEATED_BY_TRAIN = (  # in suggested commands, in this order
    "from_model", "example", "format", "test", "test_share", "time_order", "folds", "metric", *READING, *RULE,
    "threshold", "probabilities", *KERNEL_PARAMETERS, *field_names(StoppingOptions), "classes", *CLUSTER_PARAMETERS,
    "in_memory", "no_shuffle", "no_intercept", "seed",
)  # fmt: skip
