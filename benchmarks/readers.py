"""From a file to a saved model, by us and by others.

Everybody reads the same examples, learns from them and ends with a file of the model; `right` judges this file.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

VW_BITS = 18  # its default
TEXT_BLOCK = 10_000  # messages that scikit-learn is given at a time: with fewer it is slower


class Contestant(NamedTuple):
    """learn(file, model file), and the share of a test file that is right: right(model file, test file)."""

    learn: Callable[[Path, Path], Any]
    right: Callable[[Path, Path], float]


# Ours


def ours(
    epochs: int = 1, format: str | None = None, reading: dict[str, Any] | None = None, **options: Any
) -> Contestant:
    import perceptrons
    from perceptrons import Perceptron
    from perceptrons.data import stream

    def learn(path: Path, model: Path) -> None:
        perceptrons.save(
            Perceptron(**options).fit_stream(stream(path, format=format, **(reading or {})), epochs), model
        )

    return Contestant(learn, ours_right)


def ours_right(model: Path, test: Path) -> float:
    import perceptrons
    from perceptrons.data import stream

    loaded = perceptrons.load(model)
    blocks = [(loaded.predict(block.X), block.y) for block in stream(test, like=loaded)]
    return float(np.mean(np.concatenate([answers == truth for answers, truth in blocks])))


# Vowpal Wabbit


def vw(epochs: int = 1, plain: bool = True) -> Contestant:
    """plain is --sgd; otherwise its default step (adaptive, normalised, invariant)."""
    return Contestant(lambda path, model: run_vw(vw_words(path, model, epochs, plain)), vw_right)


def vw_words(path: Path, model: Path, epochs: int = 1, plain: bool = True) -> list[str]:
    words = ["-d", str(path), "-f", str(model), "-b", str(VW_BITS), "--loss_function", "hinge", "--quiet"]
    words += ["--sgd"] if plain else []
    if epochs > 1:
        cache = str(model.with_suffix(".cache"))
        words += ["--passes", str(epochs), "--holdout_off", "-k", "--cache_file", cache]
    return words


def run_vw(words: list[str]) -> None:
    from vowpalwabbit import Workspace

    workspace = Workspace(arg_list=words)
    if not workspace.parser_ran:
        raise RuntimeError("VW was started, but it did not read the file")
    workspace.finish()


def vw_right(model: Path, test: Path) -> float:
    answers = model.with_suffix(".answers")
    run_vw(["-t", "-i", str(model), "-d", str(test), "-p", str(answers), "--quiet"])
    truth = np.array([line.startswith(b"+") for line in test.read_bytes().splitlines()])
    return float(np.mean((np.loadtxt(answers) > 0) == truth))


# scikit-learn


def sklearn_svmlight() -> Contestant:
    """`load_svmlight_file` and `Perceptron`, one epoch."""
    return Contestant(_learn_svmlight, _right_svmlight)


def _learn_svmlight(path: Path, model: Path) -> None:
    import joblib
    from sklearn.linear_model import Perceptron

    joblib.dump(Perceptron(max_iter=1, tol=None).fit(*_load_svmlight(path)), model)


def _right_svmlight(model: Path, test: Path) -> float:
    import joblib

    loaded = joblib.load(model)
    return loaded.score(*_load_svmlight(test, loaded.n_features_in_))


def _load_svmlight(path: Path, n_features: int | None = None) -> tuple[Any, np.ndarray]:
    """Its loader gives 64-bit indices, which its learners refuse."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), n_features=n_features)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def sklearn_csv(engine: str) -> Contestant:
    """pandas' `read_csv` and `Perceptron`, one epoch."""

    def read(path: Path) -> tuple[Any, Any]:
        import pandas as pd

        table = pd.read_csv(path, engine=engine)
        return table.drop(columns="label").to_numpy(), table["label"].to_numpy()

    def learn(path: Path, model: Path) -> None:
        import joblib
        from sklearn.linear_model import Perceptron

        joblib.dump(Perceptron(max_iter=1, tol=None).fit(*read(path)), model)

    def right(model: Path, test: Path) -> float:
        import joblib

        return joblib.load(model).score(*read(test))

    return Contestant(learn, right)


def sklearn_text(classes: list[str], at_once: bool) -> Contestant:
    """HashingVectorizer and SGDClassifier as they are by default, but with both cores where they can use them.

    Block by block, as scikit-learn's example of learning out of core does; or with all texts in memory at once.
    """
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    def learn(path: Path, model: Path) -> None:
        import joblib

        learner, vectorizer = SGDClassifier(n_jobs=2, random_state=0), HashingVectorizer()
        for labels, texts in text_blocks(path, None if at_once else TEXT_BLOCK):
            learner.partial_fit(vectorizer.transform(texts), labels, classes=classes)
        joblib.dump(learner, model)

    def right(model: Path, test: Path) -> float:
        import joblib

        labels, texts = next(text_blocks(test, None))
        return joblib.load(model).score(HashingVectorizer().transform(texts), labels)

    return Contestant(learn, right)


def text_blocks(path: Path, n: int | None) -> Iterator[tuple[list[str], list[str]]]:
    """Labels and texts, so many lines at a time, or all."""
    with path.open(encoding="utf-8", newline="\n") as file:
        while lines := list(islice(file, n)):
            labels, _, texts = zip(*(line.partition("\t") for line in lines), strict=True)
            yield list(labels), list(texts)


# fastText


def fasttext(**options: Any) -> Contestant | None:
    """`train_supervised` as it is by default, but one epoch and both cores; None where it is not installed."""
    try:
        import fasttext
    except ImportError:
        return None

    def learn(path: Path, model: Path) -> None:
        fasttext.train_supervised(str(path), epoch=1, thread=2, verbose=0, **options).save_model(str(model))

    def right(model: Path, test: Path) -> float:
        return fasttext.load_model(str(model)).test(str(test))[1]

    return Contestant(learn, right)
