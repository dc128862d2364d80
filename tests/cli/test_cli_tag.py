"""`perceptrons tag train`: options, columns, resuming, reports, and what is refused."""

import gzip
import json
import lzma
import os
import re
import shlex
import signal
import subprocess
from typing import get_args

import numpy as np
import pytest

import perceptrons
from perceptrons import FeatureTemplates, SequencePerceptron
from perceptrons.cli.tag.corpora import MAX_LABELS, TEMPLATE_SETS
from perceptrons.cli.tag.options import ColumnFormat, Scheme, TaggerCombine, TaggerCost, TaggerStep
from perceptrons.cli.tag.train import FIXED_BY_TAGGER
from perceptrons.data.conll import FORMATS
from perceptrons.engine.training.epochs import hold_out
from perceptrons.engine.training.parameters import Words
from perceptrons.sequence.estimator import DOMAINS
from tests.cli.test_cli import PROGRAM
from tests.support.processes import started
from tests.support.tagged import as_columns, fill, of_columns, sentences
from tests.support.tiers import slow

WEIGHTS = ("coef_last_", "coef_average_", "transitions_last_", "transitions_average_", "start_last_", "stop_average_")


@pytest.fixture(scope="module")
def made():
    return sentences(1, 60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, made):
    return fill(tmp_path_factory.mktemp("tag"), made)


def same_weights(model, other):
    """Are the weights of every feature, by name, and of transitions the same? Saved taggers have no idle features."""
    for name in WEIGHTS:
        ours, theirs = getattr(model, name), getattr(other, name)
        if name.startswith("coef"):
            ours, theirs = (
                {a: w.tolist() for a, w in zip(of.attributes_, array.T, strict=True) if w.any()}
                for of, array in ((model, ours), (other, theirs))
            )
            assert ours == theirs
        else:
            np.testing.assert_array_equal(ours, theirs)
    return True


# ---- train

OPTIONS = [
    ([], {}),
    (["--allowed", "bio", "--combine", "last"], {"allowed": "bio", "combine": "last"}),
    (["--step", "pa1", "--C", "0.1", "--cost", "hamming"], {"step": "pa1", "C": 0.1, "cost": "hamming"}),
    (["--margin", "2", "--min-count", "2", "--seed", "4"], {"margin": 2.0, "min_count": 2, "random_state": 4}),
    (["--hash-bits", "10", "--max-iter", "3"], {"hash_bits": 10, "max_iter": 3}),
    (["--tol", "0.5", "--max-seconds", "60"], {"tol": 0.5, "max_seconds": 60.0}),
    (["--early-stopping", "--tol", "0"], {"early_stopping": True, "validation_metric": "phrase_f1"}),
    (["--early-stopping", "--metric", "accuracy"], {"early_stopping": True}),
]


@pytest.mark.parametrize(("options", "parameters"), OPTIONS, ids=lambda part: " ".join(part))
def test_options_give_the_weights_that_python_gives(run, folder, made, tmp_path, options, parameters):
    words = ["--test-share", 0, "-o", tmp_path / "m", "--quiet", *options]
    assert run("tag", "train", folder / "chunks.txt", *words) == (0, "", "")
    model = perceptrons.load(tmp_path / "m")
    expected = SequencePerceptron(templates=FeatureTemplates(columns=["word", "pos"]), **parameters)
    expected.fit(of_columns(made, 0, 1), of_columns(made, 2))
    assert model.get_params(deep=False) | {"templates": None} == expected.get_params(deep=False) | {"templates": None}
    assert model.templates.get_params() == {"templates": None, "columns": ["word", "pos"]}
    assert same_weights(model, expected)


def test_words_that_options_know_are_those_of_the_library():
    for name, kind in {"combine": TaggerCombine, "step": TaggerStep, "allowed": Scheme, "cost": TaggerCost}.items():
        assert Words(get_args(kind)) in DOMAINS[name]
    assert get_args(ColumnFormat) == FORMATS
    assert set(FIXED_BY_TAGGER) <= DOMAINS.keys()
    for name in TEMPLATE_SETS:
        FeatureTemplates(name, columns=["word", "pos"]).parsed()


COLUMNS = [
    ("chunks.txt", [], ["word", "pos"], (0, 1), 2),
    ("chunks.txt", ["--label", "2"], ["word"], (0,), 1),
    ("chunks.txt", ["--label", "-2", "--columns", "1,3"], ["word", "column3"], (0, 2), 1),
    ("chunks.txt", ["--columns", "2,1"], ["column2", "word"], (1, 0), 2),
    ("tags.tsv", [], ["word"], (0,), 1),
    ("trees.conllu", ["--label", "xpos"], ["form"], (0,), 1),
    ("trees.conllu", ["--label", "deprel", "--columns", "form,xpos"], ["form", "xpos"], (0, 1), 2),
    ("trees.conllu", ["--label", "5", "--columns", "-3"], ["deprel"], (2,), 1),
]


@pytest.mark.parametrize(("file", "options", "names", "seen", "label"), COLUMNS)
def test_columns_and_label_are_those_asked_for(run, folder, made, tmp_path, file, options, names, seen, label):
    words = ["--test-share", 0, "-o", tmp_path / "m", "--quiet", *options]
    assert run("tag", "train", folder / file, *words) == (0, "", "")
    model = perceptrons.load(tmp_path / "m")
    assert model.templates.columns == names
    expected = SequencePerceptron(templates=FeatureTemplates(columns=names))
    assert same_weights(model, expected.fit(of_columns(made, *seen), of_columns(made, label)))


def test_templates_come_from_a_file_with_comments(run, folder, made, tmp_path):
    (tmp_path / "t.txt").write_text("# of the word\nword[-1..1]\n\n  suffix(word, 2)|pos  # both\n")
    options = ["--templates", tmp_path / "t.txt", "--test-share", 0, "-o", tmp_path / "m", "--quiet"]
    assert run("tag", "train", folder / "chunks.txt", *options) == (0, "", "")
    model = perceptrons.load(tmp_path / "m")
    assert model.templates.templates == ["word[-1..1]", "suffix(word, 2)|pos"]
    assert {name.split("=")[0] for name in model.attributes_} <= {
        "word[-1]", "word[0]", "word[1]", "suffix(word, 2)[0]|pos[0]",
    }  # fmt: skip
    assert (
        run("tag", "train", folder / "chunks.txt", "--templates", "chunking", "-o", tmp_path / "m", "--quiet")[0] == 0
    )
    assert perceptrons.load(tmp_path / "m").templates.templates == "chunking"


def test_files_of_any_separator_encoding_and_packing_give_the_same_tagger(run, folder, tmp_path, made):
    text = as_columns(made)
    (tmp_path / "a.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.xz").write_bytes(lzma.compress(text.encode()))
    (tmp_path / "comma").write_text(as_columns(made, ","))
    (tmp_path / "tab").write_text(as_columns(made, "\t"))
    (tmp_path / "wide").write_bytes(text.replace("\n", "\r\n").encode("utf-16"))
    (tmp_path / "comments").write_text(f"# by hand\n{text}")
    cases = {"a.gz": [], "a.xz": [], "comma": ["--separator", ","], "tab": ["--separator", "\\t"],
             "wide": ["--encoding", "utf-16"], "comments": ["--comments"]}  # fmt: skip
    for name, options in cases.items():
        words = [*options, "--test-share", 0, "-o", tmp_path / "m", "--quiet"]
        assert run("tag", "train", tmp_path / name, *words) == (0, "", "")
        assert (tmp_path / "m").read_bytes() == (folder / "chunks.model").read_bytes(), name


@pytest.mark.parametrize("rare", [[], ["--min-count", 3]])
def test_resumed_training_is_uninterrupted_training(run, made, tmp_path, rare):
    once, twice, file = tmp_path / "once", tmp_path / "twice", tmp_path / "noisy.txt"
    file.write_text(re.sub("(?<=a DT )B-NP|(?<=NN )I-NP", "O", as_columns(made), count=20))  # takes more epochs
    options = ["--seed", 3, "--cost", "hamming", "--margin", 1, *rare]
    assert run("tag", "train", file, *options, "--max-iter", 5, "-o", once, "--quiet")[0] == 0
    assert run("tag", "train", file, *options, "--max-iter", 2, "-o", twice, "--quiet")[0] == 0
    code, out, err = run("tag", "train", file, "--resume", twice, "--max-iter", 3, "-o", twice)
    assert (code, err) == (0, "")
    assert re.search(r"\nepoch .*\n +3 .*\n +4 .*\n +5 ", out)
    assert "Keeps training" in out
    assert "(10%, seed 3)" in " ".join(out.split())  # the same sentences are held out
    model = perceptrons.load(twice)
    assert same_weights(model, perceptrons.load(once))
    assert (model.t_, model.max_iter, model.warm_start, model.verbose) == (5 * 54, 3, False, 0)


def test_resumed_training_takes_new_sentences_and_new_labels(run, folder, tmp_path):
    (tmp_path / "new.txt").write_text("quickly RB B-ADVP\nruns VBZ B-VP\n. . O\n\n" * 10)
    options = [
        "--resume",
        folder / "chunks.model",
        "--combine",
        "last",
        "-o",
        tmp_path / "m",
        "--test-share",
        0,
        "--quiet",
    ]
    assert run("tag", "train", tmp_path / "new.txt", *options) == (0, "", "")
    model = perceptrons.load(tmp_path / "m")
    assert "B-ADVP" in model.classes_
    assert model.predict([[("quickly", "RB"), ("runs", "VBZ"), (".", ".")]]) == [["B-ADVP", "B-VP", "O"]]
    assert model.t_ > 10 + perceptrons.load(folder / "chunks.model").t_


def test_sentences_are_held_out_and_tested_on(run, folder, made):
    code, out, err = run("tag", "train", folder / "chunks.txt", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    train, test = hold_out(np.zeros(60, int), None, 0.1, 0)
    assert (found["sentences"], found["test_sentences"]) == (len(train), len(test)) == (54, 6)
    model = SequencePerceptron(templates=FeatureTemplates(columns=["word", "pos"]))
    X, y = of_columns(made, 0, 1), of_columns(made, 2)
    model.fit([X[i] for i in train], [y[i] for i in train])
    assert found["test_accuracy"] == model.score([X[i] for i in test], [y[i] for i in test])
    assert found["train_accuracy"] == model.score([X[i] for i in train], [y[i] for i in train])
    assert found["mistakes"] == model.mistakes_.tolist()
    assert found["tokens"] == sum(len(X[i]) for i in train)
    assert (found["n_features"], found["labels"]) == (model.n_features_in_, model.classes_.tolist())
    assert (found["columns"], found["label_column"]) == (["word", "pos"], "column 3")
    assert found["parameters"]["templates"] == {"templates": None, "columns": ["word", "pos"]}


def test_the_report_says_what_was_learned_how_it_went_and_what_to_do_next(run, folder, tmp_path):
    model = tmp_path / "m"
    code, out, err = run("tag", "train", folder / "chunks.txt", "--test", folder / "test.txt", "-o", model)
    words = " ".join(out.split())
    assert (code, err) == (0, "")
    assert re.search(r"60 sentences \([\d,]+ tokens\) for training; 20 sentences \([\d,]+ tokens\)", words)
    assert re.search(r"Learned from word, pos \([\d,]+ features\) to predict column 3: 6 labels \(B-NP, ", words)
    assert re.search(r"\n +1 +\d+ +█", out)
    assert re.search(r"Stopped after \d+ epochs? in [\d.]+ s\. An epoch passed without an update: the training "
                     r"sentences were all labelled right\.", words)  # fmt: skip
    assert re.search(r"Test accuracy [\d.]+% \(\d+ of \d+; always predicting B-NP would give", words)
    assert re.search(r"Sentences without a mistake [\d.]+% \(\d+ of 20 sentences\)", words)
    assert re.search(r"type +precision +recall +F1 +count +found\nNP ", out)
    assert re.search(r"\nall +[\d.]+% ", out)
    assert f"Saved as {model}" in out
    assert f"perceptrons tag predict {model} NEW-FILE" in out
    assert f"perceptrons inspect {model}" in out
    paths = (str(folder), str(tmp_path))
    assert all(len(line) <= 80 for line in out.splitlines() if not any(path in line for path in paths))


def test_the_report_of_parts_of_speech_shows_confusions_and_no_phrases(run, folder, tmp_path):
    (tmp_path / "weak").write_text("shape(word)\n")  # too little to get all right
    weak = run("tag", "train", folder / "tags.tsv", "--max-iter", 1, "--templates", tmp_path / "weak")[1]
    assert f"perceptrons tag train {folder}/tags.tsv --templates {tmp_path}/weak --max-iter 2" in weak
    out = run("tag", "train", folder / "tags.tsv", "--max-iter", 1, "--templates", "words")[1]
    assert "Phrases" not in out
    assert re.search(r"confusions?\ntrue +predicted as +times\n", out) or "Test accuracy 100.00%" in out
    assert "Settings: max_iter=1, templates='words'" in out
    assert f"perceptrons tag train {folder}/tags.tsv --templates words -o tags.model" in out


def test_suggested_commands_run(run, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--label", 2, "--max-iter", 1, "--test-share", 0.2, "--templates", "words", "--margin", 3]
    out = run("tag", "train", folder / "chunks.txt", *options, "-o", "my model")[1]
    commands = re.findall(r"\n  perceptrons (.*)", out)
    assert len(commands) == 3
    for command in commands:
        words = shlex.split(command.replace("NEW-FILE", str(folder / "test.txt")))
        assert run(*words)[0] == 0, words


def test_too_few_sentences_to_hold_any_out_are_all_learned_and_it_says_so(run, folder):
    out = run("tag", "train", folder / "few.txt")[1]
    assert "1 sentence (2 tokens) for training: too few to hold out 10% for testing" in out
    assert "Test" not in out


def test_verbose_progress_goes_to_stderr(run, folder):
    code, out, err = run("tag", "train", folder / "chunks.txt", "--verbose", "--json")
    assert code == 0
    assert json.loads(out)["stop_reason"] == "converged"
    assert "epoch    1" in err


# ---- what cannot be done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/none.txt"], "^{}/none.txt: no such file or directory$"),
        (["{}"], "^{}: is a directory$"),
        (["{}/one.txt"], "^{}/one.txt: column 2 has only one label, X, .*--label"),
        (["{}/chunks.txt", "--label", "7"], "^--label 7: {}/chunks.txt: there is no column 7.*from 1 to 3"),
        (["{}/chunks.txt", "--label", "upos"], "^--label upos: .*no column is called 'upos'"),
        (["{}/chunks.txt", "--label", "1"], "the label is column 1, and there is no column left of it:.*--columns"),
        (["{}/chunks.txt", "--columns", "1,3"], "column 3 is both the label and an input of the tagger,"),
        (["{}/chunks.txt", "--columns", "1,1"], "^--columns 1,1: column 1 is given twice."),
        (["{}/chunks.txt", "--columns", "1,,2"], "^--columns 1,,2: a column is missing: write"),
        (["{}/chunks.txt", "--columns", "9"], "^--columns 9: .*no column 9"),
        (["{}/trees.conllu", "--label", "head"], "trees.conllu: head has only one label, 0"),
        (["{}/trees.conllu", "--label", "tag"], "--label tag: .*or one of id, form, lemma"),
        (["{}/chunks.txt", "--format", "conllu"], "chunks.txt:1:2: 1 column here, but 10 in CoNLL-U"),
        (["{}/chunks.txt", "--format", "xml"], "--format"),
        (["{}/chunks.txt", "--separator", ";"], "there is only one column.*--separator"),
        (["{}/chunks.txt", "--separator", ""], "separator is ''"),
        (["{}/chunks.txt", "--encoding", "klingon"], "'klingon', which Python does not know"),
        (["{}/chunks.txt", "--allowed", "bioes"], "chunks.txt:\\d+:3: .*, which --allowed bioes forbids"),
        (["{}/chunks.txt", "--allowed", "all"], "--allowed"),
        (["{}/chunks.txt", "--templates", "rich"], "^--templates rich: no such file .*: give words, chunking"),
        (["{}/chunks.txt", "--templates", "{}"], "^--templates {}: is a directory"),
        (["{}/tags.tsv", "--templates", "chunking"], "^--templates chunking: .*needs a word and its tag"),
        (["{}/chunks.txt", "--test", "{}/none.txt"], "^{}/none.txt: no such file"),
        (["{}/chunks.txt", "--test", "{}/tags.tsv"], "tags.tsv: column 2 is both the label and an input of"),
        (["{}/chunks.txt", "--test", "{}/test.txt", "--test-share", "0.1"], "cannot be combined"),
        (["{}/chunks.txt", "-o", "{}/nowhere/m"], "^{}/nowhere/m: cannot be written.*the folder {}/nowhere does not"),
        (["{}/chunks.txt", "-o", "{}/chunks.txt"], "chunks.txt: .*would overwrite it"),
        (["{}/chunks.txt", "--hash-bits", "40"], "hash_bits must be"),
        (["{}/chunks.txt", "--hash-bits", "9", "--min-count", "2"], "not counted"),
        (["{}/chunks.txt", "--step", "pa1", "--margin", "0"], "nothing is learned"),
        (["{}/chunks.txt", "--margin", "nan"], "margin"),
        (["{}/chunks.txt", "--max-iter", "0"], "^perceptrons tag train: .*--max-iter.*tag train --help"),
        (["{}/chunks.txt", "--resume", "{}/none.model"], "^{}/none.model: no such file"),
        (["{}/chunks.txt", "--resume", "{}/linear.model"], "linear.model: this is not a tagger.*use perceptrons train"),
        (["{}/chunks.txt", "--resume", "{}/python.model"], "python.model: .*computed in Python,"),
        (["{}/chunks.txt", "--resume", "{}/chunks.model", "--min-count", "2"], "^--min-count cannot change"),
        (["{}/chunks.txt", "--resume", "{}/chunks.model", "--templates", "words"], "^--templates cannot change"),
        (["{}/chunks.txt", "--resume", "{}/trees.model", "--columns", "1,2"], "2 columns, but the tagger needs 1:"),
        (["{}/chunks.txt", "--resume", "{}/chunks.model", "--allowed", "bioes"], "chunks.txt:\\d+:3: .*forbids"),
        ([], "perceptrons tag train: .*FILE"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_ends_with_code_2_and_one_clear_line(refused, folder, arguments, message):
    line = refused("tag", "train", *(argument.replace("{}", str(folder)) for argument in arguments))
    assert re.search(message.replace("{}", re.escape(str(folder))), line), line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", ":1:1: the file is empty"),
        (b"\n\n", ":1:1: there are no tokens in the file"),
        (b"a X\nb Y Z\n", ":2:3: 3 columns here, but 2 in line 1"),
        (b"a\tX\n\nb\t\n", ":3:2: the label is missing"),
        (b"a X\n\xe9 Y\n", ":2:1: byte 0xe9 is not utf-8 text"),
        (b"a X\n# Y\n", None),
        (b"a X\n# no word\nc Y\n", ":2:3: 3 columns here.*comment"),
        (b"a I-X\nb O\n", ":1:2: I-X at the start of a sentence"),
        (b"a O\n\nb O\nc I-X\n", ":4:2: I-X after O"),
        (b"1\ta\t_\tNOUN\t_\t_\t_\t_\t_\t_\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n", ":2:4: the label is missing"),
    ],
)
def test_bad_files_are_refused_by_line_and_nothing_is_written(run, refused, tmp_path, text, message):
    (tmp_path / "f").write_bytes(text)
    words = ["tag", "train", tmp_path / "f", "-o", tmp_path / "m", "--allowed", "bio"]
    if message is None:  # # is a word where columns are as many
        assert run(*words)[0] == 0
    else:
        assert re.match(re.escape(f"{tmp_path}/f") + message, refused(*words))
        assert not (tmp_path / "m").exists()


def test_bad_templates_are_refused_by_line(refused, folder, tmp_path):
    (tmp_path / "t").write_text("word\n# fine\nlemma[0]\n")
    assert refused("tag", "train", folder / "chunks.txt", "--templates", tmp_path / "t").startswith(
        f"{tmp_path}/t:3:1: The template 'lemma[0]' names 'lemma', which is not a column."
    )
    (tmp_path / "t").write_text("# nothing\n")
    assert "there is no template" in refused("tag", "train", folder / "chunks.txt", "--templates", tmp_path / "t")
    (tmp_path / "t").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in refused("tag", "train", folder / "chunks.txt", "--templates", tmp_path / "t")
    assert "would overwrite it" in refused(
        "tag", "train", folder / "chunks.txt", "--templates", tmp_path / "t", "-o", tmp_path / "t"
    )


def test_words_are_not_taken_for_labels(refused, tmp_path):
    (tmp_path / "f").write_text("".join(f"{k % 3} word{k}\n" for k in range(30)))
    assert "column 2 has 30 different values for 30 tokens, so these do not look like labels:" in refused(
        "tag", "train", tmp_path / "f"
    )
    (tmp_path / "f").write_text("".join(f"a {k}\n" * 6 for k in range(MAX_LABELS + 1)))
    assert f"{MAX_LABELS + 1:,} different values" in refused("tag", "train", tmp_path / "f")


def test_nothing_is_trained_if_the_output_cannot_be_written(refused, folder, monkeypatch):
    monkeypatch.setattr(SequencePerceptron, "fit", lambda *_: pytest.fail("it trained first"))
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    assert "permission denied" in refused("tag", "train", folder / "chunks.txt", "-o", folder / "new.model")


def test_a_bug_is_not_hidden_and_an_interruption_ends_with_130(run, folder, monkeypatch):
    def broken(*_):
        raise RuntimeError("a bug")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(SequencePerceptron, "fit", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        run("tag", "train", folder / "chunks.txt")
    monkeypatch.setattr(SequencePerceptron, "fit", interrupted)
    assert run("tag", "train", folder / "chunks.txt") == (130, "", "Interrupted.\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_while_a_tagger_learns_ends_with_130_and_writes_nothing(tmp_path):
    (tmp_path / "f").write_text("a X\nb Y\n\na Y\nb X\n")  # no tagger gets both right
    options = ["--max-iter", "1000000000", "--verbose", "--test-share", "0", "-o", tmp_path / "m"]
    command = [*PROGRAM, "tag", "train", tmp_path / "f", *options]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while "epoch" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Interrupted."
    assert not (tmp_path / "m").exists()


# ---- a validation set, and workers


def test_dev_is_the_validation_set_of_python(run, folder, made, tmp_path):
    words = ["--early-stopping", "--dev", folder / "test.txt", "--test-share", 0, "-o", tmp_path / "m", "--quiet"]
    assert run("tag", "train", folder / "chunks.txt", *words) == (0, "", "")
    dev = sentences(2, 20)
    expected = SequencePerceptron(
        templates=FeatureTemplates(columns=["word", "pos"]), early_stopping=True, validation_metric="phrase_f1"
    )
    expected.fit(of_columns(made, 0, 1), of_columns(made, 2), X_val=of_columns(dev, 0, 1), y_val=of_columns(dev, 2))
    assert same_weights(perceptrons.load(tmp_path / "m"), expected)


def test_the_report_names_what_early_stopping_went_by(run, folder):
    out = run("tag", "train", folder / "chunks.txt", "--early-stopping")[1]
    assert "phrase F1" in out.partition("Stopped")[0]
    told = json.loads(run("tag", "train", folder / "tags.tsv", "--early-stopping", "--json")[1])
    assert told["parameters"]["validation_metric"] == "accuracy"
    assert "validation_phrase_f1" not in told["history"][0]


def test_options_that_need_others_are_refused(refused, folder):
    train = ["tag", "train", folder / "chunks.txt"]
    assert "--dev is for early stopping" in refused(*train, "--dev", folder / "test.txt")
    assert "--metric is for early stopping" in refused(*train, "--metric", "accuracy")
    assert "--shards is for clusters" in refused(*train, "--shards", 2)
    assert "cannot be combined" in refused(*train, "--workers", 2, "--dask", "tcp://a:1")
    words = ["--workers", 2, "--early-stopping", "--dev", folder / "test.txt"]
    assert "--dev cannot be combined with --workers" in refused(*train, *words)
    words = ["tag", "train", folder / "tags.tsv", "--early-stopping", "--metric", "phrase_f1"]
    assert "phrase_f1 needs labels that mark phrases," in refused(*words)


@pytest.mark.parametrize("options", [[], *slow(["--early-stopping", "--mixing", "uniform"])], ids=str)
def test_workers_train_what_fit_of_python_trains_on_as_many_shards(run, folder, made, tmp_path, options):
    from distributed import Client

    from perceptrons.distributed import fit

    words = ["--workers", 2, "--max-iter", 3, "--test-share", 0, "-o", tmp_path / "m", "--json", *options]
    code, out, err = run("tag", "train", folder / "chunks.txt", *words)
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["workers"], told["shards"]) == (2, 2)
    expected = SequencePerceptron(templates=FeatureTemplates(columns=["word", "pos"]), max_iter=3)
    more = {}
    if options:
        expected.set_params(early_stopping=True, validation_metric="phrase_f1")
        more = {"mixing": "uniform"}
        assert all(0 <= row["validation_phrase_f1"] <= 1 for row in told["history"])
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
        fit(expected, of_columns(made, 0, 1), of_columns(made, 2), client, shards=2, **more)
    model = perceptrons.load(tmp_path / "m")
    assert same_weights(model, expected)
    assert model.label_column_ == "-1"
    assert [row.get("validation_phrase_f1") for row in expected.history_] == [
        row.get("validation_phrase_f1") for row in told["history"]
    ]
    if not options:
        again = ["--workers", 2, "--resume", tmp_path / "m", "--max-iter", 1, "-o", tmp_path / "n"]
        code, out, _ = run("tag", "train", folder / "chunks.txt", *again)
        assert code == 0
        assert "2 workers, 2 shards" in out
        assert perceptrons.load(tmp_path / "n").t_ == model.t_ + 0.9 * len(made)
