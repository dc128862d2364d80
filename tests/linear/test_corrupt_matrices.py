"""Sparse matrices whose parts point outside are refused at every door."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from perceptrons import Perceptron
from perceptrons.engine.training.matrices import sound_csr
from tests.support.processes import SECONDS
from tools.compiled import ROOT
from tools.fuzz_matrices import FORMATS, D, Doors, N, sound

FORGERIES = """
import numpy as np, pathlib, scipy.sparse as sp, sys
from tools.fuzz_matrices import Doors, N, D

def csr(n, **parts):
    X = sp.csr_matrix(np.arange(1.0, n * D + 1).reshape(n, D))
    return changed(X, **parts)

def changed(X, **parts):
    for name, part in parts.items():
        setattr(X, name, part)
    return X

def with_entry(array, place, value):
    array = array.copy()
    array[place] = value
    return array

def forgeries(n):
    good = csr(n)
    for far in (10**9, -1, D, -(2**31)):
        row = n if far == D else far
        yield f"column {far}", csr(n, indices=with_entry(good.indices, 1, far))
        yield f"coo {far}", changed(good.tocoo(), coords=(good.tocoo().row, with_entry(good.indices, 1, far)))
        yield f"coo row {far}", changed(good.tocoo(), coords=(with_entry(good.tocoo().row, 1, row), good.indices))
        csc = good.tocsc()
        yield f"csc {far}", changed(csc, indices=with_entry(csc.indices, 0, row))
        bsr = good.tobsr((1, 2))
        yield f"bsr {far}", changed(bsr, indices=with_entry(bsr.indices, 0, far))
    for kind in ("int8", "int16"):
        yield f"{kind} column -1", csr(n, indices=with_entry(good.indices.astype(kind), 1, -1))
    yield "float columns", csr(n, indices=good.indices + 0.5)
    yield "2-D columns", csr(n, indices=good.indices[:, None])
    yield "short indptr", csr(n, indptr=good.indptr[:-1])
    yield "larger shape", csr(n, _shape=(10**6, D))
    yield "far indptr", csr(n, indptr=with_entry(good.indptr, 1, 10**6))
    yield "negative indptr", csr(n, indptr=with_entry(good.indptr, 0, -(10**6)))
    yield "short data", csr(n, data=good.data[:-1])
    csc = good.tocsc()
    yield "csc far indptr", changed(csc, indptr=with_entry(csc.indptr, 2, 10**8))
    yield "csc short indptr", changed(good.tocsc(), indptr=csc.indptr[:-1])
    lil = good.tolil()
    lil.rows[0] = [10**9] * D
    yield "lil", lil

doors = Doors(pathlib.Path(sys.argv[1]))
for name, call in (doors.whole | doors.single).items():
    print(name, flush=True)  # a crash is after the name of its door
    for what, X in forgeries(1 if name in doors.single else N):
        try:
            call(X)
        except ValueError:
            pass
        else:
            assert name == "npz", f"{name}: {what} was taken"
print("all refused")
"""


@pytest.mark.slow
def test_no_door_follows_a_corrupt_matrix_out_of_memory(tmp_path):
    program = [sys.executable, "-c", FORGERIES, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=SECONDS, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "all refused"), done.stderr[-2000:]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_sound_matrix_of_any_format_and_index_type_gives_the_same_model(kind):
    rng = np.random.default_rng(3)
    y = np.arange(N) % 2
    for _ in range(5):
        X = sound(rng, kind).astype(np.float64)
        np.testing.assert_array_equal(sound_csr(X).toarray(), X.toarray())
        expected = Perceptron(random_state=0).fit(X.toarray(), y)
        np.testing.assert_array_equal(Perceptron(random_state=0).fit(X, y).coef_, expected.coef_)
        np.testing.assert_array_equal(
            expected.decision_function(X), expected.decision_function(sp.csr_matrix(X.toarray()))
        )


@pytest.mark.parametrize("kind", ["int8", "int16", "uint8", "uint16", "uint32", "uint64", ">i4", ">i8", "int64"])
def test_indices_of_any_whole_number_type_mean_the_same(kind):
    X = sp.csr_matrix(np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 2.0]]))
    expected = Perceptron(random_state=0).fit(X.toarray(), [0, 1, 1, 0])
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    model = Perceptron(random_state=0).fit(X, [0, 1, 1, 0])
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.predict(X), [0, 1, 1, 0])


def test_what_lies_behind_the_last_row_does_not_count():
    X = sp.csr_matrix(np.array([[0.0, 2.0], [1.0, 0.0]]))
    X.indices = np.append(X.indices, [77, -5]).astype(np.int32)
    X.data = np.append(X.data, [np.nan, np.inf])
    model = Perceptron().fit(X, [0, 1])
    assert model.predict(X).tolist() == [0, 1]


def test_one_example_may_be_a_sparse_array_of_one_axis():
    model = Perceptron().fit(np.eye(3), [0, 1, 2])
    assert [model.predict_one(sp.coo_array(row)) for row in np.eye(3)] == model.predict(np.eye(3)).tolist()
    with pytest.raises(ValueError, match="Expected 2D"):
        model.predict(sp.coo_array(np.ones(3)))


class Lying:
    """Says that it has more rows than it gives."""

    shape = (4, 2)

    def __array__(self, dtype=None, copy=None):
        return np.ones((2, 2), dtype)

    def __len__(self):
        return 4


def test_a_block_with_fewer_rows_than_labels_is_refused_in_a_stream():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Perceptron().fit_stream([(Lying(), [0, 1, 0, 1])])


def test_every_door_takes_a_sound_matrix(tmp_path):
    doors = Doors(tmp_path)
    X = sp.csr_matrix(np.arange(1.0, N * D + 1).reshape(N, D))
    for name, call in doors.whole.items():
        if name not in ("sparse labels",):
            call(X)
    for call in doors.single.values():
        call(X[:1])
