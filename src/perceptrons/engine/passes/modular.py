"""Linear algebra modulo a prime, from which `theory/exact.py` lifts exact rational solutions (Dixon 1982).

Given: matrices of remainders, int64 from 0 to PRIME - 1. Changed: the matrix. Returned: pivots, or the inverse.
"""

import numpy as np

from perceptrons.engine.compiling import compiled, inner

PRIME = 67108859  # the largest below 2^26: sums of 2,047 products of two remainders fit in 64 bits


@inner
def inverse_of(a):
    """1 / a modulo PRIME, by Euclid."""
    r, next_r, t, next_t = PRIME, a, 0, 1  # t a = r modulo PRIME, in every step
    while next_r:
        quotient = r // next_r
        r, next_r = next_r, r - quotient * next_r
        t, next_t = next_t, t - quotient * next_t
    return t % PRIME


@compiled
def eliminate(M):
    """Gaussian elimination of M modulo PRIME, column by column.

    Changes M. Returns the row of the pivot of every column, -1 for a column that depends on previous ones.
    """
    n_rows, n_columns = M.shape
    row_of = np.arange(n_rows)  # the original row in each place
    pivots = np.full(n_columns, -1)
    rank = 0
    for c in range(n_columns):
        r = rank
        while r < n_rows and M[r, c] == 0:
            r += 1
        if r == n_rows:
            continue
        for j in range(n_columns):
            M[r, j], M[rank, j] = M[rank, j], M[r, j]
        row_of[r], row_of[rank] = row_of[rank], row_of[r]
        pivots[c] = row_of[rank]
        unit = inverse_of(M[rank, c])
        for r in range(rank + 1, n_rows):
            if M[r, c]:
                factor = M[r, c] * unit % PRIME
                for j in range(c, n_columns):
                    M[r, j] = (M[r, j] + (PRIME - factor) * M[rank, j]) % PRIME
        rank += 1
    return pivots


@compiled
def invert(A):
    """The inverse of a regular matrix modulo PRIME (Gauss and Jordan).  Changes A."""
    n = len(A)
    B = np.eye(n).astype(np.int64)
    for c in range(n):
        r = c
        while A[r, c] == 0:
            r += 1
        for j in range(n):
            A[r, j], A[c, j] = A[c, j], A[r, j]
            B[r, j], B[c, j] = B[c, j], B[r, j]
        unit = inverse_of(A[c, c])
        for j in range(n):
            A[c, j] = A[c, j] * unit % PRIME
            B[c, j] = B[c, j] * unit % PRIME
        for r in range(n):
            if r != c and A[r, c]:
                factor = PRIME - A[r, c]
                for j in range(n):
                    A[r, j] = (A[r, j] + factor * A[c, j]) % PRIME
                    B[r, j] = (B[r, j] + factor * B[c, j]) % PRIME
    return B
