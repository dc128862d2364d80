"""Linear algebra modulo a prime: where exact rational solutions start from. `theory/exact.py` lifts them."""

import numpy as np

from perceptrons.engine.compiling import compiled, inner

PRIME = 67108859  # the largest below 2^26: sums of 2,047 products of two remainders fit in 64 bits


@inner
def inverse_of(a):
    """1 / a modulo PRIME, by Euclid."""
    old, new, before, after = PRIME, a, 0, 1
    while new:
        quotient = old // new
        old, new = new, old - quotient * new
        before, after = after, before - quotient * after
    return before % PRIME


@compiled
def eliminate(M):
    """Gaussian elimination of M modulo PRIME, column by column.

    Changes M. Returns for every column the row that its pivot stood in, or -1 where it depends on columns before."""
    n_rows, n_columns = M.shape
    at = np.arange(n_rows)
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
        at[r], at[rank] = at[rank], at[r]
        pivots[c] = at[rank]
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
