"""`perceptrons tag train`: reads sentences, fits a tagger, and reports the result."""

import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from perceptrons.cli.cluster import check_cluster_options, cluster_option, fit_on_workers
from perceptrons.cli.files import check_output, load_tagger, refusing, save_model
from perceptrons.cli.messages import BadInputError
from perceptrons.cli.options import CLUSTER_PARAMETERS, command_text, given, refuse_both, typed
from perceptrons.cli.progress import MixingProgress
from perceptrons.cli.screen import Screen, Waiting, heading, print_result
from perceptrons.cli.tag import corpora
from perceptrons.cli.tag.evaluate import measure, show_quality
from perceptrons.cli.tag.options import TagTrainOptions
from perceptrons.cli.training_result import Suggestion, describe_stop, mistakes_table, show_cluster
from perceptrons.data.conll import Corpus, split_corpus
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.wording import count, in_percent, listed, settings
from perceptrons.inspection.summary import tagger_facts
from perceptrons.inspection.taggers import TaggerQuality
from perceptrons.sequence import SequencePerceptron
from perceptrons.sequence.allowed import Healed
from perceptrons.sequence.estimator import check_choices

TEST_SHARE = 0.1  # of the sentences
FIXED_BY_TAGGER = ("templates", "min_count", "hash_bits")
TAGGER_PARAMETERS = ("allowed", "combine", "step", "C", "margin", "cost", "min_count", "hash_bits")
DATA_OPTIONS = (
    "comments", "label", "columns", "format", "separator", "encoding", "test", "test_share", "seed",
    *CLUSTER_PARAMETERS,
)  # fmt: skip


def train(options: TagTrainOptions) -> None:
    """Run `perceptrons tag train`."""
    check(options)
    tagger, sentences = read(options)
    result = TaggerResult(tagger, sentences, options, fit(tagger, sentences, options))
    print_result(options, result.to_dict, result.show)


def check(options: TagTrainOptions) -> None:
    """Refuse options that do not go together, and files that cannot be written, before any work is done."""
    refuse_both(options, "test", ("test_share",), "give a test file, or a share to hold out")
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

    train: Corpus
    test: Corpus | None
    dev: Corpus | None
    split: str
    healed: Healed | None


def read(options: TagTrainOptions) -> tuple[SequencePerceptron, Sentences]:
    """Return a tagger to train, new or from --resume, and the sentences to train and test it on."""
    seed, tagger = options.seed or 0, make_tagger(options)
    if options.resume is None:
        corpus, healed = corpora.corpus_to_begin(tagger, options)
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


def make_tagger(options: TagTrainOptions) -> SequencePerceptron:
    """Return a new tagger, or that of --resume as it was, except for the options that are given."""
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


def fit(tagger: SequencePerceptron, sentences: Sentences, options: TagTrainOptions) -> dict[str, Any]:
    """Fit the tagger from where it is, and save it; return facts about the cluster, if there is one."""
    train_set, dev, cluster = sentences.train, sentences.dev, dict[str, Any]()
    tagger.set_params(warm_start=True)
    with refusing(ValueError, OverflowError, about=train_set.file.path):
        if cluster_option(options) is not None:
            progress = MixingProgress(tagger, options, tagger.max_iter)
            cluster = fit_on_workers(tagger, train_set.sentences, {"y": train_set.labels}, options, progress)
        else:
            tagger.set_params(verbose=int(options.verbose and not options.quiet))
            validation: dict[str, Any] = {} if dev is None else {"X_val": dev.sentences, "y_val": dev.labels}
            with Waiting("Training ...", options, options.verbose):
                tagger.fit(train_set.sentences, train_set.labels, **validation)
            tagger.set_params(verbose=0)  # a saved tagger should behave wherever it is loaded
    tagger.set_params(warm_start=False)
    tagger.label_column_ = train_set.label_column
    save_model(tagger, options.output)
    return cluster


# ---- report


@dataclass
class TaggerResult:
    """A finished training: everything that its text and its JSON say. cluster: facts about the workers, if any."""

    tagger: SequencePerceptron
    sentences: Sentences
    options: TagTrainOptions
    cluster: dict[str, Any]

    @cached_property
    def training(self) -> TaggerQuality:
        return measure(self.tagger, self.sentences.train)

    @cached_property
    def test(self) -> TaggerQuality | None:
        return None if self.sentences.test is None else measure(self.tagger, self.sentences.test)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        test, options, sentences = self.test, self.options, self.sentences
        return {
            "data": str(options.file),
            "model": None if options.output is None else str(options.output),
            "resumed": None if options.resume is None else str(options.resume),
            "sentences": len(sentences.train.sentences),
            "tokens": sentences.train.n_tokens,
            "test_sentences": 0 if sentences.test is None else len(sentences.test.sentences),
            "skipped_sentences": 0 if sentences.healed is None else sentences.healed.skipped,
            "repaired_labels": 0 if sentences.healed is None else sentences.healed.repaired,
            **tagger_facts(self.tagger),
            "label_column": sentences.train.label_name,
            **{name: value for name, value in self.cluster.items() if name != "bound"},
            "history": self.tagger.history_,
            "train_accuracy": self.training.quality.accuracy,
            "train_phrase_f1": self.training.phrase_f1,
            "test_accuracy": None if test is None else test.quality.accuracy,
            "test_phrase_f1": None if test is None else test.phrase_f1,
            "test": None if test is None else test.as_json(),
        }

    def show(self, console: Screen) -> None:
        """Print the result."""
        tagger, options, sentences, labels = self.tagger, self.options, self.sentences, self.tagger.classes_.tolist()
        console.print(f"{sentences.train.file.path}\n{sentences.split}")
        if sentences.healed is not None:
            console.print(sentences.healed.in_words())
        features = count(tagger.n_features_in_, "feature")
        console.print(
            f"Learned from {listed(sentences.train.names)} ({features}) to predict {sentences.train.label_name}: "
            f"{count(len(labels), 'label')} ({listed(labels, 4)})"
        )
        if self.cluster:
            show_cluster(self.cluster, console)
        if options.resume is not None:
            console.print(f"Keeps training {options.resume}")
        if changed := settings(tagger):
            console.print(f"Settings: {changed}")
        console.print(heading("Sentences with a mistake during training"), mistakes_table(tagger, console))
        console.print(f"\n{describe_stop(tagger, sum(row['seconds'] for row in tagger.history_))}")
        f1 = "" if self.training.phrase_f1 is None else f", phrase F1 {in_percent(self.training.phrase_f1, 2)}"
        console.print(f"Training accuracy {in_percent(self.training.quality.accuracy, 2)}{f1}")
        if self.test is not None:
            show_quality(self.test, console, title="Test accuracy")
        console.show_saved(options.output)
        console.show_suggestions(self.suggestions())

    def suggestions(self) -> list[Suggestion]:
        """Return at most three commands that make sense after this run, each with its reason."""
        tagger, options, training = self.tagger, self.options, self.training
        words = ["perceptrons", "tag", "train", options.file]
        repeated = command_text(
            words, options, (*DATA_OPTIONS, "templates", *TAGGER_PARAMETERS, "on_bad_label", "resume")
        )
        saved = shlex.quote(str(options.output))
        if options.output is None:
            name = "tagger" if str(options.file) == "-" else options.file.name.split(".")[0]
            reason = "save the tagger, to use it with predict and evaluate"
            commands = [(f"{repeated} -o {shlex.quote(f'{name}.model')}", reason)]
            longer = f"{repeated} --max-iter {2 * tagger.max_iter}", "train for more epochs"
        else:
            commands = [
                (f"perceptrons tag predict {saved} NEW-FILE", "write the file repeated, with labels"),
                (f"perceptrons inspect {saved}", "show the most important features and transitions"),
            ]
            on_data = command_text(words, options, DATA_OPTIONS)
            longer = f"{on_data} --resume {saved} -o {saved}", "keep training"
        is_perfect = round(training.quality.accuracy, 4) == 1.0  # shown as 100.00%
        if tagger.stop_reason_ == "max_iter" and not is_perfect:
            commands.append((longer[0], f"the weights were still changing: {longer[1]}"))
        may_begin_inside = training.phrases is not None and tagger.allowed is None
        if may_begin_inside and self.sentences.train.first_broken("bio") is None:
            commands.append((f"{repeated} --allowed bio", "do not let phrases begin with I-"))
        elif tagger.cost is None:
            reason = "require a margin that grows with the number of wrong labels"
            commands.append((f"{repeated} --cost hamming", reason))
        return commands[:3]
