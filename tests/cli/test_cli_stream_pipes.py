"""Streams in pipes: the command as a process among others, fed by some and read by others."""

import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
import threading

import pytest

import perceptrons
from perceptrons.cli import main
from tests.support.processes import started
from tests.support.streams import PROGRAM, texts, write_files

COMMAND = shlex.join(PROGRAM)
SPARE = 48_000  # kilobytes that a hundred times as many lines may need more


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files and two models, and many lines of text."""
    folder = write_files(tmp_path_factory.mktemp("streams"))
    mail, points = str(folder / "mail.tsv"), str(folder / "part-*.svm")
    how = ["--test-share", "0", "--quiet"]
    assert main(["train", mail, "--format", "text", "-o", str(folder / "mail.model"), *how]) == 0
    assert main(["train", points, "-o", str(folder / "points.model"), *how]) == 0
    some = "".join(f"{text}\n" for text in texts(2000, seed=5)[1])
    (folder / "some.txt").write_text(some)
    (folder / "many.txt.gz").write_bytes(gzip.compress((100 * some).encode(), 1))
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    """What the model says to some.txt."""
    words = ["predict", str(folder / "mail.model"), str(folder / "some.txt"), "-o", str(folder / "answers")]
    assert main(words) == 0
    return (folder / "answers").read_text().splitlines()


def shell(folder, line, **more):
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=folder, capture_output=True, text=True, timeout=300, **more
    )


@pytest.mark.slow
def test_head_ends_it_early_and_quietly(folder, answers):
    done = shell(folder, f"zcat many.txt.gz | {COMMAND} predict mail.model - | head -n 3")
    assert done.stderr == ""
    assert done.stdout.splitlines() == answers[:3]


@pytest.mark.slow
def test_zcat_feeds_it_and_sort_and_uniq_count(folder, answers):
    done = shell(folder, f"zcat many.txt.gz | {COMMAND} predict mail.model - | sort | uniq -c")
    assert (done.returncode, done.stderr) == (0, "")
    counts = {label: int(number) for number, label in (line.split() for line in done.stdout.splitlines())}
    assert counts == {label: 100 * answers.count(label) for label in ("ham", "spam")}


@pytest.mark.slow
def test_json_lines_are_read_line_by_line_by_another_program(folder, answers):
    reads = shlex.join(
        [sys.executable, "-c", "import json, sys; [print(json.loads(line)['label']) for line in sys.stdin]"]
    )
    done = shell(folder, f"{COMMAND} predict mail.model some.txt --format text --json --scores | {reads}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == answers


def test_an_answer_comes_before_the_next_line_is_typed(folder):
    command = [*PROGRAM, "predict", folder / "mail.model", "-", "--json"]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for text, label in (("free cash", "spam"), ("home", "ham"), ("win a prize, call now", "spam"), ("mum", "ham")):
            process.stdin.write(f"{text}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["label"] == label
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 0


def peak(arguments, feed):
    """The largest memory, in kilobytes, of a command that is fed, and how many lines it printed."""
    command = [*PROGRAM, *map(str, arguments)]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def type_in():
            with process.stdin as typed:
                for piece in feed:
                    typed.write(piece)

        typing = threading.Thread(target=type_in)
        typing.start()
        lines = sum(1 for _ in process.stdout)
        typing.join()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss, lines


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted otherwise elsewhere")
def test_predicting_takes_the_same_memory_however_many_lines_come(folder):
    some = (folder / "some.txt").read_bytes()
    few, lines = peak(["predict", folder / "mail.model"], [some])
    assert lines == 2000
    many, lines = peak(["predict", folder / "mail.model"], [some] * 100)
    assert lines == 200_000
    assert many < few + SPARE


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted otherwise elsewhere")
def test_learning_from_a_pipe_takes_the_same_memory_however_much_comes(folder):
    part = (folder / "whole.svm").read_bytes()
    options = ["train", "-", "--format", "svmlight", "--in-memory", "0", "--epochs", "1", "--quiet"]
    few, _ = peak(options, [part] * 50)
    many, _ = peak(options, [part] * 500)
    assert many < few + SPARE


@pytest.mark.parametrize("options", ["", "--in-memory 0 --epochs 3"])
def test_learning_from_a_pipe_is_learning_from_the_file(folder, tmp_path, options):
    feed = "cat part-0.svm part-1.svm part-2.svm | gzip"
    done = shell(folder, f"{feed} | {COMMAND} train - --format svmlight {options} -o {tmp_path}/a")
    assert (done.returncode, done.stderr) == (0, "")
    assert "<stdin>" in done.stdout
    assert shell(folder, f"{COMMAND} train whole.svm {options} --quiet -o {tmp_path}/b").returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.slow
def test_what_is_to_be_saved_is_saved_though_nobody_reads_on(folder, tmp_path):
    for how in ("", "--in-memory 0"):
        done = shell(folder, f"{COMMAND} train 'part-*.svm' {how} --epochs 3 -o {tmp_path}/m | true")
        assert done.stderr == ""
        assert perceptrons.load(tmp_path / "m").n_iter_ == 3
    for reader in ("head -n 5", "{ head -n 5; sleep 3; }"):  # the other one leaves when all lines are printed
        done = shell(folder, f"{COMMAND} train 'part-*.svm' --in-memory 0 --epochs 100000000 | {reader}")
        assert done.stderr == ""
        assert len(done.stdout.splitlines()) == 5


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_line_and_the_model_is_saved(folder, tmp_path):
    done = shell(folder, f"{COMMAND} predict points.model whole.svm > /dev/full")
    assert (done.returncode, done.stderr) == (2, "The output cannot be written: No space left on device.\n")
    for how in ("", "--in-memory 0"):
        done = shell(folder, f"{COMMAND} train 'part-*.svm' {how} -o {tmp_path}/m > /dev/full")
        assert (done.returncode, done.stderr) == (2, "The output cannot be written: No space left on device.\n")
        (tmp_path / "m").unlink()


@pytest.mark.slow
def test_closed_standard_input_is_one_line(folder):
    for command in ("predict mail.model -", "predict mail.model", "evaluate mail.model -", "train - --format text"):
        done = shell(folder, f"{COMMAND} {command} <&-")
        assert (done.returncode, done.stdout) == (2, ""), command
        assert done.stderr.count("\n") == 1
        assert "standard input is closed" in done.stderr or "DATA is missing" in done.stderr


@pytest.mark.slow
def test_an_empty_pipe_is_no_answer_and_nothing_to_learn_from(folder):
    done = shell(folder, f"{COMMAND} predict mail.model - < /dev/null")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = shell(folder, f"{COMMAND} train - --format svmlight < /dev/null")
    what = "<stdin>:1:1: there are no examples in the file: write one example per line\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", what)
    done = shell(folder, f"{COMMAND} train - --format svmlight --in-memory 0 < /dev/null")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "There are no examples in the stream.\n")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_while_it_waits_for_a_line_ends_with_130(folder):
    command = [*PROGRAM, "predict", folder / "mail.model", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started(command, **pipes) as process:
        process.stdin.write("free cash\n")
        process.stdin.flush()
        assert process.stdout.readline() == "spam\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == 130
        assert process.stderr.read() == "Interrupted.\n"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("saved", [False, True])
def test_ctrl_c_while_learning_says_how_to_go_on_if_it_can(folder, tmp_path, saved):
    options = ["--checkpoint", tmp_path / "c"] if saved else []
    how = ["--in-memory", "0", "--test-share", "0", "--epochs", "100000000"]
    command = [*PROGRAM, "train", folder / "part-*.svm", *how, *options]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while "1,200" not in (line := process.stdout.readline()):
            assert line or process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("Interrupted. The state is saved in" if saved else "Interrupted.")
    assert err.count("\n") == 1
    if saved:
        assert perceptrons.load(tmp_path / "c").stop_reason_ == "interrupted"
