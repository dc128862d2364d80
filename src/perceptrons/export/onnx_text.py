"""Remembered words in ONNX. Words are cut outside, as ONNX has no operator for Unicode's words; it counts n-grams."""

import numpy as np

from perceptrons.export.onnx_writer import Graph
from perceptrons.export.parts import COLUMNS_INSTEAD, ExportError, TextInputs


def check_words(inputs: TextInputs) -> None:
    """Raise ExportError for texts of which ONNX cannot make rows."""
    if inputs.columns.bits is not None:
        raise ExportError(f"The texts are hashed, but ONNX has no operator that hashes words. {COLUMNS_INSTEAD}")
    if inputs.text.chars is not None:
        raise ExportError(f"ONNX has no operator that cuts words into n-grams of characters. {COLUMNS_INSTEAD}")


def word_rows(graph: Graph, inputs: TextInputs) -> str:
    """(rows, columns) of the input `words`, (rows, places): the clean words of a text in their order, "" behind them.

    TfIdfVectorizer counts the n-grams; counts become values, and values are rounded to float32, as the library does.
    """
    check_words(inputs)
    words = graph.input("words", "string", [None, None])
    names = inputs.columns.names()
    sizes = [name.count(" ") + 1 for name in names]
    order = np.argsort(sizes, kind="stable").tolist()
    most = max(sizes)
    begins = [sum(size < n for size in sizes) for n in range(1, most + 1)]
    words_before = [0]
    for n in range(1, most):
        words_before.append(words_before[-1] + n * sizes.count(n))
    assert len(begins) == most
    counts = graph.add(
        "TfIdfVectorizer", words, min_gram_length=1, max_gram_length=most, max_skip_count=0, mode="TF",
        ngram_counts=words_before, ngram_indexes=order,
        pool_strings=[word for place in order for word in names[place].split(" ")],
    )  # fmt: skip
    counts = graph.add("Cast", counts, to=graph.DOUBLE)
    there = graph.add("Greater", counts, graph.number(0.0))
    if inputs.text.values == "binary":
        X = graph.add("Cast", there, to=graph.DOUBLE)
    elif inputs.text.values == "count":
        X = counts
    else:
        logs = graph.add("Log", graph.add("Where", there, counts, graph.number(1.0)))
        X = graph.add("Where", there, graph.add("Add", logs, graph.number(1.0)), graph.number(0.0))
    if inputs.text.norm == "l2":
        norm = graph.add("Sqrt", graph.reduced("ReduceSum", graph.add("Mul", X, X), -1))
        X = graph.add("Div", X, graph.add("Where", graph.add("Greater", norm, graph.number(0.0)), norm,
                                          graph.number(1.0)))  # fmt: skip
    X = graph.add("Cast", X, to=graph.onnx.TensorProto.FLOAT)
    return graph.add("Cast", X, to=graph.DOUBLE)
