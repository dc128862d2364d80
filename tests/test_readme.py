"""The Python examples of the README run and print what it says. Those of the pages run when the site is built."""

import re
from pathlib import Path

import pytest

from tests.images import TOLERANCE, difference
from tools.run_pages import blocks, run_page

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "README.md"
README = PAGE.read_text()


def test_the_example_prints_what_the_readme_says(tmp_path):
    found = blocks(README)
    assert len(found) == README.count("```python") == 1
    assert all(block.output for block in found)
    assert run_page(PAGE, tmp_path).problems == []


def test_the_readme_can_be_read_in_a_minute():
    assert len(README.splitlines()) <= 150


def test_every_number_in_the_table_of_results_is_one_that_its_benchmark_wrote():
    rows = re.findall(r"^\| (.*) \| `python -m benchmarks (\w+)` \|$", README, re.MULTILINE)
    assert len(rows) >= 5
    for row, name in rows:
        written = _numbers((ROOT / f"benchmarks/results/{name}.md").read_text())
        numbers = _numbers(" ".join(row.split(" | ")[1:]))
        assert numbers
        assert [number for number in numbers if number not in written] == [], row


def test_the_first_two_commands_are_the_main_job_and_the_tests():
    commands = re.findall(r"```bash\n(.*?)\n```", README, re.DOTALL)
    assert commands == ["pip install . && perceptrons train", 'pip install -e ".[test]" && pytest -n auto']


def _numbers(text):
    """The numbers in a text, without the commas between thousands."""
    return [number.replace(",", "") for number in re.findall(r"(?<!\w)\d(?:[\d.,]*\d)?", text)]


@pytest.mark.slow
def test_the_picture_is_the_one_that_the_home_page_draws(tmp_path):
    """To keep a new one: copy home.png from the site's build, and look at it."""
    ran = run_page(ROOT / "docs/index.md", tmp_path)
    assert ran.problems == []
    drawn = [path for path in ran.files if path.name == "home.png"]
    assert "docs/assets/home.png" in README
    assert difference(drawn[0].read_bytes(), (ROOT / "docs/assets/home.png").read_bytes()) <= TOLERANCE
