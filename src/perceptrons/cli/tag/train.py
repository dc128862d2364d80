"""`perceptrons tag train`: trains a tagger on a file, tests it, saves it and shows the results."""

import sys
from typing import TYPE_CHECKING, Any

from perceptrons.cli.cluster import check_options
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, load_tagger, save_model
from perceptrons.cli.inputs import check_test
from perceptrons.cli.options import CLUSTERS, OF_FILE, TAGGER_RULE, given, takes, typed
from perceptrons.cli.screen import Waiting, as_json, screen
from perceptrons.cli.tag.corpus import (
    check_labels,
    corpus_for,
    corpus_like,
    corpus_to_begin,
    heal_labels,
    metric_of,
    read_templates,
    templates_file,
)
from perceptrons.engine.training.base import learner_of

if TYPE_CHECKING:
    from perceptrons import SequencePerceptron
    from perceptrons.data.corpus import Corpus

SHARE = 0.1  # of the sentences, held out as a test
OF_A_NEW_ONE = ("templates", "min_count", "hash_bits")  # cannot be changed later


@takes(
    "file", "output:tagger", "resume:tagger", "test", "test_share:tagger", "seed:tagger", "label:column", "columns",
    *OF_FILE, "templates", "allowed", "on_bad_label", *TAGGER_RULE[1:], "max_iter:tagger", "tol:tagger",
    "early_stopping:tagger", "dev:stopping", "metric:stopping", "max_seconds", *CLUSTERS, "quiet", "verbose", "json",
)  # fmt: skip
def train(asked: Any) -> None:
    """Train a tagger, test it on sentences it has not seen, and show the results.

    FILE has a format like CoNLL-2000, CoNLL-2003, CoNLL-U or WNUT. The label is in the last column, unless you give
    --label.

    With --workers or --dask, it trains on shards of the sentences in several processes or machines, and averages their
    weights.
    """
    check_test(asked)
    for name in given(asked, ("dev", "metric")):
        if not asked.early_stopping:
            raise BadInputError(f"{typed(name)} is for early stopping: add --early-stopping, or leave it out.")
    on_cluster = check_options(asked)
    if on_cluster and asked.dev is not None:
        raise BadInputError(
            f"--dev cannot be combined with {on_cluster}: every shard holds out some of its own sentences for "
            "--early-stopping."
        )
    templates = templates_file(asked.templates)
    check_output(
        asked.output, asked.file, asked.test, asked.dev, templates
    )  # not the one to resume: it may be written again
    from perceptrons.cli.tag.run import Run, show, summary
    from perceptrons.data.corpus import split_corpus

    seed = asked.seed or 0
    if asked.resume is None:
        tagger = new_tagger(asked)
        corpus = corpus_to_begin(asked.file, asked)
        check_labels(corpus)
        tagger.templates = read_templates(asked.templates, corpus.names)
    else:
        tagger = resumed(asked)
        corpus = corpus_for(tagger, asked.file, asked)
        seed = learner_of(tagger).seed if asked.seed is None else asked.seed
    corpus, healed = heal_labels(corpus, tagger.allowed, asked.on_bad_label.value)
    test = None if asked.test is None else corpus_like(corpus, asked.test, asked)
    part, held_out, said = split_corpus(corpus, test, SHARE if asked.test_share is None else asked.test_share, seed)
    if asked.early_stopping:
        tagger.set_params(validation_metric=metric_of(corpus, asked))
    dev = None if asked.dev is None else corpus_like(corpus, asked.dev, asked)
    told: dict[str, Any] = {}
    if on_cluster is None:
        learn(tagger, part, asked, dev)
    else:
        told = learn_on_shards(tagger, part, asked)
    tagger.label_column_ = corpus.label_column
    if asked.output is not None:
        save_model(tagger, asked.output)
    run = Run(tagger, part, held_out, said, healed, asked, told)
    if asked.json:
        print(as_json(summary(run)), end="")
    elif not asked.quiet:
        show(run, screen())


def parameters(asked: Any) -> dict[str, Any]:
    """Those of the parameters that were given."""
    told = given(asked, (*TAGGER_RULE, "max_iter", "tol", "max_seconds"))
    return told | ({"tol": None} if asked.tol == 0 else {})


def new_tagger(asked: Any) -> "SequencePerceptron":
    """The tagger that the options ask for; parameters that it cannot have are refused."""
    from perceptrons import SequencePerceptron
    from perceptrons.sequence.choices import check_choices

    tagger = SequencePerceptron(**parameters(asked), random_state=asked.seed or 0, early_stopping=asked.early_stopping)
    with refusing(ValueError):
        check_choices(tagger)
    return tagger


def resumed(asked: Any) -> "SequencePerceptron":
    """The tagger to keep training: as it was, except for the options given."""
    from perceptrons.sequence.choices import check_choices

    tagger = load_tagger(asked.resume, instead="train")
    for name in given(asked, OF_A_NEW_ONE):
        raise BadInputError(
            f"{typed(name)} cannot change with --resume: the features of {asked.resume} are already fixed."
        )
    tagger.set_params(**parameters(asked), early_stopping=asked.early_stopping or tagger.early_stopping)
    with refusing(ValueError):
        check_choices(tagger)
    return tagger


def learn(tagger: "SequencePerceptron", corpus: "Corpus", asked: Any, dev: "Corpus | None" = None) -> None:
    """Fit the tagger, from where it is; a spinner turns meanwhile if somebody is watching."""
    tagger.set_params(warm_start=True, verbose=int(asked.verbose and not asked.quiet))
    waiting = Waiting("Training ...", shown=not (asked.quiet or asked.json or asked.verbose))
    with waiting, refusing(ValueError, OverflowError, about=corpus.file.path):
        validation: dict[str, Any] = {} if dev is None else {"X_val": dev.sentences, "y_val": dev.labels}
        tagger.fit(corpus.sentences, corpus.labels, **validation)
    tagger.set_params(warm_start=False, verbose=0)  # a saved tagger should behave wherever it is loaded


def learn_on_shards(tagger: "SequencePerceptron", corpus: "Corpus", asked: Any) -> dict[str, Any]:
    """Fit the tagger on the workers, from where it is; what there is to say of them."""
    from perceptrons.cli.cluster import learn_on_cluster
    from perceptrons.cli.progress import MixingWatch

    said = not (asked.quiet or asked.json)
    watching: Any = MixingWatch(
        tagger, tagger.max_iter, [], lines=False, needed=asked.output is not None,
        live=(asked.verbose and not asked.quiet) or (sys.stderr.isatty() and said),
    )  # fmt: skip
    tagger.set_params(warm_start=True)
    with refusing(ValueError, OverflowError, about=corpus.file.path):
        told = learn_on_cluster(tagger, corpus.sentences, {"y": corpus.labels}, asked, None, watching, None)
    tagger.set_params(warm_start=False)
    return told
