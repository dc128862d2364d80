"""Tables in ONNX: one input per column. Numbers are filled, scaled and multiplied; categories look their weights up."""

from typing import Any

import numpy as np

from perceptrons.export.onnx_writer import Graph
from perceptrons.export.table_parts import TableInputs, Value

ML = "ai.onnx.ml"


def table_scores(graph: Graph, inputs: TableInputs, scores: Any) -> str:
    """Scores of the rows of weights, by the cells of a table; of other models than linear ones, by whole rows."""
    numbers = _numbers(graph, inputs)
    codes = [_codes(graph, inputs, place) for place in range(len(inputs.categories))]
    if scores.kind != "linear":
        from perceptrons.export.parts import COLUMNS_INSTEAD, ExportError

        raise ExportError(f"A table before a kernel or voted model cannot be exported to ONNX. {COLUMNS_INSTEAD}")
    w = np.concatenate([scores.w, np.zeros((len(scores.w), 1), scores.w.dtype)], axis=1)  # -1: the weight 0
    parts = []
    if inputs.number_columns:
        parts.append(graph.add("MatMul", numbers, graph.matrix(np.ascontiguousarray(w[:, inputs.number_columns].T))))
    for value in inputs.values:
        if value.columns:
            parts.append(_looked_up(graph, value, codes, numbers, w))
    total = parts[0]
    for part in parts[1:]:
        total = graph.add("Add", total, part)
    return graph.add("Add", total, graph.double(scores.b))


def _numbers(graph: Graph, inputs: TableInputs) -> str:
    """(rows, numbers): filled, scaled, with indicators, powers and products."""
    made = inputs.preparation
    if not inputs.numbers:
        return ""
    raw = [graph.input(name, "double", [None, 1]) for name in inputs.numbers]
    X = graph.joined(raw, 1)
    for number in made.words.numbers:
        same = graph.add("Equal", X, graph.number(number))
        X = graph.add("Where", same, graph.number(np.nan), X)
    missing = graph.add("IsNaN", X)
    X = graph.add("Div", graph.add("Sub", X, graph.double(made.centres)), graph.double(made.scales))
    X = graph.add("Where", missing, graph.double((made.fills - made.centres) / made.scales), X)
    parts = [X]
    if inputs.indicators:
        lacks = graph.add("Cast", missing, to=graph.DOUBLE)
        parts.append(graph.add("Gather", lacks, graph.int64(inputs.indicators), axis=1))
    for place, factors in enumerate(inputs.products):
        product = _column(graph, X, factors[0])
        for factor in factors[1:]:
            product = graph.add("Mul", product, _column(graph, X, factor))
        if len(made.product_scales):
            product = graph.add("Sub", product, graph.double(made.product_centres[place : place + 1]))
            product = graph.add("Div", product, graph.double(made.product_scales[place : place + 1]))
        parts.append(product)
    return graph.joined(parts, 1)


def _column(graph: Graph, X: str, place: int) -> str:
    return graph.add("Gather", X, graph.int64(np.array([place])), axis=1)


def _known(inputs: TableInputs, place: int) -> list[str]:
    """All values of a category that the model has weights for, by themselves or in products."""
    found: dict[str, None] = {}
    for value in inputs.values:
        for values in value.columns:
            if value.first == place:
                found[values[0]] = None
            if value.second == place:
                found[values[1]] = None
    return list(found)


def _codes(graph: Graph, inputs: TableInputs, place: int) -> tuple[str, dict[str, int]]:
    """The code of the category of every row, (rows, 1), 0 for a value that the model does not know; and all codes."""
    cell = graph.input(inputs.categories[place], "string", [None, 1])
    known = _known(inputs, place)
    codes = {value: code for code, value in enumerate(known, 1)}
    if not known:
        return "", codes
    found = graph.add(
        "LabelEncoder", cell, domain=ML, keys_strings=known, values_int64s=list(codes.values()), default_int64=0
    )
    return found, codes


def _looked_up(graph: Graph, value: Value, codes: list[tuple[str, dict[str, int]]], numbers: str, w: Any) -> str:
    """(rows, rows of weights): the weights of the feature that a row has, times the number it is a product with."""
    first, of_first = codes[value.first]
    width = 1
    if value.second >= 0:
        second, of_second = codes[value.second]
        width = len(of_second) + 1
        first = graph.add("Add", graph.add("Mul", first, graph.int64(np.array(width))), second)
    table = np.zeros(((len(of_first) + 1) * width, len(w)), w.dtype)
    for values, column in value.columns.items():
        place = of_first[values[0]] * width + (of_second[values[1]] if value.second >= 0 else 0)
        table[place] = w[:, column]
    flat = graph.add("Reshape", first, graph.int64(np.array([-1])))
    found = graph.add("Gather", graph.matrix(table), flat, axis=0)
    return found if value.number < 0 else graph.add("Mul", found, _column(graph, numbers, value.number))
