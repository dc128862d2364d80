"""Convert the examples and labels of requests to what a model takes: the same inputs as those of the command.

Texts, records and rows go to the model as they are, which reads them as it read its files. Lines of svmlight and VW are
read by `perceptrons.data.stream`.
"""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.data import stream
from perceptrons.data.options import SPARSE
from perceptrons.engine.training.base import has_learned
from perceptrons.features import Columns, HashedText
from perceptrons.inspection.evaluation import several_labels
from perceptrons.linear import learn_block_with_new_columns
from perceptrons.sequence import FeatureTemplates, SequencePerceptron

LABEL = "label"
TEXT_KEYS = ("text", "x")
TOKENS, TAGS = "tokens", "labels"
EXPECTED = {
    "text": 'a text, or {"text": "..."}',
    "table": 'an object with the columns of the table, such as {"age": 33, "job": "clerk"}',
    "features": 'an object of features by name, such as {"height": 1.5, "colour": "red"}',
    "numbers": "a list of numbers",
    "sparse": 'a line as in its files, such as "3:1.5 7:2", or an object of values by column, {"3": 1.5}',
    "tokens": 'a list of tokens, or {"tokens": ["The", "cat"]}',
    "pipeline": "what its first step takes: a text, an object of columns, or a list of numbers",
}


class UnfitError(ValueError):
    """An example or a label does not fit the model."""


def input_kind(model: Any) -> str | None:
    """Return what one example is for this model, a key of EXPECTED, or None if the model has seen nothing yet."""
    if hasattr(model, "templates"):
        return "tokens"
    if hasattr(model, "steps"):
        return "pipeline"
    if not has_learned(model):
        return None
    source = getattr(model, "source_", None) or {}
    if source.get("format") == "text":
        return "text"
    if "numbers" in source:
        return "table"
    if source.get("format") in (*SPARSE, "vw"):
        return "sparse"
    return "features" if hasattr(model, "_columns") else "numbers"


def any_example(model: Any, kind: str | None) -> tuple[Any, Any] | None:
    """Return an example that the model takes, and a label for it, or None if none fits every model of this kind."""
    if kind not in ("text", "numbers", "tokens") or (kind == "tokens" and model.templates is None):
        return None
    label = model.classes_.tolist()[0]
    if kind == "tokens":
        return ["a", "text"], [label, label]
    example = "a text" if kind == "text" else [0.0] * int(model.n_features_in_)
    return example, [label] if several_labels(model) else label


def first_kind(example: Any) -> str:
    """Return the kind of all examples of an empty model, which its first example decides."""
    if isinstance(example, str) or (isinstance(example, dict) and _text_of(example) is not None):
        return "text"
    if isinstance(example, dict):
        return "tokens" if isinstance(example.get(TOKENS), list) else "features"
    if isinstance(example, list) and example and not isinstance(example[0], int | float):
        return "tokens"
    return "numbers"


def split_labels(examples: list[Any], model: Any, kind: str | None) -> tuple[list[Any], list[Any]]:
    """Return the examples without their labels, and the labels."""
    column = (getattr(model, "source_", None) or {}).get("label_column")
    key = LABEL if not column or isinstance(column, list) else str(column)  # a list of labels, not several columns
    key = TAGS if kind == "tokens" else key
    unlabelled, labels = list[Any](), list[Any]()
    features: Any
    for row, example in enumerate(examples):
        if kind == "sparse" and isinstance(example, str):
            features, label = _split_line(row, example, model)
        elif isinstance(example, dict) and key in example:
            features, label = {name: value for name, value in example.items() if name != key}, example[key]
        else:
            raise UnfitError(
                f'Example {row} has no label: give it as "{key}" in the example, or give a list "labels" beside '
                '"examples".'
            )
        unlabelled.append(features)
        labels.append(label)
    return unlabelled, labels


def _split_line(row: int, line: str, model: Any) -> tuple[str, Any]:
    """Return a line of svmlight or VW without its label, and the label as the model has it."""
    mark = "|" if model.source_["format"] == "vw" else " "
    label, _, features = line.strip().partition(mark)
    label = label.strip()
    if not label or " " in label or (mark == " " and ":" in label):
        raise UnfitError(f"Example {row}: the line must begin with one label.")
    if model.classes_.dtype.kind in "iu":
        try:
            return mark.strip() + features, int(label)
        except ValueError:
            raise UnfitError(f"Example {row}: the labels of this model are whole numbers, not {label!r}.") from None
    return mark.strip() + features, label


def checked_example(row: int, example: Any, kind: str) -> Any:
    """Return one example as the model takes it. Raise UnfitError if it is of another kind."""
    if kind == "text" and isinstance(example, dict):
        example = _text_of(example)
    elif kind == "tokens" and isinstance(example, dict):
        example = example.get(TOKENS)
    if not _fits(example, kind):
        raise UnfitError(f"Example {row} does not fit the model, which takes {EXPECTED[kind]}.")
    return example


def _fits(example: Any, kind: str) -> bool:
    if kind == "text":
        return isinstance(example, str)
    if kind == "numbers":
        return isinstance(example, list) and all(type(value) in (int, float) for value in example)
    if kind == "sparse":
        if isinstance(example, str):
            return "\n" not in example and "\r" not in example
        return isinstance(example, dict) and all(type(value) in (int, float) for value in example.values())
    if kind == "tokens":
        return isinstance(example, list) and bool(example)
    return isinstance(example, str | dict | list if kind == "pipeline" else dict)


def _as_line(example: Any, vw: bool) -> str:
    """Return a sparse row as a line of its format, without a label."""
    if isinstance(example, str):
        return example
    for name in example:
        if not name or any(mark in name for mark in " \t\n\r:|#"):
            raise UnfitError(f"{name!r} is not the name of a column: give a number, or a name without blanks, : or |.")
    cells = " ".join(f"{name}:{value!r}" for name, value in example.items())
    return f"| {cells}" if vw else cells


def rows_of(model: Any, examples: list[Any], kind: str, new_columns: bool = False) -> Any:
    """Return what `predict` of the model takes. With new_columns, sparse rows may have columns new to the model."""
    if kind == "sparse":
        X = _read_lines(model, examples, grow=new_columns).X
        X.resize(len(examples), model.n_features_in_)
        return X
    if kind == "numbers" or (kind == "pipeline" and isinstance(examples[0], list)):
        return _matrix(examples)
    return examples


def learn(model: Any, examples: list[Any], labels: list[Any], kind: str) -> None:
    """Let the model learn from examples in order. Before an error, it may have learned from some of them."""
    if kind == "features":
        for example, label in zip(examples, labels, strict=True):
            model.learn_one(example, label)
    elif kind == "text" and not has_learned(model):
        _start_with_texts(model, examples, labels)
    elif kind == "sparse":  # lines, which may have columns that are new to the model
        table = _read_lines(model, examples, grow=True)
        table.X.resize(len(examples), max(table.X.shape[1], model.n_features_in_))
        learn_block_with_new_columns(model, table.X, labels)
        if table.columns is not None:
            model.columns_ = table.columns
    else:
        model.partial_fit(_matrix(examples) if kind == "numbers" else examples, labels)


def new_tagger(tokens: Any) -> SequencePerceptron:
    """Return an empty tagger: with templates for words, else for dicts or lists of features."""
    has_words = all(isinstance(token, str) for token in tokens)
    return SequencePerceptron(templates=FeatureTemplates()) if has_words else SequencePerceptron()


def _start_with_texts(model: Any, texts: list[str], labels: list[Any]) -> None:
    """Learn the first texts of an empty model, hashed as `perceptrons train` hashes them."""
    text = HashedText()
    columns = Columns(text.bits, text.signed, text.seed)
    parameters = {**text.get_params(), "words": None if text.words is None else list(text.words)}
    source = {"format": "text", "form": "tab", "text": parameters, "text_labels": True}
    model.partial_fit(columns.rows(texts, source), labels)
    model.source_, model.columns_ = source, columns


def _read_lines(model: Any, examples: list[Any], grow: bool) -> Any:
    vw = model.source_["format"] == "vw"
    text = "\n".join(_as_line(example, vw) for example in examples) + "\n"
    table = stream(
        io.StringIO(text), format=model.source_["format"], like=model, grow=grow, need_labels=False, multilabel=False
    ).read()
    if table is None or table.X.shape[0] != len(examples):  # readers pass over such lines
        raise UnfitError("An example is empty or a comment: give at least one column.")
    return table


def _matrix(examples: list[Any]) -> Any:
    width = len(examples[0])
    for row, example in enumerate(examples):
        if not isinstance(example, list) or len(example) != width:
            raise UnfitError(f"Example {row} is not a list of {width} numbers, as the first one is.")
    return np.array(examples, np.float64)


def _text_of(example: Mapping[str, Any]) -> str | None:
    for key in TEXT_KEYS:
        if isinstance(example.get(key), str) and len(example) == 1:
            return str(example[key])
    return None
