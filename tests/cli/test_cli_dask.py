"""`perceptrons train` on clusters: worker processes of this machine, and a scheduler and a worker on their own."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import perceptrons.distributed
from perceptrons.cli import main
from perceptrons.cli.messages import say
from perceptrons.cli.progress import MixingProgress, by_shard
from perceptrons.data import stream
from tests.support.streams import PROGRAM, write_files

Client = pytest.importorskip("distributed").Client
HERE = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]


def wait_for(happened, seconds=300.0):
    """Wait until something is true."""
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


class Cluster:
    """A scheduler and a worker with two threads, each a program of its own."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        log = (folder / "log").open("w")
        said = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL}
        dask = [sys.executable, "-m", "dask"]
        self.scheduler = subprocess.Popen(
            [*dask, "scheduler", "--port", "0", *HERE, "--scheduler-file", self.file], **said
        )
        self.worker = subprocess.Popen(
            [*dask, "worker", "--scheduler-file", self.file, "--no-nanny", "--nthreads", "2", *HERE,
             "--local-directory", folder, "--death-timeout", "300"], **said
        )  # fmt: skip
        log.close()

    @property
    def address(self):
        wait_for(lambda: self.file.exists() and self.file.read_text().endswith("}"))
        return json.loads(self.file.read_text())["address"]

    def close(self):
        for process in (self.worker, self.scheduler):
            process.kill()
            process.wait(timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("streams"))


@pytest.fixture(scope="module")
def new_cluster(tmp_path_factory):
    """Starts clusters, which end with the tests."""
    clusters = []

    def started():
        clusters.append(Cluster(tmp_path_factory.mktemp("cluster")))
        with Client(clusters[-1].address) as client:
            client.wait_for_workers(1)
        return clusters[-1]

    yield started
    for cluster in clusters:
        cluster.close()


@pytest.fixture(scope="module")
def cluster(new_cluster):
    return new_cluster()


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    """What two local workers made of three files in three epochs: the model."""
    path = tmp_path_factory.mktemp("local") / "m"
    files = [str(folder / f"part-{part}.svm") for part in range(3)]
    assert main(["train", *files, "--workers", "2", "--epochs", "3", "--quiet", "-o", str(path)]) == 0
    return perceptrons.load(path)


def same_weights(path, model):
    found = perceptrons.load(path)
    np.testing.assert_array_equal(found.coef_, model.coef_)
    np.testing.assert_array_equal(found.intercept_, model.intercept_)
    return found


# ---- learning


def test_workers_of_this_machine_and_a_cluster_learn_the_same(run, cluster, folder, tmp_path, trained):
    options = ["--epochs", 3, "--shards", 2, "-o", tmp_path / "m", "--test", folder / "test.svm"]
    code, out, err = run("train", folder / "part-*.svm", "--dask", cluster.address, *options)
    assert code == 0
    assert re.fullmatch(rf"Cluster {cluster.address}: 1 worker. Dashboard: http://127.0.0.1:\d+/status\n", err)
    model = same_weights(tmp_path / "m", trained)
    words = " ".join(out.split())
    assert f"3 files: {folder}/part-0.svm ... {folder}/part-2.svm {folder}/test.svm for testing" in words
    lines = re.findall(r"^ +(\d+) +(\d+) +\d+\.\d\d   (\d+)  (\d+)$", out, re.MULTILINE)
    assert [(int(epoch), int(total), [int(a), int(b)]) for epoch, total, a, b in lines] == [
        (row["epoch"], row["mistakes"], row["shards"]["mistakes"]) for row in model.history_
    ]
    assert [row["mistakes"] for row in model.history_] == [row["mistakes"] for row in trained.history_]
    assert "Stopped after 3 epochs in" in words
    assert "All 3 epochs are done, and the model still made mistakes. 1 worker, 2 shards, weighted by" in words
    table = perceptrons.data.read(folder / "test.svm")
    assert f"Test accuracy {100 * model.score(table.X, table.y):.1f}% (" in words
    assert f"Saved as {tmp_path}/m" in out
    assert f"--dask {cluster.address}" in out.split("What to try next")[1]
    assert "arow" not in out


def test_json_has_shards_mixing_and_history_and_nothing_else_is_said(run, cluster, folder, monkeypatch):
    monkeypatch.chdir(folder)  # where the workers are not
    options = ["--dask", cluster.address, "--mixing", "uniform", "--epochs", 5, "--json"]
    options += ["--test", folder / "test.svm"]
    code, out, err = run("train", *(f"part-{part}.svm" for part in range(3)), "--shards", 3, *options)
    assert (code, err, out.count("\n")) == (0, "", 1)
    found = json.loads(out)
    assert found["data"] == [f"part-{part}.svm" for part in range(3)]
    assert found["how"] == "cluster"
    assert (found["shards"], found["mixing"], found["bound"], found["workers"]) == (3, "uniform", None, 1)
    assert found["scheduler"] == cluster.address
    assert (found["epochs"], found["examples"], found["test_examples"]) == (5, 1200, 300)
    assert [sum(row["shards"]["mistakes"]) for row in found["history"]] == found["mistakes"]
    assert found["history"][0]["shards"]["examples"] == [400, 400, 400]
    assert found["progressive_error"] == found["mistakes"][0] / 1200
    assert (found["resumed"], found["checkpoint"], found["model"]) == (False, None, None)
    assert found["test_accuracy"] > 0.8


@pytest.mark.parametrize(
    ("data", "options", "wanted"),
    [
        ("mail.tsv", ["--format", "text", "--words", "1-2", "--hash-bits", "0"], {"format": "text", "form": "tab"}),
        ("mail.tsv", ["--format", "text", "--words", "none", "--chars", "2-3"], {"form": "tab"}),
        ("mail.jsonl", ["--text-column", "text", "--ignore", "size"], {"ignore": ["size"], "text_column": ["text"]}),
        ("mail.csv", ["--text-column", "text", "--text-column", "shop", "--words", "1-2"], {"prefix": True}),
        ("mail.csv", ["--label-column", "shop", "--classes", "0,1,2,3"], {"label_column": "shop"}),
        ("bad.svm", ["--on-error", "skip", "--text-labels", "--zero-based"], {"zero_based": True}),
    ],
)
def test_options_of_reading_reach_the_workers(run, cluster, folder, tmp_path, data, options, wanted):
    shared = ["--dask", cluster.address, "--quiet", "--epochs", 2, "-o", tmp_path / "m"]
    assert run("train", folder / data, *options, *shared) == (0, "", "")
    model = perceptrons.load(tmp_path / "m")
    assert {name: model.source_[name] for name in wanted} == wanted
    assert len(model.classes_) == (4 if "--classes" in options else {"bad.svm": 3}.get(data, 2))
    code, out, _ = run("evaluate", tmp_path / "m", folder / data, "--on-error", "skip", "--json")
    assert code == 0
    # one shard is local training, so that the answers are those of a model that this process trains and asks
    alone = ["--shards", 1, "--dask", cluster.address, "--quiet", "--epochs", 2, "-o", tmp_path / "one"]
    assert run("train", folder / data, *options, *alone) == (0, "", "")
    here = ["--in-memory", 0, "--test-share", 0, "--quiet", "--epochs", 2, "-o", tmp_path / "local"]
    assert run("train", folder / data, *options, *here) == (0, "", "")
    names = ("one", "local")
    one, local = (run("predict", tmp_path / name, folder / data, "--on-error", "skip", "--scores")[1] for name in names)
    assert one == local
    rows = [block.X for block in stream(folder / data, like=model, on_error="skip")]
    labels = np.concatenate([model.predict(X) for X in rows]).astype(str)
    said = run("predict", tmp_path / "m", folder / data, "--on-error", "skip")[1].split("\n")
    assert [label for label in said if label] == labels.tolist()
    assert json.loads(out)["examples"] == len(labels)


def test_the_live_line_goes_to_stderr(run, cluster, folder, monkeypatch):
    monkeypatch.setattr("perceptrons.cli.progress.SECONDS_BETWEEN_DRAWS", 0)
    monkeypatch.setattr("perceptrons.distributed.clients.TICK_SECONDS", 0.0001)
    options = ["--dask", cluster.address, "--epochs", 30, "--json", "--verbose"]
    code, out, err = run("train", folder / "part-*.svm", *options)
    assert code == 0
    assert json.loads(out)["epochs"] == 30
    assert re.search(r"\r\x1b\[2Kepoch \d+ of 30  .{16}  [012] of 2 shards done  0 s", err)
    assert err.rstrip().endswith("\r\x1b[2K".rstrip())


def test_on_separable_data_the_theorem_is_told(run, cluster, tmp_path):
    for part in "ab":
        (tmp_path / f"{part}.svm").write_text("1 1:2 2:1\n0 1:-1 2:3\n1 1:3\n0 2:2\n")
    options = [tmp_path / "a.svm", tmp_path / "b.svm", "--dask", cluster.address, "--epochs", 50]
    found = json.loads(run("train", *options, "--json")[1])
    assert found["stop_reason"] == "converged"
    assert found["bound"]["holds"]
    assert found["bound"]["made"] <= found["bound"]["epochs"]
    assert found["bound"]["why"] in " ".join(run("train", *options)[1].split())


def test_of_many_shards_the_least_the_median_and_the_most_are_shown():
    assert by_shard([5, 1200, 0]) == "5  1,200  0"
    assert by_shard([9, 1, 2, 3, 4, 5, 6, 7, 8]) == "least 1, median 5, most 9"


def test_workers_without_a_shard_are_told_of(run, cluster, folder):
    code, _, err = run("train", folder / "mail.tsv.gz", "--format", "text", "--dask", cluster.address)
    assert code == 0
    assert "\n1 shard for 2 worker threads, so some have nothing to do. " in err


@pytest.mark.filterwarnings("default::perceptrons.distributed.ClusterWarning")
def test_a_cluster_without_workers_is_told_of_on_stderr_until_it_has_some(run, folder, monkeypatch, trained, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=0, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=60
    ) as empty:  # fmt: skip

        def heard(line):
            say(line)
            if "no workers" in line:
                empty.scale(1)

        monkeypatch.setattr("perceptrons.cli.progress.say", heard)
        options = ["--dask", empty.scheduler_address, "--epochs", 3, "--shards", 2, "-o", tmp_path / "m"]
        code, _, err = run("train", folder / "part-*.svm", *options)
    assert code == 0
    same_weights(tmp_path / "m", trained)
    first, gone, *_, back = err.splitlines()
    assert first.startswith(f"Cluster {empty.scheduler_address}: no workers yet. ")
    assert gone[10:] == (
        f"The cluster at {empty.scheduler_address} has no workers: waiting for one. "
        "Start workers (dask worker, cluster.scale), or stop with Ctrl-C."
    )
    assert re.fullmatch(r".* has 1 worker now, after \d+ seconds? without workers: training resumes\.", back)


# ---- errors


REFUSED = [
    (["part-0.svm", "--shards", "2"], "^--shards is for clusters: also give --dask ADDRESS or --workers N."),
    (["part-0.svm", "--mixing", "uniform"], "^--mixing is for clusters"),
    (["part-0.svm", "--workers", "2", "--mixing", "harmonic"], "--mixing.*'mistakes', 'uniform'"),
    (["part-0.svm", "--workers", "2", "--dask", "tcp://127.0.0.1:1"], "^--dask and --workers cannot be combined"),
    (["part-0.svm", "--workers", "0"], "--workers"),
    (["--workers", "2"], "^--workers needs DATA"),
    (["-", "--format", "svmlight", "--workers", "2"], "^- cannot be combined with --workers: .* standard input"),
    (["part-0.svm", "--workers", "2", "--cache", "c"], "^--cache cannot be combined with --workers: every worker"),
    (["--example", "sms", "--workers", "2"], "^--example cannot be combined with --workers"),
    (["part-0.svm", "--workers", "2", "--combine", "vote"], "^combine='vote' cannot be trained on .*Use combine="),
    (["part-0.svm", "--workers", "2", "--combine", "pocket"], "^combine='pocket' cannot be trained on a cluster:"),
    (["part-0.svm", "--workers", "2", "--combine", "recent"], "^combine='recent' cannot be trained on .*Use combine="),
    (["part-0.svm", "--workers", "2", "--step", "arow"], "^step='arow' cannot be trained on a cluster:"),
    (["part-0.svm", "--workers", "2", "--kernel", "rbf"], "^--workers cannot be combined with --kernel: kernels"),
    (
        ["part-0.svm", "--workers", "2", "--test-share", "0.3"],
        "^--test-share cannot be combined with --workers: .*--test FILE",
    ),
    (["part-0.svm", "--workers", "2", "--resume"], "^--resume needs --checkpoint"),
    (["part-0.svm", "--workers", "2", "--words", "1-2"], "^--words does not apply to files of format 'svmlight':"),
    (["part-0.svm", "--dask", "x:1", "--words", "1-2"], "^--words does not apply to files of format 'svmlight':"),
    (["part-0.svm", "none.svm", "--workers", "2"], "^none.svm: no such file or directory$"),
    (["none-*.svm", "--workers", "2"], "^none-\\*.svm: no file matches the pattern"),
    (["a.npz", "--workers", "2"], "^a.npz: no such file"),
    (["a.npz", "--dask", "x:1"], "^--format npz: workers cannot read npz files, which are loaded as a whole: use"),
    (["part-0.svm", "--format", "npz", "--dask", "x:1"], "^--format npz: "),
    (["mail", "--dask", "x:1"], "^mail: the file extension does not tell the format.*--format"),
    (["part-*.svm", "--workers", "2", "-o", "part-1.svm"], "part-1.svm: this command"),
    (["part-*.svm", "--dask", "x:1", "--checkpoint", "part-1.svm"], "part-1.svm: this command"),
    (["part-*.svm", "--workers", "2", "--test", "none.svm"], "^none.svm: no such file"),
    (["part-*.svm", "--workers", "2", "--cost", '{"1": {"2": 3}}'], "^--cost needs --classes here"),
    (["part-0.svm", "--dask", "nowhere"], "^--dask nowhere: no scheduler answers there .*dask scheduler"),
    (["part-0.svm", "--dask", "ftp://a:1"], "^--dask ftp://a:1: no scheduler answers there "),
]


@pytest.mark.parametrize(
    ("options", "message"), REFUSED, ids=lambda part: " ".join(part) if isinstance(part, list) else ""
)
def test_what_does_not_go_with_a_cluster_is_refused_before_there_is_one(refused, folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    line = refused("train", *options)
    assert re.search(message, line), line
    assert sorted(folder.iterdir()) == before


def test_a_scheduler_that_does_not_answer_is_one_line(refused, folder, monkeypatch):
    monkeypatch.setattr("perceptrons.cli.cluster.SCHEDULER_TIMEOUT", 0.3)
    line = refused("train", folder / "part-0.svm", "--dask", "tcp://127.0.0.1:1")
    assert line.startswith("--dask tcp://127.0.0.1:1: no scheduler answers there (")
    assert line.endswith("start one with `dask scheduler`, and give the address that it prints.")


def test_a_cluster_without_this_package_is_refused_before_its_workers_die_of_it(refused, cluster, folder, monkeypatch):
    monkeypatch.setattr("perceptrons.distributed.clients.PACKAGE", "perceptrons_of_tomorrow")
    line = refused("train", folder / "part-0.svm", "--dask", cluster.address, "--quiet")
    assert line.startswith(
        f"{cluster.address}: the scheduler does not have the package perceptrons_of_tomorrow: install it there"
    )


def test_without_dask_one_line_says_what_to_install(refused, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert refused("train", folder / "part-0.svm", "--workers", 2).endswith("pip install 'perceptrons[dask]'.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["part-0.svm", "bad.svm"], "/bad.svm:2:3: 'x' is not a number"),
        (["part-0.svm", "none.svm"], "/none.svm: no such file or directory"),
        (["none-*.svm"], "/none-*.svm: no file matches the pattern"),
        (["part-0.svm", "--classes", "1,2"], "3"),
        (["mail.tsv.gz", "--format", "text", "--shards", "2"], "shards=2: there can be at most 1 here, one per file"),
    ],
)
def test_what_is_wrong_on_a_worker_is_one_line_here(refused, cluster, folder, options, message):
    data = [folder / option if "." in option else option for option in options]
    line = refused("train", *data, "--dask", cluster.address, "--quiet")
    assert message in line
    assert "Traceback" not in line


@pytest.mark.slow
def test_local_workers_keep_their_logs_to_themselves(folder, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(folder / "part-0.svm"), str(folder / "bad.svm"), "--workers", "2"]) == 2
    out, err = capfd.readouterr()
    cluster, error = err.splitlines()
    assert out == ""
    assert re.fullmatch(r"Cluster tcp://127.0.0.1:\d+: 2 workers. Dashboard: http://127.0.0.1:\d+/status", cluster)
    assert error.startswith(f"{folder}/bad.svm:2:3: 'x' is not a number")
    assert not any(tmp_path.iterdir())


def test_other_commands_do_not_import_dask(folder):
    code = (
        "import sys; from perceptrons.cli import main; code = main(sys.argv[1:]); "
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'dask', 'distributed', 'tornado'}))"
    )
    command = [sys.executable, "-c", code, "train", str(folder / "part-0.svm"), "--epochs", "1", "--quiet"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=300).stdout == "[]\n"


# ---- checkpoints


@pytest.mark.slow
def test_a_run_whose_scheduler_was_killed_goes_on_on_another_cluster(
    run, refused, new_cluster, cluster, folder, tmp_path, monkeypatch
):
    monkeypatch.setattr("perceptrons.distributed.clients.SCHEDULER_TIMEOUT", 0.5)
    options = [folder / "part-*.svm", "--shards", 2, "--checkpoint", tmp_path / "c", "--every", 0, "-o", tmp_path / "m"]
    doomed = new_cluster()
    tell, done = MixingProgress.__call__, []

    def killing(self, what):
        tell(self, what)
        if what["epoch"] == 3 and not done:  # after the checkpoint of two epochs
            done.append(what)
            doomed.scheduler.kill()
            doomed.scheduler.wait(timeout=300)

    with monkeypatch.context() as patch:
        patch.setattr(MixingProgress, "__call__", killing)
        code, out, err = run("train", *options, "--epochs", 10**6, "--dask", doomed.address)
    assert (code, bool(done)) == (2, True)
    cluster_line, line = err.splitlines()
    assert cluster_line.startswith(f"Cluster {doomed.address}: ")
    assert doomed.address in line
    assert line.endswith(
        f"The last mixed weights are in {tmp_path}/c: the same command with --resume continues from there, "
        "also on another cluster."
    )
    assert not (tmp_path / "m").exists()
    epochs = perceptrons.load(tmp_path / "c").n_iter_
    assert 2 <= epochs < 10**6
    elsewhere = ["--dask", cluster.address, "--epochs", epochs + 2]
    assert "the checkpoint already exists: resume from it" in refused("train", *options, *elsewhere, "--quiet")
    assert "mixing='mistakes'" in refused("train", *options, *elsewhere, "--resume", "--quiet", "--mixing", "uniform")
    code, out, err = run("train", *options, *elsewhere, "--resume")
    assert (code, err.splitlines()[1:]) == (0, [f"Resuming with epoch {epochs + 1}."])
    assert len(re.findall(r"^ +\d+ +\d+ +\d+\.\d\d  ", out, re.MULTILINE)) == 2
    whole = ["--shards", 2, "--epochs", epochs + 2, "--dask", cluster.address, "--quiet", "-o", tmp_path / "whole"]
    assert run("train", folder / "part-*.svm", *whole)[0] == 0
    assert same_weights(tmp_path / "m", perceptrons.load(tmp_path / "whole")).n_iter_ == epochs + 2
    code, out, err = run("train", *options, *elsewhere, "--resume", "--json")
    assert (code, err) == (0, f"The checkpoint was saved after {epochs + 2} epochs.\n")
    assert (json.loads(out)["resumed"], json.loads(out)["epochs"]) == (True, epochs + 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Nothing is saved: with --checkpoint FILE a run can be resumed."),
        (["--checkpoint", "c"], "No epoch is complete yet, so nothing is saved."),
    ],
)
def test_a_lost_cluster_that_left_nothing_is_one_line(refused, cluster, folder, tmp_path, monkeypatch, options, said):
    def lost(*_, **__):
        raise perceptrons.distributed.ClusterError("The connection is lost.")

    monkeypatch.setattr("perceptrons.distributed.fit", lost)
    monkeypatch.chdir(tmp_path)
    line = refused("train", folder / "part-0.svm", "--dask", cluster.address, "--quiet", *options)
    assert line == f"The connection is lost. {said}"


@pytest.mark.slow
def test_ctrl_c_ends_local_workers_and_leaves_a_checkpoint(folder, tmp_path):
    command = [*PROGRAM, "train", *sorted(folder.glob("part-*.svm")), "--workers", "2", "--epochs", "1000000",
               "--checkpoint", tmp_path / "c", "--every", "0"]  # fmt: skip
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)
    try:
        wait_for((tmp_path / "c.before").exists)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
        assert process.wait(300) == 130
    finally:
        process.kill()
        process.wait(timeout=300)
    assert (tmp_path / "said").read_text().splitlines()[1:] == [
        f"Interrupted. The state is saved in {tmp_path}/c: the same command with --resume continues from there."
    ]
    model = perceptrons.load(tmp_path / "c")
    assert (model.n_iter_ >= 1, model.stop_reason_) == (True, "interrupted")
