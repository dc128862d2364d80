"""Users who may write nowhere: no home folder, a package that is read-only, a disk that is full."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from tests.conftest import ROOT, whole_numbers

resource = pytest.importorskip("resource")

NOWHERE = "/dev/null/nowhere"  # a folder that nobody can make, not even root
NOBODY, UNKNOWN = 65534, 54321  # a user whose home folder is not there, and one who has no entry in /etc/passwd
TIMEOUT = 300  # seconds; nothing takes as long


def another_user(number):
    """The beginning of a command that another user runs, who may read everything, as Python may be in root's folder."""
    right = "-all,+dac_read_search"
    return [
        "setpriv", f"--reuid={number}", f"--regid={number}", "--clear-groups", f"--inh-caps={right}",
        f"--ambient-caps={right}",
    ]  # fmt: skip


def can_be(number):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return False
    return subprocess.run([*another_user(number), "true"], capture_output=True, timeout=TIMEOUT).returncode == 0


@pytest.fixture
def installed(tmp_path):
    """The package where it cannot be written to, and nothing compiled with it."""
    folder = tmp_path / "installed"
    shutil.copytree(ROOT / "src" / "perceptrons", folder / "perceptrons", ignore=shutil.ignore_patterns("__pycache__"))
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    yield folder
    for path in folders:
        path.chmod(0o755)


@pytest.fixture
def out(tmp_path):
    """The only folder that may be written to."""
    folder = tmp_path / "out"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def python(program, *arguments, before=(), folder, **environment):
    """Run a program; gives its exit code, stdout and stderr. environment: variables, all others but a few are unset."""
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "80", **environment}
    command = [*before, sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=TIMEOUT)
    return done.returncode, done.stdout, done.stderr


def nobody():
    """The beginning of a command that a user runs who may write nowhere: another one if this one is root."""
    if can_be(NOBODY):
        return another_user(NOBODY)
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere, and setpriv, which starts other users, is missing or may not")
    return []


COMMANDS = """
    import sys
    from perceptrons.cli import main

    assert __import__("perceptrons").__file__.startswith(sys.argv[1]), "the package that is read-only"
    table, tagged = sys.argv[2:]
    for line in (
        f"train {table} -o m.perceptron", f"predict m.perceptron {table}", f"tune {table} --max-iter 2 --json",
        f"report m.perceptron {table} -o page.html", f"tag train {tagged} -o t.perceptron",
        f"tag predict t.perceptron {tagged}", f"train {table} --quiet -o q.perceptron",
    ):
        code = main(line.split())
        if code:
            sys.exit(f"{line} ended with {code}")
        print("====", flush=True)
        print("====", file=sys.stderr, flush=True)
"""


@pytest.fixture
def files(rng, tmp_path):
    X, y = whole_numbers(rng, 60, 3, 2)
    table, tagged = tmp_path / "a.csv", tmp_path / "a.conll"
    table.write_text("".join(",".join(map(str, [*x, f"k{k}"])) + "\n" for x, k in zip(X, y, strict=True)))
    tagged.write_text("a A\nb B\n\nb B\na A\nc C\n\n" * 10)
    return table, tagged


@pytest.mark.slow
def test_every_command_works_for_a_user_who_may_write_nowhere(installed, out, files, tmp_path):
    before = nobody()
    home = {} if before else {"HOME": NOWHERE}  # nobody has none anyhow
    arguments = (COMMANDS, installed, *files)
    code, told, err = python(*arguments, before=before, folder=out, PYTHONPATH=str(installed), **home)
    assert code == 0, err
    mine = tmp_path / "mine"
    mine.mkdir()
    folders = {"HOME": str(mine), "NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"]}
    code, expected, others = python(*arguments, folder=mine, PYTHONPATH=str(installed), **folders)
    assert code == 0, others
    parts = told.split("====\n")
    assert parts[1] == expected.split("====\n")[1], "the same predictions"
    assert parts[5] == expected.split("====\n")[5], "the same tags"
    errs = err.split("====\n")
    assert "NUMBA_CACHE_DIR" in errs[0]
    assert errs[0].count("\n") == 1
    assert "not recorded" in errs[2]
    assert "--ledger" in errs[2]
    assert errs[-2] == "", "--quiet prints nothing but errors"
    assert "NUMBA_CACHE_DIR" not in others
    assert "not counted" not in others


@pytest.mark.slow
def test_every_command_works_as_in_a_container_by_itself_for_a_user_who_is_not_in_the_list_of_users(
    installed, out, files
):
    """As `docker run --user 54321 --read-only`: every command is a process of its own and finds nothing compiled."""
    if not can_be(UNKNOWN):
        pytest.skip("only root, with setpriv, can start a user who is not in /etc/passwd")
    table, tagged = map(str, files)
    program = "import runpy\nrunpy.run_module('perceptrons', run_name='__main__', alter_sys=True)"
    options = {"before": another_user(UNKNOWN), "folder": out, "PYTHONPATH": str(installed)}
    told = {}
    for line in (
        ["train", table, "-o", "m.perceptron"], ["predict", "m.perceptron", table],
        ["report", "m.perceptron", table, "-o", "page.html"], ["tag", "train", tagged, "-o", "t.perceptron"],
        ["tag", "predict", "t.perceptron", tagged],
    ):  # fmt: skip
        code, told[" ".join(line[:2] if line[0] == "tag" else line[:1])], err = python(program, *line, **options)
        assert code == 0, (line, err)
        assert all("NUMBA_CACHE_DIR" in said or "MPLCONFIGDIR" in said for said in err.splitlines()), (line, err)
    labels = [line.rpartition(",")[2] for line in table_lines(table)]
    assert sum(map(str.__eq__, told["predict"].split(), labels)) > 40, "of 60"
    assert [line.split() for line in told["tag predict"].splitlines() if line][:2] == [["a", "A", "A"], ["b", "B", "B"]]
    assert sorted(path.name for path in out.iterdir()) == ["m.perceptron", "page.html", "t.perceptron"]
    assert not [path for path in installed.rglob("*") if path.suffix in (".pyc", ".nbi", ".nbc")]


@pytest.mark.slow
def test_warmup_is_refused_for_a_user_whose_compiled_code_can_be_kept_nowhere(installed, out):
    program = "import runpy\nrunpy.run_module('perceptrons', run_name='__main__', alter_sys=True)"
    environment = {"PYTHONPATH": str(installed), "HOME": NOWHERE}
    code, told, err = python(program, "warmup", before=nobody(), folder=out, **environment)
    assert (code, told) == (2, "")
    assert "Compiled code cannot be saved: set NUMBA_CACHE_DIR" in err


def table_lines(path):
    with open(path) as file:
        return file.read().splitlines()


@pytest.mark.slow
def test_a_user_without_any_home_loads_no_code_from_the_working_folder(installed, out):
    if not can_be(UNKNOWN):
        pytest.skip("only root, with setpriv, can start a user who is not in /etc/passwd")
    program = """
        import os
        from perceptrons import Perceptron

        assert os.path.expanduser("~") == "~", "this user has no home folder"
        print(Perceptron(max_iter=3, tol=None).fit([[0.0], [1.0]], ["a", "b"]).predict([[2.0]])[0])
    """
    told = python(program, before=another_user(UNKNOWN), folder=out, PYTHONPATH=str(installed))
    assert told == (0, "b\n", "")
    assert list(out.iterdir()) == [], "such as a folder called ~"


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("from perceptrons import plots", ["matplotlib", "MPLCONFIGDIR"]),
        (
            "from perceptrons import Perceptron\n"
            "Perceptron().fit_stream([([[0.0], [1.0]], [0, 1])], epochs=2)",
            ["The cache", "TMPDIR"],
        ),
    ],
    ids=["pictures", "streams"],
)  # fmt: skip
def test_what_needs_a_temporary_folder_says_so(program, words, out):
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    environment = {"PYTHONPATH": str(ROOT / "src"), "HOME": NOWHERE}
    code, _, err = python(full + program, folder=out, **environment)
    assert code == 1
    assert err.splitlines()[-1].startswith(("OSError", "FileNotFoundError"))
    assert all(word in err.splitlines()[-1] for word in words), err


@pytest.mark.parametrize("command", ["tune", "compare"])
def test_a_ledger_that_is_there_but_cannot_be_written_is_never_passed_over(command, run, files, tmp_path, monkeypatch):
    """Else a second use of the test set would go unnoticed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    table = files[0]
    more = ["--max-iter", 2] if command == "tune" else ["--learner", "average"]
    assert run(command, table, *more, "--quiet") == (0, "", "")

    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied", "there")

    monkeypatch.setattr("perceptrons.selection.test_set_ledger.tempfile.TemporaryFile", refused)
    code, out, err = run(command, table, *more, "--quiet")
    assert (code, out) == (2, "")
    assert "no ledger can be written there" in err
