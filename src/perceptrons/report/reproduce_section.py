"""The section about how to make page and model again: versions, files and checksums, code and command."""

import json
import platform
import shlex
from typing import Any

import numpy as np
import scipy
import sklearn

import perceptrons
from perceptrons.data.options import TABLES
from perceptrons.engine.wording import changed
from perceptrons.inspection.summary import categories_of
from perceptrons.report.page import Section, user_text
from perceptrons.report.subject import Model, Subject

OPTIONS = {
    "combine", "window", "step", "eta0", "C", "margin", "intercept_scaling", "penalty", "alpha", "l1_ratio",
    "batch_size", "multiclass", "init", "zero_score", "kernel", "gamma", "degree", "coef0", "budget", "on_full",
    "cache_size", "max_iter", "max_seconds",
}  # fmt: skip
FLAGS = {"early_stopping": (True, "--early-stopping"), "shuffle": (False, "--no-shuffle"),
         "fit_intercept": (False, "--no-intercept")}  # fmt: skip


def reproduce_section(subject: Subject) -> Section:
    origin = subject.origin
    file_name = next((name for kind, name, _ in origin.files if kind == "model"), None)
    command, missing = as_command(subject.model)
    steps = None
    if subject.transformer is not None:
        steps_before = [step for _, step in subject.transformer.steps]
        steps = " → ".join(type(step).__name__ for step in (*steps_before, subject.model))
    return Section("reproduce", "How to reproduce it", {
        "page_command": origin.command,
        "files": [(kind, user_text(name, 200), digest or "not known") for kind, name, digest in origin.files],
        "model_file": None if file_name is None else repr(file_name),
        "python": as_python(subject.model), "command": command, "missing": ", ".join(sorted(missing)), "steps": steps,
        "versions": [
            ("perceptrons", perceptrons.__version__), ("Python", platform.python_version()), ("NumPy", np.__version__),
            ("SciPy", scipy.__version__), ("scikit-learn", sklearn.__version__),
        ],
    })  # fmt: skip


def as_python(model: Model) -> str:
    """Return code that fits an estimator with the same parameters."""
    parameters = ", ".join(f"{name}={_to_python(value)!r}" for name, value in changed(model).items())
    kind = type(model).__name__
    source = getattr(model, "source_", None) or {}
    if not source.get("preparation"):
        return f"from perceptrons import {kind}\n\nmodel = {kind}({parameters}).fit(X, y)"
    options = _preparation_options(source)
    options |= {name: value for name in ("text_column", "ignore") if (value := source.get(name))}
    table = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return (
        f"from sklearn.pipeline import make_pipeline\n\nfrom perceptrons import {kind}\n"
        "from perceptrons.features import TableFeatures\n\n"
        f"model = make_pipeline(TableFeatures({table}), {kind}({parameters})).fit(X, y)"
    )


def _preparation_options(source: dict[str, Any]) -> dict[str, Any]:
    """Return how a table is prepared, as far as it is not as usual; the names are those of options, too."""
    preparation = source.get("preparation")
    if preparation is None:  # as data are read in Python by default
        defaults = {"scale": "none", "on_missing": "raise", "keep": source.get("numbers")}
        return defaults if source.get("format") in TABLES else {}
    pairs = preparation["pairs"]
    names = {name for pair in pairs for name in pair}
    has_all_pairs = len(pairs) == len(names) * (len(names) - 1) // 2 and {*preparation["names"]} <= names
    options = {
        "scale": preparation["scale"] if preparation["scale"] != "standard" else None,
        "on_missing": None if preparation["fill"] else "raise",
        "missing": preparation["missing"],
        "keep": source.get("keep"),
        "categories": categories_of(source),
        "interactions": ["*"] if has_all_pairs else ["*".join(pair) for pair in pairs],
        "powers": preparation["powers"] if preparation["powers"] > 1 else None,
    }
    return {name: value for name, value in options.items() if value}


def as_command(model: Model) -> tuple[str, set[str]]:
    """Return `perceptrons train` with the same parameters, and those that it has no option for."""
    arguments, missing = ["perceptrons", "train", "DATA"], set()
    source = getattr(model, "source_", None)
    if isinstance(source, dict):
        arguments += _reading_options(source)
    is_streamed = hasattr(model, "progress_")
    parameters = changed(model) | ({"kernel": model.kernel} if hasattr(model, "kernel") else {})
    for name, value in parameters.items():
        value, option = _to_python(value), f"--{name.replace('_', '-')}"
        if is_streamed and name in ("max_iter", "tol"):
            continue  # --epochs says it
        if name in FLAGS:
            arguments += [FLAGS[name][1]] if value is FLAGS[name][0] else []
        elif name == "random_state" and isinstance(value, int):
            arguments += ["--seed", str(value)]
        elif name == "tol":
            arguments += [option, "0" if value is None else f"{value!r}"]
        elif name == "probability":
            arguments += ["--probabilities", str(value)]
        elif name in ("class_weight", "cost") and isinstance(value, dict):
            arguments += [option, json.dumps(value)]
        elif name == "classes":
            arguments += [option, ",".join(map(str, value))]
        elif name == "class_weight" and value == "balanced":
            arguments += [option, "balanced"]
        elif name in OPTIONS and isinstance(value, int | float | str) and not isinstance(value, bool):
            arguments += [option, str(value)]
        elif name not in ("verbose", "n_jobs"):
            missing.add(name)
    if is_streamed:
        arguments += ["--in-memory", "0", "--epochs", str(max(1, model.n_iter_))]
    return shlex.join([*arguments, "-o", "MODEL"]), missing


def _reading_options(source: dict[str, Any]) -> list[str]:
    """Return how files were read, as options."""
    options: list[tuple[str, Any]] = [("format", str(source.get("format")))]
    options += [(name, source.get(name)) for name in ("label_column", "text_column")]
    text = source.get("text") or {}
    for name, default in (("words", [1, 1]), ("chars", None)):
        sizes = text.get(name, default)
        if sizes != default:
            options.append((name, "-".join(str(size) for size in dict.fromkeys(sizes)) if sizes else "none"))
    prepared: dict[str, Any] = {"encoding": source.get("encoding"), "categories": categories_of(source)}
    prepared |= _preparation_options(source)
    prepared["missing"] = ",".join(prepared.get("missing", ())) or None
    prepared |= {name: source.get(name) for name in ("ignore", "quadratic", "cubic", "label_separator")}
    arguments = []
    for name, value in [*options, *prepared.items()]:
        values = [] if value is None else value if isinstance(value, list | tuple) else [value]
        for item in values:
            arguments += [f"--{name.replace('_', '-')}", str(item)]
    flags = [f"--{name.replace('_', '-')}" for name in ("zero_based", "text_labels", "multilabel") if source.get(name)]
    bits = text["bits"] or 0 if "bits" in text else source.get("hash_bits")
    return [*arguments, *flags, *([] if bits is None else ["--hash-bits", str(bits)])]


def _to_python(value: Any) -> Any:
    """Return numbers of NumPy as Python's own, also within dicts."""
    if isinstance(value, dict):
        return {_to_python(key): _to_python(item) for key, item in value.items()}
    return value.item() if isinstance(value, np.generic) else value
