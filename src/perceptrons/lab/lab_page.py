"""Makes the lab page, with the user's own points, as one file that needs no network."""

import base64
import hashlib
import json
import os
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from perceptrons.engine.html import Html, iframe, visible
from perceptrons.modelfile.whole_files import write_page
from perceptrons.theory.examples import check_examples

# in the order in which they need each other; each is one idea: see its first line
SCRIPTS = (
    "engine", "run", "proof", "state", "presets", "words", "shapes", "draw_proof", "draw", "charts", "elements", "app",
    "controls",
)  # fmt: skip
MAX_POINTS, MAX_COORDINATE = 2000, 1e6  # as in state.js
TITLE = "Perceptron lab"
ABOUT = (
    "Everything is inside this file; nothing is loaded from the network and nothing leaves your computer. The weights "
    "are those of the Python library perceptrons."
)


class Lab:
    """A lab page, made by `show`. Notebooks show it in a frame of its own.

    Attributes
    ----------
    html : str
        The whole page.
    note : str
        How the plane was made from X if it does not show all of X: the principal components, the number of examples.
    """

    def __init__(self, html: str, note: str = ""):
        self.html, self.note = html, note

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all; a file of that name is replaced."""
        write_page(path, self.html)

    def __repr__(self) -> str:
        return f"<Lab, {len(self.html.encode()):,} bytes of HTML: save(path), or show it in a notebook>"

    def _repr_html_(self) -> Html:
        style = "height:60rem;border:1px solid rgba(127,127,127,0.4);border-radius:4px"
        return iframe(self.html, TITLE, style, sandbox="allow-scripts allow-downloads")


def show(X: Any = None, y: Any = None, *, feature_names: Any = None, title: str = "Your data") -> Lab:
    """Show the lab: a page on which a perceptron learns from points in a plane, step by step.

    With X and y, the page starts with these examples; without them, with the worked example of the lectures. More than
    two features are projected on their first two principal components, and the page says so.

    Use it to see how a learning rule works, in lectures and notebooks, or whether two features separate the classes. Do
    not use it to train a model (that is `Perceptron`), or with more than three classes.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_examples, n_features), optional
        Two features are shown as they are. Of more than 2,000 examples, 2,000 are drawn at random.
    y : array of shape (n_examples,), optional
        Labels of two or three classes.
    feature_names : sequence of str, optional
        Names of the features, for the axes of the plane. Default: the names of the columns of a frame.
    title : str, default="Your data"
        What the page calls these examples in its list of data.

    Returns
    -------
    Lab
        It shows itself in a notebook; `save` writes it to a file.

    Examples
    --------
    >>> from perceptrons.lab import show
    >>> page = show([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], title="XOR")
    >>> page.html.startswith("<!doctype html>"), page.note
    (True, '')
    """
    if X is None and y is None:
        return Lab(_page({}))
    if X is None or y is None:
        raise ValueError("show needs both X and y, or neither of them.")
    names = getattr(X, "columns", None) if feature_names is None else feature_names
    names = None if names is None else [str(name) for name in names]
    examples = check_examples(X, y)
    if len(examples.classes) > 3:
        raise ValueError(
            f"y has {len(examples.classes)} classes, and the page shows two or three: choose three of them, or make "
            "one class of several."
        )
    n = len(examples.codes)
    rows = np.arange(n)
    plane, axes, note = _plane(examples.X, names)
    if n > MAX_POINTS:
        rows = np.sort(np.random.default_rng(0).choice(n, MAX_POINTS, replace=False))
        note = f"{note} {MAX_POINTS:,} of {n:,} examples, drawn at random.".strip()
    if not np.abs(plane).max() <= MAX_COORDINATE:
        raise ValueError(
            f"X has values beyond {MAX_COORDINATE:,.0f}, which the page does not show: scale the features."
        )
    own = {
        "title": visible(title), "names": [visible(str(label)) for label in examples.classes.tolist()], "axes": axes,
        "settings": {"classes": len(examples.classes)}, "note": note,
        "points": [[*row, int(c)] for row, c in zip(plane[rows].tolist(), examples.codes[rows], strict=True)],
    }  # fmt: skip
    return Lab(_page({"own": own}), note)


def _plane(X: Any, names: list[str] | None) -> tuple[np.ndarray, list[str], str]:
    """Return two columns, their names, and how they were made if they are not those of X."""
    n_features = X.shape[1]
    if n_features == 1:
        raise ValueError("X has one feature, and the page is a plane: give two or more.")
    dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    if names is not None and len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names, but X has {n_features} features: give one for each.")
    if n_features == 2:
        return dense, [visible(name) for name in names or ("x₁", "x₂")], ""
    from sklearn.decomposition import PCA  # imported here because that takes long

    with np.errstate(invalid="ignore"):  # all examples are equal
        pca = PCA(2, svd_solver="full").fit(dense)
    share = np.nan_to_num(pca.explained_variance_ratio_.sum(), nan=1.0)
    note = (
        f"The axes are the first two principal components of {n_features:,} features, with {share:.1%} of the variance."
    )
    return pca.transform(dense), ["component 1", "component 2"], note


def _page(data: dict[str, Any]) -> str:
    """Return the file with style, data and scripts inside. Only these scripts may run, whatever the data contain."""
    style, script, html = _parts()
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data: blob:"
    # "<" would end the element that holds the data
    content = json.dumps({"iris": _iris(), **data}, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return Template(html).substitute(policy=policy, title=TITLE, style=style, script=script, data=content, about=ABOUT)


@cache
def _parts() -> tuple[str, str, str]:
    folder = files("perceptrons.lab")
    script = "\n".join(folder.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    return folder.joinpath("lab.css").read_text("utf-8"), f"\n{script}", folder.joinpath("lab.html").read_text("utf-8")


@cache
def _iris() -> str:
    """Return the petals of Fisher's iris data, as CSV."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    rows = zip(iris.data[:, 2:].tolist(), iris.target_names[iris.target], strict=True)
    lines = [f"{length},{width},{name}\n" for (length, width), name in rows]
    return "".join(["petal length (cm),petal width (cm),class\n", *lines])


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
