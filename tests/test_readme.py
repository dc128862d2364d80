"""The Python examples of the README and the pages run and print what these say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = {"README": README} | {page.stem: page.read_text() for page in (ROOT / "docs").glob("*.md")}
WITH_OUTPUT = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
EXAMPLES = [(name, *found) for name, text in sorted(PAGES.items()) for found in WITH_OUTPUT.findall(text)]


def test_all_examples_have_their_output():
    assert sum(text.count("```python") for text in PAGES.values()) == len(EXAMPLES) >= 3
    assert README.count("```python") == 2


@pytest.mark.parametrize(("page", "code", "output"), EXAMPLES)
def test_examples_print_what_the_page_says(page, code, output, tmp_path):
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == output


def test_the_first_two_commands_are_the_main_job_and_the_tests():
    commands = re.findall(r"```bash\n(.*?)\n```", README, re.DOTALL)
    assert commands == ["pip install . && perceptrons train", 'pip install -e ".[test]" && pytest -n auto']
