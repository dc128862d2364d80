"""Phrases by the letter of a scheme, and the classification report, as seqeval has them."""

import random
import re
import warnings

import pytest
import seqeval.scheme
from seqeval.metrics import classification_report

from perceptrons.sequence.phrases import SCHEMES, phrase_scores, phrases


def drawn(name, seed, n_types=2, share=0.7):
    """Four sentences of true labels in any order, and others that agree with some of them."""
    rng = random.Random(f"{name} {seed}")
    labels = ["O", *(f"{tag}-{kind}" for tag in SCHEMES[name].tags if tag != "O" for kind in "ABC"[:n_types])]
    true = [[rng.choice(labels) for _ in range(rng.randint(1, 9))] for _ in range(4)]
    return true, [[x if rng.random() < share else rng.choice(labels) for x in sentence] for sentence in true]


def theirs(true, found, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seqeval warns of types that were never found
        return classification_report(true, found, **options)


def same(report, other):
    """Are the reports equal, but for a last digit that one sum rounds up and another down?"""
    numbers = [[float(number) for number in re.findall(r"\d\.\d+", text)] for text in (report, other)]
    return re.sub(r"\d\.\d+", "#", report) == re.sub(r"\d\.\d+", "#", other) and numbers[0] == pytest.approx(
        numbers[1], abs=1.01e-4
    )


@pytest.mark.parametrize("name", SCHEMES)
def test_strict_reports_are_those_of_seqeval(name):
    strict = lenient = 0
    for seed in range(300):
        true, found = drawn(name, seed, n_types=1 + seed % 3, share=(0.2, 0.7, 0.9)[seed % 3])
        scheme = getattr(seqeval.scheme, name)
        ours = phrase_scores(true, found, scheme=name)
        if not ours.by_type:
            continue  # seqeval fails where there is no phrase at all
        assert same(ours.report(4), theirs(true, found, mode="strict", scheme=scheme, digits=4))
        as_dict = theirs(true, found, mode="strict", scheme=scheme, output_dict=True)
        for average, of in ours.averages().items():
            assert list(as_dict[f"{average} avg"].values()) == pytest.approx(list(of))
        strict += ours.n_right
        lenient += phrase_scores(true, found).n_right
    assert strict > 300
    assert strict != lenient


@pytest.mark.parametrize("name", ["IOB2", "IOBES"])
def test_reports_as_conlleval_counts_are_those_of_seqevals_default_mode(name):
    for seed in range(200):
        true, found = drawn(name, seed)
        assert same(phrase_scores(true, found).report(4), theirs(true, found, digits=4))


def test_what_breaks_the_scheme_is_no_phrase():
    labels = ["O", "I-NP", "B-NP", "I-NP", "I-VP", "B-VP"]
    assert [tuple(one) for one in phrases(labels, scheme="IOB2")] == [("NP", 2, 4), ("VP", 5, 6)]
    assert len(phrases(labels)) == 4
    assert [tuple(one) for one in phrases(["B-X", "I-X", "S-Y", "B-X", "E-X"], scheme="IOBES")] == [
        ("Y", 2, 3),
        ("X", 3, 5),
    ]


def test_a_label_that_the_scheme_lacks_and_an_unknown_scheme_are_refused():
    with pytest.raises(ValueError, match=r"'S-X' is not a label of the scheme IOB2, whose tags are I, O, B"):
        phrases(["B-X", "S-X"], scheme="IOB2")
    with pytest.raises(ValueError, match=r"scheme='iob': choose IOB1, IOB2"):
        phrase_scores([["O"]], [["O"]], scheme="iob")


def test_without_any_phrase_all_averages_are_0():
    scores = phrase_scores([["O", "O"]], [["O", "O"]], scheme="IOB2")
    assert {tuple(of) for of in scores.averages().values()} == {(0.0, 0.0, 0.0, 0)}
    assert "micro avg" in scores.report()


def test_sentences_one_behind_the_other_are_counted_alike():
    true, found = drawn("IOBES", 1)
    flat = [[label for sentence in of for label in sentence] for of in (true, found)]
    assert phrase_scores(*flat, lengths=[len(s) for s in true], scheme="IOBES") == phrase_scores(
        true, found, scheme="IOBES"
    )
