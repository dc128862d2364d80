"""`perceptrons tune`: from a file to a tested model."""

import json

import numpy as np
import pytest

import perceptrons
from perceptrons.selection import recipe
from tests.conftest import gaussian
from tests.support.doors import without_tested


@pytest.fixture(autouse=True)
def a_ledger_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def table(rng, tmp_path):
    X, y = gaussian(rng, 150, 3, 2)
    rows = enumerate(zip(X.round(4).tolist(), y, strict=True))
    lines = [",".join([*map(str, row), str(k // 5), "yes" if label else "no"]) for k, (row, label) in rows]
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,patient,label\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "messages.txt"
    spam, ham = ["free cash now", "win a free prize"], ["see you at noon", "noon is fine"]
    path.write_text("".join(f"spam\t{one}\nham\t{other}\n" for one, other in 20 * list(zip(spam, ham, strict=True))))
    return path


def test_it_does_what_the_recipe_does_and_saves_the_model(run, table, tmp_path):
    model = tmp_path / "m.model"
    code, out, err = run("tune", table, "-o", model, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    read = without_tested(table)
    found = recipe(perceptrons.Perceptron(), read.X, read.y, "usual")
    assert [setting["curve"] for setting in told["settings"]] == [list(setting.curve) for setting in found.settings]
    assert (told["test_score"], told["params"]) == (found.test_score, found.params)
    kept = perceptrons.load(model)
    assert np.array_equal(kept.coef_, found.model.coef_)
    assert kept.columns_.names() == ["a", "b", "c", "patient"]
    assert kept.recipe_["looks"] == 1


def test_it_shows_settings_the_curve_and_the_test(run, table, tmp_path):
    code, out, _ = run("tune", table, "-o", tmp_path / "m.model")
    assert code == 0
    for part in (
        "90 for training, 30 for validation, 30 for the test", "Settings tried", "step=arow", "epoch",
        "Test accuracy", "confidence", "used once", "perceptrons inspect",
    ):  # fmt: skip
        assert part in " ".join(out.split()), part


def test_the_same_command_again_is_no_second_look_and_gives_the_same_result(run, refused, table, tmp_path):
    first = json.loads(run("tune", table, "--json")[1])
    code, out, _ = run("tune", table, "-o", tmp_path / "m.model")
    assert code == 0
    assert "This run repeats an earlier one (same data, settings and seed)" in " ".join(out.split())
    assert "checked:" not in " ".join(out.split())
    again = json.loads(run("tune", table, "--json")[1])
    assert (first["looks"], first["rerun"], again["looks"], again["rerun"]) == (1, False, 1, True)
    same = ("params", "dev_score", "test_score", "test_interval", "sizes")
    assert [first[name] for name in same] == [again[name] for name in same]
    model = perceptrons.load(tmp_path / "m.model")
    assert (model.recipe_["looks"], model.recipe_["test_score"]) == (1, first["test_score"])
    for change in (["--combine", "last"], ["--grid", '{"margin": [0, 1]}'], ["--metric", "f1_macro"]):
        assert "used before" in refused("tune", table, *change), change
    assert "--force" in refused("compare", table, "--learner", "average")
    code, out, _ = run("compare", table, "--learner", "average", "--force", "--json")
    assert (json.loads(out)["looks"], json.loads(out)["rerun"]) == (2, False)
    out = run("compare", table, "--learner", "average", "--json")[1]
    assert (json.loads(out)["looks"], json.loads(out)["rerun"]) == (2, True)


def test_a_second_look_at_the_test_is_refused_in_the_next_run_too(run, refused, table, tmp_path):
    assert run("tune", table, "--quiet") == (0, "", "")
    message = refused("tune", table, "--combine", "last")
    assert "30 test examples were used before (once" in message
    assert "--force" in message
    code, out, _ = run("tune", table, "--combine", "last", "--force", "-o", tmp_path / "m.model")
    assert code == 0
    assert "used 2 times, so the score may be too optimistic" in " ".join(out.split())
    assert perceptrons.load(tmp_path / "m.model").recipe_["looks"] == 2
    _, out, _ = run("inspect", tmp_path / "m.model")
    assert "used 2 times, so the score may be too optimistic" in " ".join(out.split())
    assert run("tune", table, "--seed", "1", "--quiet")[0] == 0
    assert run("tune", table, "--ledger", tmp_path / "another", "--quiet")[0] == 0


def test_texts_are_tuned_and_the_model_reads_texts(run, texts, tmp_path):
    model = tmp_path / "m.model"
    code, _, err = run("tune", texts, "--format", "text", "--chars", "3-4", "-o", model)
    assert (code, err) == (0, "")
    more = tmp_path / "more.txt"
    more.write_text("spam\tfree prize now\nham\tsee you at noon\n")
    code, out, _ = run("evaluate", model, more, "--json")
    assert (code, json.loads(out)["accuracy"]) == (0, 1.0)
    assert perceptrons.load(model).predict(["free prize now", "see you at noon"]).tolist() == ["spam", "ham"]


def test_groups_stay_whole_and_are_no_feature(run, table):
    code, out, _ = run("tune", table, "--group-column", "patient", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["n_features"] == 3
    assert "whole groups" in told["split"]
    assert all(size % 5 == 0 for size in told["sizes"].values())


def test_time_order_and_files_of_their_own(run, table, tmp_path):
    told = json.loads(run("tune", table, "--time-order", "--json")[1])
    assert "order" in told["split"]
    header, *lines = table.read_text().splitlines()
    for name, part in (("train", lines[:80]), ("dev", lines[80:110]), ("test", lines[110:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *part]) + "\n")
    given = ("tune", tmp_path / "train.csv", "--dev", tmp_path / "dev.csv", "--test", tmp_path / "test.csv", "--json")
    told = json.loads(run(*given)[1])
    assert told["sizes"] == {"train": 80, "dev": 30, "test": 40}
    assert told["split"] == "as given"


def test_a_grid_and_a_kernel_can_be_asked_for(run, table, tmp_path):
    grid = tmp_path / "grid.json"
    grid.write_text('{"gamma": [0.1, 1], "max_iter": [1, 2, 3]}')
    told = json.loads(run("tune", table, "--kernel", "rbf", "--grid", grid, "--json", "--metric", "f1_macro")[1])
    assert (told["kind"], len(told["settings"]), told["metric"]) == ("KernelPerceptron", 6, "f1_macro")
    told = json.loads(run("tune", table, "--force", "--grid", '[{"step": ["arow"], "C": [1, 10]}]', "--json")[1])
    assert [setting["params"]["C"] for setting in told["settings"]] == [1, 10]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--grid", "{"], "not JSON"),
        (["--grid", "nowhere.json"], "no such file"),
        (["--grid", '{"nonsense": [1]}'], "nonsense is not a parameter of Perceptron"),
        (["--grid", '{"C": 1}'], "a list of values"),
        (["--grid", "[]"], "a list of values"),
        (["--grid", '{"C": [-1]}'], "C"),
        (["--dev-share", "0"], "no validation set:"),
        (["--dev-share", "nan"], "--dev-share nan"),
        (["--test", "table.csv"], "not a test"),
        (["--ledger", "/dev/full"], "not a regular file"),
        (["--test-share", "0.9"], "no training set"),
        (["--test-share", "2"], "--test-share 2: give a share"),
        (["--time-order", "--group-column", "patient"], "cannot be combined"),
        (["--group-column", "nowhere"], "nowhere"),
        (["--test", "nowhere.csv"], "no such file"),
        (["--ledger", "/"], "--ledger"),
        (["--metric", "nonsense"], "metric"),
        (["--kernel", "rbf", "--combine", "pocket"], "pocket"),
        (["--kernel", "rbf", "--combine", "recent"], "recent"),
        (["-o", "/nowhere/model"], "because the folder"),
        (["--text-column", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_done_is_refused_on_one_line(options, message, refused, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused("tune", table, *options)


def test_a_file_of_one_class_or_no_example_is_refused(refused, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("a,label\n1,x\n2,x\n")
    assert "only one class" in refused("tune", one)
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    assert "no example" in refused("tune", empty, "--format", "text")


def test_a_tuned_kernel_model_of_texts_reads_texts_again(run, texts, tmp_path):
    model = tmp_path / "m.model"
    assert run("tune", texts, "--format", "text", "--kernel", "linear", "-o", model, "--quiet") == (0, "", "")
    code, out, _ = run("evaluate", model, texts, "--json")
    assert (code, json.loads(out)["accuracy"]) == (0, 1.0)


def test_groups_of_files_without_columns_are_refused(refused, texts):
    assert "no named columns:" in refused("tune", texts, "--format", "text", "--group-column", "a")


def test_a_model_that_learned_on_says_so(run, table, tmp_path):
    path = tmp_path / "m.model"
    run("tune", table, "-o", path, "--quiet")
    assert "was trained further since," not in run("inspect", path)[1]
    model = perceptrons.load(path)
    model.learn_one({"a": 1.0, "b": 0.0, "c": 0.0, "patient": 1.0}, "yes")
    perceptrons.save(model, path)
    assert "was trained further since," in " ".join(run("inspect", path)[1].split())
