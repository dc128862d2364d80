"""Phrases: where they start and end, and that they are counted as conlleval counts them. seqeval is the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import accuracy_score, get_entities, precision_recall_fscore_support

from perceptrons.sequence.phrases import (
    Phrase,
    PhraseCounts,
    are_phrase_labels,
    counts_by_sentence,
    phrase_scores,
    phrases,
)


def counts(true, predicted):
    """Labels with spaces between them: n_true, n_found, n_right, and tokens right."""
    scores = phrase_scores(true.split(), predicted.split())
    return scores.n_true, scores.n_found, scores.n_right, scores.n_tokens_right


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("", []),
        ("O O", []),
        ("B-NP I-NP B-VP O B-NP", [("NP", 0, 2), ("VP", 2, 3), ("NP", 4, 5)]),
        ("I-NP I-NP B-NP I-NP O I-NP", [("NP", 0, 2), ("NP", 2, 4), ("NP", 5, 6)]),
        ("I-NP I-VP I-VP", [("NP", 0, 1), ("VP", 1, 3)]),
        ("B-NP I-VP I-NP", [("NP", 0, 1), ("VP", 1, 2), ("NP", 2, 3)]),
        ("B-NP B-NP", [("NP", 0, 1), ("NP", 1, 2)]),
        ("S-NP S-NP B-NP E-NP B-NP I-NP E-NP", [("NP", 0, 1), ("NP", 1, 2), ("NP", 2, 4), ("NP", 4, 7)]),
        ("I-NP E-NP E-NP I-NP O", [("NP", 0, 2), ("NP", 2, 3), ("NP", 3, 4)]),
        ("B-NP S-NP I-NP", [("NP", 0, 1), ("NP", 1, 2), ("NP", 2, 3)]),
        ("O E-NP E-VP", [("NP", 1, 2), ("VP", 2, 3)]),
        ("B-NP-SBJ I-NP-SBJ I-NP", [("NP-SBJ", 0, 2), ("NP", 2, 3)]),
        ("B I O I B", [("", 0, 2), ("", 3, 4), ("", 4, 5)]),
        ("B- I- O", [("", 0, 2)]),
        ("O-NP I-NP O-NP", [("NP", 1, 2)]),
    ],
    ids=["nothing", "outside", "IOB2", "IOB1", "IO", "I of another type", "B behind B", "IOBES", "IOE1",
         "S in the middle", "E alone", "hyphens in the type", "no types", "empty types", "a type at O"],
)  # fmt: skip
def test_phrases_start_and_end_where_they_do_for_conlleval(labels, expected):
    assert phrases(labels.split()) == expected


def test_a_phrase_has_names_for_its_parts():
    assert phrases(["O", "B-NP"])[0] == Phrase(type="NP", start=1, end=2)


@pytest.mark.parametrize(
    ("true", "predicted", "expected"),
    [
        ("B-NP I-NP B-VP O", "B-NP I-NP B-VP O", (2, 2, 2, 4)),
        ("I-NP I-NP O I-NP", "B-NP I-NP O B-NP", (2, 2, 2, 2)),
        ("I-NP B-NP I-NP", "B-NP I-NP I-NP", (2, 1, 0, 1)),
        ("O I-NP I-VP I-VP", "O B-NP B-VP I-VP", (2, 2, 2, 2)),
        ("B-NP I-VP I-NP", "B-NP B-VP B-NP", (3, 3, 3, 1)),
        ("B-NP I-NP I-NP", "B-NP I-NP O", (1, 1, 0, 2)),
        ("B-NP I-NP O", "B-NP I-NP I-NP", (1, 1, 0, 2)),
        ("B-NP I-NP", "B-VP I-VP", (1, 1, 0, 0)),
        ("I-NP E-NP E-NP I-NP", "I-NP E-NP I-NP I-NP", (3, 2, 1, 3)),
        ("B I O B", "B- I- O I", (2, 2, 2, 3)),
        ("B-NP-SBJ I-NP-SBJ I-NP", "B-NP-SBJ I-NP-SBJ I-NP-SBJ", (2, 1, 0, 2)),
        ("O-NP I-NP O", "O B-NP O-VP", (1, 1, 1, 0)),
        ("Bx-NP I-NP", "B-NP I-NP", (1, 1, 1, 1)),
        ("NN DT NN", "NN DT DT", (0, 0, 0, 2)),
        ("B-PER L-PER U-PER O", "B-PER I-PER U-PER O", (1, 1, 1, 3)),
        ("B-NP . B-NP", "B-NP O B-NP", (2, 2, 2, 2)),
    ],
)
def test_counts_are_those_that_the_script_printed(true, predicted, expected):
    # by conlleval of 2004-01-26, the version that allows hyphens in types
    assert counts(true, predicted) == expected


def test_iobes_is_counted_though_the_script_would_join_its_phrases():
    assert counts("S-NP S-NP", "S-NP S-NP") == (2, 2, 2, 2)
    assert counts("B-NP E-NP B-NP E-NP", "S-NP S-NP B-NP E-NP") == (2, 3, 1, 2)
    assert counts("S-NP O B-NP E-NP", "B-NP O B-NP I-NP") == (2, 2, 2, 2)


def test_all_labels_right_means_all_phrases_right_whatever_the_labels():
    assert counts("B-A NP", "B-A NP") == (2, 2, 2, 2)  # the script: 1 of 2, as nothing ends the second
    scores = phrase_scores(["B-0", "B-"], ["B-0", "B-"])
    assert list(scores.by_type) == ["", "0"]  # the script takes a type 0 for none


def test_scores_are_overall_and_by_type():
    true = [["B-NP", "I-NP", "B-VP", "O"], ["B-NP", "B-PP"]]
    scores = phrase_scores(true, [["B-NP", "I-NP", "I-NP", "B-ADJP"], ["B-NP", "B-PP"]])
    assert (scores.n_true, scores.n_found, scores.n_right) == (4, 4, 2)
    assert (scores.precision, scores.recall, scores.f1) == (0.5, 0.5, 0.5)
    assert (scores.n_tokens, scores.n_tokens_right, scores.accuracy) == (6, 4, 4 / 6)
    assert list(scores.by_type.items()) == [
        ("ADJP", PhraseCounts(0, 1, 0)),
        ("NP", PhraseCounts(2, 2, 1)),
        ("PP", PhraseCounts(1, 1, 1)),
        ("VP", PhraseCounts(1, 0, 0)),
    ]
    adjective, verb = scores.by_type["ADJP"], scores.by_type["VP"]
    assert (adjective.precision, adjective.recall, adjective.f1) == (0, 0, 0)
    assert (verb.precision, verb.recall, verb.f1) == (0, 0, 0)
    third = PhraseCounts(4, 2, 1)
    assert (third.precision, third.recall, third.f1) == (0.5, 0.25, pytest.approx(1 / 3))


@pytest.mark.parametrize("labels", [[], [[]], [["O"]], [[], ["O", "O"], []]])
def test_nothing_to_find_and_nothing_found_gives_0(labels):
    scores = phrase_scores(labels, labels)
    assert (scores.n_true, scores.n_found, scores.f1, scores.by_type) == (0, 0, 0, {})
    assert scores.accuracy == (1 if scores.n_tokens else 0)


def test_phrases_never_reach_over_the_end_of_a_sentence():
    assert phrase_scores([["B-NP"], ["I-NP"]], [["B-NP"], ["I-NP"]]).n_true == 2
    assert phrase_scores(["B-NP", "I-NP"], ["B-NP", "I-NP"]).n_true == 1
    assert phrase_scores(["B-NP", "I-NP"], ["B-NP", "I-NP"], lengths=[1, 0, 1]).n_true == 2


def test_labels_come_as_lists_tuples_or_arrays_nested_or_with_lengths():
    true, predicted = [["B-NP", "I-NP"], ["O", "B-VP"]], [["B-NP", "O"], ["O", "B-VP"]]
    expected = phrase_scores(true, predicted)
    flat, found = np.array(true).ravel(), np.array(predicted).ravel()
    assert phrase_scores(np.array(true), np.array(predicted)) == expected
    assert phrase_scores([np.array(labels) for labels in true], tuple(map(tuple, predicted))) == expected
    assert phrase_scores(flat, found, np.array([2, 2])) == expected
    assert phrase_scores(flat.astype(object), list(found), [2, 2]) == expected
    assert phrases(flat) == [("NP", 0, 2), ("VP", 3, 4)]


@pytest.mark.parametrize(
    ("true", "predicted", "lengths", "about"),
    [
        (
            [["O"], ["O", "O"]],
            [["O"], ["O"]],
            None,
            r"sentence 1 \(numbered from 0\) has 2 true labels, but 1 predicted",
        ),
        ([["O"]], [["O"], ["O"]], None, "1 sentences of true labels, but 2 of predicted"),
        (["O", "O"], ["O"], [2], "lengths sum to 2, but there are 1 labels"),
        (["O", "O"], ["O", "O"], [3, -1], "lengths"),
        ([["O"]], [["O"]], [1], r"\['O'\] is not a label: give the labels of one sentence, or of all"),
        ([1, 2], [1, 2], None, "is not a label of a phrase: give text"),
        ([["O", None]], [["O", "O"]], None, "None is not a label of a phrase"),
    ],
)
def test_what_does_not_fit_is_named(true, predicted, lengths, about):
    with pytest.raises(ValueError, match=about):
        phrase_scores(true, predicted, lengths)


def test_labels_of_phrases_are_told_from_others():
    assert are_phrase_labels(["O", "B-NP", "I-NP-SBJ", "S-X", "E-X"])
    assert are_phrase_labels(["B", "I", "O"])
    assert are_phrase_labels(np.array(["I-PER", "O"]))
    assert not are_phrase_labels(["O"])
    assert not are_phrase_labels([])
    assert not are_phrase_labels(["DT", "NN", "B-NP"])
    assert not are_phrase_labels(["I", "O"])
    assert not are_phrase_labels(["U-PER", "B-PER"])


# ---- Against seqeval

LABELS = st.sampled_from(["O", *(f"{tag}-{kind}" for tag in "BIES" for kind in ("NP", "VP", "NP-SBJ"))])
SENTENCES = st.lists(st.lists(st.tuples(LABELS, LABELS, st.booleans()), max_size=12), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(SENTENCES)
def test_any_labels_are_counted_as_by_seqeval(sentences):
    true = [[label for label, _, _ in sentence] for sentence in sentences]
    predicted = [[label if same else other for label, other, same in sentence] for sentence in sentences]
    scores = phrase_scores(true, predicted)
    for labels in (*true, *predicted):
        assert phrases(labels) == [(kind, start, last + 1) for kind, start, last in get_entities(labels)]
    entities, found = set(get_entities(true)), set(get_entities(predicted))
    assert (scores.n_true, scores.n_found, scores.n_right) == (len(entities), len(found), len(entities & found))
    if entities or found:
        precision, recall, f1, _ = precision_recall_fscore_support(true, predicted, average="micro", zero_division=0)
        assert (scores.precision, scores.recall, scores.f1) == pytest.approx((precision, recall, f1))
        *_, by_type = precision_recall_fscore_support(true, predicted, average=None, zero_division=0)
        assert [of_type.n_true for of_type in scores.by_type.values()] == list(by_type)
    if scores.n_tokens:
        assert scores.accuracy == accuracy_score(true, predicted)


def test_a_type_without_a_name_is_empty_where_seqeval_calls_it_underscore():
    assert phrases(["B", "I"]) == phrases(["B-", "I-"]) == [("", 0, 2)]
    assert get_entities(["B", "I"]) == get_entities(["B-", "I-"]) == [("_", 0, 1)]


@pytest.mark.filterwarnings("ignore:.*seems not to be NE tag")
def test_a_tag_is_all_before_the_hyphen_where_seqeval_takes_one_letter():
    assert phrases(["B-NP", "Bx-NP"]) == [("NP", 0, 2)]
    assert get_entities(["B-NP", "Bx-NP"]) == [("NP", 0, 0), ("NP", 1, 1)]
    assert phrases(["O", "EX", "O"]) == []
    assert get_entities(["O", "EX", "O"]) == [("X", 1, 1)]


LABELS = st.sampled_from(["O", "B-NP", "I-NP", "B-VP", "I-VP", "S-NP", "E-VP"])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.tuples(LABELS, LABELS), max_size=6), min_size=1, max_size=6))
def test_phrases_by_sentence_are_those_of_each_sentence_alone(pairs):
    true, found = ([[pair[k] for pair in sentence] for sentence in pairs] for k in (0, 1))
    rows = counts_by_sentence(true, found)
    for row, one, other in zip(rows.tolist(), true, found, strict=True):
        there, answered = set(phrases(one)), set(phrases(other))
        assert row == [len(there), len(answered), len(there & answered)]
    whole = phrase_scores(true, found)
    assert PhraseCounts(*rows.sum(axis=0).tolist()) == PhraseCounts(whole.n_true, whole.n_found, whole.n_right)
