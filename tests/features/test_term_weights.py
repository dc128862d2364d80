"""Words of the texts of prepared tables are weighed by inverse document frequency, every column of texts by itself."""

import io
import math

import numpy as np
import pytest

import perceptrons
from perceptrons import Perceptron
from perceptrons.data import read, stream
from perceptrons.engine.training.feature_names import units_of
from perceptrons.features import TableFeatures
from perceptrons.features.columns import MAX_WEIGHTS, ColumnPlaces, NamedRows, TermWeights

RECORDS = [
    ("cheap pills", "buy cheap cheap pills now", 3.0, "a", "spam"),
    ("lunch", "see you at noon for lunch", 1.0, "a", "ham"),
    ("cheap lunch", "the lunch is cheap", 2.5, "b", "ham"),
    ("now", "buy now or never", 7.0, "b", "spam"),
    ("", "noon", 2.0, "a", "ham"),
    ("pills pills", "", 4.0, "b", "spam"),
]
TEXTS = ("title", "body")


def as_csv(records=RECORDS):
    lines = [f'"{title}","{body}",{price},{shop},{label}' for title, body, price, shop, label in records]
    return io.StringIO("\n".join(["title,body,price,shop,label", *lines]) + "\n")


def as_records(records=RECORDS):
    return [{"title": title, "body": body, "price": price, "shop": shop} for title, body, price, shop, _ in records]


def reference(records, learned_from=None):
    """Slow and obvious: a dict of values for every record."""
    known = records if learned_from is None else learned_from
    texts = {name: [record[place].split() for record in known] for place, name in enumerate(TEXTS)}

    def idf(name, word):
        exact = math.log((1 + len(known)) / (1 + sum(word in words for words in texts[name])))
        return 1 + round(16 * exact) / 16

    prices = [record[2] for record in known]
    rows = []
    for record in records:
        row = {name: value / math.sqrt(2) for name, value in (  # two columns beside the texts count as one text
            ("price=", (record[2] - np.mean(prices)) / np.std(prices)), (f"shop={record[3]}", 1.0))}  # fmt: skip
        for place, name in enumerate(TEXTS):
            words = record[place].split()
            values = {word: (1 + math.log(words.count(word))) * idf(name, word) for word in words}
            norm = math.sqrt(sum(value**2 for value in values.values())) or 1
            row |= {f"{name}={word}": value / norm for word, value in values.items()}
        rows.append(row)
    return rows


def by_name(X, columns):
    names = columns.names()
    dense = X.toarray()
    return [{names[j]: row[j] for j in np.flatnonzero(row)} for row in dense]


def assert_rows(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == {name for name, value in other.items() if value}
        assert one == pytest.approx(other, rel=1e-6)


def table(records=RECORDS, **more):
    return read(as_csv(records), format="csv", prepare=True, text_column=[*TEXTS], hash_bits=0, **more)


def test_words_are_weighed_as_the_reference_weighs_them():
    found = table()
    assert_rows(by_name(found.X, found.columns), reference(RECORDS))


def test_new_texts_are_weighed_by_the_texts_of_training():
    found = table(RECORDS[:4])
    model = Perceptron().fit(found.X, found.y)
    found.teach(model)
    new = read(as_csv(RECORDS[4:]), format="csv", like=model)
    expected = reference(RECORDS[4:], RECORDS[:4])
    known = {*found.columns.names()}
    for row in expected:  # words that the model has never met have no column, and do not count in a text's length
        for name in TEXTS:
            words = {word: value for word, value in row.items() if word.startswith(f"{name}=")}
            for word in words:
                del row[word]
            words = {word: value for word, value in words.items() if word in known}
            norm = math.sqrt(sum(value**2 for value in words.values())) or 1
            row |= {word: value / norm for word, value in words.items()}
    assert_rows(by_name(new.X, found.columns), expected)


@pytest.mark.parametrize("hash_bits", [0, 10])
def test_files_records_and_single_records_give_the_same_rows(tmp_path, hash_bits):
    labels = [record[-1] for record in RECORDS]
    found = read(as_csv(), format="csv", prepare=True, text_column=[*TEXTS], hash_bits=hash_bits)
    features = TableFeatures(text_column=[*TEXTS], hash_bits=hash_bits)
    rows = features.fit_transform(as_records())
    model = Perceptron().fit(found.X, found.y)
    found.teach(model)
    perceptrons.save(model, tmp_path / "model")
    loaded = perceptrons.load(tmp_path / "model")
    assert (Perceptron().fit(rows, labels).coef_ == model.coef_).all()
    assert (loaded.columns_.rows(as_records(), loaded.source_) != found.X).nnz == 0
    assert [loaded.predict_one(record) for record in as_records()] == model.predict(found.X).tolist()


def test_a_stream_of_one_block_weighs_as_the_whole():
    [block] = stream(as_csv(), format="csv", prepare=True, text_column=[*TEXTS], hash_bits=0)
    assert (block.X != table().X).nnz == 0


def test_texts_are_left_as_they_are_without_scaling():
    others = ["price", "shop"]
    plain = read(as_csv(), format="csv", text_column=[*TEXTS], hash_bits=0, ignore=others)
    left = table(scale="none", ignore=others)
    assert (plain.X != left.X).nnz == 0
    assert (abs(plain.X - table(ignore=others).X) > 0.01).nnz


def test_weights_are_shown_in_the_units_of_the_data():
    found = table()
    model = Perceptron().fit(found.X, found.y)
    found.teach(model)
    prices = [record[2] for record in RECORDS]
    unit = units_of(model)["price="]
    assert unit.centre == pytest.approx(np.mean(prices))
    assert unit.scale == pytest.approx(np.std(prices) * math.sqrt(2))
    assert unit.value(found.X[0, found.columns.names().index("price=")]) == pytest.approx(3.0)


def texts(starts, columns, counted):
    """Rows of words, each with a name of its own."""
    return NamedRows(starts, np.arange(len(columns)), None, None), ColumnPlaces(columns, None), counted


def test_how_texts_are_divided_into_parts_does_not_matter(rng):
    starts = np.append(0, np.cumsum(rng.integers(0, 9, 50)))
    columns = rng.integers(0, 40, starts[-1])
    counted = rng.random(50) < 0.8
    whole = TermWeights.measure([texts(starts, columns, counted)], 40)
    cut = starts[20]
    parts = [texts(starts[:21], columns[:cut], counted[:20]), texts(starts[20:] - cut, columns[cut:], counted[20:])]
    divided = TermWeights.measure(parts, 40)
    assert (whole.levels == divided.levels).all()
    assert whole.unseen == divided.unseen


def test_columns_beyond_those_measured_have_the_weight_of_unseen_words():
    weights = TermWeights(np.array([0, 16], np.uint8), 32)
    assert weights.of(np.array([0, 1, 2, 10**9, -1])).tolist() == [1.0, 2.0, 3.0, 3.0, 3.0]


def test_of_very_many_columns_some_share_a_weight():
    places = np.array([5, 5 + MAX_WEIGHTS, 7])
    weights = TermWeights.measure([texts(np.array([0, 1, 2, 3]), places, np.ones(3, bool))], 2**24)
    assert len(weights.levels) == MAX_WEIGHTS
    one, other, alone = weights.of(places)
    assert one == other < alone


GOOD = TermWeights(np.arange(9, dtype=np.uint8), 9).as_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"columns": 8}, {"columns": MAX_WEIGHTS + 1}, {"columns": True}, {"columns": -1},
        {"unseen": 256}, {"unseen": -1},
        {"unseen": 1.0}, {"beside": 0.0}, {"beside": 2.0}, {"beside": float("nan")}, {"beside": 1},
        {"levels": "???"}, {"levels": "AAAA"}, {"levels": 3}, {"more": 1},
        {"levels": TermWeights(np.zeros(2**22 + 9, np.uint8), 0).as_dict()["levels"], "columns": MAX_WEIGHTS},
    ],
)  # fmt: skip
def test_weights_that_nobody_wrote_are_refused(change):
    assert TermWeights.from_dict(GOOD).of(np.arange(3)).tolist() == [1.0, 1.0625, 1.125]
    with pytest.raises(ValueError, match="expected"):
        TermWeights.from_dict(GOOD | change)
