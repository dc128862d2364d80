"""The Python examples of the README run and print what it says. Those of the pages run when the site is built."""

import re
from pathlib import Path

from tools.run_pages import blocks, run_page

PAGE = Path(__file__).parent.parent / "README.md"
README = PAGE.read_text()


def test_the_two_examples_print_what_the_readme_says(tmp_path):
    found = blocks(README)
    assert len(found) == README.count("```python") == 2
    assert all(block.output for block in found)
    assert run_page(PAGE, tmp_path).problems == []


def test_the_first_two_commands_are_the_main_job_and_the_tests():
    commands = re.findall(r"```bash\n(.*?)\n```", README, re.DOTALL)
    assert commands == ["pip install . && perceptrons train", 'pip install -e ".[test]" && pytest -n auto']
