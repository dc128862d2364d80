"""How to make all of it again: versions, files and their checksums, the parameters of the model as code and command."""

import json
import platform
import shlex
from itertools import combinations
from typing import Any

import numpy as np
import scipy
import sklearn

import perceptrons
from perceptrons.features.derived import Derived
from perceptrons.inspection.html import visible
from perceptrons.inspection.wording import changed
from perceptrons.report.page import Section, code, element, facts, joined, paragraph, section, soft, user
from perceptrons.report.subject import Subject

OPTIONS = {
    "combine", "step", "eta0", "C", "margin", "intercept_scaling", "shrink", "batch_size", "multiclass", "kernel",
    "gamma", "degree", "coef0", "budget", "on_full", "cache_size", "max_iter", "max_seconds",
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
    parts += [element("h3", "The model"), *_model(subject)]
    parts += [element("h3", "Versions"), facts(versions)]
    return section("reproduce", "How to reproduce it", *parts)


def _model(subject: Subject) -> list[Any]:
    name = next((name for what, name, _ in subject.origin.files if what == "model"), None)
    parts: list[Any] = []
    if name is not None:
        load = f"import perceptrons\n\nmodel = perceptrons.load({name!r})\nmodel.predict(X)"
        parts += [paragraph("Load it in Python:"), code(visible(load))]
    parts += [paragraph("Train one like it, in Python:"), code(visible(as_python(subject.model)))]
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
    return f"from perceptrons import {kind}\n\nmodel = {kind}({own}).fit(X, y)"


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
        elif name in ("class_weight", "cost") and isinstance(value, dict):
            words += [f"--{name.replace('_', '-')}", json.dumps(value)]
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
    words += _of_table(source) if source.get("numbers") is not None else []
    flags = [f"--{name.replace('_', '-')}" for name in ("zero_based", "text_labels") if source.get(name)]
    bits = text["bits"] or 0 if "bits" in text else source.get("hash_bits")
    return [*words, *flags, *([] if bits is None else ["--hash-bits", str(bits)])]


def _of_table(source: dict[str, Any]) -> list[str]:
    """How the columns of a table became features, as options. Python leaves tables as they are, unlike the command."""
    kept = source.get("preparation") or {"scale": "none", "fill": False}
    derived = Derived(*(tuple(kept.get(name, ())) for name in Derived._fields))
    others = [name for name in _listed(source.get("categories")) if name not in (*derived.dates, *derived.flags)]
    keep = source.get("keep") if "preparation" in source else source["numbers"]  # they may look like identifiers
    columns = {"categories": others, "ignore": source.get("ignore"), "keep": keep, "missing": kept.get("missing")}
    words = [word for name, values in columns.items() for value in _listed(values) for word in (f"--{name}", value)]
    words += ["--scale", kept["scale"]] if kept["scale"] != "standard" else []
    words += ["--on-missing", "raise"] if not kept["fill"] else []
    words += ["--powers", str(kept["powers"])] if kept.get("powers", 1) > 1 else []
    pairs = [(one, other) for one, other in kept.get("pairs", ())]
    everything = [*kept.get("names", ()), *others, *derived.categories()]
    asked = ["*"] if pairs and pairs == list(combinations(everything, 2)) else [f"{a}*{b}" for a, b in pairs]
    return words + [word for pair in asked for word in ("--interactions", pair)]


def _listed(value: Any) -> list[str]:
    return [] if value is None else [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def _plain(value: Any) -> Any:
    """Numbers of NumPy as Python's own, also within dicts."""
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value
