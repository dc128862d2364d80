"""Which features make the radius, and examples on an even scale."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import MaxAbsScaler, StandardScaler, normalize

from perceptrons import Perceptron
from perceptrons.theory.scales import comparable_weights, even, of_one_length, scaler_for, scales, uneven
from tests.conftest import whole_numbers
from tests.support.lecture import rosenblatt

X = np.array([[1.0, 300.0, 5.0, 0.0], [2.0, -400.0, 5.0, 0.0], [4.0, 100.0, 5.0, 0.0]])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_matrix, np.ndarray.tolist])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_radius_shares_and_columns_are_what_the_definitions_say(make, fit_intercept):
    found = scales(make(X), fit_intercept)
    norms = np.sqrt((X**2).sum(axis=1) + fit_intercept)
    assert found.farthest == 1
    assert found.radius == pytest.approx(norms.max())
    assert found.typical == pytest.approx(np.median(norms))
    np.testing.assert_allclose(found.shares, X[1] ** 2 / norms[1] ** 2)
    np.testing.assert_allclose(found.means, X.mean(axis=0))
    np.testing.assert_allclose(found.deviations, X.std(axis=0))
    assert found.constant.tolist() == [False, False, True, True]


def test_shares_and_that_of_the_intercept_make_up_the_whole():
    found = scales(X)
    assert found.shares.sum() + 1 / found.radius**2 == pytest.approx(1)
    assert scales(X, fit_intercept=False).shares.sum() == pytest.approx(1)
    assert scales(np.zeros((2, 3)), fit_intercept=False).shares.tolist() == [0, 0, 0]


def test_a_constant_column_has_a_deviation_of_exactly_0():
    found = scales(np.full((7, 1), 0.1))
    assert (found.deviations.tolist(), found.constant.tolist()) == ([0.0], [True])


def test_a_sparse_column_with_one_value_in_some_rows_is_not_constant():
    assert scales(sp.csr_matrix([[3.0, 2.0], [0.0, 2.0]])).constant.tolist() == [False, True]


def test_dense_examples_are_standardised_as_scikit_learn_does_it():
    np.testing.assert_allclose(even(X), StandardScaler().fit_transform(X), atol=1e-12)
    assert even(np.full((3, 2), 0.1)).tolist() == [[0, 0]] * 3


def test_sparse_examples_and_those_without_intercept_are_scaled_but_not_centred():
    expected = MaxAbsScaler().fit_transform(X)
    np.testing.assert_allclose(even(X, centre=False), expected)
    found = even(sp.csr_matrix(X))
    assert sp.issparse(found)
    np.testing.assert_allclose(found.toarray(), expected)


def test_the_smallest_numbers_do_not_become_infinite():
    tiny = np.array([[5e-324, 1.0], [0.0, 2.0]])
    assert even(tiny, centre=False).tolist() == [[1, 0.5], [0, 1]]
    assert even(sp.csr_matrix(tiny)).toarray().tolist() == [[1, 0.5], [0, 1]]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_what_is_given_is_not_changed(make):
    given = make(X.copy())
    scales(given)
    even(given)
    even(given, centre=False)
    np.testing.assert_array_equal(given.toarray() if sp.issparse(given) else given, X)


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="NaN at row 1, column 0"):
        scales([[1.0], [np.nan]])


def texts(unit=True):
    """Rows of words that are rare or frequent, some of them in texts of 2,000 words, as long as their norm says."""
    rng = np.random.default_rng(0)
    rows = [np.bincount(rng.zipf(1.3, size=n) % 5000, minlength=5000).astype(float) for n in (5, 20, 2000, 4000) * 5]
    X = sp.csr_matrix(np.array(rows))
    return normalize(X) if unit else X


def test_texts_of_one_length_get_no_advice_on_scale():
    X = texts()
    largest = abs(X).max(axis=0).toarray().ravel()
    assert largest.max() > 30 * largest[largest > 0].min()
    assert of_one_length(X)
    assert of_one_length(X.astype(np.float32))
    assert not uneven(X)
    assert scaler_for(X) is None
    assert scaler_for(sp.vstack([X, sp.csr_matrix((1, X.shape[1]))])) is None  # an empty text has no length


def test_sparse_features_of_different_units_are_not_to_be_centred():
    X = sp.random(200, 10, density=0.3, format="csr", random_state=0) @ sp.diags([1.0] * 9 + [1e4])
    assert uneven(X)
    assert scaler_for(X) == "MaxAbsScaler"
    assert scaler_for(X.toarray()) == "StandardScaler"
    assert scaler_for(texts(unit=False)) == "MaxAbsScaler"


def test_a_model_that_reads_texts_gets_no_advice_whatever_its_rows_look_like():
    model = Perceptron()
    model.source_ = {"format": "csv", "text_column": ["body"]}
    assert scaler_for(texts(unit=False), model) is None
    model.source_ = {"format": "csv", "text_column": None}
    assert scaler_for(texts(unit=False), model) == "MaxAbsScaler"


def test_report_inspect_train_and_diagnose_agree_that_texts_need_no_scaling(run, tmp_path):
    X, y = texts(), np.arange(20) % 2
    dump_svmlight_file(X, y, str(tmp_path / "texts.svm"))
    said = run("train", tmp_path / "texts.svm", "-o", tmp_path / "model")[1]
    said += run("inspect", tmp_path / "model", "--data", tmp_path / "texts.svm")[1]
    said += run("diagnose", tmp_path / "texts.svm")[1]
    assert run("report", tmp_path / "model", tmp_path / "texts.svm", "-o", tmp_path / "page.html")[0] == 0
    said += (tmp_path / "page.html").read_text()
    assert "Scaler" not in said
    assert "differ widely in scale" not in said
    assert "need no scaling" in " ".join(said.split())


def test_weights_times_deviations_do_not_depend_on_units(form, rng):
    X, y = whole_numbers(rng, 60, 4, 2)
    model = rosenblatt(max_iter=5, combine="last", fit_intercept=False).fit(form(X), y)
    comparable = comparable_weights(model, form(X))
    np.testing.assert_allclose(comparable, model.coef_ * X.std(axis=0))
    model.combine = "vote"
    np.testing.assert_allclose(comparable_weights(model, form(X)), model.coef_average_ * X.std(axis=0))
    assert not uneven(form(X))
    assert uneven(form(X * np.array([1, 1, 1000, 1])))
    assert not uneven(form(np.zeros((3, 2))))
    with pytest.raises(ValueError, match="5 features"):
        comparable_weights(model, np.ones((3, 5)))
