"""Common mistakes of students as functions, with hints: `check` shows the hint if the answers are the same.

Every function here is wrong on purpose. They are plain Python, as students would write them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

CommonMistakes = tuple[tuple[Callable[..., Any], str], ...]


def _visit(
    w: Any, b: float, x: Any, y: int, eta: float, margin: float = 0.0, *,
    score: Callable[..., float] = lambda w, b, x, y: y * (np.dot(w, x) + b),
    triggers: Callable[..., bool] = lambda s, margin, y, w: s <= margin,
    step: Callable[..., tuple[float, float]] = lambda eta, y, is_tie: (eta * y, eta * y),
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Visit an example by the lecture's rule, of which each part can be replaced by a wrong one.

    step returns the factors of x in the update of w, and of 1 in that of b.
    """
    s = score(w, b, x, y)
    if not triggers(s, margin, y, w):
        return w, b
    w_step, b_step = step(eta, y, s == margin)
    return w + w_step * x, b + b_step


def _tie_for(label: int) -> Callable[..., bool]:
    """Return a trigger that takes a score of exactly the margin for a mistake only with this label."""
    return lambda s, margin, y, w: s < margin or (s == margin and y == label)


def _double(eta: float, y: int, is_tie: bool) -> tuple[float, float]:
    return 2 * eta * y, 2 * eta * y


def _double_unless_tie(eta: float, y: int, is_tie: bool) -> tuple[float, float]:
    return (eta * y, eta * y) if is_tie else _double(eta, y, is_tie)


_ALWAYS: dict[str, Any] = {"triggers": lambda s, margin, y, w: True}
_STRICTLY: dict[str, Any] = {"triggers": lambda s, margin, y, w: s < margin}
_BOTH = "here {strict}, for both labels: use {rule}. If you compare y with a predicted label, you miss one of them."
_HALF = "the step is twice as long as it should be: in the concise form it is multiplied by ½, because y - ŷ is ±2."
# Arguments of `_visit` that make a mistake, with hints. {step} is "eta y", or "y" if eta is 1; {rule} is "y s <= 0".
_VISIT_MISTAKES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"step": lambda eta, y, is_tie: (-eta * y, -eta * y)},
     "the sign of the update is wrong. Add {step} x to w, and {step} to b."),
    (_STRICTLY, "here {strict}: use {rule}, not {weak}."),
    ({"triggers": _tie_for(1)}, _BOTH), ({"triggers": _tie_for(-1)}, _BOTH),
    ({"step": lambda eta, y, is_tie: (eta * y / 2, eta * y / 2) if is_tie else (eta * y, eta * y)},
     "np.sign(0) is 0, so at a score of 0 the step is only half as long. A score of 0 is a mistake for both labels, "
     "with a full step."),
    ({"step": _double}, _HALF), ({"step": _double, "triggers": _tie_for(1)}, _HALF),
    ({"step": _double, "triggers": _tie_for(-1)}, _HALF), ({"step": _double_unless_tie}, _HALF),
    ({"step": lambda eta, y, is_tie: (eta * y, 0.0)}, "the bias must be updated as well: b + {step}."),
    ({"step": lambda eta, y, is_tie: (eta * y, eta)},
     "the step of the bias must be multiplied by the label as well: b + {step}."),
    ({"step": lambda eta, y, is_tie: (eta * y, -eta * y)},
     "the sign of the bias's step is wrong: add {step} to b, do not subtract it."),
    ({"step": lambda eta, y, is_tie: (eta, eta)}, "the update must be multiplied by the label y."),
    ({"score": lambda w, b, x, y: np.dot(w, x) + b}, "the score must be multiplied by the label: update if {rule}."),
    ({"score": lambda w, b, x, y: y * np.dot(w, x)}, "the score must include the bias: s = w·x + b."),
    ({"score": lambda w, b, x, y: y * (np.dot(w, x) - b)},
     "add the bias to the score, do not subtract it: s = w·x + b."),
    ({"triggers": lambda s, margin, y, w: False}, "the weights did not change, but this example is a mistake."),
)  # fmt: skip
_LEARNING_RATE_MISTAKES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"step": lambda eta, y, is_tie: (y, y)}, "the update must be multiplied by the learning rate eta."),
    ({"step": lambda eta, y, is_tie: (eta * y, y)},
     "the step of the bias must be multiplied by the learning rate as well: b + eta y."),
)  # fmt: skip


def _mistakes_of_a_visit(make: Callable[..., Callable[..., Any]], with_rate: bool, with_margin: bool) -> CommonMistakes:
    words = {
        "step": "eta y" if with_rate else "y",
        "rule": "y s <= margin" if with_margin else "y s <= 0",
        "weak": "y s < margin" if with_margin else "y s < 0",
        "strict": "y s is exactly the margin" if with_margin else "the score is exactly 0, which counts as a mistake",
    }
    mistakes = _VISIT_MISTAKES + _LEARNING_RATE_MISTAKES * with_rate
    return tuple((make(**options), hint.format(**words)) for options, hint in mistakes)


def _passes(
    X: Any, y: Any, epochs: int, start: tuple[float, float] = (0.0, 0.0), **options: Any
) -> tuple[list[np.ndarray], list[float]]:
    """Return the weights and biases after every example, the start first."""
    ws, bs = [np.full(X.shape[1], start[0])], [start[1]]
    for _ in range(epochs):
        for x, label in zip(X, y, strict=True):
            w, b = _visit(ws[-1], bs[-1], x, label, 1.0, **options)
            ws.append(w)
            bs.append(b)
    return ws, bs


def _after_passes(combine: Callable[[list[np.ndarray], list[float]], Any], **options: Any) -> Callable[..., Any]:
    """Return a function that combines the weights and biases after every example."""
    return lambda X, y, epochs=1: combine(*_passes(X, y, epochs, **options))


def _last(ws: list[np.ndarray], bs: list[float]) -> tuple[np.ndarray, float]:
    return ws[-1], bs[-1]


def _mean(ws: list[np.ndarray], bs: list[float]) -> tuple[np.ndarray, float]:
    return np.mean(ws[1:], axis=0), float(np.mean(bs[1:]))


def _mean_of_updates(ws: list[np.ndarray], bs: list[float]) -> Any:
    updates = [k for k in range(1, len(ws)) if ws[k] is not ws[k - 1]]
    return np.mean([ws[k] for k in updates], axis=0), np.mean([bs[k] for k in updates])


def _batch(X: Any, y: Any, epochs: int) -> tuple[np.ndarray, float]:
    w, b = np.zeros(X.shape[1]), 0.0
    for _ in range(epochs):
        mistakes = y * (X @ w + b) <= 0
        w, b = w + (y * mistakes) @ X, b + float((y * mistakes).sum())
    return w, b


def _classes(
    theta: Any, x: Any, y: int, *, sign: int = 1, rivals: str = "best", last_of_ties: bool = False, strict: bool = False
) -> np.ndarray:
    s, classes = theta @ x, np.arange(len(theta))
    y_hat = int(classes[s == s.max()][-1 if last_of_ties else 0])
    if rivals == "better":
        for k in classes[(classes != y) & (s >= s[y])]:
            theta[y] += x
            theta[k] -= x
    elif y_hat != y and not (strict and s[y] == s[y_hat]):
        theta[y] += sign * x
        theta[{"best": [y_hat], "all": classes != y, "none": []}[rivals]] -= sign * x
    return theta


def _wrong_kernel(coef: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def wrong(alpha: Any, X: Any, y: Any, kernel: Callable[..., float], x: Any) -> float:
        return sum(c * kernel(z, x) for c, z in zip(coef(alpha, y), X, strict=True))

    return wrong


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


PREDICT: CommonMistakes = (
    (lambda w, b, x: 1 if np.dot(w, x) > 0 else -1, "this is the answer without the bias. The score is w·x + b."),
    (lambda w, b, x: 1 if np.dot(w, x) - b > 0 else -1, "add the bias, do not subtract it. The score is w·x + b."),
    (lambda w, b, x: 1 if np.dot(w, x) + b >= 0 else -1, "here the score is exactly 0, and the library answers -1."),
    (lambda w, b, x: np.sign(np.dot(w, x) + b), "here the score is exactly 0, and the label must be -1 or +1, not 0."),
    (lambda w, b, x: 1 if np.dot(w, x) + b > 0 else 0, "the labels are -1 and +1, not 0 and 1."),
    (lambda w, b, x: -1 if np.dot(w, x) + b > 0 else 1, "the sign is the wrong way round: a positive score means +1."),
    (lambda w, b, x: np.dot(w, x) + b, "this is the score. The label is its sign."),
)
DISTANCE: CommonMistakes = (
    (lambda w, b, x: np.dot(w, x) + b, "this is the score. Divide it by the length of w."),
    (lambda w, b, x: (np.dot(w, x) + b) / np.dot(w, w), "you divided by |w|², not by |w|: take the square root."),
    (lambda w, b, x: np.dot(w, x) / np.linalg.norm(w), "this is the distance without the bias."),
    (lambda w, b, x: (np.dot(w, x) - b) / np.linalg.norm(w), "add the bias, do not subtract it: (w·x + b) / |w|."),
    (lambda w, b, x: abs(np.dot(w, x) + b) / np.linalg.norm(w), "the distance has a sign: keep it."),
    (lambda w, b, x: (np.dot(w, x) + b) / np.hypot(np.linalg.norm(w), b), "the bias is not part of the length of w."),
    (lambda w, b, x: (np.dot(w, x) + b) / np.linalg.norm(x), "you divided by the length of x. Divide by that of w."),
    (lambda w, b, x: (np.dot(w, x) + b) / np.abs(w).sum(),
     "you divided by the sum of the absolute values of w. Its length is the root of the sum of squares."),
)  # fmt: skip
UPDATE: CommonMistakes = (
    *_mistakes_of_a_visit(partial(partial, _visit), with_rate=True, with_margin=False),
    (partial(_visit, **_ALWAYS), "update only after a mistake. This example is right already."),
)
PERCEPTRON: CommonMistakes = (
    (_after_passes(_last, **_STRICTLY), "from zeros every score is 0. A score of 0 must count as a mistake: y s <= 0."),
    *_mistakes_of_a_visit(partial(_after_passes, _last), with_rate=False, with_margin=False),
    (_after_passes(_last, **_ALWAYS), "update only after a mistake."),
    (_after_passes(_last, start=(1.0, 1.0)), "start from zeros, not from ones."),
    (_after_passes(_last, start=(1.0, 0.0)), "start from zeros, not from ones."),
    (_batch, "this is the batch perceptron, which adds up the updates of an epoch. Update w and b at once after every "
     "mistake, before you look at the next example."),
    (_after_passes(_mean), "these are the averaged weights. Return those after the last example."),
    (lambda X, y, epochs: _after_passes(_last)(X, y),
     "this is the result of one epoch. Repeat the pass `epochs` times."),
)  # fmt: skip
BOUND: CommonMistakes = (
    (lambda X, y, u: np.linalg.norm(X, axis=1).max() / (y * (X @ u)).min(), "this is R / γ. The bound is its square."),
    (lambda X, y, u: np.linalg.norm(X, axis=1).max() ** 2 / (y * (X @ u)).min(), "this is R² / γ. Square γ, too."),
    (lambda X, y, u: (np.linalg.norm(X, axis=1).max() / (y * (X @ u)).mean()) ** 2,
     "γ is the smallest of all y u·x, not their mean."),
    (lambda X, y, u: (np.linalg.norm(X, axis=1).mean() / (y * (X @ u)).min()) ** 2,
     "R is the length of the longest example, not the mean length."),
    (lambda X, y, u: (np.abs(X).sum(axis=1).max() / (y * (X @ u)).min()) ** 2,
     "you took the sum of the absolute values of x. Its length is the root of the sum of squares."),
    (lambda X, y, u: (np.linalg.norm(X, axis=1).max() / (X @ u).min()) ** 2, "multiply u·x by the label y."),
)  # fmt: skip
AVERAGE: CommonMistakes = (
    (_after_passes(_last), "these are the last weights. Return the mean of the weights after every example."),
    (_after_passes(_mean_of_updates), "you averaged after updates only. Examples that were right count as well."),
    (_after_passes(lambda ws, bs: (np.mean(ws, axis=0), np.mean(bs))),
     "you counted the start. The mean begins with the weights after the first example."),
    (_after_passes(lambda ws, bs: (np.mean(ws[:-1], axis=0), np.mean(bs[:-1]))),
     "you added the weights before the update. Add those after the visit to every example."),
    (_after_passes(lambda ws, bs: (ws[-1], np.mean(bs[1:]))),  # only the numbers were copied
     "the list holds the same array every time: `w += ...` changes it in place. Write "
     "w = w + ..., or append w.copy()."),
    (_after_passes(lambda ws, bs: (np.sum(ws[1:], axis=0), np.sum(bs[1:]))),
     "this is the sum. Divide it by the number of examples."),
    *_mistakes_of_a_visit(partial(_after_passes, _mean), with_rate=False, with_margin=False),
    (_after_passes(_mean, **_ALWAYS), "update only after a mistake."),
    (_after_passes(_mean, start=(1.0, 1.0)), "start from zeros, not from ones."),
    (_after_passes(_mean, start=(1.0, 0.0)), "start from zeros, not from ones."),
)  # fmt: skip
STOP: CommonMistakes = (
    (partial(_stop, ties=True), "an equal accuracy is not an improvement."),
    (partial(_stop, late=1), "you waited one epoch too long."),
    (partial(_stop, late=-1), "you stopped one epoch too early."),
    (lambda accuracies, patience: (len(accuracies), int(np.argmax(accuracies)) + 1),
     "training stops when the accuracy has not improved for `patience` epochs."),
    (lambda accuracies, patience: tuple(np.array(_stop(accuracies, patience)) - 1), "epochs are counted from 1."),
)  # fmt: skip
CLASSES: CommonMistakes = (
    (partial(_classes, sign=-1), "the signs are the wrong way round: add x to the true class's row."),
    (partial(_classes, rivals="all"), "only two rows change: that of the true class and that of the predicted class."),
    (partial(_classes, rivals="better"),
     "only two rows change: that of the true class and that of the predicted class."),
    (partial(_classes, rivals="none"), "subtract x from the row of the predicted class."),
    (partial(_classes, last_of_ties=True), "here two scores are equal, and the first class of them is predicted."),
    (partial(_classes, strict=True), "the score of the true class is as good as that of an earlier class. Of equal "
     "scores, the first is predicted, so this is a mistake."),
)  # fmt: skip
MARGIN: CommonMistakes = (
    (lambda w, b, x, y, eta, margin: _visit(w, b, x, y, eta),
     "this is the rule without a margin. Update if y s <= margin."),
    *_mistakes_of_a_visit(partial(partial, _visit), with_rate=True, with_margin=True),
    (partial(_visit, triggers=lambda s, margin, y, w: s <= margin * np.linalg.norm(w)),
     "you compared the geometric margin y s / |w|. The rule compares y s itself."),
    (partial(_visit, **_ALWAYS), "update only if y s <= margin."),
)  # fmt: skip
KERNEL: CommonMistakes = (
    (_wrong_kernel(lambda alpha, y: alpha), "every term must be multiplied by its label: α_j y_j K(x_j, x)."),
    (_wrong_kernel(lambda alpha, y: y), "every term must be multiplied by its α_j."),
    (_wrong_kernel(lambda alpha, y: -alpha * y), "the sign is the wrong way round."),
    (lambda alpha, X, y, kernel, x: _wrong_kernel(lambda alpha, y: alpha * y)(alpha, X, y, np.dot, x),
     "these are dot products. Use the kernel: kernel(x_j, x)."),
    (lambda *arguments: 1 if _wrong_kernel(lambda alpha, y: alpha * y)(*arguments) > 0 else -1,
     "this is the label. Return the score, not its sign."),
)  # fmt: skip
VITERBI: CommonMistakes = (
    (lambda emissions, transitions: emissions.argmax(axis=1), "this ignores the transitions."),
    (_greedy, "this takes the best label token by token. A later token can make another choice better."),
    (_forward, "this labelling is as good, but of equal ones the first in lexicographic order is wanted. "
     "Search from the last token to the first."),
    (lambda emissions, transitions: _forward(emissions, transitions.T),
     "the transitions are the wrong way round: transitions[i][j] is the weight of label i followed by label j."),
)  # fmt: skip
FEATURES: CommonMistakes = (
    (lambda x: x, "the product x₁x₂ is missing."),
    (lambda x: [*x, x[0] ** 2, x[0] * x[1], x[1] ** 2], "squares are not needed here: return x₁, x₂ and x₁x₂."),
    (lambda x: [x[0] * x[1]], "keep x₁ and x₂ as well."),
)
