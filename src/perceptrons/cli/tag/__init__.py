"""`perceptrons tag`: a label for every token of a sentence. Each command has its own module."""

import typer

from perceptrons.cli.tag.evaluate import evaluate
from perceptrons.cli.tag.predict import predict
from perceptrons.cli.tag.train import train
from perceptrons.cli.tag.tune import tune

group = typer.Typer(name="tag", add_completion=False, rich_markup_mode=None)
for command in (train, tune, predict, evaluate):
    group.command()(command)


@group.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Label every token of sentences: parts of speech, chunks or names. Files have one token per line, as in CoNLL."""
    if context.invoked_subcommand is None:
        print(context.get_help())
