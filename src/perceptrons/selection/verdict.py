"""A comparison in words: who is best, who is not worse, why as far as the data say, and what each gets wrong."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from perceptrons.selection.recipe import named
from perceptrons.selection.seal import RERUN

if TYPE_CHECKING:
    from perceptrons.selection.compared import Compared, Contender

ALONE = 0.05  # p of a single comparison
SEPARATED = 0.995  # accuracy on what was learned from: nearly nothing is left to correct
PENALISED = ("logistic", "svm", "ridge")


def in_words(found: "Compared") -> list[str]:
    sizes, best = found.sizes, found.best
    scaled = ", standardised for all alike" if found.scaled else ""
    lines = [
        f"{sizes['train']:,} examples to learn from, {sizes['dev']:,} for development, {sizes['test']:,} to test on "
        f"(split {found.parts.how}); {found.n_features:,} features{scaled}.",
        f"Best on the test examples: {best.what}, {found.metric} {best.score:.4f} "
        f"({best.interval.low:.4f} to {best.interval.high:.4f}).",
    ]
    others = found.rows[1:]
    if others:
        lines.append(
            f"Not significantly worse: {_names(row for row in others if not row.worse)}. Significantly worse: "
            f"{_names(row for row in others if row.worse)}. (The best was chosen by these examples: it flatters a bit.)"
        )
    lines += [*_families(found), *_curved(found), *_wrong(found)]
    lines += [f"Left out: {name}: {reason}." for name, reason in found.left_out.items()]
    if found.rerun:
        lines.append(RERUN)
    if found.looks > 1:
        lines.append(
            f"FORCED: these test examples were looked at {found.looks} times, so that the test figures may flatter."
        )
    return lines


def relative_ahead(found: "Compared") -> bool:
    """Is a relative better on the test examples than every perceptron?"""
    ours, theirs = found.best_perceptron, found.best_relative
    return ours is not None and theirs is not None and theirs.score > ours.score


def _families(found: "Compared") -> list[str]:
    ours, theirs = found.best_perceptron, found.best_relative
    if ours is None or theirs is None:
        return []
    p = found.p_of(ours, theirs)
    points = 100 * abs(theirs.score - ours.score)
    if not relative_ahead(found):
        equal = "as good as" if ours.score == theirs.score else f"{points:.2f} points ahead of"
        return [f"No relative beats every perceptron: {ours.what} is {equal} {theirs.what} ({found.test} {_p_is(p)})."]
    start = f"A relative beats every perceptron: {theirs.what} is {points:.2f} points ahead of {ours.what}"
    if p >= ALONE:
        return [f"{start}, which may be chance ({found.test} {_p_is(p)})."]
    return [f"{start} ({found.test} {_p_is(p)}). A likely reason, not tested: {why(found, theirs, ours)}"]


def why(found: "Compared", theirs: "Contender", ours: "Contender") -> str:
    """What may have put a relative ahead: a guess from sizes and accuracies, which no experiment has tested."""
    n, d = found.sizes["train"] + found.sizes["dev"], found.n_features
    fitted = f"{ours.what} is right on {ours.train_accuracy:.1%} of what it learned from"
    if theirs.name == "naive_bayes":
        if n < d:
            return (
                f"there are fewer examples ({n:,}) than features ({d:,}): naive Bayes estimates each feature by "
                "itself, which few examples suffice for."
            )
        return "its assumption, that features tell about the class independently, does little harm here."
    penalty = f", with a penalty on large weights ({named(theirs.setting)})" if theirs.name in PENALISED else ""
    both = f"{fitted}, {theirs.what} on {theirs.train_accuracy:.1%}"
    if ours.train_accuracy >= SEPARATED > theirs.train_accuracy:
        return f"{both}: the perceptron fits these too closely, while {theirs.what} does not{penalty}."
    if ours.train_accuracy >= SEPARATED:
        return f"{both}: of the many boundaries that fit, {theirs.what} takes a better one{penalty}."
    return (
        f"the classes overlap ({both}): the perceptron's rule never comes to rest there, and its average is of weights "
        f"that still move, while {theirs.what} minimises one loss over all examples{penalty}."
    )


def _curved(found: "Compared") -> list[str]:
    """Whether a curved boundary is needed: the kernel against the best of the others."""
    kernel = next((row for row in found.rows if row.name == "kernel"), None)
    straight = next((row for row in found.rows if row.name not in ("kernel", "naive_bayes")), None)
    if kernel is None or straight is None:
        return []
    p, points = found.p_of(kernel, straight), 100 * (kernel.score - straight.score)
    if points > 0 and p < ALONE:
        return [
            f"A curved boundary is needed: the kernel ({named(kernel.setting)}) is {points:.2f} points ahead of the "
            f"best straight one, {straight.what} ({found.test} {_p_is(p)})."
        ]
    if points < 0 and p < ALONE:
        return [
            f"A straight boundary is enough: the kernel is {-points:.2f} points behind {straight.what} "
            f"({found.test} {_p_is(p)})."
        ]
    return [f"A curved boundary makes no significant difference (kernel against {straight.what}: {_p_is(p)})."]


def _wrong(found: "Compared") -> list[str]:
    """What the best of both families get wrong."""
    both = [row for row in (found.best_perceptron, found.best_relative) if row is not None]
    lines = [f"{row.what} gets {(~row.right).sum():,} wrong{_confusion(found.y_test, row)}." for row in both]
    if len(both) == 2:
        ours, theirs = both
        alone = int((ours.right & ~theirs.right).sum()), int((theirs.right & ~ours.right).sum())
        if not any(alone):
            return [*lines, f"Both get the same {(~ours.right).sum():,} wrong."]
        neither = (~ours.right & ~theirs.right).sum()
        lines.append(
            f"Only {ours.what} gets {alone[0]:,} right, only {theirs.what} {alone[1]:,}; both get {neither:,} wrong."
        )
    return lines


def _confusion(y: np.ndarray, row: "Contender") -> str:
    pairs = Counter(zip(y[~row.right].tolist(), row.predicted[~row.right].tolist(), strict=True))
    (true, answered), times = min(pairs.items(), key=lambda item: (-item[1], str(item[0])), default=((0, 0), 0))
    if times < 2:
        return ""
    return f", most often {_short(true)} taken for {_short(answered)} ({times:,} times)"


def _names(rows: "Iterable[Contender]") -> str:
    return ", ".join(row.what for row in rows) or "nobody"


def _short(label: object) -> str:
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(label))
    return text if len(text) <= 28 else text[:25] + "..."


def _p_is(p: float) -> str:
    return f"p = {p_text(p)}" if p >= 0.001 else f"p {p_text(p)}"


def p_text(p: float) -> str:
    """A p-value; how small it is below 0.001 does not matter."""
    return f"{p:.2g}" if p >= 0.001 else "< 0.001"
