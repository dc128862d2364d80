"""Examples as rows, dense or sparse, and the few verbs every pass is written with.

A pass says `dot(rows, i, w)` and numba compiles the loop that fits the type of `rows`. Next: `passes/perceptron.py`.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from perceptrons.engine.compiling import overload_inlined

PREFETCH_AHEAD = 8  # rows between the one being learned and the one being fetched; see docs/decisions/engine.md
CACHE_LINES = 4  # cache lines fetched of it; the hardware streams the rest of a longer row


class Dense(NamedTuple):
    values: np.ndarray  # (n, d)


class Sparse(NamedTuple):
    values: np.ndarray  # (non-zeros,)
    columns: np.ndarray  # (non-zeros,)
    starts: np.ndarray  # (n + 1,); row i is starts[i]:starts[i + 1]; a column may stand twice and then counts twice


Rows = Dense | Sparse


# The verbs in plain Python: what runs with NUMBA_DISABLE_JIT=1. Below: how numba compiles each by the type of rows.


def dot(rows: Rows, i: int, w: np.ndarray) -> Any:
    """x_i · w"""
    if isinstance(rows, Dense):
        return rows.values[i] @ w
    part = slice(rows.starts[i], rows.starts[i + 1])
    return rows.values[part] @ w[rows.columns[part]]


def add(rows: Rows, i: int, step: Any, w: np.ndarray) -> None:
    """w += step x_i"""
    if isinstance(rows, Dense):
        w += step * rows.values[i]
    else:
        part = slice(rows.starts[i], rows.starts[i + 1])
        np.add.at(w, rows.columns[part], step * rows.values[part])


def move(rows: Rows, i: int, step: Any, theta: np.ndarray, y: int, y_hat: int) -> None:
    """theta_y += step x_i,  theta_y_hat -= step x_i"""
    add(rows, i, step, theta[y])
    add(rows, i, -step, theta[y_hat])


def scores(rows: Rows, i: int, theta: np.ndarray, s: np.ndarray) -> None:
    """s = theta x_i, one score a class. theta is (classes, features): C order for Dense, Fortran order for Sparse."""
    if isinstance(rows, Dense):
        s[:] = theta @ rows.values[i]
    else:
        part = slice(rows.starts[i], rows.starts[i + 1])
        s[:] = theta[:, rows.columns[part]] @ rows.values[part]


def sqnorm(rows: Rows, i: int) -> float:
    """x_i · x_i, in float64. No column may stand twice: `once_each` sees to it."""
    x = _values(rows, i)
    return float(x @ x)


def spread(rows: Rows, i: int, sigma: np.ndarray) -> float:
    """x_i · diag(sigma) x_i, in float64. No column may stand twice."""
    x = _values(rows, i)
    return float(x @ (sigma[_columns(rows, i)] * x))


def add_spread(rows: Rows, i: int, step: Any, sigma: np.ndarray, w: np.ndarray) -> None:
    """w += step diag(sigma) x_i.  No column may stand twice."""
    at = _columns(rows, i)
    w[at] += (step * sigma[at] * _values(rows, i)).astype(w.dtype)


def narrow(rows: Rows, i: int, beta: float, sigma: np.ndarray) -> None:
    """sigma *= 1 - beta sigma x_i^2, element by element: as a product it stays above 0.  No column may stand twice."""
    at = _columns(rows, i)
    sigma[at] *= (1.0 - beta * sigma[at].astype(np.float64) * _values(rows, i) ** 2).astype(sigma.dtype)


def _columns(rows: Rows, i: int) -> Any:
    return slice(None) if isinstance(rows, Dense) else rows.columns[rows.starts[i] : rows.starts[i + 1]]


def _values(rows: Rows, i: int) -> np.ndarray:
    x = rows.values[i] if isinstance(rows, Dense) else rows.values[rows.starts[i] : rows.starts[i + 1]]
    return x.astype(np.float64)


def n_stored(rows: Rows, i: int) -> int:
    """Return how many features x_i stores: all of them for a Dense row."""
    return rows.values.shape[1] if isinstance(rows, Dense) else int(rows.starts[i + 1] - rows.starts[i])


def column(rows: Rows, i: int, p: int) -> int:
    """Return the column of the p-th feature that x_i stores."""
    return p if isinstance(rows, Dense) else int(rows.columns[rows.starts[i] + p])


def packed(rows: Rows, order: np.ndarray) -> Any:
    """A copy of some rows, one behind the other in memory."""
    if isinstance(rows, Dense):
        return Dense(rows.values[order])
    at = [np.arange(rows.starts[i], rows.starts[i + 1]) for i in order]
    every = np.concatenate(at) if at else np.empty(0, np.intp)
    starts = np.cumsum([0, *(len(part) for part in at)]).astype(rows.starts.dtype)
    return Sparse(rows.values[every], rows.columns[every], starts)


def prefetch(rows: Rows, order: np.ndarray, p: int) -> None:
    """Start loading the row that will be visited PREFETCH_AHEAD places after place p of the order."""


def touch(array: np.ndarray, index: int) -> None:
    """Start loading array[index], which will be needed soon."""


def _unsigned(rows):
    """The type to index with: with a signed one numba asks of every index if it counts from the end (3x slower)."""
    return np.uint32 if rows.types[1].dtype == types.int32 else np.uint64


@overload_inlined(dot)
def _dot(rows, i, w):
    if rows.instance_class is Dense:

        def dense(rows, i, w):
            x = rows.values[i]
            s = w.dtype.type(0)
            for j in range(x.shape[0]):
                s += x[j] * w[j]
            return s

        return dense

    unsigned = _unsigned(rows)

    def sparse(rows, i, w):
        s = w.dtype.type(0)
        for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
            s += rows.values[p] * w[unsigned(rows.columns[p])]
        return s

    return sparse


@overload_inlined(add)
def _add(rows, i, step, w):
    if rows.instance_class is Dense:

        def dense(rows, i, step, w):
            x = rows.values[i]
            for j in range(x.shape[0]):
                w[j] += step * x[j]

        return dense

    unsigned = _unsigned(rows)

    def sparse(rows, i, step, w):
        for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
            w[unsigned(rows.columns[p])] += step * rows.values[p]

    return sparse


@overload_inlined(move)
def _move(rows, i, step, theta, y, y_hat):
    if rows.instance_class is Dense:

        def dense(rows, i, step, theta, y, y_hat):
            add(rows, i, step, theta[y])
            add(rows, i, -step, theta[y_hat])

        return dense

    unsigned = _unsigned(rows)

    def sparse(rows, i, step, theta, y, y_hat):
        columns = theta.T  # both classes of a feature lie together: one walk over the row for both
        for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
            column, change = columns[unsigned(rows.columns[p])], step * rows.values[p]
            column[y] += change
            column[y_hat] -= change

    return sparse


@overload_inlined(scores)
def _scores(rows, i, theta, s):
    if rows.instance_class is Dense:

        def dense(rows, i, theta, s):
            x = rows.values[i]
            for k in range(theta.shape[0]):
                row = theta[k]
                total = theta.dtype.type(0)
                for j in range(x.shape[0]):
                    total += x[j] * row[j]
                s[k] = total

        return dense

    unsigned = _unsigned(rows)

    def sparse(rows, i, theta, s):
        columns = theta.T  # (features, classes), contiguous: the inner loops run over the classes
        values, four = rows.values, np.uint64(4)
        p, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])
        s[:] = 0
        while p + four <= end:  # four features at a time: s is loaded and stored a quarter as often
            q, r, o = p + np.uint64(1), p + np.uint64(2), p + np.uint64(3)
            c, d = columns[unsigned(rows.columns[p])], columns[unsigned(rows.columns[q])]
            e, f = columns[unsigned(rows.columns[r])], columns[unsigned(rows.columns[o])]
            for k in range(s.shape[0]):
                s[k] += values[p] * c[k] + values[q] * d[k] + values[r] * e[k] + values[o] * f[k]
            p += four
        while p < end:
            c = columns[unsigned(rows.columns[p])]
            for k in range(s.shape[0]):
                s[k] += values[p] * c[k]
            p += np.uint64(1)

    return sparse


@overload_inlined(sqnorm)
def _sqnorm(rows, i):
    if rows.instance_class is Dense:

        def dense(rows, i):
            x, total = rows.values[i], 0.0
            for j in range(x.shape[0]):
                total += np.float64(x[j]) * x[j]
            return total

        return dense

    def sparse(rows, i):
        total = 0.0
        for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
            total += np.float64(rows.values[p]) * rows.values[p]
        return total

    return sparse


@overload_inlined(spread)
def _spread(rows, i, sigma):
    if rows.instance_class is Dense:

        def dense(rows, i, sigma):
            x, total = rows.values[i], 0.0
            for j in range(x.shape[0]):
                total += np.float64(x[j]) * x[j] * sigma[j]
            return total

        return dense

    unsigned = _unsigned(rows)

    def sparse(rows, i, sigma):
        total = 0.0
        for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
            total += np.float64(rows.values[p]) * rows.values[p] * sigma[unsigned(rows.columns[p])]
        return total

    return sparse


@overload_inlined(add_spread)
def _add_spread(rows, i, step, sigma, w):
    if rows.instance_class is Dense:

        def dense(rows, i, step, sigma, w):
            x = rows.values[i]
            for j in range(x.shape[0]):
                w[j] += step * sigma[j] * x[j]

        return dense

    unsigned = _unsigned(rows)

    def sparse(rows, i, step, sigma, w):
        for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
            j = unsigned(rows.columns[p])
            w[j] += step * sigma[j] * rows.values[p]

    return sparse


@overload_inlined(narrow)
def _narrow(rows, i, beta, sigma):
    if rows.instance_class is Dense:

        def dense(rows, i, beta, sigma):
            x = rows.values[i]
            for j in range(x.shape[0]):
                sigma[j] *= 1.0 - beta * sigma[j] * np.float64(x[j]) * x[j]

        return dense

    unsigned = _unsigned(rows)

    def sparse(rows, i, beta, sigma):
        for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
            j = unsigned(rows.columns[p])
            sigma[j] *= 1.0 - beta * sigma[j] * np.float64(rows.values[p]) * rows.values[p]

    return sparse


@overload_inlined(n_stored)
def _n_stored(rows, i):
    if rows.instance_class is Dense:
        return lambda rows, i: rows.values.shape[1]
    return lambda rows, i: np.intp(rows.starts[i + 1]) - np.intp(rows.starts[i])


@overload_inlined(column)
def _column(rows, i, p):
    if rows.instance_class is Dense:
        return lambda rows, i, p: np.intp(p)
    return lambda rows, i, p: np.intp(rows.columns[np.intp(rows.starts[i]) + p])


@overload_inlined(packed)
def _packed(rows, order):
    if rows.instance_class is Dense:

        def dense(rows, order):
            values = np.empty((len(order), rows.values.shape[1]), rows.values.dtype)
            for p in range(len(order)):
                values[p] = rows.values[order[p]]
            return Dense(values)

        return dense

    def sparse(rows, order):
        starts = np.zeros(len(order) + 1, rows.starts.dtype)
        for p in range(len(order)):
            starts[p + 1] = starts[p] + rows.starts[order[p] + 1] - rows.starts[order[p]]
        values, columns = np.empty(starts[-1], rows.values.dtype), np.empty(starts[-1], rows.columns.dtype)
        for p in range(len(order)):
            begin, end = rows.starts[order[p]], rows.starts[order[p] + 1]
            values[starts[p] : starts[p + 1]] = rows.values[begin:end]
            columns[starts[p] : starts[p + 1]] = rows.columns[begin:end]
        return Sparse(values, columns, starts)

    return sparse


@intrinsic
def _touch(typingctx, array, index, offset):
    """Ask the CPU to load the cache line `offset` bytes behind array[index] (llvm.prefetch: read, keep, data)."""

    def codegen(context, builder, signature, args):
        view = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.add(builder.mul(args[1], builder.extract_value(view.strides, 0)), args[2])
        start = builder.ptrtoint(view.data, place.type)
        address = builder.inttoptr(builder.add(start, place), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type] + [ir.IntType(32)] * 3)
        function = builder.module.declare_intrinsic("llvm.prefetch.p0", fnty=kind)
        builder.call(function, [address] + [ir.Constant(ir.IntType(32), flag) for flag in (0, 3, 1)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), codegen


@overload_inlined(prefetch)
def _prefetch(rows, order, p):
    # No branch here: numba would count references to the arrays inside it, at every row, and the pass be half as fast.
    if rows.instance_class is Dense:

        def dense(rows, order, p):
            i = order[min(p + PREFETCH_AHEAD, len(order) - 1)]
            for line in range(CACHE_LINES):
                _touch(rows.values, i, line * 64)  # type: ignore[call-arg]

        return dense

    def sparse(rows, order, p):
        start = np.intp(rows.starts[order[min(p + PREFETCH_AHEAD, len(order) - 1)]])
        for line in range(CACHE_LINES):
            _touch(rows.values, start, line * 64)  # type: ignore[call-arg]
            _touch(rows.columns, start, line * 64)

    return sparse


@overload_inlined(touch)
def _touch_one(array, index):
    def load(array, index):
        _touch(array, np.intp(index), 0)  # type: ignore[call-arg]

    return load
