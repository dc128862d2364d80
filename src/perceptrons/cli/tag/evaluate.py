"""`perceptrons tag evaluate`: how good a tagger is on labelled sentences."""

from typing import Any

from perceptrons.cli.evaluate import refuse_strange
from perceptrons.cli.files import load_tagger
from perceptrons.cli.options import OF_FILE, takes
from perceptrons.cli.screen import as_json, screen
from perceptrons.cli.tag.corpus import corpus_for


@takes("model:tagger", "file", "label:column", "columns:there", *OF_FILE, "scheme", "json")
def evaluate(asked: Any) -> None:
    """Compare a tagger's labels with those of FILE: accuracy, also on new words, precision, recall, F1, confusions.

    Chunks and names, labelled as B-NP, I-NP and O, are counted as phrases: as conlleval does, or strictly with
    --scheme.
    """
    from perceptrons.cli.tag.run import measured, show_quality

    tagger = load_tagger(asked.model, instead="evaluate")
    corpus = corpus_for(tagger, asked.file, asked)
    scheme = None if asked.scheme is None else asked.scheme.value
    found = measured(tagger, corpus, scheme)
    refuse_strange(found.quality, corpus.file.path, "label of the tagger", "--label")
    if asked.json:
        print(
            as_json({"model": str(asked.model), "data": str(asked.file), "scheme": scheme, **found.as_json()}), end=""
        )
    else:
        show_quality(found, screen(), full=True)
