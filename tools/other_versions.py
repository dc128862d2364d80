"""Tests with other versions than the newest of this Python: the oldest that pyproject.toml allows, or another Python.

    python -m tools.other_versions lowest    the oldest packages, on the oldest Python
    python -m tools.other_versions highest   the newest packages, on the newest Python that is supported and is here

Makes an environment by uv, installs the package with its extra `test`, and runs the tests that versions can break.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# Of these the first tier is run. They call other packages most; the arithmetic is tested in full elsewhere
BOTH = (
    "tests/test_doors.py", "tests/test_sklearn.py", "tests/test_wrappers.py", "tests/test_public.py",
    "tests/modelfile/test_pipelines.py", "tests/cli/test_cli.py", "tests/cli/test_completion.py",
    "tests/serve/test_answers.py",
)  # fmt: skip
TESTS = {
    "lowest": (
        *BOTH, "tests/selection/test_compare.py", "tests/features/test_features_text.py", "tests/data/test_data.py",
        "tests/data/test_data_tables.py", "tests/cli/test_cli_compare.py", "tests/cli/test_cli_tag_files.py",
        "tests/cli/test_cli_dask.py", "tests/distributed/test_distributed.py", "tests/plots/test_plots.py",
    ),
    "highest": BOTH,
}  # fmt: skip


def supported(project: dict[str, Any]) -> list[str]:
    """The versions of Python that the metadata name, oldest first."""
    named = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in project["classifiers"])
    return sorted((match[1] for match in named if match), key=number)


def number(version: str) -> int:
    return int(version.partition(".")[2])


def places(version: str) -> Iterable[str]:
    """Where a Python may be: on the PATH, and where pyenv and uv install them, newest first."""
    yield from filter(None, [shutil.which(f"python{version}")])
    home = Path.home()
    for folder in (Path(os.environ.get("PYENV_ROOT", home / ".pyenv")) / "versions", home / ".local/share/uv/python"):
        found = [*folder.glob(f"{version}.*/bin/python"), *folder.glob(f"cpython-{version}.*/bin/python3")]
        yield from map(
            str, sorted(found, key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))], reverse=True)
        )


def find(version: str) -> str | None:
    """A Python of this version that runs, or None. (Those of pyenv on the PATH only run if they are chosen there.)"""
    if sys.version_info[:2] == (3, number(version)):
        return sys.executable
    for place in places(version):
        asked = [place, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(asked, capture_output=True, text=True)
        if answer.returncode == 0 and answer.stdout.strip() == version:
            return place
    return None


def chosen(which: str, versions: list[str]) -> tuple[str, str] | str:
    """The version of Python and where it is, or one line that says why there is none to test on."""
    if which == "lowest":
        place = find(versions[0])
        return (versions[0], place) if place else f"No Python {versions[0]} here: the lowest versions are not tested."
    for version in reversed(versions):
        if sys.version_info[:2] == (3, number(version)):
            return f"No supported Python newer than {version} here: the other tests ran on the highest."
        place = find(version)
        if place:
            return version, place
    return "No supported Python here: the highest is not tested."


def test(which: str, version: str, python: str, folder: Path) -> int:
    """Install and test there; the exit code of pytest."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment["NUMBA_CACHE_DIR"] = str(folder / "compiled")  # another numba would throw away what it finds
    inside = str(folder / "environment" / "bin" / "python")
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "-q", "--python", python, str(folder / "environment")], check=True, env=environment)
    resolution = "lowest-direct" if which == "lowest" else "highest"
    install = [*uv, "pip", "install", "-q", "--python", inside, "--resolution", resolution, "-e", ".[test]"]
    subprocess.run(install, check=True, cwd=ROOT, env=environment)
    tests = [inside, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", *TESTS[which]]
    print(f"+ Python {version}, {which} versions: pytest {' '.join(tests[3:])}", flush=True)
    return subprocess.run(tests, cwd=ROOT, env=environment).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=sorted(TESTS), help="Which versions to install.")
    which = parser.parse_args().which
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    answer = chosen(which, supported(project))
    if isinstance(answer, str):
        print(answer)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return test(which, *answer, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
