"""Texts cut into words and n-grams as `scan/words.py` does it, by Python's strings and dictionaries."""

from typing import Any, NamedTuple

import numpy as np

SPACE, NEWLINE = 32, 10
MARK = "\x01"  # before an n-gram of characters


class Cut(NamedTuple):
    """Rows of numbers of names, each once in a row with how often it came; and the names, in order of coming."""

    starts: np.ndarray
    numbers: np.ndarray
    counts: np.ndarray
    names: list[bytes]


def cut_rows(content: np.ndarray, begin: np.ndarray, end: np.ndarray, rule: Any) -> Cut:
    """The features of the texts content[begin[i]:end[i]] by a `Rule`."""
    ends, known, grams = [0], dict[str, int](), dict[str, list[int]]()  # grams: those of a word, by their numbers
    entries: list[int] = []
    for row in _clean(content, begin, end, rule.folded):
        words = row.split()
        entries += [known.setdefault(name, len(known)) for name in _word_grams(words, rule.word_low, rule.word_high)]
        for word in words if rule.char_high else ():
            if word not in grams:
                names = _char_grams(f" {word} ", rule.char_low, rule.char_high)
                grams[word] = [known.setdefault(name, len(known)) for name in names]
            entries += grams[word]
        ends.append(len(entries))
    starts, numbers, counts = _once_each(np.array(ends), np.array(entries, np.int64), len(known))
    return Cut(starts, numbers.astype(np.int32), counts.astype(np.int32), [name.encode() for name in known])


def _clean(content: np.ndarray, begin: np.ndarray, end: np.ndarray, folded: np.ndarray) -> list[str]:
    """Every row with its words in lower case, and spaces for everything else."""
    if not len(begin):
        return []
    whole = content.tobytes() if len(begin) > 1 or len(content) == 0 else content[begin[0] : end[0]].tobytes()
    offset = int(begin[0]) if len(begin) == 1 and len(content) else 0
    spans = zip((begin - offset).tolist(), (end - offset).tolist(), strict=True)
    rows = [whole[a:b].decode("utf-8", "replace") for a, b in spans]  # U+FFFD is of no word, like what is no UTF-8
    points = np.frombuffer("\n".join(rows).encode("utf-32-le"), np.uint32)
    clean = np.where(points < len(folded), folded.take(points, mode="clip"), np.uint32(SPACE)).astype("<u4")
    clean[np.cumsum([len(row) + 1 for row in rows])[:-1] - 1] = NEWLINE  # which is of no word either
    return clean.tobytes().decode("utf-32-le").split("\n")


def _word_grams(words: list[str], low: int, high: int) -> list[str]:
    names: list[str] = []
    for size in range(low, high + 1):
        names += words if size == 1 else map(" ".join, zip(*(words[i:] for i in range(size)), strict=False))
    return names


def _char_grams(padded: str, low: int, high: int) -> list[str]:
    """N-grams of one word; a word that is no longer than an n-gram gives itself, once."""
    names: list[str] = []
    for size in range(low, high + 1):
        names += [MARK + padded[i : i + size] for i in range(max(1, len(padded) - size + 1))]
        if len(padded) <= size:
            break
    return names


def _once_each(starts: np.ndarray, numbers: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each number of a row once, where it came first, with how often it came."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    _, first, counts = np.unique(rows * n + numbers, return_index=True, return_counts=True)
    order = np.argsort(first)
    first = first[order]
    return np.searchsorted(first, starts), numbers[first], counts[order]


def add_up(numbers: np.ndarray, counts: np.ndarray, totals: np.ndarray) -> None:
    """See `scan/words.py`."""
    np.add.at(totals, numbers, counts)
