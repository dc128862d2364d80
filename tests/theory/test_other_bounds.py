"""The mistake bound of kernels and taggers: as the formula says, by features that are written out."""

from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.datasets import make_moons

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron, StructuredPerceptron
from perceptrons.theory import check_bound, mistake_bound

X, Y = make_moons(60, noise=0.1, random_state=0)
SENTENCES = [
    [["w=the"], ["w=dog", "s=g"], ["w=runs", "s=s"]],
    [["w=a"], ["w=cat", "s=t"], ["w=sits", "s=s"]],
    [["w=dog", "s=g"], ["w=sits", "s=s"]],
    [["w=runs", "s=s"]],
]
LABELS = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"], ["NOUN", "VERB"], ["VERB"]]


def monomials(X):
    """Features whose dot products are (x·z + 1)^2."""
    a, b = X.T
    return np.column_stack([np.ones(len(X)), *(np.sqrt(2) * X.T), a * a, b * b, np.sqrt(2) * a * b])


def test_a_kernel_is_bounded_as_its_features_are():
    model = KernelPerceptron(kernel="poly", degree=2, gamma=1, coef0=1, max_iter=30, tol=None).fit(X, Y)
    found = check_bound(model, X, Y).bound
    expected = mistake_bound(monomials(X), Y, epochs=30, fit_intercept=False)
    assert found.radius == pytest.approx(expected.radius)
    assert found.separable == expected.separable
    assert found.updates == pytest.approx(expected.updates, rel=1e-3)
    assert found.radius**2 == pytest.approx(((X * X).sum(axis=1) + 1).max() ** 2)


def test_a_linear_kernel_has_the_bound_of_the_perceptron_without_a_bias():
    apart = X + np.where(Y == 1, 3.0, -3.0)[:, None]
    kernel = KernelPerceptron(kernel="linear", tol=None, shuffle=False).fit(apart, Y)
    plain = Perceptron(margin=None, fit_intercept=False, tol=None, shuffle=False).fit(apart, Y)
    one, other = check_bound(kernel, apart, Y), check_bound(plain, apart, Y)
    assert (one.updates, one.at_most) == (other.updates, other.at_most)
    assert one.bound.margin == pytest.approx(other.bound.margin, rel=1e-3)


def intersection(a, b):
    """The histogram intersection kernel."""
    return np.minimum(np.abs(a)[:, None], np.abs(b)[None]).sum(axis=2)


@pytest.mark.parametrize("how", [
    {"kernel": "rbf", "gamma": 2.0}, {"kernel": "laplacian", "gamma": 1.0}, {"kernel": "cosine"},
    {"kernel": "poly", "degree": 4, "gamma": 1}, {"kernel": intersection},
])  # fmt: skip
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_kernel_makes_more_updates_than_its_bound(how, n_classes):
    y = Y + (n_classes > 2) * (X[:, 0] > 1.0)
    for seed in (0, 1):
        model = KernelPerceptron(max_iter=20, tol=None, random_state=seed, **how).fit(X, y)
        found = check_bound(model, X, y)
        assert 0 < found.updates <= found.at_most
        assert found.updates == model.n_updates_


def test_a_precomputed_kernel_is_bounded_by_its_matrix():
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    one = check_bound(KernelPerceptron(kernel="precomputed").fit(K, Y), K, Y)
    other = check_bound(KernelPerceptron(kernel="rbf", gamma=1.0).fit(X, Y), X, Y)
    assert one.updates == other.updates
    assert one.at_most == pytest.approx(other.at_most, rel=1e-3)


@pytest.mark.parametrize(("model", "match"), [
    (KernelPerceptron(kernel="sigmoid", gamma=1.0, max_iter=2), "not positive definite"),
    (KernelPerceptron(budget=5), "budget=5"),
    (KernelPerceptron(class_weight={0: 2.0}), "class_weight"),
])  # fmt: skip
def test_kernels_that_the_theorem_does_not_cover_are_refused(model, match):
    with pytest.raises(ValueError, match=f"does not cover.*{match}|{match}"):
        check_bound(model.set_params(tol=None, max_iter=2).fit(X, Y), X, Y)


def test_one_vs_rest_and_starts_of_kernels_are_refused():
    y = Y + (X[:, 0] > 1.0)
    with pytest.raises(ValueError, match="multiclass='ovr'"):
        check_bound(KernelPerceptron(multiclass="ovr").fit(X, y), X, y)
    with pytest.raises(ValueError, match="coef_init is for a Perceptron"):
        check_bound(KernelPerceptron().fit(X, Y), X, Y, coef_init=[1.0])


# ---- taggers


def chain_features(tagger, sentence, labels, names):
    """f(x, y), written out: labels by features, the arcs between labels, and the two ends."""
    classes = tagger.classes_.tolist()
    codes = [classes.index(label) for label in labels]
    emitted, arcs = np.zeros((len(classes), len(names))), np.zeros((len(classes) + 1, len(classes) + 1))
    for token, code in zip(sentence, codes, strict=True):
        for name in token:
            emitted[code, names.index(name)] += 1
    if tagger.start_stop:
        arcs[-1, codes[0]] += 1
        arcs[codes[-1], -1] += 1
    if tagger.transitions:
        for before, after in pairwise(codes):
            arcs[before, after] += 1
    return np.concatenate([emitted.ravel(), arcs.ravel()])


@pytest.mark.parametrize("how", [{}, {"transitions": False}, {"start_stop": False}, {"eta0": 0.5}, {"combine": "last"}])
def test_radius_and_margin_of_a_tagger_are_those_of_all_labellings(how):
    tagger = SequencePerceptron(max_iter=50, **how).fit(SENTENCES, LABELS)
    found = check_bound(tagger, SENTENCES, LABELS)
    names = tagger.attributes_.tolist()
    w = np.concatenate([tagger.coef_last_.ravel(), tagger._learner.predicting("last")[1].ravel()])
    margins, distances = [], []
    for sentence, labels in zip(SENTENCES, LABELS, strict=True):
        true = chain_features(tagger, sentence, labels, names)
        for other in product(tagger.classes_.tolist(), repeat=len(labels)):
            if list(other) != labels:
                change = true - chain_features(tagger, sentence, other, names)
                margins.append(w @ change / np.linalg.norm(w))
                distances.append(np.linalg.norm(change))
    assert tagger.converged_
    assert found.bound.radius >= max(distances)
    assert bool(found.bound.separable) == (min(margins) > 1e-9)  # the last weights may be right by a tie
    assert found.updates <= found.at_most <= len(SENTENCES) * tagger.n_iter_


def test_many_epochs_of_a_tagger_make_the_bound_of_its_margin_count():
    tagger = SequencePerceptron()
    for _ in range(100):
        tagger.partial_fit(SENTENCES, LABELS)
    found = check_bound(tagger, SENTENCES, LABELS)
    assert found.bound.separable
    assert found.updates <= found.at_most < len(SENTENCES) * 100
    names, leads = tagger.attributes_.tolist(), []
    w = np.concatenate([tagger.coef_last_.ravel(), tagger._learner.predicting("last")[1].ravel()])
    for sentence, labels in zip(SENTENCES, LABELS, strict=True):
        true, others = chain_features(tagger, sentence, labels, names), product(tagger.classes_, repeat=len(labels))
        wrong = [chain_features(tagger, sentence, other, names) for other in others if list(other) != labels]
        leads.append(min(w @ (true - one) for one in wrong) / np.linalg.norm(w))
    gamma, R = found.bound.margin, found.bound.radius
    assert gamma == pytest.approx(min(leads, key=lambda lead: abs(lead - gamma)), rel=1e-4)
    D = np.sqrt(sum(max(0.0, gamma - lead) ** 2 for lead in leads))
    assert found.bound.deviation == pytest.approx(D, rel=1e-3)
    assert found.at_most == pytest.approx(((R + np.sqrt(100) * D) / gamma) ** 2, rel=0.01)


@pytest.mark.parametrize("seed", range(4))
def test_no_tagger_makes_more_updates_than_its_bound(seed):
    rng = np.random.default_rng(seed)
    sentences = [
        [[f"w={rng.integers(5)}", f"s={rng.integers(3)}"] for _ in range(rng.integers(1, 6))] for _ in range(30)
    ]
    labels = [[rng.choice(["A", "B", "C"]) for _ in sentence] for sentence in sentences]
    tagger = SequencePerceptron(max_iter=8, random_state=seed).fit(sentences, labels)
    found = check_bound(tagger, sentences, labels)
    assert 0 < found.updates <= found.at_most


@pytest.mark.parametrize(("how", "match"), [({"step": "pa1"}, "step='pa1'"), ({"cost": "hamming"}, "cost='hamming'")])
def test_taggers_that_the_theorem_does_not_cover_are_refused(how, match):
    with pytest.raises(ValueError, match=f"does not cover {match}"):
        check_bound(SequencePerceptron(**how).fit(SENTENCES, LABELS), SENTENCES, LABELS)
    with pytest.raises(ValueError, match="'ADJ', which the tagger does not know"):
        check_bound(SequencePerceptron().fit(SENTENCES, LABELS), SENTENCES, [["ADJ"] * len(s) for s in LABELS])


def test_any_other_structure_is_refused_with_what_to_do():
    class Sign:
        size = 1

        def decode(self, x, w):
            return 1 if w @ np.array([x]) > 0 else -1

        def features(self, x, y):
            return {0: x * y}

        def loss(self, y, y_hat):
            return float(y != y_hat)

    model = StructuredPerceptron(Sign()).fit([1.0, -1.0], [1, -1])
    with pytest.raises(ValueError, match="only its decode knows"):
        check_bound(model, [1.0, -1.0], [1, -1])
