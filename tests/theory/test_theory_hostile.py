"""What a sceptic tried on the theory: false proofs that must be refused, and data that once led it astray."""

import dataclasses
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from perceptrons import Perceptron
from perceptrons.theory import (
    Certificate,
    Combination,
    check_bound,
    convergence,
    diagnose,
    max_margin,
    mistake_bound,
    separability,
)
from tests.reference import theory as reference
from tests.support.certificates import XOR, assert_proves, decided
from tests.theory.test_certificates import check


def sealed(content):
    """A certificate with this content and a digest that fits."""
    return {**content, "digest": reference.digest(content)}


# ---- false proofs


def claim(X, y, **changes):
    """A certificate that says that these data are separable."""
    content = {
        "format": "perceptrons-certificate-1", "separable": True, "classes": sorted(set(y)), "n_samples": len(y),
        "n_features": np.shape(X)[1], "fit_intercept": True, "number_type": "float64", "witness": None, "reason": "",
    }  # fmt: skip
    return sealed({**content, **changes})


def test_weights_that_vanish_beside_others_prove_nothing():
    """Rows 0 and 1 differ only where squares of weights are lost to rounding; the third class has weights of 1."""
    tiny = 2.0**-550
    X, y = [[1.0, 1.0], [1.0 + 2**-52, 1.0], [1.0, 1.0 + 2**-52], [-9.0, -9.0]], [0, 1, 0, 2]
    support = {"rows": [0, 1], "labels": [0, 1], "rivals": [1, 0], "weights": ["1", "1"]}
    content = claim(
        X, y, coef=[[tiny, tiny], [tiny, tiny], [-1.0, -1.0]], intercept=[0.0, 0.0, 0.0], margin=[0.0, 9.0],
        support=support,
    )  # fmt: skip
    certificate = Certificate.from_json(json.dumps(content))
    assert not certificate.verify(X, y)


@pytest.mark.parametrize("scale", [2.0**-565, 2.0**-530])
def test_rows_that_vanish_beside_others_prove_nothing(scale):
    """Three points of a line, the middle one of the other class, far below the size of a fourth."""
    X = np.array([[1.0, 1.0], [1.0, 3.0], [1.0, 2.0], [-(2.0**520), 0.0]]) * scale
    y = [1, 1, 0, 0]
    support = {"rows": [0, 2], "labels": [1, 0], "rivals": [0, 1], "weights": ["1", "1"]}
    for coef in ([1.0, 1e-17], [1.0, -1e-17], [1.0, 0.0]):
        for shift in (0.0, -scale, scale * 2**-52, -scale * (1 + 2**-52)):
            content = claim(X, y, coef=coef, intercept=shift, margin=[0.0, 1e300], support=support)
            assert not Certificate.from_json(json.dumps(content)).verify(X, y)


def test_float32_weights_are_no_certificate():
    X, y = np.array([[3.0, 4.0], [-3.0, -4.0]]), [1, 0]
    certificate = decided(X, y)
    other = dataclasses.replace(certificate, coef=np.array([0.3, 0.4], np.float32)).sealed()
    assert not other.verify(X, y)


@pytest.mark.parametrize(
    "change",
    [
        {"coef": [1.0, 1.0]}, {"separable": 1}, {"n_samples": 4.0}, {"fit_intercept": 1}, {"classes": None},
        {"classes": [0, 1]}, {"intercept": None}, {"margin": (0.1, 0.2)}, {"support": None},
    ],
)  # fmt: skip
def test_hand_made_certificates_of_the_wrong_kinds_are_rejected_without_an_error(change):
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    assert not dataclasses.replace(decided(X, y), **change).verify(X, y)


@pytest.mark.parametrize(
    ("part", "value"),
    [("rows", (True, 1, 2, 3)), ("rows", (0.0, 1, 2, 3)), ("rows", [0, 1, 2, 3]), ("labels", ([0], 1, 1, 0))],
)
def test_hand_made_witnesses_of_the_wrong_kinds_are_rejected_without_an_error(part, value):
    certificate = decided(*XOR)
    witness = certificate.witness._replace(**{part: value})
    assert not dataclasses.replace(certificate, witness=witness).verify(*XOR)


def test_weights_of_the_witness_must_be_fractions_that_sum_to_one():
    certificate = decided(*XOR)
    for weights in ((0.25,) * 4, (Fraction(1, 2),) * 4, (Fraction(1, 2), Fraction(1, 2), Fraction(0), Fraction(0))):
        witness = Combination(*certificate.witness[:3], weights)
        assert not dataclasses.replace(certificate, witness=witness).verify(*XOR)


# ---- the checker


def test_the_checker_takes_no_cell_of_the_data_for_the_name_of_a_column(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("3,0,1\n0,0,1\n0,5,0\n")
    honest, other = tmp_path / "honest.json", tmp_path / "other.json"
    honest.write_text(separability([[3.0, 0.0], [0.0, 0.0], [0.0, 5.0]], [1, 1, 0]).to_json())
    other.write_text(separability([[0.0, 1.0], [0.0, 1.0], [5.0, 0.0]], [3, 0, 0]).to_json())
    assert check(honest, data)[0] == 0
    assert check(other, data)[0] == 1


def test_the_checker_counts_the_rows_of_weights(tmp_path):
    X, y = [[0.0, 0.0], [9.0, 1.0], [3.0, 8.0]], [0, 1, 2]
    content = json.loads(decided(X, y).to_json())
    content["coef"] += [[1e6, 1e6]] * 6
    content["intercept"] += [-1e9] * 6
    content["margin"][0] = content["margin"][1]
    path, data = tmp_path / "proof.json", tmp_path / "data.csv"
    path.write_text(json.dumps(sealed(content)))
    data.write_text("\n".join(f"{a},{b},{k}" for (a, b), k in zip(X, y, strict=True)))
    assert check(path, data)[0] == 1


def test_the_checker_wants_a_word_on_separability_and_options_it_knows(tmp_path):
    content = json.loads(decided(*XOR).to_json())
    path, data = tmp_path / "proof.json", tmp_path / "data.csv"
    path.write_text(json.dumps(sealed({**content, "separable": "no"})))
    data.write_text("0,0,0\n0,1,1\n1,0,1\n1,1,0\n")
    assert check(path, data)[0] in (1, 2)
    assert check(path, data, "--label", "3")[0] == 2
    assert check(path)[0] == 2


def test_the_checker_reads_labels_as_the_library_does(tmp_path):
    path, data = tmp_path / "proof.json", tmp_path / "data.tsv"
    path.write_text(decided([[0.0], [1.0]], ["1e1", "10"]).to_json())
    data.write_text("0\t1e1\n1\t10\n")
    assert check(path, data)[0] == 0
    path.write_text(decided([[0.0], [1.0]], [10, 2]).to_json())
    data.write_text("0\t10.0\n1\t2\n")
    assert check(path, data)[0] == 0
    data.write_text("0\t1e1\n1\t2\n")
    assert check(path, data)[0] == 1


# ---- data that led astray


@pytest.mark.parametrize("X", [[[1.0], [-1e-170]], [[1e147], [-1e-20]]])
def test_a_row_of_tiny_numbers_is_no_row_of_zeros(X):
    certificate = decided(X, [1, 0], fit_intercept=False)
    assert certificate.separable
    assert mistake_bound(X, [1, 0], fit_intercept=False).separable


@pytest.mark.parametrize("X", [[[1e-310], [2e-310]], [[1e-320, 1.0], [2e-320, 1.0]], [[5e-324, 1e140], [0.0, 1e140]]])
def test_numbers_too_small_for_full_precision_are_decided(X):
    assert decided(X, [0, 1]).separable


@pytest.mark.parametrize("K", [24, 30, 40])
def test_many_classes_of_one_example_on_a_circle_are_separable(K):
    angle = 2 * np.pi * np.arange(K) / K
    margin = decided(np.c_[np.cos(angle), np.sin(angle)], np.arange(K), gap=1e-6).margin
    assert margin.reached >= margin.at_most * (1 - 1e-6)


def test_many_classes_in_a_row_have_a_narrow_bracket():
    margin = decided(np.arange(50.0)[:, None], np.arange(50)).margin
    assert margin.reached >= margin.at_most * 0.9


@pytest.mark.parametrize("margin", [3e-9, 1e-9, 1e-10, 1e-12])
def test_the_bracket_of_a_thin_margin_is_narrow(margin, rng):
    X = rng.standard_normal((300, 5))
    u = rng.standard_normal(5)
    u /= np.linalg.norm(u)
    s = X @ u
    X += np.outer(np.where(abs(s) < 0.2, np.sign(s) * margin - s, 0.0), u)
    found = decided(X, s > 0).margin
    assert found.reached >= found.at_most * 0.9
    assert found.at_most == pytest.approx(margin, rel=0.01)


def test_columns_that_depend_on_each_other_up_to_rounding_are_decided(rng):
    A = rng.standard_normal((40, 6))
    decided(np.c_[A, A * 2.54], rng.integers(0, 2, 40))


# ---- bounds and convergence


def test_a_bound_that_is_broken_says_that_the_examples_are_others():
    X, y = np.array([[1.0], [-1.0], [2.0]]), np.array([1, 0, 1])
    model = Perceptron(tol=None, shuffle=False, max_iter=1).fit(X, y)
    for _ in range(30):
        model.partial_fit([[1.0], [1.0], [1.0]], [0, 1, 0])
    with pytest.raises(ValueError, match="partial_fit"):
        check_bound(model, X, y)


def test_a_margin_too_small_for_the_trace_gives_none():
    found = convergence([[1e147], [1e147 + 1e132]], [0, 1], trace=True, max_seconds=1)
    assert found.trace is None
    assert found.converges is not False


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: separability(*XOR, max_seconds="5"), "max_seconds"),
        (lambda: separability(*XOR, max_seconds=float("nan")), "max_seconds"),
        (lambda: mistake_bound(*XOR, max_seconds=-1), "max_seconds"),
        (lambda: mistake_bound(*XOR, epochs=10**400), "epochs"),
        (lambda: convergence(*XOR, max_seconds=0), "max_seconds"),
        (lambda: separability(*XOR, gap=None), "gap"),
        (lambda: max_margin(*XOR, gap=0), "gap"),
        (lambda: separability(*XOR, fit_intercept="False"), "fit_intercept"),
        (lambda: convergence([[0.0], [1e-200]], [0, 1], init=([1e100], 0.0)), "too large for a float"),
    ],
)
def test_odd_arguments_are_refused_by_name(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_time_without_end_is_no_limit():
    assert separability(*XOR, max_seconds=float("inf")).separable is False


def test_a_key_that_stands_twice_is_refused():
    text = decided(*XOR).to_json().replace('"separable": false', '"separable": true, "separable": false')
    with pytest.raises(ValueError, match="twice"):
        Certificate.from_json(text)


def test_two_rows_without_intercept_are_explained_rightly():
    certificate = decided([[1.0], [2.0]], [1, 0], fit_intercept=False)
    assert "same point" not in certificate.explain()
    assert_proves(certificate, [[1.0], [2.0]], [1, 0])


def test_only_the_values_count_not_the_type_that_holds_them():
    X, y = XOR
    for other in (X.astype(np.int8), X.astype(np.float32), X.tolist(), X.astype(bool)):
        certificate = separability(other, y)
        for form in (X, X.astype(np.float32), X.astype(np.int64).tolist()):
            assert certificate.verify(form, y)
    thirds = np.array([[0.1, 1.0], [0.2, 1.0], [0.3, 1.0]])
    narrow = decided(thirds.astype(np.float32), [0, 1, 0])
    assert not narrow.verify(thirds, [0, 1, 0])  # other numbers, and they do not cancel so
    assert not narrow.verify(thirds * 1e100, [0, 1, 0])
    assert narrow.verify(thirds.astype(np.float32).astype(float), [0, 1, 0])


def test_a_certificate_of_numbers_with_thousands_of_digits_has_a_repr():
    tiny = Fraction(1, 3**9000)
    weights = (tiny, 1 - tiny)
    certificate = decided([[0.0], [2.0]], [0, 1])
    long = dataclasses.replace(certificate, support=Combination((0, 1), (0, 1), (1, 0), weights)).sealed()
    exact = dataclasses.replace(certificate, coef=np.array([tiny], object), intercept=tiny).sealed()
    for one in (long, exact):
        assert len(repr(Certificate.from_json(one.to_json()))) < 1000
        assert "about" in repr(one)
    assert "Fraction(1, 2)" in repr(certificate)


# ---- numbers that float64 does not hold: a proof about the rounded ones would be false of the data

UNHELD = {
    "int64": np.array([[2**53], [2**53 + 1]]),
    "uint64": np.array([[2**63], [2**63 + 1]], np.uint64),
    "list of ints beside floats": [[2**53, 0.5], [2**53 + 1, 0.5]],
    "longdouble": np.array([[1.0], [1.0]], np.longdouble) + np.array([[0], [1]]) * np.finfo(np.longdouble).eps,
    "Fraction": np.array([[Fraction(1, 3)], [Fraction(1, 3) + Fraction(1, 10**30)]], object),
    "Decimal": np.array([[Decimal("0.1")], [Decimal("0.1000000000000000000001")]], object),
    "strings": np.array([["9007199254740992"], ["9007199254740993"]], object),
    "sparse int64": sp.csr_matrix(np.array([[2**53], [2**53 + 1]])),
    "DOK": sp.dok_array(np.array([[2**53], [2**53 + 1]])),
    "LIL": sp.lil_array(np.array([[2**53], [2**53 + 1]])),
    "frame": pd.DataFrame({"id": [2**53, 2**53 + 1], "x": [0.5, 0.5]}),
}


@pytest.mark.parametrize("kind", UNHELD)
@pytest.mark.parametrize("prove", [separability, max_margin, mistake_bound, convergence, diagnose])
def test_numbers_that_float64_does_not_hold_are_refused(kind, prove):
    if kind == "longdouble" and np.finfo(np.longdouble).eps == np.finfo(float).eps:
        pytest.skip("longdouble is float64 here")
    with pytest.raises(ValueError, match="float64"):
        prove(UNHELD[kind], [0, 1])


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_are_checked_too(library):
    module = pytest.importorskip(library)
    make = module.DataFrame if library == "polars" else module.table
    with pytest.raises(ValueError, match=r"9007199254740993 in row 1, column id"):
        separability(make({"id": [2**53, 2**53 + 1], "x": [0.5, 0.5]}), [0, 1])


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_sparse_matrices_of_every_layout_have_the_certificate_of_the_dense_one(layout):
    X = np.array([[1.0, 0], [2, 1], [0, 3], [0, 4]])
    for y in ([0, 0, 1, 1], [0, 1, 0, 1]):
        assert separability(sp.csr_array(X).asformat(layout), y).separable == separability(X, y).separable


def test_numbers_of_any_kind_that_float64_holds_are_accepted():
    for one, other in ((2**53, 2**53 + 2), (Fraction(1, 4), Fraction(1, 2)), (Decimal("0.5"), Decimal(1)), ("1", "2")):
        assert separability(np.array([[one], [other]], object), [0, 1]).separable


# ---- decimals, as in files


def test_decimals_are_proved_as_decimals_and_not_as_the_nearest_floats():
    X, y = np.array([[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]]), [0, 1, 0]
    assert separability(X, y).separable  # as floats, by 1e-17
    certificate = separability(X, y, decimals=True)
    assert certificate.separable is False
    assert certificate.verify(X, y)
    assert not certificate.verify(X, [0, 0, 1])
    assert not dataclasses.replace(certificate, number_type="float64").sealed().verify(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_separator_of_decimals_is_given_in_their_own_unit(fit_intercept):
    X, y = np.array([[-0.1, -0.3], [-0.25, -0.7], [1.3, -0.001], [2.0, 0.5]]), [0, 0, 1, 1]
    certificate = separability(X, y, decimals=True, fit_intercept=fit_intercept)
    floats = separability(X, y, fit_intercept=fit_intercept)
    assert certificate.number_type == "decimal"
    assert certificate.verify(X, y)
    assert certificate.margin == pytest.approx(floats.margin, rel=1e-6)
    assert ((X @ certificate.coef + float(certificate.intercept) > 0) == y).all()
    lowered = dataclasses.replace(certificate, margin=type(certificate.margin)(0.0, certificate.margin.reached * 0.9))
    assert not lowered.sealed().verify(X, y)
    raised = type(certificate.margin)(certificate.margin.at_most * 1.01, certificate.margin.at_most * 1.02)
    assert not dataclasses.replace(certificate, margin=raised).sealed().verify(X, y)


def test_decimals_of_too_many_digits_are_refused():
    with pytest.raises(ValueError, match="15 digits"):
        separability([[1 / 3], [2 / 3]], [0, 1], decimals=True)
