"""`SequenceExplanation`: what features and transitions add to the score of a labelling."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from perceptrons.engine.html import block, note, table
from perceptrons.engine.rows import Sparse
from perceptrons.explanation import Contribution, largest, short

MAX_SHOWN_TOKENS = 50
SHOWN_FEATURES = 3  # per token


@dataclass(frozen=True, eq=False)
class TokenExplanation:
    """Why one token has its label.

    Attributes
    ----------
    label, runner_up : labels
        That of the best labelling of the sequence, and the one that the token has in the best of the others; None if no
        other is allowed.
    lead : float
        By how much the best labelling leads the best one that gives this token another label; the labels of other
        tokens may change, too.
    columns, features, values : arrays and tuple of shape (n_features_of_the_token,)
    weights, rival : arrays
        The weights of these features for the label, and for the runner-up (0 if there is none).
    transition : float
        The weight of the step from the label before, or from the start, to this one.
    """

    label: Any
    runner_up: Any
    lead: float
    columns: np.ndarray
    features: tuple[str, ...]
    values: np.ndarray
    weights: np.ndarray
    rival: np.ndarray
    transition: float

    @property
    def contributions(self) -> np.ndarray:
        """Return what each feature adds to the score of the label."""
        return self.weights * self.values

    @property
    def score(self) -> float:
        """Return what the token adds to the score of the labelling."""
        return float(self.contributions.sum()) + self.transition

    def top(self, n: int = 10) -> list[Contribution]:
        """Return the features that speak most for the label against the runner-up, or for that (below 0)."""
        return largest(self.features, self.columns, self.values, self.weights - self.rival, n)

    def to_dict(self) -> dict[str, Any]:
        arrays = ("columns", "values", "weights", "rival", "contributions")
        return {
            "label": self.label,
            "runner_up": self.runner_up,
            "lead": self.lead if np.isfinite(self.lead) else None,
            "features": list(self.features),
            **{name: getattr(self, name).tolist() for name in arrays},
            "transition": self.transition,
        }


@dataclass(frozen=True, eq=False)
class SequenceExplanation:
    """Why a tagger labels one sequence as it does: `tagger.explain(tokens)` makes it.

    The scores of the tokens and the step to the end add up to `score`, that of the best labelling.

    Attributes
    ----------
    labels : list
    tokens : tuple of TokenExplanation
    stop : float
        The weight of the step from the last label to the end.

    Examples
    --------
    >>> from perceptrons import SequencePerceptron
    >>> X = [[{"word": "a"}, {"word": "cat"}], [{"word": "cats"}, {"word": "sleep"}]]
    >>> tagger = SequencePerceptron().fit(X, [["DET", "NOUN"], ["NOUN", "VERB"]])
    >>> why = tagger.explain([{"word": "cats"}, {"word": "sleep"}])
    >>> why.labels, why.tokens[0].top(1)[0].feature
    (['NOUN', 'VERB'], 'word=cats')
    """

    labels: list[Any]
    tokens: tuple[TokenExplanation, ...]
    stop: float

    @property
    def score(self) -> float:
        return sum(token.score for token in self.tokens) + self.stop

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain lists and numbers, for JSON."""
        tokens = [token.to_dict() for token in self.tokens]
        return {"labels": self.labels, "score": self.score, "stop": self.stop, "tokens": tokens}

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        return "\n".join([*texts, "", *self._notes()])

    def _repr_html_(self) -> str:
        header, *lines = self._lines()
        return block(table(lines, header), *map(note, self._notes()))

    def _lines(self) -> list[tuple[str, ...]]:
        lines: list[tuple[str, ...]] = [
            ("token", "label", "not", "lead", "step", "strongest evidence for the label, or (-) for the other")
        ]
        for place, token in enumerate(self.tokens[:MAX_SHOWN_TOKENS]):
            parts = ", ".join(
                f"{short(part.feature, 20)} {part.contribution:+.3g}" for part in token.top(SHOWN_FEATURES)
            )
            runner_up = "" if token.runner_up is None else short(str(token.runner_up), 12)
            numbers = (f"{token.lead:.3g}", f"{token.transition:+.3g}")
            lines.append((str(place), short(str(token.label), 12), runner_up, *numbers, parts))
        return lines

    def _notes(self) -> list[str]:
        n_hidden = len(self.tokens) - MAX_SHOWN_TOKENS
        notes = [f"And {n_hidden:,} more tokens."] if n_hidden > 0 else []
        return [*notes, f"Score of the labelling: {self.score:.4g}. Scores are not probabilities."]


def explain_labelling(
    classes: np.ndarray, names: list[str], rows: Sparse, w: np.ndarray, arcs: np.ndarray, y_hat: np.ndarray,
    scores: np.ndarray,
) -> SequenceExplanation:  # fmt: skip
    """Return what features and transitions add to the score of the best labelling y_hat.

    w: the weights of the features in rows, by label. scores: those of the best labelling through each label.
    """
    labels, tokens, previous = classes.tolist(), [], -1
    for t, y in enumerate(y_hat.tolist()):
        features = slice(rows.starts[t], rows.starts[t + 1])
        columns, values = rows.columns[features].astype(np.int64), rows.values[features].astype(np.float64)
        rival_scores = scores[t].copy()
        rival_scores[y] = -np.inf
        rival = int(rival_scores.argmax()) if np.isfinite(rival_scores).any() else None
        tokens.append(
            TokenExplanation(
                label=labels[y],
                runner_up=None if rival is None else labels[rival],
                lead=float(scores[t, y] - rival_scores.max()),
                columns=columns,
                features=tuple(str(names[column]) for column in columns.tolist()),
                values=values,
                weights=w[features, y].astype(np.float64),
                rival=np.zeros(len(columns)) if rival is None else w[features, rival].astype(np.float64),
                transition=float(arcs[previous, y]),
            )
        )
        previous = y
    stop = float(arcs[previous, -1]) if tokens else 0.0
    return SequenceExplanation([token.label for token in tokens], tuple(tokens), stop)
