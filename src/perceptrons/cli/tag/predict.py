"""`perceptrons tag predict`: writes the file again, with the labels of a tagger; suitable for pipes."""

import sys
from typing import Any

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, load_tagger, save_bytes
from perceptrons.cli.options import OF_FILE, takes
from perceptrons.cli.screen import as_json
from perceptrons.cli.tag.corpus import corpus_to_tag, place_to_write


@takes("model:tagger", "file", "into", "output:tagged", "columns:there", *OF_FILE, "confidence", "json")
def predict(asked: Any) -> None:
    """Write FILE again with a label for every token. FILE needs only the columns that the tagger was trained on.

    With --confidence, another last column holds the lead of each label over the second best label. Everything else
    stays as it is, byte for byte. OUTPUT is compressed if its name ends in .gz, .xz or .bz2.
    """
    output = asked.output
    check_output(output, asked.model, asked.file)
    tagger = load_tagger(asked.model, instead="predict")
    corpus = corpus_to_tag(tagger, asked.file, asked)
    from perceptrons.data import DataFileError
    from perceptrons.data.source import compression_of
    from perceptrons.inspection.tagger_quality import tagged

    if asked.confidence and not asked.json and corpus.file.format == "conllu":
        raise BadInputError(f"{corpus.file.path}: CoNLL-U has no column for --confidence: add --json, or leave it out.")
    place = None if asked.json else place_to_write(corpus.file, tagger, asked.into)
    with refusing(ValueError, about=corpus.file.path):
        labels = tagged(tagger, corpus.sentences)
        leads = tagger.token_confidence(corpus.sentences) if asked.confidence else None
    if asked.json:
        pairs = zip(corpus.sentences, labels, strict=True)
        sentences: list[dict[str, Any]] = [{"tokens": tokens, "labels": found} for tokens, found in pairs]
        for sentence, lead in zip(sentences, leads or [], strict=leads is not None):
            sentence["confidence"] = _number(lead.min(initial=float("inf")))
            sentence["token_confidence"] = [_number(each) for each in lead.tolist()]
        content = {"model": str(asked.model), "data": str(asked.file), "columns": corpus.names, "sentences": sentences}
        whole = as_json(content).encode()
    else:
        with refusing(DataFileError):
            behind = None if leads is None else [[f"{each:.6g}" for each in lead.tolist()] for lead in leads]
            whole = corpus.file.with_labels(labels, place, behind)
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(whole)
        sys.stdout.buffer.flush()
    else:
        packing = compression_of(output)
        save_bytes(whole if packing is None else packing.compress(whole), output)


def _number(lead: float) -> float | None:
    """JSON has no infinity: None says that nothing else is allowed."""
    return None if lead == float("inf") else float(lead)
