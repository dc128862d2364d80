"""The command that a report names trains the model again, whatever was asked of the preparation of its table."""

import shlex

import pytest

import perceptrons
from perceptrons import Perceptron
from perceptrons.cli import main
from perceptrons.data import stream
from perceptrons.report.reproduce_section import as_command
from tests.support.doors import raw_records, write
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
