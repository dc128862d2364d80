"""The point of a convex hull nearest to the origin, by Wolfe's active sets: what the largest margin comes from."""

from typing import NamedTuple

import numpy as np

from perceptrons.rows import compiled

DEPENDENT = 1e-12  # a point so close to the span of the corral, relative to its norm, adds rounding and nothing else
NOISE = 1e-15  # relative error of a score; nothing below it is worth another step
ZERO = 1e-14  # a weight so small is 0: its point stays for the multipliers' sake, where others will follow it
SETTLED = 1e-11  # a step of the weights that is rounding: nothing is left to mend;
MENDING = 1  # steps to mend what rounding did to the first; more do not help, as the weights themselves are rounded
PATIENCE = 20  # steps in a row, for every demand, that may bring nothing before the search ends


class Corral(NamedTuple):
    """The independent points S that carry the nearest point, factored: V_S = L Q, L lower triangular, Q orthonormal."""

    members: np.ndarray  # int64 (most,): S
    a: np.ndarray  # (most,): their weights
    Q: np.ndarray  # (most, D)
    L: np.ndarray  # (most, most)
    Y: np.ndarray  # (most, q): inverse of L times E_S
    size: np.ndarray  # int64 (1,)


def corral_for(n_points, dimension, n_demands):
    """An empty corral, with room for as many points as can be independent."""
    most = min(n_points, dimension) + 1
    return Corral(
        np.zeros(most, np.int64), np.zeros(most), np.zeros((most, dimension)), np.zeros((most, most)),
        np.zeros((most, n_demands)), np.zeros(1, np.int64),
    )  # fmt: skip


@compiled
def enter(V, i, n_demands, corral):
    """Put point i into the corral with weight 0, unless it depends on those there.  Returns whether it was put."""
    Q, L, m = corral.Q, corral.L, corral.size[0]
    D = V.shape[1]
    if m == len(corral.members):
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
            value -= L[m, j] * corral.Y[j, k]
        corral.Y[m, k] = value / left
    corral.members[m] = i
    corral.a[m] = 0.0
    corral.size[0] = m + 1
    return True


@compiled
def leave(k, corral):
    """Take the k-th point out of the corral; rotations make L triangular again."""
    S, a, Q, L, Y = corral.members, corral.a, corral.Q, corral.L, corral.Y
    m = corral.size[0] - 1
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
    corral.size[0] = m


@compiled
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


@compiled
def step_to_nearest(V, e, corral):
    """The step of the weights to the nearest point of the corral's affine hull, and the multipliers there.

    A Newton step from the weights as they are, on what p really is: rounding in one is mended by the next.
    """
    S, a, L, Y, m = corral.members, corral.a, corral.L, corral.Y, corral.size[0]
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


@compiled
def settle_corral(V, e, corral):
    """Move to the nearest point of the corral's affine hull, dropping points whose weight falls to 0 on the way.

    Returns the multipliers, and whether the point that came last was dropped before it got any weight."""
    a = corral.a
    fruitless, mended = False, 0
    while True:
        m = corral.size[0]
        move, mult = step_to_nearest(V, e, corral)
        first, reach = -1, 1.0
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
            leave(first, corral)
        elif moved <= SETTLED or mended == MENDING:
            return mult, fruitless
        else:
            mended += 1


@compiled
def nearest_point(V, e, corral, tol, at_most):
    """Min |p|, p = sum of a_i z_i,  a >= 0,  sum of a_i E_i = e.   V_i = (z_i, E_i), the last len(e) columns are E.

    Wolfe (1976), with several equations where he has sum a = 1: a demand on the bias is one of them. Starts from the
    corral, whose weights must meet the demands. Each cycle lets in the point that lies furthest below the plane through
    the corral, and moves to the nearest point of the new affine hull, or as far as weights stay positive.

    Changes corral. Returns the multipliers (score_i = z_i·p - E_i·mult is 0 in the corral) and the cycles done. Ends at
    scores >= -tol |p|^2, or when nothing is left but rounding, or after at_most cycles.
    """
    n, D = V.shape
    q = len(e)
    d = D - q
    a, S = corral.a, corral.members
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
    mult, fruitless = settle_corral(V, e, corral)
    for cycle in range(at_most):
        v[:] = 0.0
        for j in range(corral.size[0]):
            for c in range(d):
                v[c] += a[j] * V[S[j], c]
        square = 0.0
        for c in range(d):
            square += v[c] * v[c]
        for k in range(q):
            v[d + k] = -mult[k]
        lowest, furthest = 0.0, -1
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
        if enter(V, furthest, q, corral):
            mult, fruitless = settle_corral(V, e, corral)
            barred[furthest] = fruitless
        else:
            barred[furthest] = True
    return mult, at_most
