"""What the columns of a table look like: numbers, categories, dates, identifiers, free text. All is decided here.

Identifiers and free text are no features: a value that comes once says nothing about the next row. They are left out,
never in silence.
"""

from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from perceptrons.features.collector import Roles
from perceptrons.features.derived import Derived, are_flags, is_date
from perceptrons.features.table_rows import Coded, Contents, Further
from perceptrons.features.values import Missing, shown

FEW = 20  # rows; fewer do not tell whether a column is an identifier
NEARLY_ALL = 0.9  # a column counts as unique if this share of its values is distinct
MANY_WORDS = 4.0  # a value, on average: such strings are text
LOOKED_AT = 1000  # distinct values whose words are counted
SOME = 5  # values that are shown
IDS = {"id", "ids", "index", "idx", "key", "uuid", "guid", "no", "nr", "number", "row", "rowid"}
LEFT_OUT = ("identifier", "text", "empty")


class ColumnFacts(NamedTuple):
    """A column: what it is taken for, and what that rests on. Numbers that say nothing of a kind are None."""

    name: str
    kind: str  # number, category, date, yes/no, identifier, text, empty, constant or label
    n: int
    missing: int
    distinct: int
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    deviation: float | None = None
    examples: tuple[str, ...] = ()
    timed: bool = False  # has a date a time of day?

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if name != "timed"}

    def notice(self) -> str | None:
        """Why the column is left out, in words."""
        if self.kind == "identifier":
            what = f"column {shown(self.name)} looks like an identifier ({self.distinct:,} distinct values) and"
            return f"{what} is left out: to use it, give keep (--keep)"
        if self.kind == "text":
            what = f"column {shown(self.name)} looks like text and is left out"
            return f"{what}: to use its words, give text_column (--text-column)"
        return f"column {shown(self.name)} has no values and is left out" if self.kind == "empty" else None


def facts_of(contents: Contents, roles: Roles, missing: Missing) -> list[ColumnFacts]:
    """What columns look like that were read as numbers or as categories by the first block, or by all rows."""
    numbers = missing.without_numbers(contents.numbers)
    found = [_of_numbers(name, numbers[:, place]) for place, name in enumerate(roles.numbers)]
    for name, column in contents.categories.items():
        lists = [part for part in contents.further if part.names and part.names[0].startswith(f"{name}=")]
        found.append(_with_lists(_of_strings(name, column, missing.texts), column, lists))
    return found


def _with_lists(facts: ColumnFacts, column: Coded, lists: list[Further]) -> ColumnFacts:
    """A category of which a row may have several values, as lists of JSON have them."""
    if not lists:
        return facts
    there = column.codes >= 0
    times: Counter[str] = Counter()
    for part in lists:
        there[part.rows] = True
        times.update(part.names[code] for code in part.codes.tolist())
    common = tuple(name[len(facts.name) + 1 :] for name, _ in times.most_common(SOME))
    lacking = len(there) - int(there.sum())
    return facts._replace(kind="category", missing=lacking, distinct=len(times), examples=common)


def _of_numbers(name: str, values: np.ndarray) -> ColumnFacts:
    known = values[~np.isnan(values)].astype(np.float64)
    distinct = len(np.unique(known))
    if not len(known):
        return ColumnFacts(name, "empty", len(values), len(values), 0)
    low, high, n = float(known.min()), float(known.max()), len(known)
    unique = n >= FEW and distinct == n and bool((known == np.floor(known)).all())
    consecutive = unique and high - low + 1 == n
    kind = "identifier" if consecutive or (unique and _is_named_so(name)) else "number" if distinct > 1 else "constant"
    facts = ColumnFacts(name, kind, len(values), len(values) - n, distinct, low, high)
    return facts._replace(mean=float(known.mean()), deviation=float(known.std()))


def _is_named_so(name: str) -> bool:
    """Is a column called id, customer_id or customerId?"""
    parts = name.replace("-", "_").replace(" ", "_").replace(".", "_").split("_")
    return parts[-1].lower() in IDS or name.endswith(("Id", "ID"))


def _of_strings(name: str, column: Coded, words: frozenset[str]) -> ColumnFacts:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.distinct))
    there = [
        (text, int(times)) for text, times in zip(column.distinct, counts, strict=True)
        if times and text.strip().lower() not in words
    ]  # fmt: skip
    n, distinct = sum(times for _, times in there), len(there)
    common = tuple(text for text, _ in sorted(there, key=lambda one: -one[1])[:SOME])
    facts = ColumnFacts(name, "category", len(column.codes), len(column.codes) - n, distinct, examples=common)
    if not n:
        return facts._replace(kind="empty")
    texts = [text for text, _ in there]
    if distinct == 2 and are_flags({text.lower() for text in texts}):
        return facts._replace(kind="yes/no")
    if is_date(texts[0]) and all(map(is_date, texts)):
        return facts._replace(kind="date", timed=any(len(text) > len("2024-05-31") for text in texts))
    if n >= FEW and distinct > NEARLY_ALL * n:
        some = texts[:LOOKED_AT]
        words_each = sum(len(text.split()) for text in some) / len(some)
        return facts._replace(kind="text" if words_each >= MANY_WORDS else "identifier")
    return facts._replace(kind="constant") if distinct == 1 and not facts.missing else facts


class Decided(NamedTuple):
    """What the columns of a table are, as the first rows decided it.

    read: all columns, also those that are left out; names: of all in their order, if they have one.
    """

    read: Roles
    roles: Roles
    derived: Derived
    facts: list[ColumnFacts]
    names: list[str]
    missing: Missing


def settled(roles: Roles, facts: list[ColumnFacts], told: Collection[str]) -> tuple[Roles, Derived, list[ColumnFacts]]:
    """What columns are by what they look like, and those that are left out. told: columns that stay as they are.

    Where nothing would be left, strings that differ in nearly all rows become texts, as names have endings. If there
    are none, nothing is left out.
    """
    free = [one for one in facts if one.name not in told]
    out = [one for one in free if one.kind in LEFT_OUT]
    texts = []
    if len(out) == len(facts) and not roles.texts:
        texts = [one.name for one in out if one.kind != "empty" and one.name in roles.categories]
    if texts:
        out = [one for one in out if one.name not in texts]
    elif len(out) == len(facts) and not roles.texts:
        out = [one for one in out if one.kind == "empty"] if any(one.kind != "empty" for one in out) else []
    gone = {*texts, *(one.name for one in out)}
    dates, timed, flags = (
        tuple(one.name for one in free if one.kind == kind and (one.timed or not only_timed))
        for kind, only_timed in (("date", False), ("date", True), ("yes/no", False))
    )
    roles = roles._replace(
        numbers=[name for name in roles.numbers if name not in gone],
        categories=[name for name in roles.categories if name not in gone],
        optional=[name for name in roles.optional if name not in gone],
        texts=roles.texts or texts,
    )
    return roles, Derived(dates, timed, flags), out
