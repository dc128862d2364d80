"""The words that people look up are on the site: explained in the glossary, and used on the page it leads to."""

import re
from pathlib import Path

import pytest

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
    "hypothesis space", "inductive bias", "batch perceptron", "voted perceptron", "structured perceptron",
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
