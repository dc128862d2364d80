"""Streams on the command line, in this process: train, predict, evaluate. Pipes and kills have files of their own."""

import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import confusion_matrix

import perceptrons
from perceptrons import Perceptron
from perceptrons.cli import main
from perceptrons.cli.options import Format, OnError, parse_n_grams, parse_seconds, parse_size
from perceptrons.data import FORMATS, stream
from tests.support.streams import Typed, points, texts, write_files

STREAM = ["--in-memory", "0"]
ALL = [*STREAM, "--test-share", "0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files, and models that learned from them as streams."""
    folder = write_files(tmp_path_factory.mktemp("streams"))
    for name, options in {
        "points": ["part-*.svm"],
        "mail": ["mail.tsv", "--format", "text"],
        "table": ["mail.jsonl", "--text-column", "text", "--categories", "shop"],
    }.items():
        data, *rest = options
        words = [*rest, *ALL, "--epochs", "3", "--quiet", "-o", str(folder / f"{name}.model")]
        assert main(["train", str(folder / data), *words]) == 0
    return folder


@pytest.fixture
def typed(monkeypatch):
    """Type something into standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", Typed(text))


def same_weights(path, model):
    found = perceptrons.load(path)
    np.testing.assert_array_equal(found.coef_, model.coef_)
    np.testing.assert_array_equal(found.intercept_, model.intercept_)
    return found


# ---- train


def test_the_formats_that_options_know_are_those_of_the_library():
    assert {*get_args(Format)} == {*FORMATS}
    assert get_args(OnError) == ("raise", "skip")


def test_several_files_a_pattern_and_standard_input_give_the_weights_that_python_gives(run, folder, tmp_path, typed):
    files = [folder / f"part-{part}.svm" for part in range(3)]
    expected = Perceptron().fit_stream(stream(*files), epochs=2)
    assert run("train", *files, *ALL, "--epochs", 2, "--quiet", "-o", tmp_path / "m") == (0, "", "")
    found = same_weights(tmp_path / "m", expected)
    assert (found.n_iter_, found.stop_reason_, found.progress_) == (2, "max_iter", expected.progress_)
    assert run("train", folder / "part-*.svm", *ALL, "--epochs", 2, "--quiet", "-o", tmp_path / "p")[0] == 0
    assert (tmp_path / "p").read_bytes() == (tmp_path / "m").read_bytes()
    one = Perceptron().fit_stream(stream(folder / "whole.svm"))
    typed((folder / "whole.svm").read_text())
    how = ["--format", "svmlight", "--quiet", "--epochs", 1]
    assert run("train", "-", *ALL, *how, "-o", tmp_path / "i") == (0, "", "")
    same_weights(tmp_path / "i", one)


@pytest.mark.parametrize(
    "options",
    [
        ["whole.svm"],
        ["whole.svm", "--text-labels"],
        ["part-*.svm"],
        ["part-0.svm", "part-1.svm", "part-2.svm"],
        ["-", "--format", "svmlight"],
        ["whole.svm", "--on-error", "skip", "--cache", "cache"],
        ["whole.svm", "--checkpoint", "c", "--every", "0s"],
        ["whole.svm", "--classes", "1,2,3"],
    ],
    ids=" ".join,
)
def test_data_that_fit_in_memory_are_learned_whole_however_they_are_read(
    run, folder, tmp_path, typed, monkeypatch, options
):
    monkeypatch.chdir(tmp_path)
    typed((folder / "whole.svm").read_text())
    data = [str(folder / part) if part.endswith(".svm") else part for part in options]
    assert run("train", *data, "--test-share", 0, "--quiet", "-o", "m") == (0, "", "")
    table = perceptrons.data.read(folder / "whole.svm")
    found = same_weights(tmp_path / "m", Perceptron().fit(table.X, table.y))
    assert found.n_iter_ > 1
    assert found.source_["format"] == "svmlight"
    assert not (tmp_path / "cache").exists()


def test_a_limit_that_the_data_exceed_makes_a_stream_of_them(run, folder, tmp_path, typed):
    how = ["--test-share", 0, "--epochs", 3, "--json", "-o", tmp_path / "m"]
    whole = json.loads(run("train", folder / "whole.svm", *how)[1])
    assert (whole["how"], whole["why_so"]) == ("whole", "0.1 MB of parsed data")
    for limit in ("20kB", "0"):
        found = json.loads(run("train", folder / "whole.svm", *how, "--in-memory", limit)[1])
        assert found["how"] == "stream"
        assert set(found) == set(whole)
        same_weights(tmp_path / "m", Perceptron().fit_stream(stream(folder / "whole.svm"), epochs=3))
    typed((folder / "whole.svm").read_text())
    read = ["-", "--format", "svmlight", "--in-memory", "20kB"]
    assert json.loads(run("train", *read, *how)[1])["why_so"].startswith("more than ")
    same_weights(tmp_path / "m", Perceptron().fit_stream(stream(folder / "whole.svm"), epochs=3))
    assert [parse_size(text) for text in ("0", "2GiB", "500MB", "1.5k", "7")] == [0, 2**31, 500_000_000, 1500, 7]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["part-0.svm", "--zero-based"], {"format": "svmlight", "zero_based": True}),
        (["part-0.svm", "--hash-bits", "4", "--text-labels"], {"hash_bits": 4, "text_labels": True}),
        (["mail.vw", "--hash-bits", "9"], {"format": "vw", "hash_bits": 9}),
        (["mail.tsv.gz", "--format", "text", "--words", "1-2"], {"form": "tab", "text": {"words": [1, 2]}}),
        (["mail.ft", "--words", "none", "--chars", "3"], {"text": {"words": None, "chars": [3, 3]}}),
        (["mail.tsv", "--format", "text", "--hash-bits", "0"], {"text": {"bits": None}}),
        (["mail.jsonl", "--text-column", "text", "--ignore", "size", "--ignore", "shop"], {"ignore": ["size", "shop"]}),
        (["mail.csv", "--label-column", "shop", "--epochs", "1"], {"label_column": "shop"}),
        (["mail.csv", "--categories", "shop", "--categories", "text"], {"categories": ["shop", "text"]}),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)  # fmt: skip
def test_options_say_how_files_are_read_and_the_model_remembers(run, folder, tmp_path, options, wanted):
    data, *rest = options
    assert run("train", folder / data, *rest, "--quiet", "-o", tmp_path / "m") == (0, "", "")
    source = perceptrons.load(tmp_path / "m").source_
    for name, value in wanted.items():
        found = {key: source[name][key] for key in value} if isinstance(value, dict) else source[name]
        assert found == value, name


def test_options_of_the_rule_hold_for_streams_too(run, folder, tmp_path):
    options = ["--step", "pa1", "--C", 0.1, "--combine", "last", "--no-shuffle", "--no-intercept", "--seed", 4]
    rule = ["--classes", "1,2,3", "--cost", '{"1": {"2": 3}}', "--class-weight", '{"3": 0.5}']
    rule += [*ALL, "--epochs", 1]
    assert run("train", folder / "part-*.svm", *options, *rule, "--quiet", "-o", tmp_path / "m") == (0, "", "")
    expected = Perceptron(
        step="pa1", C=0.1, combine="last", shuffle=False, fit_intercept=False, random_state=4,
        cost={1: {2: 3.0}}, class_weight={3: 0.5}, max_iter=1, tol=None,
    ).fit_stream(stream(folder / "part-*.svm"), classes=[1, 2, 3])  # fmt: skip
    assert same_weights(tmp_path / "m", expected).get_params() == expected.get_params()


def test_classes_that_are_words_stay_words(run, folder, tmp_path):
    options = ["--classes", "1, 2, 3, 7", "--text-labels", "--quiet", "-o", tmp_path / "m"]
    assert run("train", folder / "part-0.svm", *options) == (0, "", "")
    assert perceptrons.load(tmp_path / "m").classes_.tolist() == ["1", "2", "3", "7"]


def test_the_table_has_a_line_at_1_2_4_8_examples_and_at_the_end(run, folder):
    code, out, err = run("train", folder / "part-*.svm", *ALL, "--epochs", 2)
    assert (code, err) == (0, "")
    rows = re.findall(r"^ +([\d,]+) +([\d,]+) +([\d.]+)% +([\d.]+)%", out, re.MULTILINE)
    marks = [(int(n.replace(",", "")), int(wrong.replace(",", ""))) for n, wrong, _, _ in rows]
    assert marks == Perceptron().fit_stream(stream(folder / "part-*.svm")).progress_
    assert [n for n, _ in marks] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1200]
    before = (0, 0)
    for (n, wrong), (_, _, so_far, since) in zip(marks, rows, strict=True):
        assert float(so_far) == pytest.approx(100 * wrong / n, abs=0.006)
        assert float(since) == pytest.approx(100 * (wrong - before[1]) / (n - before[0]), abs=0.006)
        before = n, wrong


@pytest.mark.parametrize(("multiclass", "n_predictions"), [("joint", 1), ("ovr", 4), ("ovo", 3)])
def test_a_progressive_error_is_a_share_of_the_predictions_in_all_binary_problems(
    run, tmp_path, rng, multiclass, n_predictions
):
    data = tmp_path / "four.csv"
    X, y = rng.normal(size=(300, 2)).round(3), rng.integers(0, 4, 300)
    data.write_text("a,b,k\n" + "".join(f"{a},{b},c{k}\n" for (a, b), k in zip(X, y, strict=True)))
    how = ["train", data, "--in-memory", 0, "--epochs", 1, "--test-share", 0, "--multiclass", multiclass]
    told = json.loads(run(*how, "--json")[1])
    last = told["progressive"][-1]
    assert told["progressive_error"] == last["error"] == last["mistakes"] / (n_predictions * 300)
    out = " ".join(run(*how)[1].split())
    assert f"Progressive error {100 * last['error']:.2f}% ({last['mistakes']:,} of {n_predictions * 300:,} p" in out
    errors = [float(number) for number in re.findall(r"([\d.]+)%", out)]
    assert max(errors) <= 100


def test_the_report_says_how_it_went_what_tells_and_what_to_try(run, folder, tmp_path):
    code, out, err = run(
        "train", folder / "part-*.svm", *STREAM, "--epochs", 2, "--test", folder / "test.svm", "-o", tmp_path / "m"
    )
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    model = perceptrons.load(tmp_path / "m")
    table = perceptrons.data.read(folder / "test.svm")
    how = "Trained while they are read (requested by --in-memory 0)"
    assert f"3 files: {folder}/part-0.svm ... {folder}/part-2.svm {how} {folder}/test.svm for testing" in words
    assert f"epoch mistakes updates 1 {model.mistakes_[0]} " in words
    assert "All 2 epochs are done" in words
    assert f"5 features; 3 classes: 1, 2, 3 Progressive error {model.mistakes_[0] / 12:.2f}%" in words
    assert f"Test accuracy {100 * model.score(table.X, table.y):.1f}% (" in words
    strongest = 1 + np.argmax(np.abs(model.coef_), axis=1)
    assert re.search(rf"\n1 +column {strongest[0]} +[+-]", out)
    assert f"Saved as {tmp_path}/m" in out
    assert out.count("\n  perceptrons ") == 3
    assert f"perceptrons train '{folder}/part-*.svm' --test {folder}/test.svm --in-memory 0 --epochs 4" in out
    above = out.split("Saved as")[0].replace(str(folder), "")
    assert max(map(len, above.splitlines())) <= 80


def test_suggestions_after_one_pass_are_to_save_to_go_on_and_to_test(run, folder):
    again = f"perceptrons train {folder}/mail.vw"
    out = run("train", folder / "mail.vw", "--hash-bits", 4, "--epochs", 1, *ALL)[1]
    assert f"{again} --test-share 0.0 --hash-bits 4 --epochs 1 --in-memory 0 -o mail.model\n" in out
    assert f"{again} --test-share 0.0 --epochs 1 --in-memory 0 --hash-bits 6\n" in out
    assert f"{again} --hash-bits 4 --epochs 1 --in-memory 0 --test FILE\n" in out
    assert "read once, as requested" in out
    out = run("train", folder / "mail.vw", "--epochs", 1)[1]
    assert f"{again} --epochs 1 -o mail.model\n" in out
    assert f"{again} --epochs 2\n" in out
    assert "--test FILE" not in out  # some were held out


def test_json_is_one_object_with_everything(run, folder, tmp_path):
    how = ["--format", "text", "--epochs", 2, "--test", folder / "mail.tsv.gz"]
    code, out, err = run("train", folder / "mail.tsv", *how, *STREAM, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    found = json.loads(out)
    assert (found["data"], found["how"]) == (str(folder / "mail.tsv"), "stream")
    assert found["classes"] == ["ham", "spam"]
    assert (found["examples"], found["test_examples"], found["epochs"]) == (600, 600, 2)
    assert [row["examples"] for row in found["progressive"]] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600]
    assert all(row["error"] == row["mistakes"] / row["examples"] for row in found["progressive"])
    assert found["progressive_error"] == found["mistakes"][0] / 600
    assert [row["mistakes"] for row in found["history"]] == found["mistakes"]
    assert found["stop_reason"] == "max_iter"
    assert (found["skipped"], found["complaints"], found["resumed"], found["model"]) == (0, [], False, None)
    assert found["test_accuracy"] > 0.8
    assert found["hashing"]["bits"] == 20
    assert found["source"]["form"] == "tab"
    assert {weight["feature"] for row in found["weights"] for weight in row["weights"]} & {
        "free",
        "home",
        "prize",
        "mum",
    }
    assert found["seconds"] > 0


def test_records_that_are_no_examples_stop_it_or_are_skipped_and_counted(run, refused, folder):
    for how in (ALL, ["--test-share", "0"]):
        line = refused("train", folder / "bad.svm", *how, "--epochs", 1, "--quiet")
        assert line.startswith(f"{folder}/bad.svm:2:3: 'x' is not a number")
        code, out, err = run("train", folder / "bad.svm", *how, "--on-error", "skip")
        assert (code, err) == (0, "")
        assert f"2 records were skipped. The first: {folder}/bad.svm:2:3: " in out
        assert f"    {folder}/bad.svm:4:" in out
        found = json.loads(run("train", folder / "bad.svm", *how, "--on-error", "skip", "--json")[1])
        assert (found["examples"], found["skipped"], len(found["complaints"])) == (3, 2, 2)


def test_the_live_line_goes_to_stderr(run, folder, monkeypatch):
    monkeypatch.setattr("perceptrons.cli.progress.SECONDS_BETWEEN_DRAWS", 0)
    code, out, err = run("train", folder / "part-*.svm", *STREAM, "--epochs", 3, "--verbose", "--json")
    assert code == 0
    assert json.loads(out)["epochs"] == 3
    assert re.search(r"\r\x1b\[2Kepoch 1 of 3  [\d,]+ examples  [\d,]+/s  error [\d.]+%", err)
    assert err.endswith("\r\x1b[2K")


REFUSED = [
    (["part-0.svm", "--epochs", "2", "--tol", "0"], "^--epochs and --tol cannot be combined"),
    (["part-0.svm", "--epochs", "2", "--max-iter", "5"], "^--epochs and --max-iter cannot be combined"),
    (["part-0.svm", "--test", "test.svm", "--test-share", "0.1"], "^--test and --test-share cannot be combined"),
    (
        [*STREAM, "part-0.svm", "--kernel", "rbf"],
        "^--kernel needs .* memory, which --in-memory 0 forbids: raise",
    ),
    ([*STREAM, "part-0.svm", "--class-weight", "balanced"], '^--class-weight balanced needs .*{"class": weight}'),
    (["part-0.svm", "--in-memory", "much"], "--in-memory.*much is not a size. Write 2GiB,"),
    (["part-0.svm", "--every", "5m"], "^--every needs --checkpoint"),
    (["part-0.svm", "--resume"], "^--resume needs --checkpoint"),
    (["part-0.svm", "--checkpoint", "c", "--every", "soon"], "--every.*soon is not a time. Write 60s, 5m"),
    (["part-0.svm", "--words", "1-2"], "^--words does not apply to files of format 'svmlight': leave it out."),
    (["mail.tsv", "--format", "text", "--words", "2-1"], "words"),
    (["mail.tsv", "--format", "text", "--words", "two"], "--words.*two is not a range"),
    (["mail.tsv", "--format", "text", "--words", "none"], "leaves no features"),
    (["mail.tsv", "--format", "text", "--label-column", "x"], "^--label-column does not apply to .* 'text'"),
    (["part-0.svm", "--ignore", "x"], "^--ignore does not apply to files of format 'svmlight':"),
    (["mail.vw", "--zero-based"], "^--zero-based does not apply to files of format 'vw':"),
    (["mail.jsonl", "--text-column", "nothing"], "nothing"),
    (["part-0.svm", "--hash-bits", "32"], "--hash-bits"),
    (["part-0.svm", "--epochs", "0"], "--epochs"),
    (["part-0.svm", "--on-error", "ignore"], "--on-error"),
    (["part-0.svm", "--classes", "1"], "^--classes 1: give two or more classes,"),
    (["part-0.svm", "--classes", "1,1"], "^--classes 1,1: give two or more classes, each once,"),
    (["part-0.svm", "--classes", "1,2"], "3"),
    ([*STREAM, "part-0.svm", "--cost", '{"1": {"2": 3}}'], "^--cost needs --classes here"),
    (["part-0.svm", "--classes", "1,2,3", "--cost", '{"1": {"9": 3}}'], "^--cost: .*'9'.*not among"),
    (["part-0.svm", "none.svm"], "none.svm: no such file or directory$"),
    (["part-0.svm", "."], "is a directory"),
    (["none-*.svm"], "none-\\*.svm: no file matches the pattern"),
    (["part-0.svm", "mail.tsv", "--quiet"], "mail.tsv:1:6: "),
    (["a.npz", "b.npz"], "^a.npz: no such file"),
    (["part-0.svm", "--format", "npz", "--epochs", "2"], "^part-0.svm: .*npz"),
    (["part-*.svm", "--test", "none.svm"], "none.svm: no such file"),
    (["part-*.svm", "-o", "part-1.svm"], "part-1.svm: this command reads the file and would overwrite it:"),
    (["part-*.svm", "--checkpoint", "part-1.svm"], "part-1.svm: this command reads the file and would overwrite it:"),
    (["part-*.svm", "--cache", "part-1.svm"], "part-1.svm: this command reads the file and would overwrite it:"),
    (["part-*.svm", "--checkpoint", "no/c"], "no/c: cannot be written"),
    (["part-*.svm", "--checkpoint", "c", "-o", "c"], "name the same file"),
    ([*STREAM, "part-*.svm", "--cache", "mail.vw", "--epochs", "2"], "mail.vw: this is not a cache"),
    (["--example", "digits"], "--example.*sms"),
    (["--example", "sms", "part-0.svm"], "^DATA cannot be combined with --example"),
    (["--example", "sms", "--test", "part-0.svm"], "^--test cannot be combined with --example"),
    (["--example", "sms", "--format", "text"], "^--format cannot be combined with --example"),
]


@pytest.mark.parametrize(
    ("options", "message"), REFUSED, ids=lambda part: " ".join(part) if isinstance(part, list) else ""
)
def test_what_cannot_be_done_with_a_stream_is_refused_in_one_line(refused, folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    line = refused("train", *options)
    assert re.search(message, line), line
    assert sorted(folder.iterdir()) == before


def test_times_and_ranges_are_read_as_people_write_them():
    assert [parse_seconds(text) for text in ("60s", "5m", "90", "1h", "0.5s", "0", ".5")] == [
        60,
        300,
        90,
        3600,
        0.5,
        0,
        0.5,
    ]
    assert [str(parse_n_grams(text)) for text in ("1-2", "3", "2-2", "none")] == ["1-2", "3", "2", "none"]
    assert [parse_n_grams(text).sizes() for text in ("1-2", "3", "none")] == [(1, 2), (3, 3), None]


def test_a_cache_is_kept_and_used_again(run, folder, tmp_path):
    options = [*STREAM, "--epochs", 3, "--cache", tmp_path / "cache", "--quiet", "-o"]
    assert run("train", folder / "part-*.svm", *options, tmp_path / "a") == (0, "", "")
    changed = (tmp_path / "cache").stat().st_mtime_ns
    assert run("train", folder / "part-*.svm", *options, tmp_path / "b") == (0, "", "")
    assert (tmp_path / "cache").stat().st_mtime_ns == changed
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# ---- checkpoints


@pytest.fixture
def stopped(run, folder, tmp_path, monkeypatch):
    """A run that Ctrl-C ended in its second epoch; gives its options."""
    options = [folder / "part-*.svm", *ALL, "--epochs", 4]
    options += ["--checkpoint", tmp_path / "c", "--every", 0, "-o", tmp_path / "m"]
    learn, blocks = Perceptron._meet_block, []

    def interrupted(self, *arguments):
        blocks.append(1)
        if len(blocks) == 5:
            raise KeyboardInterrupt
        return learn(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Perceptron, "_meet_block", interrupted)
        code, out, err = run("train", *options)
    assert code == 130
    saved = f"Interrupted. The state is saved in {tmp_path}/c: the same command with --resume continues from there.\n"
    assert err == saved
    assert "1,200" in out
    assert not (tmp_path / "m").exists()
    return options


def test_a_run_that_was_interrupted_goes_on_and_ends_as_if_it_never_stopped(run, folder, tmp_path, stopped):
    code, out, err = run("train", *stopped, "--resume")
    assert (code, err) == (0, "Resuming in epoch 2, after 400 examples.\n")
    assert "examples/s" not in out
    assert run("train", folder / "part-*.svm", *ALL, "--epochs", 4, "-o", tmp_path / "whole", "--quiet")[0] == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
    found = json.loads(run("train", *stopped, "--resume", "--json")[1])
    assert (found["resumed"], found["epochs"], len(found["progressive"])) == (True, 4, 12)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_damaged_checkpoint_is_told_and_the_one_before_it_used(run, folder, tmp_path, stopped):
    os.truncate(tmp_path / "c", 300)
    code, _, err = run("train", *stopped, "--resume")
    assert code == 0
    assert re.match(
        rf"{tmp_path}/c: .*truncated.* The previous checkpoint, c.before, is used.\nResuming in epoch 2, ", err
    )
    assert run("train", folder / "part-*.svm", *ALL, "--epochs", 4, "-o", tmp_path / "whole", "--quiet")[0] == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_if_no_checkpoint_is_sound_nothing_is_learned(refused, tmp_path, stopped):
    os.truncate(tmp_path / "c", 300)
    os.truncate(tmp_path / "c.before", 300)
    assert refused("train", *stopped, "--resume").startswith("No checkpoint is valid: ")


def test_a_checkpoint_is_not_overwritten_nor_used_for_something_else(refused, folder, tmp_path, stopped):
    assert "the checkpoint already exists: resume from it" in refused("train", *stopped)
    assert "combine='average', but it is now 'last'" in refused("train", *stopped, "--resume", "--combine", "last")
    other = [folder / "whole.svm", *stopped[1:]]
    assert "other files" in refused("train", *other, "--resume")


def test_resuming_without_a_checkpoint_begins_at_the_beginning_and_says_so(run, folder, tmp_path):
    options = [folder / "part-0.svm", *STREAM, "--checkpoint", tmp_path / "c", "--resume"]
    code, out, err = run("train", *options, "--epochs", 1)
    assert (code, err) == (0, f"{tmp_path}/c: there is no checkpoint yet, so training starts from the beginning.\n")
    assert "examples/s" in out
    code, out, err = run("train", *options, "--epochs", 2)
    assert (code, err) == (0, "The checkpoint was saved after 1 epoch.\n")
    assert perceptrons.load(tmp_path / "c").n_iter_ == 2
    assert run("train", *options, "--epochs", 3, "--quiet") == (0, "", "")


def test_a_full_disk_is_one_line_and_the_last_checkpoint_stays(refused, folder, tmp_path, monkeypatch):
    written = []

    def full(handle):
        written.append(handle)
        if len(written) > 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    options = [*ALL, "--checkpoint", tmp_path / "c", "--every", 0, "--quiet"]
    line = refused("train", folder / "part-*.svm", *options)
    assert line == f"{tmp_path}/c: no space left on device: the last checkpoint is intact"
    assert perceptrons.load(tmp_path / "c").history_[-1]["examples"] == 800
    written[:] = [1, 1]
    assert (
        "no space left on device"
        in refused("train", folder / "part-*.svm", *STREAM, "-o", tmp_path / "m", "--quiet").lower()
    )
    assert not (tmp_path / "m").exists()


def test_a_full_disk_under_the_cache_is_one_line(refused, folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("perceptrons.engine.streaming.cache.ArrayFile.append", full)
    line = refused("train", folder / "part-*.svm", *STREAM, "--epochs", 2, "--quiet")
    assert "no space left on device" in line
    assert "TMPDIR" in line


def test_a_package_that_is_missing_is_named(refused, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    for name in [name for name in sys.modules if name.startswith("pyarrow.")]:
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "a.svm.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    assert "perceptrons[files]" in refused("train", tmp_path / "a.svm.zst", "--epochs", 1)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    assert "perceptrons[files]" in refused("train", tmp_path / "a.parquet")


def test_a_file_that_changes_before_it_is_read_again_is_one_line(refused, folder, tmp_path, monkeypatch):
    path = tmp_path / "a.svm"
    path.write_text((folder / "part-0.svm").read_text())
    learn = Perceptron._meet_block

    def meanwhile(self, *arguments):
        path.write_text("1 1:1\n")
        return learn(self, *arguments)

    monkeypatch.setattr(Perceptron, "_meet_block", meanwhile)
    line = refused("train", path, *[folder / "part-1.svm"] * 20, path, *STREAM, "--quiet")
    assert line.startswith(f"{path}: the file ")


# ---- the example


def test_the_example_shows_raw_text_to_readable_weights(run, tmp_path):
    code, out, err = run("train", "--example", "sms", "-o", tmp_path / "sms.model")
    assert (code, err) == (0, "")
    assert "The first 3,902 messages for training, the last 1,672 for testing" in out
    assert "CC BY 4.0" in out
    assert float(re.search(r"Test accuracy ([\d.]+)%", out)[1]) > 98
    assert re.search(r"\ntxt +\+[\d.]+ +█+ +for spam", out)
    assert "always predicting ham would give 86.4%" in out
    assert f'echo "win a free prize" | perceptrons predict {tmp_path}/sms.model -' in out
    above = out.split("Saved as")[0]
    assert max(map(len, above.splitlines())) <= 80
    model = perceptrons.load(tmp_path / "sms.model")
    assert model.stop_reason_ == "tol"
    assert model.t_ == model.n_iter_ * 3902


def test_options_for_text_hold_for_the_example(run):
    found = json.loads(run("train", "--example", "sms", "--epochs", 1, "--words", "1-2", "--hash-bits", 0, "--json")[1])
    assert (found["data"], found["epochs"], found["hashing"]) == ("sms", 1, None)
    assert found["source"]["text"]["words"] == [1, 2]
    assert found["n_features"] > 20_000
    out = run("train", "--example", "sms", "--epochs", 1)[1]
    assert "perceptrons train --example sms --epochs 1 -o sms.model" in out


def test_the_example_is_the_published_file_and_says_whose_it_is():
    folder = Path(perceptrons.data.__file__).parent / "examples"
    content = perceptrons.data.source.read_bytes(folder / "sms-spam.tsv.gz")
    lines = content.decode().splitlines()
    assert (len(content), len(lines)) == (477_907, 5574)
    assert sum(line.startswith("spam\t") for line in lines) == 747
    about = (folder / "README.md").read_text()
    assert hashlib.sha256(content).hexdigest() in about
    assert all(words in about for words in ("CC BY 4.0", "Almeida", "Gómez Hidalgo", "archive.ics.uci.edu"))
    assert f"{len(lines) - len(set(lines))} messages repeat" in about


# ---- predict


def test_predict_gives_a_label_a_line_in_order_from_files_patterns_and_standard_input(run, folder, typed):
    model = perceptrons.load(folder / "points.model")
    X = sp.csr_matrix(np.vstack([points(400, part)[0] for part in range(3)]))
    expected = "".join(f"{label}\n" for label in model.predict(X))
    assert run("predict", folder / "points.model", folder / "part-*.svm") == (0, expected, "")
    assert run("predict", folder / "points.model", *(folder / f"part-{k}.svm" for k in range(3))) == (0, expected, "")
    for data in (["-"], []):
        typed((folder / "whole.svm").read_text())
        assert run("predict", folder / "points.model", *data) == (0, expected, "")


def test_predict_reads_texts_with_and_without_labels(run, folder, typed):
    labelled = run("predict", folder / "mail.model", folder / "mail.tsv.gz")[1]
    assert np.mean([a == b for a, b in zip(labelled.split(), texts(600)[0], strict=True)]) > 0.85
    typed("".join(f"{text}\n" for text in texts(600)[1]))
    assert run("predict", folder / "mail.model", "-") == (0, labelled, "")


def test_scores_come_below_a_heading_and_json_is_an_object_a_line(run, folder):
    model, X = perceptrons.load(folder / "points.model"), sp.csr_matrix(points(300, 9)[0])
    lines = run("predict", folder / "points.model", folder / "test.svm", "--scores")[1].splitlines()
    assert lines[0] == "label\tscore of 1\tscore of 2\tscore of 3"
    assert len(lines) == 301
    scores = np.array([[float(score) for score in line.split("\t")[1:]] for line in lines[1:]])
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-5)
    lines = run("predict", folder / "points.model", folder / "test.svm", "--scores", "--json")[1].splitlines()
    found = [json.loads(line) for line in lines]
    assert [one["label"] for one in found] == model.predict(X).tolist()
    np.testing.assert_allclose([list(one["scores"].values()) for one in found], model.decision_function(X))
    assert list(found[0]["scores"]) == ["1", "2", "3"]
    first = json.loads(
        run("predict", folder / "mail.model", folder / "mail.tsv", "--json", "--scores")[1].splitlines()[0]
    )
    assert list(first["scores"]) == ["spam"]
    bare = json.loads(run("predict", folder / "mail.model", folder / "mail.tsv", "--json")[1].splitlines()[0])
    assert bare == {**first, "scores": None}
    assert list(bare) == ["label", "scores", "probabilities", "line", "file", "error"]


def test_what_comes_before_a_bad_line_is_answered_and_then_the_line_is_named(run, folder, tmp_path, typed):
    good = (folder / "part-0.svm").read_text().splitlines(keepends=True)
    (tmp_path / "a.svm").write_text("".join([*good[:7], "1 2:oops\n", *good[7:9], "x 1\n"]))
    answers = run("predict", folder / "points.model", folder / "part-0.svm")[1].splitlines(keepends=True)
    code, out, err = run("predict", folder / "points.model", tmp_path / "a.svm")
    assert (code, out) == (2, "".join(answers[:7]))
    assert err.startswith(f"{tmp_path}/a.svm:8:3: ")
    assert err.count("\n") == 1
    code, out, err = run(
        "predict", folder / "points.model", folder / "part-0.svm", tmp_path / "a.svm", folder / "part-1.svm"
    )
    assert (code, out) == (2, "".join([*answers, *answers[:7]]))
    code, out, err = run("predict", folder / "points.model", tmp_path / "a.svm", "--on-error", "skip")
    assert (code, out) == (0, "".join([*answers[:7], "\n", *answers[7:9], "\n"]))  # one line for every record
    assert err.startswith(f"2 records were skipped. The first: {tmp_path}/a.svm:8:3: ")
    (tmp_path / "b.svm").write_text("1 9:1\n" + good[0])
    code, out, err = run("predict", folder / "points.model", tmp_path / "b.svm", folder / "part-0.svm")
    assert (code, out) == (2, "")
    assert "the model has features 1 to 5" in err
    typed("".join([*good[:2], "1 1\n"]))
    code, out, err = run("predict", folder / "points.model")
    assert (code, out) == (2, "".join(answers[:2]))
    assert err.startswith("<stdin>:3:3: ")


def test_words_never_seen_count_nothing(run, folder, typed):
    typed("zzz qqq\n\n")
    bias = perceptrons.load(folder / "mail.model").intercept_[0]
    code, out, err = run("predict", folder / "mail.model", "--scores")
    assert (code, err) == (0, "")
    assert float(out.splitlines()[1].split("\t")[1]) == pytest.approx(bias, rel=1e-5)


def test_tables_of_other_kinds_are_read_by_the_names_of_their_columns(run, folder, tmp_path):
    expected = run("predict", folder / "table.model", folder / "mail.jsonl")
    assert expected[0] == 0
    assert run("predict", folder / "table.model", folder / "mail.csv") == expected
    unlabelled = [json.loads(line) for line in (folder / "mail.jsonl").read_text().splitlines()]
    for row in unlabelled:
        del row["label"]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in unlabelled))
    assert run("predict", folder / "table.model", tmp_path / "new.jsonl") == expected
    (tmp_path / "renamed.jsonl").write_text((tmp_path / "new.jsonl").read_text().replace('"text"', '"message"'))
    assert run("predict", folder / "mail.model", tmp_path / "renamed.jsonl", "--format", "jsonl", "--text-column",
               "message")[0] == 0  # fmt: skip


def test_predict_writes_to_a_file(run, folder, tmp_path):
    expected = run("predict", folder / "mail.model", folder / "mail.tsv")[1]
    assert run("predict", folder / "mail.model", folder / "mail.tsv", "-o", tmp_path / "out") == (0, "", "")
    assert (tmp_path / "out").read_text() == expected


def test_models_that_learned_in_memory_read_standard_input_too(run, refused, folder, tmp_path, typed):
    assert run("train", folder / "part-0.svm", "--quiet", "-o", tmp_path / "m")[0] == 0
    expected = run("predict", tmp_path / "m", folder / "test.svm")[1]
    typed((folder / "test.svm").read_text())
    assert run("predict", tmp_path / "m", "--format", "svmlight") == (0, expected, "")
    typed((folder / "test.svm").read_text())
    lines = run("predict", tmp_path / "m", "-", "--format", "svmlight", "--json")[1].splitlines()
    assert [str(json.loads(line)["label"]) for line in lines] == expected.split()
    typed("0.5,1,2,3,4\n1,1,1,1,1\n")
    assert len(run("predict", tmp_path / "m", "-", "--format", "csv")[1].split()) == 2
    both = run("predict", tmp_path / "m", folder / "test.svm", folder / "part-*.svm")[1]
    assert both.startswith(expected)
    assert len(both.split()) == 1500
    assert run("predict", tmp_path / "m", folder / "test.svm", "--on-error", "skip") == (0, expected, "")
    assert "--text-column does not apply to" in refused(
        "predict", tmp_path / "m", folder / "test.svm", "--text-column", "x"
    )


def test_models_that_learned_from_arrays_read_what_has_numbers_for_columns(run, refused, folder, tmp_path, typed):
    table = perceptrons.data.read(folder / "part-0.svm")
    model = Perceptron().fit(table.X, table.y)
    perceptrons.save(model, tmp_path / "m")
    expected = "".join(f"{label}\n" for label in model.predict(perceptrons.data.read(folder / "test.svm").X))
    for data in ([folder / "test.svm"], [folder / "test.svm", "--on-error", "skip"]):
        assert run("predict", tmp_path / "m", *data) == (0, expected, "")
    for data in (["-"], []):
        typed((folder / "test.svm").read_text())
        assert run("predict", tmp_path / "m", *data, "--format", "svmlight") == (0, expected, "")
    assert "perceptrons predict: DATA is missing" in refused("predict", tmp_path / "m")
    assert "<stdin>: the file is empty: choose one of csv, tsv, " in refused("predict", tmp_path / "m", "-")
    assert "was not trained on files of format vw," in refused("predict", tmp_path / "m", folder / "mail.vw")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "points.model", "none.svm"], "^none.svm: no such file"),
        (["predict", "points.model", "none*.svm"], "^none\\*.svm: no file matches the pattern"),
        (["predict", "points.model", "mail.tsv"], "^mail.tsv:1:1: 2 columns here, but the model has 5"),
        (["predict", "points.model", "part-0.svm", "--text-column", "x"], "^--text-column does not apply to"),
        (["predict", "points.model", "part-0.svm", "--label-column", "x"], "^--label-column does not apply to"),
        (["evaluate", "points.model", "mail.tsv", "--format", "svmlight"], "^mail.tsv:1:"),
        (["evaluate", "mail.model", "-"], "closed|no example"),
        *(
            ([command, "points.model", "commas.csv", "--format", "svmlight"], r"^commas.csv:1:1: .*--format csv")
            for command in ("predict", "evaluate")
        ),
    ],
)
def test_what_cannot_be_read_for_a_model_is_refused(refused, folder, monkeypatch, arguments, message):
    (folder / "commas.csv").write_text("0,0,no\n0,1,yes\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", None)
    line = refused(*arguments)
    assert re.search(message, line), line


# ---- evaluate


def test_evaluate_of_a_stream_agrees_with_scikit_learn(run, folder):
    model = perceptrons.load(folder / "points.model")
    parts = [points(400, part) for part in range(3)]
    X, y = sp.csr_matrix(np.vstack([X for X, _ in parts])), np.concatenate([y for _, y in parts])
    code, out, err = run("evaluate", folder / "points.model", folder / "part-*.svm", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["confusion"] == confusion_matrix(y, model.predict(X)).tolist()
    assert (found["examples"], found["skipped"]) == (1200, 0)
    out = run("evaluate", folder / "points.model", *(folder / f"part-{part}.svm" for part in range(3)))[1]
    assert out.startswith(f"Accuracy {100 * model.score(X, y):.1f}% (")
    assert "Confusion matrix: true class in rows," in out


def test_evaluate_counts_labels_it_does_not_know_and_records_it_skips(run, refused, folder, tmp_path):
    lines = (folder / "part-0.svm").read_text().splitlines(keepends=True)
    (tmp_path / "a.svm").write_text("".join([f"+{line}" for line in lines[:200]] + ["9 1:1\n", "1 1:x\n"]))
    assert refused("evaluate", folder / "points.model", tmp_path / "a.svm").startswith(f"{tmp_path}/a.svm:202:3: ")
    code, out, err = run("evaluate", folder / "points.model", tmp_path / "a.svm", "--on-error", "skip", "--json")
    assert (code, err.split(".")[0]) == (0, "1 record was skipped")
    found = json.loads(out)
    assert (found["examples"], found["unknown_labels"], found["skipped"]) == (201, [9], 1)
    (tmp_path / "b.svm").write_text("8 1:1\n9 1:1\n")
    assert "none of its labels (8, 9) is a class" in refused("evaluate", folder / "points.model", tmp_path / "b.svm")
    (tmp_path / "c.svm").write_text("".join(f"{k} 1:1\n" for k in range(1500)))
    assert "more than 1,000 labels" in refused("evaluate", folder / "points.model", tmp_path / "c.svm")
    (tmp_path / "d.svm").write_text("\n\n")
    assert "there are no examples in it" in refused("evaluate", folder / "points.model", tmp_path / "d.svm")


def test_evaluate_several_files_in_memory(run, folder, tmp_path):
    assert run("train", folder / "part-0.svm", "--quiet", "-o", tmp_path / "m")[0] == 0
    one, two = (np.array(json.loads(run("evaluate", tmp_path / "m", folder / name, "--json")[1])["confusion"])
                for name in ("part-1.svm", "test.svm"))  # fmt: skip
    found = json.loads(run("evaluate", tmp_path / "m", folder / "part-1.svm", folder / "test.svm", "--json")[1])
    assert found["confusion"] == (one + two).tolist()
    assert found["data"] == [str(folder / "part-1.svm"), str(folder / "test.svm")]
