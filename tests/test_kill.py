"""Runs that are killed at random moments (kill -9) go on from their checkpoints and end as if they never stopped."""

import contextlib
import os
import random
import time

import pytest

from tests.support.streams import Warm, as_svm, points, texts

FILES, EPOCHS = 60, 8
KINDS = {
    "svmlight": ["points-*.svm"],
    "text": ["mail-*.tsv", "--format", "text", "--words", "1-2"],
    "vocabulary": ["mail-*.tsv", "--format", "text", "--hash-bits", "0"],
    "cache": ["points-*.svm", "--cache", "CACHE"],
    "whole": ["points-*.svm"],
}
WAYS = {kind: [] if kind == "whole" else ["--in-memory", "0"] for kind in KINDS}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes of POSIX")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Many small files, so that there are many blocks."""
    folder = tmp_path_factory.mktemp("killed")
    for number in range(FILES):
        (folder / f"points-{number:02}.svm").write_text(as_svm(*points(60, number)))
        labels, words = texts(40, number)
        lines = [f"{label}\t{word} {word.split()[0]}{number}\n" for label, word in zip(labels, words, strict=True)]
        (folder / f"mail-{number:02}.tsv").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def warm(folder):
    process = Warm(folder / "said")
    process.load("train", folder / "points-0*.svm", "--in-memory", 0, "--epochs", 2, "--quiet", "-o", folder / "loaded")
    process.load("train", folder / "mail-0*.tsv", "--format", "text", "--in-memory", 0, "--quiet")
    yield process
    process.close()


@pytest.fixture
def trained(request, folder, warm, tmp_path):
    """A command but for its output and checkpoint, the model that it leaves if it is not stopped, and its time."""
    data, *options = KINDS[request.param]
    words = [str(tmp_path / "cache") if word == "CACHE" else word for word in options]
    command = ["train", folder / data, *words, "--epochs", EPOCHS, "--quiet", "--every", 0, *WAYS[request.param]]
    assert warm.run(*command, "--checkpoint", tmp_path / "first", "-o", tmp_path / "whole") == (0, "")
    began = time.monotonic()
    assert warm.run(*command, "--checkpoint", tmp_path / "second", "-o", tmp_path / "again") == (0, "")
    took = time.monotonic() - began
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()
    return [*command, "--checkpoint", tmp_path / "c", "-o", tmp_path / "m", "--resume"], tmp_path / "whole", took


@pytest.mark.parametrize(
    ("trained", "kills"), [(kind, 20 if kind == "svmlight" else 8) for kind in KINDS], indirect=["trained"]
)
def test_a_run_that_is_killed_at_random_moments_leaves_the_same_model_bit_for_bit(warm, trained, tmp_path, kills):
    command, whole, took = trained
    moments, killed, ended = random.Random(7), 0, 0
    while killed < kills:
        warm.start(*command)
        time.sleep(moments.uniform(0, 3 * took / kills))
        code = warm.kill()
        assert code in (-9, 0)
        killed += code == -9
        if code == 0:  # it came to its end before: once more from the beginning
            ended += 1
            assert (tmp_path / "m").read_bytes() == whole.read_bytes()
            for name in ("m", "c", "c.before"):
                (tmp_path / name).unlink()
    assert ended < kills
    assert warm.run(*command) == (0, "")
    assert (tmp_path / "m").read_bytes() == whole.read_bytes()


def killed_after(warm, command, checkpoint, blocks):
    """Kill the command when it has written so many checkpoints, and the last one is in its place."""
    while not checkpoint.exists():  # it has no name for a moment while the next takes its place
        warm.start(*command)
        written, latest = set(), time.monotonic() + 300
        while len(written) < blocks:
            assert time.monotonic() < latest, "it does not learn"
            with contextlib.suppress(FileNotFoundError):
                written.add(checkpoint.stat().st_mtime_ns)
        assert warm.kill() == -9


@pytest.mark.parametrize("trained", ["svmlight"], indirect=True)
def test_a_checkpoint_cut_short_is_told_and_the_one_before_it_leads_to_the_same_model(warm, trained, tmp_path):
    command, whole, _ = trained
    killed_after(warm, command, tmp_path / "c", 30)
    os.truncate(tmp_path / "c", (tmp_path / "c").stat().st_size - 1)
    code, said = warm.run(*(word for word in command if word != "--quiet"))
    assert code == 0
    assert "The previous checkpoint, c.before, is used.\nResuming in epoch " in said
    assert (tmp_path / "m").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("trained", ["svmlight"], indirect=True)
def test_if_both_checkpoints_are_cut_short_it_is_said_and_nothing_is_overwritten(warm, trained, tmp_path):
    command, _, _ = trained
    killed_after(warm, command, tmp_path / "c", 10)
    for name in ("c", "c.before"):
        os.truncate(tmp_path / name, 100)
    code, said = warm.run(*command)
    assert code == 2
    assert said.startswith("No checkpoint is valid: ")
    assert said.count("\n") == 1
    assert [(tmp_path / name).stat().st_size for name in ("c", "c.before")] == [100, 100]
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("trained", ["svmlight"], indirect=True)
def test_a_kill_between_the_old_checkpoint_and_the_new_one_leaves_the_old_one(warm, trained, tmp_path):
    command, whole, _ = trained
    killed_after(warm, command, tmp_path / "c", 20)
    (tmp_path / "c").rename(tmp_path / "c.before")
    code, said = warm.run(*(word for word in command if word != "--quiet"))
    assert code == 0
    missing = f"{tmp_path}/c: the file is missing. The previous checkpoint, c.before, is used."
    assert said.startswith(f"{missing}\nResuming in epoch ")
    assert (tmp_path / "m").read_bytes() == whole.read_bytes()
