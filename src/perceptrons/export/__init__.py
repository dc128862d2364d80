"""Models for other programs: ONNX graphs, or JSON with the weights by feature name.

`perceptrons export` writes them; in Python call `export.write`, and for ONNX `perceptrons.onnx`.
"""

import os
from pathlib import Path
from typing import Any

from perceptrons.export.parts import ExportError

__all__ = ["FORMATS", "ExportError", "as_bytes", "write"]
FORMATS = (".onnx", ".json")


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format of a file by its extension. Raise ExportError for another one."""
    extension = Path(os.fsdecode(path)).suffix.lower()
    if extension not in FORMATS:
        raise ExportError(
            f"{os.fsdecode(path)}: the extension selects the format and must be one of {', '.join(FORMATS)}."
        )
    return extension


def as_bytes(model: Any, extension: str, inputs: str = "raw") -> bytes:
    """Return the content of the file. extension: one of FORMATS."""
    if extension == ".onnx":
        from perceptrons.onnx import convert

        return bytes(convert(model, inputs=inputs).SerializeToString())
    from perceptrons.export.json_weights import as_json
    from perceptrons.export.parts import parts_of

    return as_json(parts_of(model, inputs)).encode()


def facts_of(model: Any, inputs: str = "raw") -> dict[str, Any]:
    """Return what an exported model is: its kind, its inputs and its classes."""
    from perceptrons.export.converters import own_parts, selected_model
    from perceptrons.export.parts import TaggerParts

    model = selected_model(model)
    parts = own_parts(model, inputs)
    if parts is None:
        return {"kind": "pipeline", "inputs": "raw", "classes": model.classes_.tolist()}
    if isinstance(parts, TaggerParts):
        return {"kind": "tagger", "inputs": "columns", "classes": parts.classes.tolist()}
    return {"kind": parts.kind, "inputs": parts.inputs.kind, "classes": parts.classes.tolist()}


def write(model: Any, path: str | os.PathLike[str], inputs: str = "raw") -> None:
    """Write a fitted model to a file that other programs can use: .onnx or .json.

    Parameters
    ----------
    model : Perceptron, KernelPerceptron, SequencePerceptron or Pipeline
        A fitted model. For JSON, a pipeline may have scalers, `HashedText` or `TableFeatures` before the model; for
        ONNX, all steps that skl2onnx converts.
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
    content = as_bytes(model, format_of(path), inputs)
    from perceptrons.modelfile.whole_files import write_whole

    write_whole(Path(os.path.realpath(os.fsdecode(path))), content)
