"""`train --trace`, `--init`, `--zero-score` and the order of `--classes`: the command does what Python does."""

import json

import numpy as np
import pytest

import perceptrons
from perceptrons import Perceptron
from perceptrons.cli import main
from perceptrons.theory import trace

LECTURE = "x1,x2,label\n1,1,minus\n2,1,plus\n1.5,0,plus\n0,3,minus\n"
X, Y = np.array([[1, 1], [2, 1], [1.5, 0], [0, 3]]), ["minus", "plus", "plus", "minus"]
PLAIN = ["--test-share", "0", "--scale", "none", "--no-shuffle", "--margin", "0", "--intercept-scaling", "1"]


def train(capsys, tmp_path, *options, data=LECTURE):
    (tmp_path / "data.csv").write_text(data)
    code = main(["train", str(tmp_path / "data.csv"), "-o", str(tmp_path / "m"), *options])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_first_visits_are_those_of_python(capsys, tmp_path):
    _, out, _ = train(capsys, tmp_path, *PLAIN, "--trace", "6", "--json")
    told = json.loads(out)["trace"]
    expected = trace(X, Y, Perceptron(margin=0, intercept_scaling=1, shuffle=False), visits=6)
    for mine, visit in zip(told["visits"], expected, strict=True):
        assert (mine["k"], mine["epoch"], mine["y"], mine["mistake"]) == (visit.k, visit.epoch, visit.y, visit.mistake)
        assert mine["coef"] == visit.coef.tolist()
    assert [visit["place"] for visit in told["visits"]] == [f"line {n}" for n in (2, 3, 4, 5, 2, 3)]
    assert told["features"] == ["x1", "x2"]


def test_shuffled_visits_are_those_of_the_model_that_is_saved(capsys, tmp_path):
    _, out, _ = train(capsys, tmp_path, "--test-share", "0", "--scale", "none", "--trace", "4000", "--json")
    told, model = json.loads(out)["trace"], perceptrons.load(tmp_path / "m")
    assert told["visits"][-1]["coef"] == model.coef_last_[0].tolist()
    assert told["updates"] == model.n_updates_


def test_people_see_a_table_and_without_the_option_none(capsys, tmp_path):
    _, out, _ = train(capsys, tmp_path, *PLAIN, "--trace", "2")
    lines = out.splitlines()
    begin = lines.index("The first 2 visits")
    assert " ".join(lines[begin + 1].split()) == "k epoch example x y s y·s w b average w average b"
    assert lines[begin + 3].split()[:5] == ["1", "1", "line", "2", "(1,"]
    assert lines[begin + 5] == "y is -1 for 'minus' and +1 for 'plus'."
    _, out, _ = train(capsys, tmp_path, *PLAIN, "--json")
    assert json.loads(out)["trace"] is None


@pytest.mark.parametrize(("options", "match"), [
    (["--in-memory", "0"], "--trace needs all data in memory"),
    (["--workers", "1"], "--trace cannot be combined with --workers"),
])  # fmt: skip
def test_a_trace_needs_one_training_in_memory(capsys, tmp_path, options, match):
    code, _, err = train(capsys, tmp_path, "--trace", "2", *options)
    assert code
    assert match in err


def test_several_labels_have_no_trace(capsys, tmp_path):
    code, _, err = train(capsys, tmp_path, "--trace", "2", "--multilabel", data='x,label\n1,"a,b"\n2,b\n3,a\n')
    assert code
    assert "--trace is for one label per example" in err


def test_start_and_ties_are_those_of_python(capsys, tmp_path):
    train(capsys, tmp_path, *PLAIN, "--init", "ones", "--zero-score", "positive", "--quiet")
    model = perceptrons.load(tmp_path / "m")
    expected = Perceptron(margin=0, intercept_scaling=1, shuffle=False, init="ones", zero_score="positive").fit(X, Y)
    assert np.array_equal(model.coef_, expected.coef_)
    assert (model.init, model.zero_score) == ("ones", "positive")


@pytest.mark.parametrize("memory", ["0", "1GiB"])
def test_the_order_of_classes_is_that_of_python(capsys, tmp_path, memory):
    order = [*PLAIN, "--classes", "plus,minus", "--epochs", "3", "--in-memory", memory, "--quiet"]
    assert train(capsys, tmp_path, *order)[0] == 0
    model = perceptrons.load(tmp_path / "m")
    told = {"margin": 0, "intercept_scaling": 1, "shuffle": False, "max_iter": 3, "tol": None}
    expected = Perceptron(classes=["plus", "minus"], **told).fit(X, Y)
    assert model.classes_.tolist() == ["plus", "minus"]
    assert np.array_equal(model.coef_, expected.coef_)
    assert np.array_equal(model.coef_, -Perceptron(**told).fit(X, Y).coef_)


def test_a_saved_neuron_is_trained_on_and_traced(capsys, tmp_path):
    train(capsys, tmp_path, *PLAIN, "--quiet", "--epochs", "1", "--combine", "last")
    first = perceptrons.load(tmp_path / "m")
    (tmp_path / "more.csv").write_text("x1,x2,label\n1,2,plus\n0,0,minus\n")
    code = main(["train", str(tmp_path / "more.csv"), "--from", str(tmp_path / "m"), "--trace", "9", "--json",
                 "--no-shuffle", "--test-share", "0", "-o", str(tmp_path / "n")])  # fmt: skip
    told = json.loads(capsys.readouterr().out)["trace"]
    assert code == 0
    assert told["start"]["coef"] == first.coef_[0].tolist()
    assert len(told["visits"]) == 2
    assert told["visits"][1]["coef"] == perceptrons.load(tmp_path / "n").coef_[0].tolist()
