"""`perceptrons tag predict`: writes the file again, with the labels of a tagger; suitable for pipes."""

import json
import sys
from typing import Any

from perceptrons.cli.files import check_output, load_tagger, refusing, save_bytes
from perceptrons.cli.messages import BadInputError
from perceptrons.cli.tag.corpora import corpus_to_tag, output_column
from perceptrons.cli.tag.options import TagPredictOptions
from perceptrons.data import DataFileError
from perceptrons.data.source import compression_of
from perceptrons.inspection.taggers import tagged


def predict(options: TagPredictOptions) -> None:
    """Run `perceptrons tag predict`."""
    output = options.output
    check_output(output, options.model, options.file)
    tagger = load_tagger(options.model, instead="predict")
    corpus = corpus_to_tag(tagger, options.file, options, options.columns)
    if options.confidence and not options.json and corpus.file.format == "conllu":
        raise BadInputError(f"{corpus.file.path}: CoNLL-U has no column for --confidence: add --json, or leave it out.")
    place = None if options.json else output_column(corpus.file, tagger, options.into)
    with refusing(ValueError, about=corpus.file.path):
        labels = tagged(tagger, corpus.sentences)
        leads = tagger.token_confidence(corpus.sentences) if options.confidence else None
    if options.json:
        pairs = zip(corpus.sentences, labels, strict=True)
        sentences: list[dict[str, Any]] = [{"tokens": tokens, "labels": of_sentence} for tokens, of_sentence in pairs]
        for sentence, lead in zip(sentences, leads or [], strict=leads is not None):
            sentence["confidence"] = _number(lead.min(initial=float("inf")))
            sentence["token_confidence"] = [_number(each) for each in lead.tolist()]
        about = {"model": str(options.model), "data": str(options.file), "columns": corpus.names}
        content = (json.dumps(about | {"sentences": sentences}, allow_nan=False) + "\n").encode()
    else:
        with refusing(DataFileError):
            lead_column = None if leads is None else [[f"{each:.6g}" for each in lead.tolist()] for lead in leads]
            content = corpus.file.with_labels(labels, place, lead_column)
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        packing = compression_of(output)
        save_bytes(content if packing is None else packing.compress(content), output)


def _number(lead: float) -> float | None:
    """Return a lead for JSON, which has no infinity: None says that nothing else is allowed."""
    return None if lead == float("inf") else float(lead)
