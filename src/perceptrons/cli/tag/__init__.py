"""`perceptrons tag`: a label for every token of a sentence. Each command has its own module."""

import typer

from perceptrons.cli.options import as_function
from perceptrons.cli.tag import options

group = typer.Typer(name="tag", add_completion=False, rich_markup_mode=None)
for name in ("train", "tune", "predict", "evaluate"):
    options_class = vars(options)[f"Tag{name.capitalize()}Options"]
    group.command(name)(as_function(options_class, f"perceptrons.cli.tag.{name}", name))


@group.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Label every token of sentences: parts of speech, chunks or names. Files have one token per line, as in CoNLL."""
    if context.invoked_subcommand is None:
        print(context.get_help())
