"""A summary of a kernel model: its kernel, and the support vectors with the largest coefficients."""

from typing import TYPE_CHECKING, Any

import numpy as np

from perceptrons.engine.wording import count, in_percent
from perceptrons.inspection.weights import Row, top
from perceptrons.kernel.kernels import WITH_GAMMA

if TYPE_CHECKING:
    from perceptrons.kernel import KernelPerceptron


def kernel_facts(model: "KernelPerceptron") -> dict[str, Any]:
    """Return the kernel and the number of support vectors for JSON; gamma is None if the kernel has none."""
    gamma = float(model.gamma_) if model.kernel in WITH_GAMMA else None
    return {"kernel": model.kernel, "gamma": gamma, "n_support": model.n_support_}


def kernel_in_words(model: "KernelPerceptron") -> str:
    """Return the kernel as text, such as "rbf, gamma 0.5 (scale)"."""
    words, gamma = [str(model.kernel)], kernel_facts(model)["gamma"]
    if gamma is not None:
        words.append(f"gamma {gamma:.4g}" + (f" ({model.gamma})" if isinstance(model.gamma, str) else ""))
    if model.kernel == "poly":
        words.append(f"degree {model.degree}")
    if model.kernel in ("poly", "sigmoid"):
        words.append(f"coef0 {model.coef0:g}")
    return ", ".join(words)


def support_in_words(model: "KernelPerceptron", n_examples: int | None = None) -> str:
    """Return the number of support vectors as text, such as "12 support vectors, 3.0% of the training examples"."""
    words = count(model.n_support_, "support vector")
    if model.budget is not None:
        return f"{words} (at most {model.budget:,})"
    if n_examples is None:
        return words
    return f"{words}, {in_percent(model.n_support_ / n_examples)} of the training examples"


def support_names(model: "KernelPerceptron", lines: np.ndarray | None = None) -> list[str]:
    """Return a name for each support vector: its line, its number among the training examples, or its own number."""
    rows = model.support_.tolist()
    if lines is not None:
        return [f"line {lines[row]}" for row in rows]
    return [f"support {place}" if row < 0 else f"example {row + 1}" for place, row in enumerate(rows, 1)]


def top_support(
    model: "KernelPerceptron", rows: list[Row], n: int, lines: np.ndarray | None = None
) -> list[dict[str, Any]]:
    """Return the top support vectors of every row of coefficients for JSON: rows from 0, lines from 1, or None."""
    places = model.support_.tolist()
    by_class = []
    for row in rows:
        examples = []
        for _, number, coefficient, *_ in top(row, None, n):
            place = places[number] if places[number] >= 0 else None
            line = None if place is None or lines is None else int(lines[place])
            examples.append({"support": number, "row": place, "line": line, "coefficient": coefficient})
        by_class.append({"class": row.classes[0], "examples": examples})
    return by_class
