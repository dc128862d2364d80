"""The summary of a fitted model: settings, classes, features, training, the largest weights.

A `ModelSummary` computes everything once. It is shown as text or HTML to people, and as plain values to programs.
"""

from typing import TYPE_CHECKING, Any

from perceptrons.engine import html
from perceptrons.engine.training.base import Classifier, learner_of
from perceptrons.engine.wording import apart, count, in_percent, listed, settings, short, tested, why_it_stopped
from perceptrons.features import HashedText
from perceptrons.inspection.evaluation import several_labels
from perceptrons.inspection.metrics import Facts
from perceptrons.inspection.weights import (
    Row,
    constant_feature,
    hashing_audit,
    heaviest,
    is_tagger,
    most_important,
    names_in_files,
    never_updated,
    rows_of,
    transitions,
)
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.kernels import WITH_GAMMA

if TYPE_CHECKING:
    from perceptrons.linear import Perceptron
    from perceptrons.sequence import SequencePerceptron

N_WEIGHTS = 10  # of each class, by default
MAX_LISTED_NAMES = 1000
MAX_HEAVY_WEIGHTS = 20  # per class, whose shared columns are pointed out
FORMS = {"fasttext": "lines with __label__", "tab": "lines of label, tab and text", "files": "one text per file"}
SHOWN_OPTIONS = ("form", "label_column", "text_column", "categories", "ignore", "zero_based")  # of how files were read


class ModelSummary:
    """What a fitted model is and has learned, with its largest weights.

    Parameters
    ----------
    model : Perceptron, KernelPerceptron or SequencePerceptron
    top : int, default=10
        The number of weights, or support vectors, of each class.
    label : str, optional
        Only the weights of this class.
    mirrored : bool, default=True
        Whether the first of two classes has weights, too: those of the second with the opposite signs.

    Attributes
    ----------
    facts : dict
        Plain values about the model.
    rows : list of Row
        The weights by class; empty if there is no class `label`.
    hashing : dict or None
        How features share columns, if they are hashed.
    """

    def __init__(self, model: Any, top: int = N_WEIGHTS, label: str | None = None, mirrored: bool = True):
        self.model, self._top, self._label = model, top, label
        self.facts = tagger_facts(model) if is_tagger(model) else model_facts(model)
        self.rows = [row for row in rows_of(model, mirrored) if label is None or row.is_about(label)]
        self.hashing = hashing_audit(model, self.rows, top) if self.rows else None

    def to_dict(self) -> Facts:
        """Return everything for JSON, as `perceptrons inspect --json` prints it."""
        weights = most_important(self.model, self.rows, self._top)
        if not is_tagger(self.model):
            return {**self.facts, "hashing": self.hashing, **weights}
        arcs = transitions(self.model, self._top, self._label)
        names = ("from", "to", "weight")
        return {**self.facts, **weights, "transitions": [dict(zip(names, arc, strict=True)) for arc in arcs]}

    def lines(self) -> list[tuple[str, str]]:
        """Return the facts as names and texts, the most important first."""
        lines = _describe_tagger(self.model) if is_tagger(self.model) else _describe_classifier(self)
        return [(name, text) for name, text in lines if text is not None]

    def __str__(self) -> str:
        lines = self.lines()
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:{width}}  {text}" for name, text in lines)

    def _repr_html_(self) -> str:
        return html.block(html.table(self.lines()))


# ---- facts for JSON


def model_facts(model: "Perceptron | KernelPerceptron") -> Facts:
    """Return what a model of single examples is, and what it has seen."""
    return {
        "kind": type(model).__name__,
        **training_facts(model),
        "several_labels": several_labels(model),
        "feature_names": _listed_names(model),
        "examples_seen": model.t_,
        "n_mistakes": model.n_mistakes_,
        "recipe": getattr(model, "recipe_", None),
        "never_updated": never_updated(model),
    }


def training_facts(model: "Perceptron | KernelPerceptron") -> Facts:
    """Return what a model learned from, with which settings, and why training stopped."""
    kernel, linear = {}, {}
    if isinstance(model, KernelPerceptron):
        gamma = float(model.gamma_) if model.kernel in WITH_GAMMA else None
        kernel = {"kernel": model.kernel, "gamma": gamma, "n_support": model.n_support_}
    else:  # votes have no weights of their own
        linear = {"margin": model.margin_, "n_nonzero": None if model.combine == "vote" else model.n_nonzero_}
    return {
        "source": _shown_source(getattr(model, "source_", None)),
        "parameters": model.get_params(),
        **kernel,
        "classes": model.classes_.tolist(),
        "threshold": model.threshold_,
        "calibration": calibration_facts(model),
        "keeps_learning": _following_facts(model),
        "n_features": model.n_features_in_,
        "epochs": model.n_iter_,
        "updates": model.n_updates_,
        **linear,
        "mistakes": model.mistakes_.tolist(),
        "stop_reason": model.stop_reason_ or None,
        "why": why_it_stopped(model),
    }


def tagger_facts(tagger: "SequencePerceptron") -> Facts:
    """Return what a tagger is, and what it has seen."""
    parameters = tagger.get_params(deep=False)
    if tagger.templates is not None:
        parameters["templates"] = tagger.templates.get_params()
    return {
        "kind": type(tagger).__name__,
        "parameters": parameters,
        "columns": None if tagger.templates is None else tagger.templates.parsed()[1],
        "labels": tagger.classes_.tolist(),
        "label_column": getattr(tagger, "label_column_", None),
        "n_features": tagger.n_features_in_,
        "sentences_seen": tagger.t_,
        "updates": tagger.n_updates_,
        "n_mistakes": tagger.n_mistakes_,
        "epochs": tagger.n_iter_,
        "mistakes": tagger.mistakes_.tolist(),
        "stop_reason": tagger.stop_reason_ or None,
        "why": why_it_stopped(tagger),
        "recipe": getattr(tagger, "recipe_", None),
    }


def calibration_facts(model: Classifier[Any]) -> Facts | None:
    """Return how the scores were calibrated, and how many examples were learned from since; None if they were not."""
    calibration = learner_of(model).calibration
    if calibration is None:
        return None
    learned_since = max(0.0, model.t_ - calibration.t)
    return {"method": calibration.method, "examples": calibration.n, "learned_since": learned_since}


def _following_facts(model: "Perceptron | KernelPerceptron") -> Facts | None:
    """Return how a fitted model follows the examples that it learned from since; None if there were none."""
    if isinstance(model, KernelPerceptron):
        return None
    weights = learner_of(model).weights
    if weights.record is None:
        return None
    memory = float(weights.arrays["state"]["total"].max())
    return {"predicts_with": model.combine_, "lead_of_last": float(weights.record["lead"][0]), "memory": memory}


def _listed_names(model: Any) -> list[str] | None:
    """Return all names in the order of the columns, if every column has one and there are not too many."""
    names = names_in_files(model)
    columns = None if names.columns is None else names.columns.columns
    if columns is None:
        return names.names
    return columns.names() if columns.bits is None and columns.n_names <= MAX_LISTED_NAMES else None


def _shown_source(source: Facts | None) -> Facts | None:
    """Return how files were read, without the packed weights of words, which nobody can read."""
    preparation = (source or {}).get("preparation") or {}
    if source is None or "term_weights" not in preparation:
        return source
    weights = {name: value for name, value in preparation["term_weights"].items() if name != "levels"}
    return {**source, "preparation": {**preparation, "term_weights": weights}}


# ---- the same for people


def _describe_classifier(summary: ModelSummary) -> list[tuple[str, str | None]]:
    model, facts, hashing = summary.model, summary.facts, summary.hashing
    source = getattr(model, "source_", None)
    labels, names, features, never = facts["classes"], facts["feature_names"], f"{facts['n_features']:,}", None
    if names:
        some = names if len(names) <= 5 else [*names[:3], "...", names[-1]]
        features += ": " + "; ".join(short(name, 28) for name in some)
    if facts["never_updated"] is not None and facts["never_updated"]["count"]:
        never = describe_never_updated(facts["never_updated"], "feature" if hashing is None else "column")
    mistakes = "" if model.n_mistakes_ == model.n_updates_ else f"{count(model.n_mistakes_, 'mistake')}, "
    updates = f"{count(model.n_updates_, 'update')}{apart(model)}"
    several = ", several labels per example" if facts["several_labels"] else ""
    is_kernel = isinstance(model, KernelPerceptron)
    return [
        ("kind", f"{facts['kind']}, combine={model.combine!r}{several}"),
        ("kernel", describe_kernel(model) if is_kernel else None),
        ("keeps", describe_support(model) if is_kernel else None),
        ("keeps learning", describe_following(model)),
        ("settings", settings(model) or "all defaults"),
        ("margin", None if is_kernel else _describe_margin(model)),
        ("classes", f"{len(labels)}: {listed(labels, 12)}"),
        ("threshold", None if model.threshold_ is None else describe_threshold(model)),
        ("probabilities", describe_calibration(model)),
        ("features", features),
        ("weights", _describe_nonzero(model)),
        ("never updated", never),
        ("reads", _describe_source(source) if source else None),
        ("hashing", None if hashing is None else describe_hashing(hashing)),
        ("shared", None if hashing is None else _describe_shared(hashing, summary.rows)),
        ("learned", f"{count(model.n_iter_, 'epoch')}, {mistakes}{updates}, {count(round(model.t_), 'example')} seen"),
        ("stopped", facts["why"]),
        ("tested", tested(model) if hasattr(model, "recipe_") else None),
    ]


def _describe_tagger(tagger: "SequencePerceptron") -> list[tuple[str, str | None]]:
    labels, words = tagger.classes_.tolist(), tagger.known_words()
    inputs = "features computed in Python"
    if tagger.templates is not None:
        templates, columns = tagger.templates.parsed()
        inputs = f"{listed(columns)}, through {count(len(templates), 'template')}"
    return [
        ("kind", f"{type(tagger).__name__}, combine={tagger.combine!r}"),
        ("sees", inputs),
        ("settings", settings(tagger) or "all defaults"),
        ("labels", f"{len(labels)}: {listed(labels, 12)}"),
        ("features", f"{tagger.n_features_in_:,}" + ("" if words is None else f", from {count(len(words), 'word')}")),
        ("learned", f"{count(tagger.n_iter_, 'epoch')}, {count(tagger.n_mistakes_, 'mistake')}, "
                    f"{count(tagger.n_updates_, 'update')}, {count(round(tagger.t_), 'sentence')} seen"),
        ("stopped", why_it_stopped(tagger)),
        ("tested", tested(tagger) if hasattr(tagger, "recipe_") else None),
    ]  # fmt: skip


def describe_kernel(model: KernelPerceptron) -> str:
    """Return the kernel as text, such as "rbf, gamma 0.5 (scale)"."""
    words = [str(model.kernel)]
    if model.kernel in WITH_GAMMA:
        words.append(f"gamma {model.gamma_:.4g}" + (f" ({model.gamma})" if isinstance(model.gamma, str) else ""))
    if model.kernel == "poly":
        words.append(f"degree {model.degree}")
    if model.kernel in ("poly", "sigmoid"):
        words.append(f"coef0 {model.coef0:g}")
    return ", ".join(words)


def describe_support(model: KernelPerceptron, n_examples: int | None = None) -> str:
    """Return the number of support vectors as text, such as "12 support vectors, 3.0% of the training examples"."""
    words = count(model.n_support_, "support vector")
    if model.budget is not None:
        return f"{words} (at most {model.budget:,})"
    if n_examples is None:
        return words
    return f"{words}, {in_percent(model.n_support_ / n_examples)} of the training examples"


def describe_threshold(model: "Perceptron | KernelPerceptron") -> str:
    """Return a threshold as text, such as "0.25: spam for scores at or above it"."""
    return f"{model.threshold_:.4g}: {short(str(model.classes_.tolist()[1]), 28)} for scores at or above it"


def describe_following(model: "Perceptron | KernelPerceptron") -> str | None:
    """Return how a model keeps learning, such as "predicts with average weights, which hold 3,186 examples"."""
    facts = _following_facts(model)
    if facts is None:
        return None
    if facts["predicts_with"] != "last":
        return f"predicts with {model.combine} weights, which hold {count(round(facts['memory']), 'example')}"
    return "predicts with the last weights, which made fewer mistakes on the latest examples than the averaged ones"


def describe_calibration(model: "Perceptron | KernelPerceptron") -> str | None:
    """Return the calibration as text, such as "by sigmoid, calibrated on 1,115 held-out examples"."""
    facts = calibration_facts(model)
    if facts is None:
        return None
    text = f"by {facts['method']}, calibrated on {count(facts['examples'], 'held-out example')}"
    n_since = count(round(facts["learned_since"]), "example")
    return f"{text}; {n_since} learned since: calibrate again" if facts["learned_since"] else text


def _describe_margin(model: "Perceptron") -> str:
    """Return the margin of training as text, with the constant feature of the bias if the data decided on it."""
    one = constant_feature(model)
    bias = f", value of the constant feature {one:g}" if one not in (0, 1) else ""
    return f"{model.margin_:g}{' (auto)' * (model.margin == 'auto')}{bias}"


def _describe_nonzero(model: "Perceptron | KernelPerceptron") -> str | None:
    """Return text such as "359 of 8,713 are not 0"; None without a penalty that makes weights 0."""
    if isinstance(model, KernelPerceptron) or model.penalty not in ("l1", "elasticnet"):
        return None
    return f"{model.n_nonzero_:,} of {model.coef_.size:,} are not 0"


def describe_never_updated(audit: Facts, thing: str = "feature") -> str:
    """Return the features that were never updated as text, such as "3 of 64 features (4.7%): column 1; column 33"."""
    share = in_percent(audit["count"] / max(1, audit["of"]))
    names = "; ".join(short(name, 28) for name in audit["features"][:5]) + "; ..." * (audit["count"] > 5)
    return f"{audit['count']:,} of {count(audit['of'], thing)} ({share}): {names}"


def describe_hashing(audit: Facts) -> str:
    """Return an audit as text, such as "7,291 features in 2^20 columns; 44 (0.6%) share a column with another"."""
    if not audit["features"]:
        return f"2^{audit['bits']} columns"
    more = "more than " if audit["forgot"] else ""
    text = f"{more}{count(audit['features'], 'feature')} in 2^{audit['bits']} columns"
    n_sharing = audit["features_sharing"]
    if not n_sharing:
        return text
    return f"{text}; {n_sharing:,} ({in_percent(n_sharing / audit['features'])}) share a column with another"


def _describe_shared(audit: Facts, rows: list[Row]) -> str:
    """Return whether the largest weights belong to one feature each, as text."""
    heavy = {place for row in rows for place in heaviest(row.weights, MAX_HEAVY_WEIGHTS)}
    shared = [entry for entry in audit["heaviest"] if entry["column"] in heavy]
    if not shared:
        return f"none of the {len(heavy)} largest weights belongs to a shared column"
    first = " and ".join(short(name, 20) for name in shared[0]["names"][:2])
    return f"{len(shared)} of the {len(heavy)} largest weights belong to shared columns, such as that of {first}"


def _describe_source(source: Facts) -> str:
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
    phrases += describe_preparation(source)
    return f"{source['format']}: {', '.join(phrases)}" if phrases else str(source["format"])


def describe_preparation(source: Facts) -> list[str]:
    """Return how tables are prepared for a model as texts. source: how the model reads files."""
    preparation = source.get("preparation") or {}
    steps = [] if preparation.get("scale", "none") == "none" else [f"numbers scaled ({preparation['scale']})"]
    steps += ["words weighted by idf"] if preparation.get("term_weights") else []
    steps += ["missing numbers filled"] if preparation.get("fill") else []
    for name, title in (("dates", "dates"), ("flags", "yes or no")):
        steps += [f"{title} {listed(preparation[name])}"] if preparation.get(name) else []
    steps += [f"powers up to {preparation['powers']}"] if preparation.get("powers", 1) > 1 else []
    products = ["*".join(pair) for pair in preparation.get("pairs") or ()]
    return steps + ([f"products {listed(products)}"] if products else [])


def categories_of(source: Facts) -> list[str]:
    """Return the columns with categories, without dates and yes-or-no columns, which are also read as strings."""
    preparation = source.get("preparation") or {}
    derived = {*preparation.get("dates", ()), *preparation.get("flags", ())}
    return [name for name in source.get("categories") or () if name not in derived]
