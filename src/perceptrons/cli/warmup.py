"""`perceptrons warmup`: compiles the code of the usual commands in advance, for instance for a container image."""

import gzip
import io
import os
import re
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from perceptrons.cli.messages import BadInputError, print_json
from perceptrons.cli.options import WarmupOptions
from perceptrons.data.bundled import SMS, digits
from perceptrons.engine.compiling import IS_CACHED

MESSAGES = 300  # of those that come with the package, in the files that the commands are given
PIXELS = 12  # columns of the table
RUNS = (
    "look {folder}/table.csv",
    "train {folder}/table.csv -o {folder}/table.perceptron",
    "train {folder}/table.csv --in-memory 0 -o {folder}/stream.perceptron",
    "predict {folder}/table.perceptron {folder}/table.csv",
    "predict {folder}/table.perceptron {folder}/table.csv --scores --json",
    "evaluate {folder}/table.perceptron {folder}/table.csv",
    "inspect {folder}/table.perceptron",
    "diagnose {folder}/table.csv",
    "train {folder}/digits.csv -o {folder}/digits.perceptron",
    "predict {folder}/digits.perceptron {folder}/digits.csv",
    "train {folder}/messages.txt --format text -o {folder}/text.perceptron",
    "train {folder}/messages.txt --format text --in-memory 0 -o {folder}/stream.perceptron",
    "predict {folder}/text.perceptron {folder}/messages.txt",
    "evaluate {folder}/text.perceptron {folder}/messages.txt",
    "train {folder}/messages.csv -o {folder}/mixed.perceptron",
    "predict {folder}/mixed.perceptron {folder}/messages.csv",
    "tag train {folder}/tokens.txt -o {folder}/tagger.perceptron",
    "tag predict {folder}/tagger.perceptron {folder}/tokens.txt",
    "tag evaluate {folder}/tagger.perceptron {folder}/tokens.txt",
)
WHAT_TO_SET = "set NUMBA_CACHE_DIR to a folder that you can write to, now and in later runs."


def warmup(options: WarmupOptions) -> None:
    """Run `perceptrons warmup`."""
    start, cache_folder = time.perf_counter(), os.environ.get("NUMBA_CACHE_DIR")
    if cache_folder:
        check_cache_folder(cache_folder)
    if not IS_CACHED:
        raise BadInputError(f"Compiled code cannot be saved: {WHAT_TO_SET}")
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        for run in RUNS:
            _run(run.format(folder=folder).split())
    seconds = time.perf_counter() - start
    if options.json:
        print_json({"seconds": seconds, "folder": cache_folder})
    else:
        place = cache_folder or "the package or your cache folder (set NUMBA_CACHE_DIR to choose the folder)"
        print(f"The code of the usual commands is compiled and saved in {place}. This took {seconds:.0f} s.")


def check_cache_folder(folder: str) -> None:
    """Refuse a folder for compiled code that cannot be written.

    numba would take another folder in its place, such as that of the package, where other users could not find it.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInputError(
            f"{folder}: compiled code cannot be saved there ({error.strerror}): {WHAT_TO_SET}"
        ) from error


def _run(arguments: list[str]) -> None:
    from perceptrons.cli import main

    errors = io.StringIO()
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")), redirect_stderr(errors):
        code = main(arguments)
    if code:
        raise BadInputError(f"perceptrons {' '.join(arguments)} ended with code {code}: {errors.getvalue().strip()}")


def write_files(folder: Path) -> None:
    """Write digits as tables with two and with ten classes; messages as text, in a table, and as tokens with labels."""
    table = digits()
    pixels, labels = table.X[:, 20 : 20 + PIXELS].astype(str), np.asarray(table.y)
    rows = [[*row, f"digit {label}"] for row, label in zip(pixels, labels, strict=True)]
    head = [f"pixel{number}" for number in range(PIXELS)] + ["label"]
    for name, table_rows in (("digits", rows), ("table", [row for row in rows if row[-1] in ("digit 0", "digit 1")])):
        (folder / f"{name}.csv").write_text("\n".join(map(",".join, [head, *table_rows])) + "\n")
    with gzip.open(SMS, "rt", encoding="utf-8") as file:
        messages = [line.rstrip("\n").split("\t", 1) for line in file][:MESSAGES]
    (folder / "messages.txt").write_text("".join(f"{label}\t{text}\n" for label, text in messages))
    quoted = (f'{len(text)},"{text.replace(chr(34), "")}",{label}\n' for label, text in messages)
    (folder / "messages.csv").write_text("length,text,label\n" + "".join(quoted))
    kinds = {True: "NUMBER", False: "WORD"}
    sentences = (re.findall(r"\w+", text) for _, text in messages)
    lines = ("".join(f"{token} {kinds[token.isdigit()]}\n" for token in tokens) for tokens in sentences if tokens)
    (folder / "tokens.txt").write_text("\n".join(lines))
