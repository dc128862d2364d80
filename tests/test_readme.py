"""The README's Python examples run and print what the README says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)


def test_the_readme_has_examples_with_output():
    assert len(EXAMPLES) == 2
    assert README.count("```python") == 2


@pytest.mark.parametrize("number", [0, 1])
def test_examples_print_what_the_readme_says(number, tmp_path):
    code, output = EXAMPLES[number]
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == output


def test_the_first_two_commands_are_the_main_job_and_the_tests():
    commands = re.findall(r"```bash\n(.*?)\n```", README, re.DOTALL)
    assert commands == ["pip install . && perceptrons train", 'pip install -e ".[test]" && pytest -n auto']
