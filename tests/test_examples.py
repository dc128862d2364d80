"""The programs in examples/ run, and what they compute is right."""

import importlib.util
import lzma
import os
import re
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from tests.conftest import ROOT

PARSING = ROOT / "examples" / "dependency_parsing.py"


@pytest.fixture(scope="module")
def parsing():
    spec = importlib.util.spec_from_file_location("dependency_parsing", PARSING)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shares(text):
    """The percentages in a text."""
    return [float(share) / 100 for share in re.findall(r"([\d.]+)%", text)]


def test_the_parser_learns_the_small_treebank():
    run = subprocess.run(
        [sys.executable, PARSING],
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=300,
    )
    before, *after = shares(run.stdout)
    assert before < 0.2
    assert len(after) == 5
    assert after[-1] > 0.9
    assert "└─ looks\n   ├─ garden\n   │  ├─ the\n" in run.stdout
    assert run.stderr == ""


def test_the_parser_reads_other_treebanks_plain_or_packed_and_leaves_crossing_arcs_out(parsing, tmp_path, capsys):
    text = (ROOT / "examples" / "treebank.conllu").read_text(encoding="utf-8")
    rows = [f"{i}\tword{i}\t_\tNOUN\t_\t_\t{head}\t_\t_\t_" for i, head in enumerate((3, 4, 0, 3), 1)]
    crossing = "\n".join(
        ["# a comment", "1-2\tword\t_\t_\t_\t_\t_\t_\t_\t_", *rows, "4.1\tnone\t_\t_\t_\t_\t_\t_\t_\t_"]
    )
    train, test = tmp_path / "train.conllu.xz", tmp_path / "test.conllu"
    with lzma.open(train, "wt", encoding="utf-8") as file:
        file.write(crossing + "\n\n" + text)
    test.write_text(text, encoding="utf-8")
    sentences, trees = parsing.read_conllu(train)
    assert sentences[0].words == ["word1", "word2", "word3", "word4"]
    assert trees[0] == [3, 4, 0, 3]
    assert parsing.crosses(trees[0])
    assert not any(parsing.crosses(tree) for tree in trees[1:])
    parsing.main([train, test])
    shown = capsys.readouterr().out
    assert "86 sentences to learn from, 86 held out" in shown
    assert shares(shown)[-1] > 0.95


def all_trees(parsing, n):
    """Every tree over n words without crossing arcs, as lists of heads."""

    def reaches_root(tree, word):
        for _ in range(n):
            word = tree[word - 1] if word else 0
        return word == 0

    for tree in product(range(n + 1), repeat=n):
        if all(reaches_root(tree, word) for word in range(1, n + 1)) and not parsing.crosses(tree):
            yield list(tree)


def test_there_are_as_many_trees_as_combinatorics_says(parsing):
    """Non-crossing trees over n + 1 places, rooted at the first: the binomial coefficient of 3n over n, by 2n + 1."""
    assert [len(list(all_trees(parsing, n))) for n in (1, 2, 3, 4, 5)] == [1, 3, 12, 55, 273]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_eisners_algorithm_finds_the_best_of_all_trees(parsing, n, rng):
    trees = list(all_trees(parsing, n))
    for _ in range(20):
        scores = rng.standard_normal((n + 1, n + 1))
        totals = [scores[tree, np.arange(1, n + 1)].sum() for tree in trees]
        assert parsing.eisner(scores) == trees[int(np.argmax(totals))]


@pytest.mark.parametrize("n", [2, 4, 5])
def test_decoding_with_costs_finds_the_best_of_all_trees_costs_included(parsing, n, rng):
    trees, model = list(all_trees(parsing, n)), parsing.Trees()
    x = parsing.Sentence([f"word{i}" for i in range(n)], ["NOUN", "VERB", "NOUN", "PUNCT", "VERB"][:n])
    different = 0
    for _ in range(10):
        w = 0.1 * rng.standard_normal(model.size)
        truth = trees[rng.integers(len(trees))]

        def score(tree, w=w):
            indices, values = model.features(x, tree)
            return w[indices] @ values

        plain, costly = model.decode(x, w), model.decode(x, w, cost_with=truth)
        assert plain == max(trees, key=score)
        assert costly == max(trees, key=lambda tree: score(tree) + model.loss(truth, tree))
        different += plain != costly
    assert different
