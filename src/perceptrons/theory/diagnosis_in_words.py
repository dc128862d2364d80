"""A diagnosis in sentences for people: verdict, contradictions, pairs of classes, effort and scales."""

from fractions import Fraction
from typing import Any

from perceptrons.engine.wording import count, percent, short
from perceptrons.theory.diagnose import FOLDS, Diagnosis, Effort
from perceptrons.theory.in_words import why_separable

NAMED = 5  # constant features at most
UNEVEN = 10.0  # times the median: from here on a standard deviation, or a norm, is worth a sentence


def verdict(found: Diagnosis) -> str:
    """Linearly separable, or not, or undecided."""
    title = {True: "Linearly separable", False: "Not linearly separable", None: "Undecided"}[found.separable]
    return title + " by hyperplanes through the origin" * (not found.fit_intercept)


def why(found: Diagnosis) -> str:
    """The certificate in words, with examples named by line."""

    def examples(rows: list[int]) -> str:
        return f"The example{'s' * (len(rows) > 1)} in {places(found, rows, with_labels=len(rows) == 2)}"

    certificate = found.certificate
    if certificate.separable is not None:
        proof = why_separable(certificate, lambda rows: places(found, rows), examples)
        if certificate.number_type == "decimal":
            return proof
        return f"{proof} This is about the numbers as they were read, rounded to {certificate.number_type}."
    if found.separable is None:
        return (
            f"No proof was found, neither for nor against it: {certificate.reason} Give more time with --max-seconds."
        )
    return "Two of the classes overlap; see below."


def thing(found: Diagnosis) -> str:
    """What examples are named by."""
    return "row" if found.lines is None else "line"


def places(found: Diagnosis, rows: Any, at_most: int = 10, with_labels: bool = False) -> str:
    """lines 3, 4 and 7"""
    shown = [str(found.place(row)) for row in rows[:at_most]]
    if with_labels:
        labels = (found.classes[found.codes[row]] for row in rows)
        shown = [f"{place} ({short(str(label), 28)})" for place, label in zip(shown, labels, strict=False)]
    if len(rows) > at_most:
        shown.append(f"{len(rows) - at_most:,} more")
    named = thing(found) + "s" * (len(rows) > 1)
    return f"{named} {shown[0]}" if len(shown) == 1 else f"{named} {', '.join(shown[:-1])} and {shown[-1]}"


def best_accuracy(found: Diagnosis) -> str:
    """What equal examples with different labels mean."""
    best = percent(1 - found.unlearnable / len(found.codes))
    return (
        f"No classifier can be right on all of these: at most {best} of all examples. Correct the labels, leave "
        "these examples out, or add a feature that distinguishes them."
    )


def other_pairs(found: Diagnosis) -> list[str]:
    """About the pairs of classes that were not found to overlap."""
    apart = any(pair.separable is False for pair in found.pairs)
    undecided = sum(pair.separable is None for pair in found.pairs)
    lines = []
    if not apart and not undecided and len(found.pairs) == found.n_pairs:
        lines.append("Every two classes can be separated, but not all at once by one weight vector per class.")
    if undecided:
        lines.append(f"For {undecided:,}, the time limit was too short.")
    if len(found.pairs) < found.n_pairs:
        lines.append(f"The other {found.n_pairs - len(found.pairs):,} were not checked: the time limit was reached.")
    return lines


def what_it_will_do(found: Diagnosis, effort: Effort) -> list[str]:
    """The mistake bound in plain words, and what happened in practice."""
    most, made = found.most(effort), count(effort.updates, "update")
    separable, epochs = found.certificate.separable, count(effort.epochs, "epoch")
    if most is None:
        bound = "It converges; the time limit was too short to bound the number of updates."
    elif separable:
        bound = f"It converges after at most {rounded_up(most)} updates, in any order of the examples."
    else:
        never = "It never converges. " if found.separable is False else ""
        vain = ", one per example: the bound from margin and deviation is not smaller" * (most == len(found.codes))
        bound = f"{never}In one epoch it makes at most {most:,} updates{vain}."
    if not separable:
        return [bound, f"In a trial run, it made {made} in its first epoch."]
    if effort.converged:
        return [bound, f"In a trial run, it converged after {made} in {epochs}."]
    return [bound, f"In a trial run, it was stopped after {made} in {epochs}, before it converged."]


def radius(found: Diagnosis) -> str:
    """The radius, and which example makes it."""
    scales = found.scales
    return (
        f"Radius R = {scales.radius:.4g}, the norm of the farthest example, {places(found, [scales.farthest])}; "
        f"the median is {scales.typical:.4g}."
    )


def uneven_scales(found: Diagnosis) -> list[str]:
    """Examples and features that stand out, and features that say nothing."""
    scales, lines = found.scales, []
    if scales.radius > UNEVEN * scales.typical:
        ratio = times(scales.radius / scales.typical)
        lines.append(f"One example makes the radius {ratio} the median: check {places(found, [scales.farthest])}.")
    if found.unevenness() > UNEVEN and not found.words:
        lines.append(f"The largest standard deviation of a feature is {times(found.unevenness())} the median one.")
    constant = found.constant()
    if constant:
        names = ", ".join(short(found.feature(column), 28) for column in constant[:NAMED])
        what = count(len(constant), "feature is constant and adds", "features are constant and add")
        lines.append(f"{what} nothing: {names}{', ...' * (len(constant) > NAMED)}")
    if found.words:
        lines.append("All rows have the same norm, as those of texts do: the features need no scaling.")
    elif found.effort is None or found.even is None:
        lines.append("Scaled features were not tried: the time limit was reached.")
    return lines


def efforts(found: Diagnosis, effort: Effort, even: Effort) -> list[tuple[str, str, str]]:
    """Radius, margin and updates as they are and on an even scale: rows of a table."""
    bias = ", with the 1 of the bias" * found.fit_intercept
    titles = [f"radius R{bias}", f"margin{bias}", "updates at most", "updates in a trial run"]
    if not found.certificate.separable:
        titles[2:3] = ["deviation D from that margin", "updates at most in one epoch"]
    rows = list(zip(titles, _column(effort, found), _column(even, found), strict=True))
    if found.trial is not None:
        trial = found.trial
        rows.append(("accuracy by cross-validation", percent(trial.accuracy), percent(trial.scaled_accuracy)))
    return rows


def _column(effort: Effort, found: Diagnosis) -> list[str]:
    """A column of that table; a bound of one update an example has no margin to speak of."""
    bound, most, made = effort.bound, found.most(effort), f"{effort.updates:,}"
    if not found.certificate.separable:
        pair = [f"{bound.margin:.4g}", f"{bound.deviation:.4g}"] if most != len(found.codes) else ["-", "-"]
        return [f"{bound.radius:.4g}", *pair, f"{most:,}", made]
    made = made if effort.converged else f"over {made}"
    return [f"{bound.radius:.4g}", f"{bound.margin:.4g}", "not known" if most is None else rounded_up(most), made]


def worth_scaling(found: Diagnosis, effort: Effort, even: Effort) -> list[str]:
    """What features of one scale would change: accuracy, as a trial shows, and the bound."""
    most, least, trial = found.most(effort), found.most(even), found.trial
    tool = f"for instance with scikit-learn's {'StandardScaler' if found.centred else 'MaxAbsScaler'}"
    lines = []
    if trial is not None:
        change = f"from {percent(trial.accuracy)} to {percent(trial.scaled_accuracy)}"
        on = f"{FOLDS}-fold cross-validation on {count(trial.n_examples, 'example')}"
        lines = {
            1: [f"Scale the features, {tool}: in a trial, accuracy rises {change} ({on})."],
            0: [f"In a trial, scaling the features hardly changes accuracy ({change}, {on})."],
            -1: [f"Scaling the features does not help: in a trial, accuracy falls {change} ({on})."],
        }[trial.difference]
    if most is None or least is None:
        return lines
    if 2 * most > 3 * least:
        ratio = times(Fraction(most, max(1, least)))
        return [*lines, f"Scaling the features, {tool}, makes the bound {ratio} smaller."]
    if trial is None or trial.difference <= 0:
        lines.append("Scaling the features would not make the bound much smaller.")
    return lines


def times(ratio: float | Fraction) -> str:
    return f"{float(ratio):.2g} times" if ratio < 10 else f"{rounded_up(round(ratio))} times"


def rounded_up(number: int) -> str:
    """A bound for people: in full if short, else rounded up to three digits."""
    if number < 10**9:
        return f"{number:,}"
    zeros = len(str(number)) - 3
    digits = -(-number // 10**zeros)
    return f"{digits / 100:.2f}e{zeros + 2}" if digits < 1000 else f"1.00e{zeros + 3}"
