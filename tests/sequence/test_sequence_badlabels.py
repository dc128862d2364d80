"""Labels that `allowed` forbids where they stand: refused by place, left out with their sentence, or repaired."""

import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import perceptrons
from perceptrons import FeatureTemplates, SequencePerceptron
from perceptrons.sequence.allowed import barriers, repaired
from perceptrons.sequence.phrases import phrases

X = [["a", "dog", "barks"], ["only", "here"], ["cats", "and", "dogs", "run"], ["a", "cat", "runs"], ["dogs", "bark"]]
Y = [
    ["B-NP", "I-NP", "B-VP"],
    ["O", "I-PP"],
    ["B-NP", "O", "I-NP", "I-VP"],
    ["B-NP", "I-NP", "B-VP"],
    ["I-NP", "B-VP"],
]
REPAIRED = [Y[0], ["O", "B-PP"], ["B-NP", "O", "B-NP", "B-VP"], Y[3], ["B-NP", "B-VP"]]
FORMS = ["templates", "lists", "dicts", "matrix"]


def given_as(form, sentences):
    """The sentences in one of the forms that fit takes."""
    if form == "templates":
        return sentences, {}
    if form == "lists":
        return [[[word, word[-1]] for word in sentence] for sentence in sentences], {}
    if form == "dicts":
        return [[{"word": word, "length": len(word)} for word in sentence] for sentence in sentences], {}
    numbers = {word: k for k, word in enumerate(sorted({word for sentence in X for word in sentence}))}
    words = [numbers[word] for sentence in sentences for word in sentence]
    matrix = sp.csr_matrix((np.ones(len(words)), (np.arange(len(words)), words)), (len(words), len(numbers)))
    return matrix, {"lengths": [len(sentence) for sentence in sentences]}


def tagger(form, **options):
    templates = FeatureTemplates("words") if form == "templates" else None
    return SequencePerceptron(templates=templates, allowed="bio", **options)


def saved(model, path):
    perceptrons.save(model, path)
    return path.read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_skipped_sentences_leave_no_trace_in_the_model(form, tmp_path):
    given, more = given_as(form, X)
    model = tagger(form).fit(given, Y, on_bad_label="skip", **more)
    assert (model.n_skipped_, model.n_repaired_) == (3, 0)
    clean, more = given_as(form, [X[0], X[3]])
    assert saved(model, tmp_path / "a") == saved(tagger(form).fit(clean, [Y[0], Y[3]], **more), tmp_path / "b")
    assert "B-PP" not in model.classes_


@pytest.mark.parametrize("form", FORMS)
def test_repaired_labels_train_the_model_of_the_corrected_corpus(form, tmp_path):
    given, more = given_as(form, X)
    model = tagger(form).fit(given, Y, on_bad_label="repair", **more)
    assert (model.n_skipped_, model.n_repaired_) == (0, 4)
    assert saved(model, tmp_path / "a") == saved(tagger(form).fit(given, REPAIRED, **more), tmp_path / "b")


def test_streams_skip_and_repair_block_by_block():
    for way, wanted in (("skip", [Y[0], Y[3]]), ("repair", REPAIRED)):
        model = tagger("templates")
        counts = []
        for x, y in zip(X, Y, strict=True):
            model.partial_fit([x], [y], classes=["B-PP", "B-NP", "I-NP", "B-VP", "O"], on_bad_label=way)
            counts.append((model.n_skipped_, model.n_repaired_))
        found = {"skip": [(k, 0) for k in (0, 1, 1, 0, 1)], "repair": [(0, k) for k in (0, 1, 2, 0, 1)]}
        assert counts == found[way]
        assert model.t_ == len(wanted)


def test_corpora_without_bad_labels_are_left_as_they_are(tmp_path):
    plain = saved(tagger("templates").fit(X, REPAIRED), tmp_path / "a")
    for way in ("skip", "repair", "raise"):
        model = tagger("templates").fit(X, REPAIRED, on_bad_label=way)
        assert saved(model, tmp_path / "b") == plain
        assert model.n_skipped_ == model.n_repaired_ == 0


def test_labels_that_a_dict_forbids_are_skipped_also_if_they_are_numbers():
    numbers = [[1, 2], [2, 1], [2, 2]]
    model = SequencePerceptron(allowed={1: [2], 2: [2]}).fit([[["a"], ["b"]]] * 3, numbers, on_bad_label="skip")
    assert model.n_skipped_ == 1
    assert model.classes_.tolist() == [1, 2]


TAGS = st.sampled_from(["O", *(f"{kind}-{phrase}" for kind in "BIES" for phrase in "XY")])
BIO = st.sampled_from(["O", *(f"{kind}-{phrase}" for kind in "BI" for phrase in "XY")])


@given(st.lists(BIO, max_size=8))
def test_repaired_bio_labels_are_allowed_and_hold_the_phrases_that_conlleval_reads(labels):
    assert_repaired(labels, "bio")


@given(st.lists(TAGS, max_size=8))
def test_repaired_bioes_labels_are_allowed_and_hold_the_phrases_that_conlleval_reads(labels):
    assert_repaired(labels, "bioes")


def assert_repaired(labels, scheme):
    mended = repaired(labels, scheme)
    assert phrases(mended) == phrases(labels)
    classes = np.array(sorted({"O", *mended}))
    places = [len(classes), *np.searchsorted(classes, mended), len(classes)]
    assert not barriers(scheme, classes, stream=True)[places[:-1], places[1:]].any()
    assert repaired(mended, scheme) == mended


@pytest.mark.parametrize(
    ("options", "way", "said"),
    [
        ({"allowed": "bio"}, "mend", "on_bad_label must be one of 'raise', 'skip', 'repair', not 'mend'"),
        ({}, "skip", "allowed=None forbids none"),
        ({"allowed": {"a": ["b"]}}, "repair", 'needs allowed="bio" or "bioes"'),
    ],
)
def test_ways_that_make_no_sense_are_refused(options, way, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        SequencePerceptron(**options).fit([[["p"], ["q"]]], [["a", "b"]], on_bad_label=way)


def test_the_error_names_the_label_the_place_and_the_ways_out():
    said = r"I-PP after O, at token 1 of sequence 1, .*'bio' forbids.*on_bad_label=\"skip\" or \"repair\""
    with pytest.raises(ValueError, match=said):
        tagger("templates").fit(X, Y)


def test_a_fit_that_skips_everything_says_so():
    with pytest.raises(ValueError, match="no labels"):
        tagger("templates").fit([["a", "b"]], [["O", "I-X"]], on_bad_label="skip")


# ---- the same by the command


@pytest.fixture
def corpus(tmp_path):
    lines = ("\n".join(f"{word} {label}" for word, label in zip(x, y, strict=True)) for x, y in zip(X, Y, strict=True))
    (tmp_path / "corpus.txt").write_text("\n\n".join(lines) + "\n")
    return tmp_path / "corpus.txt"


@pytest.mark.parametrize(("way", "skipped", "mended"), [("skip", 3, 0), ("repair", 0, 4)])
def test_the_command_and_python_make_the_same_model_and_count_alike(run, corpus, tmp_path, way, skipped, mended):
    words = ["tag", "train", corpus, "--allowed", "bio", "--on-bad-label", way, "--test-share", "0"]
    code, out, _ = run(*words, "-o", tmp_path / "m", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["skipped_sentences"], found["repaired_labels"]) == (skipped, mended)
    assert found["sentences"] == 5 - skipped
    model = SequencePerceptron(templates=FeatureTemplates(None, ["word"]), allowed="bio")
    model.fit(X, Y, on_bad_label=way)
    model.label_column_ = "-1"  # the command learned the last column of a file, and its model remembers it
    assert (tmp_path / "m").read_bytes() == saved(model, tmp_path / "python")
    out = run(*words)[1]
    assert ("Skipped 3 sentences" if skipped else "Repaired 4 labels") in out
    assert f"--on-bad-label {way}" in out


def test_the_command_names_file_line_and_label_and_the_ways_out(refused, corpus):
    message = refused("tag", "train", corpus, "--allowed", "bio")
    assert message.startswith(f"{corpus}:6:2: I-PP after O, which --allowed bio forbids")
    assert "--on-bad-label skip or repair" in message


def test_the_command_refuses_ways_without_a_scheme_and_files_without_a_good_sentence(refused, tmp_path):
    (tmp_path / "f").write_text("a O\nb I-X\n")
    assert "allowed=None forbids none" in refused("tag", "train", tmp_path / "f", "--on-bad-label", "skip")
    words = ["tag", "train", tmp_path / "f", "--allowed", "bio", "--on-bad-label"]
    assert "leaves no training data:" in refused(*words, "skip")
    assert "--on-bad-label" in refused(*words, "mend")
