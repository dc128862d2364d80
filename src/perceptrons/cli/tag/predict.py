"""`perceptrons tag predict`: the file again, with the labels of a tagger; fit for pipes."""

import sys
from typing import Any

from perceptrons.cli.errors import refusing
from perceptrons.cli.files import check_output, load_tagger, save_bytes
from perceptrons.cli.options import OF_FILE, takes
from perceptrons.cli.screen import as_json
from perceptrons.cli.tag.corpus import corpus_to_tag, place_to_write


@takes("model:tagger", "file", "into", "output:tagged", "columns:there", *OF_FILE, "json")
def predict(asked: Any) -> None:
    """Write FILE again with a label for every token. FILE needs only the columns that the tagger sees.

    All else stays as it is, byte for byte. OUTPUT is packed if its name ends in .gz, .xz or .bz2.
    """
    output = asked.output
    check_output(output, asked.model, asked.file)
    tagger = load_tagger(asked.model, instead="predict")
    corpus = corpus_to_tag(tagger, asked.file, asked)
    from perceptrons.data import DataFileError
    from perceptrons.data.compression import compression_of
    from perceptrons.sequence.quality import tagged

    classes = [str(label) for label in tagger.classes_.tolist()]
    place = None if asked.json else place_to_write(corpus.file, classes, asked.into)
    with refusing(ValueError, about=corpus.file.path):
        labels = tagged(tagger, corpus.sentences)
    if asked.json:
        pairs = zip(corpus.sentences, labels, strict=True)
        sentences = [{"tokens": tokens, "labels": found} for tokens, found in pairs]
        content = {"model": str(asked.model), "data": str(asked.file), "columns": corpus.names, "sentences": sentences}
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
