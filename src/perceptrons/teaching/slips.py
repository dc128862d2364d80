"""Frequent slips, as functions: if a student's answer equals that of a slip, `check` says what the cause may be.

Every function here is wrong on purpose. They are plain Python, as students would write them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Slips = tuple[tuple[Callable[..., Any], str], ...]


def _visit(
    w: Any, b: float, x: Any, y: int, eta: float, *, sign: int = 1, strict: bool = False, bias: bool = True,
    scored: bool = True, always: bool = False, margin: float = 0.0,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """One visit by the rule, or with a slip in it."""
    s = y * (np.dot(w, x) + (b if scored else 0.0))
    if always or s < margin or (s == margin and not strict):
        return w + sign * eta * y * x, b + sign * eta * y * bias
    return w, b


def _slip(**slip: Any) -> Callable[..., Any]:
    return lambda w, b, x, y, eta: _visit(w, b, x, y, eta, **slip)


def _margin_slip(ask: Callable[[float], float], **slip: Any) -> Callable[..., Any]:
    return lambda w, b, x, y, eta, margin: _visit(w, b, x, y, eta, margin=ask(margin), **slip)


def _passes(X: Any, y: Any, epochs: int, **slip: Any) -> tuple[list[np.ndarray], list[float]]:
    """The weights and biases after every example, the start first."""
    ws, bs = [np.zeros(X.shape[1])], [0.0]
    for _ in range(epochs):
        for x, label in zip(X, y, strict=True):
            w, b = _visit(ws[-1], bs[-1], x, label, 1.0, **slip)
            ws.append(w)
            bs.append(b)
    return ws, bs


def _pass_slip(**slip: Any) -> Callable[..., Any]:
    def wrong(X: Any, y: Any, epochs: int) -> tuple[np.ndarray, float]:
        ws, bs = _passes(X, y, epochs, **slip)
        return ws[-1], bs[-1]

    return wrong


def _average_of_updates(X: Any, y: Any) -> Any:
    ws, bs = _passes(X, y, 1)
    updates = [k for k in range(1, len(ws)) if ws[k] is not ws[k - 1]]
    return np.mean([ws[k] for k in updates], axis=0), np.mean([bs[k] for k in updates])


def _average_with_start(X: Any, y: Any) -> Any:
    ws, bs = _passes(X, y, 1)
    return np.mean(ws, axis=0), np.mean(bs)


def _last_weights(X: Any, y: Any) -> Any:
    ws, bs = _passes(X, y, 1)
    return ws[-1], bs[-1]


def _sum_of_weights(X: Any, y: Any) -> Any:
    ws, bs = _passes(X, y, 1)
    return np.sum(ws[1:], axis=0), np.sum(bs[1:])


def _classes(theta: Any, x: Any, y: int, *, sign: int = 1, rivals: str = "best", tie: str = "first") -> np.ndarray:
    s = theta @ x
    y_hat = int(s.argmax()) if tie == "first" else len(s) - 1 - int(s[::-1].argmax())
    if y_hat != y:
        theta[y] += sign * x
        if rivals == "best":
            theta[y_hat] -= sign * x
        elif rivals == "all":
            theta[[k for k in range(len(theta)) if k != y]] -= sign * x
    return theta


def _class_slip(**slip: Any) -> Callable[..., Any]:
    return lambda theta, x, y: _classes(theta, x, y, **slip)


def _kernel_slip(coef: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def wrong(alpha: Any, X: Any, y: Any, kernel: Callable[..., float], x: Any) -> float:
        return sum(c * kernel(z, x) for c, z in zip(coef(alpha, y), X, strict=True))

    return wrong


def _dot_products(alpha: Any, X: Any, y: Any, kernel: Any, x: Any) -> float:
    return float(sum(a * label * np.dot(z, x) for a, label, z in zip(alpha, y, X, strict=True)))


def _greedy(emissions: Any, transitions: Any) -> list[int]:
    labels: list[int] = []
    for e in emissions:
        labels.append(int((e + (transitions[labels[-1]] if labels else 0)).argmax()))
    return labels


def _forward(emissions: Any, transitions: Any) -> list[int]:
    """Viterbi from the first token to the last: right, but of equal labellings it finds another one."""
    best, back = emissions[0], []
    for e in emissions[1:]:
        ways = best[:, None] + transitions
        back.append(ways.argmax(axis=0))
        best = ways.max(axis=0) + e
    labels = [int(best.argmax())]
    for pointers in reversed(back):
        labels.append(int(pointers[labels[-1]]))
    return labels[::-1]


def _stop(accuracies: list[float], patience: int, *, ties: bool = False, late: int = 0) -> tuple[int, int]:
    best, epoch = 0, 0
    for epoch in range(1, len(accuracies) + 1):
        now, record = accuracies[epoch - 1], accuracies[best - 1] if best else -1.0
        if now > record or (ties and now == record):
            best = epoch
        if epoch - best >= patience + late:
            break
    return epoch, best


PREDICT: Slips = (
    (lambda w, b, x: 1 if np.dot(w, x) > 0 else -1, "this is the answer without the bias. The score is w·x + b."),
    (lambda w, b, x: 1 if np.dot(w, x) + b >= 0 else -1, "here the score is exactly 0, and the library answers -1."),
    (lambda w, b, x: np.sign(np.dot(w, x) + b), "here the score is exactly 0, and the label must be -1 or +1, not 0."),
    (lambda w, b, x: 1 if np.dot(w, x) + b > 0 else 0, "the labels are -1 and +1, not 0 and 1."),
    (lambda w, b, x: -1 if np.dot(w, x) + b > 0 else 1, "the sign is the wrong way round: a positive score means +1."),
    (lambda w, b, x: np.dot(w, x) + b, "this is the score. The label is its sign."),
)
DISTANCE: Slips = (
    (lambda w, b, x: np.dot(w, x) + b, "this is the score. Divide it by the length of w."),
    (lambda w, b, x: (np.dot(w, x) + b) / np.dot(w, w), "you divided by |w|², not by |w|: take the square root."),
    (lambda w, b, x: np.dot(w, x) / np.linalg.norm(w), "this is the distance without the bias."),
    (lambda w, b, x: abs(np.dot(w, x) + b) / np.linalg.norm(w), "the distance has a sign: keep it."),
    (lambda w, b, x: (np.dot(w, x) + b) / np.hypot(np.linalg.norm(w), b), "the bias is not part of the length of w."),
)
UPDATE: Slips = (
    (_slip(sign=-1), "the sign of the update is wrong. Add eta y x to w, and eta y to b."),
    (_slip(strict=True), "here the score is exactly 0, which counts as a mistake: use y s <= 0, not y s < 0."),
    (_slip(bias=False), "the bias must be updated as well: b + eta y."),
    (_slip(scored=False), "the score must include the bias: s = w·x + b."),
    (_slip(always=True), "update only after a mistake. This example is right already."),
    (lambda w, b, x, y, eta: _visit(w, b, x, y, 1.0), "the update must be multiplied by the learning rate eta."),
    (lambda w, b, x, y, eta: (w, b), "the weights did not change, but this example is a mistake."),
    (lambda w, b, x, y, eta: _visit(w, b, x, 1, eta) if y * (np.dot(w, x) + b) <= 0 else (w, b),
     "the update must be multiplied by the label y."),
)  # fmt: skip
PERCEPTRON: Slips = (
    (
        _pass_slip(strict=True),
        "from zeros every score is 0. A score of 0 must count as a mistake: y s <= 0.",
    ),
    (_pass_slip(bias=False), "the bias was never updated: b + y after a mistake."),
    (_pass_slip(sign=-1), "the sign of the update is wrong: add y x, do not subtract it."),
    (_pass_slip(scored=False), "the score must include the bias: s = w·x + b."),
    (_pass_slip(always=True), "update only after a mistake."),
    (lambda X, y, epochs: _pass_slip()(X, y, 1), "this is the result of one epoch. Repeat the pass `epochs` times."),
)
BOUND: Slips = (
    (lambda X, y, u: np.linalg.norm(X, axis=1).max() / (y * (X @ u)).min(), "this is R / γ. The bound is its square."),
    (lambda X, y, u: (np.linalg.norm(X, axis=1).max() / (y * (X @ u)).mean()) ** 2,
     "γ is the smallest of all y u·x, not their mean."),
    (lambda X, y, u: (np.linalg.norm(X, axis=1).mean() / (y * (X @ u)).min()) ** 2,
     "R is the length of the longest example, not the mean length."),
    (lambda X, y, u: (np.linalg.norm(X, axis=1).max() / (X @ u).min()) ** 2, "multiply u·x by the label y."),
)  # fmt: skip
AVERAGE: Slips = (
    (_last_weights, "these are the last weights. Return the mean of the weights after every example."),
    (_average_of_updates, "you averaged after updates only. Examples that were right count as well."),
    (_average_with_start, "you counted the start. The mean begins with the weights after the first example."),
    (_sum_of_weights, "this is the sum. Divide it by the number of examples."),
)
STOP: Slips = (
    (lambda accuracies, patience: _stop(accuracies, patience, ties=True), "an equal accuracy is not an improvement."),
    (lambda accuracies, patience: _stop(accuracies, patience, late=1), "you waited one epoch too long."),
    (lambda accuracies, patience: _stop(accuracies, patience, late=-1), "you stopped one epoch too early."),
    (lambda accuracies, patience: (len(accuracies), int(np.argmax(accuracies)) + 1),
     "training stops when the accuracy has not improved for `patience` epochs."),
    (lambda accuracies, patience: tuple(np.array(_stop(accuracies, patience)) - 1), "epochs are counted from 1."),
)  # fmt: skip
CLASSES: Slips = (
    (
        _class_slip(sign=-1),
        "the signs are the wrong way round: add x to the true class's row.",
    ),
    (_class_slip(rivals="all"), "only two rows change: that of the true class and that of the predicted class."),
    (_class_slip(rivals="none"), "subtract x from the row of the predicted class."),
    (_class_slip(tie="last"), "here two scores are equal, and the first class of them is predicted."),
)
MARGIN: Slips = (
    (_margin_slip(lambda margin: 0.0), "this is the rule without a margin. Update if y s <= margin."),
    (_margin_slip(lambda margin: margin, strict=True), "here y s is exactly the margin: use <=, not <."),
    (_margin_slip(lambda margin: margin, sign=-1), "the sign of the update is wrong. Add eta y x to w."),
    (_margin_slip(lambda margin: margin, bias=False), "the bias must be updated as well: b + eta y."),
    (_margin_slip(lambda margin: margin, scored=False), "the score must include the bias: s = w·x + b."),
)
KERNEL: Slips = (
    (_kernel_slip(lambda alpha, y: alpha), "every term must be multiplied by its label: α_j y_j K(x_j, x)."),
    (_kernel_slip(lambda alpha, y: y), "every term must be multiplied by its α_j."),
    (_kernel_slip(lambda alpha, y: -alpha * y), "the sign is the wrong way round."),
    (_dot_products, "these are dot products. Use the kernel: kernel(x_j, x)."),
)
VITERBI: Slips = (
    (lambda emissions, transitions: emissions.argmax(axis=1), "this ignores the transitions."),
    (_greedy, "this takes the best label token by token. A later token can make another choice better."),
    (_forward, "this labelling is as good, but of equal ones the first in lexicographic order is wanted. "
     "Search from the last token to the first."),
    (lambda emissions, transitions: _forward(emissions, transitions.T),
     "the transitions are the wrong way round: transitions[i][j] is the weight of label i followed by label j."),
)  # fmt: skip
FEATURES: Slips = (
    (lambda x: x, "the product x₁x₂ is missing."),
    (lambda x: [*x, x[0] ** 2, x[0] * x[1], x[1] ** 2], "squares are not needed here: return x₁, x₂ and x₁x₂."),
    (lambda x: [x[0] * x[1]], "keep x₁ and x₂ as well."),
)
