"""The largest margin of a data set: dual coordinate descent, and the point of a convex hull nearest to the origin.

`theory/largest_margin.py` says how they are used. Coordinate descent gets close with cheap passes over the examples.
Wolfe's active sets are exact up to rounding: the active set holds the independent points that carry the nearest point.
"""

from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.rows import add, dot, move, scores, sqnorm

NOISE = 1e-15  # relative error of a score; nothing below it is worth another step
ZERO = 1e-14  # a weight so small is 0: its point stays for the multipliers' sake, where others will follow it
SETTLED = 1e-11  # a step of the weights that is rounding: nothing is left to mend;
MENDING = 1  # steps to mend what rounding did to the first; more do not help, as the weights themselves are rounded
NONE: Any = np.int64(-1)  # a plain -1 is a type of its own to numba, which would compile what is called once more
PATIENCE = 20  # steps in a row, for every demand, that may bring nothing before the search ends
DEPENDENT = (
    1e-12  # a point so close to the span of the active set, relative to its norm, adds rounding and nothing else
)


@compiled
def binary_descent(rows, y, order, w, b, one, alpha):
    """One pass of dual coordinate descent.   min |w|^2 / 2,  y (w·x + b) >= 1      (Hsieh et al. 2008, without a C)

    step = (1 - y s) / |x|^2, but never alpha below 0: a passive-aggressive step that can be taken back.
    Changes w (d,), b (1,) and alpha (n,). one: the constant feature whose weight is b / one.
    """
    for i in order:
        s = dot(rows, i, w) + b[0]
        step = max(-alpha[i], (1.0 - y[i] * s) / (sqnorm(rows, i) + one * one))
        if step != 0.0:
            alpha[i] += step
            add(rows, i, step * y[i], w)
            b[0] += step * y[i] * one * one


@compiled
def multiclass_descent(rows, y, order, theta, b, one, alpha):
    """The same for a lead of 1 over every rival.  Changes theta (K, d), b (K,) and alpha (n, K)."""
    s = np.zeros(len(b))
    for i in order:
        scores(rows, i, theta, s)
        for k in range(len(b)):
            s[k] += b[k]
        square = sqnorm(rows, i) + one * one
        for r in range(len(b)):
            if r == y[i]:
                continue
            step = max(-alpha[i, r], (1.0 - s[y[i]] + s[r]) / (2.0 * square))
            if step != 0.0:
                alpha[i, r] += step
                move(rows, i, step, theta, y[i], r)
                b[y[i]] += step * one * one
                b[r] -= step * one * one
                s[y[i]] += step * square
                s[r] -= step * square


class ActiveSet(NamedTuple):
    """The independent points S that carry the nearest point, factored: V_S = L Q, L lower triangular, Q orthonormal."""

    members: np.ndarray  # int64 (most,): S
    a: np.ndarray  # (most,): their weights
    Q: np.ndarray  # (most, D)
    L: np.ndarray  # (most, most)
    Y: np.ndarray  # (most, q): inverse of L times E_S
    size: np.ndarray  # int64 (1,)


def empty_active_set(n_points, dimension, n_demands):
    """An empty active, with room for as many points as can be independent."""
    most = min(n_points, dimension) + 1
    return ActiveSet(
        np.zeros(most, np.int64), np.zeros(most), np.zeros((most, dimension)), np.zeros((most, most)),
        np.zeros((most, n_demands)), np.zeros(1, np.int64),
    )  # fmt: skip


@compiled
def enter(V, i, n_demands, active):
    """Put point i into the active set with weight 0, unless it depends on those there.  Returns whether it was put."""
    Q, L, m = active.Q, active.L, active.size[0]
    D = V.shape[1]
    if m == len(active.members):
        return False
    rest = V[i].copy()
    norm = np.sqrt((rest * rest).sum())
    for j in range(m):
        L[m, j] = 0.0
    for _ in range(2):  # once more, since the first time leaves what rounding takes away
        for j in range(m):
            part = 0.0
            for c in range(D):
                part += Q[j, c] * rest[c]
            for c in range(D):
                rest[c] -= part * Q[j, c]
            L[m, j] += part
    left = np.sqrt((rest * rest).sum())
    if not left > DEPENDENT * norm:
        return False
    L[m, m] = left
    for c in range(D):
        Q[m, c] = rest[c] / left
    for k in range(n_demands):
        value = V[i, D - n_demands + k]
        for j in range(m):
            value -= L[m, j] * active.Y[j, k]
        active.Y[m, k] = value / left
    active.members[m] = i
    active.a[m] = 0.0
    active.size[0] = m + 1
    return True


@inner
def leave(k, active):
    """Take the k-th point out of the active set; rotations make L triangular again."""
    S, a, Q, L, Y = active.members, active.a, active.Q, active.L, active.Y
    m = active.size[0] - 1
    for i in range(k, m):
        S[i], a[i] = S[i + 1], a[i + 1]
        for j in range(i + 2):
            L[i, j] = L[i + 1, j]
    for i in range(k, m):
        r = np.hypot(L[i, i], L[i, i + 1])
        c, s = L[i, i] / r, L[i, i + 1] / r
        L[i, i], L[i, i + 1] = r, 0.0
        for t in range(i + 1, m):
            L[t, i], L[t, i + 1] = c * L[t, i] + s * L[t, i + 1], c * L[t, i + 1] - s * L[t, i]
        for t in range(Q.shape[1]):
            Q[i, t], Q[i + 1, t] = c * Q[i, t] + s * Q[i + 1, t], c * Q[i + 1, t] - s * Q[i, t]
        for t in range(Y.shape[1]):
            Y[i, t], Y[i + 1, t] = c * Y[i, t] + s * Y[i + 1, t], c * Y[i + 1, t] - s * Y[i, t]
    active.size[0] = m


@inner
def multipliers(Y, m, e):
    """nu with (YᵀY) nu = e, by a Cholesky factor that passes over demands which follow from others."""
    q = len(e)
    C = np.zeros((q, q))
    nu = e.copy()
    top = 0.0
    for i in range(q):
        for j in range(i + 1):
            value = 0.0
            for t in range(m):
                value += Y[t, i] * Y[t, j]
            if i == j:
                top = max(top, value)
            for t in range(j):
                value -= C[i, t] * C[j, t]
            if i > j:
                C[i, j] = value / C[j, j] if C[j, j] > 0.0 else 0.0
            else:
                C[i, i] = np.sqrt(value) if value > 1e-12 * top else 0.0
        for j in range(i):
            nu[i] -= C[i, j] * nu[j]
        nu[i] = nu[i] / C[i, i] if C[i, i] > 0.0 else 0.0
    for i in range(q - 1, -1, -1):
        for j in range(i + 1, q):
            nu[i] -= C[j, i] * nu[j]
        nu[i] = nu[i] / C[i, i] if C[i, i] > 0.0 else 0.0
    return nu


@inner
def step_to_nearest(V, e, active):
    """The step of the weights to the nearest point of the active set's affine hull, and the multipliers there.

    A Newton step from the weights as they are, on what p really is: rounding in one is mended by the next.
    """
    S, a, L, Y, m = active.members, active.a, active.L, active.Y, active.size[0]
    q = len(e)
    d = V.shape[1] - q
    p = np.zeros(d)
    short = e.copy()  # what the weights lack to meet the demands
    for j in range(m):
        for c in range(d):
            p[c] += a[j] * V[S[j], c]
        for k in range(q):
            short[k] -= a[j] * V[S[j], d + k]
    y = np.zeros(m)  # inverse of L times the gradient z·p
    for i in range(m):
        for c in range(d):
            y[i] += V[S[i], c] * p[c]
        for j in range(i):
            y[i] -= L[i, j] * y[j]
        y[i] /= L[i, i]
    nu = short.copy()
    for k in range(q):
        for i in range(m):
            nu[k] += Y[i, k] * y[i]
    nu = multipliers(Y, m, nu)
    step = -y
    for i in range(m):
        for k in range(q):
            step[i] += Y[i, k] * nu[k]
    for i in range(m - 1, -1, -1):  # Lᵀ step = Y nu - y
        step[i] /= L[i, i]
        for j in range(i):
            step[j] -= L[i, j] * step[i]
    return step, nu - short


@inner
def settle(V, e, active):
    """Move to the nearest point of the active set's affine hull, dropping points whose weight falls to 0 on the way.

    Returns the multipliers, and whether the point that came last was dropped before it got any weight."""
    a = active.a
    fruitless, mended = False, 0
    while True:
        m = active.size[0]
        move, mult = step_to_nearest(V, e, active)
        first, reach = NONE, 1.0
        for i in range(m):
            b = a[i] + move[i]
            if abs(b) <= ZERO:
                move[i] = -a[i]
            elif b < 0.0:
                far = a[i] / -move[i] if a[i] > 0.0 else 0.0
                if first < 0 or far < reach:
                    first, reach = i, far
        moved = 0.0
        for i in range(m):
            a[i] += reach * move[i]
            moved = max(moved, abs(move[i]))
        if first >= 0:
            a[first] = 0.0
            fruitless = fruitless or (first == m - 1 and reach == 0.0)
            leave(first, active)
        elif moved <= SETTLED or mended == MENDING:
            return mult, fruitless
        else:
            mended += 1


@compiled
def nearest_point(V, e, active, tol, at_most):
    """Min |p|, p = sum of a_i z_i,  a >= 0,  sum of a_i E_i = e.   V_i = (z_i, E_i), the last len(e) columns are E.

    Wolfe (1976), with several equations where he has sum a = 1: a demand on the bias is one of them. Starts from the
    active set, whose weights must meet the demands. Each cycle lets in the point that lies furthest below the plane
    through the active set, and moves to the nearest point of the new affine hull, or as far as weights stay positive.

    Changes active. Returns the multipliers (score_i = z_i·p - E_i·mult is 0 in the active set) and the cycles done.
    Ends at scores >= -tol |p|^2, or when nothing is left but rounding, or after at_most cycles.
    """
    n, D = V.shape
    q = len(e)
    d = D - q
    a, S = active.a, active.members
    barred = np.zeros(n, np.bool_)
    size = 0.0
    for i in range(n):
        norm = 0.0
        for c in range(D):
            norm += V[i, c] * V[i, c]
        size = max(size, norm)
    size = np.sqrt(size)
    v = np.zeros(D)
    best, idle = np.inf, 0
    mult, fruitless = settle(V, e, active)
    for cycle in range(at_most):
        v[:] = 0.0
        for j in range(active.size[0]):
            for c in range(d):
                v[c] += a[j] * V[S[j], c]
        square = 0.0
        for c in range(d):
            square += v[c] * v[c]
        for k in range(q):
            v[d + k] = -mult[k]
        lowest, furthest = 0.0, NONE
        for i in range(n):
            score = 0.0
            for c in range(D):
                score += V[i, c] * v[c]
            if score < lowest and not barred[i]:
                lowest, furthest = score, i
        idle = 0 if square < best * (1 - NOISE) else idle + 1
        best = min(best, square)
        floor = max(tol * square, NOISE * size * (np.sqrt(square) + NOISE * size))
        if furthest < 0 or lowest >= -floor or idle > PATIENCE * q:
            return mult, cycle
        if enter(V, furthest, q, active):
            mult, fruitless = settle(V, e, active)
            barred[furthest] = fruitless
        else:
            barred[furthest] = True
    return mult, at_most
