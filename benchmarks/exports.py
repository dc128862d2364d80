"""Exports checked on real data: labels of ONNX, by onnxruntime, compared with the library's.

Every row of a set is compared, those learned from and those held out. Labels are compared with those of `predict`. The
error of a score is its difference from the library's, asked in double precision, divided by the largest score of the
set. Rows of float32 the library itself scores in float32; how far that is from double precision is told beside it.
"""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

import perceptrons.onnx
from benchmarks import datasets, results
from benchmarks.raw_tables import ADULT, uci
from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.export import ExportError
from perceptrons.features import HashedText, TableFeatures

BATCH = 500  # rows that onnxruntime gets at once
EPOCHS = 3
ROWS = 100_000  # of covtype
LARGEST = 2_000_000  # weights of the models that are exported
MATRICES = (
    "20news-bydate", "a9a", "covtype", "covtype-binary", "elec2", "letter", "mnist", "mushrooms", "rcv1-vw-sample",
    "rt-polarity", "sms-spam", "trec-qc", "usps", "iris", "wine", "breast_cancer", "digits",
)  # fmt: skip
QUICK = ("iris", "sms-spam")


def run(quick: bool) -> None:
    found = []
    for name, how, model, X, work in cases(quick):
        found.append({"set": name, "model": how, **compared(model, X, work)})
        print(line(found[-1]), flush=True)
    head = ["set", "model", "rows", "float32 in the library", "other labels", "error"]
    table = results.table(head, [line(one) for one in found])
    other, rows = (sum(one[key] for one in found) for key in ("other", "rows"))
    said = f"{len(found)} models, {rows:,} rows compared. Labels that differ from those of the library: {other}."
    columns = "Hashed texts enter ONNX as columns."
    results.write("exports", {"cases": found}, f"{said} {columns}\n\n{table}", {"exports": said}, quick)


def line(one: dict[str, Any]) -> list[Any]:
    numbers = f"{one['rows']:,}", f"{one['library_float32']:.1e}", one["other"], f"{one['error']:.1e}"
    return [one["set"], one["model"], *numbers]


# ---- the models


def cases(quick: bool) -> Iterator[tuple[str, str, Any, Any, str]]:
    """Set, model in words, fitted model, all rows, and what it takes: "rows", "texts", "table" or "sentences"."""
    for name in QUICK if quick else MATRICES:
        yield from of_matrix(name)
    for name in () if quick else datasets.SEVERAL:
        split = datasets.load_several(name)
        X = _stacked(split)
        yield name, "several labels", Perceptron(max_iter=EPOCHS).fit(split.X_train, split.y_train), X, "rows"
    yield from of_texts(quick)
    yield from of_tables(quick)
    yield from of_sentences(quick)


def _stacked(split: datasets.Split) -> Any:
    join = sp.vstack if sp.issparse(split.X_train) else np.concatenate
    X = join([split.X_train, split.X_test])
    return (sp.csr_matrix(X) if sp.issparse(X) else X)[:ROWS]


def of_matrix(name: str) -> Iterator[tuple[str, str, Any, Any, str]]:
    split = datasets.load(name)
    X, several = _stacked(split), len(np.unique(split.y_train)) > 2
    k = len(np.unique(split.y_train))
    schemes = [{"multiclass": "ovr"}, {"multiclass": "ovo"}] if several and k * k * X.shape[1] < LARGEST else []
    for how in ({}, {"combine": "last"}, *schemes):
        words = ", ".join(how.values()) or "average"
        yield name, words, Perceptron(max_iter=EPOCHS, **how).fit(split.X_train, split.y_train), X, "rows"
    if name in ("usps", "iris", "wine", "breast_cancer", "digits", "mushrooms"):
        few = slice(0, 2000)
        voting = Perceptron(max_iter=2, combine="vote").fit(split.X_train[few], split.y_train[few])
        yield name, "vote", voting, X[::5], "rows"
        for kernel in ("rbf", "poly"):
            curved = KernelPerceptron(kernel=kernel, max_iter=EPOCHS).fit(split.X_train[few], split.y_train[few])
            yield name, f"kernel {kernel}", curved, X[::2], "rows"


def of_texts(quick: bool) -> Iterator[tuple[str, str, Any, Any, str]]:
    lines = [one.split("\t", 1) for one in datasets._lines("sms-spam/SMSSpamCollection.gz")]
    sets = {"sms-spam": ([one[1] for one in lines], [one[0] for one in lines])}
    if not quick:
        questions = [one.split(" ", 1) for one in datasets._lines("trec-qc/train.txt.gz")]
        sets["trec-qc"] = ([one[1] for one in questions], [one[0].partition(":")[0] for one in questions])
        sides = [datasets._lines(f"rt-polarity/rt-polarity.{side}.gz") for side in ("neg", "pos")]
        sets["rt-polarity"] = (sides[0] + sides[1], ["neg"] * len(sides[0]) + ["pos"] * len(sides[1]))
        news = datasets.newsgroup_messages()["test"]
        sets["20news-bydate"] = ([text.replace("\0", " ") for text, _ in news], [group for _, group in news])
    for name, (texts, labels) in sets.items():
        hashed = make_pipeline(HashedText(bits=16, words=(1, 2)), Perceptron(max_iter=EPOCHS)).fit(texts, labels)
        yield name, "raw texts, hashed", hashed, texts, "texts"
        if name != "20news-bydate":
            known = make_pipeline(HashedText(bits=None, min_count=2), Perceptron(max_iter=EPOCHS)).fit(texts, labels)
            yield name, "raw texts, remembered", known, texts, "texts"


def of_tables(quick: bool) -> Iterator[tuple[str, str, Any, Any, str]]:
    import pandas as pd

    for name in ("iris", "horse-colic") if quick else datasets.UCI:
        frame, label = uci(name)
        y = frame.pop(label).astype(str).to_numpy()
        model = make_pipeline(TableFeatures(), Perceptron(max_iter=EPOCHS)).fit(frame, y)
        yield f"uci/{name}", "raw table", model, frame, "table"
    if quick:
        return
    content = io.BytesIO(datasets.unpacked("adult/adult.data.xz"))
    frame = pd.read_csv(content, header=None, names=ADULT, skipinitialspace=True)
    y = frame.pop("income").to_numpy()
    for how in ({}, {"interactions": ["age*education", "education*occupation"], "powers": 2}, {"hash_bits": 14}):
        model = make_pipeline(TableFeatures(**how), Perceptron(max_iter=EPOCHS)).fit(frame, y)
        yield "adult", ", ".join(["raw table", *how]), model, frame, "table"


def of_sentences(quick: bool) -> Iterator[tuple[str, str, Any, Any, str]]:
    found = datasets.load_sentences("conll2000", 200 if quick else 1000)
    tagger = SequencePerceptron(max_iter=EPOCHS).fit(
        [[dict(zip("wp", token, strict=True)) for token in one] for one in found.X_train], found.y_train
    )
    X = [[dict(zip("wp", token, strict=True)) for token in one] for one in found.X_train + found.X_test]
    yield "conll2000", "tagger, Viterbi outside", tagger, X, "sentences"


# ---- comparing


def compared(model: Any, X: Any, work: str) -> dict[str, Any]:
    wanted = np.concatenate([np.ravel(one) for one in model.predict(X)]) if work == "sentences" else model.predict(X)
    scores = None if work == "sentences" else np.asarray(model.decision_function(X), np.float64)
    n = len(wanted)
    own = 0.0
    if scores is not None:
        wide = in_double(model, X, work)
        own, scores = float(np.abs(wide - scores).max() / np.abs(wide).max()), wide
    return {
        "rows": n,
        "library_float32": own,
        **judged(*by_onnx(model, X, work, n), wanted, scores),
    }


def in_double(model: Any, X: Any, work: str) -> np.ndarray:
    """The library's scores of the same rows, given as float64."""
    if work in ("texts", "table"):
        X, model = model.steps[0][1].transform(X), model.steps[-1][1]
    return np.asarray(model.decision_function(X.astype(np.float64)), np.float64)


def judged(labels: Any, found: Any, wanted: Any, scores: Any) -> dict[str, Any]:
    wrong = np.asarray(labels).reshape(np.shape(wanted)) != np.asarray(wanted)
    other = int(wrong.any(axis=1).sum() if wrong.ndim > 1 else wrong.sum())
    error = 0.0
    if scores is not None:
        error = float(np.abs(np.reshape(found, scores.shape) - scores).max() / np.abs(scores).max())
    return {"other": other, "error": error}


def by_onnx(model: Any, X: Any, work: str, n: int) -> tuple[Any, Any]:
    import onnxruntime

    how: dict[str, str] = {}
    try:
        graph = perceptrons.onnx.convert(model)
    except ExportError:
        how = {"inputs": "columns"}
        graph = perceptrons.onnx.convert(model, **how)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    if work == "sentences":
        emissions, arcs = session.run(None, perceptrons.onnx.inputs_of(model, X))
        return viterbi(emissions, arcs, [len(one) for one in X], model.classes_), None
    labels, scores = [], []
    for at in range(0, n, BATCH):
        part = X.iloc[at : at + BATCH] if work == "table" else X[at : at + BATCH]
        one, two = session.run(None, perceptrons.onnx.inputs_of(model, part, **how))
        labels.append(one)
        scores.append(two)
    return np.concatenate(labels), np.concatenate(scores)


def viterbi(emissions: np.ndarray, arcs: np.ndarray, lengths: list[int], classes: np.ndarray) -> np.ndarray:
    """The best labels of every sentence."""
    found, begin, k = [], 0, len(classes)
    for length in lengths:
        s = emissions[begin : begin + length].copy()
        s[-1] += arcs[:k, k]
        for t in range(length - 2, -1, -1):
            s[t] += (arcs[:k, :k] + s[t + 1]).max(axis=1)
        before = k
        for t in range(length):
            before = int(np.argmax(arcs[before, :k] + s[t]))
            found.append(before)
        begin += length
    return classes[found]
