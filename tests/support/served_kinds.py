"""Models of every kind of input that is served, and examples for them, as requests have them, with labels."""

import io
import json

import numpy as np

from perceptrons import Perceptron
from perceptrons.data import stream

WORDS = [
    "free", "cash", "prize", "win", "cheap", "tickets", "call", "now", "text", "you",
    "see", "home", "lunch", "mum", "birthday", "happy", "coming",
]  # fmt: skip


def text_example(k, rng):
    kind = int(rng.integers(2))
    words = rng.choice(WORDS[:10] if kind else WORDS[6:], int(rng.integers(1, 9)))
    return f"{' '.join(words)} n{k % 90}", ("spam", "ham")[kind ^ (rng.random() < 0.1)]


def vw_example(k, rng):
    text, label = text_example(k, rng)
    words = text.split()
    half = len(words) // 2
    return f"|a {' '.join(words[:half])} z{k % 9}:{rng.normal():.2f} |b {' '.join(words[half:])}", label


def svmlight_example(k, rng):
    columns = sorted({*rng.integers(1, 12 + k // 10, 5).tolist()})
    return " ".join(f"{column}:{rng.normal():.3f}" for column in columns), int(rng.integers(1, 4))


def table_example(k, rng):
    body, label = text_example(k, rng)
    size = 0.0 if rng.random() < 0.3 else float(np.round(rng.normal(), 2))
    return {"size": size, "age": int(rng.integers(0, 3)), "shop": f"s{k % 25}", "body": body}, label


def numbers_example(k, rng):
    return np.round(rng.normal(size=20), 3).tolist() + [0.0] * 30, int(rng.integers(1, 4))


def texts(rows, **parameters):
    lines = "".join(f"{label}\t{text}\n" for text, label in rows)
    return trained(stream(io.StringIO(lines), format="text", hash_bits=10), **parameters)


def vw(rows, hash_bits=0, quadratic=None, **parameters):
    lines = "".join(f"{label} {text}\n" for text, label in rows)
    source = stream(io.StringIO(lines), format="vw", hash_bits=hash_bits, quadratic=quadratic)
    return trained(source, **parameters)


def svmlight(rows, **parameters):
    lines = "".join(f"{label} {text}\n" for text, label in rows)
    return trained(stream(io.StringIO(lines), format="svmlight"), **parameters)


def table(rows, text_column=None, **parameters):
    ignore = [] if text_column else ["body"]
    lines = "".join(json.dumps(record | {"label": label}) + "\n" for record, label in rows)
    source = stream(
        io.StringIO(lines), format="jsonl", label_column="label", categories=["shop"], text_column=text_column,
        ignore=ignore,
    )  # fmt: skip
    return trained(source, **parameters)


def trained(source, fitted=False, **parameters):
    """A model trained on a stream, or fitted on all of it in several epochs, as `perceptrons train` does."""
    if not fitted:
        return Perceptron(**parameters).fit_stream(source)
    rows = source.read()
    model = Perceptron(**{**parameters, "max_iter": 3, "tol": None}).fit(rows.X, rows.target)
    rows.teach(model)
    return model


def numbers(rows, fitted=False, **parameters):
    X, y = np.array([row for row, _ in rows]), [label for _, label in rows]
    if fitted:
        return Perceptron(**{**parameters, "max_iter": 3, "tol": None}).fit(X, y)
    return Perceptron(**parameters).partial_fit(X, y)
