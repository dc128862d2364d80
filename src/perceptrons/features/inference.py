"""What the columns of a table are, as its first rows show, and how they are prepared, as measured on all rows.

Columns are numbers, categories, dates, yes/no, identifiers or free text. The result is a `Preparation`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from perceptrons.features.cells import CodedColumn, Contents, ListColumn, Roles
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.preparation import FLAG_PAIRS, MAX_PAIRS, MAX_POWER, Preparation, product, seconds_of
from perceptrons.features.values import Missing, did_you_mean, listed, shown

MIN_IDENTIFIERS = 20  # rows; fewer do not tell whether a column is an identifier
UNIQUE_SHARE = 0.9  # a column counts as unique if more of its values are distinct
WORDS_PER_TEXT = 4.0  # on average: such strings are text
MAX_WORD_COUNTS = 1000  # distinct values whose words are counted
SOME = 5  # values that are shown
IDENTIFIERS = {"id", "ids", "index", "idx", "key", "uuid", "guid", "no", "nr", "number", "row", "rowid"}
MAX_PRODUCT_NAMES = 2**18  # features of products that are remembered by name; more are hashed
HASH_BITS = 20
NEGLIGIBLE = 1e-12  # of the largest value: a spread that is only rounding
CHUNK_ROWS = 4096  # whose sums are made at once
CHUNK_PRODUCTS = 256  # columns that are measured together

# ---- what the columns are


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
        """Return why the column is left out, in words."""
        if self.kind == "identifier":
            message = f"column {shown(self.name)} looks like an identifier ({self.distinct:,} distinct values) and"
            return f"{message} is left out: to use it, give keep (--keep)"
        if self.kind == "text":
            message = f"column {shown(self.name)} looks like text and is left out"
            return f"{message}: to use its words, give text_column (--text-column)"
        return f"column {shown(self.name)} has no values and is left out" if self.kind == "empty" else None


def infer_facts(contents: Contents, roles: Roles, missing: Missing) -> list[ColumnFacts]:
    """Return what columns look like that were read as numbers or as categories by the first block, or by all rows."""
    numbers = missing.without_numbers(contents.numbers)
    facts = [_describe_numbers(name, numbers[:, place]) for place, name in enumerate(roles.numbers)]
    for name, column in contents.categories.items():
        lists = [part for part in contents.lists if part.names and part.names[0].startswith(f"{name}=")]
        describe = _describe_lists(name, column, lists) if lists else _describe_strings(name, column, missing.texts)
        facts.append(describe)
    return facts


def _describe_numbers(name: str, values: np.ndarray) -> ColumnFacts:
    present = values[~np.isnan(values)].astype(np.float64)
    n, distinct = len(present), len(np.unique(present))
    if not n:
        return ColumnFacts(name, "empty", len(values), len(values), 0)
    low, high = float(present.min()), float(present.max())
    is_unique = n >= MIN_IDENTIFIERS and distinct == n and bool((present == np.floor(present)).all())
    if is_unique and (high - low + 1 == n or _is_identifier_name(name)):
        kind = "identifier"
    else:
        kind = "number" if distinct > 1 else "constant"
    mean, deviation = float(present.mean()), float(present.std())
    return ColumnFacts(name, kind, len(values), len(values) - n, distinct, low, high, mean, deviation)


def _is_identifier_name(name: str) -> bool:
    """Return whether a column is called id, customer_id or customerId."""
    parts = name.replace("-", "_").replace(" ", "_").replace(".", "_").split("_")
    return parts[-1].lower() in IDENTIFIERS or name.endswith(("Id", "ID"))


def _describe_strings(name: str, column: CodedColumn, missing_texts: frozenset[str]) -> ColumnFacts:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.distinct)).tolist()
    pairs = zip(column.distinct, counts, strict=True)
    n_of_text = {text: n for text, n in pairs if n and text.strip().lower() not in missing_texts}
    texts, n, distinct = list(n_of_text), sum(n_of_text.values()), len(n_of_text)
    common = tuple(sorted(texts, key=lambda text: -n_of_text[text])[:SOME])
    facts = ColumnFacts(name, "category", len(column.codes), len(column.codes) - n, distinct, examples=common)
    if not n:
        return facts._replace(kind="empty")
    if distinct == 2 and any({text.lower() for text in texts} == set(pair) for pair in FLAG_PAIRS):
        return facts._replace(kind="yes/no")
    if all(seconds_of(text) is not None for text in texts):
        return facts._replace(kind="date", timed=any(len(text) > len("2024-05-31") for text in texts))
    if n >= MIN_IDENTIFIERS and distinct > UNIQUE_SHARE * n:
        word_counts = [len(text.split()) for text in texts[:MAX_WORD_COUNTS]]
        is_text = sum(word_counts) / len(word_counts) >= WORDS_PER_TEXT
        return facts._replace(kind="text" if is_text else "identifier")
    return facts._replace(kind="constant") if distinct == 1 and not facts.missing else facts


def _describe_lists(name: str, column: CodedColumn, lists: list[ListColumn]) -> ColumnFacts:
    """Return a category of which a row may have several values, as lists of JSON have them."""
    present = column.codes >= 0
    times: Counter[str] = Counter()
    for part in lists:
        present[part.rows] = True
        times.update(part.names[code] for code in part.codes.tolist())
    common = tuple(value[len(name) + 1 :] for value, _ in times.most_common(SOME))
    return ColumnFacts(name, "category", len(present), int((~present).sum()), len(times), examples=common)


class ColumnKinds(NamedTuple):
    """What the columns of a table are, as the first rows decided it.

    read: all columns, also those that are left out; names: of all in their order, if they have one.
    """

    read: Roles
    roles: Roles
    preparation: Preparation  # dates and flags, and what stands for missing values
    facts: list[ColumnFacts]
    names: list[str]


def select_columns(
    roles: Roles, facts: list[ColumnFacts], fixed: Collection[str], missing: Missing
) -> tuple[Roles, Preparation, list[ColumnFacts]]:
    """Return what columns are by what they look like, and those that are left out. fixed: columns that stay as read.

    If nothing would be left, strings that differ in nearly all rows become texts. Without such strings, only empty
    columns are left out, and not if all columns are empty.
    """
    free = [column for column in facts if column.name not in fixed]
    left_out, texts = [column for column in free if column.kind in ("identifier", "text", "empty")], list[str]()
    if len(left_out) == len(facts) and not roles.texts:
        texts = [column.name for column in left_out if column.kind != "empty" and column.name in roles.categories]
        empty = [column for column in left_out if column.kind == "empty"]
        if texts:
            left_out = [column for column in left_out if column.name not in texts]
        else:
            left_out = empty if len(empty) < len(left_out) else []
    removed = {*texts, *(column.name for column in left_out)}
    dates = tuple(column.name for column in free if column.kind == "date")
    timed = tuple(column.name for column in free if column.kind == "date" and column.timed)
    flags = tuple(column.name for column in free if column.kind == "yes/no")
    roles = roles._replace(
        numbers=[name for name in roles.numbers if name not in removed],
        categories=[name for name in roles.categories if name not in removed],
        optional=[name for name in roles.optional if name not in removed],
        texts=roles.texts or texts,
    )
    return roles, Preparation(missing_values=missing, dates=dates, timed=timed, flags=flags), left_out


# ---- which products there are


def parse_pairs(requested: Sequence[str], numbers: list[str], categories: list[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of columns asked for as "a*b", "a*" (a with every other column) or "*" (all pairs).

    Raises ValueError for what names no column, and for more pairs than can be wise.
    """
    names = [*numbers, *categories]
    pairs: dict[tuple[str, str], None] = {}
    for term in requested:
        pairs |= dict.fromkeys(_pairs(term, names))
        if len(pairs) > MAX_PAIRS:
            raise ValueError(
                f"interactions (--interactions) {shown(term)}: this makes more than {MAX_PAIRS:,} pairs of columns: "
                "name fewer columns."
            )
    return tuple(pairs)


def check_powers(powers: int) -> int:
    """Return the highest power. Raise ValueError unless it is one."""
    if isinstance(powers, bool) or not isinstance(powers, int) or not 1 <= powers <= MAX_POWER:
        raise ValueError(f"powers={powers!r} (--powers): give a whole number from 1 to {MAX_POWER}.")
    return powers


def _pairs(term: str, names: list[str]) -> list[tuple[str, str]]:
    index = {name: place for place, name in enumerate(names)}
    if term.strip() == "*":
        if len(names) >= 1000:
            raise ValueError(
                f"interactions (--interactions) '*': {len(names):,} columns have more than {MAX_PAIRS:,} pairs: name "
                "fewer."
            )
        return list(combinations(names, 2))[: MAX_PAIRS + 1]
    for cut in [place for place, letter in enumerate(term) if letter == "*"]:  # names of columns may contain one
        first, second = term[:cut].strip(), term[cut + 1 :].strip()
        others = [second] if first and second else [name for name in names if name != (first or second)]
        first = first or second
        if first in index and all(name in index and name != first for name in others):
            return [(first, name) if index[first] < index[name] else (name, first) for name in others]
    parts = [part.strip() for part in term.split("*") if part.strip()]
    unknown = next((part for part in parts if part not in index), None)
    if unknown is None:
        raise ValueError(f"interactions (--interactions) {shown(term)}: write 'a*b', 'a*' or '*'.")
    hint = did_you_mean(unknown, names)
    raise ValueError(
        f"interactions (--interactions): no feature comes from a column {shown(unknown)}{hint}: the columns are "
        f"{listed(names)}."
    )


# ---- measuring


def preparation_without_data(roles: Roles, derived: Preparation, options: ColumnOptions) -> Preparation | None:
    """Return the preparation, if nothing of the data has to be measured for it. derived: the dates and flags."""
    if options.scale != "none" or options.on_missing == "fill" or options.interactions or derived.dates:
        return None
    powers = check_powers(options.powers)
    missing_values, has_texts = options.missing_values, bool(roles.texts)
    return Preparation.without_scaling(roles.numbers, has_texts, missing_values, derived.flags, powers)


def measure_preparation(
    parts: Sequence[Contents], roles: Roles, derived: Preparation, options: ColumnOptions
) -> Preparation:
    """Return the preparation, measured on the rows that are learned from. parts: what `Preparation.derive` returns.

    How the rows are divided into parts does not matter. What a model knows of its columns stays as it is. derived: the
    dates and flags.
    """
    learned = options.preparation
    names = [*roles.numbers, *derived.derived_numbers()]
    scale = {"auto": "standard"}.get(options.scale, options.scale)
    moments = measure_moments(number_chunks(parts), parts[0].numbers.shape[1] if parts else 0)
    is_days = [name.endswith(".days") and name.removesuffix(".days") in derived.dates for name in names]
    centres, scales = moments.scaling(scale, np.where(is_days, moments.low, 0.0))  # days count from the first
    fills, indicators = moments.mean, [name for name, lacks in zip(names, moments.lacks, strict=True) if lacks]
    n_values = {name: _count_values(parts, name) for name in (parts[0].categories if parts else ())}
    if learned is None:
        powers, pairs = check_powers(options.powers), parse_pairs(options.interactions, names, list(n_values))
    else:
        powers, pairs = learned.powers, learned.pairs
        place_of = {name: place for place, name in enumerate(learned.names)}
        is_known = [name in place_of for name in names]
        old = [place_of[name] for name in names if name in place_of]
        fills[is_known], centres[is_known], scales[is_known] = (
            learned.fills[old],
            learned.centres[old],
            learned.scales[old],
        )
        old_indicators, new_indicators = {*learned.indicators}, {*indicators}
        indicators = [name for name in names if name in (old_indicators if name in place_of else new_indicators)]
    n_rows = sum(part.n for part in parts)
    max_names = sum(
        min(n_rows, n_values.get(a, 1) * n_values.get(b, 1)) for a, b in pairs if a in n_values or b in n_values
    )
    preparation = Preparation(
        scale, options.missing_values, derived.dates, derived.timed, derived.flags, tuple(names), fills,
        centres, scales, tuple(indicators), powers, pairs, beside_words=bool(roles.texts),
        hash_bits=HASH_BITS if max_names > MAX_PRODUCT_NAMES else None,
        term_weights=None if learned is None else learned.term_weights,
        weigh_terms=learned is None and bool(roles.texts) and scale == "standard",
    )  # fmt: skip
    return _with_scaled_products(preparation, parts, learned)


def _with_scaled_products(
    preparation: Preparation, parts: Sequence[Contents], learned: Preparation | None
) -> Preparation:
    """Return the same with scales of powers and products, measured on these rows unless they are known."""
    if preparation.scale == "none" or not preparation.product_factors:
        return preparation
    scalings = []
    for begin in range(0, len(preparation.product_factors), CHUNK_PRODUCTS):
        factors = preparation.product_factors[begin : begin + CHUNK_PRODUCTS]
        moments = measure_moments(_product_chunks(preparation, parts, factors), len(factors))
        scalings.append(moments.scaling(preparation.scale, np.zeros(len(factors))))
    centres, scales = (np.concatenate(arrays) for arrays in zip(*scalings, strict=True))
    learned_places = {} if learned is None else {name: k for k, name in enumerate(learned.product_names)}
    for place, name in enumerate(preparation.product_names):
        if learned is not None and name in learned_places:
            has_scales = len(learned.product_scales) > 0
            centres[place] = learned.product_centres[learned_places[name]] if has_scales else 0.0
            scales[place] = learned.product_scales[learned_places[name]] if has_scales else 1.0
    return replace(preparation, product_centres=centres, product_scales=scales)


def _product_chunks(
    preparation: Preparation, parts: Sequence[Contents], products: list[tuple[int, ...]]
) -> Iterator[np.ndarray]:
    """Yield powers and products of the rows, CHUNK_ROWS at a time."""
    for chunk in number_chunks(parts):
        scaled = np.empty(chunk.shape)
        preparation.scale_into(scaled, chunk)
        with np.errstate(over="ignore"):
            columns = np.stack([product(scaled, factors) for factors in products], axis=1)
        yield columns


def _count_values(parts: Sequence[Contents], name: str) -> int:
    """Return how many values of a category occur."""
    values: set[str] = set()
    for part in parts:
        codes, distinct = part.categories[name]
        values.update(distinct[code] for code in np.unique(codes[codes >= 0]).tolist())
    return len(values)


class Moments(NamedTuple):
    """Statistics of every column of numbers, over the values that are not missing; 0 where there are none."""

    mean: np.ndarray
    deviation: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lacks: np.ndarray  # is a value missing?

    def scaling(self, scale: str, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what is subtracted from the columns, and what they are divided by then.

        first: what is subtracted if the scale does not center.
        """
        if scale == "standard":
            largest = np.maximum(np.abs(self.low), np.abs(self.high))
            return self.mean.copy(), np.where(self.deviation > NEGLIGIBLE * largest, self.deviation, 1.0)
        if scale == "max-abs":
            peak = np.maximum(np.abs(self.high - first), np.abs(self.low - first))
            return first, np.where(peak > 0, peak, 1.0)
        return first, np.ones(len(first))


def measure_moments(chunks: Iterator[np.ndarray], d: int) -> Moments:
    """Return means and deviations of d columns in one pass; the same bits however the rows are divided into parts.

    Sums are made of every CHUNK_ROWS rows, then joined by the rule of Chan, Golub and LeVeque (1979).
    """
    n, mean, squares = np.zeros(d), np.zeros(d), np.zeros(d)
    low, high, lacks = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d, bool)
    for chunk in chunks:
        missing = np.isnan(chunk)
        more = len(chunk) - np.count_nonzero(missing, axis=0)
        present = np.where(missing, 0.0, chunk) if missing.any() else chunk
        its_mean = present.sum(axis=0) / np.maximum(more, 1)
        away = present - its_mean
        away[missing] = 0.0
        difference, total = its_mean - mean, np.maximum(n + more, 1)
        mean = np.where(more > 0, mean + difference * (more / total), mean)
        squares = squares + np.square(away).sum(axis=0) + np.where(more > 0, difference**2 * (n * more / total), 0.0)
        n, lacks = n + more, lacks | (more < len(chunk))
        low = np.minimum(low, np.where(missing, np.inf, chunk).min(axis=0))
        high = np.maximum(high, np.where(missing, -np.inf, chunk).max(axis=0))
    some = n > 0
    deviation = np.sqrt(squares / np.maximum(n, 1))
    return Moments(mean, deviation, np.where(some, low, 0.0), np.where(some, high, 0.0), lacks)


def number_chunks(parts: Sequence[Contents]) -> Iterator[np.ndarray]:
    """Yield the numbers in chunks of CHUNK_ROWS rows, across the borders of the parts."""
    remainder: list[np.ndarray] = []
    for part in parts:
        remainder.append(part.numbers)
        while sum(map(len, remainder)) >= CHUNK_ROWS:
            joined = np.concatenate(remainder) if len(remainder) > 1 else remainder[0]
            for begin in range(0, len(joined) - CHUNK_ROWS + 1, CHUNK_ROWS):
                yield joined[begin : begin + CHUNK_ROWS].astype(np.float64)
            remainder = [joined[len(joined) - len(joined) % CHUNK_ROWS :]]
    if sum(map(len, remainder)):
        yield np.concatenate(remainder).astype(np.float64)
