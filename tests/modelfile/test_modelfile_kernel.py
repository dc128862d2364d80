"""Model files of `KernelPerceptron`: exact, going on, and safe. What all files have in common: test_modelfile.py."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons import KernelPerceptron, ModelFileError, modelfile
from perceptrons.data import stream
from perceptrons.kernel.arrays import to_host
from tests.conftest import LAYOUTS, as_csr
from tests.modelfile.test_modelfile import forge
from tests.support.kernels import NAMED, inverse_distances, numpy_of, sparse_gaussian

POLICIES = ["remove_random", "forget_oldest", "project"]
LEARNED = ("dual_coef_last_", "dual_coef_average_", "support_", "n_support_", "gamma_", "t_", "n_updates_", "classes_")
TOLD = ("history_", "n_iter_", "stop_reason_", "converged_", "n_features_in_")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.perceptron"


def reloaded(model, path):
    perceptrons.save(model, path)
    return perceptrons.load(path)


def assert_same(one, other):
    """Everything that was learned, to the last bit."""
    assert one.get_params() == other.get_params()
    for name in LEARNED:
        assert np.array_equal(numpy_of(getattr(one, name)), numpy_of(getattr(other, name))), name
    if one.kernel != "precomputed":
        vectors, others = one.support_vectors_, other.support_vectors_
        assert sp.issparse(vectors) == sp.issparse(others)
        assert vectors.dtype == others.dtype
        assert np.array_equal(numpy_of(vectors), numpy_of(others))
    if one.budget is None:
        assert np.array_equal(one._learner.log, other._learner.log)
    else:
        n = one.n_support_
        a, b = one._learner, other._learner
        assert np.array_equal(a.budget_counters, b.budget_counters)
        assert np.array_equal(a.entry_order.values, b.entry_order.values)
        assert np.array_equal(a.budget_matrix[:n, :n], b.budget_matrix[:n, :n])


def assert_goes_on(model, path, X, y):
    """Saved and loaded, it learns what it would have learned: from blocks, one by one, and from the data again."""
    loaded = reloaded(model, path)
    assert loaded._learner.home is None
    assert_same(model, loaded)
    for either in (model, loaded):
        either.partial_fit(X[:40], y[:40])
        if not sp.issparse(X):
            either.learn_one(X[50], y[50])
        either.set_params(warm_start=True, max_iter=2).fit(X, y)
    assert_same(model, loaded)
    assert model.mistakes_.tolist() == loaded.mistakes_.tolist()


@pytest.mark.parametrize("kernel", NAMED)
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("layout", ["dense", "csr64"])
def test_everything_comes_back_and_goes_on(kernel, k, layout, path, rng, dtype):
    X, y = sparse_gaussian(rng, 90, 5, max(k, 2))
    X = LAYOUTS[layout](X.astype(dtype))
    model = KernelPerceptron(kernel=kernel, degree=2, max_iter=3, random_state=4, class_weight={0: 1.5})
    model = model.partial_fit(X[:30], 0 * y[:30]) if k == 1 else model.fit(X[:60], y[:60])
    loaded = reloaded(model, path)
    for name in TOLD:
        assert getattr(model, name) == getattr(loaded, name), name
    for combine in ("average", "last", "vote"):
        scores = (either.set_params(combine=combine).decision_function(X) for either in (model, loaded))
        assert np.array_equal(*scores), combine
    assert_goes_on(model, path, X, y)


@pytest.mark.parametrize("combine", ["average", "last", "vote"])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_every_way_to_combine_and_to_part_classes_goes_on(combine, multiclass, path, rng):
    X, y = sparse_gaussian(rng, 90, 4, 3)
    model = KernelPerceptron(combine=combine, multiclass=multiclass, max_iter=2, gamma=0.5).fit(X, y)
    assert_goes_on(model, path, X, y)


@pytest.mark.parametrize("on_full", POLICIES)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("layout", ["dense", "csr32"])
def test_budgets_go_on(on_full, k, layout, path, rng):
    X, y = sparse_gaussian(rng, 120, 4, k)
    X = LAYOUTS[layout](X)
    model = KernelPerceptron(budget=12, on_full=on_full, random_state=3, max_iter=2, tol=None)
    assert_goes_on(model.fit(X, y), path, X, y)
    model = KernelPerceptron(budget=500, on_full=on_full).partial_fit(X[:20], y[:20])
    assert_goes_on(model, path, X, y)  # there is still room


@pytest.mark.parametrize("options", [{}, *({"budget": 8, "on_full": on_full} for on_full in POLICIES)])
def test_a_stream_saved_after_every_block_is_a_stream_never_stopped(options, path, rng):
    X, y = sparse_gaussian(rng, 100, 4, 3)
    whole = parts = KernelPerceptron(gamma=0.3, **options).partial_fit(X[:10], y[:10], classes=[0, 1, 2])
    for begin in range(10, 100, 10):
        parts = reloaded(parts, path)
        for either in (whole, parts):
            either.partial_fit(X[begin : begin + 10], y[begin : begin + 10])
    assert_same(whole, parts)


def test_five_epochs_a_file_and_five_more_are_ten(path, rng):
    X, y = sparse_gaussian(rng, 150, 4, 3)
    ten = KernelPerceptron(max_iter=10, tol=None).fit(X, y)
    five = KernelPerceptron(max_iter=5, tol=None, warm_start=True).fit(X, y)
    both = reloaded(five, path).fit(X, y)
    assert np.array_equal(ten.dual_coef_last_, both.dual_coef_last_)
    assert np.array_equal(ten.dual_coef_average_, both.dual_coef_average_)
    assert np.array_equal(ten.support_, both.support_)


def test_a_precomputed_kernel_keeps_rows_only(path, rng):
    X, y = sparse_gaussian(rng, 300, 4, 3)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    for options in ({}, {"budget": 20, "on_full": "remove_random"}, {"budget": 20}):
        model = KernelPerceptron(kernel="precomputed", max_iter=2, warm_start=True, **options).fit(K, y)
        loaded = reloaded(model, path)
        arrays = modelfile.kernel.contents(model)[1]
        assert not any(name.startswith("support") for name in arrays)
        assert np.array_equal(model.decision_function(K), loaded.decision_function(K))
        for either in (model, loaded):
            either.fit(K, y)
        assert_same(model, loaded)
        assert np.array_equal(loaded.predict(K[:7]), model.predict(K[:7]))


def test_features_by_name_come_back_and_grow_on(path):
    model = KernelPerceptron(gamma=0.5).learn_one({"a": 1, "é": 2}, "x").learn_one({"b": 1}, "y")
    loaded = reloaded(model, path)
    assert loaded.feature_names_in_.tolist() == ["a", "é", "b"]
    for either in (model, loaded):
        either.learn_one({"new": 3, "b": 1}, "z").learn_one({"a": 2}, "x")
    assert_same(model, loaded)
    assert loaded.predict_one({"new": 3}) == model.predict_one({"new": 3})


def test_a_model_that_learned_nothing_yet_goes_on(path):
    X, y = np.eye(3), ["a", "a", "a"]
    model = KernelPerceptron(gamma=1.0).partial_fit(X, y, classes=["a", "b", "c"])  # ties go to "a"
    assert model.n_support_ == 0
    loaded = reloaded(model, path)
    assert loaded.predict(X).tolist() == y
    assert_same(*(either.partial_fit(X, ["b", "c", "a"]) for either in (model, loaded)))


def test_examples_far_from_the_origin_keep_their_digits(path, rng):
    X = (rng.standard_normal((80, 3)) + 300).astype(np.float32)
    y = (X[:, 0] > 300).astype(int)
    model = KernelPerceptron(gamma=1.0, max_iter=2).fit(X, y)
    loaded = reloaded(model, path)
    assert loaded._learner.support.points().needs_float64
    assert np.array_equal(model.decision_function(X), loaded.decision_function(X))


def test_early_stopping_goes_on_from_its_best_epoch(path, rng):
    X, y = sparse_gaussian(rng, 120, 4, 3)
    model = KernelPerceptron(early_stopping=True, n_iter_no_change=2, warm_start=True).fit(X, y)
    assert_same(*(either.fit(X, y) for either in (reloaded(model, path), model)))


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("options", [{}, {"kernel": "precomputed"}, {"budget": 10, "on_full": "forget_oldest"}])
def test_arrays_of_other_libraries_are_saved_from_copies_and_the_model_follows_x(library, options, path, rng):
    xp = pytest.importorskip(library)
    X, y = sparse_gaussian(rng, 60, 60, 3)
    X = X + X.T
    model = KernelPerceptron(max_iter=2, **options).fit(xp.asarray(X), y)
    loaded = reloaded(model, path)
    for name in ("dual_coef_last_", "dual_coef_average_", "support_"):
        assert np.array_equal(to_host(getattr(model, name)), getattr(loaded, name)), name
    assert isinstance(loaded.decision_function(X), np.ndarray)
    np.testing.assert_allclose(loaded.decision_function(X), to_host(model.decision_function(xp.asarray(X))))
    assert type(loaded.decision_function(xp.asarray(X))) is type(xp.asarray(X))
    for either in (model, loaded):
        either.set_params(warm_start=True).fit(xp.asarray(X), y)
    assert np.array_equal(to_host(model.dual_coef_last_), to_host(loaded.dual_coef_last_))


def test_a_random_state_object_is_saved_as_its_seed(path, rng):
    X, y = sparse_gaussian(rng, 60, 4, 2)
    model = KernelPerceptron(random_state=np.random.RandomState(3), warm_start=True, max_iter=2).fit(X, y)
    loaded = reloaded(model, path)
    assert np.array_equal(loaded.fit(X, y).dual_coef_last_, model.fit(X, y).dual_coef_last_)


def test_sparse_examples_stay_sparse_in_the_file(path):
    X = sp.random(200, 50_000, density=1e-3, format="csr", random_state=0)
    model = KernelPerceptron(kernel="linear", max_iter=1).fit(X, np.arange(200) % 2)
    perceptrons.save(model, path)
    assert path.stat().st_size < 400_000
    assert (perceptrons.load(path).support_vectors_ != model.support_vectors_).nnz == 0


def test_the_same_model_gives_the_same_bytes(tmp_path, rng):
    X, y = sparse_gaussian(rng, 60, 4, 3)
    model = KernelPerceptron(max_iter=2).fit(X, y)
    perceptrons.save(model, tmp_path / "one")
    perceptrons.save(perceptrons.load(tmp_path / "one"), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_kernel_that_is_code_is_not_saved_and_it_says_what_to_do(path, rng):
    X, y = sparse_gaussian(rng, 30, 4, 2)
    model = KernelPerceptron(kernel=inverse_distances).fit(X, y)
    with pytest.raises(TypeError, match=r"inverse_distances.*no code.*by name, or kernel='precomputed'"):
        perceptrons.save(model, path)
    with pytest.raises(TypeError, match="inverse_distances"):
        perceptrons.save(model.set_params(kernel="rbf"), path)
    assert not path.exists()


def test_parameters_that_no_longer_fit_and_models_that_are_not_fitted_are_not_saved(path, rng):
    X, y = sparse_gaussian(rng, 30, 4, 2)
    for change in ({"kernel": "linear"}, {"gamma": 7.0}, {"budget": 3}, {"multiclass": "ovr"}, {"combine": "best"}):
        with pytest.raises(ValueError, match=next(iter(change))):
            perceptrons.save(KernelPerceptron(gamma=0.5).fit(X, y).set_params(**change), path)
    with pytest.raises(ValueError, match="not fitted"):
        perceptrons.save(KernelPerceptron(), path)

    class Other(KernelPerceptron):
        pass

    with pytest.raises(TypeError, match=r"Only a Perceptron or a KernelPerceptron or a .* can be saved, not Other"):
        perceptrons.save(Other().fit(X, y), path)
    assert not path.exists()


# ---- files that are broken or hostile

MODELS = {
    "joint": {"max_iter": 3},
    "ovr": {"max_iter": 3, "multiclass": "ovr", "kernel": "poly"},
    "remove_random": {"max_iter": 3, "budget": 9, "on_full": "remove_random"},
    "forget_oldest": {"max_iter": 3, "budget": 9, "on_full": "forget_oldest"},
    "project": {"max_iter": 3, "budget": 9, "on_full": "project"},
    "precomputed": {"max_iter": 3, "kernel": "precomputed"},
    "sparse": {"max_iter": 3, "kernel": "cosine"},
}


@pytest.fixture(params=MODELS)
def model(request):
    return fitted(request.param)


def fitted(case):
    X, y = sparse_gaussian(np.random.default_rng(1), 50, 5, 3)
    X = X @ X.T if case == "precomputed" else as_csr(X) if case == "sparse" else X
    return KernelPerceptron(**MODELS[case]).fit(X, y)


def refused(path, why="do not fit together"):
    with pytest.raises(ModelFileError, match=why):  # the reason, or at least the file
        perceptrons.load(path)


def test_every_truncation_and_flipped_bit_is_found(model, path, rng):
    perceptrons.save(model, path)
    content = path.read_bytes()
    for length in [*range(0, 200, 13), len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        refused(path, str(path))
    for place in [0, 8, 9, len(content) - 1, *rng.integers(0, len(content), 60)]:
        altered = bytearray(content)
        altered[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(altered))
        refused(path, str(path))


def of_each_array(change):
    """Apply a change to one array after the other, under a right checksum."""
    for case in MODELS:
        model = fitted(case)
        for name in modelfile.kernel.contents(model)[1]:
            yield model, lambda header, arrays, name=name: change(arrays, name)


def test_every_array_that_is_missing_or_of_another_shape_or_type_is_refused(path):
    def longer(arrays, name):
        arrays[name] = np.concatenate([arrays[name], arrays[name][-1:]])

    def deeper(arrays, name):
        arrays[name] = arrays[name][None]

    def other(arrays, name):
        arrays[name] = arrays[name].astype(np.float16 if arrays[name].dtype.kind == "i" else np.int16)

    changes = (dict.pop, longer, deeper, other, lambda arrays, name: arrays.update({name: arrays[name][:-1]}))
    for change in changes:
        for model, act in of_each_array(change):
            forge(model, path, act)
            refused(path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_every_array_of_numbers_must_be_finite(value, path):
    def spoil(arrays, name):
        arrays[name] = arrays[name].copy()
        arrays[name][(-1,) * arrays[name].ndim] = value if arrays[name].dtype.kind == "f" else -2

    for model, act in of_each_array(spoil):
        forge(model, path, act)
        refused(path)


def put(name, place, value):
    def change(header, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


def twice(name):
    return lambda header, arrays: put(name, 1, arrays[name][0])(header, arrays)


HOSTILE = {
    "joint": {
        "a class to import": lambda h, a: h.update({"class": "os.system"}),
        "the other class": lambda h, a: h.update({"class": "Perceptron"}),
        "an unknown parameter": lambda h, a: h["parameters"].update(evil=1),
        "a parameter out of range": lambda h, a: h["parameters"].update(degree=-1),
        "a kernel to call": lambda h, a: h["parameters"].update(kernel="os.system"),
        "another kernel without its arrays": lambda h, a: h["parameters"].update(kernel="precomputed"),
        "a kernel that is no name": lambda h, a: h["parameters"].update(kernel=["rbf"]),
        "another gamma than the parameter": lambda h, a: h["parameters"].update(gamma=1e9),
        "no gamma": lambda h, a: h.update(gamma=0.0),
        "a gamma without end": lambda h, a: h.update(gamma=float("inf")),
        "a budget without its arrays": lambda h, a: h["parameters"].update(budget=1000),
        "a type that is none": lambda h, a: h.update(dtype="object"),
        "examples of another type": lambda h, a: h.update(dtype="float32"),
        "no number of examples": lambda h, a: h.update(t=float("nan")),
        "a negative number of examples": lambda h, a: h.update(t=-1),
        "mistakes before any example": lambda h, a: (h.update(t=0), a["log"].__setitem__((slice(None), 0), 0.0)),
        "a negative number of mistakes": lambda h, a: h.update(mistakes=-1),
        "epochs without end": lambda h, a: h.update(epochs=float("inf")),
        "a huge number of features": lambda h, a: h.update(n_features=2**62),
        "a negative number of features": lambda h, a: h.update(n_features=-5),
        "names that do not fit": lambda h, a: h.update(features=["a"]),
        "one class less": lambda h, a: h.update(classes=[0, 1]),
        "classes that are not sorted": lambda h, a: h.update(classes=[2, 1, 0]),
        "a negative seed": lambda h, a: h.update(seed=-1),
        "a random state of another kind": lambda h, a: h["orders"].update(bit_generator="MT19937"),
        "a flag that is none": lambda h, a: h.update(far="yes"),
        "far away in float64": lambda h, a: h.update(far=True),
        "a row twice": twice("where"),
        "a row before the first": put("where", 0, -2),
        "an average beyond all bounds": lambda h, a: (h.update(t=1e-300), put("late", (0, 0), 1e300)(h, a)),
        "a log that goes back in time": put("log", (0, 0), 1e3),
        "a log beyond the end": put("log", (-1, 0), 1e9),
        "a log before the beginning": put("log", (0, 0), -1.0),
        "a log of a foreign example": put("log", (0, 1), 1e9),
        "a log of half an example": put("log", (0, 1), 0.5),
        "a log of a negative example": put("log", (0, 1), -1.0),
        "a log of a foreign class": put("log", (0, 2), 3.0),
        "a log of a foreign answer": put("log", (0, 3), 3.0),
        "a log of a right answer": put("log", (0, slice(2, 4)), 1.0),
        "a log without a step": put("log", (0, 4), 0.0),
        "other coefficients than those of the log": put("coef", (0, 0), 5.0),
        "another average than that of the log": put("late", (0, 0), 5.0),
        "no header": lambda h, a: h.clear(),
        "no report": lambda h, a: h.update(report={}),
    },
    "ovr": {"a row that is not there": put("log", (0, 3), 3.0)},
    "remove_random": {
        "more than the budget": lambda h, a: h["parameters"].update(budget=8),
        "half a removal": lambda h, a: put("numbers", [2, 3], a["numbers"][[2, 3]] + 0.5)(h, a),
        "removals that overflow": lambda h, a: put("numbers", [2, 3], 1e300)(h, a),
        "negative removals": lambda h, a: put("numbers", [2, 3], [4, -5])(h, a),
        "fewer that entered than are there": put("numbers", 2, 3.0),
        "entered twice": twice("born"),
        "entered before the first": put("born", 0, -1),
        "entered after the last": put("born", 0, 10**6),
        "another policy without its arrays": lambda h, a: h["parameters"].update(on_full="project"),
        "votes": lambda h, a: h["parameters"].update(combine="vote"),
    },
    "forget_oldest": {
        "kernel values that differ by direction": put("inner", (0, 1), 77.0),
        "more forgotten than learned": put("numbers", 4, 1e6),
        "a negative radius": put("numbers", 6, -1.0),
    },
    "project": {
        "a factor that is none": put("inner", (0, 1), 1.0),
        "a factor without an inverse": put("inner", (0, 0), 0.0),
    },
    "precomputed": {
        "a row that the matrix has not": put("where", 0, 50),
        "no row": put("where", 0, -1),
    },
    "sparse": {
        "columns beyond the last": lambda h, a: a.update(support_indices=a["support_indices"] + 1000),
        "negative columns": lambda h, a: a.update(support_indices=a["support_indices"] - 1),
        "rows beyond the end": lambda h, a: a.update(support_indptr=a["support_indptr"] + 1000),
        "rows that go back": lambda h, a: put("support_indptr", 1, a["support_indptr"][-1])(h, a),
    },
}  # fmt: skip


@pytest.mark.parametrize(("case", "what"), [(case, what) for case, those in HOSTILE.items() for what in those])
def test_hostile_contents_with_a_right_checksum_are_refused(case, what, path):
    forge(fitted(case), path, HOSTILE[case][what])
    refused(path)


def test_what_was_forged_was_sound_before(model, path):
    forge(model, path, lambda header, arrays: None)
    assert perceptrons.load(path).n_support_ == model.n_support_
    header, _ = modelfile.kernel.contents(model)
    assert json.loads(json.dumps(header, allow_nan=False)) == header


# ---- models that know how files are read


TABLE = "color,size,label\nred,1,yes\nblue,2,no\ngreen,3,yes\nred,4,no\nblue,5,yes\nred,6,no\n"
MORE = "color,size,label\ngreen,2,no\nviolet,4,yes\nblue,1,yes\n"
TWEETS = "text\tlabel\nfree money now\tspam\nsee you at lunch\tham\nmoney for free\tspam\nlunch was good\tham\n"


def learned_from_file(path, model, **options):
    """The model fitted to what a file holds, and told how it was read."""
    reader = stream(path, **options)
    blocks = list(reader)
    X, y = sp.vstack([sp.csr_matrix(block.X) for block in blocks]), np.concatenate([block.y for block in blocks])
    if reader.columns is not None:
        X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], reader.columns.n_columns))
    model.fit(X, y)
    model.source_, model.columns_ = reader.recipe(), reader.columns
    return model


@pytest.mark.parametrize("options", [{}, {"hash_bits": 6}], ids=["named", "hashed"])
@pytest.mark.parametrize("budget", [None, 4])
def test_a_model_that_knows_how_files_are_read_still_does_from_its_file(path, tmp_path, options, budget):
    table, more = tmp_path / "a.csv", tmp_path / "b.csv"
    table.write_text(TABLE)
    more.write_text(MORE)
    model = learned_from_file(table, KernelPerceptron(budget=budget, gamma=0.5), label_column="label", **options)
    loaded = reloaded(model, path)
    assert_same(model, loaded)
    assert loaded.source_ == model.source_
    assert loaded.columns_.n_columns == model.columns_.n_columns
    for file in (table, more):
        X, others = (np.vstack([block.X.toarray() for block in stream(file, like=m)]) for m in (model, loaded))
        assert np.array_equal(X, others)
        assert np.array_equal(model.decision_function(X), loaded.decision_function(others))
    rows = [{"color": "red", "size": 2.0}, {"color": "violet", "size": 9.0}]
    assert [loaded.predict_one(row) for row in rows] == [model.predict_one(row) for row in rows]
    perceptrons.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_loaded_model_learns_new_names_as_one_that_was_never_saved(path, tmp_path):
    table = tmp_path / "a.csv"
    table.write_text(TABLE)
    model = learned_from_file(table, KernelPerceptron(gamma=0.5), label_column="label")
    loaded, n = reloaded(model, path), model.n_features_in_
    for either in (model, loaded):
        for color, label in (("violet", "no"), ("black", "yes"), ("violet", "yes")):
            either.learn_one({"color": color, "size": 3.0}, label)
        assert either.n_features_in_ == n + 2
    assert_same(model, loaded)
    row = {"color": "black", "size": 2.5}
    assert str(model.explain(row)) == str(loaded.explain(row))


def test_a_model_of_text_reads_text_after_loading(path, tmp_path):
    tweets = tmp_path / "a.tsv"
    tweets.write_text(TWEETS)
    model = learned_from_file(tweets, KernelPerceptron(kernel="cosine"), text_column="text", label_column="label")
    loaded = reloaded(model, path)
    X = sp.vstack([block.X for block in stream(tweets, like=loaded)])
    assert loaded.predict(X).tolist() == ["spam", "ham", "spam", "ham"]


def test_a_model_that_read_no_file_says_nothing_of_files_and_reads_tables_by_position(path, tmp_path):
    model = KernelPerceptron().fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    perceptrons.save(model, path)
    _, header = modelfile.load_with_header(path)
    assert not {"source", "columns", "progress"} & header.keys()
    (tmp_path / "a.csv").write_text("x,label\n2,a\n1,b\n")
    (block,) = stream(tmp_path / "a.csv", like=perceptrons.load(path))
    assert model.predict(block.X).tolist() == ["a", "b"] == list(block.y)


HOSTILE_FILES = {
    "a recipe that is none": lambda h, a: h.update(source=["csv"]),
    "names without a recipe": lambda h, a: h.update(source=None),
    "names of other columns": lambda h, a: h["columns"].update(bits=3),
    "names that are missing": lambda h, a: [a.pop(name) for name in list(a) if name.startswith("columns_")],
}


@pytest.mark.parametrize("what", HOSTILE_FILES)
def test_what_a_file_says_of_reading_files_is_checked(path, tmp_path, what):
    table = tmp_path / "a.csv"
    table.write_text(TABLE)
    model = learned_from_file(table, KernelPerceptron(gamma=0.5), label_column="label")
    forge(model, path, HOSTILE_FILES[what])
    with pytest.raises(ModelFileError):
        perceptrons.load(path)
