"""`perceptrons diagnose`: what it says is true of the data, and examples are named by their lines."""

import importlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons import Perceptron, theory
from perceptrons.cli import main
from perceptrons.theory.bounds import mistake_bound
from perceptrons.theory.certificate import Certificate
from perceptrons.theory.diagnose import format_ratio, round_up

PROGRAM = [sys.executable, "-c", "import sys; from perceptrons.cli import main; sys.exit(main())"]
CHECKER = Path(__file__).parent.parent.parent / "tools" / "check_certificate.py"
XOR = "0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n"
SIDES = "a,b,kind\n1,0,no\n3,1,yes\n0,1,no\n4,0,yes\n"


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Write a file and diagnose it; gives exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)

    def ran(content, *arguments, name="data.csv"):
        if content is not None:
            Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        code = main(["diagnose", name, *(str(argument) for argument in arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return ran


QUERIES_LEFT_OUT = "a.svm: qid:n is left out: examples are classified one by one, not ranked by query\n"


@pytest.fixture
def told(run):
    """What is said to people, its line breaks taken out."""

    def ran(content, *arguments, notice="", **extra):
        code, out, err = run(content, *arguments, **extra)
        assert (code, err) == (0, notice)
        assert max(map(len, out.splitlines())) <= 80
        return re.sub(r"\s+", " ", out)

    return ran


@pytest.fixture
def facts(run):
    """What is said to machines."""

    def ran(content, *arguments, notice="", **extra):
        code, out, err = run(content, "--json", *arguments, **extra)
        assert (code, err) == (0, notice)
        assert out.count("\n") == 1
        return json.loads(out)

    return ran


@pytest.fixture
def refused(run):
    """Diagnosing ends with code 2 and one line on stderr, which it returns."""

    def ran(content, *arguments, **extra):
        code, out, err = run(content, *arguments, **extra)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        return err.strip()

    return ran


def as_csv(X, y):
    return "".join(",".join([*map(repr, x), str(label)]) + "\n" for x, label in zip(X.tolist(), y, strict=True))


# ---- separable or not


def test_separable_data_are_said_to_converge_and_their_margin_is_bracketed(told, facts):
    text = told(SIDES)
    assert "data.csv: 4 examples, 2 features, 2 classes: no (2), yes (2)" in text
    assert "Linearly separable A hyperplane puts every example on its side" in text
    found = facts(SIDES)
    X, y = np.array([[1, 0], [3, 1], [0, 1], [4, 0]]), ["no", "yes", "no", "yes"]
    best = theory.max_margin(X, y).margin
    assert found["separable"] is True
    assert found["margin"]["reached"] <= best.at_most
    assert best.reached <= found["margin"]["at_most"]
    assert found["effort"]["at_most"] == mistake_bound(X, y).updates
    assert f"It converges after at most {found['effort']['at_most']:,} updates" in text
    assert found["effort"]["converged"]
    assert 0 < found["effort"]["updates"] <= found["effort"]["at_most"]
    assert f"it converged after {found['effort']['updates']} updates" in text
    assert (found["witness"], found["pairs"]["examined"], found["contradictions"]["groups"]) == (None, 0, [])
    assert "Identical examples" not in text


def test_xor_is_not_separable_and_all_its_lines_prove_it(told, facts):
    text = told(XOR)
    assert "Not linearly separable" in text
    assert "line class weight 1 no 1/4 2 yes 1/4 3 yes 1/4 4 no 1/4" in text
    assert "It never converges. In one epoch it makes at most 4 updates, one per example" in text
    found = facts(XOR)
    assert found["separable"] is False
    assert found["witness"] == {
        "rows": [0, 1, 2, 3], "lines": [1, 2, 3, 4], "labels": ["no", "yes", "yes", "no"],
        "rivals": ["yes", "no", "no", "yes"], "weights": ["1/4"] * 4,
    }  # fmt: skip
    assert found["margin"] is None


def test_a_bias_can_be_left_out(told, facts):
    points = "1,x\n2,y\n"
    assert facts(points)["separable"] is True
    found = facts(points, "--no-intercept")
    assert (found["separable"], found["fit_intercept"], found["scales"]["radius"]) == (False, False, 2.0)
    assert found["even_scale"]["how"] == "largest absolute value 1"
    text = told(points, "--no-intercept")
    assert "Not linearly separable by hyperplanes through the origin" in text
    assert "lines 1 (x) and 2 (y)" in text
    assert "of the bias" not in text
    text = told("0,x\n2,y\n", "--no-intercept")
    assert "The example in line 1 has only zeros" in text


def test_a_tiny_time_limit_gives_an_answer_all_the_same(run, facts):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 30))
    content = as_csv(X, (X @ rng.standard_normal(30) + 0.5 * rng.standard_normal(2000) > 0).astype(int))
    code, out, err = run(content, "--max-seconds", "1e-9")
    assert (code, err) == (0, "")
    assert re.search("Undecided|Not linearly separable", out)
    assert facts(None, "--max-seconds", "1e-9")["separable"] in (None, False)


def test_where_the_best_bound_takes_too_long_that_of_the_proof_is_given(told, facts, monkeypatch):
    module = importlib.import_module("perceptrons.theory.diagnose")

    def in_a_hurry(*given, **more):
        found = mistake_bound(*given, **more)
        return found if "coef" in more else replace(found, epochs=1, deviation=3.0)

    monkeypatch.setattr(module, "mistake_bound", in_a_hurry)
    X = np.random.default_rng(0).standard_normal((400, 20))
    X[:, 0] += np.sign(X[:, 0])
    found = facts(as_csv(X, np.where(X[:, 0] > 0, "p", "q")))
    assert found["separable"] is True
    assert found["effort"]["in_epochs"] is None
    assert found["effort"]["updates"] <= found["effort"]["at_most"]
    text = told(None)
    assert f"It converges after at most {found['effort']['at_most']:,} updates" in text
    assert found["even_scale"]["effort"]["in_epochs"] == 1
    assert re.search(r"updates at most \S+ not known", text)


# ---- contradictions


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.csv", "size,width,kind\n\n1,2,a\n3,4,b\n\n\n1,2,b\n1.0,2e0,a\n9,9,a\n", [3, 7, 8]),
        ("a.csv", '"si\nze",kind\n-0.0,a\n0,b\n5,b\n', [3, 4]),
        ("a.tsv", "1\t2\ta\r\n\r\n1\t2\tb\r\n3\t3\ta\r\n", [1, 3]),
        ("a.svm", "# comment\n\na 1:1 2:2\nb 1:5\n# 1\n\nb 2:2 1:1 # this\na 1:1 2:2 7:0\n", [3, 7, 8]),
        ("a.svm", "1 qid:1 3:1\n\n-1 qid:2 3:1\n1 1:2\n", [1, 3]),
    ],
)
def test_equal_rows_with_different_labels_are_named_by_line(told, facts, name, content, lines):
    notice = QUERIES_LEFT_OUT if "qid:" in content else ""
    text = told(content, name=name, notice=notice)
    assert f"Identical examples with different labels: {len(lines)} in 1 group" in text
    shown = re.search(r"1 group lines ([^N]*) No classifier", text)[1]
    assert [int(number) for number in re.findall(r"(\d+) \(", shown)] == lines
    found = facts(content, name=name, notice=notice)
    assert found["separable"] is False
    assert [group["lines"] for group in found["contradictions"]["groups"]] == [lines]
    assert found["contradictions"]["examples"] == len(lines)
    assert found["contradictions"]["unlearnable"] == 1


def test_rows_of_an_npz_file_are_named_by_their_number(told, facts, tmp_path):
    np.savez(tmp_path / "a.npz", X=[[1.0], [2.0], [1.0], [4.0]], y=["p", "q", "q", "p"])
    assert "rows 0 (p) and 2 (q)" in told(None, name="a.npz")
    group = facts(None, name="a.npz")["contradictions"]["groups"][0]
    assert group == {"rows": [0, 2], "lines": None, "labels": ["p", "q"]}


def test_many_contradictions_are_counted_and_some_are_shown(told, facts):
    content = "".join(f"{k},{'ab'[turn % 2]}\n" for k in range(40) for turn in range(12))
    text = told(content)
    assert "Identical examples with different labels: 480 in 40 groups" in text
    assert "lines 1 (a), 2 (b), 3 (a), 4 (b), 5 (a), 6 (b), 7 (a), 8 (b) and 4 more" in text
    assert "and 35 groups more (use --json for all)" in text
    assert "at most 50.0% of all examples" in text
    found = facts(content)["contradictions"]
    assert (len(found["groups"]), found["unlearnable"], found["best_accuracy"]) == (40, 240, 0.5)


# ---- scales


def uneven(rng, n=60):
    X = np.c_[rng.standard_normal(n), 5000 + 300 * rng.standard_normal(n), np.full(n, 7.0)]
    X[:, 0] += np.where(X[:, 0] > 0, 1, -1)
    return X, np.where(X[:, 0] > 0, "up", "down")


def test_features_that_make_the_bound_bad_are_named_and_scaling_is_computed(told, facts, rng):
    X, y = uneven(rng)
    content = "angle,price,unit,kind\n" + as_csv(X, y)
    found = facts(content)
    dominant = found["scales"]["dominant"][0]
    assert (dominant["feature"], dominant["column"]) == ("price", 1)
    assert dominant["share"] > 0.99
    assert dominant["standard_deviation"] == pytest.approx(X[:, 1].std())
    assert found["scales"]["constant"] == [{"feature": "unit", "column": 2}]
    farthest = np.argmax((X**2).sum(axis=1))
    assert found["scales"]["farthest"]["lines"] == [farthest + 2]
    assert found["scales"]["radius"] == pytest.approx(np.sqrt((X[farthest] ** 2).sum() + 1))
    assert found["even_scale"]["how"] == "mean 0, variance 1"
    even = found["even_scale"]["effort"]
    deviations = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    expected = mistake_bound((X - X.mean(axis=0)) / deviations, y)
    assert even["at_most"] == pytest.approx(expected.updates, rel=0.3)
    assert even["at_most"] < found["effort"]["at_most"] / 100
    assert even["updates"] <= even["at_most"]
    text = told(content)
    assert re.search(r"price (99|100)\.\d%", text)
    assert "1 feature is constant and adds nothing: unit" in text
    assert "StandardScaler, makes the bound" in text


def test_scaling_is_advised_where_a_trial_shows_that_it_raises_accuracy(told, facts):
    """The bound is one update per example, scaled or not, so it cannot tell."""
    X, y = load_wine(return_X_y=True)
    X[::10], y = X[5::10][: len(X[::10])], np.array(["a", "b", "c"])[y]  # copies under other labels: not separable
    content = as_csv(X, y)
    trial = facts(content)["even_scale"]["trial"]
    assert trial["examples"] == len(y)
    assert trial["scaled_accuracy"] > trial["accuracy"] + 0.1
    scaled = make_pipeline(StandardScaler(), Perceptron())
    for model, accuracy in ((Perceptron(), trial["accuracy"]), (scaled, trial["scaled_accuracy"])):
        scores = cross_val_score(model, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=1))
        assert accuracy == pytest.approx(scores.mean(), abs=0.05)
    text = told(content)
    assert "Scale the features, for instance with scikit-learn's StandardScaler: in a trial" in text
    assert f"from {trial['accuracy']:.1%} to {trial['scaled_accuracy']:.1%}" in text
    assert "would not make the bound much smaller" not in text


def test_a_trial_of_many_rows_is_bounded(rng):
    X, y = rng.standard_normal((20_000, 50)), rng.integers(0, 2, 20_000)
    trial = theory.diagnose(X, y, max_seconds=8).trial
    assert trial is None or trial.n_examples <= 5_000


@pytest.mark.parametrize(("n", "least"), [(29, 10), (60, 1)])
def test_without_enough_examples_there_is_no_trial(n, least, rng):
    X, y = rng.standard_normal((n, 2)), np.arange(n) < least
    assert theory.diagnose(X, y).trial is None


def test_a_single_far_example_is_named(told):
    text = told("1,a\n2,a\n-1,b\n-2,b\n\n1000,a\n")
    assert "check line 6." in text


def test_features_of_one_scale_are_left_alone(told, rng):
    X = rng.choice([-1.0, 1.0], (50, 3))
    text = told(as_csv(X + 0.1 * rng.standard_normal((50, 3)), np.where(X[:, 0] > 0, "p", "q")))
    assert "Scaling the features would not make the bound much smaller" in text
    assert "constant" not in text
    assert "right?" not in text


def test_sparse_data_are_scaled_without_centring(told, facts, tmp_path, rng):
    X = sp.random(80, 30, 0.3, format="csr", random_state=1)
    y = np.where(X @ rng.standard_normal(30) > 0, 1, -1)
    dump_svmlight_file(X @ sp.diags_array(10.0 ** rng.integers(-2, 4, 30)), y, str(tmp_path / "a.svm"))
    found = facts(None, name="a.svm")
    assert found["even_scale"]["how"] == "largest absolute value 1"
    assert found["even_scale"]["effort"]["radius"] <= np.sqrt(31)
    assert "scaled by maximum" in told(None, name="a.svm")


# ---- several classes


def test_pairs_of_classes_that_cannot_be_separated_are_named(told, facts):
    X, y = load_iris(return_X_y=True)
    content = as_csv(X, np.array(["setosa", "versicolor", "virginica"])[y])
    found = facts(content)
    assert found["separable"] is False
    assert (found["pairs"]["total"], found["pairs"]["examined"], found["pairs"]["undecided"]) == (3, 3, [])
    (pair,) = found["pairs"]["inseparable"]
    assert pair["classes"] == ["versicolor", "virginica"]
    assert set(pair["labels"]) == {"versicolor", "virginica"}
    rows = pair["rows"]
    assert pair["lines"] == [row + 1 for row in rows]
    assert theory.separability(X[rows], y[rows]).separable is False
    text = told(content)
    assert "1 of 3 pairs of classes cannot be separated from each other versicolor and virginica, as lines" in text
    assert "line class against weight" in text


def test_classes_that_can_be_separated_two_by_two_but_not_together_are_told_so(told, facts):
    content = "-1,1,a\n4,1,a\n0,-1,b\n-3,3,b\n1,0,c\n-1,-4,c\n"  # the arms of a pinwheel
    found = facts(content)
    assert found["separable"] is False
    assert found["pairs"] == {"total": 3, "examined": 3, "inseparable": [], "undecided": []}
    assert "Every two classes can be separated, but not all at once" in told(content)


def test_two_classes_have_no_pairs_to_look_at(told, facts):
    assert facts(XOR)["pairs"]["examined"] == 0
    assert "pairs" not in told(XOR)


def test_separable_classes_have_no_bad_pairs(told, facts):
    content = "0,0,a\n5,0,b\n0,5,c\n0,1,a\n5,1,b\n1,5,c\n"
    found = facts(content)
    assert (found["separable"], found["pairs"]["total"], found["pairs"]["examined"]) == (True, 3, 0)
    assert "3 linear scores give every example its class" in told(content)


def test_two_classes_that_overlap_settle_it_where_all_together_took_too_long(told, facts, monkeypatch):
    module = importlib.import_module("perceptrons.theory.diagnose")
    decide = module.separability

    def in_a_hurry(X, y, max_seconds=None, **given):
        return decide(X, y, max_seconds=1e-9 if len(np.unique(y)) > 2 else None, **given)

    monkeypatch.setattr(module, "separability", in_a_hurry)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 2))
    content = as_csv(X, np.repeat(["a", "b", "c"], 30))
    found = facts(content)
    assert found["separable"] is False
    assert found["witness"] is None
    assert len(found["pairs"]["inseparable"]) == 3
    text = told(content)
    assert "Not linearly separable Two of the classes overlap" in text
    assert "3 of 3 pairs of classes cannot be separated" in text
    assert "It never converges" in text


# ---- what machines get


def test_the_keys_of_json_stay(facts):
    found = facts("0,a\n1,b\n0,b\n")
    assert list(found) == [
        "data", "examples", "features", "classes", "counts", "fit_intercept", "separable", "why", "margin", "witness",
        "effort", "scales", "even_scale", "contradictions", "pairs", "certificate",
    ]  # fmt: skip
    assert list(found["effort"]) == [
        "at_most", "in_epochs", "radius", "margin", "deviation", "updates", "epochs", "converged",
    ]  # fmt: skip
    assert list(found["scales"]) == [
        "radius", "farthest", "median_norm", "deviation_ratio", "dominant", "constant",
    ]  # fmt: skip
    assert list(found["contradictions"]) == ["groups", "examples", "unlearnable", "best_accuracy"]
    assert list(found["pairs"]) == ["total", "examined", "inseparable", "undecided"]
    assert (found["classes"], found["counts"], found["examples"], found["features"]) == (["a", "b"], [1, 2], 3, 1)


def test_the_library_finds_out_what_the_command_prints(facts):
    X, y = [[1, 0], [3, 1], [0, 1], [4, 0]], ["no", "yes", "no", "yes"]
    said = []
    found = theory.diagnose(X, y, feature_names=["a", "b"], lines=[2, 3, 4, 5], tell=said.append)
    printed = facts(SIDES)
    assert printed.pop("data").endswith("data.csv")
    assert printed.pop("certificate") is None
    assert json.loads(json.dumps(found.to_dict())) == printed
    assert len(said) == 3
    assert theory.diagnose(X, y).to_dict()["scales"]["farthest"] == {"rows": [3], "lines": None, "labels": ["yes"]}


@pytest.mark.parametrize("content", [XOR, SIDES, "0,0,a\n5,0,b\n0,5,c\n0,1,a\n5,1,b\n1,5,c\n"])
def test_the_certificate_in_the_file_holds_for_the_data(run, content, tmp_path):
    code, out, err = run(content, "--certificate", "proof.json")
    assert (code, err) == (0, "")
    assert "The proof is in proof.json" in out
    proof = Certificate.from_json((tmp_path / "proof.json").read_text())
    rows = [line.split(",") for line in content.splitlines() if line[0].isdigit()]
    X, y = np.array([row[:-1] for row in rows], dtype=float), [row[-1] for row in rows]
    assert proof.verify(X, y)
    X[0, 0] += 100
    assert not proof.verify(X, y)
    checked = subprocess.run(
        [sys.executable, str(CHECKER), "proof.json", "data.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert checked.returncode == 0, checked
    assert checked.stdout.startswith("holds")
    assert json.loads(run(content, "--certificate", "proof.json", "--json")[1])["certificate"] == "proof.json"


def checked(folder):
    """What the stand-alone checker says about proof.json and data.csv."""
    command = [sys.executable, str(CHECKER), "proof.json", "data.csv"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False).stdout


def test_the_proof_is_about_the_decimals_in_the_file(told, tmp_path):
    """As floats, the three points do not lie on one line."""
    said = told("0.1,1,a\n0.2,2,b\n0.3,3,a\n", "--certificate", "proof.json")
    assert "Not linearly separable" in said
    assert checked(tmp_path) == "holds: the data are not linearly separable\n"


@pytest.mark.parametrize("second", ["9007199254740993", "9007199254740992.00000000000000000001"])
def test_numbers_that_float64_does_not_tell_apart_are_not_claimed_to_be_equal(second, told, tmp_path):
    said = told(f"9007199254740992,a\n{second},b\n", "--certificate", "proof.json")
    assert "about the numbers as they were read, rounded to float64" in said
    assert checked(tmp_path) == "holds: the data, rounded to float64, are not linearly separable\n"
    told(f"0.1,a\n0.1{'0' * 30}1,b\n", "--certificate", "proof.json")
    assert checked(tmp_path) == "holds: the data, rounded to float64, are not linearly separable\n"


def test_a_certificate_replaces_a_file_as_a_whole_and_follows_links(run, tmp_path):
    (tmp_path / "real.json").write_text("x" * 100_000)
    (tmp_path / "link.json").symlink_to("real.json")
    assert run(XOR, "--certificate", "link.json")[0] == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["separable"] is False
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "link.json", "real.json"]


@pytest.mark.slow
def test_output_goes_into_a_pipe_that_ends_early(tmp_path):
    (tmp_path / "xor.csv").write_text(XOR)
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [*PROGRAM, "diagnose", str(tmp_path / "xor.csv")],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=300,
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")


# ---- bad input


@pytest.mark.parametrize(
    ("content", "arguments", "about"),
    [
        ("a,b,kind\n1,2,x\n1,oops,y\n2,3,x\n", [], r"data.csv:3:2: .*'oops' is not a number"),
        ("a,kind\n1,x\n2,x\n", [], "data.csv: has only one class, 'x'"),
        ("a,price\n" + "".join(f"{k},{k}.5\n" for k in range(60)), [], "60 different labels in column .price."),
        (XOR, ["--max-seconds", "0"], "--max-seconds 0: give a number above 0"),
        (XOR, ["--max-seconds", "nan"], "--max-seconds nan"),
        (XOR, ["--certificate", "data.csv"], "would overwrite it:"),
        (XOR, ["--certificate", "nowhere/proof.json"], "folder nowhere does not exist"),
        (XOR, ["--label-column", "7"], "data.csv:1:1: .*'7'"),
        (
            XOR,
            ["--format", "svmlight"],
            r"data.csv:1:1: no line has any features.*comma-separated values",
        ),
        (XOR.replace(",", ", "), ["--format", "svmlight"], r"data.csv:1:4: .*comma-separated values"),
    ],
)
def test_bad_input_is_refused_with_one_line(refused, content, arguments, about):
    assert re.search(about, refused(content, *arguments))


def test_a_file_that_is_not_there_is_named(refused):
    assert refused(None, name="none.csv") == "none.csv: no such file or directory"


def test_labels_that_are_no_markup_and_no_control_characters_reach_the_screen(told):
    text = told('1,"[red]"\n1,"a\x1b[0m"\n2,"[red]"\n')
    assert "1 ([red]) and 2 (a\\x1b[0m)" in text


def test_large_bounds_are_rounded_up_and_never_too_large_to_be_shown():
    assert [round_up(number) for number in (7, 999_999_999, 10**9, 10**9 + 1, 9995 * 10**20, 10**900 + 1)] == [
        "7", "999,999,999", "1.00e9", "1.01e9", "1.00e24", "1.01e900",
    ]  # fmt: skip
    assert [format_ratio(ratio) for ratio in (1.52, 12.4, 58_488.3, Fraction(10**700, 3))] == [
        "1.5 times", "12 times", "58,488 times", "3.34e699 times",
    ]  # fmt: skip


# ---- whatever can be read


MAIL = "id,note,city,kind\n1,win money,Rome,spam\n2,hello you,Oslo,ham\n3,win now,Oslo,spam\n4,hello Bob,Rome,ham\n"


def test_features_of_texts_and_categories_are_called_by_their_words(told, facts):
    options = ["--text-column", "note", "--ignore", "id", "--format", "csv"]
    found = facts(MAIL, *options)
    assert (found["examples"], found["separable"], found["scales"]["constant"]) == (4, True, [])
    names = {one["feature"].lstrip("-") for one in found["scales"]["dominant"]}
    assert names <= {"win", "money", "hello", "you", "now", "bob", "Bob", "city=Rome", "city=Oslo"}
    assert "data.csv: 4 examples, 8 features in 2^20 columns, 2 classes" in told(MAIL, *options)
    named = facts(MAIL, *options, "--hash-bits", 0)
    assert (named["features"], named["effort"]["at_most"]) == (8, found["effort"]["at_most"])
    assert named["margin"]["reached"] <= found["margin"]["at_most"]
    assert found["margin"]["reached"] <= named["margin"]["at_most"]


def test_examples_of_several_files_are_named_by_file_and_line(told, facts):
    Path("more.csv").write_text("a,b,kind\n1,1,no\n3,1,no\n")
    found = facts(SIDES, "more.csv")
    assert found["data"] == ["data.csv", "more.csv"]
    assert found["contradictions"]["groups"] == [
        {"rows": [1, 5], "lines": ["data.csv:3", "more.csv:3"], "labels": ["yes", "no"]}
    ]
    text = told(SIDES, "more.csv")
    assert "2 files: data.csv ... more.csv: 6 examples" in text
    assert "lines data.csv:3 (yes) and more.csv:3 (no)" in text


def test_columns_that_count_from_zero_are_called_so(facts):
    found = facts("1 0:3 1:1\n-1 0:-3 1:1\n1 0:2 1:1\n", name="data.svm")
    assert [one["feature"] for one in found["scales"]["constant"]] == ["column 1"]
