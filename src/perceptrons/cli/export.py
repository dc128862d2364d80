"""`perceptrons export`: a model for other programs, as an ONNX graph or JSON."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, load_any, save_bytes
from perceptrons.cli.options import JsonOption, ModelArgument, QuietOption, argument, command, option
from perceptrons.cli.screen import as_json, visible

ExportInputs = Literal["raw", "columns"]
FORMAT_NAMES = {
    ".onnx": "an ONNX graph, for onnxruntime and others",
    ".json": "JSON, weights by feature name",
}


@dataclass(frozen=True, kw_only=True)
class ExportedFileArgument:
    """The file to write."""

    exported: Path = argument(
        "File to write; its extension selects the format: .onnx or .json.", metavar="FILE", required=True
    )


@dataclass(frozen=True, kw_only=True)
class ExportOptions(ModelArgument, ExportedFileArgument, JsonOption, QuietOption):
    """The options of `perceptrons export`."""

    inputs: ExportInputs = option(
        "--inputs",
        help="Input of the exported model: raw examples, as MODEL takes them, or columns, for rows that are prepared"
        " elsewhere (default: raw).",
        metavar="WHAT",
        default="raw",
    )


@command
def export(options: ExportOptions) -> None:
    """Export MODEL for other programs: FILE.onnx (an ONNX graph) or FILE.json (weights by name)."""
    ending = options.exported.suffix.lower()
    if ending not in FORMAT_NAMES:
        raise BadInputError(
            f"{options.exported}: the extension selects the format and must be one of {', '.join(FORMAT_NAMES)}."
        )
    check_output(options.exported, options.model)
    model = load_any(options.model, pipelines=True)
    from perceptrons.export import ExportError, as_bytes, facts_of

    inputs = options.inputs
    with refusing(ExportError, about=options.model), refusing(ModuleNotFoundError):
        content = as_bytes(model, ending, inputs)
        facts = facts_of(model, inputs)
    save_bytes(content, options.exported)
    if options.json:
        file = {"model": str(options.model), "file": str(options.exported), "format": ending[1:], "bytes": len(content)}
        print(as_json(file | facts), end="")
    elif not options.quiet:
        print(f"{visible(str(options.exported))}: {FORMAT_NAMES[ending]} ({len(content):,} bytes).")
