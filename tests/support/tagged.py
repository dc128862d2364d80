"""Made-up sentences with parts of speech and chunks for tests of the command line, as files, and taggers of them."""

import numpy as np

import perceptrons
from perceptrons import Perceptron, SequencePerceptron, StructuredPerceptron
from perceptrons.cli import main
from tests.support.structures import Chain

PHRASES = {
    "NP": [["the/DT", "dog/NN"], ["a/DT", "big/JJ", "cat/NN"], ["it/PRP"], ["old/JJ", "mats/NNS"], ["run/NN"]],
    "VP": [["sees/VBZ"], ["has/VBZ", "seen/VBN"], ["run/VBP"]],
    "PP": [["on/IN"], ["near/IN"]],
}


def sentences(seed, n):
    """Made-up sentences: of each the words, their parts of speech and their chunks, in IOB2."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        tokens = []
        for kind in ["NP", "VP", "NP", *["PP", "NP"] * int(rng.integers(3))]:
            phrase = PHRASES[kind][rng.integers(len(PHRASES[kind]))]
            for at, token in enumerate(phrase):
                word, pos = token.split("/")
                tokens.append((word, pos, ("I-" if at else "B-") + kind))
        made.append([*tokens, (".", ".", "O")])
    return made


def as_columns(made, between=" ", columns=(0, 1, 2)):
    """A file with these columns of the tokens."""
    return "\n".join("".join(between.join(token[c] for c in columns) + "\n" for token in one) for one in made)


def as_conllu(made):
    """The same as CoNLL-U: parts of speech as xpos, their first letters as upos; with a comment and a range."""
    coarse = {"D": "DET", "N": "NOUN", "J": "ADJ", "P": "PRON", "V": "VERB", "I": "ADP", ".": "PUNCT"}
    lines = []
    for one in made:
        lines += ["# text = a comment", "1-2\tboth\t" + "\t".join("_" * 8)]
        lines += [
            f"{k}\t{word}\t_\t{coarse[pos[0]]}\t{pos}\t_\t0\t{chunk}\t_\t_"
            for k, (word, pos, chunk) in enumerate(one, 1)
        ]
        lines.append("")
    return "\n".join(lines) + "\n"


def of_columns(made, *columns):
    """For Python: the tokens of sentences, plain strings of one column."""
    return [[token[columns[0]] if len(columns) == 1 else tuple(token[c] for c in columns) for token in s] for s in made]


def fill(folder, made):
    """The sentences as files of several formats, others to test on, taggers trained on all of them, other models."""
    (folder / "chunks.txt").write_text(as_columns(made))
    (folder / "test.txt").write_text(as_columns(sentences(2, 20)))
    (folder / "tags.tsv").write_text(as_columns(made, "\t", (0, 1)))
    (folder / "trees.conllu").write_text(as_conllu(made))
    (folder / "one.txt").write_text("a X\nb X\n\nc X\n")
    (folder / "few.txt").write_text("a X\nb Y\n")
    (folder / "sides.csv").write_text("1,yes\n-1,no\n2,yes\n-2,no\n")
    for name in ("chunks.txt", "tags.tsv", "trees.conllu"):
        model = folder / f"{name.split('.')[0]}.model"
        assert main(["tag", "train", str(folder / name), "--test-share", "0", "-o", str(model), "--quiet"]) == 0
    perceptrons.save(Perceptron().fit([[0.0], [1.0]], ["no", "yes"]), folder / "linear.model")
    perceptrons.save(SequencePerceptron().fit([[["a"], ["b"]]], [["X", "Y"]]), folder / "python.model")
    chain = StructuredPerceptron(Chain(2, 1)).fit([np.ones((2, 1))], [(0, 1)])
    perceptrons.save(chain, folder / "structured.model")
    return folder
