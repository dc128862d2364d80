"""The command that a report names trains the model again, whatever was asked of the preparation of its table."""

import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import perceptrons
from perceptrons import Perceptron
from perceptrons.cli import main
from perceptrons.data import stream
from perceptrons.features import TableFeatures
from perceptrons.report import report
from perceptrons.report.reproduce_section import as_command
from tests.support.doors import raw_records, write
from tests.support.pages import Outline
from tests.support.tiers import slow

WAYS = [
    "",
    "--scale max-abs --powers 2 --missing blue --missing 7",
    *slow("--interactions age*shop --interactions paid* --keep id", "--interactions * --scale none"),
]


def again(model, data, folder):
    """The model that the command of the report trains."""
    line, missing = as_command(model)
    assert missing == set()
    words = [{"DATA": str(data), "MODEL": str(folder / "again")}.get(word, word) for word in shlex.split(line)]
    assert main([*words[1:], "--test", str(data), "--quiet"]) == 0  # nothing is held out
    return perceptrons.load(folder / "again")


@pytest.mark.parametrize("way", [[], ["--in-memory", "0"]], ids=["whole", "stream"])
@pytest.mark.parametrize("options", WAYS)
def test_the_command_of_a_report_prepares_a_table_alike(tmp_path, options, way):
    data = write(tmp_path / "t.csv", raw_records(), "csv")
    how = [*options.split(), *way, "--epochs", "2", "--test", str(data), "-o", str(tmp_path / "m"), "--quiet"]
    assert main(["train", str(data), *how]) == 0
    model = perceptrons.load(tmp_path / "m")
    found = again(model, data, tmp_path)
    assert found.columns_.names() == model.columns_.names()
    assert found.source_["preparation"] == model.source_["preparation"]
    assert (found.coef_ == model.coef_).all() or not way  # --epochs is told of streams only


def test_the_command_of_a_report_leaves_a_table_alone_that_python_left_alone(tmp_path):
    rows = [row | {"size": row["size"] or 0.0, "day": row["day"] or ""} for row in raw_records()]
    data = write(tmp_path / "t.csv", rows, "csv")
    model = Perceptron().fit_stream(stream(data), epochs=2)
    found = again(model, data, tmp_path)
    assert "preparation" not in found.source_
    assert found.columns_.names() == model.columns_.names()
    assert (found.coef_ == model.coef_).all()


def test_a_report_on_a_pipeline_that_prepares_a_frame_names_the_prepared_features(rng):
    frame = pd.DataFrame({
        "age": rng.normal(50, 10, 60), "income": rng.normal(3e4, 1e4, 60), "city": rng.choice(["Ulm", "Bonn"], 60),
    })  # fmt: skip
    y = np.where(frame["age"] + 5 * (frame["city"] == "Ulm") > 52, "old", "young")
    model = make_pipeline(TableFeatures(), Perceptron(max_iter=2)).fit(frame, y)
    text = Outline(report(model, frame, y).html).text
    for name in ("age", "income", "city=Ulm", "city=Bonn"):
        assert name in text
