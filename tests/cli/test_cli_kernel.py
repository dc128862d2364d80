"""The command line with kernels: options, refusals, reports, and models that other commands read."""

import json
import re
from typing import get_args

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import perceptrons
from perceptrons import KernelPerceptron, Perceptron
from perceptrons.cli import main
from perceptrons.cli.options import LINEAR_ONLY, Kernel, OnFull
from perceptrons.engine.training.parameters import Words
from perceptrons.kernel.estimator import DOMAINS
from perceptrons.kernel.kernels import NAMES as KERNELS
from tests.cli.test_cli import KINDS, NAMES, as_csv, of_lines, prepared


@pytest.fixture(scope="module")
def rings():
    """Examples of two classes, one around the other, with some noise."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 3))
    return X, np.where((X**2).sum(axis=1) + 0.4 * rng.standard_normal(150) > 2.4, "out", "in")


@pytest.fixture(scope="module")
def animals():
    """Examples of three kinds that overlap."""
    rng = np.random.default_rng(3)
    return rng.standard_normal((120, 3)) + 1.5 * np.eye(3)[np.repeat(np.arange(3), 40)], np.repeat(KINDS, 40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rings, animals):
    """rings.csv and animals.csv, a model trained on all of each, and other files."""
    folder = tmp_path_factory.mktemp("kernels")
    for name, data in (("rings", rings), ("animals", animals)):
        (folder / f"{name}.csv").write_text(as_csv(*data))
        options = ["--kernel", "rbf", "--test-share", "0", "-o", str(folder / f"{name}.model"), "--quiet"]
        assert main(["train", str(folder / f"{name}.csv"), *options]) == 0
    (folder / "xor.csv").write_text("0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n")
    (folder / "two.svm").write_text("".join(f"{(-1) ** k} 1:{k / 10} 3:{(-1) ** k}\n" for k in range(20)))
    return folder


# ---- train


OPTIONS = [
    ([], {}),
    (["--gamma", "0.25", "--multiclass", "ovr"], {"gamma": 0.25, "multiclass": "ovr"}),
    (["--gamma", "auto", "--combine", "vote", "--max-iter", "3"], {"gamma": "auto", "combine": "vote", "max_iter": 3}),
    (["--kernel", "poly", "--degree", "2", "--coef0", "0.5"], {"kernel": "poly", "degree": 2, "coef0": 0.5}),
    (["--budget", "9", "--on-full", "project"], {"budget": 9, "on_full": "project"}),
    (["--budget", "9", "--cache-size", "0.5", "--tol", "0", "--max-iter", "4"],
     {"budget": 9, "cache_size": 0.5, "tol": None, "max_iter": 4}),
    (["--eta0", "0.5", "--class-weight", '{"emu": 0.5}', "--no-shuffle", "--seed", "3", "--early-stopping"],
     {"eta0": 0.5, "class_weight": {"emu": 0.5}, "shuffle": False, "random_state": 3, "early_stopping": True}),
    *((["--kernel", kernel], {"kernel": kernel}) for kernel in ("linear", "sigmoid", "laplacian", "cosine")),
]  # fmt: skip


@pytest.mark.parametrize(("options", "parameters"), OPTIONS, ids=lambda part: " ".join(part))
def test_options_give_the_coefficients_that_python_gives(run, folder, animals, tmp_path, options, parameters):
    words = ["--kernel", "rbf", "--test-share", 0, "-o", tmp_path / "m", "--quiet", *options]
    assert run("train", folder / "animals.csv", *words) == (0, "", "")
    X, y = animals
    model, expected = perceptrons.load(tmp_path / "m"), KernelPerceptron(**parameters).fit(prepared(X), y)
    assert type(model) is KernelPerceptron
    assert model.get_params() == expected.get_params()
    np.testing.assert_array_equal(model.dual_coef_last_, expected.dual_coef_last_)
    np.testing.assert_array_equal(model.support_, expected.support_)
    assert model.columns_.names() == NAMES


def test_words_that_options_know_are_those_of_the_library():
    assert set(KERNELS) == {*get_args(Kernel), "precomputed"}
    assert DOMAINS["on_full"] == (Words(get_args(OnFull)),)
    linear, kernel = Perceptron().get_params(), KernelPerceptron().get_params()
    assert set(LINEAR_ONLY) <= linear.keys() - kernel.keys()


def test_help_has_the_options_of_kernels_together(run):
    options = re.findall(r"^  (?:-\w, )?--([\w-]+)", run("train", "--help")[1], re.MULTILINE)
    of_kernels = ["kernel", "gamma", "degree", "coef0", "budget", "on-full", "cache-size"]
    first = min(options.index(name) for name in of_kernels)
    assert sorted(options[first : first + len(of_kernels)]) == sorted(of_kernels)
    assert len(options) == len(set(options))


def test_train_alone_with_a_kernel_learns_digits_and_says_what_it_keeps(run):
    code, out, err = run("train", "--kernel", "rbf")
    words = " ".join(out.split())
    assert (code, err) == (0, "")
    assert re.search(r"Kernel: rbf, gamma 0\.000\d+ \(scale\)", out)
    assert re.search(r"It has \d+ support vectors, [\d.]+% of the training examples\.", words)
    assert float(re.search(r"Test accuracy ([\d.]+)%", out)[1]) > 96
    assert "separated in the kernel's feature space" in words
    assert "linearly" not in words
    assert "weights" not in words.lower()
    assert re.search(r"\n3 +example \d+ +[+-][\d.]+ ", out)
    assert "perceptrons train --kernel rbf -o digits.model" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_report_names_support_examples_by_their_lines(run, folder, rings):
    y = rings[1]
    options = ["--kernel", "poly", "--degree", 2, "--gamma", 1]
    out = run("train", folder / "rings.csv", *options)[1]
    assert "Kernel: poly, gamma 1, degree 2, coef0 1" in out
    assert "Settings: degree=2, gamma=1.0, kernel='poly'" in out
    assert "class" not in out.split("largest coefficients")[1].splitlines()[1]
    shown = re.findall(r"\nline (\d+) +([+-])[\d.e+]+ +\S+ +for (\w+)", out)
    assert len(shown) == 6
    for line, sign, speaks in shown:  # below a heading
        assert speaks == y[int(line) - 2] == {"+": "out", "-": "in"}[sign]
    found = json.loads(run("train", folder / "rings.csv", *options, "--json")[1])
    first, second = found["support"]
    assert [first["class"], second["class"]] == ["in", "out"]
    assert [f"{example['line']}" for example in second["examples"][:6]] == [line for line, _, _ in shown]
    for example, mirrored in zip(second["examples"], first["examples"], strict=True):
        assert (example["coefficient"] > 0) == (y[example["line"] - 2] == "out")
        assert mirrored == {**example, "coefficient": -example["coefficient"]}


def test_train_json_has_the_facts_of_a_kernel_and_no_weights(run, folder, animals):
    code, out, err = run("train", folder / "animals.csv", "--kernel", "rbf", "--test-share", 0, "--json")
    assert (code, err) == (0, "")
    X, y = prepared(animals[0]), animals[1]
    found, model = json.loads(out), KernelPerceptron().fit(X, y)
    assert (found["kernel"], found["gamma"], found["n_support"]) == ("rbf", model.gamma_, model.n_support_)
    assert found["parameters"]["kernel"] == "rbf"
    assert found["train_accuracy"] == model.score(X, y)
    assert found["epochs"] == model.n_iter_
    assert found["weights"] is found["margin"] is found["hashing"] is None
    assert [entry["class"] for entry in found["support"]] == KINDS
    top = found["support"][1]["examples"]
    coefficients = model.dual_coef_[1]
    order = np.argsort(-np.abs(coefficients), kind="stable")[:10]
    assert [example["support"] for example in top] == order.tolist()
    assert [example["coefficient"] for example in top] == coefficients[order].tolist()
    assert [example["row"] for example in top] == model.support_[order].tolist()
    assert json.loads(run("train", "--kernel", "cosine", "--json", "--max-iter", 1)[1])["gamma"] is None


def test_verbose_progress_goes_to_stderr(run, folder):
    code, out, err = run("train", folder / "animals.csv", "--kernel", "rbf", "--json", "--verbose", "--max-iter", 3)
    assert code == 0
    assert json.loads(out)["epochs"] == 3
    assert err.count("mistakes in") == 3


@pytest.mark.parametrize(
    ("options", "reason", "sentence"),
    [
        (
            ["xor.csv"],
            "converged",
            "without an update: the training examples are separated in the kernel's feature space",
        ),
        (["animals.csv", "--tol", "0.5"], "tol", "The averaged coefficients stopped changing: .* less than 0.5 of"),
        (["animals.csv", "--early-stopping"], "early_stopping", "so the coefficients are those of epoch \\d+"),
        (["animals.csv", "--max-iter", "2", "--tol", "0"], "max_iter", "maximum of 2 epochs was reached, and"),
    ],
)
def test_every_reason_to_stop_is_a_sentence(run, folder, options, reason, sentence):
    data, *rest = options
    found = json.loads(run("train", folder / data, "--kernel", "rbf", *rest, "--json")[1])
    assert found["stop_reason"] == reason
    assert re.search(sentence, found["why"])
    assert re.search(sentence, " ".join(run("train", folder / data, "--kernel", "rbf", *rest)[1].split()))


def test_suggested_commands_keep_the_kernel(run, folder):
    options = ["--kernel", "rbf", "--gamma", 0.5, "--budget", 20, "--on-full", "forget_oldest", "--max-iter", 2]
    out = run("train", folder / "animals.csv", *options, "--tol", 0)[1]
    again = f"perceptrons train {folder}/animals.csv --kernel rbf --gamma 0.5 --budget 20 --on-full forget_oldest"
    assert f"{again} --max-iter 2 --tol 0.0 -o animals.model" in out
    assert f"{again} --tol 0.0 --max-iter 4" in out
    assert "20 support vectors (at most 20)" in out


def test_features_of_very_different_scale_are_pointed_out_unless_the_kernel_does_not_mind(run, tmp_path):
    path = tmp_path / "uneven.csv"
    path.write_text("small,large,kind\n" + "".join(f"{k % 2},{1000 * k},{k % 2}\n" for k in range(1, 21)))
    raw = ["--scale", "none", "--max-iter", 5]
    assert "the largest ones dominate the kernel" in run("train", path, "--kernel", "rbf", *raw)[1]
    assert "in scale" not in run("train", path, "--kernel", "cosine", *raw)[1]
    assert "in scale" not in run("train", path, "--kernel", "rbf", "--max-iter", 5)[1]


# ---- predict and evaluate


@pytest.mark.parametrize("name", ["rings", "animals"])
def test_predict_and_evaluate_read_models_of_kernels(run, folder, name, request):
    X, y = request.getfixturevalue(name)
    X = prepared(X)
    model = KernelPerceptron().fit(X, y)
    data, saved = folder / f"{name}.csv", folder / f"{name}.model"
    assert run("predict", saved, data) == (0, "".join(f"{label}\n" for label in model.predict(X)), "")
    found = of_lines(run("predict", saved, data, "--scores", "--json")[1])
    scores = model.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose([[*one["scores"].values()] for one in found], scores, rtol=1e-12)
    found = json.loads(run("evaluate", saved, data, "--json")[1])
    assert found["accuracy"] == pytest.approx(model.score(X, y))
    assert found["confusion"] == confusion_matrix(y, model.predict(X)).tolist()


def test_sparse_files_are_learned_from_and_predicted(run, folder, tmp_path):
    words = ["--kernel", "laplacian", "--test-share", 0, "-o", tmp_path / "m", "--quiet"]
    assert run("train", folder / "two.svm", *words) == (0, "", "")
    assert run("predict", tmp_path / "m", folder / "two.svm")[1] == "1\n-1\n" * 10
    assert "for -1" in run("inspect", tmp_path / "m")[1]


def test_models_of_precomputed_kernels_predict_from_tables_of_kernel_values(run, rings, tmp_path):
    X, y = rings
    K = (X @ X.T + 1) ** 2
    perceptrons.save(KernelPerceptron(kernel="precomputed", max_iter=3).fit(K[:100, :100], y[:100]), tmp_path / "m")
    np.savez(tmp_path / "new.npz", X=K[100:, :100], y=y[100:])
    expected = perceptrons.load(tmp_path / "m").predict(K[100:, :100])
    assert run("predict", tmp_path / "m", tmp_path / "new.npz")[1].split() == expected.tolist()
    assert re.search(r"kernel +precomputed *\n", run("inspect", tmp_path / "m")[1])
    assert json.loads(run("inspect", tmp_path / "m", "--json")[1])["gamma"] is None


# ---- inspect


def test_inspect_tells_what_is_in_a_model_of_a_kernel(run, folder):
    code, out, err = run("inspect", folder / "animals.model")
    assert (code, err) == (0, "")
    model, words = perceptrons.load(folder / "animals.model"), " ".join(out.split())
    assert "kind KernelPerceptron, combine='average'" in words
    assert f"kernel rbf, gamma {model.gamma_:.4g} (scale)" in words
    assert f"keeps {model.n_support_} support vectors" in words
    assert "classes 3: cat, dog, emu" in words
    assert "features 3: length; width; height" in words
    assert re.search(r"learned [\d,]+ epochs?, [\d,]+ updates?, [\d,]+ examples? seen", words)
    assert "linear" not in words
    assert "weights" not in words
    assert "not probabilities" in words
    best = int(np.argmax(np.abs(model.dual_coef_[2])))
    assert re.search(rf"\nemu +example {model.support_[best] + 1} +[+-]", out)


def test_inspect_one_class_lists_its_top_support_examples_in_order(run, folder):
    model = perceptrons.load(folder / "animals.model")
    out = run("inspect", folder / "animals.model", "--class", "dog", "--top", 3)[1]
    order = np.argsort(-np.abs(model.dual_coef_[1]), kind="stable")[:3]
    assert "largest coefficients for dog (average)" in out
    assert re.findall(r"\nexample (\d+) +([+-])[\d.]+ +\S+ +(for|against) dog", out) == [
        (str(model.support_[k] + 1), *(("+", "for") if model.dual_coef_[1, k] > 0 else ("-", "against"))) for k in order
    ]
    found = json.loads(run("inspect", folder / "animals.model", "--class", "dog", "--top", 3, "--json")[1])
    assert found["support"] == [
        {
            "class": "dog",
            "examples": [
                {"support": k, "row": int(model.support_[k]), "line": None, "coefficient": model.dual_coef_[1, k]}
                for k in order.tolist()
            ],
        }
    ]
    facts = {"kind": "KernelPerceptron", "kernel": "rbf", "gamma": model.gamma_, "n_support": model.n_support_}
    assert {name: found[name] for name in facts} == facts
    assert found["stop_reason"] == model.stop_reason_


def test_inspect_reads_models_that_vote_that_learned_in_blocks_and_that_learned_nothing(run, tmp_path, animals):
    X, y = animals
    perceptrons.save(KernelPerceptron(combine="vote", max_iter=3).fit(X, y), tmp_path / "vote")
    assert "shown instead of the votes" in " ".join(run("inspect", tmp_path / "vote")[1].split())
    mixed = np.random.default_rng(0).permutation(len(y))
    blocks = KernelPerceptron(multiclass="ovr", budget=7).partial_fit(X[mixed], y[mixed])
    perceptrons.save(blocks, tmp_path / "blocks")
    out = run("inspect", tmp_path / "blocks")[1]
    assert "on blocks of examples" in out
    assert "in 3 binary problems together" in " ".join(out.split())
    assert "7 support vectors (at most 7)" in out
    assert re.search(r"\ncat +support \d ", out)
    found = json.loads(run("inspect", tmp_path / "blocks", "--json")[1])
    assert {example["row"] for entry in found["support"] for example in entry["examples"]} == {None}
    for name, classes in (("none", ["a", "b", "c"]), ("one", None)):
        model = KernelPerceptron(gamma=1.0).partial_fit(np.eye(3), ["a", "a", "a"], classes=classes)
        perceptrons.save(model, tmp_path / name)
        assert run("inspect", tmp_path / name)[0] == 0
        assert json.loads(run("inspect", tmp_path / name, "--json")[1])["n_support"] == model.n_support_


# ---- what goes wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *((["--kernel", "rbf", *words], f"^{words[0]} is for the linear perceptron: leave it out, or.*--kernel") for
          words in (["--step", "pa"], ["--step", "constant"], ["--C", "1"], ["--margin", "0"], ["--penalty", "l2"],
                    ["--batch-size", "1"], ["--cost", '{"cat": {"dog": 1}}'], ["--no-intercept"])),
        (["--kernel", "rbf", "--multiclass", "ovo"], "^--multiclass ovo is for the linear perceptron"),
        (["--kernel", "rbf", "--combine", "recent"], "^--combine recent is for the linear perceptron"),
        (["--kernel", "rbf", "--window", "9"], "^--window is for the linear perceptron"),
        (["--kernel", "rbf", "--combine", "pocket"], "^--combine pocket is for the linear perceptron"),
        *(([option, value], f"^{option} is for kernels: also give one, for instance --kernel rbf.") for option, value in
          (("--gamma", "2"), ("--degree", "2"), ("--coef0", "0"), ("--budget", "5"), ("--on-full", "project"),
           ("--cache-size", "9"))),
        (["--kernel", "rbf", "--on-full", "project"], "--on-full needs --budget"),
        (["--kernel", "precomputed"], "--kernel.*linear.*cosine"),
        (["--kernel", "rbf", "--gamma", "big"], "--gamma.*big is not a number, scale or auto."),
        (["--kernel", "rbf", "--gamma", "nan"], "gamma must be a number above 0"),
        (["--kernel", "rbf", "--gamma", "0"], "gamma must be a number above 0"),
        (["--kernel", "poly", "--degree", "0"], "degree must be a whole number between 1"),
        (["--kernel", "poly", "--degree", "2.5"], "--degree"),
        (["--kernel", "rbf", "--budget", "0"], "budget must be a whole number between 1"),
        (["--kernel", "rbf", "--cache-size", "-1"], "cache_size must be a number of at least 0"),
        (["--kernel", "rbf", "--on-full", "explode", "--budget", "3"], "--on-full.*remove_random"),
        (["--kernel", "rbf", "--combine", "vote", "--budget", "3"], "combine='vote'.*does not work"),
        (["--kernel", "sigmoid", "--on-full", "project", "--budget", "3"], "on_full='project'.*does not work"),
        (["--kernel", "rbf", "--class-weight", '{"yak": 1}'], "^--class-weight: .*'yak'.*not among"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)  # fmt: skip
def test_a_bad_choice_is_refused_and_nothing_is_written(refused, folder, tmp_path, options, message):
    line = refused("train", folder / "animals.csv", "-o", tmp_path / "m", *options)
    assert re.search(message, line), line
    assert not list(tmp_path.iterdir())


def test_a_bad_choice_is_refused_before_data_are_read(refused, folder):
    assert "--gamma is for kernels" in refused("train", folder / "none.csv", "--gamma", 1)
    assert "--step is for" in refused("train", folder / "none.csv", "--kernel", "rbf", "--step", "pa")


def test_diagnose_and_the_theory_of_hyperplanes_take_no_model_of_a_kernel(refused, folder, rings):
    assert refused("diagnose", folder / "rings.model").startswith(f"{folder}/rings.model: ")
    assert "--kernel" in refused("diagnose", folder / "rings.csv", "--kernel", "rbf")
    model = perceptrons.load(folder / "rings.model")
    for function in (perceptrons.theory.margins, perceptrons.theory.signed_distance):
        with pytest.raises(ValueError, match=r"KernelPerceptron has no coef_.*: give a fitted linear classifier"):
            function(model, *rings[: 1 if function is perceptrons.theory.signed_distance else 2])


def test_other_commands_refuse_what_a_model_of_a_kernel_cannot_do(refused, folder):
    assert "does not have this class. Its classes are" in refused("inspect", folder / "animals.model", "--class", "yak")
    assert "none of its labels" in refused("evaluate", folder / "rings.model", folder / "animals.csv")
    assert "xor.csv:1:" in refused("predict", folder / "rings.model", folder / "xor.csv")
