"""Names that were chosen to meet in a hash table that has no secret: they must not meet in ours."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from perceptrons import FeatureTemplates, SequencePerceptron, save
from perceptrons.engine.scan.name_table import new_table, number_names
from perceptrons.features.columns import Columns, Names, local_names
from perceptrons.sequence.templates import TemplateFeatures
from tests.conftest import ROOT

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
    content = np.frombuffer(b"".join(names), np.uint8)
    ends = np.cumsum([0, *map(len, names)])
    found = columns.find(Names.of(content, ends, np.ones(N, np.int64)))
    np.testing.assert_array_equal(found.columns, np.arange(N))
    assert longest_run(columns._table.slots) < 200
    numbers, _ = local_names(content, ends[:-1], ends[1:])
    np.testing.assert_array_equal(numbers, np.arange(N))
    table = new_table(2**14)
    number_names(content, ends[:-1], ends[1:], 0, table, np.empty(N, np.int32))
    assert longest_run(table.slots) < 200


def pairs_in_one_slot():
    """Pairs of word numbers whose features of "word|word[1]" began in one slot of a table of any size up to 2**16."""
    found, second = [], np.arange(2**12, dtype=np.uint64)
    for first in range(2**12):  # one after the other: all at once would take half a gigabyte
        with np.errstate(over="ignore"):
            x = (np.uint64(1 << 52 | first << 26) | second) * np.uint64(OLD_BLOCK)
            x = (x ^ x >> HALF) * np.uint64(0x94D049BB133111EB)
        there = np.flatnonzero((x ^ x >> HALF) & np.uint64(2**16 - 1) == 77)
        found += [(first, other) for other in there.tolist()]
    return np.array(found)


def test_chosen_pairs_of_words_are_spread_over_the_table_of_a_tagger():
    pairs = pairs_in_one_slot()
    assert len(pairs) > 200
    words = [f"w{number}" for number in range(2**12)]
    features = TemplateFeatures(FeatureTemplates(["word|word[1]"]), 1, None)
    features.tokens(features.read([words]), np.float32, learn=True)  # numbers the words
    sentences = [[words[a], words[b]] for a, b in pairs.tolist()]
    features.fill(*(part[:0] for part in features.entries()))
    rows = features.tokens(features.read(sentences), np.float32, learn=True).rows
    assert features.n_features == len(pairs)
    np.testing.assert_array_equal(rows.columns, np.arange(len(pairs)))
    assert longest_run(features.keys) < 100


def test_the_table_of_a_tagger_is_the_same_in_another_process_and_its_file_the_same_bytes(tmp_path):
    """The secret of a process goes with what it hashed, and leaves no trace in a file."""
    sentences = [[f"w{k * j % 97}" for j in range(5)] for k in range(40)]
    labels = [["ab"[len(word) % 2] for word in words] for words in sentences]
    model = SequencePerceptron(templates=FeatureTemplates(["word[-1..1]", "word|word[1]"])).fit(sentences, labels)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    save(model, tmp_path / "here")
    code = f"""
import pickle
from perceptrons import save
model = pickle.load(open({str(tmp_path / "model.pickle")!r}, "rb"))
assert [list(labels) for labels in model.predict({sentences!r})] == {[list(x) for x in model.predict(sentences)]!r}
save(model.fit({sentences!r}, {labels!r}), {str(tmp_path / "there")!r})
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
