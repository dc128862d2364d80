"""The inputs of a model of tables: numbers and categories by column, and what each adds to a row.

Dates enter as the numbers and categories that are made of them, yes and no as 1 and 0: no format but Python's reads
dates. `table_cells` makes such inputs of frames and records.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perceptrons.features import Columns, HashedText
from perceptrons.features.collector import Collector, Known, Roles
from perceptrons.features.from_memory import Frame, Records, preparation_of, roles_of
from perceptrons.features.interactions import number_products
from perceptrons.features.preparation import Preparation
from perceptrons.features.table_rows import Contents, text_prefixes
from perceptrons.features.values import shown


@dataclass(frozen=True)
class Value:
    """A feature that a row has if its categories have these values; its value is 1, or a number of the row.

    number: the place of the number among all, -1 for none. first, second: the places of the categories, -1 for none.
    columns: by the values of the categories.
    """

    number: int
    first: int
    second: int
    columns: dict[tuple[str, ...], int]
    prefixes: tuple[str, ...]  # of its name: "height*color=", or "color=" and "*shape="


@dataclass(frozen=True)
class TableInputs:
    """Cells of a table. products: of which numbers each further number is the product."""

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
    products: list[tuple[int, ...]]
    number_columns: list[int]  # -1 for a number without a column; of hashed columns there are none
    values: list[Value] = field(default_factory=list)
    kind: str = "table"

    @property
    def hashed(self) -> bool:
        return self.columns.bits is not None

    @property
    def number_names(self) -> list[str]:
        return self.preparation.number_names


def table_inputs(source: Any, columns: Columns, n: int) -> TableInputs:
    """The inputs of a model that was taught tables in this way."""
    roles = roles_of(source)
    made = preparation_of(source, roles)
    if made.term_weights is not None:
        from perceptrons.export.parts import COLUMNS_INSTEAD, ExportError

        raise ExportError(
            f"The words of the table's texts are weighted by idf, which no export format supports. {COLUMNS_INSTEAD}"
        )
    derived = made.derived
    left = [name for name in roles.categories if name not in {*derived.dates, *derived.flags}]
    numbers, categories = list(made.names), [*left, *derived.categories()]
    text = None
    if roles.texts:
        bits = {"bits": columns.bits, "signed": columns.signed, "seed": columns.seed}
        text = HashedText(**dict(source.get("text") or {}) | bits)
    known = {} if columns.bits is not None else {name: j for j, name in enumerate(columns.names(np.arange(n)))}
    return TableInputs(
        dict(source), columns, n, made, roles, numbers, categories, roles.texts,
        text_prefixes(roles.texts) if source.get("prefix") else [], text,
        [numbers.index(name) for name in made.indicators], _products(made, numbers),
        [known.get(name, -1) for name in made.number_names], _values(made, numbers, categories, known),
    )  # fmt: skip


def _products(made: Preparation, numbers: list[str]) -> list[tuple[int, ...]]:
    """For every power and product of numbers the places of its factors, as `number_products` orders them."""
    place_of = {name: place for place, name in enumerate(numbers)}
    powers = [(place_of[name],) * power for power in range(2, made.products.powers + 1) for name in made._to_powers()]
    pairs = [(place_of[a], place_of[b]) for a, b in made.products.pairs if a in place_of and b in place_of]
    _, called = number_products(np.empty((0, len(numbers))), numbers, made._to_powers(), made.products)
    assert len(called) == len(powers) + len(pairs)
    return powers + pairs


def _values(made: Preparation, numbers: list[str], categories: list[str], known: dict[str, int]) -> list[Value]:
    """Categories, and products with them. A value is whatever a name says behind the prefix: names decide, as there."""
    place_of = {name: place for place, name in enumerate(numbers)}
    at = {name: place for place, name in enumerate(categories)}
    found = [Value(-1, place, -1, _behind(f"{name}=", known), (f"{name}=",)) for name, place in at.items()]
    for one, other in made.products.pairs:
        if one in at and other in at:
            prefixes = f"{one}=", f"*{other}="
            found.append(Value(-1, at[one], at[other], _around(*prefixes, known), prefixes))
        elif one in place_of and other in at:
            prefix = f"{one}*{other}="
            found.append(Value(place_of[one], at[other], -1, _behind(prefix, known), (prefix,)))
    return found


def _behind(prefix: str, known: dict[str, int]) -> dict[tuple[str, ...], int]:
    return {(name.removeprefix(prefix),): j for name, j in known.items() if name.startswith(prefix)}


def _around(first: str, second: str, known: dict[str, int]) -> dict[tuple[str, ...], int]:
    """Pairs of values, by every way to cut a name in two."""
    found: dict[tuple[str, ...], int] = {}
    for name, j in known.items():
        if name.startswith(first):
            rest, cut = name.removeprefix(first), -1
            while (cut := rest.find(second, cut + 1)) >= 0:
                found[rest[:cut], rest[cut + len(second) :]] = j
    return found


def table_cells(inputs: TableInputs, X: Any) -> tuple[np.ndarray, list[list[str]]]:
    """Numbers (rows, numbers) and categories by column, of a frame or records."""
    roles, source = inputs.roles, inputs.source
    table = Frame(X) if hasattr(X, "columns") or hasattr(X, "column_names") else Records(X, roles)
    known = Known(
        roles, frozenset([*(source.get("ignore") or []), *roles.labels]), closed=True, need_labels=False, sparse=False,
        strip=source.get("format") in ("csv", "tsv", "whitespace", "arff"), missing=inputs.preparation.words,
    )  # fmt: skip
    collector = Collector(len(table), known)
    table.put_into(collector, frozenset())
    contents, strange = inputs.preparation.derive(collector.contents())
    for row, name, what in strange:
        raise ValueError(f"X, row {row}, column {shown(name)}: {what}.")
    return contents.numbers, [_cells(contents, name) for name in inputs.categories]


def _cells(contents: Contents, name: str) -> list[str]:
    codes, distinct = contents.categories[name]
    return [distinct[code] if code >= 0 else NO_VALUE for code in codes.tolist()]


NO_VALUE = "\ufdd0"  # (no character) of a category that a row does not have; no cell of a table is called so
