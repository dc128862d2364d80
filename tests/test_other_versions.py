"""The tool that tests other versions: which Python it takes, and that every package has a lower bound to be tested."""

import re
import sys
import tomllib

import pytest

from tests.conftest import ROOT
from tools import other_versions

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
NEXT = f"3.{sys.version_info[1] + 1}"


def put(folder, says, code=0):
    """A program that answers as a Python of some version would, or fails as one of pyenv that was not chosen."""
    folder.mkdir(parents=True)
    for name in (f"python{NEXT}", "python"):
        (folder / name).write_text(f"#!/bin/sh\necho {says}\nexit {code}\n")
        (folder / name).chmod(0o755)
    return folder / "python"


@pytest.fixture
def nothing_else(monkeypatch, tmp_path):
    """A machine without any other Python."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    return tmp_path


def test_the_python_that_runs_is_found_and_one_that_is_not_there_is_not(nothing_else):
    assert other_versions.find(HERE) == sys.executable
    assert other_versions.find(NEXT) is None


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for a Python")
def test_one_of_pyenv_is_found_behind_a_name_on_the_path_that_fails(nothing_else):
    put(nothing_else / "bin", "command not found", code=127)
    wrong = put(nothing_else / ".pyenv" / "versions" / f"{NEXT}.9" / "bin", "2.7")
    right = put(nothing_else / ".pyenv" / "versions" / f"{NEXT}.1" / "bin", NEXT)
    assert other_versions.find(NEXT) == str(right)
    assert other_versions.chosen("highest", [HERE, NEXT]) == (NEXT, str(right))
    wrong.write_text(f"#!/bin/sh\necho {NEXT}\n")
    assert other_versions.find(NEXT) == str(wrong), "the newest first"


def test_a_machine_without_another_python_says_so_in_one_line(nothing_else):
    told = other_versions.chosen("highest", [HERE, NEXT])
    assert told == f"No supported Python newer than {HERE} here: the other tests ran on the highest."
    assert other_versions.chosen("lowest", [NEXT]) == f"No Python {NEXT} here: the lowest versions are not tested."
    assert other_versions.chosen("lowest", [HERE]) == (HERE, sys.executable)


def test_supported_versions_are_those_of_the_metadata():
    versions = other_versions.supported(PROJECT)
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert versions == sorted(versions, key=lambda version: int(version.split(".")[1]))
    assert "3.13" in versions


def test_the_tests_that_are_chosen_exist():
    for paths in other_versions.TESTS.values():
        assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_package_that_is_required_has_a_lower_bound():
    required = [
        *PROJECT["dependencies"],
        *(name for extra in PROJECT["optional-dependencies"].values() for name in extra),
    ]
    others = [name for name in required if not name.startswith("perceptrons[")]
    assert [name for name in others if not re.search(r">=\d", name)] == []
