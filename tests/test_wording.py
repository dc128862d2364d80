"""tools/wording.py: what it finds, and what it must not find."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tools.wording import findings, prose, read_by_people

NOT_BUT = [
    ("A line that parts the classes.", "A line that separates the classes."),
    ("The broken lines are the margins.", "The dashed lines are the margins."),
    ("This record is no example.", "This record is not a valid example. There is no example here."),
    ("Weights: a row a class.", "Weights: one row per class."),
    ("A file with an example a line.", "A file with one example per line. It gives each token of a sentence a label."),
    ("16 bytes a coefficient.", "16 bytes per coefficient."),
    ("Keep so many examples.", "Keep this many examples."),
    ("Take such a one.", "Take that one."),
    ("The model goes on learning.", "The model keeps training. The example goes on the other side."),
    ("Training can go on later.", "Training can resume later."),
    ("The cache is made anew.", "The cache is rebuilt."),
    ("What it came to is below.", "The result is below."),
    ("See how it went.", "See the training history."),
    ("The telling weights.", "The most important weights."),
    ("The word that tells most.", "The most important word. Numbers that say most about a class."),
    ("All figures are in the results.", "All numbers are in the results. A figure shows them."),
    ("A model begun with other classes.", "A model first trained with other classes."),
    ("An example that asks for an update.", "An example that triggers an update."),
    ("Two labels that cannot be told apart.", "Two labels that cannot be distinguished."),
    ("Words that tell the two classes apart.", "Words that distinguish the two classes."),
    ("These scores are none.", "These scores are not probabilities."),
    ("The perceptron's relatives.", "Other linear models. Relative error."),
    ("One look at the test data.", "One use of the test set."),
    ("Chosen on development data.", "Chosen on the validation set (also: development set)."),
    ("It reads packed files.", "It reads compressed files."),
    ("It made 1 mistakes.", "It made 1 mistake, 11 mistakes, 0.1 points, 2.1 seconds."),
]


@pytest.mark.parametrize(("bad", "good"), NOT_BUT)
def test_each_phrase_is_found_and_its_replacement_is_not(bad, good):
    assert len(findings("docs/page.md", bad)) == 1
    assert findings("docs/page.md", good) == []


def test_a_finding_names_the_file_the_line_and_what_to_write():
    assert findings("docs/page.md", "# Title\n\nKeep so\nmany of them.\n") == [
        'docs/page.md:3: "so many"; write: this many'
    ]


def test_of_code_on_a_page_only_the_comments_are_read():
    page = "Use `so_many` and `so many`.\n\n```python\nanew = 1  # made anew\n```\n\n```text\nanew\n```\n\nAgain.\n"
    assert findings("docs/page.md", page) == ['docs/page.md:4: "anew"; write: again, rebuilt']
    assert prose(page).count("\n") == page.count("\n")


def test_singular_and_plural_are_checked_in_what_code_prints():
    page = "```python\nprint(1, 'mistakes')\n```\n\n```text\n1 mistakes\n1 mistake\n```\n"
    assert findings("docs/page.md", page) == ['docs/page.md:6: "1 mistakes"; write: the singular: 1 mistake']


def test_docstrings_messages_and_parts_of_f_strings_are_read_but_names_are_not():
    source = (
        '"""A module.\n\nIts second line goes on learning."""\n\n'
        'def anew(n):\n    """Add `anew` to n."""\n    raise ValueError(f"{n} labels cannot be told apart")\n'
    )
    assert findings("src/perceptrons/some.py", source) == [
        'src/perceptrons/some.py:3: "goes on"; write: resume, keep training',
        'src/perceptrons/some.py:7: "told apart"; write: distinguished',
    ]


def test_some_phrases_are_only_banned_in_some_files():
    help_text, lecture = 'HELP = "Number of passes; otherwise 1"\n', "Choose by development data.\n"
    assert len(findings("src/perceptrons/cli/options.py", help_text)) == 1
    assert findings("src/perceptrons/engine/rows.py", help_text) == []
    assert len(findings("docs/recipe.md", lecture)) == 1
    assert findings("docs/tutorial/online.md", lecture) == []


def test_pages_and_the_package_are_read_by_default():
    names = {str(path.relative_to(ROOT)) for path in read_by_people()}
    assert {"README.md", "CHANGELOG.md", "docs/howto/text.md", "src/perceptrons/cli/options.py"} <= names


@pytest.mark.parametrize(("text", "code", "said"), [("Made anew.\n", 1, "anew"), ("Made again.\n", 0, "")])
def test_the_command_fails_if_it_finds_something(tmp_path, text, code, said):
    (tmp_path / "page.md").write_text(text)
    command = [sys.executable, "-m", "tools.wording", str(tmp_path / "page.md")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (code, "")
    assert said in ran.stdout
    assert bool(ran.stdout) == bool(code)
