"""Models of every kind and data for them, and what each answers: asked with numba here, and without it elsewhere.

A process without numba runs `python -c BLOCKED folder`, or this file in an environment that does not have numba. It
needs neither pytest nor pandas.
"""

import io
import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

import perceptrons
from perceptrons import HashedFeatures, HashedText, KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.compiling import COMPILES
from perceptrons.data import stream
from perceptrons.features import TableFeatures
from perceptrons.sequence import FeatureTemplates

BLOCKED = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None  # importing either raises ModuleNotFoundError
from tests.support.without_numba import answer_all
answer_all(sys.argv[1])
"""
WORDS = [
    "Straße",
    "naïve",
    "ΑΣΣΟΣ",
    "free",
    "prize",
    "call",
    "now",
    "home",
    "İstanbul",
    "the",
    "a",
    "東京",
    "word_1",
    "x",
]
ENDS = ("s", "ing", "ed", "", "ly", "er")


def drawn(seed, n=120, d=6, k=3):
    """Rows of numbers, float32 if the seed is odd, and their classes: each has a direction."""
    rng, directions = np.random.default_rng(seed), np.random.default_rng(0).standard_normal((d, k))
    X = rng.standard_normal((n, d)).astype(np.float32 if seed % 2 else np.float64)
    return X, (X @ directions.astype(X.dtype)).argmax(axis=1)


def sparse(seed, k=3):
    X, y = drawn(seed, d=12, k=k)
    return sp.csr_matrix(np.where(np.abs(X) > 0.8, X, 0)), y  # a few labels are wrong now


def texts(seed, n=90):
    rng = np.random.default_rng(seed)
    drawn = [[WORDS[j] for j in rng.integers(len(WORDS), size=rng.integers(1, 9))] for _ in range(n)]
    y = np.array(["spam" if "free" in words or "東京" in words else "ham" for words in drawn])
    return [", ".join(words) + "!" * (i % 3) for i, words in enumerate(drawn)], y


def records(seed, n=80):
    rng = np.random.default_rng(seed)
    rows = [
        {
            "age": float(rng.integers(18, 80)) if i % 9 else None,
            "city": str(rng.choice(["Rome", "Oslo", "Bonn"])),
            "since": f"202{i % 5}-0{1 + i % 9}-1{i % 10}",
        }
        for i in range(n)
    ]
    return rows, ["yes" if row["city"] == "Rome" or (row["age"] or 40) > 60 else "no" for row in rows]


def sentences(seed, n=40, labels=4):
    """Sentences of made-up words, whose labels depend on their endings and on the label before."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        stems, ends = rng.integers(12, size=(2, rng.integers(1, 12)))
        X.append([f"W{s}"[s % 2 :].replace("W", "w") + ENDS[e % len(ENDS)] for s, e in zip(stems, ends, strict=True)])
        codes = np.cumsum((ends % len(ENDS) + stems // 7) * max(1, labels // 8)) % labels
        Y.append([f"L{code}" for code in codes])
    return X, Y


def chunks(seed):
    """The same with labels that "bio" allows."""
    X, Y = sentences(seed)
    for y in Y:
        for t, label in enumerate(y):
            before = y[t - 1] if t else "O"
            y[t] = {"L0": "O", "L1": "B-x", "L2": "B-y", "L3": f"I-{before[2:]}" if before != "O" else "O"}[label]
    return X, Y


def features(sentence):
    return [{"word": word, "length": len(word), "upper": word[0].isupper()} for word in sentence]


TEMPLATES = FeatureTemplates(["word[-1..1]", "word[-1]|word[0]", "suffix(word, 1..3)", "shape(lower(word))[1]"])
# of each kind the model, and a function of a seed that draws examples and their labels
LINEAR = {
    "binary, dense": (Perceptron(), lambda seed: drawn(2 * seed, k=2)),
    "binary, CSR, last weights": (Perceptron(combine="last"), lambda seed: sparse(2 * seed + 1, k=2)),
    "binary, votes": (Perceptron(combine="vote", max_iter=3), lambda seed: drawn(2 * seed, k=2)),
    "binary, pocket": (Perceptron(combine="pocket", max_iter=3), lambda seed: drawn(2 * seed, k=2)),
    "joint, dense, float32": (Perceptron(max_iter=3), lambda seed: drawn(2 * seed + 1, k=4)),
    "joint, CSR": (Perceptron(max_iter=3), lambda seed: sparse(2 * seed)),
    "joint, votes": (Perceptron(combine="vote", max_iter=3), lambda seed: drawn(2 * seed)),
    "recent, AROW": (Perceptron(combine="recent", step="arow", max_iter=3), lambda seed: drawn(2 * seed, k=2)),
    "one-vs-rest": (Perceptron(multiclass="ovr", max_iter=3), lambda seed: drawn(2 * seed)),
    "one-vs-one, CSR": (Perceptron(multiclass="ovo", max_iter=3), lambda seed: sparse(2 * seed)),
    "multilabel": (Perceptron(max_iter=3), lambda seed: (drawn(2 * seed)[0], (drawn(2 * seed)[0][:, :3] > 0) * 1)),
}
KERNELS = {
    "kernel, rbf": (KernelPerceptron(max_iter=3), lambda seed: drawn(2 * seed, k=2)),
    "kernel, poly, joint, CSR": (KernelPerceptron(kernel="poly", max_iter=3), lambda seed: sparse(2 * seed)),
    "kernel, votes": (KernelPerceptron(combine="vote", max_iter=3), lambda seed: drawn(2 * seed, k=2)),
    "kernel, joint votes": (KernelPerceptron(combine="vote", max_iter=3), lambda seed: drawn(2 * seed)),
    "kernel, budget": (KernelPerceptron(budget=20, max_iter=3), lambda seed: drawn(2 * seed, k=2)),
}
FEATURES = {
    "hashed text": (make_pipeline(HashedText(bits=12, words=(1, 2)), Perceptron()), texts),
    "hashed text, characters": (make_pipeline(HashedText(bits=12, words=None, chars=(2, 4)), Perceptron()), texts),
    "vocabulary": (make_pipeline(HashedText(bits=None, words=(1, 3), chars=(3, 3)), Perceptron()), texts),
    "text, shared columns": (make_pipeline(HashedText(bits=3, values="count", norm=None), Perceptron()), texts),
    "hashed features": (make_pipeline(HashedFeatures(bits=10), Perceptron()), lambda seed: _named(*records(seed))),
    "named features": (make_pipeline(HashedFeatures(bits=None), Perceptron()), lambda seed: _named(*records(seed))),
    "raw table": (make_pipeline(TableFeatures(), Perceptron()), records),
}
TAGGERS = {
    "tagger, templates": (SequencePerceptron(templates=TEMPLATES), sentences),
    "tagger, hashed templates": (SequencePerceptron(templates=TEMPLATES, hash_bits=12), sentences),
    "tagger, bio, last": (SequencePerceptron(templates=TEMPLATES, allowed="bio", combine="last"), chunks),
    "tagger, dicts": (SequencePerceptron(), lambda seed: (list(map(features, sentences(seed)[0])), sentences(seed)[1])),
    "tagger, many labels": (SequencePerceptron(templates=TEMPLATES), lambda seed: sentences(seed, n=60, labels=80)),
}
STREAMS = {  # of files: the model remembers how to read such examples
    "text files": (Perceptron(), texts),
    "hashed text files": (Perceptron(), texts),
    "table files": (Perceptron(), records),
}
CASES = LINEAR | KERNELS | FEATURES | TAGGERS | STREAMS


def _named(rows, y):
    return [{name: value for name, value in row.items() if value is not None} for row in rows], y


def save_all(folder):
    """Fit and save a model of every kind."""
    for name, (model, draw) in CASES.items():
        trained = learned(model, name, *draw(0)) if name in STREAMS else model.fit(*draw(0))
        perceptrons.save(trained, Path(folder, f"{name}.perceptron"))


def learned(model, name, X, y):
    """A model of files, with what it knows of them."""
    if name == "table files":
        return model.fit_stream(
            stream(
                [{**row, "label": label} for row, label in zip(X, y, strict=True)], label_column="label", prepare=True
            ),
            epochs=3,
        )
    lines = "".join(f"__label__{label} {text}\n" for text, label in zip(X, y, strict=True))
    hashed = {"hash_bits": 10} if "hashed" in name else {}
    return model.fit_stream(stream(io.StringIO(lines), format="text", **hashed), epochs=3)


def answer(name, folder):
    """What the model of a kind answers: labels, scores and what else it can be asked, as plain lists."""
    model = perceptrons.load(Path(folder, f"{name}.perceptron"))
    X, y = CASES[name][1](1)
    answers = {"labels": _plain(model.predict(X)), "score": model.score(X, y), "scores": _plain(_scores(model, X))}
    last = model[-1] if hasattr(model, "steps") else model
    if name not in FEATURES:
        answers["one by one"] = [_plain(model.predict_one(X[i])) for i in range(5)]
    if hasattr(last, "coef_") and getattr(last, "combine", "") != "vote":
        answers["coef_"] = _plain(last.coef_)
    if name in TAGGERS:
        answers["names"] = _plain(model.attributes_) if model.hash_bits is None else []
        answers["transitions_"] = _plain(model.transitions_)
    else:
        answers["never updated"] = _plain(last.never_updated_) if isinstance(last, Perceptron) else []
        answers["explanation"] = _explained(model, X) if name not in FEATURES else ""
    if name in FEATURES and hasattr(model[0], "columns_"):
        answers["names"] = model[0].columns_.names()
    return answers


def _scores(model, X):
    scores = model.decision_function(X)
    return np.concatenate(scores) if isinstance(scores, list) else scores


def _explained(model, X):
    return str(model.explain(X[0]))


def _plain(values):
    return values.tolist() if isinstance(values, np.ndarray | np.generic) else values


def answer_all(folder):
    """Write what all models in the folder answer, and check that numba was not there."""
    assert not COMPILES
    assert not any(name.split(".")[0] in ("numba", "llvmlite") for name, module in sys.modules.items() if module)
    answers = {name: answer(name, folder) for name in CASES}
    Path(folder, "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    answer_all(sys.argv[1])
