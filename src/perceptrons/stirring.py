"""How keys of hash tables are spread over the slots: by a secret of the process, so that nobody can choose the slots.

Who knew the slots could choose names that all begin in one, and every search would walk through all of them.
"""

import secrets

import numpy as np

from perceptrons.rows import inlined

SECRET = secrets.randbits(62) | 2**40 | 1  # odd. It goes with a table to other processes, but never into a file
U32 = np.uint64(32)


@inlined
def stirred(x, secret):
    """Twice multiplied: after once, a difference in the highest bit would still be known to who chose it."""
    x = x * secret
    x = (x ^ (x >> U32)) * secret
    return x ^ (x >> U32)
