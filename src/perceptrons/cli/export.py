"""`perceptrons export`: a model for other programs, as an ONNX graph or JSON."""

from typing import Any

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, load_any, save_bytes
from perceptrons.cli.options import takes
from perceptrons.cli.screen import as_json, visible

WHAT = {
    ".onnx": "an ONNX graph, for onnxruntime and others",
    ".json": "JSON, weights by feature name",
}


@takes("model", "exported", "inputs", "json", "quiet")
def export(asked: Any) -> None:
    """Export MODEL for other programs: FILE.onnx (an ONNX graph) or FILE.json (weights by name)."""
    ending = asked.exported.suffix.lower()
    if ending not in WHAT:
        raise BadInputError(f"{asked.exported}: the extension selects the format and must be one of {', '.join(WHAT)}.")
    check_output(asked.exported, asked.model)
    model = load_any(asked.model, pipelines=True)
    from perceptrons.export import ExportError, as_bytes, facts_of

    inputs = str(asked.inputs)
    with refusing(ExportError, about=asked.model), refusing(ModuleNotFoundError):
        content = as_bytes(model, ending, inputs)
        facts = facts_of(model, inputs)
    save_bytes(content, asked.exported)
    if asked.json:
        file = {"model": str(asked.model), "file": str(asked.exported), "format": ending[1:], "bytes": len(content)}
        print(as_json(file | facts), end="")
    elif not asked.quiet:
        print(f"{visible(str(asked.exported))}: {WHAT[ending]} ({len(content):,} bytes).")
