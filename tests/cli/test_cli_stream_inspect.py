"""What `perceptrons inspect` shows of models that learned from streams: names of columns, and what shares them."""

import json
import re

import numpy as np
import pytest

import perceptrons
from perceptrons import Perceptron
from perceptrons.cli import main
from perceptrons.data import stream
from perceptrons.features import Columns, HashedText
from perceptrons.inspection.weights import heaviest
from tests.support.streams import write_files

MODELS = {
    "mail": ["mail.tsv", "--format", "text"],
    "crowded": ["mail.tsv", "--format", "text", "--hash-bits", "4"],
    "vocabulary": ["mail.tsv", "--format", "text", "--hash-bits", "0", "--chars", "3-4"],
    "table": ["mail.jsonl", "--text-column", "text", "--categories", "shop", "--ignore", "size", "--hash-bits", "0"],
    "vw": ["mail.vw"],
    "points": ["part-0.svm", "part-1.svm"],
    "zero": ["part-0.svm", "--zero-based"],
    "wide": ["part-0.svm", "--hash-bits", "22"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_files(tmp_path_factory.mktemp("streams"))
    for name, options in MODELS.items():
        words = [str(folder / word) if "." in word else word for word in options]
        assert main(["train", *words, "--epochs", "2", "-o", str(folder / f"{name}.model"), "--quiet"]) == 0
    return folder


def top_weights(run, path, *options):
    found = json.loads(run("inspect", path, *options, "--json")[1])
    return found, found["weights"][-1]["weights"]


def test_words_come_back_from_hashed_columns_with_the_weight_they_have(run, folder):
    model = perceptrons.load(folder / "mail.model")
    _, weights = top_weights(run, folder / "mail.model", "--top", 20, "--class", "spam")
    words = [weight["feature"] for weight in weights]
    alone = HashedText().transform(words)
    scores = alone @ model.coef_[0]
    np.testing.assert_allclose([weight["weight"] for weight in weights], scores, rtol=1e-5)
    assert any(model.coef_[0][weight["column"]] == -weight["weight"] for weight in weights), "no word counts negatively"
    out = run("inspect", folder / "mail.model", "--top", 20, "--class", "spam")[1]
    shown = re.findall(r"^(\S+) +([+-]\S+) +█\S* +for (\w+)", out, re.MULTILINE)
    assert [word for word, _, _ in shown] == words
    assert all(kind == ("spam" if weight[0] == "+" else "ham") for _, weight, kind in shown)
    assert max(map(len, out.splitlines())) <= 80


def test_of_the_other_class_the_weights_are_the_opposite(run, folder):
    spam, ham = (top_weights(run, folder / "mail.model", "--class", label)[1] for label in ("spam", "ham"))
    assert [weight["feature"] for weight in spam] == [weight["feature"] for weight in ham]
    assert [weight["weight"] for weight in spam] == [-weight["weight"] for weight in ham]


def test_a_shared_column_shows_the_most_frequent_feature_and_how_many_more(run, folder):
    columns = perceptrons.load(folder / "crowded.model").columns_
    found, weights = top_weights(run, folder / "crowded.model", "--top", 3)
    for weight in weights:
        assert [weight["feature"], *weight.get("others", [])] == columns.name_of(weight["column"])
    first = weights[0]
    out = run("inspect", folder / "crowded.model", "--top", 3)[1]
    assert f"{first['feature']} +{len(first['others'])} more" in out
    hashing = found["hashing"]
    assert (hashing["bits"], hashing["columns"], hashing["features"]) == (4, 16, columns.n_names)
    assert hashing["features_sharing"] == columns.n_names
    words = " ".join(out.split())
    assert f"{columns.n_names} features in 2^4 columns; {columns.n_names} (100.0%) share a column with another" in words
    assert re.search(
        r"shared \d+ of the \d+ largest weights belong to shared columns, such as that of \w+ and \w+", words
    )
    assert "no two share" not in words


def test_collisions_lists_shared_columns_by_their_weight_with_the_signs_of_their_features(run, refused, folder):
    model = perceptrons.load(folder / "crowded.model")
    out = run("inspect", folder / "crowded.model", "--collisions", "--top", 4)[1]
    rows = re.findall(r"^ *(\d+) +([+-]\S+) +(.+?) *$", out, re.MULTILINE)
    order = heaviest(model.coef_[0], 4)
    assert [int(column) for column, _, _ in rows] == [column + 1 for column in order]
    for column, (_, weight, names) in zip(order, rows, strict=True):
        assert float(weight) == pytest.approx(model.coef_[0][column], rel=0.01)
        first = names.split(", ")[0]
        name = first.removeprefix("-")
        assert name == model.columns_.name_of(column)[0]
        value = HashedText(bits=4).transform([name])[0, column]
        assert (value < 0) == first.startswith("-")
    assert "is counted negatively:" in out
    entry = json.loads(run("inspect", folder / "crowded.model", "--json")[1])["hashing"]["heaviest"][0]
    assert len(entry["names"]) == len(entry["signs"]) > 1
    assert "not hashed" in refused("inspect", folder / "vocabulary.model", "--collisions")
    assert "not hashed" in refused("inspect", folder / "points.model", "--collisions")


def test_a_model_without_collisions_says_so(run, folder):
    found, _ = top_weights(run, folder / "mail.model")
    assert (found["hashing"]["features_sharing"], found["hashing"]["heaviest"]) == (0, [])
    out = run("inspect", folder / "mail.model", "--collisions")[1]
    assert "No shared column has a weight" in out
    assert re.search(r"hashing +\d+ features in 2\^20 columns *\n", out)


def test_a_vocabulary_shows_its_names_and_n_grams_of_characters_in_angles(run, folder):
    model = perceptrons.load(folder / "vocabulary.model")
    found, weights = top_weights(run, folder / "vocabulary.model", "--top", 40)
    assert found["hashing"] is None
    names = model.columns_.names()
    assert found["feature_names"] == names
    assert [weight["feature"] for weight in weights] == [names[weight["column"]] for weight in weights]
    assert any(re.fullmatch("‹.{3,4}›", weight["feature"]) for weight in weights)
    words = " ".join(run("inspect", folder / "vocabulary.model")[1].split())
    assert "reads text: lines of label, tab and text, chars 3-4, words 1" in words
    assert f"features {len(names)}: {names[0]}; {names[1]}; {names[2]}; ...; {names[-1]}" in words


def test_categories_are_called_by_column_and_value(run, folder):
    found, weights = top_weights(run, folder / "table.model", "--top", 100)
    assert {"shop=0", "shop=1", "shop=2"} <= {weight["feature"] for weight in weights}
    words = " ".join(run("inspect", folder / "table.model")[1].split())
    assert "reads jsonl: label column label, text column text, categories shop, ignore size, words 1" in words
    assert found["source"]["format"] == "jsonl"


def test_features_of_vw_have_their_namespaces(run, folder):
    _, weights = top_weights(run, folder / "vw.model", "--top", 5)
    assert all(weight["feature"].startswith("t^") for weight in weights)
    model = perceptrons.load(folder / "vw.model")
    assert [weight["weight"] for weight in weights] == [float(model.coef_[0][weight["column"]]) for weight in weights]


def test_numbered_features_are_columns_counted_as_the_files_count(run, folder):
    for name, first in (("points", 1), ("zero", 0)):
        _, weights = top_weights(run, folder / f"{name}.model", "--class", "1")
        assert weights
        assert all(weight["feature"] == f"column {weight['column'] + first}" for weight in weights)
    words = " ".join(run("inspect", folder / "zero.model")[1].split())
    assert "reads svmlight: zero based True" in words


def test_millions_of_columns_are_not_given_names(run, folder, monkeypatch):
    names = Columns.names

    def few(columns, numbers=None):
        assert numbers is not None, "it made a name for every column"
        return names(columns, numbers)

    monkeypatch.setattr(Columns, "labels", few)
    monkeypatch.setattr(Columns, "names", few)
    found, weights = top_weights(run, folder / "wide.model")
    assert (found["n_features"], found["feature_names"]) == (2**22, None)
    assert weights[0]["feature"].startswith("column ")
    assert "4,194,304" in run("inspect", folder / "wide.model")[1]
    code, out, _ = run("inspect", folder / "mail.model", "--json")
    assert (code, json.loads(out)["feature_names"]) == (0, None)


def test_models_of_other_ways_are_shown_as_ever(run, folder, tmp_path):
    perceptrons.save(Perceptron().fit([[0.0], [1.0]], ["no", "yes"]), tmp_path / "m")
    found = json.loads(run("inspect", tmp_path / "m", "--json")[1])
    assert (found["source"], found["hashing"]) == (None, None)
    assert set(found["weights"][0]["weights"][0]) == {"feature", "column", "weight"}
    blocks = [(block.X, block.y) for block in stream(folder / "part-0.svm")]
    perceptrons.save(Perceptron().fit_stream(blocks), tmp_path / "blocks")
    code, out, err = run("inspect", tmp_path / "blocks")
    assert (code, err) == (0, "")
    assert "reads" not in out


def test_the_heaviest_are_found_in_order_and_the_first_of_equals_first():
    rng = np.random.default_rng(1)
    for n in (1, 3, 10, 100):
        weights = np.where(rng.random(60) < 0.3, 0.0, rng.integers(-4, 5, 60).astype(float))
        places = np.argsort(-np.abs(weights), kind="stable")
        assert heaviest(weights, n) == [place for place in places.tolist()[:n] if weights[place]]
    assert heaviest(np.zeros(5), 3) == []
