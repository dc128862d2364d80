"""Early stopping of taggers on a validation set, by accuracy or F1 of phrases; and how sure a labelling is."""

import numpy as np
import pytest

import perceptrons
from perceptrons import FeatureTemplates, SequencePerceptron
from perceptrons.engine.training.epochs import hold_out
from perceptrons.sequence.phrases import phrase_scores
from tests.reference import sequence as reference
from tests.support.sequences import LABELS, as_dicts, flat, random_case
from tests.support.tagged import of_columns, sentences


def corpus(seed, n, wrong=0.15):
    """Made-up sentences, some of whose chunk labels are drawn anew."""
    made, rng = sentences(seed, n), np.random.default_rng(seed)
    labels = of_columns(made, 2)
    every = sorted({label for one in labels for label in one})
    noisy = [[str(rng.choice(every)) if rng.random() < wrong else label for label in one] for one in labels]
    return of_columns(made, 0, 1), noisy


def tagger(**given):
    usual = {"templates": FeatureTemplates("words", columns=["word", "pos"]), "max_iter": 12, "n_iter_no_change": 3}
    return SequencePerceptron(**{**usual, "early_stopping": True, **given})


def weights(model):
    return {name: w.tolist() for name, w in zip(model.attributes_, model.coef_.T, strict=True) if w.any()}


@pytest.mark.parametrize("combine", ["average", "last"])
@pytest.mark.parametrize("metric", ["accuracy", "phrase_f1"])
def test_the_best_epoch_on_a_given_validation_set_is_kept_and_all_sentences_are_learned_from(metric, combine):
    (X, y), (X_val, y_val) = corpus(1, 60), corpus(2, 30)
    model = tagger(validation_metric=metric, combine=combine).fit(X, y, X_val=X_val, y_val=y_val)
    plain = tagger(early_stopping=False, combine=combine, tol=None)
    scores = []
    for epochs in range(1, len(model.history_) + 1):
        plain.set_params(max_iter=epochs).fit(X, y)
        answers = plain.predict(X_val)
        f1, accuracy = phrase_scores(y_val, answers).f1, plain.score(X_val, y_val)
        row = model.history_[epochs - 1]
        assert row["validation_accuracy"] == pytest.approx(accuracy, abs=1e-12)
        assert row.get("validation_phrase_f1") == (f1 if metric == "phrase_f1" else None)
        assert row["examples"] == len(X)
        scores.append(f1 if metric == "phrase_f1" else accuracy)
    best = int(np.argmax(scores)) + 1
    assert weights(model) == weights(plain.set_params(max_iter=best).fit(X, y))
    assert model.stop_reason_ == "early_stopping"
    assert len(model.history_) == best + 3


def test_held_out_sentences_are_judged_by_phrases_as_those_that_are_given():
    X, y = corpus(3, 80)
    model = tagger(validation_metric="phrase_f1").fit(X, y)
    train, held_out = hold_out(np.zeros(80, np.intp), None, 0.1, 0)
    other = tagger(early_stopping=False, shuffle=False, max_iter=1)
    again = tagger(validation_metric="phrase_f1", shuffle=False, max_iter=1).fit(X, y)
    other.fit([X[i] for i in train], [y[i] for i in train])
    found = phrase_scores([y[i] for i in held_out], other.predict([X[i] for i in held_out]))
    assert again.history_[0]["validation_phrase_f1"] == found.f1
    assert all("validation_phrase_f1" in row for row in model.history_)


def test_a_label_that_only_the_validation_set_has_counts_as_wrong():
    X, y = corpus(1, 20)
    strange = [["B-NEW" for _ in one] for one in y]
    model = tagger(validation_metric="phrase_f1").fit(X, y, X_val=X, y_val=strange)
    assert {row["validation_accuracy"] for row in model.history_} == {0.0}
    assert {row["validation_phrase_f1"] for row in model.history_} == {0.0}
    assert "B-NEW" not in model.classes_.tolist()
    assert model.n_features_in_ == tagger(early_stopping=False).fit(X, y).n_features_in_


def test_a_matrix_has_lengths_for_its_validation_set():
    X, Y, _, _ = random_case(1)
    matrix, lengths, labels = flat(X, Y)
    model = SequencePerceptron(early_stopping=True).fit(
        matrix, labels, lengths, X_val=matrix, y_val=labels, lengths_val=lengths
    )
    best = max(row["validation_accuracy"] for row in model.history_)
    assert model.score(matrix, labels, lengths) == pytest.approx(best)


@pytest.mark.parametrize(
    ("given", "validation", "message"),
    [
        ({"early_stopping": False}, {"X_val": [["a"]], "y_val": [["X"]]}, "are for early_stopping=True"),
        ({}, {"X_val": [[("a", "b")]]}, "X_val and y_val must be given together:"),
        ({}, {"y_val": [["B-NP"]]}, "X_val and y_val must be given together:"),
        ({}, {"X_val": [], "y_val": []}, "X_val has no tokens"),
        ({"validation_metric": "f1"}, {}, "validation_metric"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_the_model_as_it_was(given, validation, message):
    X, y = corpus(1, 20)
    model = tagger(early_stopping=False).fit(X, y)
    before = weights(model)
    model.set_params(**{"early_stopping": True, **given})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **validation)
    assert weights(model) == before


def test_phrases_cannot_be_counted_among_parts_of_speech():
    made = sentences(1, 20)
    with pytest.raises(ValueError, match="needs labels that mark phrases,"):
        tagger(validation_metric="phrase_f1").fit(of_columns(made, 0, 1), of_columns(made, 1))


def test_a_file_keeps_the_metric_and_the_history_and_files_without_it_stay_as_they_were(tmp_path):
    X, y = corpus(1, 40)
    model = tagger(validation_metric="phrase_f1").fit(X, y)
    perceptrons.save(model, tmp_path / "m")
    loaded = perceptrons.load(tmp_path / "m")
    assert loaded.validation_metric == "phrase_f1"
    assert [row["validation_phrase_f1"] for row in loaded.history_] == [
        row["validation_phrase_f1"] for row in model.history_
    ]
    perceptrons.save(tagger().fit(X, y), tmp_path / "n")
    assert b"validation_metric" not in (tmp_path / "n").read_bytes()
    assert perceptrons.load(tmp_path / "n").validation_metric == "accuracy"


# ---- confidence


@pytest.mark.parametrize("combine", ["average", "last"])
@pytest.mark.parametrize("kind", LABELS)
def test_confidence_is_the_lead_over_the_second_best_of_all_labellings(kind, combine):
    for seed in range(6):
        X, Y, classes, allowed = random_case(seed, kind, values="real")
        matrix, lengths, labels = flat(X, Y)
        model = SequencePerceptron(allowed=allowed, combine=combine, max_iter=2).fit(matrix, labels, lengths)
        w = reference.flat(model.coef_, model.transitions_, model.start_, model.stop_)
        wanted = [reference.lead(x, w, classes, allowed) for x in X]
        found = model.confidence(matrix, lengths)
        np.testing.assert_allclose(found, wanted, atol=1e-9)
        by_token = np.split(model.token_confidence(matrix, lengths), np.cumsum(lengths)[:-1])
        for x, lead, answer in zip(
            X, by_token, np.split(model.predict(matrix, lengths), np.cumsum(lengths)[:-1]), strict=True
        ):
            scores = reference.max_marginals(x, w, classes, allowed)
            for t, label in enumerate(answer.tolist()):
                others = np.delete(scores[t], classes.index(label))
                np.testing.assert_allclose(lead[t], scores[t].max() - others.max(), atol=1e-9)
    assert np.isinf(found[np.array(lengths) == 0]).all()


def test_confidence_of_lists_and_of_many_sentences_is_that_of_one(monkeypatch):
    X, Y, _, _ = random_case(2)
    X = as_dicts(X)
    model = SequencePerceptron(max_iter=3).fit(X, Y)
    whole, tokens = model.confidence(X), model.token_confidence(X)
    assert [len(one) for one in tokens] == [len(x) for x in X]
    monkeypatch.setattr("perceptrons.sequence.learner.TOKENS_PER_CHUNK", 3)
    np.testing.assert_array_equal(model.confidence(X), whole)
    for x, sure, of_tokens in zip(X, whole, tokens, strict=True):
        np.testing.assert_array_equal(model.confidence([x]), [sure])
        assert of_tokens.min(initial=np.inf) == sure
    assert model.confidence([]).tolist() == []
    assert model.token_confidence([]) == []
