"""Texts to features, slowly: characters one by one, dicts for counts, MurmurHash3 by hand."""

import math
import struct

MARK = "\x01"


def words_of(text, lowercase=True):
    """The words of a str, or of bytes that should be UTF-8."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")  # U+FFFD is of no word
    words, word = [], ""
    for character in text:
        if character.isalnum() or character == "_":
            word += character.lower()[0] if lowercase else character
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words


def char_grams(word, low, high):
    padded, grams = f" {word} ", []
    for n in range(low, high + 1):
        if n >= len(padded):
            grams.append(padded)
            break
        grams += [padded[i : i + n] for i in range(len(padded) - n + 1)]
    return grams


def features_of(text, words=(1, 1), chars=None, lowercase=True):
    """The features of a text, in order: n-grams of words by length, then those of characters word by word."""
    found, features = words_of(text, lowercase), []
    if words is not None:
        for n in range(words[0], words[1] + 1):
            features += [" ".join(found[i : i + n]) for i in range(len(found) - n + 1)]
    if chars is not None:
        features += [MARK + gram for word in found for gram in char_grams(word, *chars)]
    return features


def counted(features):
    counts = {}
    for feature in features:
        counts[feature] = counts.get(feature, 0) + 1
    return counts


def murmur3_32(data, seed=0):
    """Appleby's MurmurHash3_x86_32."""

    def rotated(x, r):
        return ((x << r) | (x >> (32 - r))) & 0xFFFFFFFF

    def scrambled(k):
        return rotated(k * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF

    h, whole = seed, len(data) // 4 * 4
    for i in range(0, whole, 4):
        h = rotated(h ^ scrambled(int.from_bytes(data[i : i + 4], "little")), 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    if data[whole:]:
        h ^= scrambled(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def hashed(name, bits, signed=True, seed=0):
    """Column and sign of a name."""
    h = murmur3_32(name.encode(), seed)
    return h % 2**bits, -1.0 if signed and h >= 2**31 else 1.0


def worth(count, values):
    return {"count": float(count), "binary": 1.0, "log": 1.0 + math.log(count)}[values]


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def row_of(amounts, place, norm):
    """A row {column: value} from {name: amount}; place(name): column and sign, or None to drop it."""
    row = {}
    for name, amount in amounts.items():
        where = place(name)
        if where is not None:
            column, sign = where
            row[column] = row.get(column, 0.0) + amount * sign
    length = 1.0
    if norm == "l2":
        total = 0.0
        for value in row.values():
            total += value * value
        length = math.sqrt(total) or 1.0
    return {column: float32(value / length) for column, value in row.items()}


def vocabulary_of(texts, min_count=1, **cutting):
    """Names that come often enough, with column and count, in order of first coming."""
    totals = counted(feature for text in texts for feature in features_of(text, **cutting))
    kept = [name for name, count in totals.items() if count >= min_count]
    return {name: column for column, name in enumerate(kept)}, [totals[name] for name in kept]


def transformed(texts, bits=20, values="log", norm="l2", signed=True, seed=0, vocabulary=None, **cutting):
    """A list of rows {column: value}, columns in order of first occurrence."""

    def place(name):
        if bits is None:
            return (vocabulary[name], 1.0) if name in vocabulary else None
        return hashed(name, bits, signed, seed)

    rows = []
    for text in texts:
        counts = counted(features_of(text, **cutting))
        rows.append(row_of({name: worth(count, values) for name, count in counts.items()}, place, norm))
    return rows
