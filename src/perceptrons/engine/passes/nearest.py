"""The point of a convex hull nearest to the origin, by Wolfe's active sets: what the largest margin comes from."""

from typing import Any

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.corral import enter, leave, step_to_nearest

NOISE = 1e-15  # relative error of a score; nothing below it is worth another step
ZERO = 1e-14  # a weight so small is 0: its point stays for the multipliers' sake, where others will follow it
SETTLED = 1e-11  # a step of the weights that is rounding: nothing is left to mend;
MENDING = 1  # steps to mend what rounding did to the first; more do not help, as the weights themselves are rounded
NONE: Any = np.int64(
    -1
)  # a plain -1 is a type of its own to numba, for which it would compile what is called once more
PATIENCE = 20  # steps in a row, for every demand, that may bring nothing before the search ends


@inner
def settle_corral(V, e, corral):
    """Move to the nearest point of the corral's affine hull, dropping points whose weight falls to 0 on the way.

    Returns the multipliers, and whether the point that came last was dropped before it got any weight."""
    a = corral.a
    fruitless, mended = False, 0
    while True:
        m = corral.size[0]
        move, mult = step_to_nearest(V, e, corral)
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
        if enter(V, furthest, q, corral):
            mult, fruitless = settle_corral(V, e, corral)
            barred[furthest] = fruitless
        else:
            barred[furthest] = True
    return mult, at_most
