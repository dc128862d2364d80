"""What each option of the Perceptron does on real data: a small table an option, for the pages that explain them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_score, recall_score
from sklearn.svm import LinearSVC

from benchmarks import datasets, peers, results
from perceptrons import Perceptron
from perceptrons.online import progressive

EPOCHS = 10
SEEDS = 3
ROWS = {"mnist": 10_000}  # training rows of a set that is cut short
QUICK = 500
IMBALANCED = (
    ("a9a", 0.006), ("a9a", 0.02), ("adult", 0.006), ("mushrooms", 0.006), ("rcv1-vw-sample", 0.006),
    ("sms-spam", 0.01),
)  # fmt: skip
BINARY, SEVERAL = ("a9a", "sms-spam", "rt-polarity"), ("letter-scaled", "mnist", "20news-bydate")
NOTE = (
    f"Accuracy on the test rows after {EPOCHS} epochs, in %, of the averaged weights / of the last weights of the same "
    f"fits; the mean of {SEEDS} seeds. s: the least seconds of a fit. mnist: {ROWS['mnist']:,} random rows of it."
)

Rows = list[dict[str, Any]]  # a table: columns by name, the same in every row


class Sets:
    """The data sets, each read when it is first asked for, its training rows in a random order."""

    def __init__(self, quick: bool):
        self.quick = quick
        self.read: dict[str, datasets.Split] = {}

    def __getitem__(self, name: str) -> datasets.Split:
        if name not in self.read:
            self.read[name] = datasets.shuffled(datasets.load(name), QUICK if self.quick else ROWS.get(name))
        return self.read[name]


def run(quick: bool) -> None:
    sets = Sets(quick)
    found = {}
    for option, (_, measure) in OPTIONS.items():
        found[option] = measure(sets)
        print(f"{option}: measured", flush=True)
    tables = {option: describe(rows) for option, rows in found.items()}
    parts = [NOTE, *[f"### {option}\n\n{OPTIONS[option][0]}\n\n{table}" for option, table in tables.items()]]
    summaries = {f"options {option}": table for option, table in tables.items()}
    results.write("options", found, "\n\n".join(parts), summaries, quick)


def describe(rows: Rows) -> str:
    return results.table(list(rows[0]), [[_shown(name, cell) for name, cell in row.items()] for row in rows])


def _shown(column: str, cell: Any) -> Any:
    """Percents and counts to one digit after the point, two of them with a stroke between; seconds as they are."""
    if isinstance(cell, tuple):
        return " / ".join(f"{value:.1f}" for value in cell)
    return f"{cell:.1f}" if isinstance(cell, float) and not column.endswith(", s") else cell


# ---- fitting and judging


def fitted(split: datasets.Split, judge: Callable[[Perceptron], Any], **parameters: Any) -> tuple[np.ndarray, float]:
    """What judge says of the fitted model, the mean over the seeds, and the least seconds of a fit."""
    verdicts, seconds = [], []
    for seed in range(SEEDS):
        model = Perceptron(
            **{"margin": None, "intercept_scaling": 1, **parameters}, max_iter=EPOCHS, tol=None, random_state=seed
        )
        seconds.append(peers.timed(lambda model=model: model.fit(split.X_train, split.y_train))[1])
        verdicts.append(judge(model))
    return np.mean(verdicts, axis=0), min(seconds)


def accuracies(model: Perceptron, split: datasets.Split) -> list[float]:
    """Of the averaged and of the last weights, in percent."""
    ways = ("average", "last")
    return [100 * model.set_params(combine=way).score(split.X_test, split.y_test) for way in ways]


def compare(
    sets: Sets,
    names: tuple[str, ...],
    choices: dict[str, dict[str, Any]],
    judge: Callable[[Perceptron, datasets.Split], list[float]] = accuracies,
    heads: tuple[str, ...] = (),
    timed: bool = False,
) -> Rows:
    """A row a choice of parameters; for every data set what judge says, in one column or under heads, and seconds."""
    rows = []
    for title, parameters in choices.items():
        row: dict[str, Any] = {"": title}
        for name in names:
            split = sets[name]
            means, seconds = fitted(split, lambda model, split=split: judge(model, split), **parameters)
            if heads:
                row |= {f"{name}: {head}": mean for head, mean in zip(heads, means.tolist(), strict=True)}
            else:
                row[name] = tuple(means.tolist())
            if timed:
                row[f"{name}, s"] = seconds
        rows.append(row)
    return rows


# ---- one function an option


def margin(sets: Sets) -> Rows:
    return compare(sets, BINARY + SEVERAL, {f"margin={m:g}": {"margin": m} for m in (0.0, 0.1, 1.0, 10.0)})


def step(sets: Sets) -> Rows:
    choices: dict[str, dict[str, Any]] = {"constant": {}, "constant, margin=1": {"margin": 1.0}, "pa": {"step": "pa"}}
    for name in ("pa1", "pa2", "arow"):
        choices |= {f"{name}, C={C:g}": {"step": name, "C": C} for C in (1.0, 0.01)}
    return compare(sets, BINARY + SEVERAL, choices)


def batch_size(sets: Sets) -> Rows:
    choices = {f"batch_size={size!r}": {"batch_size": size} for size in (1, 32, 256, "all")}
    return compare(sets, ("a9a", "mnist", "20news-bydate"), choices, timed=True)


def multiclass(sets: Sets) -> Rows:
    return compare(sets, SEVERAL, {way: {"multiclass": way} for way in ("joint", "ovr", "ovo")}, timed=True)


def penalty(sets: Sets) -> Rows:
    """The stream in the order of time, every example predicted before it is learned; then sets without time."""
    parts = datasets.load("elec2")
    X, y = np.vstack([parts.X_train, parts.X_test]), np.concatenate([parts.y_train, parts.y_test])
    if sets.quick:
        X, y = X[:QUICK], y[:QUICK]
    values: dict[str, dict[str, Any]] = {"none": {}}
    values |= {f"l2, {alpha:g}": {"penalty": "l2", "alpha": alpha} for alpha in (1e-6, 1e-5, 1e-4, 1e-3)}
    values |= {f"l1, {alpha:g}": {"penalty": "l1", "alpha": alpha} for alpha in (1e-6, 1e-5, 1e-4, 1e-3)}
    still = compare(sets, ("a9a", "rt-polarity", "mnist", "20news-bydate"), values)
    rows = []
    for value, row in zip(values.values(), still, strict=True):
        right = []
        for way in ("average", "last"):
            progress = progressive(
                Perceptron(margin=0, intercept_scaling=1, combine=way, **value), zip(X, y.tolist(), strict=True)
            )
            right.append(100 * (1 - progress.error))
        rows.append({"penalty, alpha": row.pop(""), "elec2, a stream": tuple(right), **row})
    same = 100 * float(np.mean(y[1:] == y[:-1]))
    blank = dict.fromkeys(rows[0], "")
    return [*rows, {**blank, "penalty, alpha": "the label before", "elec2, a stream": same}]


def cost(sets: Sets) -> Rows:
    choices: dict[str, dict[str, Any]] = {"no cost": {}, "margin=1": {"margin": 1.0}}
    for c in (1.0, 10.0, 100.0):
        choices[f"cost={{0: {{1: {c:g}}}, 1: {{0: {c / 10:g}}}}}"] = {"cost": {0: {1: c}, 1: {0: c / 10}}}
    choices["class_weight={0: 1, 1: 0.1}"] = {"class_weight": {0: 1.0, 1: 0.1}}

    def errors(model: Perceptron, split: datasets.Split) -> list[float]:
        wrong = model.predict(split.X_test) - split.y_test
        alarms, misses = np.sum(wrong == 1), np.sum(wrong == -1)
        return [alarms, misses, 10 * alarms + misses]

    heads = ("false alarms", "misses", "total cost")
    return compare(sets, ("sms-spam", "a9a"), choices, errors, heads)


def class_weight(sets: Sets) -> Rows:
    choices: dict[str, dict[str, Any]] = {
        "None": {},
        '"balanced"': {"class_weight": "balanced"},
        **{f"{{0: {w:g}}}": {"class_weight": {0: w, 1: 1.0}} for w in (0.15, 0.024)},
    }

    def figures(model: Perceptron, split: datasets.Split) -> list[float]:
        true, predicted = split.y_test, model.predict(split.X_test)
        measures = (recall_score, precision_score, f1_score, balanced_accuracy_score)
        return [100 * measure(true, predicted) for measure in measures]

    heads = ("recall", "precision", "F1", "balanced accuracy")
    return compare(sets, ("uci/mammography", "sms-spam"), choices, figures, heads)


def imbalance(sets: Sets) -> Rows:
    """Balanced accuracy where the training rows of the rare class are thinned out, beside others that balance."""
    learners: dict[str, Callable[[int], Any]] = {
        "None": lambda seed: Perceptron(margin=0, intercept_scaling=1, random_state=seed),
        '"balanced"': lambda seed: Perceptron(
            margin=0, intercept_scaling=1, random_state=seed, class_weight="balanced"
        ),
        '"balanced", step="pa1"': lambda seed: Perceptron(
            margin=None, intercept_scaling=1, random_state=seed, step="pa1", class_weight="balanced"
        ),
        "sklearn SGD, average, balanced": lambda seed: SGDClassifier(
            average=True, random_state=seed, class_weight="balanced"
        ),
        "sklearn LinearSVC, balanced": lambda seed: LinearSVC(random_state=seed, class_weight="balanced"),
    }
    rows: Rows = [{"": title} for title in learners]
    for name, share in IMBALANCED:
        split = sets[name]
        figures: list[list[float]] = [[] for _ in learners]
        for seed in range(SEEDS):
            X, y = thinned(split, share, seed)
            for make, found in zip(learners.values(), figures, strict=True):
                predicted = make(seed).fit(X, y).predict(split.X_test)
                found.append(100 * balanced_accuracy_score(split.y_test, predicted))
        for row, found in zip(rows, figures, strict=True):
            row[f"{name}, {100 * share:g}%"] = float(np.mean(found))
    return rows


def thinned(split: datasets.Split, share: float, seed: int) -> tuple[Any, np.ndarray]:
    """The training rows with so few of class 1, chosen at random, that they are this share of all; in random order."""
    rng = np.random.default_rng(seed)
    of_rest, of_one = np.flatnonzero(split.y_train != 1), np.flatnonzero(split.y_train == 1)
    kept = min(len(of_one), max(1, round(share * len(of_rest) / (1 - share))))
    rows = rng.permutation(np.concatenate([of_rest, rng.choice(of_one, kept, replace=False)]))
    return split.X_train[rows], split.y_train[rows]


OPTIONS: dict[str, tuple[str, Callable[[Sets], Rows]]] = {
    "margin": ("How far the right class must lead.", margin),
    "cost": (
        "Number of errors on the test rows, where a false alarm (1 for 0: ham taken for spam) costs 10 and a miss 1. "
        "A cost is a margin, so its scale is that of the scores.",
        cost,
    ),
    "penalty": (
        "elec2 is predicted example by example in the order of time; the other sets stand still. The label before: the "
        "accuracy of always saying what the last example was.",
        penalty,
    ),
    "batch_size": ("One update an example, or one a batch.", batch_size),
    "multiclass": ("All classes at once, one problem a class, one problem a pair of classes.", multiclass),
    "step": ("How far an update goes.", step),
    "class_weight": (
        "Of the rare class 1 (2% of uci/mammography, 13% of sms-spam), in %. The dicts have about the weights that "
        '"balanced" finds on sms-spam and on mammography.',
        class_weight,
    ),
    "imbalance": (
        f"Balanced accuracy in %, the mean of {SEEDS} seeds, where class 1 is thinned out to this share of the "
        "training rows. Default stopping rules.",
        imbalance,
    ),
}
