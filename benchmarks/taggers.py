"""The taggers to compare with: CRFsuite's averaged perceptron, through python-crfsuite, and NLTK's PerceptronTagger.

Nothing of the library is imported here, so that a process can measure the memory of a peer alone.
"""

import gzip
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.memory import highest, resident

END = "\0"  # stands for what is beyond the ends of a sentence


def read(path: Path) -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    """Sentences of words with their tags, and their labels, from a packed file with three columns."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        blocks = file.read().strip().split("\n\n")
    rows = [[line.split() for line in block.split("\n")] for block in blocks]
    return [[(word, tag) for word, tag, _ in row] for row in rows], [[label for _, _, label in row] for row in rows]


def attributes(sentence: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The 19 templates of CRFsuite's chunking example, with its __BOS__ and __EOS__.

    Written to be quick: all templates of a token are one list of f-strings, and only the first two and the last two
    tokens, where some look beyond the sentence, are gone through again.
    """
    words, tags = zip(*sentence, strict=True)
    w, p = (END, END, *words, END, END), (END, END, *tags, END, END)
    found = [
        [
            f"w[-2]={a}", f"w[-1]={b}", f"w[0]={c}", f"w[1]={d}", f"w[2]={e}", f"w[-1]|w[0]={b}|{c}",
            f"w[0]|w[1]={c}|{d}", f"pos[-2]={f}", f"pos[-1]={g}", f"pos[0]={h}", f"pos[1]={i}", f"pos[2]={j}",
            f"pos[-2]|pos[-1]={f}|{g}", f"pos[-1]|pos[0]={g}|{h}", f"pos[0]|pos[1]={h}|{i}", f"pos[1]|pos[2]={i}|{j}",
            f"pos[-2]|pos[-1]|pos[0]={f}|{g}|{h}", f"pos[-1]|pos[0]|pos[1]={g}|{h}|{i}",
            f"pos[0]|pos[1]|pos[2]={h}|{i}|{j}",
        ]
        for a, b, c, d, e, f, g, h, i, j in zip(
            w, w[1:], w[2:], w[3:], w[4:], p, p[1:], p[2:], p[3:], p[4:], strict=False
        )
    ]  # fmt: skip
    n = len(found)
    for t in {0, min(1, n - 1), max(0, n - 2), n - 1}:
        found[t] = [attribute for attribute in found[t] if END not in attribute]
    found[0].append("__BOS__")
    found[-1].append("__EOS__")
    return found


# CRFsuite


def crfsuite_trainer(X: list[Any], y: list[list[str]], epochs: int, made: bool = False) -> Any:
    """A trainer of the averaged perceptron that has all sentences; made: they are attributes already."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
    for sentence, labels in zip(X, y, strict=True):
        trainer.append(sentence if made else attributes(sentence), labels)
    trainer.set_params({"max_iterations": epochs, "epsilon": 0.0})  # 0: no early end
    return trainer


def crfsuite_from_file(path: Path, model: str, epochs: int) -> None:
    """From the file with the sentences to the file with the model."""
    crfsuite_trainer(*read(path), epochs).train(model)


def crfsuite_tagger(model: str) -> Any:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    return tagger


def crfsuite_tag(tagger: Any, X: list[Any]) -> list[list[str]]:
    return [tagger.tag(attributes(sentence)) for sentence in X]


def crfsuite_alone(path: str, model: str, epochs: int) -> None:
    """In a process of its own: print what training added to its memory at the peak, and how large the model file is."""
    X, y = read(Path(path))
    crfsuite_trainer(X[:10], y[:10], 1).train(model)
    before = resident()
    crfsuite_trainer(X, y, epochs).train(model)
    print(json.dumps({"before": before, "peak": highest(), "file": os.path.getsize(model)}))


# NLTK


def nltk_trained(X: list[list[str]], y: list[list[str]], epochs: int) -> Any:
    """NLTK's tagger, greedy, with its own features of words; it takes its random numbers from Python's."""
    from nltk.tag.perceptron import PerceptronTagger

    random.seed(0)
    tagger = PerceptronTagger(load=False)
    tagger.train([list(zip(*pair, strict=True)) for pair in zip(X, y, strict=True)], nr_iter=epochs)
    return tagger


def nltk_tag(tagger: Any, X: list[list[str]]) -> list[list[str]]:
    return [[tag for _, tag in tagger.tag(words)] for words in X]
