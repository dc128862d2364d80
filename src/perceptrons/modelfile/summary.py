"""Summaries of models, for people and as JSON: settings, classes, features, training and the largest weights."""

from typing import TYPE_CHECKING, Any

from perceptrons.engine.training.base import Classifier, learner_of
from perceptrons.engine.wording import apart, count, listed, settings, short, tested, why_it_stopped
from perceptrons.features import HashedText
from perceptrons.inspection import taggers as tagger_summary
from perceptrons.inspection.audit import hashing_audit, hashing_in_words, never_in_words, never_updated, shared_in_words
from perceptrons.inspection.evaluation import several_labels
from perceptrons.inspection.kernel_summary import kernel_facts, kernel_in_words, support_in_words, top_support
from perceptrons.inspection.names import listed_names
from perceptrons.inspection.units import categories_of, prepared_in_words
from perceptrons.inspection.weights import Row, constant_feature, rows_of, top_by_row
from perceptrons.kernel import KernelPerceptron

if TYPE_CHECKING:
    from perceptrons.linear import Perceptron

N_WEIGHTS = 10  # of each class, by default
FORMS = {"fasttext": "lines with __label__", "tab": "lines of label, tab and text", "files": "one text per file"}
SHOWN_OPTIONS = ("form", "label_column", "text_column", "categories", "ignore", "zero_based")  # of how files were read


def facts(model: "Perceptron | KernelPerceptron") -> dict[str, Any]:
    """Return what a model of single examples is, and what it has seen."""
    return {
        "kind": type(model).__name__,
        **training_facts(model),
        "several_labels": several_labels(model),
        "feature_names": listed_names(model),
        "examples_seen": model.t_,
        "n_mistakes": model.n_mistakes_,
        "recipe": getattr(model, "recipe_", None),
        "never_updated": never_updated(model),
    }


def training_facts(model: "Perceptron | KernelPerceptron") -> dict[str, Any]:
    """Return what a model learned from, with which settings, and why training stopped."""
    return {
        "source": shown_source(getattr(model, "source_", None)),
        "parameters": model.get_params(),
        **(kernel_facts(model) if isinstance(model, KernelPerceptron) else {}),
        "classes": model.classes_.tolist(),
        "threshold": model.threshold_,
        "calibration": calibration_facts(model),
        "keeps_learning": following_facts(model),
        "n_features": model.n_features_in_,
        "epochs": model.n_iter_,
        "updates": model.n_updates_,
        **({} if isinstance(model, KernelPerceptron) else _linear_facts(model)),
        "mistakes": model.mistakes_.tolist(),
        "stop_reason": model.stop_reason_ or None,
        "why": why_it_stopped(model),
    }


def shown_source(source: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return how files were read, without the packed weights of words, which nobody can read."""
    preparation = (source or {}).get("preparation") or {}
    if source is None or "term_weights" not in preparation:
        return source
    weights = {name: value for name, value in preparation["term_weights"].items() if name != "levels"}
    return {**source, "preparation": {**preparation, "term_weights": weights}}


def most_important(
    model: "Perceptron | KernelPerceptron", rows: list[Row], n: int, lines: Any = None
) -> dict[str, list[dict[str, Any]]]:
    """Return the n largest weights, or support vectors, of every row. lines: of the training examples."""
    if isinstance(model, KernelPerceptron):
        return {"support": top_support(model, rows, n, lines)}
    return {"weights": top_by_row(model, rows, n)}


def facts_in_words(
    model: "Perceptron | KernelPerceptron", hashing: dict[str, Any] | None, rows: list[Row]
) -> list[tuple[str, str]]:
    """Return the summary for people: names and texts, the most important first."""
    labels, names, features = model.classes_.tolist(), listed_names(model), f"{model.n_features_in_:,}"
    if names:
        some = names if len(names) <= 5 else [*names[:3], "...", names[-1]]
        features += ": " + "; ".join(short(name, 28) for name in some)
    several = ", several labels per example" if several_labels(model) else ""
    never, source = never_updated(model), getattr(model, "source_", None)
    mistakes = "" if model.n_mistakes_ == model.n_updates_ else f"{count(model.n_mistakes_, 'mistake')}, "
    examples = f"{count(round(model.t_), 'example')} seen"
    lines: list[tuple[str, str | None]] = [("kind", f"{type(model).__name__}, combine={model.combine!r}{several}")]
    if isinstance(model, KernelPerceptron):
        lines += [("kernel", kernel_in_words(model)), ("keeps", support_in_words(model))]
    lines += [
        ("keeps learning", following_in_words(model)),
        ("settings", settings(model) or "all defaults"),
        ("margin", None if isinstance(model, KernelPerceptron) else margin_in_words(model)),
        ("classes", f"{len(labels)}: {listed(labels, 12)}"),
        ("threshold", None if model.threshold_ is None else threshold_in_words(model)),
        ("probabilities", calibration_in_words(model)),
        ("features", features),
        ("weights", _nonzero_in_words(model)),
    ]
    if never is not None and never["count"]:
        lines.append(("never updated", never_in_words(never, "feature" if hashing is None else "column")))
    lines.append(("reads", source_in_words(source) if source else None))
    if hashing is not None:
        lines += [("hashing", hashing_in_words(hashing)), ("shared", shared_in_words(hashing, rows))]
    learned = (
        f"{count(model.n_iter_, 'epoch')}, {mistakes}{count(model.n_updates_, 'update')}{apart(model)}, {examples}"
    )
    lines += [("learned", learned), ("stopped", why_it_stopped(model))]
    lines.append(("tested", tested(model) if hasattr(model, "recipe_") else None))
    return [(name, text) for name, text in lines if text is not None]


def _linear_facts(model: "Perceptron") -> dict[str, Any]:
    n_nonzero = None if model.combine == "vote" else model.n_nonzero_  # votes have no weights of their own
    return {"margin": model.margin_, "n_nonzero": n_nonzero}


def _nonzero_in_words(model: "Perceptron | KernelPerceptron") -> str | None:
    """Return text such as "359 of 8,713 are not 0"; None without a penalty that makes weights 0."""
    if isinstance(model, KernelPerceptron) or model.penalty not in ("l1", "elasticnet"):
        return None
    return f"{model.n_nonzero_:,} of {model.coef_.size:,} are not 0"


def threshold_in_words(model: "Perceptron | KernelPerceptron") -> str:
    """Return a threshold as text, such as "0.25: spam for scores at or above it"."""
    return f"{model.threshold_:.4g}: {short(str(model.classes_.tolist()[1]), 28)} for scores at or above it"


def following_facts(model: "Perceptron | KernelPerceptron") -> dict[str, Any] | None:
    """Return how a fitted model follows the examples that it learned from since; None if there were none."""
    if isinstance(model, KernelPerceptron):
        return None
    weights = learner_of(model).weights
    record, totals = weights.record, weights.arrays["state"]["total"]
    if record is None:
        return None
    return {"predicts_with": model.combine_, "lead_of_last": float(record["lead"][0]), "memory": float(totals.max())}


def following_in_words(model: "Perceptron | KernelPerceptron") -> str | None:
    """Return the same as text, such as "with averaged weights, which count as 3,186 examples"."""
    facts = following_facts(model)
    if facts is None:
        return None
    if facts["predicts_with"] != "last":
        return f"predicts with {model.combine} weights, which hold {count(round(facts['memory']), 'example')}"
    return "predicts with the last weights, which made fewer mistakes on the latest examples than the averaged ones"


def calibration_facts(model: Classifier[Any]) -> dict[str, Any] | None:
    """Return how the scores were calibrated, and how many examples were learned from since; None if they were not."""
    calibration = learner_of(model).calibration
    if calibration is None:
        return None
    learned_since = max(0.0, model.t_ - calibration.t)
    return {"method": calibration.method, "examples": calibration.n, "learned_since": learned_since}


def calibration_in_words(model: "Perceptron | KernelPerceptron") -> str | None:
    """Return the calibration as text, such as "by sigmoid, calibrated on 1,115 held-out examples"."""
    facts = calibration_facts(model)
    if facts is None:
        return None
    text = f"by {facts['method']}, calibrated on {count(facts['examples'], 'held-out example')}"
    n_since = count(round(facts["learned_since"]), "example")
    return f"{text}; {n_since} learned since: calibrate again" if facts["learned_since"] else text


def margin_in_words(model: "Perceptron") -> str:
    """Return the margin of training as text, with the constant feature of the bias if the data decided on it."""
    one = constant_feature(model)
    bias = f", value of the constant feature {one:g}" if one not in (0, 1) else ""
    return f"{model.margin_:g}{' (auto)' * (model.margin == 'auto')}{bias}"


def source_in_words(source: dict[str, Any]) -> str:
    """Return how files were read as text, without defaults, such as "text: words 1-2, lowercase False"."""
    parts = {name: source[name] for name in SHOWN_OPTIONS if source.get(name)} | {"categories": categories_of(source)}
    usual = HashedText().get_params() | {"bits": None, "words": None}
    for name, value in (source.get("text") or {}).items():
        if name in ("words", "chars") and value is not None:
            parts[name] = "-".join(str(size) for size in dict.fromkeys(value))
        elif name != "bits" and value != usual[name]:
            parts[name] = value
    phrases = [FORMS[form]] if (form := parts.pop("form", None)) else []
    for name, value in parts.items():
        if value not in (None, []):
            text = listed(value) if isinstance(value, list) else short(str(value), 28)
            phrases.append(f"{name.replace('_', ' ')} {text}")
    phrases += prepared_in_words(source)
    return f"{source['format']}: {', '.join(phrases)}" if phrases else str(source["format"])


def model_summary(model: Any, top: int = N_WEIGHTS, label: str | None = None) -> dict[str, Any]:
    """Return the summary of a model and its largest weights, as `perceptrons inspect --json` prints it.

    label: of one class only.
    """
    if hasattr(model, "templates"):
        steps = tagger_summary.transitions(model, top, label)
        arcs = [{"from": before, "to": after, "weight": weight} for before, after, weight in steps]
        weights = tagger_summary.heaviest_features(model, top, label)
        return {**tagger_summary.facts(model), "weights": weights, "transitions": arcs}
    rows = [row for row in rows_of(model) if label is None or row.is_about(label)]
    return {**facts(model), "hashing": hashing_audit(model, rows, top), **most_important(model, rows, top)}
