"""Converts models to ONNX graphs, for onnxruntime and others. Needs the extra: pip install "perceptrons[onnx]".

Importing this module registers the estimators with skl2onnx, if it is installed.
"""

from importlib.util import find_spec
from typing import Any

from perceptrons.export.converters import own_parts, pipeline_feeds, pipeline_graph, register, selected_model
from perceptrons.export.onnx_graph import Feeds, feeds_of, graph_of, is_sparse
from perceptrons.export.parts import ExportError

__all__ = ["ExportError", "convert", "inputs_of"]
DTYPES = ("float64", "float32")

if find_spec("skl2onnx") is not None:
    register()


def convert(model: Any, *, inputs: str = "raw", rows: str = "auto", dtype: str = "float64") -> Any:
    """Convert a fitted model to an ONNX model.

    Its outputs are `label`, the class of every row (with several labels 0 and 1 for each), and `scores`, what
    `decision_function` gives. A calibrated model also has `probabilities`, what `predict_proba` gives. Of a tagger the
    outputs are `scores` of every token and label, and `arcs` between labels, from which Viterbi's algorithm finds the
    best labels outside. The outputs of other classifiers of scikit-learn, such as `CalibratedClassifierCV`, are `label`
    and `probabilities`.

    Parameters
    ----------
    model : Perceptron, KernelPerceptron, SequencePerceptron, Pipeline or another estimator that skl2onnx converts
    inputs : {"raw", "columns"}, default="raw"
        "raw": what the model takes: rows of numbers (input `X`), the columns of a table (one input each), texts, or the
        words of texts (`words`). "columns": the columns of rows that were prepared elsewhere.
    rows : {"auto", "dense", "sparse"}, default="auto"
        How a linear model takes rows of numbers: all of them (`X`), or the numbers (`columns`) and values (`values`) of
        those that are not 0. "auto" takes dense rows up to 4,096 columns.
    dtype : {"float64", "float32"}, default="float64"
        The type of inputs that are numbers. Our estimators always compute in double precision; the steps of
        scikit-learn before them compute in this type.

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
    _check_dtype(dtype)
    model = selected_model(model)
    parts = own_parts(model, inputs)
    return pipeline_graph(model, dtype) if parts is None else graph_of(parts, rows, dtype)


def inputs_of(model: Any, X: Any, *, inputs: str = "raw", rows: str = "auto", dtype: str = "float64") -> Feeds:
    """Return examples as the inputs of the converted model, by name: what `session.run(None, inputs)` takes.

    Parameters
    ----------
    model : the model that was converted
    X : what its `predict` takes
    inputs, rows, dtype : as in `convert`

    Returns
    -------
    dict of arrays
    """
    _check_dtype(dtype)
    model = selected_model(model)
    parts = own_parts(model, inputs)
    if parts is None:
        return pipeline_feeds(model, X, dtype)
    return feeds_of(model, parts, X, is_sparse(parts, rows), dtype)


def _check_dtype(dtype: str) -> None:
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r}: choose one of {', '.join(DTYPES)}.")
