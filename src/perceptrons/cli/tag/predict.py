"""`perceptrons tag predict`: the file again, with the labels of a tagger; fit for pipes."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from perceptrons.cli import options as all_options
from perceptrons.cli.errors import refusing
from perceptrons.cli.files import check_output, load_tagger, save_bytes
from perceptrons.cli.screen import as_json
from perceptrons.cli.tag import options
from perceptrons.cli.tag.columns import place_to_write
from perceptrons.cli.tag.corpus import Reading, corpus_to_tag
from perceptrons.cli.tag.marks import predicted


def predict(
    model: options.Model,
    file: options.File,
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="COLUMN",
            help="Write labels into this column, by number or name; otherwise a new last one; in CoNLL-U upos.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUTPUT", readable=False, help="Write to this file, not to stdout."),
    ] = None,
    columns: options.ColumnsThere = None,
    format: options.Format = None,
    separator: options.Separator = None,
    encoding: options.Encoding = "utf-8",
    comments: options.Comments = False,
    json: all_options.Json = False,
) -> None:
    """Write FILE again with a label for every token. FILE needs only the columns that the tagger sees.

    All else stays as it is, byte for byte. OUTPUT is packed if its name ends in .gz, .xz or .bz2.
    """
    check_output(output, model, file)
    tagger = load_tagger(model, instead="predict")
    corpus = corpus_to_tag(tagger, file, Reading(separator, format, comments, encoding), columns)
    from perceptrons.data import DataFileError
    from perceptrons.data.compression import compression_of

    classes = [str(label) for label in tagger.classes_.tolist()]
    place = None if json else place_to_write(corpus.file, classes, into)
    labels = predicted(tagger, corpus)
    if json:
        pairs = zip(corpus.sentences, labels, strict=True)
        sentences = [{"tokens": tokens, "labels": found} for tokens, found in pairs]
        content = {"model": str(model), "data": str(file), "columns": corpus.names, "sentences": sentences}
        whole = as_json(content).encode()
    else:
        with refusing(DataFileError):
            whole = corpus.file.with_labels(labels, place)
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(whole)
        sys.stdout.buffer.flush()
    else:
        packing = compression_of(output)
        save_bytes(whole if packing is None else packing.compress(whole), output)
