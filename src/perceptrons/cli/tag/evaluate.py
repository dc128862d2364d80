"""`perceptrons tag evaluate`: how good a tagger is on labelled sentences."""

from perceptrons.cli.evaluate import refuse_strange
from perceptrons.cli.files import load_tagger
from perceptrons.cli.screen import print_result
from perceptrons.cli.tag.corpora import corpus_for
from perceptrons.cli.tag.options import TagEvaluateOptions


def evaluate(options: TagEvaluateOptions) -> None:
    """Run `perceptrons tag evaluate`."""
    from perceptrons.cli.tag.result import measure, show_quality

    tagger = load_tagger(options.model, instead="evaluate")
    corpus = corpus_for(tagger, options.file, options)
    result = measure(tagger, corpus, options.scheme)
    refuse_strange(result.quality, corpus.file.path, "label of the tagger", "--label")
    about = {"model": str(options.model), "data": str(options.file), "scheme": options.scheme}
    print_result(options, lambda: about | result.as_json(), lambda console: show_quality(result, console, full=True))
