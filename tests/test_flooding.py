"""Names that were chosen to meet in a hash table that has no secret: they must not meet in ours."""

import numpy as np
import pytest

from perceptrons.features.columns import Columns
from perceptrons.features.local import Workspace, keyed, local_names

N = 6000
WORD = 2**64 - 1
HALF = np.uint64(32)
OLD_BLOCK, OLD_HOME = 0xBF58476D1CE4E5B9, 0x9E3779B97F4A7C15  # multipliers that the tables had when all knew them


def same_key():
    """Names of 16 bytes with one key: the last eight undo what the first eight did."""
    with np.errstate(over="ignore"):
        first = np.arange(1, N + 1, dtype=np.uint64)
        after = (np.uint64(16 * OLD_HOME & WORD) ^ first) * np.uint64(OLD_BLOCK)
        after ^= after >> HALF
        last = after ^ np.uint64(0x1234567890ABCDEF)
    return [a.tobytes() + b.tobytes() for a, b in zip(first, last, strict=True)]


def same_home():
    """Names of seven bytes whose search began in slot 0 of a table of any size up to 2**32."""
    with np.errstate(over="ignore"):
        high = np.arange(1, 400 * N, dtype=np.uint64)
        mixed = (high | high << HALF) * np.uint64(pow(OLD_HOME, -1, 2**64))
    key = mixed ^ mixed >> np.uint64(29) ^ mixed >> np.uint64(58)
    key = key[key >> np.uint64(56) == 8][:N]
    return [one.tobytes()[:7] for one in key]


def higher_bits():
    """Names of eight blocks, each pair of which differs where one multiplication leaves the difference known."""
    top, folded = np.uint64(2**63), np.uint64(2**63 | 2**31)
    names = []
    for number in range(N):
        bits = [np.uint64(number >> k & 1) for k in range(13)]
        names.append(b"".join((bit * top).tobytes() + (bit * folded).tobytes() for bit in bits))
    return names


def longest_run(slots):
    """How many full slots are side by side."""
    full = np.concatenate([[0], slots[:, 0] != 0, [0]])
    ends = np.flatnonzero(np.diff(full))
    return int((ends[1::2] - ends[::2]).max())


@pytest.mark.parametrize("chosen", [same_key, same_home, higher_bits])
def test_chosen_names_are_spread_over_the_table(chosen):
    names = chosen()
    assert len(set(names)) == N
    columns = Columns()
    found = columns.find(keyed(names, np.ones(N, np.int64)))
    np.testing.assert_array_equal(found.columns, np.arange(N))
    assert longest_run(columns._table.slots) < 200
    workspace, lengths = Workspace(), np.array([len(name) for name in names])
    content, ends = np.frombuffer(b"".join(names), np.uint8), np.cumsum(lengths)
    numbers, _ = local_names(content, ends - lengths, ends, workspace)
    np.testing.assert_array_equal(numbers, np.arange(N))
    assert longest_run(workspace.table.slots) < 200
