"""`perceptrons tag tune`: from a file of sentences to a tested tagger."""

import json

import pytest

import perceptrons
from perceptrons import FeatureTemplates, SequencePerceptron
from perceptrons.selection import recipe
from perceptrons.sequence.phrases import phrase_scores
from tests.cli.test_cli_tag import same_weights
from tests.support.tagged import as_columns, as_conllu, of_columns, sentences


@pytest.fixture(autouse=True)
def a_ledger_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def made():
    """Sentences in which some labels are wrong, so that settings differ."""
    import numpy as np

    rng = np.random.default_rng(5)
    return [
        [(word, pos, chunk if rng.random() < 0.85 else "O") for word, pos, chunk in one] for one in sentences(1, 100)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("tune")
    (folder / "chunks.txt").write_text(as_columns(made))
    (folder / "test.txt").write_text(as_columns(sentences(2, 30)))
    (folder / "tags.tsv").write_text(as_columns(made, "\t", (0, 1)))
    (folder / "tags.conllu").write_text(as_conllu(made))
    return folder


GRID = '{"margin": [0, 3], "min_count": [1, 2]}'


def test_it_does_what_the_recipe_does_and_saves_the_tagger(run, folder, made, tmp_path):
    saved = tmp_path / "m"
    how = ["--grid", GRID, "--max-iter", 4, "--json"]
    code, out, err = run("tag", "tune", folder / "chunks.txt", "-o", saved, *how)
    assert (code, err) == (0, "")
    told = json.loads(out)
    tagger = SequencePerceptron(templates=FeatureTemplates(columns=["word", "pos"]), max_iter=4)
    found = recipe(tagger, of_columns(made, 0, 1), of_columns(made, 2), json.loads(GRID), metric="phrase_f1")
    assert [setting["curve"] for setting in told["settings"]] == [list(setting.curve) for setting in found.settings]
    assert (told["metric"], told["test_score"], told["params"]) == ("phrase_f1", found.test_score, found.params)
    assert told["test_interval"] == found.test_interval._asdict()
    assert told["sizes"] == {"train": 60, "dev": 20, "test": 20}
    kept = perceptrons.load(saved)
    assert same_weights(kept, found.model)
    assert kept.recipe_["looks"] == 1
    X, y = found.parts.test.taken()
    assert phrase_scores(y, kept.predict(X)).f1 == told["test_score"]


def test_the_usual_settings_are_margins_and_pa1_and_the_report_says_so(run, folder, tmp_path):
    code, out, _ = run("tag", "tune", folder / "chunks.txt", "-o", tmp_path / "m", "--max-iter", 3)
    assert code == 0
    words = " ".join(out.split())
    for part in (
        "chunks.txt: 100 sentences", "60 for training, 20 for validation, 20 for the test", "margin=10",
        "margin=30", "C=0.01, step=pa1", "by phrase_f1", "the training and validation sentences together",
        "Test phrase_f1", "20 sentences, used once", "perceptrons inspect",
    ):  # fmt: skip
        assert part in words, part
    assert max(map(len, out.replace(str(folder), "").replace(str(tmp_path), "").splitlines())) <= 80
    assert "tested" in run("inspect", tmp_path / "m")[1]


def test_the_same_command_again_is_no_second_look(run, refused, folder):
    how = ["tag", "tune", folder / "chunks.txt", "--max-iter", 2, "--grid", '{"margin": [0, 3]}']
    first, again = (json.loads(run(*how, "--json")[1]) for _ in range(2))
    assert (first["looks"], first["rerun"], again["looks"], again["rerun"]) == (1, False, 1, True)
    assert (first["test_score"], first["params"]) == (again["test_score"], again["params"])
    assert "used before" in refused(*how, "--metric", "accuracy")
    forced = json.loads(run(*how, "--metric", "accuracy", "--force", "--json")[1])
    assert (forced["looks"], forced["metric"]) == (2, "accuracy")


def test_part_of_speech_tags_are_chosen_by_accuracy(run, refused, folder):
    for name in ("tags.tsv", "tags.conllu"):
        how = ["tag", "tune", folder / name, "--max-iter", 2, "--grid", '{"margin": [0]}', "--test-share", 0]
        told = json.loads(run(*how, "--json")[1])
        assert (told["metric"], told["test_score"], told["looks"]) == ("accuracy", None, 0)
        assert "--metric phrase_f1 needs labels that mark phrases," in refused(*how, "--metric", "phrase_f1")


def test_files_of_their_own_are_the_validation_and_the_test_set(run, folder, made):
    half = folder / "half.txt"
    half.write_text(as_columns(made[:30]))
    how = ["--dev", half, "--test", folder / "test.txt", "--max-iter", 3, "--grid", '{"margin": [0, 3]}', "--json"]
    told = json.loads(run("tag", "tune", folder / "chunks.txt", *how)[1])
    assert told["sizes"] == {"train": 100, "dev": 30, "test": 30}
    tagger = SequencePerceptron(templates=FeatureTemplates(columns=["word", "pos"]), max_iter=3)
    parts = [(of_columns(one, 0, 1), of_columns(one, 2)) for one in (made, made[:30], sentences(2, 30))]
    found = recipe(tagger, *parts[0], {"margin": [0, 3]}, dev=parts[1], test=parts[2], metric="phrase_f1")
    assert (told["dev_score"], told["test_score"]) == (found.dev_score, found.test_score)
    assert told["twice"] == found.twice


def test_sets_of_templates_are_settings_too(run, folder):
    how = ["--grid", '{"templates": ["words", "chunking"]}', "--max-iter", 2, "--json", "--test-share", 0]
    told = json.loads(run("tag", "tune", folder / "chunks.txt", *how)[1])
    assert len(told["settings"]) == 2
    assert told["settings"][0]["curve"] != told["settings"][1]["curve"]
    out = run("tag", "tune", folder / "chunks.txt", *how[:-3], "--test-share", 0)[1]
    assert "templates=words" in out
    assert "templates=chunking" in out


def test_labels_that_are_not_allowed_are_repaired_before(run, folder, refused):
    path = folder / "broken.txt"
    path.write_text(as_columns([[("a", "X", "O"), ("b", "Y", "I-NP")], *sentences(3, 40)]))
    how = ["tag", "tune", path, "--allowed", "bio", "--max-iter", 2, "--test-share", 0]
    assert "--on-bad-label" in refused(*how)
    code, out, _ = run(*how, "--on-bad-label", "repair")
    assert code == 0
    assert "1 label" in out


@pytest.mark.parametrize(
    ("options", "about"),
    [
        (["--grid", '{"margin": 3}'], "give a list of values per parameter,"),
        (["--grid", '{"kernel": ["rbf"]}'], "kernel is not a parameter of SequencePerceptron"),
        (["--grid", '{"templates": [3]}'], "templates 3: give names"),
        (["--grid", '{"templates": ["nothing"]}'], "--templates nothing"),
        (["--grid", '{"margin": [-1]}'], "margin"),
        (["--dev-share", "1.5"], "--dev-share 1.5: give a share"),
        (["--test", "x", "--test-share", "0.1"], "--test and --test-share cannot be combined"),
        (["--hash-bits", "9", "--min-count", "3"], "not counted"),
    ],
)
def test_what_makes_no_sense_is_refused(refused, folder, options, about):
    assert about in refused("tag", "tune", folder / "chunks.txt", *options)
