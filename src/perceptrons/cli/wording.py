"""What happened, in plain sentences: why training stopped, what a score is."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perceptrons import Perceptron

NOT_PROBABILITIES = "Scores say which class wins and how clearly; they are not probabilities."


def why_it_stopped(model: "Perceptron") -> str:
    """One sentence for the reason that the model's last `fit` ended."""
    if not model.stop_reason_:
        return "It learned from blocks of examples and never decided to stop."
    settled, waited = f"{model.tol or 0:g}", model.n_iter_no_change
    sentences = {
        "converged": "A whole epoch went by without a mistake: the training examples are linearly separable.",
        "tol": f"The averaged weights settled: over an epoch they changed by less than {settled} of their size.",
        "early_stopping": f"Accuracy on held-out training examples had not improved for {waited} epochs, "
        f"so the weights are those of epoch {best_epoch(model)}.",
        "max_iter": f"All {model.max_iter:,} epochs allowed were used, and it still made mistakes.",
        "max_seconds": f"The time allowed was over ({model.max_seconds or 0:g} seconds).",
        "interrupted": "It was interrupted.",
    }
    return sentences.get(model.stop_reason_, f"The reason given is {model.stop_reason_!r}.")


def best_epoch(model: "Perceptron") -> int:
    """The first epoch with the highest accuracy on held-out examples."""
    return int(max(model.history_, key=lambda row: row["validation_accuracy"] or 0.0)["epoch"])
