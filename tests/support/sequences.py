"""What the tests of `SequencePerceptron` share: cases, runs of the reference, comparison by weights."""

import numpy as np
import scipy.sparse as sp

from tests.conftest import as_csr
from tests.reference import sequence as reference

PARTS = ("coef", "transitions", "start", "stop")
LABELS = {
    "none": (["a", "b", "c"], None),
    "two": (["a", "b"], None),
    "bio": (["B-x", "B-y", "I-x", "O"], "bio"),
    "bioes": (["B-x", "E-x", "I-x", "O", "S-x"], "bioes"),
    "dict": (["a", "b", "c"], {"a": ["a", "b"], "c": ["a"], None: ["a", "c"]}),
}


def options(**more):
    """Parameters of a `SequencePerceptron` that goes through the sequences in the given order, with no tolerance."""
    return {"shuffle": False, "tol": None, "max_iter": 3, **more}


def told(given):
    """What the reference is told of an estimator's parameters."""
    names = {"step": "step", "eta0": "eta", "C": "C", "margin": "margin", "allowed": "allowed"}
    keywords = {names[name]: value for name, value in given.items() if name in names}
    keywords |= {name: given[name] for name in ("transitions", "start_stop") if name in given}
    return keywords | {"hamming": given.get("cost") == "hamming"}


def run_of(X, Y, epochs=3, *, classes=None, orders=None, **given):
    """The reference run through epochs of the given order; as the library it ends after one without an update."""
    classes = sorted({name for y in Y for name in y}) if classes is None else classes
    orders = [range(len(X))] * epochs if orders is None else orders
    return reference.train(X, Y, orders, reference.beginning(classes, X[0].shape[1]), stop=True, **told(given))


def noisy_labels(rng, x, classes, allowed):
    """What random whole-number weights would give, were they not drawn anew for some sequences."""
    return reference.best_path(x, rng.integers(-3, 4, reference.size(len(classes), x.shape[1])), classes, allowed)[0]


def random_case(seed, kind="none", n=12, d=4, values=None):
    """Sequences of 0 to 5 tokens (4 where labels are many) of small halves, many 0; labels, every class there."""
    classes, allowed = LABELS[kind]
    longest = 5 if len(classes) <= 3 else 4
    while True:
        rng = np.random.default_rng(seed)
        lengths = [1, 0, longest, *rng.integers(0, longest + 1, n - 3)]
        X = [draw(rng, (length, d), values) for length in lengths]
        rule = rng.integers(0, 100)
        Y = [noisy_labels(np.random.default_rng([rule, i % 4]), x, classes, allowed) for i, x in enumerate(X)]
        if {name for y in Y for name in y} == set(classes):
            return X, Y, classes, allowed
        seed += 1000


def draw(rng, shape, values):
    if values == "real":
        return rng.standard_normal(shape) * (rng.random(shape) < 0.7)
    return rng.integers(-3, 4, shape) / 2 * (rng.random(shape) < 0.6)


def clear_case(kind, bound=1e-9, dtype=np.float64, **given):
    """Real numbers in 2 to 5 tokens, labels, the reference run: of the first seed where no decision is by rounding."""
    for seed in range(300):
        X, Y, _, allowed = random_case(seed, kind, values="real")
        X = [x.astype(dtype).astype(float) for x in X]
        run = run_of(X, Y, allowed=allowed, **given)
        if run.closest > bound:
            return X, Y, allowed, run
    raise AssertionError("no clear case")


def flat(X, Y):
    """All tokens in one matrix, the number of tokens of each sequence, all labels in one array."""
    return np.vstack(X), [len(x) for x in X], np.array([name for y in Y for name in y])


MATRICES = {
    "dense": lambda X: X,
    "csr32": lambda X: as_csr(X, np.int32),
    "csr64": lambda X: as_csr(X, np.int64),
}


def as_dicts(X):
    """Sequences of dicts of numbers; features of value 0 are not named."""
    return [[{f"f{j}": float(v) for j, v in enumerate(row) if v} for row in x] for x in X]


def names_of(d):
    return [f"f{j}" for j in range(d)]


def random_words(seed, kind="none", n=12):
    """Sequences of attribute lists, some with an attribute twice or none at all, and labels."""
    classes, allowed = LABELS[kind]
    longest = 5 if len(classes) <= 3 else 4
    while True:
        rng = np.random.default_rng(seed)
        lengths = [1, 0, longest, *rng.integers(0, longest + 1, n - 3)]
        S = [[[f"w{k}" for k in rng.integers(0, 6, rng.integers(0, 4))] for _ in range(m)] for m in lengths]
        X, names = reference.matrices(S)
        rule = rng.integers(0, 100)
        Y = [noisy_labels(np.random.default_rng([rule, i % 4]), x, classes, allowed) for i, x in enumerate(X)]
        if {name for y in Y for name in y} == set(classes):
            return S, Y, X, names, allowed
        seed += 1000


def parts_of(model, which, names=None):
    """(coef, transitions, start, stop) of a model; which: "last", "average" or "" for what predicts.

    names: the attributes in the order in which the columns are wanted; a name the model has not counts as 0.
    """
    suffix = f"{which}_" if which else ""
    coef, *others = (np.asarray(getattr(model, f"{part}_{suffix}")) for part in PARTS)
    if names is not None:
        own = list(model.attributes_)
        assert len(own) == len(set(own)) == coef.shape[1]
        wide = np.hstack([coef, np.zeros((len(coef), 1), coef.dtype)])
        assert not np.delete(wide, [own.index(name) for name in names if name in own], axis=1).any()
        coef = wide[:, [own.index(name) if name in own else len(own) for name in names]]
    return coef, *others


def assert_same_weights(model, run, *, names=None, tolerance=0.0, dtype=np.float64):
    """The same last and averaged weights as the reference."""
    assert list(model.classes_) == run.classes
    small = max(tolerance, 1e-12 if dtype == np.float64 else 1e-6)
    for which, near in (("last", tolerance), ("average", small)):
        for part, got, wanted in zip(PARTS, parts_of(model, which, names), run.parts(which), strict=True):
            assert got.dtype == dtype, (part, which, got.dtype)
            assert got.shape == wanted.shape, (part, which)
            np.testing.assert_allclose(got, wanted, rtol=near, atol=near, err_msg=f"{part} {which}")


def assert_same_counts(model, run, tolerance=1e-9):
    """The same history of one `fit`."""
    for name, wanted in (("mistakes", run.mistakes), ("updates", run.updates), ("examples", run.examples)):
        assert [row[name] for row in model.history_] == wanted, name
    np.testing.assert_allclose([row["loss"] for row in model.history_], run.losses, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose([row["norm"] for row in model.history_], run.norms, rtol=max(1e-6, tolerance))
    assert np.asarray(model.mistakes_).tolist() == run.mistakes
    assert (model.n_mistakes_, model.n_updates_) == (sum(run.mistakes), sum(run.updates))
    assert (model.t_, model.n_iter_) == (len(run.path), len(run.mistakes))
    assert model.converged_ == (run.updates[-1] == 0)


def assert_same_run(model, run, **keywords):
    assert_same_weights(model, run, **keywords)
    assert_same_counts(model, run, max(1e-9, keywords.get("tolerance", 0.0)))


def weights_of(model, names=None):
    """The weights that predict, flat, as the reference takes them."""
    return reference.flat(*(part.astype(float) for part in parts_of(model, "", names)))


def everything(model):
    """All weights, last and averaged."""
    return [part for which in ("last", "average") for part in parts_of(model, which)]


def assert_same_bits(one, other):
    assert np.asarray(one.classes_).tolist() == np.asarray(other.classes_).tolist()
    for a, b in zip(everything(one), everything(other), strict=True):
        assert np.array_equal(a, b)
        assert a.dtype == b.dtype
    assert (one.t_, one.n_updates_, one.n_mistakes_) == (other.t_, other.n_updates_, other.n_mistakes_)


def odd_csr(X):
    """The same numbers with entries twice in a row, columns not in order, explicit zeros."""
    X = sp.coo_array(X)
    rows, columns = np.tile(X.row, 3), np.tile(X.col, 3)
    values = np.concatenate([X.data / 2, X.data / 2, np.zeros(X.nnz)])
    order = np.lexsort((-columns, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    return sp.csr_matrix((values[order], columns[order], indptr), shape=X.shape)
