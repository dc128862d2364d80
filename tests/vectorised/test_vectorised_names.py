"""What takes the place of compiled loops over names and texts gives what they give."""

import numpy as np
import pytest

from perceptrons.features.columns import Columns
from perceptrons.features.named_rows import Workspace, cut_text, cut_text_by_numpy
from perceptrons.hashing import SECRET, hash_names
from perceptrons.scan import name_table
from perceptrons.scan.bytes import ROOM
from perceptrons.scan.gather import Amounts, Gathered, Homes, first_in_column, gather
from perceptrons.scan.words import Rule, folded
from perceptrons.vectorised import gather as gather_by_numpy
from perceptrons.vectorised import hashes
from perceptrons.vectorised import name_table as by_numpy

MANY = 3000
ODD = [
    "Ⱥ",
    "İ",
    "ΑΣ",
    "ß",
    "東京",
    "𝔘",
    "\ud800",
    "\ufffd",
    "é",
    "\u0300",
    "_",
    "1",
    "\x1c",
    "\u2028",
    "\x00",
    "\x01",
    "\n",
]


def arena_of(names):
    """The bytes of names, with room behind them, and where each ends."""
    ends = np.cumsum([0, *map(len, names)])
    return np.frombuffer(b"".join([*names, bytes(ROOM)]), np.uint8), ends


def drawn(rng, n=MANY, letters=2):
    """Names of few letters, so that many come twice, and many differ only in their last byte."""
    return [bytes(rng.integers(97, 97 + letters, int(size)).astype(np.uint8)) for size in rng.geometric(0.12, n) - 1]


def table_by(version, names, grown_by=100):
    """The numbers of names, and the table that they are in, by the loops or by NumPy; the table has to grow."""
    content, ends = arena_of(names)
    table, numbers, at = name_table.new_table(16), np.empty(len(names), np.int32), 0
    while at < len(names):
        at = version.number_names(content, ends[:-1], ends[1:], at, table, numbers)
        if at < len(names):
            table = name_table.grown(table, 1, grown_by)
    return numbers, table


def test_keys_and_hashes_of_names_are_the_same(rng):
    content, ends = arena_of(drawn(rng, letters=20))
    for seed in (0, 2**32 - 1):
        ours, theirs = np.empty(MANY, np.uint32), np.empty(MANY, np.uint32)
        hash_names(content, ends, seed, theirs)
        hashes.hash_names(content, ends, seed, ours)
        assert np.array_equal(ours, theirs)
    ours, theirs = np.empty(MANY, np.uint64), np.empty(MANY, np.uint64)
    name_table.key_names(content, ends, SECRET, theirs)
    hashes.key_names(content, ends, SECRET, ours)
    assert np.array_equal(ours, theirs)


def test_names_have_the_same_numbers_and_each_version_finds_those_of_the_other(rng):
    names = drawn(rng)
    (theirs, table), (ours, other) = table_by(name_table, names), table_by(by_numpy, names)
    assert np.array_equal(ours, theirs)
    used = int(table.used[0])
    assert used == other.used[0] == len(set(names))
    assert np.array_equal(table.ends[: used + 1], other.ends[: used + 1])
    content, ends = arena_of(names)
    for version, foreign in ((name_table, other), (by_numpy, table)):
        again = np.empty(len(names), np.int32)
        assert version.number_names(content, ends[:-1], ends[1:], 0, foreign, again) == len(names)
        assert np.array_equal(again, theirs)


def test_two_names_of_one_key_stay_two(rng, monkeypatch):
    names = drawn(rng)
    theirs, _ = table_by(name_table, names)
    real = hashes.keys_of
    monkeypatch.setattr(
        by_numpy, "keys_of", lambda *given: np.where((keys := real(*given)) >= hashes.LONG, ~np.uint64(0), keys)
    )
    ours, _ = table_by(by_numpy, names)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("limit", [10**6, 400, -1])
def test_names_are_remembered_and_counted_alike(rng, limit):
    found = []
    for version in (name_table, by_numpy):
        table, totals = name_table.grown(name_table.new_table(16), 2 * MANY, 10**6), np.zeros(4 * MANY, np.int64)
        several = [sorted(set(drawn(np.random.default_rng(seed)))) for seed in (1, 2)]
        numbers = []
        for names, at_most in zip(several, (300, limit), strict=True):
            text, ends = arena_of(names)
            keys, counts = np.empty(len(names), np.uint64), np.arange(1, len(names) + 1)
            name_table.key_names(text, ends, SECRET, keys)
            numbers.append(np.empty(len(names), np.int64))
            version.remember_names(text, ends, keys, counts, table, totals, at_most, numbers[-1])
        found.append((numbers, totals, table))
    (ours, mine, _), (theirs, other, _) = found
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert np.array_equal(mine, other)


def test_columns_refuse_the_same_name_twice(monkeypatch):
    from perceptrons.features import columns

    for name in ("remember_names", "key_names"):
        monkeypatch.setattr(columns, name, getattr(by_numpy if name == "remember_names" else hashes, name))
    options, arrays = Columns().state()
    for names in ([b"a", b"b", b"a"], [b"a long name", b"b", b"a long name"]):
        arena, ends = arena_of(names)
        arrays |= {"arena": arena[:-ROOM], "ends": ends, "counts": np.ones(3, np.int64)}
        with pytest.raises(ValueError, match="Two of the names are the same"):
            Columns.from_state(options, arrays)


@pytest.mark.parametrize("spans", [(1, 1, 1, 0), (1, 3, 1, 0), (1, 0, 1, 5), (2, 2, 3, 4)])
@pytest.mark.parametrize("lowercase", [True, False])
def test_texts_are_cut_alike_whatever_their_bytes(rng, spans, lowercase):
    letters = [*"aAbB ., ", *ODD]
    rows = ["".join(rng.choice(letters, size)).encode("utf-8", "surrogatepass") for size in rng.integers(0, 40, 200)]
    rows += [rng.integers(0, 256, int(size)).astype(np.uint8).tobytes() for size in rng.integers(0, 60, 200)]
    rows += [row[:-1] for row in rows[:100]]  # cut within a character
    content, ends = arena_of(rows)
    rule = Rule(*spans, folded(lowercase))
    some = np.r_[50:400, 0:20]  # neither all nor in order
    theirs = cut_text(content, ends[:-1][some], ends[1:][some], rule, Workspace())
    ours = cut_text_by_numpy(content, ends[:-1][some], ends[1:][some], rule, Workspace())
    assert len(theirs.numbers) > 1000
    for part in ("starts", "numbers", "counts"):
        assert np.array_equal(getattr(ours, part), getattr(theirs, part)), part
    for part in ("arena", "ends", "counts", "keys"):
        assert np.array_equal(getattr(ours.names, part), getattr(theirs.names, part)), part


def test_no_texts_and_empty_ones_are_cut_alike():
    rule = Rule(1, 2, 2, 3, folded(True))
    for begin in ([], [0], [0, 0]):
        content = np.zeros(0, np.uint8)
        ours, theirs = (cut(content, begin, begin, rule, Workspace()) for cut in (cut_text_by_numpy, cut_text))
        assert np.array_equal(ours.starts, theirs.starts)
        assert len(ours.numbers) == len(ours.names.counts) == 0
    none = cut_text_by_numpy(np.frombuffer(b"a text", np.uint8), [], [], rule, Workspace())  # all of it is left out
    assert none.starts.tolist() == [0]


@pytest.mark.parametrize("unit", [True, False])
def test_rows_of_columns_have_the_same_bits(rng, unit):
    names, n = 40, 500
    columns = rng.integers(-1, 12, names)  # some names have no column, many share one
    starts = np.concatenate([[0], np.sort(rng.integers(0, n, 60)), [n]])
    numbers = rng.integers(0, names, n).astype(np.int32)
    signs = rng.choice([-1.0, 1.0], names).astype(np.float32)
    found = []
    for first, loop in ((first_in_column, gather), (gather_by_numpy.first_in_column, gather_by_numpy.gather)):
        firsts = np.empty(names, np.int32)
        first(columns, np.zeros(128, np.int32), firsts)
        rows = Gathered(np.zeros(len(starts), np.int32), np.zeros(n, np.int32), np.zeros(n, np.float32))
        amounts = Amounts(starts, numbers, np.random.default_rng(3).standard_normal(n))
        places, sums = np.zeros(names, np.int64), np.empty(n)
        found.append((loop(amounts, Homes(columns, signs, firsts), unit, places, sums, rows), firsts, *rows))
    assert 0 < found[0][0] < n
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
