"""Why other models are ahead or behind in `compare`: what was tried, on training rows only, a fifth held out."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

from benchmarks import datasets, results
from perceptrons import Perceptron
from perceptrons.selection import LeastSquares, parts_of

MESSAGES = (1000, 4000)  # of rt-polarity to learn from, and then all
TOO_ALIKE = 0.4  # of two features whose |r| is above, one is left out
COMPONENTS = 60


def run(quick: bool) -> None:
    rows = [*few_messages(), *alike(), *pixels(), *letters()]
    markdown = results.table(["set", "what was tried", "found"], rows)
    results.write("reasons", {"rows": rows}, markdown, {"compare-reasons": markdown}, quick)


def held_out(name: str) -> tuple[Any, Any, Any, Any]:
    split = datasets.shuffled(datasets.load(name))
    parts = parts_of(split.X_train, split.y_train, dev=0.2, test=0)
    return *parts.train.taken(), *parts.dev.taken()


def few_messages() -> list[list[str]]:
    """Naive Bayes and AROW, learning from ever more messages; and how many words are in one message only."""
    rows = []
    for name in ("sms-spam", "rt-polarity"):
        X = datasets.load(name).X_train
        alone = np.mean(np.bincount(X.indices, minlength=X.shape[1]) == 1)
        rows.append([name, "words that are in a single message", f"{100 * alone:.0f}%"])
    X, y, X_dev, y_dev = held_out("rt-polarity")
    arow = Perceptron(step="arow", C=0.1, max_iter=10)
    for n in (*MESSAGES, len(y)):
        bayes, ours = (_right(model.fit(X[:n], y[:n]), X_dev, y_dev) for model in (MultinomialNB(), arow))
        rows.append(["rt-polarity", f"naive Bayes and AROW, learning from {n:,} messages", f"{bayes} and {ours}"])
    return rows


def alike() -> list[list[str]]:
    """a9a without features that say nearly what another says."""
    X, y, X_dev, y_dev = held_out("a9a")
    dense = X.toarray()
    with np.errstate(invalid="ignore"):
        r = np.nan_to_num(np.abs(np.corrcoef(dense, rowvar=False)))
    kept: list[int] = []
    for column in np.argsort(-dense.mean(axis=0), kind="stable"):
        if not kept or r[column, kept].max() <= TOO_ALIKE:
            kept.append(int(column))
    tried = {
        f"all {X.shape[1]} features": np.arange(X.shape[1]),
        f"{len(kept)} features, no two correlated above {TOO_ALIKE}": np.sort(kept),
    }
    rows = []
    for said, columns in tried.items():
        models = (BernoulliNB(), Perceptron())
        bayes, ours = (_right(model.fit(X[:, columns], y), X_dev[:, columns], y_dev) for model in models)
        rows.append(["a9a", f"naive Bayes and averaged perceptron, {said}", f"{bayes} and {ours}"])
    return rows


def pixels() -> list[list[str]]:
    """usps as pixels, and as principal components, which do not correlate."""
    X, y, X_dev, y_dev = (part.toarray() if sp.issparse(part) else part for part in held_out("usps"))
    r = np.abs(np.corrcoef(X, rowvar=False))
    np.fill_diagonal(r, 0.0)
    components = PCA(COMPONENTS, random_state=0).fit(X)
    return [
        ["usps", "largest correlation of a pixel with another, the median", f"{np.median(r.max(axis=1)):.2f}"],
        ["usps", "naive Bayes, pixels", _right(GaussianNB(var_smoothing=0.01).fit(X, y), X_dev, y_dev)],
        ["usps", f"naive Bayes, {COMPONENTS} principal components",
         _right(GaussianNB(var_smoothing=0.01).fit(components.transform(X), y), components.transform(X_dev), y_dev)],
    ]  # fmt: skip


def letters() -> list[list[str]]:
    """Scores of least squares for letters that were held out."""
    X, y, X_dev, y_dev = held_out("letter-scaled")
    model = LeastSquares().fit(X, y)
    none = np.mean(model.decision_function(X_dev).max(axis=1) <= 0)
    share = np.bincount(model.predict(X_dev), minlength=26) / np.maximum(1, np.bincount(y_dev, minlength=26))
    rare = np.argsort(share)[:3]
    named = ", ".join(f"{chr(65 + k)} {share[k]:.2f}" for k in rare)
    return [
        ["letter-scaled", "letters to which least squares gives no score above 0", f"{100 * none:.0f}%"],
        ["letter-scaled", "letters that it answers least, times as often as they occur", named],
    ]


def _right(model: Any, X: Any, y: Any) -> str:
    return f"{100 * model.score(X, y):.1f}%"
