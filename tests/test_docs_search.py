"""The words that people look up are on the site: explained in the glossary, and used on the page it leads to."""

import re
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest
import typer

from perceptrons import KernelPerceptron, Perceptron
from perceptrons.cli import app
from perceptrons.losses import Hinge
from perceptrons.selection import compare
from perceptrons.theory import convergence, mistake_bound, trace

DOCS = Path(__file__).parent.parent / "docs"
TERMS = [
    "decision boundary", "hyperplane", "linearly separable", "dot product", "learning rate", "hyperparameter",
    "overfitting", "early stopping", "training set", "validation set", "test set", "batch", "mini-batch",
    "online learning", "epoch", "stochastic gradient descent", "loss", "regularization", "weight decay",
    "kernel trick", "support vectors", "feature map", "one-vs-rest", "one-vs-one", "multilabel", "class imbalance",
    "neural network", "Rosenblatt", "Minsky and Papert",
]  # fmt: skip
# The topics of the lectures, by the word that a lecture uses; each is a row of docs/lectures.md
TOPICS = [
    "perceptron loss", "hinge loss", "stochastic gradient descent", "convergence theorem", "worked example",
    "kernel perceptron", "averaged perceptron", "argmax", "early stopping", "overfitting", "naive Bayes",
    "logistic regression", "cost-augmented decoding", "SVM rule", "L2 penalty", "linear regression", "ridge",
    "augmented weights", "signed distance", "one-vs-rest", "one-vs-one", "multilabel", "start of ones",
    "neural networks", "orthogonality", "projection", "half-space", "sign(0) = +1", "online protocol",
    "hypothesis space", "inductive bias", "concise form", "convexity", "batch perceptron", "voted perceptron",
    "structured perceptron",
    "geometric margin", "mistake bound", "inseparable", "development", "hyperparameters", "decision tree",
    "nearest neighbours", "dendrites", "sign(0) = -1", "number of epochs", "feature scaling", "XOR",
]  # fmt: skip
ENTRY = re.compile(r"^## (.+)\n\n(.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+\.md)")


def entries():
    """The glossary: what stands below every heading, by the heading in small letters."""
    return {name.lower(): text for name, text in ENTRY.findall((DOCS / "glossary.md").read_text())}


def test_every_entry_of_the_glossary_explains_and_leads_to_a_page_that_uses_the_word():
    found = entries()
    assert len(found) > 40
    for name, text in found.items():
        explanation, _, where = text.partition(" → ")
        assert len(explanation.split()) >= 15, name
        pages = LINK.findall(where)
        assert pages, name
        words = [word.rstrip("s") for word in re.findall(r"[\w-]+", name)]
        assert any(all(word in (DOCS / page).read_text().lower() for word in words) for page in pages), name


def test_the_glossary_is_in_alphabetical_order():
    names = list(entries())
    assert names == sorted(names)


@pytest.mark.parametrize("term", TERMS)
def test_every_term_is_in_the_glossary_and_on_the_page_that_shows_it(term):
    text = entries()[term.lower()]
    pages = LINK.findall(text.partition(" → ")[2])
    said = re.compile(rf"\b{term.removesuffix('ting')}", re.IGNORECASE)
    assert said.search((DOCS / pages[0]).read_text()), f"{pages[0]} does not mention {term}"
    others = [page for page in DOCS.rglob("*.md") if page.name != "glossary.md" and said.search(page.read_text())]
    assert len(others) >= 2, f"{term} is on {len(others)} pages beside the glossary"


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_of_the_lectures_has_a_row_with_a_page(topic):
    rows = [line for line in (DOCS / "lectures.md").read_text().splitlines() if line.startswith("| ")]
    named = [row for row in rows if topic.lower() in row.split("|")[1].lower()]
    assert named, topic
    for row in named:
        pages = LINK.findall(row)
        assert pages, row
        for page in pages:
            assert (DOCS / page).is_file(), page


def test_every_call_of_the_lecture_index_exists():
    calls = re.findall(r"`([^`]+)`", (DOCS / "lectures.md").read_text())
    names = [
        found for call in calls for found in re.findall(r"\b(theory|losses|selection|online|teaching)\.(\w+)", call)
    ]
    assert len(names) > 20
    for module, name in names:
        assert hasattr(import_module(f"perceptrons.{module}"), name), f"{module}.{name}"
    known = {*signature(Perceptron).parameters, *signature(Perceptron.fit).parameters, *signature(compare).parameters}
    known |= {*signature(KernelPerceptron).parameters, *signature(trace).parameters, *signature(convergence).parameters}
    known |= {*signature(mistake_bound).parameters, *signature(Hinge).parameters}
    set_by_name = [name for call in calls for name in re.findall(r"\b([a-z_]\w*) ?= ?[^=]", call) if name != "rule"]
    assert len(set_by_name) > 20
    assert {*set_by_name} <= known
    attributes = {call for call in calls if re.fullmatch(r"\w+_", call)}
    text = f"{Perceptron.__doc__} {KernelPerceptron.__doc__}"
    assert len(attributes) >= 6
    assert {name for name in attributes if name not in text} == set()


def test_every_setting_and_command_of_the_cheat_sheet_exists():
    sheet = (DOCS / "cheatsheet.md").read_text()
    variants = sheet.partition("## Variants")[2].partition("</div>")[0]
    settings = re.findall(r"\b([a-z]\w*)=", "".join(re.findall(r"`([^`]+)`", variants)))
    known = {*signature(Perceptron).parameters, *signature(KernelPerceptron).parameters}
    assert len(settings) > 15
    assert {*settings} - known == {"templates"}  # of SequencePerceptron
    commands = re.findall(r"^perceptrons ([^#\n]+)", sheet, re.MULTILINE)
    assert len(commands) > 10
    groups = typer.main.get_command(app).commands
    for words in (command.split() for command in commands):
        command = groups[words[0]] if words[0] != "tag" else groups["tag"].commands[words[1]]
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, words
