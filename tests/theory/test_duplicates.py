"""Equal rows with different labels: found exactly, dense or sparse, whatever their bits look like."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from perceptrons.theory import duplicates
from perceptrons.theory.duplicates import contradictions


def by_comparing_all(X, codes):
    """The definition: rows equal value for value, with more than one label among them."""
    groups: dict[tuple, list[int]] = {}
    for i, row in enumerate(X.tolist()):
        groups.setdefault(tuple(value + 0.0 for value in row), []).append(i)
    return [rows for rows in groups.values() if len({codes[i] for i in rows}) > 1]


def found(X, codes):
    return [rows.tolist() for rows in contradictions(X, np.array(codes))]


values = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.1, 1e-300, 2.0**60])


@given(st.lists(st.tuples(values, values, st.integers(0, 2)), max_size=30), st.sampled_from([np.float64, np.float32]))
def test_groups_are_those_that_comparing_all_rows_gives(rows, dtype):
    X = np.array([row[:2] for row in rows], dtype).reshape(len(rows), 2)
    codes = [row[2] for row in rows]
    assert found(X, codes) == by_comparing_all(X, codes)
    assert found(sp.csr_matrix(X), codes) == by_comparing_all(X, codes)


def test_equal_rows_with_one_label_contradict_nothing():
    assert found(np.ones((4, 2)), [1, 1, 1, 1]) == []
    assert found(np.eye(3), [0, 1, 2]) == []


def test_every_row_of_a_group_is_named_and_groups_come_by_their_first_row():
    X = np.array([[5.0], [3.0], [4.0], [3.0], [5.0], [5.0], [4.0]])
    assert found(X, [0, 0, 0, 1, 0, 2, 0]) == [[0, 4, 5], [1, 3]]


def test_labels_may_be_strings():
    assert found(np.zeros((3, 1)), ["a", "a", "b"]) == [[0, 1, 2]]


def test_minus_zero_is_zero():
    assert found(np.array([[0.0, 1.0], [-0.0, 1.0]]), [0, 1]) == [[0, 1]]
    assert found(sp.csr_matrix(([-0.0, 1.0, 1.0], [0, 1, 1], [0, 2, 3]), shape=(2, 2)), [0, 1]) == [[0, 1]]


def test_how_a_sparse_matrix_is_written_does_not_matter_and_it_stays_as_it_is():
    data, columns = [1.0, 2.0, 2.0, 1.0, 0.5, 0.0, 2.0, 0.5], [0, 2, 2, 0, 0, 1, 2, 0]
    X = sp.csr_matrix((data, columns, [0, 2, 4, 8]), shape=(3, 3))  # in order, out of order, a 0 and a column twice
    assert found(X, [0, 1, 2]) == [[0, 1, 2]]
    assert (X.data.tolist(), X.indices.tolist()) == (data, columns)
    assert found(X.tocsc(), [0, 1, 2]) == [[0, 1, 2]]
    assert found(sp.csr_matrix((3, 4)), [0, 1, 0]) == [[0, 1, 2]]


def test_rows_that_lie_apart_in_memory_are_compared_too():
    X = np.arange(40.0).reshape(4, 10)
    X[3] = X[0]
    assert found(X[:, ::2], [0, 0, 0, 1]) == [[0, 3]]
    assert found(np.asfortranarray(X), [0, 0, 0, 1]) == [[0, 3]]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_different_rows_with_the_same_hash_are_not_taken_for_equal(monkeypatch, make):
    monkeypatch.setattr(duplicates, "row_hashes", lambda X: np.zeros(X.shape[0], np.uint64))
    X = np.array([[1.0], [2.0], [3.0], [2.0], [1.0], [3.0], [2.0]])
    codes = [0, 0, 0, 1, 0, 2, 1]
    assert found(make(X), codes) == by_comparing_all(X, codes) == [[1, 3, 6], [2, 5]]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("values", [[0.0, 1.0], [-1.0, 1.0], [0.0, 0.5, 2.0, 1e30]])
def test_round_numbers_have_different_hashes_too(make, values):
    X = np.unique(np.random.default_rng(0).choice(values, (3000, 40)), axis=0)
    assert len(np.unique(duplicates.row_hashes(make(X)))) == len(X)


def test_equal_rows_are_found_wherever_they_stand_in_a_large_matrix():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3001, 97))
    X[[17, 3000]] = X[[1500, 1]]
    codes = np.zeros(3001)
    codes[[1500, 3000]] = 1
    assert found(X, codes) == [[1, 3000], [17, 1500]]


def test_sparse_arrays_are_compared_like_sparse_matrices_and_every_row_needs_a_class():
    X = [[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 2.0]]
    for kind in (sp.csr_array, sp.csr_matrix, sp.coo_array):
        assert [group.tolist() for group in contradictions(kind(X), np.array([0, 1, 0, 0]))] == [[0, 1]]
        with pytest.raises(ValueError, match="4 rows"):
            contradictions(kind(X), np.array([0, 1, 0]))
