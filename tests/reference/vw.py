"""Vowpal Wabbit's text format, hash and plain update, slow and plain.

"[label [importance [base]]] ['tag]|namespace[:scale] feature[:value] ... |namespace ...". A tag is a word that touches
the first "|", or the last word before it if that begins with an apostrophe.
"""

import re
from typing import NamedTuple

import numpy as np

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
LARGEST = 1e13
SMALLEST_IMPORTANCE, LARGEST_IMPORTANCE = 1e-20, 1e6
LONGEST_NAMESPACE = 255


class Example(NamedTuple):
    label: bytes | None
    importance: float
    tag: bytes
    features: list  # of (name, hash, value)


def murmur3_32(data, seed):
    """The 32-bit hash of bytes (Appleby 2011)."""
    mask = 0xFFFFFFFF

    def turned(x, bits):
        return (x << bits | x >> (32 - bits)) & mask

    h = seed & mask
    for begin in range(0, len(data), 4):
        part = data[begin : begin + 4]
        k = int.from_bytes(part, "little") * 0xCC9E2D51 & mask
        h ^= turned(k, 15) * 0x1B873593 & mask
        if len(part) == 4:
            h = (turned(h, 13) * 5 + 0xE6546B64) & mask
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16


def vw_hash(name, seed):
    """Digits are a number, added to the seed; all else is hashed. Spaces and control characters at the ends go."""
    name = name.strip(bytes(range(33)))
    if re.fullmatch(rb"[0-9]*", name):
        return int(name or b"0") + seed
    return murmur3_32(name, seed)


def number(text, largest=LARGEST):
    if not NUMBER.fullmatch(text) or abs(float(text)) > largest:
        raise ValueError(text)
    return float(text)


def is_zero(text):
    """Is it 0 as it is written? 1e-400 is not, though float() makes 0 of it: it is an importance below the least."""
    return not re.search(rb"[1-9]", re.split(rb"[eE]", text)[0])


def is_word(value):
    """Can this be the value of a feature whose values are words, and for VW too?

    It reads "nano" as a number that is none, and behind it the letter o; and "e5", or "e", as 0.
    """
    begins = re.match(rb"[A-Za-z_\x80-\xff]", value)
    return bool(begins) and not re.match(rb"(?i)nan|inf", value) and not re.fullmatch(rb"[eE]-?[0-9]*", value)


def read_line(line):
    """The example that a line without its newline is; None for a blank one. What is refused raises ValueError."""
    line = line.rstrip(b"\r")
    if not line.strip(b" \t"):
        return None
    if b"\r" in line or b"|" not in line:
        raise ValueError(line)
    head, _, body = line.partition(b"|")
    label, importance, tag = read_head(head)
    features = []
    parts = body.split(b"|")
    for place, part in enumerate(parts):
        features += read_namespace(part, place + 1 == len(parts))
    return Example(label, importance, tag, features)


def read_head(head):
    words = [word for word in head.split(b" ") if word]
    tag = words.pop() if words and (words[-1].startswith(b"'") or not head.endswith(b" ")) else b""
    tag = tag.removeprefix(b"'")
    if b"\t" in head or len(words) > 3:
        raise ValueError(head)
    if not words:
        return None, 1.0, tag
    if re.search(rb"[:\x00-\x1f\x7f]", words[0]):
        raise ValueError(head)
    importance = number(words[1], LARGEST_IMPORTANCE) if len(words) > 1 else 1.0
    if importance < SMALLEST_IMPORTANCE and not is_zero(words[1]):
        raise ValueError(head)
    if len(words) > 2 and (number(words[2]) != 0 or not is_zero(words[2])):
        raise ValueError(head)
    return words[0], importance, tag


def read_namespace(part, last):
    """The features behind one "|"; the default namespace has no name, and the hash 0."""
    words = re.split(rb"[ \t]+", part)
    namespace, colon, scale = words[0].partition(b":")
    if len(namespace) > LONGEST_NAMESPACE or (colon and not namespace):
        raise ValueError(part)
    seed = vw_hash(namespace, 0)
    scale = number(scale) if colon else 1.0
    features, unnamed = [], 0
    for place, word in enumerate(words[1:], 2):
        if not word:
            continue
        name, colon, value = word.partition(b":")
        if colon and is_word(value):
            if place == len(words) and not last:
                raise ValueError(part)  # "a:red|b": VW takes "red|b" for the value
            features.append((shown(namespace, word), vw_hash(value, vw_hash(name, seed)), 1.0))
            continue
        amount = (number(value) if colon else 1.0) * scale
        if abs(amount) > LARGEST:
            raise ValueError(part)
        if name:
            shown_name, h = shown(namespace, name), vw_hash(name, seed)
        else:
            shown_name, h = shown(namespace, b":%d" % unnamed), seed + unnamed
            unnamed += 1
        if np.float32(amount) != 0:
            features.append((shown_name, h, amount))
    return features


def shown(namespace, feature):
    """The name for people: "namespace^feature"; where nothing else has the same, "feature" in the default namespace."""
    if not namespace:
        return b"^" + feature if b"^" in feature else feature
    return namespace.replace(b"^", b"|") + b"^" + feature


def by_namespace(line):
    """The features of a line that can be read, by the first byte of their namespace: that is all VW knows of it."""
    groups, parts = {}, line.rstrip(b"\r").partition(b"|")[2].split(b"|")
    for place, part in enumerate(parts):
        space = part[0] if part and part[0] not in b" \t" else ord(" ")
        groups.setdefault(space, []).extend(read_namespace(part, place + 1 == len(parts)))
    return groups


def without_duplicates(terms):
    """VW's filter: "ab" and "ba" are one interaction, "ab". One with a letter twice is sorted: "aba" is "aab"."""
    kept, met = [], set()
    for term in sorted(terms):
        if bytes(sorted(term)) not in met:
            met.add(bytes(sorted(term)))
            twice = any(term.count(letter) not in (1, len(term)) for letter in term)
            kept.append(bytes(sorted(term)) if twice else term)
    return kept


def without_wildcards(terms, spaces):
    """Each ":" is every printed namespace. Two in a term go upwards, as in "ab"; three go downwards, as in "cba"."""
    printed, found = sorted(space for space in spaces if 32 <= space < 127), []
    for term in terms:
        ways = [b""]
        for letter in term:
            choices = printed if letter == ord(":") else [letter]
            ways = [way + bytes([choice]) for way in ways for choice in choices]
        wild = [place for place, letter in enumerate(term) if letter == ord(":")]
        chosen = [[way[place] for place in wild] for way in ways]
        found += [w for w, c in zip(ways, chosen, strict=True) if c == sorted(c, reverse=len(wild) == 3)]
    return found


def interactions(line, terms):
    """The features (name, hash, value) that interactions of namespaces (VW's -q and --cubic) add to a line.

    Of a namespace with itself every choice of features counts once, with repetition, in the order of the line.
    """
    groups, found = by_namespace(line), []
    terms = without_duplicates(without_wildcards(without_duplicates(terms), groups))
    for term in terms:
        ways = [()]
        for place, letter in enumerate(term):
            again = place > 0 and term[place - 1] == letter
            features = list(enumerate(groups.get(letter, [])))
            ways = [(*way, one) for way in ways for one in features if not again or one[0] >= way[-1][0]]
        for way in ways:
            name, h, value = b"", 0, np.float32(1)
            for place, (_, (part, hash_of_part, x)) in enumerate(way):
                name += b"*" * (place > 0) + part.replace(b"*", b"|*")
                h = (h * 16777619 ^ hash_of_part) % 2**32
                value *= np.float32(x)
            if value != 0:
                found.append((name, h, float(value)))
    return found


def plain_pass(examples, width, rate):
    """VW's --sgd --noconstant --loss_function logistic --power_t 0: w += rate importance y / (1 + exp(y w·x)) x.

    An example is its label, 1 or -1, its importance, its columns and its values.
    """
    w = np.zeros(width)
    for y, importance, columns, x in examples:
        step = rate * importance * y / (1 + np.exp(y * (w[columns] @ x)))
        np.add.at(w, columns, step * x)
    return w
