"""Memory of a tagger with many labels and features: tags of UD English-EWT with all that they say of a word.

Each measurement runs in a process of its own, called from `tagging.py`.
"""

import json
import os
import sys
from collections import Counter
from typing import Any

import perceptrons
from benchmarks import datasets, results
from benchmarks.memory import MB, highest, resident
from perceptrons import FeatureTemplates, SequencePerceptron
from perceptrons.data.conll import read_conll

TAGS, EPOCHS = 227, 3
FORM, XPOS, FEATS = 1, 4, 5  # columns of CoNLL-U
TEMPLATES = [
    "word[-2..2]", "word[-1]|word[0]", "word[0]|word[1]", "word[-1]|word[1]", "word[-2]|word[-1]", "word[1]|word[2]",
    "word[-2]|word[-1]|word[0]", "word[0]|word[1]|word[2]", "word[-1]|word[0]|word[1]", "prefix(word, 1..4)",
    "suffix(word, 1..4)", "shape(word)", "word[0]|suffix(word, 2)[-1]", "word[0]|suffix(word, 2)[1]",
    "suffix(word, 3)|suffix(word, 3)[-1]", "suffix(word, 3)|suffix(word, 3)[1]",
]  # fmt: skip


def sentences(part: int, n: int | None) -> tuple[list[list[str]], list[list[str]]]:
    """Words and their tags; all but the most frequent tags are one."""
    file = read_conll(datasets.sentence_files("ud-english-ewt")[part])
    words = file.sentences(FORM)[:n]
    tags = [[f"{xpos}|{feats}" for xpos, feats in labels] for labels in file.sentences((XPOS, FEATS))[:n]]
    known = {tag for tag, _ in Counter(tag for labels in tags for tag in labels).most_common(TAGS - 1)}
    return words, [[tag if tag in known else "rare" for tag in labels] for labels in tags]


def train_alone(path: str, n: int | None) -> None:
    """In the child: print the peak of training and saving."""
    X, y = sentences(0, n)
    before = resident()
    model = SequencePerceptron(templates=FeatureTemplates(TEMPLATES), max_iter=EPOCHS).fit(X, y)
    perceptrons.save(model, path)
    row = {"before": before, "peak": highest(), "labels": len(model.classes_), "features": model.n_features_in_}
    print(json.dumps(row | {"file": os.path.getsize(path), "fired": int((~model.never_updated_).sum())}))


def tag_alone(path: str, n: int | None) -> None:
    """In the child: print the peak of loading the model and tagging."""
    X, _ = sentences(1, n)
    before = resident()
    perceptrons.load(path).predict(X)
    print(json.dumps({"before": before, "peak": highest(), "pandas": "pandas" in sys.modules}))


def describe(found: dict[str, Any]) -> str:
    """Both measurements in words."""
    training, others = found["training"], "with" if found["tagging"]["pandas"] else "without"
    lines = [
        [what, *(f"{n / MB:.0f}" for n in (row["peak"] - row["before"], row["peak"], row["before"]))]
        for what, row in found.items()
    ]
    about = f"{training['labels']} tags, {training['features']:,} features"
    table = results.table([about, "added, MB", "peak of the process, MB", "before, MB"], lines)
    return (
        f"{table}\n\nUD English-EWT, tags with all morphological features, 26 templates, {EPOCHS} epochs. "
        f'{training["fired"]:,} features fired, and the model file has {training["file"] / MB:.1f} MB. "Before" counts '
        f"Python, NumPy, SciPy, scikit-learn ({others} pandas, which it imports if it is installed), numba and the "
        'sentences. "Added" includes about 45 MB of compiled code.'
    )
