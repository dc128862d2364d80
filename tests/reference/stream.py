"""Files of svmlight text and the honest count on a stream (spec 10), slow and plain.

"label [qid:n] index:value index:value ... # comment", one example a line.
"""

import re
from typing import NamedTuple

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})(\.0*)?")
LARGEST = 1e100
NO_LABEL = {"nan", "inf", "infinity"}


class Row(NamedTuple):
    label: str
    features: list  # of (index as in the file, value)
    line: int


class Reading(NamedTuple):
    """What a file says. Blocks are lists of (columns, values), one list a block; labels and lines likewise."""

    blocks: list
    labels: list
    lines: list
    bad: list  # the numbers of the bad lines; if they are not skipped, only of the first


def pieces(content, size):
    """The longest runs of whole lines that have at most `size` bytes, and at least one line each.

    A newline that is missing at the end counts as if it were there.
    """
    cut = []
    for line in re.findall(rb"[^\n]*\n|[^\n]+$", content):
        ended = len(line) + (not line.endswith(b"\n"))
        if cut and len(cut[-1]) + ended <= size:
            cut[-1] += line
        else:
            cut.append(line)
    return cut


def number(text):
    """The value of a number as people write it; all that computers may also take for one raises ValueError."""
    if not NUMBER.fullmatch(text) or abs(float(text)) > LARGEST:
        raise ValueError(text)
    return float(text)


def read_line(line, at):
    """The example that a line is, or None for a line without one. What is refused raises ValueError."""
    words = line.partition(b"#")[0].split()
    if not words:
        return None
    label = words[0].decode()
    if ":" in label or "," in label or label.lower().lstrip("+-") in NO_LABEL:
        raise ValueError(label)
    if len(words) > 1 and re.fullmatch(rb"qid:[0-9]+", words[1]):
        del words[1]
    features = []
    for word in words[1:]:
        index, colon, value = word.partition(b":")
        if not colon or not re.fullmatch(rb"[0-9]+", index):
            raise ValueError(word)
        features.append((int(index), number(value)))
    return Row(label, features, at)


def read(content, size=2**20, zero_based=None, hash_bits=None, text_labels=False, skip=False):
    """All blocks before the first bad line, the last one up to it; with `skip` all blocks, less their bad lines.

    The first block that has an example decides whether labels are whole numbers, the first that has a feature whether
    indices count from 0. A block without an example is none.
    """
    reading = Reading([], [], [], [])
    whole = False if text_labels else None
    at = 0
    for piece in pieces(content.removeprefix(b"\xef\xbb\xbf"), size):
        rows, bad = [], []
        for line in piece.removesuffix(b"\n").split(b"\n"):
            at += 1
            try:
                rows.append(read_line(line.removesuffix(b"\r"), at))
            except ValueError:
                bad.append(at)
        rows = [row for row in rows if row is not None]
        if rows and whole is None:
            whole = all(WHOLE.fullmatch(row.label) for row in rows)
        indices = [index for row in rows for index, _ in row.features]
        if indices and zero_based is None:
            zero_based = 0 in indices
        misfits = [row for row in rows if not fits(row, whole, zero_based or hash_bits)]
        bad += [row.line for row in misfits]
        end = min(bad) if bad and not skip else at + 1
        rows = [row for row in rows if row not in misfits and row.line < end]
        reading.bad.extend(sorted(bad)[: None if skip else 1])
        if rows:
            reading.blocks.append([placed(row.features, zero_based, hash_bits) for row in rows])
            reading.labels.append([int(row.label.partition(".")[0]) if whole else row.label for row in rows])
            reading.lines.append([row.line for row in rows])
        if bad and not skip:
            break
    return reading


def fits(row, whole, zero_allowed):
    """Is a row of the kind that the first block was of?"""
    has_zero = any(index == 0 for index, _ in row.features)
    return (not whole or bool(WHOLE.fullmatch(row.label))) and (bool(zero_allowed) or not has_zero)


def placed(features, zero_based, hash_bits):
    """The columns and the values of a row. Hashed, an index is its own hash, of which the low bits count."""
    if hash_bits:
        return [index % 2**hash_bits for index, _ in features], [value for _, value in features]
    return [index - (not zero_based) for index, _ in features], [value for _, value in features]


def marks(mistakes):
    """(examples, mistakes) at 1, 2, 4, 8, ... examples and at the end, of a list with 1 for every mistake, else 0."""
    n = len(mistakes)
    at = [2**k for k in range(n.bit_length()) if 2**k < n] + [n]
    return [(m, sum(mistakes[:m])) for m in at]
