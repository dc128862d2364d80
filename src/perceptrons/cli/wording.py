"""What happened, in plain sentences: why training stopped, what a score is."""

from typing import TYPE_CHECKING

from perceptrons.cli.files import is_kernel, is_tagger, several_labels
from perceptrons.cli.screen import plain

if TYPE_CHECKING:
    from perceptrons import SequencePerceptron
    from perceptrons.cli.files import AnyModel

LONG = 60  # characters of a setting, after which it is cut
NOT_PROBABILITIES = "Scores say which class wins and how clearly; they are not probabilities."


def settings(model: "AnyModel | SequencePerceptron") -> str:
    """The parameters that are not at their defaults."""
    defaults, now = type(model)().get_params(), model.get_params(deep=False)
    if is_tagger(model):
        now["templates"] = None if model.templates is None else model.templates.templates
    return ", ".join(plain(f"{name}={value!r}", LONG) for name, value in now.items() if value != defaults[name])


def apart(model: "AnyModel") -> str:
    """What to add to numbers that are sums over several binary problems."""
    n_rows = len(model.dual_coef_last_ if is_kernel(model) else model.coef_average_)
    joint = model.multiclass == "joint" and not several_labels(model)
    return "" if joint or n_rows == 1 else f" in {n_rows} problems together"


def why_it_stopped(model: "AnyModel | SequencePerceptron") -> str:
    """One sentence for the reason that the model's last `fit` ended."""
    things = "sentences" if is_tagger(model) else "examples"
    if not model.stop_reason_:
        return f"It learned from blocks of {things} and never decided to stop."
    last, still = model.history_[-1] if model.history_ else {}, ""
    if last.get("mistakes"):
        still = ", and it still made mistakes"
    elif last.get("updates"):
        still = f", and some {things} were still within the margin"
    settled, waited = f"{model.tol or 0:g}", model.n_iter_no_change
    learned, parted = "weights", "are linearly separable"
    if is_kernel(model):
        learned, parted = "coefficients", "are separated in the kernel's space"
    elif is_tagger(model):
        parted = "were all labelled right"
    sentences = {
        "converged": f"A whole epoch went by without a mistake: the training {things} {parted}.",
        "tol": f"The averaged {learned} settled: over an epoch they changed by less than {settled} of their size.",
        "early_stopping": f"Accuracy on held-out training {things} had not improved for {waited} epochs, "
        f"so the {learned} are those of epoch {best_epoch(model)}.",
        "max_iter": f"{_all_epochs(model)}{still}.",
        "max_seconds": f"The time allowed was over ({model.max_seconds or 0:g} seconds).",
        "interrupted": "It was interrupted.",
    }
    return sentences.get(model.stop_reason_, f"The reason given is {model.stop_reason_!r}.")


def _all_epochs(model: "AnyModel | SequencePerceptron") -> str:
    if not hasattr(model, "progress_"):
        return f"All {model.max_iter:,} epochs allowed were used"
    return (
        "The data were read once, as asked"
        if model.n_iter_ == 1
        else f"All {model.n_iter_:,} epochs asked for are done"
    )


def best_epoch(model: "AnyModel | SequencePerceptron") -> int:
    """The first epoch with the highest accuracy on held-out examples."""
    return int(max(model.history_, key=lambda row: row["validation_accuracy"] or 0.0)["epoch"])
