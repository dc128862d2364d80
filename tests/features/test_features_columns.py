"""`Columns`: names get columns and columns have names, what shares one is seen, and a hostile file is refused."""

import copy
import json
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from perceptrons.features import Columns, HashedText
from perceptrons.features.columns import ColumnPlaces, NamedRows, assemble, local_names
from tests.reference import text as reference


def numbered(names):
    """Names, one after the other, as local numbers and distinct names."""
    encoded = [name if isinstance(name, bytes) else name.encode() for name in names]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    begin = ends - [len(name) for name in encoded]
    return local_names(np.frombuffer(b"".join(encoded), np.uint8), begin, ends)


def find(columns, names):
    """Column and sign of every name."""
    numbers, distinct = numbered(names)
    found = columns.find(distinct)
    return found.columns[numbers].tolist(), found.signs[numbers].tolist()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.binary(max_size=20)), max_size=4))
def test_names_are_numbered_in_order_of_coming_whatever_bytes_they_are(pieces):
    for names in pieces:
        numbers, distinct = numbered(names)
        expected = list(dict.fromkeys(names))
        bounds = distinct.ends.tolist()
        assert [distinct.arena[a:b].tobytes() for a, b in pairwise(bounds)] == expected
        assert [expected[number] for number in numbers] == names
        assert distinct.counts.tolist() == [names.count(name) for name in expected]


def test_many_names_of_all_lengths_are_told_apart():
    names = (
        [f"{i:0{1 + i % 23}b}" for i in range(40_000)]
        + ["x" * n for n in range(300)]
        + ["a" * 8 + chr(0) * n for n in range(9)]
    )
    numbers, distinct = numbered(names * 2)
    assert len(distinct.counts) == len(set(names))
    expected = {name: number for number, name in enumerate(dict.fromkeys(names))}
    assert numbers.tolist() == [expected[name] for name in names * 2]


def test_without_bits_columns_are_numbered_in_order_of_coming():
    columns = Columns()
    assert columns.n_columns == 0
    assert find(columns, ["b", "a", "b", ""]) == ([0, 1, 0, 2], [1.0] * 4)
    assert find(columns, ["c", "", "a"]) == ([3, 2, 1], [1.0] * 3)
    assert (columns.n_columns, columns.n_names, columns.names()) == (4, 4, ["b", "a", "", "c"])
    assert columns.counts.tolist() == [2, 2, 2, 1]
    columns.frozen = True
    assert find(columns, ["d", "c", "d" * 30]) == ([-1, 3, -1], [1.0] * 3)
    assert columns.counts.tolist() == [2, 2, 2, 1]
    assert columns.name_of(3) == ["c"]
    assert columns.labels() == ["b", "a", "", "c"]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8")), max_size=8),
    st.integers(1, 31),
    st.integers(0, 2**31 - 1),
    st.booleans(),
)
def test_hashed_columns_and_signs_are_bits_of_murmur3(names, bits, seed, signed):
    hashes = [murmurhash3_32(name, seed=seed, positive=True) for name in names]
    expected = ([h & (2**bits - 1) for h in hashes], [-1.0 if signed and h >> 31 else 1.0 for h in hashes])
    for remember in (0, 3, 100):
        for frozen in (False, True):
            assert find(Columns(bits, signed, seed, remember, frozen), names) == expected
    assert [reference.hashed(name, bits, signed, seed) for name in names] == list(zip(*expected, strict=True))


def test_a_readers_own_hashes_are_used_instead():
    columns = Columns(bits=4)
    _, names = numbered(["a", "b"])
    found = columns.find(names, np.array([0xFFFFFFF3, 5], np.uint32))
    assert (found.columns.tolist(), found.signs.tolist()) == ([3, 5], [-1.0, 1.0])
    assert columns.name_of(3) == ["a"]
    with pytest.raises(ValueError, match="does not hash"):
        Columns().find(names, np.zeros(2, np.uint32))


def test_names_beyond_what_is_remembered_are_forgotten_and_hashed_all_the_same():
    columns = Columns(bits=10, remember=2)
    assert not columns.forgot
    find(columns, ["a", "b"])
    assert not columns.forgot
    first = find(columns, ["c", "a", "d"])
    assert columns.forgot
    assert columns.names() == ["a", "b"]
    assert columns.counts.tolist() == [2, 1]
    assert first == find(Columns(bits=10), ["c", "a", "d"])
    assert columns.audit()["forgot"]


def test_a_frozen_hash_neither_counts_nor_remembers():
    columns = Columns(bits=5)
    find(columns, ["a"])
    columns.frozen = True
    find(columns, ["a", "b"])
    assert (columns.names(), columns.counts.tolist(), columns.forgot) == (["a"], [1], False)


def test_a_large_vocabulary_grows_piece_by_piece():
    columns, expected = Columns(), {}
    rng = np.random.default_rng(0)
    for _ in range(20):
        names = [f"name {number}" for number in rng.zipf(1.3, 5000) % 1_000_000]
        for name in names:
            expected.setdefault(name, len(expected))
        assert find(columns, names)[0] == [expected[name] for name in names]
    assert columns.names() == list(expected)
    assert columns.n_names > 9_000


def test_an_audit_counts_what_shares_a_column_and_names_the_heaviest():
    columns = Columns(bits=3)
    names = [f"w{i}" for i in range(12)]
    homes, _ = find(columns, [*names, "w3"])
    homes = homes[:12]
    groups = {
        column: [name for name, home in zip(names, homes, strict=True) if home == column]
        for column in sorted(set(homes))
    }
    shared = {column: group for column, group in groups.items() if len(group) > 1}
    assert 2 < len(shared) < 8
    report = columns.audit()
    assert report == {
        "features": 12, "forgot": False, "columns": 8, "columns_used": len(groups), "shared_columns": len(shared),
        "features_sharing": sum(map(len, shared.values())), "heaviest": [],
    }  # fmt: skip
    for column, group in groups.items():
        assert columns.name_of(column) == sorted(group, key=lambda name: name != "w3")
    a, b, *_ = shared
    weights = np.zeros((3, 8))
    weights[1, a], weights[2, a], weights[0, b] = 0.5, -2.0, 1.0
    alone = next(iter(set(range(8)) - set(shared)), None)
    if alone is not None:
        weights[0, alone] = 100.0
    heaviest = columns.audit(weights)["heaviest"]
    assert heaviest == [
        {"column": a, "weight": -2.0, "names": columns.name_of(a)},
        {"column": b, "weight": 1.0, "names": columns.name_of(b)},
    ]
    assert columns.audit(weights[0])["heaviest"] == [{"column": b, "weight": 1.0, "names": columns.name_of(b)}]
    assert len(columns.audit(np.ones(8), top=1)["heaviest"]) == 1
    json.dumps(report)
    with pytest.raises(
        ValueError, match=r"weights have the shape \(7,\): there must be one weight for each of the 8 columns\."
    ):
        columns.audit(np.ones(7))
    with pytest.raises(ValueError, match="There is no column 8: there are 8 columns"):
        columns.name_of(8)
    labels = columns.labels()
    assert labels[a] == " | ".join(columns.name_of(a))
    assert all(labels[c] == f"#{c}" for c in range(8) if c not in groups)


def test_an_audit_of_nothing_says_nothing():
    report = Columns(bits=4).audit(np.ones(16))
    assert (report["features"], report["shared_columns"], report["heaviest"]) == (0, 0, [])
    assert Columns().audit()["columns"] == 0
    assert Columns().labels() == []


def test_names_that_share_a_column_add_up_in_it_with_their_signs():
    found = ColumnPlaces(np.array([5, 2, 5, -1, 2]), np.array([1, -1, -1, 1, 1], np.float32))
    starts, numbers = np.array([0, 5, 5, 8, 9]), np.array([0, 1, 2, 3, 4, 1, 1, 0, 3], np.int32)
    amounts = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 1.0, 2.0, 0.5, 3.0])
    rows = NamedRows(starts, numbers, amounts, None)
    X = assemble(rows, found, 8)
    assert X.indptr.tolist() == [0, 2, 2, 4, 4]
    assert X.indices.tolist() == [5, 2, 2, 5]
    assert X.data.tolist() == [-3.0, 14.0, -3.0, 0.5]
    unit = assemble(rows, found, 8, norm="l2")
    assert unit.data.tolist() == [
        np.float32(value) for value in (-3 / 205**0.5, 14 / 205**0.5, -3 / 9.25**0.5, 0.5 / 9.25**0.5)
    ]


def test_names_that_cancel_leave_a_zero_and_no_nan():
    found = ColumnPlaces(np.array([0, 0]), np.array([1, -1], np.float32))
    rows = NamedRows(np.array([0, 2]), np.array([0, 1], np.int32), np.ones(2), None)
    X = assemble(rows, found, 1, norm="l2")
    assert (X.indices.tolist(), X.data.tolist()) == ([0], [0.0])


def same(a, b):
    (options, arrays), (others, copies) = a.state(), b.state()
    return options == others and all(np.array_equal(arrays[name], copies[name]) for name in arrays | copies)


@pytest.mark.parametrize("bits", [None, 6])
def test_a_state_gives_the_same_columns_back(bits):
    columns = Columns(bits, signed=False, seed=9, remember=40)
    find(columns, ["a", "日本", "", "x" * 100, "a", "\x01ab"] + [str(i) for i in range(50)])
    options, arrays = columns.state()
    back = Columns.from_state(json.loads(json.dumps(options)), arrays)
    assert same(columns, back)
    assert back.names() == columns.names()
    assert back.names()[4] == "‹ab›"
    more = ["b", "日本", "y", "x" * 100]
    assert find(back, more) == find(columns, more)
    assert same(columns, back)
    assert same(pickle.loads(pickle.dumps(columns)), columns)
    assert same(copy.deepcopy(columns), columns)
    empty = Columns(bits)
    assert same(Columns.from_state(*empty.state()), empty)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bits": 32}, r"Columns\(bits=32\): bits must be"),
        ({"bits": "6"}, "bits must be"),
        ({"seed": 2**32}, "seed must be"),
        ({"seed": 1.5}, "seed must be"),
        ({"remember": -1}, "remember must be"),
        ({"remember": 1}, "more than may be remembered"),
        ({"signed": "yes"}, "signed must be"),
        ({"frozen": None}, "frozen must be"),
        ({"arena": None}, "no arena"),
        ({"arena": np.array([[97, 98, 99]], np.uint8)}, "no arena"),
        ({"arena": np.array([97, 98], np.uint8)}, "cut short"),
        ({"arena": np.array([97.0, 98.0, 99.0])}, "no arena"),
        ({"arena": np.array([97, 98, 300])}, "arena of the names are out of range"),
        ({"arena": np.array([0xFF, 98, 99], np.uint8)}, "not UTF-8"),
        ({"arena": np.array([0xC3, 0xA9, 99], np.uint8)}, "ends within a character"),
        ({"arena": np.array([97, 97, 99], np.uint8)}, "Two of the names are the same"),
        ({"ends": np.array([0, 2, 1, 3])}, "not in order"),
        ({"ends": np.array([0, -(2**62), 2**62, 3])}, "not in order"),
        ({"ends": np.array([1, 1, 2, 3])}, "cut short"),
        ({"ends": np.array([0, 1, 3])}, "not as many"),
        ({"ends": np.array([], np.int64)}, "not as many"),
        ({"ends": np.array([0, 1, 2, 2**63 + 3], np.uint64)}, "ends of the names are out of range"),
        ({"counts": np.array([1, 1])}, "not as many"),
        ({"counts": np.array([1, 0, 1])}, "some never came"),
        ({"counts": "abc"}, "no counts"),
        ({"columns": np.array([0, 1])}, "not as many"),
        ({"columns": np.array([0, 1, 64])}, "columns are out of range"),
        ({"columns": np.array([0, -1, 3])}, "columns are out of range"),
        ({"columns": np.array([0, 1, 2**40])}, "out of range"),
        ({"columns": None}, "no columns"),
    ],
)
def test_a_state_that_no_columns_had_is_refused(change, message):
    columns = Columns(6)
    find(columns, ["a", "b", "c"])
    options, arrays = columns.state()
    options = {name: change.get(name, value) for name, value in options.items()}
    arrays = {name: change.get(name, value) for name, value in arrays.items()}
    with pytest.raises(ValueError, match=message):
        Columns.from_state(options, arrays)


def test_a_state_with_something_missing_is_refused():
    for bits in (None, 6):
        options, arrays = Columns(bits).state()
        for name in ("bits", "seed", "signed", "remember", "frozen"):
            with pytest.raises(ValueError, match=name):
                Columns.from_state({key: value for key, value in options.items() if key != name}, arrays)
        for name in arrays:
            with pytest.raises(ValueError, match=name):
                Columns.from_state(options, {key: value for key, value in arrays.items() if key != name})


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_broken_state_never_gives_columns_that_read_beyond_their_names(data):
    columns = Columns(data.draw(st.sampled_from([None, 4])))
    find(columns, ["a", "日本", "long enough to be hashed", ""])
    options, arrays = columns.state()
    name = data.draw(st.sampled_from(sorted(arrays)))
    broken = arrays[name].copy()
    if len(broken) and data.draw(st.booleans()):
        kind = np.iinfo(broken.dtype)
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(kind.min, kind.max))
    else:
        broken = broken[: data.draw(st.integers(0, len(broken)))]
    try:
        back = Columns.from_state(options, arrays | {name: broken})
    except ValueError:
        return
    assert len(back.names()) == back.n_names == len(arrays["counts"])
    find(back, ["a", "x", "long enough to be hashed"])


def test_only_frequent_names_are_kept_and_numbered_anew():
    columns = Columns()
    find(columns, ["a", "b", "long enough to be hashed", "b", "c", "long enough to be hashed", "c", "c"])
    few = columns.frequent(2)
    assert (few.names(), few.counts.tolist()) == (["b", "long enough to be hashed", "c"], [2, 2, 3])
    assert columns.frequent(9).names() == []
    assert find(few, ["c", "b"])[0] == [2, 0]


def test_the_columns_of_a_fitted_model_explain_its_weights():
    rows = ["good good film", "bad film", "good one", "bad one"]
    text = HashedText(bits=2).fit(rows)
    report = text.columns_.audit(np.array([0.0, 1.0, 2.0, 3.0]))
    assert report["features"] == 4
    assert sum(len(text.columns_.name_of(c)) for c in range(4)) == 4
    for entry in report["heaviest"]:
        assert len(entry["names"]) > 1
        assert [reference.hashed(name, 2)[0] for name in entry["names"]] == [entry["column"]] * len(entry["names"])
