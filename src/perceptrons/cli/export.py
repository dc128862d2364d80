"""`perceptrons export`: a model for other programs, as an ONNX graph or JSON."""

from perceptrons.cli.files import check_output, load_any, refusing, save_bytes
from perceptrons.cli.messages import BadInputError, print_json, visible
from perceptrons.cli.options import ExportOptions
from perceptrons.export import ExportError, as_bytes, facts_of

FORMAT_NAMES = {
    ".onnx": "an ONNX graph, for onnxruntime and others",
    ".json": "JSON, weights by feature name",
}


def export(options: ExportOptions) -> None:
    """Run `perceptrons export`."""
    ending = options.exported.suffix.lower()
    if ending not in FORMAT_NAMES:
        raise BadInputError(
            f"{options.exported}: the extension selects the format and must be one of {', '.join(FORMAT_NAMES)}."
        )
    check_output(options.exported, options.model)
    model = load_any(options.model, pipelines=True)
    with refusing(ExportError, about=options.model), refusing(ModuleNotFoundError):
        content, facts = as_bytes(model, ending, options.inputs), facts_of(model, options.inputs)
    save_bytes(content, options.exported)
    if options.json:
        file = {"model": str(options.model), "file": str(options.exported), "format": ending[1:], "bytes": len(content)}
        print_json(file | facts)
    elif not options.quiet:
        print(f"{visible(str(options.exported))}: {FORMAT_NAMES[ending]} ({len(content):,} bytes).")
