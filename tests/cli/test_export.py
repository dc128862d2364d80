"""`perceptrons export` writes a model for other programs, or says why not and what to do."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import perceptrons
from perceptrons.cli import main
from perceptrons.features import HashedText


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.perceptron"
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.5], [0.2, 3.0]])
    perceptrons.save(perceptrons.Perceptron().fit(X, ["no", "yes", "yes", "no"]), path)
    return path


@pytest.mark.parametrize("ending", ["onnx", "json"])
def test_a_model_is_written_in_the_format_of_the_ending(model, ending, tmp_path, capsys):
    file = tmp_path / f"model.{ending}"
    assert main(["export", str(model), str(file)]) == 0
    assert f"model.{ending}" in capsys.readouterr().out
    assert main(["export", str(model), str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["format"] == ending
    assert facts["bytes"] == file.stat().st_size
    assert facts["classes"] == ["no", "yes"]
    assert main(["export", str(model), str(file), "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_other_endings_and_models_are_refused_in_one_line(model, tmp_path, capsys):
    assert main(["export", str(model), str(tmp_path / "model.txt")]) == 2
    said = capsys.readouterr().err
    assert "must be one of .onnx, .json." in said
    assert main(["export", str(model), str(model.with_suffix(".json")), "--inputs", "all"]) == 2
    assert main(["export", str(tmp_path / "none"), str(tmp_path / "model.json")]) == 2
    assert main(["export", str(model), str(tmp_path / "no" / "model.json")]) == 2
    assert not list(tmp_path.glob("*.json"))


def test_hashed_texts_of_a_pipeline_go_to_json_whole_and_to_onnx_as_columns(tmp_path, capsys):
    path = tmp_path / "texts.perceptron"
    texts = make_pipeline(HashedText(bits=10), perceptrons.Perceptron()).fit(["a b", "c d"], ["x", "y"])
    perceptrons.save(texts, path)
    assert main(["export", str(path), str(tmp_path / "t.json")]) == 0
    assert main(["export", str(path), str(tmp_path / "t.onnx")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{path}: The texts are hashed")
    assert "--inputs columns" in said
    assert main(["export", str(path), str(tmp_path / "t.onnx"), "--inputs", "columns"]) == 0


def test_a_model_trained_by_the_command_takes_the_cells_of_its_file(tmp_path, capsys):
    data = tmp_path / "people.csv"
    rows = [f"{age},{job},{'in' if age > 40 else 'out'}" for age in range(20, 60) for job in ("nurse", "smith")]
    data.write_text("\n".join(["age,job,label", *rows]) + "\n")
    assert main(["train", str(data), "-o", str(tmp_path / "m"), "--quiet"]) == 0
    assert main(["export", str(tmp_path / "m"), str(tmp_path / "m.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == "table"
    kept = json.loads((tmp_path / "m.json").read_text())
    assert kept["inputs"]["numbers"] == ["age"]
    assert {one["feature"] for one in kept["weights"]} >= {"age", "job=nurse"}
