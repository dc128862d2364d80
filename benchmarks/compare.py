"""`perceptrons.selection.compare` on five sets: perceptrons and other models, all tuned alike and tested once.

Each set has the test part that it came with, or a seeded fifth; a fifth of the rest is the validation set.
"""

import time
from typing import Any

from benchmarks import datasets, results
from perceptrons.selection import LEARNERS, Compared, compare

DATA = ("sms-spam", "rt-polarity", "a9a", "usps", "letter-scaled")
QUICK = 600  # training rows
SECONDS = 30.0  # to tune each learner


def run(quick: bool) -> None:
    found: list[tuple[str, Compared]] = []
    seconds = {}
    for name in DATA:
        split = datasets.shuffled(datasets.load(name), QUICK if quick else None)
        began = time.perf_counter()
        test = (split.X_test, split.y_test)
        found.append((name, compare(split.X_train, split.y_train, test=test, max_seconds=SECONDS, tell=_progress)))
        seconds[name] = time.perf_counter() - began
        print(f"{name}: {seconds[name]:.0f} s", flush=True)
    sets = [{"name": name, "seconds": seconds[name], **one.to_dict()} for name, one in found]
    parts = [accuracies(found), ahead(found), *(details(name, one) for name, one in found)]
    marks = {"compare": accuracies(found), "compare-costs": costs(found), "compare-why": ahead(found)}
    results.write("compare", {"sets": sets}, "\n\n".join([parts[0], costs(found), *parts[1:]]), marks, quick)


def _progress(line: str) -> None:
    print(f"  {line}", flush=True)


def accuracies(found: list[tuple[str, Compared]]) -> str:
    """A row a learner, a column a set; the best in bold, those not significantly worse with a plus."""
    lines = []
    for learner in LEARNERS:
        cells = [_accuracy(one, learner) for _, one in found]
        lines.append([_titles(found)[learner], *cells])
    head = ["test accuracy in %", *(name for name, _ in found)]
    half = [f"{100 * (one.best.interval.high - one.best.interval.low) / 2:.1f}" for _, one in found]
    sizes = [f"{one.sizes['train'] + one.sizes['dev']:,} / {one.sizes['test']:,}" for _, one in found]
    return results.table(head, [*lines, ["interval of the best, ±", *half], ["examples learned from / tested", *sizes]])


def _titles(found: list[tuple[str, Compared]]) -> dict[str, str]:
    """What learners are called where naive Bayes is of several kinds."""
    titles = {row.name: row.what for _, one in found for row in one.rows}
    return {name: titles.get(name, name) for name in LEARNERS} | {"naive_bayes": "naive Bayes"}


def _accuracy(one: Compared, learner: str) -> str:
    if learner in one.left_out:
        return "left out"
    row = one.row(learner)
    figure = f"{100 * row.score:.2f}"
    return f"**{figure}**" if row is one.best else figure if row.worse else f"{figure} +"


def costs(found: list[tuple[str, Compared]]) -> str:
    """The final fit, and 1,000 answers, on every set."""
    lines = []
    for learner in LEARNERS:
        cells: list[Any] = []
        for _, one in found:
            row = None if learner in one.left_out else one.row(learner)
            spent = () if row is None else (row.training_seconds, 1000 * row.prediction_seconds)
            cells.append(" / ".join(f"{one:.2g}" if one < 100 else f"{one:,.0f}" for one in spent) or "-")
        lines.append([_titles(found)[learner], *cells])
    return results.table(["learned in s / 1,000 answers in ms", *(name for name, _ in found)], lines)


def ahead(found: list[tuple[str, Compared]]) -> str:
    """What `explain` says of each set: the best, the families, and the boundary."""
    lines = []
    for name, one in found:
        said = [line for line in one.explain().splitlines() if line.startswith(("A relative", "No relative", "A curved",
                                                                                "A straight"))]  # fmt: skip
        lines.append(f"- **{name}**{', a relative ahead' if one.baseline_leads else ''}: {' '.join(said)}")
    return "\n".join(lines)


def details(name: str, one: Compared) -> str:
    head, lines = one.table()
    settings_head, settings = one.settings()
    words = [line.replace("*", "\\*") for line in [*one.notes(), *one.explain().splitlines()]]
    return "\n\n".join([
        f"### {name}", results.table(head, lines), results.table(settings_head, settings),
        "\n".join(f"- {line}" for line in words),
    ])  # fmt: skip
