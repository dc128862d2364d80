"""`perceptrons tag evaluate`: how good a tagger is on labelled sentences."""

from dataclasses import dataclass

from perceptrons.cli.evaluate import refuse_strange
from perceptrons.cli.files import load_tagger
from perceptrons.cli.options import JsonOption, command
from perceptrons.cli.screen import as_json, screen
from perceptrons.cli.tag.corpus import corpus_for
from perceptrons.cli.tag.options import LabelledFileOptions, MatchingColumnsOption, StrictSchemeOption, TaggerArgument


@dataclass(frozen=True, kw_only=True)
class TagEvaluateOptions(TaggerArgument, StrictSchemeOption, MatchingColumnsOption, LabelledFileOptions, JsonOption):
    """The options of `perceptrons tag evaluate`."""


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
    if options.json:
        print(
            as_json(
                {"model": str(options.model), "data": str(options.file), "scheme": options.scheme, **result.as_json()}
            ),
            end="",
        )
    else:
        show_quality(result, screen(), full=True)
