"""The corral of `nearest.py`: the independent points that carry the nearest point of a hull, entered and left."""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inner

DEPENDENT = 1e-12  # a point so close to the span of the corral, relative to its norm, adds rounding and nothing else


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


@inner
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
