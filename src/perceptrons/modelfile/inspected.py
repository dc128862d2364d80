"""What `perceptrons inspect --json` prints of a model, whoever asks."""

from typing import Any

from perceptrons.inspection.audit import hashing_audit
from perceptrons.inspection.weights import rows_of
from perceptrons.modelfile.summary import facts, most_important
from perceptrons.sequence import summary as of_tagger

USUAL = 10  # weights of each class


def inspected(model: Any, top: int = USUAL, label: str | None = None) -> dict[str, Any]:
    """Facts about a model and its largest weights. label: of one class only."""
    if hasattr(model, "templates"):
        steps = of_tagger.transitions(model, top, label)
        arcs = [{"from": before, "to": after, "weight": weight} for before, after, weight in steps]
        weights = of_tagger.heaviest_features(model, top, label)
        return {**of_tagger.facts(model), "weights": weights, "transitions": arcs}
    rows = [row for row in rows_of(model) if label is None or row.is_about(label)]
    return {**facts(model), "hashing": hashing_audit(model, rows, top), **most_important(model, rows, top)}
