"""The Python examples of the README run and print what it says. Those of the pages run when the site is built."""

import re
from pathlib import Path

import pytest

from tests.images import TOLERANCE, difference
from tools.run_pages import blocks, run_page

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "README.md"
README = PAGE.read_text()


def test_the_two_examples_print_what_the_readme_says(tmp_path):
    found = blocks(README)
    assert len(found) == README.count("```python") == 2
    assert all(block.output for block in found)
    assert run_page(PAGE, tmp_path).problems == []


def test_the_first_two_commands_are_the_main_job_and_the_tests():
    commands = re.findall(r"```bash\n(.*?)\n```", README, re.DOTALL)
    assert commands == ["pip install . && perceptrons train", 'pip install -e ".[test]" && pytest -n auto']


@pytest.mark.slow
def test_the_picture_is_the_one_that_the_home_page_draws(tmp_path):
    """To keep a new one: copy home.png from the site's build, and look at it."""
    ran = run_page(ROOT / "docs/index.md", tmp_path)
    assert ran.problems == []
    drawn = [path for path in ran.files if path.name == "home.png"]
    assert "docs/assets/home.png" in README
    assert difference(drawn[0].read_bytes(), (ROOT / "docs/assets/home.png").read_bytes()) <= TOLERANCE
