"""The options of `perceptrons train`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perceptrons.cli.options import (
    LEARN,
    METRICS,
    READ,
    SPLIT,
    CalibrationOptions,
    ClusterOptions,
    KernelOptions,
    LongRunOptions,
    Metric,
    OptionalDataArgument,
    ReadingOptions,
    RuleOptions,
    StoppingOptions,
    flag,
    option,
    parse_size,
)

# fmt: off


@dataclass(frozen=True, kw_only=True)
class TrainOptions(
    OptionalDataArgument, ReadingOptions, RuleOptions, CalibrationOptions, KernelOptions, StoppingOptions,
    LongRunOptions, ClusterOptions,
):
    """The options of `perceptrons train`."""

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

# fmt: on
