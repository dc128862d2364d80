"""Which characters make words, and their lower case: Python's own answers, in tables."""

import re
from functools import cache

import numpy as np

LIMIT = 0x40000  # no code point from here on is of a word
SPACE = 0x20


@cache
def folded(lowercase: bool) -> np.ndarray:
    """For every code point below LIMIT what it becomes in a word; SPACE where it is of no word.

    Lower case is that of the character by itself, and its first code point if it has several (as that of U+0130).
    """
    points = np.arange(LIMIT, dtype=np.uint32)
    points[0xD800:0xE000] = SPACE  # surrogates
    text = points.tobytes().decode("utf-32-le")
    table = np.full(LIMIT, SPACE, np.uint32)
    lower = text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower() if lowercase else text
    lower_points = np.frombuffer(lower.encode("utf-32-le"), np.uint32)
    for run in re.finditer(r"\w+", text):
        table[run.start() : run.end()] = lower_points[run.start() : run.end()]
    table.flags.writeable = False
    return table
