"""`report`, which builds an HTML page about a model and its data from the sections in this folder."""

import os
from typing import Any

from perceptrons.engine.html import Html, iframe, visible
from perceptrons.modelfile.whole_files import write_page
from perceptrons.report.boundary_section import boundary_section, separability_section
from perceptrons.report.data_section import data_section
from perceptrons.report.features_section import features_section
from perceptrons.report.mistakes_section import mistakes_section
from perceptrons.report.model_section import header, label_sets_header, training_section
from perceptrons.report.page import make_page
from perceptrons.report.quality_section import accuracy_section, curves_section, labels_section
from perceptrons.report.reproduce_section import reproduce_section
from perceptrons.report.subject import Origin, Subject


class Report:
    """An HTML page about a model, made by `report`. Notebooks show it in a frame.

    Attributes
    ----------
    html : str
        The whole page.
    title : str
    """

    def __init__(self, html: str, title: str):
        self.html, self.title = html, title

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all; a file of that name is replaced."""
        write_page(path, self.html)

    def __repr__(self) -> str:
        return (
            f"<Report {self.title!r}, {len(self.html.encode()):,} bytes of HTML: save(path), or show it in a notebook>"
        )

    def _repr_html_(self) -> Html:
        style = "height:40rem;border:1px solid rgba(127,127,127,0.4);border-radius:4px"
        return iframe(self.html, visible(self.title), style, sandbox="")


def report(
    model: Any, X: Any, y: Any, *, examples: Any = None, feature_names: Any = None, image_shape: Any = "auto",
    features: Any = None, lines: Any = None, max_seconds: float = 10.0, title: str | None = None,
    origin: Origin | None = None,
) -> Report:  # fmt: skip
    """Build an HTML page about a fitted model and labelled examples: scores, mistakes, features, separability, margins.

    The page is a single HTML file that needs no network and runs no script. The same model and examples give the same
    page, if the proof is found within the time limit.

    Use it to show what a model does and where it fails, or to look for wrong labels. To get scores for programs, use
    scikit-learn's metrics or `perceptrons evaluate --json`. Taggers are not supported. For several labels per example,
    the page has a table of all labels, but no confusion matrix, curves, single mistakes or margins.

    Parameters
    ----------
    model : fitted Perceptron or KernelPerceptron, or a Pipeline that ends in one
    X, y : the examples, as `predict` and `score` take them
        Use examples that the model was not trained on.
    examples : sequence of str, optional
        The texts that X was made from, to show mistakes as text. If X is a list of texts, it is used.
    feature_names : sequence of str, optional
        The names of the features; by default those of the model or of the step before it.
    image_shape : (int, int), "auto" or None, default="auto"
        The rows and columns, if the features are pixels. "auto" recognises square images by similar neighbouring
        pixels, if features have no meaningful names. None: no images.
    features : pair of str or int, optional
        Two features to draw the decision boundary over; if there are only two, they are always drawn.
    lines : sequence of int or str, optional
        The line of each example in its file.
    max_seconds : float, default=10.0
        The time limit for the proof of separability and for the mistake bound, half for each.
    title : str, optional
    origin : Origin, optional
        The files and the command that made the page, to be shown on it.

    Returns
    -------
    Report

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.report import report
    >>> X, y = [[0.0, 2.0], [0.0, -2.0], [1.0, 2.0], [1.0, -1.0]], ["up", "down", "up", "down"]
    >>> page = report(Perceptron().fit(X, y), X, y, title="Up and down")
    >>> page.html[:15], "4 of 4 right" in page.html
    ('<!DOCTYPE html>', True)
    """
    if isinstance(max_seconds, bool) or not isinstance(max_seconds, int | float) or not max_seconds > 0:
        raise ValueError(f"max_seconds={max_seconds!r}: give a number of seconds above 0.")
    subject = Subject(
        model, X, y, examples=examples, feature_names=feature_names, image_shape=image_shape, lines=lines,
        origin=origin or Origin(), max_seconds=float(max_seconds),
    )  # fmt: skip
    title = f"Report on a {type(subject.model).__name__}" if title is None else str(title)
    if subject.label_quality is not None:
        top = label_sets_header(subject)
        sections = [
            data_section(subject), training_section(subject), labels_section(subject), features_section(subject),
            reproduce_section(subject),
        ]  # fmt: skip
    else:
        top = header(subject)
        boundary = boundary_section(subject, features)
        sections = [
            data_section(subject), training_section(subject), accuracy_section(subject), curves_section(subject),
            features_section(subject), mistakes_section(subject), *([] if boundary is None else [boundary]),
            separability_section(subject), reproduce_section(subject),
        ]  # fmt: skip
    return Report(make_page(title, top, sections, subject), title)
