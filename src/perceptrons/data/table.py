"""What every reader gets and gives: what is wanted, the table, and the error that names the place."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perceptrons.features.values import shown

WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0*)?", re.ASCII)  # "007" stays text, or its zeros would be lost
FEW_CLASSES = 20  # so many are never too many


class DataFileError(ValueError):
    """A file that cannot be read as examples: "file:line:column: what is wrong: what to do", on one line."""

    def __init__(self, path: Path, what: str, line: int | None = None, column: int = 1):
        self.path, self.line, self.column = path, line, None if line is None else column
        place = f"{path}: " if line is None else f"{path}:{line}:{column}: "
        super().__init__(place + what)


class Wanted(NamedTuple):
    """What the caller of `read` asked for; see there."""

    label_column: str | None = None
    feature_names: list[str] | None = None
    n_features: int | None = None
    need_labels: bool = True
    text_labels: bool = False
    part: str = "train"


@dataclass(frozen=True)
class Table:
    """Examples from a file: X an array or a CSR matrix, y the labels (None if the file has none).

    lines: the line of the file, counted from 1, on which each example starts; None where there are no lines.
    """

    X: Any
    y: np.ndarray | None
    feature_names: list[str] | None
    label_name: str | None
    path: Path
    lines: np.ndarray | None = None

    def part(self, rows: np.ndarray) -> "Table":
        """Only these examples."""
        y, lines = (None if of_each is None else of_each[rows] for of_each in (self.y, self.lines))
        return replace(self, X=self.X[rows], y=y, lines=lines)


def not_classes(labels: Collection[Any], n: int, column: str | None = None) -> str | None:
    """Why so many different labels of n examples are not classes, but prices, ids or texts; None if they may be."""
    if len(labels) <= FEW_CLASSES or len(labels) <= n / 2:
        return None
    some = ", ".join(shown(str(label)) for label in list(labels)[:2])
    where = "" if column is None else f" in column {shown(column)}"
    name = "" if column is None else "name the right column with label_column (--label-column), "
    return (
        f"{len(labels):,} different labels{where} among {n:,} examples, such as {some}, do not look like classes: "
        f"{name}{'or ' * bool(name)}allow them with many_classes=True (--many-classes)"
    )


def as_labels(texts: list[str], keep_text: bool) -> np.ndarray:
    """Whole numbers if all labels look like it, else strings."""
    if not keep_text and all(WHOLE.fullmatch(text) for text in set(texts)):
        numbers = {text: int(text.partition(".")[0]) for text in set(texts)}
        return np.array([numbers[text] for text in texts], dtype=np.int64)
    return np.array(texts, dtype=str)
