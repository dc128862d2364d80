"""Models for other programs: ONNX graphs, or JSON with the weights by feature name.

`perceptrons export` writes them; in Python call `export.write`, and for ONNX `perceptrons.onnx`.
"""

import os
from pathlib import Path
from typing import Any

from perceptrons.export.parts import ExportError, subject_of

__all__ = ["FORMATS", "ExportError", "as_bytes", "write"]
FORMATS = (".onnx", ".json")


def ending_of(path: str | os.PathLike[str]) -> str:
    """The format of a file by its name. Raises ExportError for another ending."""
    ending = Path(os.fsdecode(path)).suffix.lower()
    if ending not in FORMATS:
        raise ExportError(
            f"{os.fsdecode(path)}: the extension selects the format and must be one of {', '.join(FORMATS)}."
        )
    return ending


def as_bytes(model: Any, ending: str, inputs: str = "raw") -> bytes:
    """The content of the file. ending: one of FORMATS."""
    subject = subject_of(model, inputs)
    if ending == ".onnx":
        from perceptrons.export.onnx_graph import graph_of

        return graph_of(subject).SerializeToString()
    from perceptrons.export.json_weights import as_json

    return as_json(subject).encode()


def write(model: Any, path: str | os.PathLike[str], inputs: str = "raw") -> None:
    """Write a fitted model to a file that other programs can use: .onnx or .json.

    Parameters
    ----------
    model : Perceptron, KernelPerceptron, SequencePerceptron or Pipeline
        A fitted model. A pipeline may have scalers, `HashedText` or `TableFeatures` before the model.
    path : path
        The file to write. Its extension selects the format.
    inputs : {"raw", "columns"}, default="raw"
        The input of the exported model: that of the model, such as texts or the cells of a table, or rows of numbers
        that were prepared elsewhere.

    Raises
    ------
    ExportError
        The model, or a part of it, cannot be written in this format. The message says what to do instead.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from perceptrons import Perceptron, export
    >>> model = Perceptron().fit([[0.0], [1.0]], ["no", "yes"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> export.write(model, path)
    >>> json.loads(path.read_text())["classes"]
    ['no', 'yes']
    """
    content = as_bytes(model, ending_of(path), inputs)
    from perceptrons.modelfile.whole_files import write_whole

    write_whole(Path(os.path.realpath(os.fsdecode(path))), content)
