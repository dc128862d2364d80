"""Reports on models of raw tables: units of the data, what was filled, and commands that prepare alike."""

import html
import re
import shlex

import numpy as np
import pandas as pd
import pytest

import perceptrons
import perceptrons.cli
from perceptrons.engine.training.feature_names import units_of
from perceptrons.report.reproduce_section import as_command, as_python
from tests.cli.test_look import people

MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reported")
    people(300).to_csv(folder / "people.csv", index=False)
    return folder


def train(folder, name, *options):
    assert (
        perceptrons.cli.main(["train", str(folder / "people.csv"), "-o", str(folder / name), "--quiet", *options]) == 0
    )
    return perceptrons.load(folder / name)


def page(run, folder, model):
    """The words of a report, one line per row and paragraph, cells between bars."""
    code, _, err = run("report", folder / model, folder / "people.csv", "-o", folder / "r.html", "--max-seconds", 1)
    assert code == 0, err
    text = re.sub(r"<style>.*?</style>", "", (folder / "r.html").read_text(), flags=re.DOTALL)
    text = re.sub(r"</t[hd]>|</dt>", "|", re.sub(r"</(p|tr|div|h\d|li|dd)>", "\n", text))
    return html.unescape(re.sub(r"<[^>]+>", "", text))


def cells(text, name):
    """The rows of tables that begin with a name."""
    return [line.split("|") for line in text.splitlines() if line.startswith(f"{name}|")]


def number(text):
    return float(text.replace(MINUS, "-").replace(",", ""))


def test_numbers_are_shown_as_the_data_have_them(run, folder):
    model, frame = train(folder, "a.model"), people(300)
    text, units = page(run, folder, "a.model"), units_of(model)
    scales, weight, *mistakes = cells(text, "age")
    found = [number(cell) for cell in scales[1:5]]
    assert found == pytest.approx([*units["age"], frame["age"].min(), frame["age"].max()], rel=1e-5)
    assert number(weight[1]) == pytest.approx(model.coef_[0, 0], rel=0.01)
    assert number(weight[2]) == pytest.approx(model.coef_[0, 0] / units["age"].scale, rel=0.01)
    lines = [int(line) for line in re.findall(r"line (\d+); score", text)]
    shown = [number(row[1]) for row in mistakes]
    ages = frame["age"].to_numpy()[np.array(lines) - 2]
    assert len(shown) >= 5
    assert set(shown) <= {float(f"{age:.6g}") for age in ages}
    assert "Weights of numbers are per standard deviation" in text
    assert "differ widely in scale" not in text
    assert "of one scale" not in text


def test_missing_numbers_are_counted(run, folder):
    train(folder, "a.model")
    assert f"Missing values|{people(300)['age'].isna().sum()} numbers, filled" in page(run, folder, "a.model")
    train(folder, "b.model", "--ignore", "age")
    assert "Missing values|none" in page(run, folder, "b.model")


def test_how_files_are_read_is_said_in_words(run, folder):
    train(folder, "a.model")
    text = page(run, folder, "a.model")
    assert "numbers scaled (standard), missing numbers filled, dates joined, yes or no smoker" in text
    assert "beside_words" not in text


@pytest.mark.parametrize("options", [
    [], ["--scale", "max-abs", "--missing", "Oslo,-1"], ["--scale", "none"], ["--interactions", "*"],
    ["--interactions", "age*city", "--powers", "2", "--text-column", "review"], ["--categories", "joined"],
])  # fmt: skip
def test_the_command_and_the_code_of_the_page_make_the_model_again(folder, options):
    model = train(folder, "a.model", "--test-share", "0", *options)
    command, missing = as_command(model)
    assert not missing
    words = shlex.split(command.replace("DATA", str(folder / "people.csv")).replace("MODEL", str(folder / "b.model")))
    assert perceptrons.cli.main([*words[1:], "--test-share", "0", "--quiet"]) == 0
    again = perceptrons.load(folder / "b.model")
    assert again.source_["preparation"] == model.source_["preparation"]
    np.testing.assert_array_equal(again.coef_, model.coef_)
    frame = pd.read_csv(folder / "people.csv", keep_default_na=False)
    names = {"X": frame.drop(columns="bought"), "y": frame["bought"]}
    exec(as_python(model), names)
    assert (names["model"].predict(names["X"]) == model.predict(frame)).mean() > 0.99


def test_a_boundary_over_scaled_numbers_says_so(run, folder):
    train(folder, "a.model")
    code, _, _ = run("report", folder / "a.model", folder / "people.csv", "-o", folder / "r.html", "--features", "age",
                     "income", "--max-seconds", 1)  # fmt: skip
    assert code == 0
    assert "over age (scaled) and income (scaled)" in (folder / "r.html").read_text()


def test_kernels_show_examples_in_the_units_of_the_data(run, folder):
    model = train(folder, "k.model", "--kernel", "rbf")
    text = page(run, folder, "k.model")
    frame, units = people(300), units_of(model)
    shown = {float(value.replace(",", "")) for value in re.findall(r"income = ([\d.,]+\d)", text)}
    assert shown <= {float(f"{value:.6g}") for value in frame["income"]}
    assert units["income"].scale > 1000
