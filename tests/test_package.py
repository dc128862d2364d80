"""What is built and published: the wheel and the source distribution, their licences, metadata and description."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string

import pytest

from tests.conftest import ROOT

TOOLS = (
    "build",
    "hatchling",
    "hatch_fancy_pypi_readme",
    "twine",
    "check_wheel_contents",
    "validate_pyproject",
    "pyroma",
)
for tool in TOOLS:
    pytest.importorskip(tool, reason='needs the tools that `pip install -e ".[dev]"` brings; CI runs it with them')
pytestmark = pytest.mark.slow

DATA = "perceptrons/data/examples/sms-spam.tsv.gz"
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|(?:src|href)\s*=\s*[\"']([^\"']+)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)


def tool(name, *arguments):
    """Run a tool of this environment; gives what it prints. It must end with 0."""
    command = [sys.executable, "-m", name, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    tool("build", "--no-isolation", "--outdir", folder, ".")
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def metadata(built):
    with zipfile.ZipFile(built[0]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(archive.read(name).decode())


def test_the_wheel_names_both_licences_and_contains_their_texts(built, metadata):
    assert metadata["License-Expression"] == "MIT AND CC-BY-4.0"
    with zipfile.ZipFile(built[0]) as archive:
        names = archive.namelist()
        assert DATA in names
        texts = {
            name.rpartition("/")[2]: archive.read(name).decode() for name in names if "dist-info/licenses/" in name
        }
    assert sorted(texts) == sorted(metadata.get_all("License-File")) == ["LICENSE", "LICENSE-CC-BY-4.0"]
    assert "Permission is hereby granted" in texts["LICENSE"]
    notice = texts["LICENSE-CC-BY-4.0"]
    assert DATA in notice
    for told in ("Tiago A. Almeida and José María Gómez Hidalgo", "archive.ics.uci.edu/dataset/228", "Changes:"):
        assert told in notice, "CC BY asks for the authors, the source and what was changed"
    assert "https://creativecommons.org/licenses/by/4.0/" in notice
    assert "Section 3 -- License Conditions" in notice


def test_the_description_has_no_link_that_leads_nowhere(metadata):
    text = metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "pip install . && perceptrons train" in text, "it is the README"
    links = [next(filter(None, found)) for found in LINK.findall(text)]
    assert [link for link in links if not link.startswith(("https://", "http://", "#", "mailto:"))] == []
    assert "![" not in text


def test_the_search_for_links_finds_those_of_the_readme():
    links = [next(filter(None, found)) for found in LINK.findall((ROOT / "README.md").read_text())]
    assert any(link.endswith(".md") for link in links)
    assert any(link.endswith(".png") for link in links)


def test_the_metadata_say_who_where_and_for_which_python(metadata):
    assert metadata["Author"] == "The perceptrons developers"
    assert metadata.get_all("Project-URL")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = project["requires-python"].removeprefix(">=")
    said = [line.rpartition(" ")[2] for line in metadata.get_all("Classifier") if "Python :: 3." in line]
    assert said[0] == lowest
    assert metadata["Requires-Python"] == f">={lowest}"


def test_the_source_distribution_contains_what_the_description_names(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "LICENSE-CC-BY-4.0", "CHANGELOG.md", "docs/index.md", "tests/conftest.py"} <= names
    local = re.findall(r"\]\(((?!https?:|#)[^)#]+)", (ROOT / "README.md").read_text())
    assert len(local) > 5
    assert set(local) <= names


def test_the_tools_of_the_index_find_nothing_wrong(built):
    wheel, sdist = built
    assert tool("twine", "--no-color", "check", "--strict", wheel, sdist).count("PASSED") == 2
    assert tool("check_wheel_contents", wheel).strip().endswith(": OK")
    assert "Valid file" in tool("validate_pyproject", "pyproject.toml")


@pytest.mark.parametrize("kind", ["source", "sdist"])
def test_pyroma_rates_the_package_9_or_more(built, kind):
    """Apart from the e-mail address of the authors: there is none."""
    where = ["-d", "."] if kind == "source" else ["-f", str(built[1])]
    told = tool("pyroma", "--min", "9", "--skip-tests", "AuthorEmail", *where)
    assert int(re.search(r"Final rating: (\d+)/10", told)[1]) >= 9


def test_docstrings_name_no_sections_of_documents_that_are_not_here():
    there = [path.name for path in sorted((ROOT / "src").rglob("*.py")) if re.search(r"\bspec \d", path.read_text())]
    assert there == []
