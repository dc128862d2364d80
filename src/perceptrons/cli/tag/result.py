"""The results of the commands for taggers, as text and as JSON."""

import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perceptrons.cli.evaluate import MAX_CLASSES_SHOWN, show_classes, show_confusion, show_confusions
from perceptrons.cli.files import refusing
from perceptrons.cli.options import CLUSTER_PARAMETERS, command_text
from perceptrons.cli.screen import count, grid, heading, listed, percent, plain, show_saved, show_suggestions
from perceptrons.cli.tag.options import TagTrainOptions
from perceptrons.cli.tag.train import TAGGER_PARAMETERS, Sentences
from perceptrons.cli.training_result import describe_stop, mistakes_table, show_cluster
from perceptrons.engine.wording import settings
from perceptrons.inspection.evaluation import describe_accuracy
from perceptrons.inspection.summary import tagger_facts
from perceptrons.inspection.taggers import TaggerQuality
from perceptrons.sequence.phrases import PhraseCounts, PhraseScores

if TYPE_CHECKING:
    from perceptrons import SequencePerceptron
    from perceptrons.cli.consoles import Screen
    from perceptrons.data.conll import Corpus

DATA_OPTIONS = (
    "comments", "label", "columns", "format", "separator", "encoding", "test", "test_share", "seed",
    *CLUSTER_PARAMETERS,
)  # fmt: skip


@dataclass
class TaggerResult:
    """A finished training: everything that its text and its JSON say. cluster: facts about the workers, if any."""

    tagger: "SequencePerceptron"
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

    def show(self, console: "Screen") -> None:
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
        f1 = "" if self.training.phrase_f1 is None else f", phrase F1 {percent(self.training.phrase_f1, 2)}"
        console.print(f"Training accuracy {percent(self.training.quality.accuracy, 2)}{f1}")
        if self.test is not None:
            show_quality(self.test, console, title="Test accuracy")
        show_saved(options.output, console)
        show_suggestions(self.suggestions(), console)

    def suggestions(self) -> list[tuple[str, str]]:
        """Return at most three commands that make sense after this run, each with its reason."""
        tagger, options, training = self.tagger, self.options, self.training
        words = ["perceptrons", "tag", "train", options.file]
        rule = ("templates", *TAGGER_PARAMETERS, "on_bad_label", "resume")
        repeated = command_text(words, options, (*DATA_OPTIONS, *rule))
        saved = shlex.quote(str(options.output))
        longer = (
            f"{repeated} --max-iter {2 * tagger.max_iter}",
            "the weights were still changing: train for more epochs",
        )
        if options.output is None:
            name = "tagger" if str(options.file) == "-" else options.file.name.split(".")[0]
            reason = "save the tagger, to use it with predict and evaluate"
            commands = [(f"{repeated} -o {shlex.quote(f'{name}.model')}", reason)]
        else:
            commands = [
                (f"perceptrons tag predict {saved} NEW-FILE", "write the file repeated, with labels"),
                (f"perceptrons inspect {saved}", "show the most important features and transitions"),
            ]
            on_data = command_text(words, options, DATA_OPTIONS)
            longer = f"{on_data} --resume {saved} -o {saved}", "the weights were still changing: keep training"
        is_perfect = round(training.quality.accuracy, 4) == 1.0  # shown as 100.00%
        if tagger.stop_reason_ == "max_iter" and not is_perfect:
            commands.append(longer)
        may_begin_inside = training.phrases is not None and tagger.allowed is None
        if may_begin_inside and self.sentences.train.first_broken("bio") is None:
            commands.append((f"{repeated} --allowed bio", "do not let phrases begin with I-"))
        elif tagger.cost is None:
            commands.append(
                (f"{repeated} --cost hamming", "require a margin that grows with the number of wrong labels")
            )
        return commands[:3]


def measure(tagger: "SequencePerceptron", corpus: "Corpus", scheme: str | None = None) -> TaggerQuality:
    """Measure a tagger on labelled sentences. scheme: count only phrases of it."""
    with refusing(ValueError, about=corpus.file.path):
        return TaggerQuality(tagger, corpus.sentences, corpus.labels, corpus.words, scheme)


def show_quality(result: TaggerQuality, console: "Screen", title: str = "Accuracy", full: bool = False) -> None:
    """Print the quality: with phrases, or else the most frequent confusions; full: with both, or all labels."""
    accuracy = f"{title} {percent(result.quality.accuracy, 2)} ({describe_accuracy(result.quality)})"
    console.print(accuracy, style="bold")
    if result.new_words is not None and result.new_words.total:
        console.print(f"Words not seen in training {result.new_words.describe('tokens')}")
    console.print(f"Sentences without a mistake {result.sentences.describe('sentences')}")
    if result.quality.n_unknown:
        unknown = f"{count(result.quality.n_unknown, 'token')} with labels that the tagger does not know"
        console.print(f"{unknown}, counted as mistakes: {listed(result.quality.unknown, 5)}")
    if result.phrases is not None:
        _show_phrases(result.phrases, console, full)
    elif full:
        show_classes(result.quality, console, "label")
        show_confusion(result.quality, console, "label")
    if full == (result.phrases is not None) and result.quality.right < result.quality.total:
        show_confusions(result.quality, console)


def _show_phrases(phrases: PhraseScores, console: "Screen", full: bool) -> None:
    by_type = sorted(phrases.by_type.items(), key=lambda pair: -pair[1].n_true)
    title = "Phrases (right if start, end and type are right)"
    if len(by_type) > MAX_CLASSES_SHOWN:
        title = f"{title}; the {MAX_CLASSES_SHOWN} most frequent of {len(by_type)} types (use --json for all)"
    columns = [f">{name}" for name in ("precision", "recall", "F1", "count", "found")]
    table = grid("type", *columns)
    for kind, of in by_type[:MAX_CLASSES_SHOWN]:
        table.row(plain(kind) or "(none)", *_phrase_cells(of))
    table.row("all", *_phrase_cells(phrases), style="bold")
    if full:
        for name, called in (("macro", "macro average"), ("weighted", "weighted average")):
            mean = phrases.averages()[name]
            table.row(called, *(percent(share, 2) for share in mean[:3]), f"{mean.support:,}", "")
    console.print(heading(title), table)


def _phrase_cells(of: PhraseCounts) -> list[str]:
    return [*(percent(share, 2) for share in (of.precision, of.recall, of.f1)), f"{of.n_true:,}", f"{of.n_found:,}"]
