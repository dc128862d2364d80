"""What happened in training, in plain sentences: why it stopped, and with which settings."""

from typing import Any

SHOWN_EPOCHS = 12  # at most this many lines, however many epochs there are
PHRASE_F1 = "validation_phrase_f1"  # a column of history
LONG = 60  # characters of a setting, after which it is cut
STOP_REASONS = {
    "converged": "an epoch without an update",
    "stuck": "scores of exactly 0 counted as right, so training stopped",
    "tol": "the averaged weights stopped changing",
    "early_stopping": "accuracy on held-out examples no longer improved",
    "max_iter": "the maximum number of epochs was reached",
    "max_seconds": "the time limit was reached",
    "interrupted": "training was interrupted",
    "failed": "an error ended training",
}
NOT_PROBABILITIES = "Scores say which class wins and by how much; they are not probabilities."


def count(number: int, thing: str, things: str | None = None) -> str:
    """1 example, 2,000 examples."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def in_percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def listed(labels: list[Any], at_most: int = 10) -> str:
    """a, b, c, ..."""
    return ", ".join([short(str(label), 28) for label in labels[:at_most]] + ["..."] * (len(labels) > at_most))


def changed(model: Any) -> dict[str, Any]:
    """The parameters that are not at their defaults."""
    defaults, now = type(model)().get_params(), model.get_params(deep=False)
    if _is_tagger(model):
        now["templates"] = None if model.templates is None else model.templates.templates
    return {name: value for name, value in now.items() if value is not defaults[name] and value != defaults[name]}


def settings(model: Any) -> str:
    """The same as words: max_iter=5, combine='last'."""
    return ", ".join(short(f"{name}={value!r}", LONG) for name, value in changed(model).items())


def why_it_stopped(model: Any) -> str:
    """One sentence for the reason that the model's last `fit` ended."""
    things = "sentences" if _is_tagger(model) else "examples"
    if not model.stop_reason_:
        return f"It was trained on blocks of {things}, so no stopping rule applied."
    last, still = model.history_[-1] if model.history_ else {}, ""
    if last.get("mistakes"):
        still = ", and the model still made mistakes"
    elif last.get("updates"):
        still = f", and some {things} were still within the margin"
    settled, waited, allowed = f"{model.tol or 0:g}", _epochs(model.n_iter_no_change), model.max_seconds or 0
    learned, parted = "weights", "are linearly separable"
    if hasattr(model, "kernel"):
        learned, parted = "coefficients", "are separated in the kernel's feature space"
    elif _is_tagger(model):
        parted = "were all labelled right"
    sentences = {
        "converged": f"An epoch passed without an update: the training {things} {parted}.",
        "stuck": "An epoch passed without an update, because zero_score='correct' counts scores of exactly 0 as "
        f"right. Some training {things} have that score and are predicted wrongly: use init='ones' or 'random'.",
        "tol": f"The averaged {learned} stopped changing: in one epoch they changed by less than {settled} of their "
        "norm.",
        "early_stopping": f"{_judged_by(last)} on held-out {things} had not improved for {waited}, "
        f"so the {learned} are those of epoch {best_epoch(model)}.",
        "max_iter": f"{_all_epochs(model)}{still}.",
        "max_seconds": f"The time limit was reached ({allowed:g} second{'s' * (allowed != 1)}).",
        "interrupted": "Training was interrupted.",
    }
    return sentences.get(model.stop_reason_, f"The reason given is {model.stop_reason_!r}.")


def best_epoch(model: Any) -> int:
    """The first epoch with the highest score on held-out examples: F1 of phrases if they were judged by it."""
    return int(max(model.history_, key=lambda row: row.get(PHRASE_F1, row["validation_accuracy"]) or 0.0)["epoch"])


def _judged_by(row: dict[str, Any]) -> str:
    return "Phrase F1" if PHRASE_F1 in row else "Accuracy"


def _epochs(number: int) -> str:
    return f"{number:,} epoch{'s' * (number != 1)}"


def _all_epochs(model: Any) -> str:
    if not hasattr(model, "progress_"):
        return f"The maximum of {_epochs(model.n_iter_)} was reached"
    return "The data were read once, as requested" if model.n_iter_ == 1 else f"All {model.n_iter_:,} epochs are done"


def short(name: str, at_most: int = 32) -> str:
    """A name as a piece of one line: control characters escaped, cut if long."""
    name = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in name)
    return name if len(name) <= at_most else name[: at_most - 3] + "..."


def _is_tagger(model: Any) -> bool:
    return hasattr(model, "templates")


def shown_epochs(n: int) -> list[int]:
    """Which of n epochs to show, from 0: all if few, else ever fewer towards the end, and the last."""
    if n <= SHOWN_EPOCHS:
        return list(range(n))
    steps = [round(n ** (k / (SHOWN_EPOCHS - 1))) for k in range(SHOWN_EPOCHS)]
    return sorted({step - 1 for step in steps} | {n - 1})


def percent(share: float) -> str:
    """98.6%; shares so near to 0 or 1 that they would be rounded there get more digits."""
    digits = 1
    while 0 < share < 1 and digits < 9 and float(f"{100 * share:.{digits}f}") in (0, 100):
        digits += 1
    return f"{100 * share:.{digits}f}%"


def n_predictions(model: Any) -> int:
    """Return how many predictions training makes for each example: one in every binary problem that it is in."""
    n = _n_problems(model)
    is_one_vs_one = n > 1 and model.multiclass == "ovo" and model._learner.form == "single"
    return len(model.classes_) - 1 if is_one_vs_one else n


def apart(model: Any) -> str:
    """What to add to numbers that are sums over several binary problems."""
    n = _n_problems(model)
    return "" if n == 1 else f" in {n} binary problems together"


def _n_problems(model: Any) -> int:
    if _is_tagger(model):
        return 1
    n_rows = len(model.dual_coef_last_ if hasattr(model, "kernel") else model.coef_last_)
    joint = model.multiclass == "joint" and model._learner.form == "single"
    return 1 if joint else n_rows


def tested(model: Any) -> str:
    """How good a model that was tuned was on its test examples, and whether it still is that model."""
    told = model.recipe_
    found = f"{told['settings_tried']:,} settings tried, {told['dev_score']:.4f} on the validation set"
    since = (
        ""
        if model.t_ == told["examples_seen"]
        else "; the model was trained further since, so this score is that of an earlier version"
    )
    if told["test_score"] is None:
        return f"{told['metric']}: {found}; no test{since}"
    low, high = told["test_interval"]["low"], told["test_interval"]["high"]
    again = ""
    if told["looks"] > 1:
        again = f"; FORCED: this test set was used {told['looks']:,} times, so the score may be too optimistic"
    on = f"{told['sizes']['test']:,} held-out example{'s' * (told['sizes']['test'] != 1)}"
    return f"{told['metric']} {told['test_score']:.4f} ({low:.4f} to {high:.4f}) on {on}{again}{since} ({found})"
