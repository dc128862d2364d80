"""The options that the commands for taggers share, one per line: see `perceptrons.cli.options`."""

from pathlib import Path
from typing import Literal

from perceptrons.cli.options import (
    COLUMNS,
    LEARN,
    SPLIT,
    STOP,
    ClusterOptions,
    JsonOption,
    Options,
    SearchOptions,
    SplitOptions,
    argument,
    flag,
    option,
)

ColumnFormat = Literal["columns", "conllu"]
TaggerMetric = Literal["phrase_f1", "accuracy"]
TaggerCombine = Literal["average", "last"]
TaggerStep = Literal["constant", "pa1"]
TaggerCost = Literal["hamming"]
Scheme = Literal["bio", "bioes"]
StrictScheme = Literal["IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"]
OnBadLabel = Literal["raise", "skip", "repair"]

# fmt: off


class TokenFileOptions(Options):
    """How FILE, with one token per line, is read."""

    file: Path = argument("File with one token per line, its columns side by side, and blank lines between sentences; also .gz, .xz, .bz2; - for standard input.", metavar="FILE", required=True)
    format: ColumnFormat | None = option("--format", help="Format of FILE: columns or conllu (default: detected).", panel=COLUMNS, metavar="FORMAT")
    separator: str | None = option("--separator", help="Separator of the columns: tab, space, whitespace (any run of tabs and spaces), or any text (default: detected).", panel=COLUMNS, metavar="TEXT")
    encoding: str = option("--encoding", help="Encoding of FILE, such as latin-1 (default: utf-8).", panel=COLUMNS, metavar="NAME", default="utf-8")
    comments: bool = flag("--comments", "Treat lines that start with # as comments, as in CoNLL-U.", COLUMNS)


class LabelledFileOptions(TokenFileOptions):
    """How FILE with labels is read."""

    label: str | None = option("--label", help="Column of the labels: a number from 1, -1 for the last, or a name in CoNLL-U (default: the last; upos in CoNLL-U).", panel=COLUMNS, metavar="COLUMN")
    columns: str | None = option("--columns", help="Columns to learn from, such as 1,2 or form,xpos (default: those left of the label; form in CoNLL-U).", panel=COLUMNS, metavar="COLUMNS")


class TaggerOptions(LabelledFileOptions):
    """What `tag train` and `tag tune` share."""

    output: Path | None = option("-o", "--output", help="Save the tagger to this file.", metavar="MODEL")
    templates: str | None = option("--templates", help="Templates that make features of a token: words, chunking, or a file with one template per line, such as word[-1]|word[0] (default: a rich set for the given columns).", panel=LEARN, metavar="WHICH")
    allowed: Scheme | None = option("--allowed", help="Allow only label sequences of this scheme: bio or bioes (default: any sequence).", panel=LEARN, metavar="SCHEME")
    on_bad_label: OnBadLabel = option("--on-bad-label", help="How to handle a label that --allowed forbids, such as I-NP after O: raise an error, skip its sentence, or repair it (I-NP becomes B-NP) (default: raise).", panel=LEARN, metavar="WHAT", default="raise")
    combine: TaggerCombine | None = option("--combine", help="Weights to predict with: average or last (default: average).", panel=LEARN, metavar="WHICH")
    cost: TaggerCost | None = option("--cost", help="hamming: require a margin that grows by 1 with every wrong label (default: no cost).", panel=LEARN, metavar="COST")
    min_count: int | None = option("--min-count", help="Use only features that occur at least N times (default: 1).", panel=LEARN, metavar="N", min=1)
    hash_bits: int | None = option("--hash-bits", help="Hash features to 2^B columns, which bounds memory but loses feature names (default: no hashing).", panel=LEARN, metavar="B")


class TaggerTrainingOptions(Options):
    """What `tag train` alone has."""

    resume: Path | None = option("--resume", help="Keep training this tagger, on the same FILE or another.", metavar="MODEL")
    test: Path | None = option("--test", help="Use this file as the test set.", metavar="FILE")
    test_share: float | None = option("--test-share", help="Share of the sentences to hold out as a test set (default: 0.1).", metavar="SHARE", min=0, max=0.9)
    seed: int | None = option("--seed", help="Random seed for splitting and shuffling (default: 0).", metavar="N", min=0)
    step: TaggerStep | None = option("--step", help="Length of an update: constant, or computed from the loss: pa1 (default: constant).", panel=LEARN, metavar="RULE")
    C: float | None = option("--C", help="Aggressiveness of --step pa1 (default: 1).", panel=LEARN, metavar="C")
    margin: float | None = option("--margin", help="Required margin: update unless the score of the true labels leads by this much (default: 0; 1 for --step pa1).", panel=LEARN, metavar="M")
    max_iter: int | None = option("--max-iter", help="Maximum number of epochs of this run (default: 10).", panel=STOP, metavar="N", min=1)
    tol: float | None = option("--tol", help="Stop when the averaged weights change by less than this share of their norm in an epoch (default: never).", panel=STOP, metavar="T", min=0)
    early_stopping: bool = flag("--early-stopping", "Stop when the score on held-out training sentences, or on --dev, no longer improves, and keep the best epoch.", STOP)
    dev: Path | None = option("--dev", help="Use this file as the validation set for --early-stopping (default: a tenth of the training sentences).", panel=STOP, metavar="FILE")
    metric: TaggerMetric | None = option("--metric", help="Metric for --early-stopping: phrase_f1, or accuracy of tokens (default: phrase_f1 if labels mark phrases, such as B-NP, else accuracy).", panel=STOP, metavar="NAME")
    max_seconds: float | None = option("--max-seconds", help="Stop after this many seconds (default: no limit).", panel=STOP, metavar="S")


class TaggerArgument(Options):
    """The model file of a tagger."""

    model: Path = argument("Model file of a tagger, as written by tag train -o.", metavar="MODEL", required=True)


class MatchingColumnsOption(Options):
    """The columns that a tagger reads, in another file."""

    columns: str | None = option("--columns", help="Columns of FILE that correspond to those the tagger was trained on, such as 1,2 or form,xpos (default: the same columns).", panel=COLUMNS, metavar="COLUMNS")


# ---- the options of each command


class TagTrainOptions(TaggerOptions, TaggerTrainingOptions, ClusterOptions):
    """Train a tagger, test it on sentences it has not seen, and show the results.

    FILE has a format like CoNLL-2000, CoNLL-2003, CoNLL-U or WNUT. The label is in the last column, unless you give
    --label.

    With --workers or --dask, it trains on shards of the sentences in several processes or machines, and averages their
    weights.
    """


class TagTuneOptions(TaggerOptions, SearchOptions, SplitOptions):
    """Tune the hyperparameters of a tagger on a validation set, train it with the best ones, and test it once.

    The sentences are split into a training set, a validation set to choose hyperparameters by, and a test set that is
    used once, at the end. One run per setting finds the number of epochs. A second use of the same test set is refused
    unless you give --force; the results and the tagger then say so.
    """

    time_order: bool = flag("--time-order", "Split in the given order: the last sentences are the test set, those before them the validation set.", SPLIT)
    metric: TaggerMetric | None = option("--metric", help="Metric to choose and test by: phrase_f1, or accuracy of tokens (default: phrase_f1 if labels mark phrases, such as B-NP, else accuracy).", panel=SPLIT, metavar="NAME")
    grid: str | None = option("--grid", help='Hyperparameter values to try, as {"margin": [0, 10], "templates": ["words"]}, or a JSON file (default: several margins, and --step pa1).', panel=SPLIT, metavar="JSON")
    max_iter: int = option("--max-iter", help="Maximum number of epochs; smaller numbers are evaluated in the same run (default: 20).", panel=STOP, metavar="N", default=20, min=1)


class TagPredictOptions(TaggerArgument, MatchingColumnsOption, TokenFileOptions, JsonOption):
    """Write FILE again with a label for every token. FILE needs only the columns that the tagger was trained on.

    With --confidence, another last column holds the lead of each label over the second best label. Everything else
    stays as it is, byte for byte. OUTPUT is compressed if its name ends in .gz, .xz or .bz2.
    """

    into: str | None = option("--into", help="Write labels into this column, by number or name (default: a new last column; in CoNLL-U the column that the tagger was trained on).", metavar="COLUMN")
    output: Path | None = option("-o", "--output", help="Write to this file instead of standard output.", metavar="OUTPUT")
    confidence: bool = flag("--confidence", "Add the lead of each label over the second best label; with --json also the lead of each sentence's labelling over the second best. Leads are not probabilities.")


class TagEvaluateOptions(TaggerArgument, MatchingColumnsOption, LabelledFileOptions, JsonOption):
    """Compare a tagger's labels with those of FILE: accuracy, also on new words, precision, recall, F1, confusions.

    Chunks and names, labelled as B-NP, I-NP and O, are counted as phrases: as conlleval does, or strictly with
    --scheme.
    """

    scheme: StrictScheme | None = option("--scheme", help="Count only phrases labelled exactly by this scheme, as seqeval's strict mode does: IOB1, IOB2, IOE1, IOE2, IOBES or BILOU (default: count as conlleval does).", panel=COLUMNS, metavar="SCHEME")


# fmt: on
