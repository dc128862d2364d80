"""What must stay the same while the house is rebuilt: models to the bit, output of commands, public names.

`python -m tests.support.golden` records it anew in golden.json: only where other behaviour is wanted, with the reason
in the commit. Values that depend on the processor's instructions are compared only on the kind that they were recorded
on.
"""

import contextlib
import hashlib
import importlib
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import perceptrons
from perceptrons import FeatureTemplates, KernelPerceptron, SequencePerceptron, StructuredPerceptron
from perceptrons.cli import app, main
from perceptrons.data import stream
from tests.support.doors import records, write
from tests.support.lecture import rosenblatt
from tools.forging import Classes

FILE = Path(__file__).parent / "golden.json"
MODULES = ("", "data", "features", "losses", "online", "plots", "report", "selection", "theory", "distributed")
VOLATILE = {
    "seconds", "version", "training_seconds", "prediction_seconds", "why_skipped", "sha256", "explanation",
    "notes", "tuning_seconds",
}  # fmt: skip


SINCE = {
    "probability": None, "penalty": None, "alpha": 0.0001, "l1_ratio": 0.15, "validation_metric": "accuracy",
    "keep_learning": "follow",
}  # fmt: skip


def processor():
    """What decides about the order of sums in compiled code."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_host_cpu_name()} {hashlib.sha256(features.encode()).hexdigest()[:8]}"


def plain(tree):
    """JSON without what differs from run to run."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items() if key not in VOLATILE}
    return [plain(value) for value in tree] if isinstance(tree, list) else tree


def digest(content):
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()[:16]


def as_recorded(header):
    """The header without what files of linear models have had since the recording; here it has its old values."""
    if "intercept" in header:
        assert (header.pop("spread"), header["parameters"].pop("intercept_scaling")) == (1.0, 1)
        assert header["parameters"].pop("window") == 500
        header["intercept"] = header["intercept"] > 0
        header["parameters"]["shrink"] = 0.0
    for name, usual in SINCE.items():
        if name not in ("penalty", "alpha") or header.get("parameters", {}).get("penalty") is None:
            assert header.get("parameters", {}).pop(name, usual) == usual
    return header


def model_digest(model, folder):
    """Of all that `save` writes, but for times."""
    from safetensors import safe_open

    path = folder / "golden.model"
    perceptrons.save(model, path)
    with safe_open(path, framework="numpy") as file:
        header = as_recorded(plain(json.loads(json.loads(file.metadata()["perceptrons"])["header"])))
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (safe_open is no dict)
    if "clock" in arrays:  # its fourth column said what was left of the weights since the last update, as did the log's
        arrays["clock"][:, 3] = 1.0
    if "log" in arrays:
        arrays["log"] = np.column_stack([arrays["log"], np.ones(len(arrays["log"]))])
    parts = [json.dumps(header, sort_keys=True).encode()]
    parts += [
        f"{name} {arrays[name].dtype} {arrays[name].shape}".encode() + arrays[name].tobytes() for name in sorted(arrays)
    ]
    return digest(b"".join(parts))


# ---- models


def data(k, dtype=np.float64, n=200, d=12):
    rng = np.random.default_rng(5)
    X = rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < 0.6)
    y = np.argmax(X @ rng.integers(-2, 3, (d, k)) + 3 * rng.standard_normal((n, k)), axis=1)
    y[:k] = np.arange(k)
    return X.astype(dtype), y


LINEAR = {
    "default": {}, "last": {"combine": "last"}, "vote": {"combine": "vote", "max_iter": 5},
    "pocket": {"combine": "pocket"},
    "pa1": {"step": "pa1", "max_iter": 5}, "arow": {"step": "arow", "max_iter": 5}, "margin": {"margin": 2.0},
    "l2": {"penalty": "l2", "alpha": 0.01, "max_iter": 5}, "batch": {"batch_size": 7}, "all": {"batch_size": "all"},
    "ovr": {"multiclass": "ovr"}, "ovo": {"multiclass": "ovo"}, "early": {"early_stopping": True},
    "unshuffled": {"shuffle": False, "tol": None, "max_iter": 3}, "no bias": {"fit_intercept": False},
    "balanced": {"class_weight": "balanced"}, "random": {"init": "random"},
}  # fmt: skip
KERNELS = {
    "poly": {"kernel": "poly"}, "rbf": {"kernel": "rbf"}, "vote": {"kernel": "poly", "combine": "vote"},
    "ovr": {"kernel": "poly", "multiclass": "ovr"},
    "budget": {"kernel": "poly", "budget": 20, "on_full": "forget_oldest"},
}  # fmt: skip
WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat"], ["dogs", "bark", "at", "the", "cat"]] * 5
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["D", "N"], ["N", "V", "P", "D", "N"]] * 5


def models(folder):
    """(name, does it depend on the processor?, model) of every kind; the linear ones by the lecture's rule."""
    for name, choices in LINEAR.items():
        for k in (2, 4):
            for form, dtype in (("dense", np.float64), ("csr", np.float32)):
                X, y = data(k, dtype)
                model = rosenblatt(**{"max_iter": 20, **choices}).fit(X if form == "dense" else sp.csr_matrix(X), y)
                exact = name in ("default", "last", "unshuffled", "no bias", "vote")
                yield f"linear {name} {k} {form}", not exact, model
    X, y = data(3)
    sets = [[label for label, value in zip("abc", row, strict=False) if value > 0] for row in X.tolist()]
    yield "linear label sets", True, rosenblatt(max_iter=5).fit(X, sets)
    one = rosenblatt()
    for row, label in zip(X[:50].tolist(), y[:50].tolist(), strict=True):
        one.learn_one({f"f{j}": value for j, value in enumerate(row) if value}, label)
    yield "linear learn_one", False, one
    blocks = [(X[:70], y[:70]), (X[70:], y[70:])]
    yield "linear fit_stream", False, rosenblatt().fit_stream(blocks, epochs=3)
    checkpoint = perceptrons.Checkpoint(folder / "checkpoint", every=0)
    yield "linear fit_stream, checkpoint", False, rosenblatt().fit_stream(blocks, epochs=3, checkpoint=checkpoint)
    yield "linear partial_fit", False, rosenblatt().partial_fit(*blocks[0], classes=[0, 1, 2]).partial_fit(*blocks[1])
    for name, choices in KERNELS.items():
        for form in ("dense", "csr"):
            rows = X if form == "dense" else sp.csr_matrix(X)
            yield f"kernel {name} {form}", True, KernelPerceptron(**{"max_iter": 5, **choices}).fit(rows, y)
    templates = FeatureTemplates(["word[-1..1]", "suffix(word, 1)|word[-1]", "shape(word)", "bias"])
    for name, choices in {
        "default": {},
        "hashed": {"hash_bits": 6},
        "pa1": {"step": "pa1"},
        "counts": {"min_count": 2},
    }.items():
        yield (
            f"tagger {name}",
            name == "pa1",
            SequencePerceptron(max_iter=4, templates=templates, **choices).fit(WORDS, TAGS),
        )
    yield "structured", True, StructuredPerceptron(Classes(), max_iter=3).fit(list(X[:, :5]), y.tolist())
    rows = records()
    for form in ("csv", "tsv", "jsonl", "parquet", "arrow", "tab", "fasttext", "vw", "svmlight"):
        path = write(folder / f"data.{form}", rows, form)
        format = {"tab": "text", "fasttext": "text"}.get(form, form)
        options = {"text_column": ["title", "body"]} if form in ("csv", "tsv", "jsonl", "parquet", "arrow") else {}
        yield f"stream {form}", True, rosenblatt().fit_stream(stream(path, format=format, **options), epochs=2)


# ---- commands


def commands(folder):
    """(name, arguments) of every command, in order: later ones use the files of those before."""
    rng = np.random.default_rng(3)
    X = rng.integers(-3, 4, (80, 4))
    y = np.where(X @ [2, -1, 1, 0] + rng.integers(-2, 3, 80) > 0, "yes", "no")
    lines = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    (folder / "n.csv").write_text("a,b,c,d,label\n" + "\n".join(lines) + "\n")
    svm = [
        f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v)
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    (folder / "n.svm").write_text("\n".join(svm) + "\n")
    write(folder / "t.jsonl", records(), "jsonl")
    write(folder / "t.tab", records(), "tab")
    (folder / "c.conll").write_text(
        "\n\n".join("\n".join(f"{w} {t}" for w, t in zip(*pair, strict=True)) for pair in zip(WORDS, TAGS, strict=True))
        + "\n"
    )
    table, points, mails, texts = "n.csv", "n.svm", "t.jsonl", "t.tab"
    columns = ["--text-column", "title", "--text-column", "body"]
    return {
        "train csv": ["train", table, "-o", "a.model", "--json"],
        "train svmlight": ["train", points, "-o", "b.model", "--json"],
        "train epochs": ["train", table, "--epochs", "3", "-o", "c.model", "--json"],
        "train jsonl": ["train", mails, *columns, "--epochs", "2", "-o", "d.model", "--json"],
        "train text": ["train", texts, "--format", "text", "-o", "e.model", "--json"],
        "train kernel": ["train", table, "--kernel", "poly", "--max-iter", "5", "-o", "k.model", "--json"],
        "train digits": ["train", "--max-iter", "3", "--json"],
        **{f"predict {m}": ["predict", f"{m}.model", table, "--scores", "--json"] for m in "ack"},
        "predict b": ["predict", "b.model", points, "--json"],
        "predict d": ["predict", "d.model", mails, "--scores", "--json"],
        **{f"evaluate {m}": ["evaluate", f"{m}.model", table, "--json"] for m in "ack"},
        "evaluate e": ["evaluate", "e.model", texts, "--format", "text", "--json"],
        **{f"inspect {m}": ["inspect", f"{m}.model", "--json"] for m in "abcdek"},
        "inspect data": ["inspect", "a.model", "--data", table, "--example", "3", "--json"],
        "diagnose": ["diagnose", table, "--json"],
        "tune": ["tune", table, "--grid", '{"margin": [0, 1]}', "--max-iter", "5", "-o", "t.model", "--json"],
        "compare": ["compare", table, "--learner", "average", "--learner", "pa1", "--json", "--force"],
        "demo": ["compare", "--demo", "too-correct", "--json"],
        "report": ["report", "a.model", table, "-o", "r.html"],
        "tag train": ["tag", "train", "c.conll", "-o", "g.model", "--max-iter", "3", "--json"],
        "tag evaluate": ["tag", "evaluate", "g.model", "c.conll", "--json"],
        "tag predict": ["tag", "predict", "g.model", "c.conll"],
        "inspect tagger": ["inspect", "g.model", "--json"],
        "no file": ["train", "nowhere.csv"],
        "no model": ["predict", "nowhere.model", table],
        "bad option": ["train", table, "--margin", "x"],
    }  # fmt: skip


def outcome(arguments):
    """Exit code, what is printed, what is said."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    out.flush()
    text = out.buffer.getvalue().decode()
    with contextlib.suppress(ValueError):
        text = plain(json.loads(text))
    if isinstance(text, str) and arguments[0] == "report":
        text = "a page"
    return {"code": code, "out": rounded(text), "err": err.getvalue()}


def rounded(tree):
    """Numbers to six digits, and to 0 what is only rounding: the last digits may depend on the processor."""
    if isinstance(tree, dict):
        return {key: rounded(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [rounded(value) for value in tree]
    return float(f"{tree if abs(tree) > 1e-12 else 0.0:.6g}") if isinstance(tree, float) else tree


# ---- names


def names():
    """Public names with their signatures, and the commands with their options and defaults."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"perceptrons.{name}".rstrip("."))
        for one in sorted(getattr(module, "__all__", [])):
            thing = getattr(module, one)
            found[f"{name}.{one}".lstrip(".")] = signature(thing)
            if inspect.isclass(thing):
                for method, value in sorted(inspect.getmembers(thing)):
                    if not method.startswith("_") and callable(value):
                        found[f"{name}.{one}.{method}".lstrip(".")] = signature(value)
    import typer.main

    def walk(command, path):
        for option in getattr(command, "params", []):
            default = None if callable(option.default) else option.default
            found[f"{path} {'/'.join(option.opts)}"] = repr(default)
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{path} {name}")

    walk(typer.main.get_command(app), "$")
    return found


def signature(thing):
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return type(thing).__name__


def imported():
    """The modules of the package, and the large ones of others, that `import perceptrons` loads."""
    heavy = ("perceptrons", "numba", "sklearn", "scipy", "numpy", "typer", "rich")
    code = f"import sys, perceptrons; print([m for m in sys.modules if m.partition('.')[0] in {heavy}])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def recorded():
    """All of it."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        folder = Path(name)
        os.environ["XDG_STATE_HOME"], os.environ["COLUMNS"] = str(folder / "state"), "100"
        of_models = {what: [depends, model_digest(model, folder)] for what, depends, model in models(folder)}
        of_commands = {what: outcome(arguments) for what, arguments in commands(folder).items()}
    return {
        "processor": processor(), "models": of_models, "commands": of_commands, "names": names(),
        "imported": imported(),
    }  # fmt: skip


if __name__ == "__main__":
    FILE.write_text(json.dumps(recorded(), indent=1, sort_keys=True, default=str) + "\n")
