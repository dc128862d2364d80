"""What the command prints never steers the terminal, whatever names, labels and tokens hold."""

import warnings

import numpy as np
import pytest

from perceptrons.cli import main
from perceptrons.cli.messages import plain, saying_warnings, visible
from perceptrons.cli.screen import Screen
from perceptrons.engine.wording import percent

ESCAPE = "\x1b]0;title\x07\x1b[2J\x9b1m"  # sets the window's title, clears the screen


def steering(text):
    return [letter for letter in text if not letter.isprintable() and letter not in "\n"]


def test_names_of_files_and_labels_are_printed_without_control_characters(tmp_path, capsys):
    rng = np.random.default_rng(0)
    data, saved = tmp_path / f"da{ESCAPE.replace('/', '')}ta.csv", tmp_path / f"mo{ESCAPE}del"
    rows = [f"{a:.3f},{b:.3f},{'no' if a > b else 'y' + ESCAPE}" for a, b in rng.normal(size=(40, 2))]
    data.write_text(f"si{ESCAPE}ze,age,kind\n" + "\n".join(rows) + "\n")
    for command in (
        ["train", data, "-o", saved], ["inspect", saved], ["evaluate", saved, data], ["predict", saved, data],
        ["inspect", saved, "--data", data, "--example", "1"], ["diagnose", data],
    ):  # fmt: skip
        assert main([str(word) for word in command]) == 0
        out = capsys.readouterr()
        assert not steering(out.out + out.err), command
    assert main(["predict", str(saved), str(tmp_path / f"missing{ESCAPE}")]) == 2
    error = capsys.readouterr().err
    assert not steering(error)
    assert "missing\\x1b]0;title" in error
    data.write_text("size,age,kind\n1,x" + ESCAPE + ",a\n")
    assert main(["train", str(data), "-o", str(saved)]) == 2
    assert not steering(capsys.readouterr().err)


def test_a_reason_that_takes_two_lines_is_indented_on_both(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    Screen().show_suggestions([("perceptrons train", "it fits the training set better than the test set")])
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "      it fits the training set better", "      than the test set",
    ]  # fmt: skip


def test_shares_that_are_almost_all_are_not_rounded_to_all():
    assert [percent(share) for share in (0, 1, 0.5, 0.9996, 0.99997, 0.000004)] == [
        "0.0%", "100.0%", "50.0%", "99.96%", "99.997%", "0.0004%",
    ]  # fmt: skip


def test_tokens_and_tags_are_printed_without_control_characters(tmp_path, capsys):
    data, saved = tmp_path / "a.conll", tmp_path / "tagger"
    data.write_text(f"the\tD\nd{ESCAPE}og\tN{ESCAPE}\n\nthe\tD\ncat\tN\n\n" * 10)
    for command in (["tag", "train", data, "-o", saved], ["tag", "evaluate", saved, data], ["inspect", saved]):
        assert main([str(word) for word in command]) == 0
        out = capsys.readouterr()
        assert not steering(out.out + out.err), command


@pytest.mark.parametrize("text", ["a\x1b[31mb", "\x07", "\x9bm", "a\rb", "a\u2028b", "\u202eabc", "a\nb"])
def test_control_characters_are_written_as_in_python(text, capsys):
    assert plain(text).isprintable()
    assert all(letter.isprintable() or letter == "\n" for letter in visible(text))
    Screen().print(text, markup=False)
    assert not steering(capsys.readouterr().out)
    assert visible("größer: 12 µm, 北京") == "größer: 12 µm, 北京"


# ---- warnings


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line_on_stderr_and_none_where_only_errors_are_wanted(capsys):
    for quiet, wanted in ((False, "mind\\x1b[2J the gap\n"), (True, "")):
        with saying_warnings(quiet=quiet):
            warnings.warn("mind\x1b[2J\nthe gap", UserWarning, stacklevel=1)
        assert capsys.readouterr() == ("", wanted)


def test_a_warning_that_would_be_a_bug_is_not_hidden():
    with pytest.warns(RuntimeWarning, match="overflow"), saying_warnings(quiet=True):
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)


def test_weights_of_thousands_are_written_without_an_exponent():
    from perceptrons.cli.screen import signed

    shown = [signed(weight).plain for weight in (1234.5, -1280.0, 999.9, -123456.0, 1e6, 1e-5, 0.0, 12.34)]
    assert shown == ["+1,230", "-1,280", "+1,000", "-123,000", "+1e+06", "+1e-05", "+0", "+12.3"]
