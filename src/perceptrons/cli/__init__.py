"""The command line: all commands, and how errors end them. Each command has its own module."""

import os
import sys
from collections import UserDict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import perceptrons
from perceptrons.cli.libraries import prepare_process
from perceptrons.cli.messages import BadInputError, say, saying_warnings

# The first sentence of each command; kept here so that --help does not load all modules.
COMMANDS = {
    "look": "Show what is in DATA before you train: columns, missing values, classes and likely problems.",
    "train": "Train a perceptron, test it on examples it has not seen, and show the results.",
    "predict": "Print the predicted class of every example in DATA, one per line. DATA needs no labels.",
    "evaluate": "Compare the predictions for DATA with its labels: accuracy, precision, recall, F1 and confusion "
    "matrix.",
    "inspect": "Show how a model was trained, why training stopped, and its most important weights.",
    "diagnose": "Decide whether the classes of DATA are linearly separable, with a proof, and show what makes "
    "training hard.",
    "tune": "Tune hyperparameters on a validation set, train with the best ones, and test the model once.",
    "compare": "Compare the perceptron's variants with naive Bayes, logistic regression, linear SVM, least "
    "squares and ridge.",
    "report": "Write one HTML page about a model and labelled DATA: scores, mistakes, features, margins and a proof.",
    "lab": "Write a page on which a perceptron learns step by step, and open it in the browser.",
    "export": "Export MODEL for other programs: FILE.onnx (an ONNX graph) or FILE.json (weights by name).",
    "serve": "Serve MODEL over HTTP: it predicts, keeps learning, and loses nothing that it acknowledged.",
    "warmup": "Compile the code that the usual commands need, so that their first run is as fast as later ones.",
    "tag": "Label every token of sentences: parts of speech, chunks or names. Files have one token per "
    "line, as in CoNLL.",
}
BAD_INPUT, INTERRUPTED = 2, 130
COMPILED_AGAIN = (
    "Compiled code could not be saved, so each run compiles it again, which takes some seconds. "
    "To save it, set NUMBA_CACHE_DIR to a folder that only you can write to."
)
UsageError = typer.BadParameter.__base__  # typer's own copy of click, or the installed click: it depends on the version


class Commands(UserDict[str, Any]):
    """Commands by name; each is made when it is first used."""

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = make_command(name)
        return self.data[name]


class Program(TyperGroup):
    """The program. It ends every expected failure with one line on stderr and an exit code; only bugs show a traceback.

    A command is imported when it is run.
    """

    def __init__(self, **extra: Any) -> None:
        super().__init__(**{**extra, "commands": None})
        self.commands = Commands(dict.fromkeys(COMMANDS))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *arguments: Any, **extra: Any) -> Any:
        standalone = extra.pop("standalone_mode", True)
        if sys.stdout is None:  # closed by the caller
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (it stays open as long as the process)
        if sys.stderr is None:  # likewise; or messages would go to stdout
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # an odd label must not end a run on an ASCII terminal
        try:
            code = super().main(*arguments, **{**extra, "standalone_mode": False}) or 0
            with output():
                sys.stdout.flush()
        except BadInputError as error:
            code = complain(str(error), BAD_INPUT)
        except UsageError as error:  # type: ignore[misc]
            command = error.ctx.command_path if error.ctx else "perceptrons"
            code = complain(f"{command}: {_readable(error)} (see {command} --help)", BAD_INPUT)
        if standalone:
            sys.exit(code)
        return code

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        with output():  # --version prints here
            return super().make_context(*arguments, **extra)
        raise typer.Exit

    def invoke(self, ctx: Any) -> Any:
        code, quiet = 0, "--quiet" in ctx.args
        try:
            with output(), saying_warnings(quiet=quiet):
                super().invoke(ctx)
                sys.stdout.flush()
        except BadInputError as error:
            code = complain(str(error), BAD_INPUT)
        except OSError as error:
            code = complain(f"{error.filename}: {error.strerror or error}", BAD_INPUT)
        except MemoryError:
            code = complain("There is not enough memory for this data: use less data, or a larger machine.", BAD_INPUT)
        except KeyboardInterrupt as error:
            code = complain(str(error) or "Interrupted.", INTERRUPTED)
        compiling = sys.modules.get("perceptrons.engine.compiling")  # loaded by the commands that compute
        if compiling is not None and not compiling.IS_CACHED and not (code or quiet):
            complain(COMPILED_AGAIN, code)
        raise typer.Exit(code)


def _readable(error: Any) -> str:
    """Return the message of typer without the kind of exception that pydantic puts before it."""
    return str(error.format_message()).replace("Value error, ", "")


def complain(message: str, code: int) -> int:
    """Print a message on one line of stderr, and return the exit code."""
    say(message)
    return code


@contextmanager
def output() -> Iterator[None]:
    """Leave the block quietly if the pipe is closed, as by `| head`; refuse if stdout cannot be written."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again when it exits
        if not isinstance(error, BrokenPipeError):
            raise BadInputError(f"The output cannot be written: {error.strerror or error}.") from error


app = typer.Typer(
    cls=Program,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def make_command(name: str) -> Any:
    """Return a command. Its options are the class NameOptions; its function is in the module of the same name."""
    if name == "tag":
        return get_command(import_module("perceptrons.cli.tag").group)
    options = import_module("perceptrons.cli.options")
    options_class = vars(options)[f"{name.capitalize()}Options"]
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name)(options.as_function(options_class, f"perceptrons.cli.{name}", name))
    return get_command(alone)


def _print_version(is_given: bool) -> None:
    if is_given:
        print(f"perceptrons {perceptrons.__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train perceptrons, predict, evaluate and look inside. Try `perceptrons train`: it brings its own data."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 2 wrong usage or bad input, 130 interrupted."""
    if arguments is None:
        prepare_process()
    try:
        return int(app(args=arguments, prog_name="perceptrons", standalone_mode=False))
    except KeyboardInterrupt:
        return complain("Interrupted.", INTERRUPTED)
