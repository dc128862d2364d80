"""`perceptrons tag train`: reads sentences, fits a tagger, and reports the result."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perceptrons.cli.cluster import check_cluster_options, cluster_option
from perceptrons.cli.files import check_output, check_test, load_tagger, refusing, save_model
from perceptrons.cli.options import command, given, typed
from perceptrons.cli.screen import BadInputError, Waiting, print_result
from perceptrons.cli.tag import corpora
from perceptrons.cli.tag.options import TagTrainOptions

if TYPE_CHECKING:
    from perceptrons import SequencePerceptron
    from perceptrons.data.conll import Corpus
    from perceptrons.sequence.allowed import Healed

TEST_SHARE = 0.1  # of the sentences
FIXED_BY_TAGGER = ("templates", "min_count", "hash_bits")
TAGGER_PARAMETERS = ("allowed", "combine", "step", "C", "margin", "cost", "min_count", "hash_bits")


@command
def train(options: TagTrainOptions) -> None:
    """Train a tagger, test it on sentences it has not seen, and show the results.

    FILE has a format like CoNLL-2000, CoNLL-2003, CoNLL-U or WNUT. The label is in the last column, unless you give
    --label.

    With --workers or --dask, it trains on shards of the sentences in several processes or machines, and averages their
    weights.
    """
    check(options)
    tagger, sentences = read(options)
    facts = fit(tagger, sentences, options)
    from perceptrons.cli.tag.result import TaggerResult

    result = TaggerResult(tagger, sentences, options, facts)
    print_result(options, result.to_dict, result.show)


def check(options: TagTrainOptions) -> None:
    """Refuse options that do not go together, and files that cannot be written, before any work is done."""
    check_test(options.test, options.test_share)
    for name in given(options, ("dev", "metric")):
        if not options.early_stopping:
            raise BadInputError(f"{typed(name)} is for early stopping: add --early-stopping, or leave it out.")
    check_cluster_options(options)
    if (cluster := cluster_option(options)) is not None and options.dev is not None:
        raise BadInputError(
            f"--dev cannot be combined with {cluster}: every shard holds out some of its own sentences for "
            "--early-stopping."
        )
    # the tagger to resume may be written again
    check_output(options.output, options.file, options.test, options.dev, corpora.templates_file(options.templates))


# ---- read


@dataclass(frozen=True)
class Sentences:
    """The training, test and validation sets; split: their sizes in words; healed: what was done about bad labels."""

    train: "Corpus"
    test: "Corpus | None"
    dev: "Corpus | None"
    split: str
    healed: "Healed | None"


def read(options: TagTrainOptions) -> "tuple[SequencePerceptron, Sentences]":
    """Return a tagger to train, new or from --resume, and the sentences to train and test it on."""
    from perceptrons.data.conll import split_corpus
    from perceptrons.engine.training.base import learner_of

    seed, tagger = options.seed or 0, make_tagger(options)
    if options.resume is None:
        corpus = corpora.corpus_to_begin(options.file, options)
        corpora.check_labels(corpus)
        tagger.templates = corpora.read_templates(options.templates, corpus.names)
    else:
        corpus = corpora.corpus_for(tagger, options.file, options)
        seed = learner_of(tagger).seed if options.seed is None else options.seed
    corpus, healed = corpora.heal_labels(corpus, tagger.allowed, options.on_bad_label)
    test = None if options.test is None else corpora.corpus_like(corpus, options.test, options)
    share = TEST_SHARE if options.test_share is None else options.test_share
    train_set, test_set, split = split_corpus(corpus, test, share, seed)
    if options.early_stopping:
        tagger.set_params(validation_metric=corpora.choose_metric(corpus, options.metric))
    dev = None if options.dev is None else corpora.corpus_like(corpus, options.dev, options)
    return tagger, Sentences(train_set, test_set, dev, split, healed)


def make_tagger(options: TagTrainOptions) -> "SequencePerceptron":
    """Return a new tagger, or that of --resume as it was, except for the options that are given."""
    from perceptrons import SequencePerceptron
    from perceptrons.sequence.choices import check_choices

    if options.resume is None:
        tagger = SequencePerceptron(random_state=options.seed or 0)
    else:
        tagger = load_tagger(options.resume, instead="train")
        for name in given(options, FIXED_BY_TAGGER):
            raise BadInputError(
                f"{typed(name)} cannot change with --resume: the features of {options.resume} are already fixed."
            )
    parameters = given(options, (*TAGGER_PARAMETERS, "max_iter", "tol", "max_seconds"))
    parameters |= {"tol": None} if options.tol == 0 else {}
    tagger.set_params(**parameters, early_stopping=options.early_stopping or tagger.early_stopping)
    with refusing(ValueError):
        check_choices(tagger)
    return tagger


# ---- fit


def fit(tagger: "SequencePerceptron", sentences: Sentences, options: TagTrainOptions) -> dict[str, Any]:
    """Fit the tagger from where it is, and save it; return facts about the cluster, if there is one."""
    train_set, facts = sentences.train, dict[str, Any]()
    tagger.set_params(warm_start=True)
    with refusing(ValueError, OverflowError, about=train_set.file.path):
        if cluster_option(options) is None:
            _fit_here(tagger, sentences, options)
        else:
            facts = _fit_on_workers(tagger, train_set, options)
    tagger.set_params(warm_start=False)
    tagger.label_column_ = train_set.label_column
    save_model(tagger, options.output)
    return facts


def _fit_here(tagger: "SequencePerceptron", sentences: Sentences, options: TagTrainOptions) -> None:
    tagger.set_params(verbose=int(options.verbose and not options.quiet))
    dev = sentences.dev
    validation: dict[str, Any] = {} if dev is None else {"X_val": dev.sentences, "y_val": dev.labels}
    with Waiting("Training ...", options, options.verbose):
        tagger.fit(sentences.train.sentences, sentences.train.labels, **validation)
    tagger.set_params(verbose=0)  # a saved tagger should behave wherever it is loaded


def _fit_on_workers(tagger: "SequencePerceptron", corpus: "Corpus", options: TagTrainOptions) -> dict[str, Any]:
    from perceptrons.cli.cluster import fit_on_workers
    from perceptrons.cli.progress import MixingProgress

    progress = MixingProgress(tagger, options, tagger.max_iter)
    return fit_on_workers(tagger, corpus.sentences, {"y": corpus.labels}, options, progress)
