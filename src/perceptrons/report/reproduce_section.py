"""The reproduction section of the report: versions, files and checksums, and the model as code and as a command."""

import json
import platform
import shlex
from typing import Any

import numpy as np
import scipy
import sklearn

import perceptrons
from perceptrons.data import TABLES
from perceptrons.engine.html import visible
from perceptrons.engine.wording import changed
from perceptrons.inspection.units import categories_of
from perceptrons.report.page import Section, code, element, facts, joined, paragraph, section, soft, user
from perceptrons.report.subject import Subject

OPTIONS = {
    "combine", "window", "step", "eta0", "C", "margin", "intercept_scaling", "penalty", "alpha", "l1_ratio",
    "batch_size", "multiclass", "init", "zero_score", "kernel", "gamma", "degree", "coef0", "budget", "on_full",
    "cache_size", "max_iter", "max_seconds",
}  # fmt: skip
FLAGS = {"early_stopping": (True, "--early-stopping"), "shuffle": (False, "--no-shuffle"),
         "fit_intercept": (False, "--no-intercept")}  # fmt: skip


def how_to_reproduce(subject: Subject) -> Section:
    """The section."""
    versions = [
        ("perceptrons", perceptrons.__version__), ("Python", platform.python_version()), ("NumPy", np.__version__),
        ("SciPy", scipy.__version__), ("scikit-learn", sklearn.__version__),
    ]  # fmt: skip
    parts: list[Any] = []
    origin = subject.origin
    if origin.command is not None:
        parts += [element("h3", "This page"), code(visible(origin.command))]
    if origin.files:
        rows = [
            (
                f"The {what}",
                joined([user(name, 200), element("br"), element("code", f"SHA-256 {digest or 'not known'}")]),
            )
            for what, name, digest in origin.files
        ]
        parts += [element("h3", "Files"), facts(rows)]
    parts += [element("h3", "Model"), *_model(subject)]
    parts += [element("h3", "Versions"), facts(versions)]
    return section("reproduce", "How to reproduce it", *parts)


def _model(subject: Subject) -> list[Any]:
    name = next((name for what, name, _ in subject.origin.files if what == "model"), None)
    parts: list[Any] = []
    if name is not None:
        load = f"import perceptrons\n\nmodel = perceptrons.load({name!r})\nmodel.predict(X)"
        parts += [paragraph("Load it in Python:"), code(visible(load))]
    parts += [paragraph("Train a similar model in Python:"), code(visible(as_python(subject.model)))]
    command, missing = as_command(subject.model)
    if subject.before is None:
        parts += [paragraph("or on the command line:"), code(visible(command))]
        if missing:
            left = ", ".join(sorted(missing))
            parts.append(soft("The command line has no option for: ", element("code", left)))
    else:
        steps = " → ".join(type(step).__name__ for _, step in subject.estimator.steps)
        parts.append(paragraph("It is the last step of a pipeline: ", element("code", steps)))
    return parts


def as_python(model: Any) -> str:
    """An estimator of the same parameters, as code."""
    own = ", ".join(f"{name}={_plain(value)!r}" for name, value in changed(model).items())
    kind = type(model).__name__
    source = getattr(model, "source_", None) or {}
    if not source.get("preparation"):
        return f"from perceptrons import {kind}\n\nmodel = {kind}({own}).fit(X, y)"
    asked = _prepared(source)
    asked |= {name: value for name in ("text_column", "ignore") if (value := source.get(name))}
    table = ", ".join(f"{name}={value!r}" for name, value in asked.items())
    return (
        f"from sklearn.pipeline import make_pipeline\n\nfrom perceptrons import {kind}\n"
        "from perceptrons.features import TableFeatures\n\n"
        f"model = make_pipeline(TableFeatures({table}), {kind}({own})).fit(X, y)"
    )


def _prepared(source: dict[str, Any]) -> dict[str, Any]:
    """How a table is prepared, as far as it is not as usual; the names are those of options, too."""
    kept = source.get("preparation")
    if kept is None:  # as data are read in Python, if nobody asks for more
        usual = {"scale": "none", "on_missing": "raise", "keep": source.get("numbers")}
        return usual if source.get("format") in TABLES else {}
    pairs, names = kept["pairs"], {name for pair in kept["pairs"] for name in pair}
    every = len(pairs) == len(names) * (len(names) - 1) // 2 and {*kept["names"]} <= names
    asked = {
        "scale": kept["scale"] if kept["scale"] != "standard" else None,
        "on_missing": None if kept["fill"] else "raise",
        "missing": kept["missing"],
        "keep": source.get("keep"),
        "categories": categories_of(source),
        "interactions": ["*"] if every else ["*".join(pair) for pair in pairs],
        "powers": kept["powers"] if kept["powers"] > 1 else None,
    }
    return {name: value for name, value in asked.items() if value}


def as_command(model: Any) -> tuple[str, set[str]]:
    """`perceptrons train` with the same parameters, and those that it has no option for."""
    words, missing = ["perceptrons", "train", "DATA"], set()
    source = getattr(model, "source_", None)
    if isinstance(source, dict):
        words += _of_stream(source)
    streamed = hasattr(model, "progress_")
    own = changed(model) | ({"kernel": model.kernel} if hasattr(model, "kernel") else {})
    for name, value in own.items():
        value = _plain(value)
        if streamed and name in ("max_iter", "tol"):
            continue  # --epochs says it
        if name in FLAGS:
            words += [FLAGS[name][1]] if value is FLAGS[name][0] else []
        elif name == "random_state" and isinstance(value, int):
            words += ["--seed", str(value)]
        elif name == "tol":
            words += ["--tol", "0" if value is None else f"{value!r}"]
        elif name == "probability":
            words += ["--probabilities", str(value)]
        elif name in ("class_weight", "cost") and isinstance(value, dict):
            words += [f"--{name.replace('_', '-')}", json.dumps(value)]
        elif name == "classes":
            words += ["--classes", ",".join(map(str, value))]
        elif name == "class_weight" and value == "balanced":
            words += ["--class-weight", "balanced"]
        elif name in OPTIONS and isinstance(value, int | float | str) and not isinstance(value, bool):
            words += [f"--{name.replace('_', '-')}", str(value)]
        elif name not in ("verbose", "n_jobs"):
            missing.add(name)
    if streamed:
        words += ["--in-memory", "0", "--epochs", str(max(1, model.n_iter_))]
    return shlex.join([*words, "-o", "MODEL"]), missing


def _of_stream(source: dict[str, Any]) -> list[str]:
    """How files were read, as options."""
    words = ["--format", str(source.get("format"))]
    for name in ("label_column", "text_column"):
        for value in _listed(source.get(name)):
            words += [f"--{name.replace('_', '-')}", value]
    text = source.get("text") or {}
    for name, usual in (("words", [1, 1]), ("chars", None)):
        sizes = text.get(name, usual)
        if sizes != usual:
            words += [f"--{name}", "-".join(str(size) for size in dict.fromkeys(sizes)) if sizes else "none"]
    asked: dict[str, Any] = {"encoding": source.get("encoding"), "categories": categories_of(source)}
    asked |= _prepared(source)
    asked["missing"] = ",".join(asked.get("missing", ())) or None
    asked |= {name: source.get(name) for name in ("ignore", "quadratic", "cubic", "label_separator")}
    for name, values in asked.items():
        for value in _listed(values):
            words += [f"--{name.replace('_', '-')}", value]
    flags = [f"--{name.replace('_', '-')}" for name in ("zero_based", "text_labels", "multilabel") if source.get(name)]
    bits = text["bits"] or 0 if "bits" in text else source.get("hash_bits")
    return [*words, *flags, *([] if bits is None else ["--hash-bits", str(bits)])]


def _listed(value: Any) -> list[str]:
    return [] if value is None else [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def _plain(value: Any) -> Any:
    """Numbers of NumPy as Python's own, also within dicts."""
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value
