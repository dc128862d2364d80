"""`SequencePerceptron` among scikit-learn's tools: clones, parameters, cross-validation, searches, pipelines."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from perceptrons import FeatureTemplates, SequencePerceptron
from tests.support.sequences import assert_same_bits

PARAMETERS = {
    "templates": None, "transitions": True, "start_stop": True, "allowed": None, "combine": "average",
    "step": "constant", "eta0": 1.0, "C": 1.0, "margin": None, "cost": None, "order": 1, "min_count": 1,
    "hash_bits": None, "max_iter": 10, "tol": None, "shuffle": True, "random_state": 0, "early_stopping": False,
    "validation_fraction": 0.1, "n_iter_no_change": 5, "max_seconds": None, "warm_start": False, "verbose": 0,
    "validation_metric": "accuracy",
}  # fmt: skip


def sentences(n=60):
    """Words of a little language: a noun follows a determiner, else the same word is a verb."""
    rng = np.random.default_rng(0)
    words, tags = [], []
    for _ in range(n):
        word, tag = [], []
        for _ in range(rng.integers(1, 4)):
            noun, verb = rng.choice(["walk", "run", "sleep"], 2)
            word += [str(rng.choice(["the", "a"])), str(noun), str(verb)]
            tag += ["D", "N", "V"]
        words.append(word)
        tags.append(tag)
    return words, tags


def described(sentences):
    return [[{"word": word, "long": len(word) > 3} for word in sentence] for sentence in sentences]


WORDS, TAGS = sentences()
DICTS = described(WORDS)


def test_the_parameters_are_those_that_were_agreed_on():
    assert SequencePerceptron().get_params(deep=False) == PARAMETERS
    with pytest.raises(TypeError):
        SequencePerceptron("average")
    with pytest.raises(ValueError, match=r"[Ii]nvalid parameter"):
        SequencePerceptron().set_params(fit_intercept=True)


def test_a_clone_has_the_same_parameters_and_learns_the_same():
    model = SequencePerceptron(allowed={"D": ["N"]}, max_iter=3, random_state=5, cost="hamming").fit(DICTS, TAGS)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
    assert_same_bits(copy.fit(DICTS, TAGS), model)
    with_templates = SequencePerceptron(templates=FeatureTemplates(["word", "word[-1]"]), max_iter=3)
    one, other = with_templates.fit(WORDS, TAGS), clone(with_templates).fit(WORDS, TAGS)
    assert one.predict(WORDS) == other.predict(WORDS)


def test_parameters_can_be_set_and_are_shown():
    model = SequencePerceptron().set_params(step="pa1", C=0.5, allowed="bio")
    assert (model.step, model.C, model.allowed) == ("pa1", 0.5, "bio")
    with config_context(print_changed_only=True):
        assert repr(model).replace("\n", "").replace(" ", "") == "SequencePerceptron(C=0.5,allowed='bio',step='pa1')"
    assert "pa1" in model._repr_html_()
    templates = FeatureTemplates(["word"])
    assert SequencePerceptron(templates=templates).templates is templates


def test_fitting_returns_the_model_and_changes_no_parameter():
    model = SequencePerceptron(max_iter=2, allowed={"D": ["N"], None: ["D"]})
    before = model.get_params()
    assert model.fit(DICTS, TAGS) is model
    assert model.partial_fit(DICTS[:3], TAGS[:3]) is model
    assert model.learn_one(DICTS[0], TAGS[0]) is model
    assert model.get_params() == before


@pytest.mark.parametrize("cv", [3, KFold(3, shuffle=True, random_state=0)])
def test_cross_validation_takes_lists_of_sequences(cv):
    scores = cross_val_score(SequencePerceptron(max_iter=5), DICTS, TAGS, cv=cv)
    assert scores.shape == (3,)
    assert scores.min() > 0.95
    without = SequencePerceptron(max_iter=5, transitions=False, start_stop=False)
    assert cross_val_score(without, DICTS, TAGS, cv=cv).max() < 0.9


def test_sequences_of_equal_length_are_sequences_too():
    words, tags = [s[:3] for s in WORDS], [y[:3] for y in TAGS]
    assert cross_val_score(SequencePerceptron(max_iter=5), described(words), tags, cv=3).min() > 0.95
    model = SequencePerceptron(max_iter=5).fit(described(words), np.array(tags))
    assert model.score(described(words), np.array(tags)) == 1.0


def test_predictions_of_folds_can_be_collected():
    folds = KFold(3)
    tried = [
        SequencePerceptron(max_iter=3)
        .fit([DICTS[i] for i in train], [TAGS[i] for i in train])
        .score([DICTS[i] for i in test], [TAGS[i] for i in test])
        for train, test in folds.split(DICTS)
    ]
    np.testing.assert_allclose(cross_val_score(SequencePerceptron(max_iter=3), DICTS, TAGS, cv=folds), tried)


def test_searches_find_parameters():
    grid = {"transitions": [False, True], "max_iter": [5], "start_stop": [False], "cost": [None, "hamming"]}
    search = GridSearchCV(SequencePerceptron(), grid, cv=3).fit(DICTS, TAGS)
    assert search.best_params_["transitions"] is True
    assert search.score(DICTS, TAGS) > 0.95
    assert search.predict(DICTS[:2]) == TAGS[:2]
    drawn = RandomizedSearchCV(
        SequencePerceptron(max_iter=3), {"eta0": [0.5, 1.0, 2.0]}, n_iter=2, cv=2, random_state=0
    )
    assert drawn.fit(DICTS, TAGS).best_score_ > 0.9


def test_a_transformer_may_stand_before_the_tagger():
    pipeline = Pipeline([("describe", FunctionTransformer(described)), ("tag", SequencePerceptron(max_iter=5))])
    assert pipeline.fit(WORDS, TAGS).predict(WORDS) == TAGS
    assert pipeline.score(WORDS, TAGS) == 1.0
    search = GridSearchCV(pipeline, {"tag__transitions": [False, True]}, cv=3).fit(WORDS, TAGS)
    assert search.best_params_ == {"tag__transitions": True}


def test_templates_may_stand_before_the_tagger_or_within_it():
    pipeline = make_pipeline(FeatureTemplates(["word", "lower(word)[-1]"]), SequencePerceptron(max_iter=5))
    assert cross_val_score(pipeline, WORDS, TAGS, cv=3).min() > 0.95
    inside = SequencePerceptron(templates=FeatureTemplates(["word"]), max_iter=5, transitions=False)
    search = GridSearchCV(inside, {"templates": [FeatureTemplates(["bias"]), FeatureTemplates(["word"])]}, cv=3)
    assert search.fit(WORDS, TAGS).best_index_ == 1


def test_lengths_go_through_a_pipeline_to_a_matrix():
    tokens, tags = [token for s in DICTS for token in s], [tag for y in TAGS for tag in y]
    lengths = [len(s) for s in DICTS]
    pipeline = make_pipeline(DictVectorizer(), SequencePerceptron(max_iter=5))
    pipeline.fit(tokens, tags, sequenceperceptron__lengths=lengths)
    assert pipeline.predict(tokens, lengths=lengths).tolist() == tags
    alone = SequencePerceptron(max_iter=5).fit(DictVectorizer().fit_transform(tokens), tags, lengths=lengths)
    assert_same_bits(pipeline[-1], alone)


def test_cross_validated_predictions_are_lists_of_labels():
    words, tags = [s[:3] for s in WORDS], [y[:3] for y in TAGS]
    found = cross_val_predict(SequencePerceptron(max_iter=5), described(words), tags, cv=KFold(3))
    assert np.mean(np.array(list(found)) == np.array(tags)) > 0.95
