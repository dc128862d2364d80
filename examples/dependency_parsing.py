"""Dependency parsing with `StructuredPerceptron`: who depends on whom in a sentence.

A parse gives every word a head: another word, or the root (0). The score of a parse is the sum of the scores of its
arcs, and Eisner's algorithm finds the best one without crossing arcs in n^3 steps (McDonald, Crammer and Pereira 2005).

    python examples/dependency_parsing.py                             the 86 sentences in examples/treebank.conllu
    python examples/dependency_parsing.py TRAIN.conllu TEST.conllu    any treebank of universaldependencies.org
"""

import lzma
import sys
import time
import zlib
from functools import cached_property
from pathlib import Path

import numpy as np

from perceptrons import StructuredPerceptron

EPOCHS = 5
LONGEST, MOST = 20, 2000  # of a given treebank, learn from sentences of so many words at most, and so many of them
BITS = 20  # features are hashed into 2 ** BITS weights

# An arc has a feature for each of these. w: word, t: tag, of the head (h) and the dependent (d); t-1 and t+1: the tags
# of the words before and after it. Every feature also knows how far the arc reaches, and in which direction.
TEMPLATES = (
    "ht dt", "hw dt", "ht dw", "hw dw", "hw ht dw dt", "hw ht", "dw dt", "ht", "dt", "ht dt verbs marks",
    "ht ht+1 dt-1 dt", "ht-1 ht dt-1 dt", "ht ht+1 dt dt+1", "ht-1 ht dt dt+1",
)  # fmt: skip


class Sentence:
    """Words and their tags."""

    def __init__(self, words, tags):
        self.words, self.tags = words, tags

    @cached_property
    def arcs(self):
        """Which weights score an arc: [head, dependent, template], place 0 being the root."""
        word, tag = (
            np.array([zlib.crc32(text.encode()) for text in ("", *texts)]) for texts in (self.words, self.tags)
        )
        place = np.arange(len(word))
        reach = place - place[:, None]
        parts = {"reach": np.sign(reach) * np.digitize(np.abs(reach), [2, 3, 4, 6, 10])}
        for name, codes in {"w": word, "t": tag, "t-1": np.append(0, tag[:-1]), "t+1": np.append(tag[1:], 0)}.items():
            parts["h" + name], parts["d" + name] = codes[:, None], codes
        for name, kinds in {"verbs": ("VERB", "AUX"), "marks": ("PUNCT", "CCONJ", "SCONJ")}.items():
            until = np.cumsum([0, *(tag in kinds for tag in self.tags)])
            parts[name] = np.minimum(np.abs(until - until[:, None]), 3)  # how many on the way
        columns = []
        for number, template in enumerate(TEMPLATES):
            code = np.full(reach.shape, number + 1, np.uint64)
            for part in ("reach", *template.split()):
                code = (code ^ parts[part].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
                code ^= code >> np.uint64(32)
            columns.append(code >> np.uint64(64 - BITS))
        return np.stack(columns, axis=-1).astype(np.int32)


class Trees:
    """The model that `StructuredPerceptron` asks. A tree is a list: the head of every word."""

    size = 2**BITS

    def decode(self, x, w, cost_with=None):
        scores = w[x.arcs].sum(axis=-1)
        if cost_with is not None:
            scores += 1  # the loss of every arc, but
            scores[cost_with, np.arange(1, len(scores))] -= 1
        return eisner(scores)

    def features(self, x, y):
        indices = x.arcs[y, np.arange(1, len(y) + 1)].ravel()
        return indices, np.ones(len(indices))

    def loss(self, y, y_hat):
        return sum(a != b for a, b in zip(y, y_hat, strict=True))


def eisner(scores):
    """The heads of the best tree without crossing arcs, by scores[head, dependent]; place 0 is the root.

    Four tables hold the best score of every span from place s to place t > s, built from shorter spans:
    to_left, to_right: an arc joins its two ends, t -> s or s -> t.
    left, right: all words in it depend, directly or not, on its right end t or on its left end s.
    """
    n = len(scores)
    left, right, to_left, to_right = np.zeros((4, n, n))
    joint, left_split, right_split = np.zeros((3, n, n), int)  # where the best way splits each span
    for width in range(1, n):
        for s in range(n - width):
            t = s + width
            ways = right[s, s:t] + left[s + 1 : t + 1, t]
            k = ways.argmax()
            joint[s, t] = s + k
            to_left[s, t], to_right[s, t] = ways[k] + scores[t, s], ways[k] + scores[s, t]
            ways = left[s, s:t] + to_left[s:t, t]
            k = ways.argmax()
            left_split[s, t], left[s, t] = s + k, ways[k]
            ways = to_right[s, s + 1 : t + 1] + right[s + 1 : t + 1, t]
            k = ways.argmax()
            right_split[s, t], right[s, t] = s + 1 + k, ways[k]

    heads, spans = [0] * n, [("right", 0, n - 1)]
    while spans:
        kind, s, t = spans.pop()
        if s == t:
            continue
        if kind == "left":
            k = left_split[s, t]
            spans += [("left", s, k), ("to_left", k, t)]
        elif kind == "right":
            k = right_split[s, t]
            spans += [("to_right", s, k), ("right", k, t)]
        else:
            dependent, head = (s, t) if kind == "to_left" else (t, s)
            heads[dependent] = head
            spans += [("right", s, joint[s, t]), ("left", joint[s, t] + 1, t)]
    return heads[1:]


def read_conllu(path):
    """Sentences and their trees, from a CoNLL-U file, plain or packed with xz."""
    with (lzma.open if str(path).endswith(".xz") else open)(path, "rt", encoding="utf-8") as file:
        blocks = file.read().strip().split("\n\n")
    sentences, trees = [], []
    for block in blocks:
        rows = [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        rows = [row for row in rows if row[0].isdigit()]  # not the ranges and empty nodes of CoNLL-U
        sentences.append(Sentence([row[1].lower() for row in rows], [row[3] for row in rows]))
        trees.append([int(row[6]) for row in rows])
    return sentences, trees


def crosses(tree):
    """Do two arcs of the tree cross?"""
    arcs = [sorted((head, dependent)) for dependent, head in enumerate(tree, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def attachment(predicted, trees):
    """The share of words whose head is right: the unlabelled attachment score."""
    right = sum(a == b for p, y in zip(predicted, trees, strict=True) for a, b in zip(p, y, strict=True))
    return right / sum(len(tree) for tree in trees)


def drawn(words, tree, head=0, indent=""):
    """The tree as text: every word under its head."""
    lines = []
    children = [word for word, its_head in enumerate(tree, 1) if its_head == head]
    for child in children:
        last = child == children[-1]
        lines.append(f"{indent}{'└─ ' if last else '├─ '}{words[child - 1]}")
        lines += drawn(words, tree, child, indent + ("   " if last else "│  "))
    return lines


def main(arguments):
    if len(arguments) == 2:
        (X, y), (X_test, y_test) = (read_conllu(path) for path in arguments)
        kept = [i for i, tree in enumerate(y) if len(tree) <= LONGEST and not crosses(tree)]
        kept = kept[:: max(1, len(kept) // MOST)][:MOST]  # from all over the file
        X, y = [X[i] for i in kept], [y[i] for i in kept]
    else:
        X, y = read_conllu(Path(__file__).with_name("treebank.conllu"))
        X, y, X_test, y_test = X[:-20], y[:-20], X[-20:], y[-20:]

    model = Trees()
    parser = StructuredPerceptron(model, margin=1.0, max_iter=1, warm_start=True)
    untrained = [model.decode(x, np.zeros(model.size)) for x in X_test]
    print(f"{len(X)} sentences to learn from, {len(X_test)} held out")
    print(f"before training: {attachment(untrained, y_test):.1%} of the heads are right")
    began = time.perf_counter()
    for epoch in range(1, EPOCHS + 1):
        parser.fit(X, y)
        score = attachment(parser.predict(X_test), y_test)
        print(f"epoch {epoch}: {parser.mistakes_[0]} parses were wrong, {score:.1%} of the held-out heads are right")
    print(f"all epochs and their evaluation took {time.perf_counter() - began:.1f} s\n")

    example = min(X_test, key=lambda x: abs(len(x.words) - 10))
    print(" ".join(example.words))
    print("\n".join(drawn(example.words, parser.predict_one(example))))


if __name__ == "__main__":
    main(sys.argv[1:])
