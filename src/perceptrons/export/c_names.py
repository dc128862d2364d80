"""Constants of C for names of features: columns by hash or by name, letters of words, and the cells of tables."""

from collections.abc import Callable

import numpy as np

from perceptrons.export.c_literals import c_arena, c_array, c_string, c_strings, defined
from perceptrons.export.table_parts import TableInputs
from perceptrons.features import Columns, HashedText
from perceptrons.features.table_rows import number_names
from perceptrons.hashing import hash_names
from perceptrons.scan.words import SPACE, folded

Code = Callable[[str], str]
VALUES = {"binary": 0, "count": 1, "log": 2}
SIZES = """
/* Room for the longest text, in bytes, and for its features; the second is a power of two. */
#ifndef PERCEPTRONS_MAX_TEXT
#define PERCEPTRONS_MAX_TEXT 131072
#endif
#ifndef PERCEPTRONS_MAX_FEATURES
#define PERCEPTRONS_MAX_FEATURES 65536
#endif
#if PERCEPTRONS_MAX_FEATURES & (PERCEPTRONS_MAX_FEATURES - 1)
#error PERCEPTRONS_MAX_FEATURES must be a power of two
#endif

"""


def feature_names(columns: Columns, code: Code, n: int | None = None) -> list[str]:
    """How names become columns: by their hash, or by a list of them. n: of columns that have weights."""
    parts = [defined("SEED", f"UINT32_C({columns.seed})")]
    if columns.bits is not None:
        parts += [defined("SIGNED", int(columns.signed)), defined("MASK", f"UINT32_C({2**columns.bits - 1})")]
        return [*parts, code("names"), code("hashed_column")]
    arrays = columns.state(n)[1]
    arena, ends = arrays["arena"], arrays["ends"]
    hashes = np.empty(len(ends) - 1, np.uint32)
    with np.errstate(over="ignore"):
        hash_names(arena if len(arena) else np.zeros(1, np.uint8), ends, columns.seed, hashes)
    order = np.argsort(hashes, kind="stable")
    content = arena.tobytes()
    names = [content[ends[k] : ends[k + 1]] for k in order.tolist()]
    parts += [
        defined("NAMES", len(names)), c_arena("perceptrons_name_bytes", b"".join(names)),
        "#define perceptrons_names ((const char *)perceptrons_name_bytes)\n",
        c_array("size_t", "perceptrons_name_ends", np.cumsum([0, *map(len, names)])),
        c_array("uint32_t", "perceptrons_name_hashes", hashes[order]),
        c_array("uint32_t", "perceptrons_name_columns", order),
    ]  # fmt: skip
    return [*parts, code("names"), code("remembered_column")]


def text_constants(text: HashedText, prefixes: list[str], code: Code) -> list[str]:
    """How texts are cut."""
    rule = text.rule()
    runs = letter_runs(bool(text.lowercase))
    body = ",\n".join(f"    {{{first}, {last}, {delta}, {step}}}" for first, last, delta, step in runs)
    kind = "static const struct { uint32_t first, last; int32_t delta; int step; }"
    return [
        SIZES, defined("WORD_LOW", rule.word_low), defined("WORD_HIGH", rule.word_high),
        defined("CHAR_LOW", rule.char_low), defined("CHAR_HIGH", rule.char_high),
        defined("VALUES", VALUES[text.values]), defined("UNIT_LENGTH", int(text.norm == "l2")),
        defined("PREFIXED", int(bool(prefixes))), c_strings("perceptrons_prefixes", prefixes),
        defined("RUNS", len(runs)), "/* letters and digits, and what they become */\n",
        f"{kind} perceptrons_runs[] = {{\n{body}\n}};\n", code("words"),
    ]  # fmt: skip


def letter_runs(lowercase: bool) -> list[tuple[int, int, int, int]]:
    """Code points of words as runs: first, last, what is added to each (step 1), or to every second (step 2)."""
    table = folded(lowercase).astype(np.int64)
    of_words = np.flatnonzero(table != int(SPACE))
    added, points = (table[of_words] - of_words).tolist(), of_words.tolist()
    runs: list[tuple[int, int, int, int]] = []
    i = 0
    while i < len(points):
        j = i
        while j + 1 < len(points) and points[j + 1] == points[j] + 1 and added[j + 1] == added[i]:
            j += 1
        k = i  # upper and lower case take turns: every second one changes
        while (
            k + 1 < len(points)
            and points[k + 1] == points[k] + 1
            and added[k + 1] == (0 if (k + 1 - i) % 2 else added[i])
        ):
            k += 1
        step = 2 if k > j and added[i] else 1
        end = k if step == 2 else j
        runs.append((points[i], points[end], added[i], step))
        i = end + 1
    return runs


def table_constants(inputs: TableInputs) -> list[str]:
    """How cells become numbers and names."""
    made, columns = inputs.preparation, inputs.columns
    homes, signs = np.array(inputs.number_columns, np.int64), np.ones(len(inputs.number_names))
    if inputs.hashed and inputs.number_names:
        found = columns.as_frozen().find(number_names(inputs.number_names))
        homes, signs = found.columns, found.signs
    factors = max(1, *map(len, inputs.products)) if inputs.products else 1
    products = np.full((len(inputs.products), factors), -1)
    for place, one in enumerate(inputs.products):
        products[place, : len(one)] = one
    values = [
        f"    {{{value.number}, {value.first}, {value.second}, {c_string(value.prefixes[0])}, "
        f"{c_string(value.prefixes[1] if value.second >= 0 else '')}}}"
        for value in inputs.values
    ]
    kind = "static const struct { int number, first, second; const char *before, *between; }"
    body = ",\n".join(values or ['    {-1, 0, -1, "", ""}'])
    return [
        defined("NUMBERS", len(inputs.numbers)), defined("CATEGORIES", len(inputs.categories)),
        c_strings("perceptrons_numbers", inputs.numbers, public=True),
        c_strings("perceptrons_categories", inputs.categories, public=True),
        defined("MISSING", len(made.words.numbers)), c_array("double", "perceptrons_missing", made.words.numbers),
        c_array("double", "perceptrons_fills", made.fills), c_array("double", "perceptrons_centres", made.centres),
        c_array("double", "perceptrons_scales", made.scales),
        defined("INDICATORS", len(inputs.indicators)), c_array("int", "perceptrons_indicators", inputs.indicators),
        defined("PRODUCTS", len(inputs.products)), defined("FACTORS", factors),
        c_array("int", "perceptrons_products", products, width=factors),
        defined("NUMBER_FEATURES", len(inputs.number_names)),
        c_array("long", "perceptrons_number_columns", homes), c_array("double", "perceptrons_number_signs", signs),
        defined("ROUNDED", int(inputs.hashed or inputs.text is not None)),
        defined("CATEGORY_FEATURES", len(inputs.values)), f"{kind} perceptrons_category_features[] = {{\n{body}\n}};\n",
    ]  # fmt: skip
