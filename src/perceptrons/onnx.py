"""Converts models to ONNX graphs, for onnxruntime and others. Needs the extra: pip install "perceptrons[onnx]"."""

from typing import Any

from perceptrons.export.feeds import Feeds, feeds_of
from perceptrons.export.onnx_graph import graph_of
from perceptrons.export.parts import ExportError, subject_of

__all__ = ["ExportError", "convert", "inputs_of"]


def convert(model: Any, *, inputs: str = "raw", rows: str = "auto") -> Any:
    """Convert a fitted model to an ONNX model, in double precision.

    Its outputs are `label`, the class of every row (with several labels 0 and 1 for each), and `scores`, what
    `decision_function` gives. A calibrated model also has `probabilities`, what `predict_proba` gives. Of a tagger the
    outputs are `scores` of every token and label, and `arcs` between labels, from which Viterbi's algorithm finds the
    best labels outside.

    Parameters
    ----------
    model : Perceptron, KernelPerceptron, SequencePerceptron or Pipeline
    inputs : {"raw", "columns"}, default="raw"
        "raw": what the model takes: rows of numbers (input `X`), the columns of a table (one input each), or the words
        of texts (`words`). "columns": the columns of rows that were prepared elsewhere.
    rows : {"auto", "dense", "sparse"}, default="auto"
        Of rows of numbers: all of them (`X`), or the numbers (`columns`) and values (`values`) of those that are not 0.
        "auto" takes dense rows up to 4,096 columns.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ExportError
        ONNX has no operators for a part of the model, such as hashed words. The message says what to do instead.

    Examples
    --------
    >>> import perceptrons.onnx
    >>> from perceptrons import Perceptron
    >>> model = Perceptron().fit([[0.0], [1.0]], ["no", "yes"])
    >>> graph = perceptrons.onnx.convert(model)
    >>> [output.name for output in graph.graph.output]
    ['label', 'scores']
    """
    return graph_of(subject_of(model, inputs), rows)


def inputs_of(model: Any, X: Any, *, inputs: str = "raw", rows: str = "auto") -> Feeds:
    """Return examples as the inputs of the converted model, by name: what `session.run(None, inputs)` takes.

    Parameters
    ----------
    model : the model that was converted
    X : what its `predict` takes
    inputs, rows : as in `convert`

    Returns
    -------
    dict of arrays
    """
    return feeds_of(model, subject_of(model, inputs), X, rows)
