"""`perceptrons tag evaluate`: how good a tagger is on labelled sentences."""

from perceptrons.cli.evaluate import refuse_strange
from perceptrons.cli.files import load_tagger
from perceptrons.cli.options import command
from perceptrons.cli.screen import print_result
from perceptrons.cli.tag.corpora import corpus_for
from perceptrons.cli.tag.options import TagEvaluateOptions


@command
def evaluate(options: TagEvaluateOptions) -> None:
    """Compare a tagger's labels with those of FILE: accuracy, also on new words, precision, recall, F1, confusions.

    Chunks and names, labelled as B-NP, I-NP and O, are counted as phrases: as conlleval does, or strictly with
    --scheme.
    """
    from perceptrons.cli.tag.result import measure, show_quality

    tagger = load_tagger(options.model, instead="evaluate")
    corpus = corpus_for(tagger, options.file, options)
    result = measure(tagger, corpus, options.scheme)
    refuse_strange(result.quality, corpus.file.path, "label of the tagger", "--label")
    about = {"model": str(options.model), "data": str(options.file), "scheme": options.scheme}
    print_result(options, lambda: about | result.as_json(), lambda console: show_quality(result, console, full=True))
