"""Machine code that is compiled once serves all that is alike: compiling is what a first fit waits for."""

import os

import numpy as np
import pytest

from perceptrons import Perceptron
from perceptrons.engine.passes.binary import binary_pass
from perceptrons.engine.passes.multiclass import multiclass_pass
from tests.conftest import as_csr, whole_numbers

PASSES = {2: binary_pass, 3: multiclass_pass}


def read_only(X):
    """X as from a file that is only read."""
    for array in (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    return X


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")
@pytest.mark.parametrize("k", PASSES)
@pytest.mark.parametrize("make", [np.array, as_csr])
def test_arrays_that_cannot_be_written_are_learned_from_by_the_same_machine_code(make, k, rng):
    X, y = whole_numbers(rng, 40, 4, k)
    weight = np.arange(40) % 3
    model = Perceptron().fit(make(X), y, sample_weight=weight)
    compiled = list(PASSES[k].overloads)
    y.flags.writeable = weight.flags.writeable = False
    again = Perceptron().fit(read_only(make(X)), y, sample_weight=weight)
    assert list(PASSES[k].overloads) == compiled
    np.testing.assert_array_equal(again.coef_, model.coef_)
