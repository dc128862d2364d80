"""Test setup: where compiled code is cached, who compiles, what no test may take, and what many tests use."""

import os
import signal

from tools.compiled import cache_folder

os.environ.setdefault("NUMBA_CACHE_DIR", cache_folder())  # or old code might be tested; see CONTRIBUTING.md
os.environ.setdefault("MALLOC_ARENA_MAX", "2")  # of xdist's workers: threads' own arenas keep what is freed
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips its array API check
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for `pytest &` in a script: Ctrl-C is tested all the same
    signal.signal(signal.SIGINT, signal.default_int_handler)

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.support.compiler import compile_elsewhere
from tests.support.limits import Limits
from tests.support.tiers import (  # noqa: F401
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_xdist_make_scheduler,
)

ROOT = Path(__file__).parent.parent


def pytest_configure(config):
    if getattr(config.option, "numprocesses", None):
        return  # the tests run in other processes
    config.pluginmanager.register(Limits())
    if not os.environ.get("NUMBA_DISABLE_JIT"):
        config.add_cleanup(compile_elsewhere().stop)


def as_csr(X, index_type=np.int32):
    """X as CSR with indices of the given type."""
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
    return X


LAYOUTS = {
    "dense": lambda X: X,
    "csr32": lambda X: as_csr(X, np.int32),
    "csr64": lambda X: as_csr(X, np.int64),
}


@pytest.fixture(params=LAYOUTS)
def layout(request):
    """A function that lays a dense array out as rows of some kind."""
    return LAYOUTS[request.param]


@pytest.fixture(params=["dense", "csr32"])
def form(request):
    """As `layout`, without 64-bit indices: every kind of rows is compiled by itself, and that takes its time."""
    return LAYOUTS[request.param]


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def whole_numbers(rng, n, d, k):
    """Small whole numbers, many 0, and labels 0..k-1 that a noisy linear rule gives: sums are exact in any order."""
    X = rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < 0.6)
    y = np.argmax(X @ rng.integers(-2, 3, (d, k)) + 3 * rng.standard_normal((n, k)), axis=1)
    y[:k] = np.arange(k)
    return X.astype(float), y


def as_numbers(array):
    """A view of an array whose records, if it has any, are floats."""
    return array if array.dtype.names is None else array.view(np.float64)


def gaussian(rng, n, d, k):
    """Real numbers, and labels 0..k-1 that a noisy linear rule gives."""
    X = rng.standard_normal((n, d))
    y = np.argmax(X @ rng.standard_normal((d, k)) + 0.5 * rng.standard_normal((n, k)), axis=1)
    y[:k] = np.arange(k)
    return X, y


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command; gives exit code, stdout and stderr."""
    from perceptrons.cli import main

    monkeypatch.setenv("COLUMNS", "80")

    def ran(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return ran


@pytest.fixture
def refused(run):
    """Run a command that must end with code 2 and one line on stderr, which it returns."""

    def ran(*arguments):
        code, out, err = run(*arguments)
        assert (code, out) == (2, ""), (code, out, err)
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err.strip()

    return ran
