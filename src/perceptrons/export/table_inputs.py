"""The inputs of a model of tables: numbers and categories by column, and the features that they have.

Dates enter as the numbers and categories that are made of them, yes and no as 1 and 0: no format but Python's reads
dates. `table_cells` makes such inputs of frames and records.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from perceptrons.features import Columns, HashedText
from perceptrons.features.cells import Roles
from perceptrons.features.from_memory import preparation_of, read_cells, roles_of
from perceptrons.features.preparation import Preparation, number_products
from perceptrons.features.rows import text_prefixes

NO_VALUE = "\ufdd0"  # stands for a category that a row lacks; Unicode reserves it, so that no cell contains it
COLUMNS_INSTEAD = (
    "Export the part after it with inputs='columns' (--inputs columns), which takes rows that were prepared elsewhere."
)


class ExportError(ValueError):
    """This model, or a part of it, cannot be written in this format. The message says which part, and what to do."""


@dataclass(frozen=True)
class CategoryFeatures:
    """Features that are 1, or equal to a number of the row, if its categories have certain values."""

    number: int  # its index among the numbers, or -1
    first: int  # the index of the category
    second: int  # of another category that must have its value too, or -1
    columns: dict[tuple[str, ...], int]  # by the values of the categories
    prefixes: tuple[str, ...]  # of its name: "height*color=", or "color=" and "*shape="


@dataclass(frozen=True)
class TableInputs:
    """The cells of a table."""

    source: dict[str, Any]
    columns: Columns
    n_columns: int
    preparation: Preparation
    roles: Roles
    numbers: list[str]
    categories: list[str]
    texts: list[str]
    prefixes: list[str]
    text: HashedText | None
    indicators: list[int]
    products: list[tuple[int, ...]]  # the numbers whose product every further number is
    number_columns: list[int]  # -1 for a number without a column; empty if columns are hashed
    category_features: list[CategoryFeatures]
    kind: str = "table"

    @property
    def is_hashed(self) -> bool:
        return self.columns.bits is not None


def table_inputs(source: Any, columns: Columns, n: int) -> TableInputs:
    """Return the inputs of a model that was trained on tables which were read as `source` says."""
    roles = roles_of(source)
    preparation = preparation_of(source, roles)
    if preparation.term_weights is not None:
        raise ExportError(
            f"The words of the table's texts are weighted by idf, which no export format supports. {COLUMNS_INSTEAD}"
        )
    derived = preparation.derived
    plain = [name for name in roles.categories if name not in {*derived.dates, *derived.flags}]
    numbers, categories = list(preparation.names), [*plain, *derived.categories()]
    text = None
    if roles.texts:
        hashing = {"bits": columns.bits, "signed": columns.signed, "seed": columns.seed}
        text = HashedText(**dict(source.get("text") or {}) | hashing)
    column_of = {} if columns.bits is not None else {name: j for j, name in enumerate(columns.names(np.arange(n)))}
    return TableInputs(
        dict(source), columns, n, preparation, roles, numbers, categories, roles.texts,
        text_prefixes(roles.texts) if source.get("prefix") else [], text,
        [numbers.index(name) for name in preparation.indicators], _products(preparation, numbers),
        [column_of.get(name, -1) for name in preparation.number_names],
        _category_features(preparation, numbers, categories, column_of),
    )  # fmt: skip


def _products(preparation: Preparation, numbers: list[str]) -> list[tuple[int, ...]]:
    """Return the indices of the factors of every power and product, in the order of `number_products`."""
    index = {name: k for k, name in enumerate(numbers)}
    bases, products = preparation.columns_with_powers(), preparation.products
    powers = [(index[name],) * power for power in range(2, products.powers + 1) for name in bases]
    pairs = [(index[a], index[b]) for a, b in products.pairs if a in index and b in index]
    _, names = number_products(np.empty((0, len(numbers))), numbers, bases, products)
    assert len(names) == len(powers) + len(pairs)
    return powers + pairs


def _category_features(
    preparation: Preparation, numbers: list[str], categories: list[str], column_of: dict[str, int]
) -> list[CategoryFeatures]:
    """Return the features of categories and of products with them, found by the names of columns."""
    number_index = {name: k for k, name in enumerate(numbers)}
    index = {name: k for k, name in enumerate(categories)}
    features = [
        CategoryFeatures(-1, k, -1, _by_value(f"{name}=", column_of), (f"{name}=",)) for name, k in index.items()
    ]
    for first, second in preparation.products.pairs:
        if first in index and second in index:
            prefixes = f"{first}=", f"*{second}="
            columns = _by_two_values(*prefixes, column_of)
            features.append(CategoryFeatures(-1, index[first], index[second], columns, prefixes))
        elif first in number_index and second in index:
            prefix = f"{first}*{second}="
            columns = _by_value(prefix, column_of)
            features.append(CategoryFeatures(number_index[first], index[second], -1, columns, (prefix,)))
    return features


def _by_value(prefix: str, column_of: dict[str, int]) -> dict[tuple[str, ...], int]:
    return {(name.removeprefix(prefix),): j for name, j in column_of.items() if name.startswith(prefix)}


def _by_two_values(first: str, second: str, column_of: dict[str, int]) -> dict[tuple[str, ...], int]:
    """Return columns by two values. A name can be split in several ways if a value contains the second prefix."""
    columns: dict[tuple[str, ...], int] = {}
    for name, j in column_of.items():
        if name.startswith(first):
            values, at = name.removeprefix(first), -1
            while (at := values.find(second, at + 1)) >= 0:
                columns[values[:at], values[at + len(second) :]] = j
    return columns


def table_cells(inputs: TableInputs, X: Any) -> tuple[np.ndarray, list[list[str]]]:
    """Return the numbers (n_rows, n_numbers) and, by column, the categories of a frame or of records."""
    contents = read_cells(X, inputs.source, inputs.roles, inputs.preparation)
    cells = []
    for name in inputs.categories:
        codes, values = contents.categories[name]
        cells.append([values[code] if code >= 0 else NO_VALUE for code in codes.tolist()])
    return contents.numbers, cells
