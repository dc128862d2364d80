"""The results of the commands for taggers, as text and as JSON."""

import shlex
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import refusing
from perceptrons.cli.evaluate import MANY, show_classes, show_confusion, show_confusions
from perceptrons.cli.options import CLUSTERS, TAGGER_RULE, command_text
from perceptrons.cli.run import mistakes, show_cluster, stopped
from perceptrons.cli.screen import count, grid, heading, listed, percent, plain, show_suggestions
from perceptrons.engine.wording import settings
from perceptrons.inspection.evaluation import beside
from perceptrons.inspection.tagger_quality import TaggerQuality, measure_tagger
from perceptrons.inspection.tagger_summary import facts
from perceptrons.sequence.phrases import PhraseCounts, PhraseScores

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons import SequencePerceptron
    from perceptrons.data.corpus import Corpus
    from perceptrons.sequence.allowed import Healed

OF_DATA = ("comments", "label:column", "columns", "format:columns", "separator", "encoding:columns", "test",
           "test_share:tagger", "seed:tagger", *CLUSTERS)  # fmt: skip


@dataclass
class Run:
    """A finished training: the tagger, what it learned from, what it is tested on (None: nothing), where it went."""

    tagger: "SequencePerceptron"
    corpus: "Corpus"
    held_out: "Corpus | None"
    split: str
    healed: "Healed | None"  # what was done about labels that are not allowed
    asked: Any  # the options
    cluster: dict[str, Any] = field(default_factory=dict)  # what there is to say of the workers, if any

    @cached_property
    def training(self) -> TaggerQuality:
        return measured(self.tagger, self.corpus)

    @cached_property
    def test(self) -> TaggerQuality | None:
        return None if self.held_out is None else measured(self.tagger, self.held_out)


def summary(run: Run) -> dict[str, Any]:
    """Everything as JSON knows it."""
    test = run.test
    return {
        "data": str(run.asked.file),
        "model": None if run.asked.output is None else str(run.asked.output),
        "resumed": None if run.asked.resume is None else str(run.asked.resume),
        "sentences": len(run.corpus.sentences),
        "tokens": run.corpus.n_tokens,
        "test_sentences": 0 if run.held_out is None else len(run.held_out.sentences),
        "skipped_sentences": 0 if run.healed is None else run.healed.skipped,
        "repaired_labels": 0 if run.healed is None else run.healed.repaired,
        **facts(run.tagger),
        "label_column": run.corpus.label_name,
        **{name: value for name, value in run.cluster.items() if name != "bound"},
        "history": run.tagger.history_,
        "train_accuracy": run.training.quality.accuracy,
        "train_phrase_f1": run.training.phrase_f1,
        "test_accuracy": None if test is None else test.quality.accuracy,
        "test_phrase_f1": None if test is None else test.phrase_f1,
        "test": None if test is None else test.as_json(),
    }


def show(run: Run, console: "Console") -> None:
    """The report for people."""
    tagger, labels = run.tagger, run.tagger.classes_.tolist()
    console.print(f"{run.corpus.file.path}\n{run.split}", markup=False)
    if run.healed is not None:
        console.print(run.healed.in_words(), markup=False)
    console.print(
        f"Learned from {listed(run.corpus.names)} ({count(tagger.n_features_in_, 'feature')}) to predict "
        f"{run.corpus.label_name}: {count(len(labels), 'label')} ({listed(labels, 4)})",
        markup=False,
    )
    if run.cluster:
        show_cluster(run.cluster, console)
    if run.asked.resume is not None:
        console.print(f"Keeps training {run.asked.resume}", markup=False)
    if changed := settings(tagger):
        console.print(f"Settings: {changed}", markup=False)
    console.print(heading("Sentences with a mistake during training"), mistakes(tagger, console))
    seconds = sum(row["seconds"] for row in tagger.history_)
    console.print(f"\n{stopped(tagger, seconds)}", markup=False)
    f1 = run.training.phrase_f1
    of_phrases = "" if f1 is None else f", phrase F1 {percent(f1, 2)}"
    console.print(f"Training accuracy {percent(run.training.quality.accuracy, 2)}{of_phrases}", markup=False)
    if run.test is not None:
        show_quality(run.test, console, title="Test accuracy")
    if run.asked.output is not None:
        console.print(f"\nSaved as {run.asked.output}", markup=False, soft_wrap=True)
    show_suggestions(suggestions(run), console)


def suggestions(run: Run) -> list[tuple[str, str]]:
    """At most three commands that make sense after this run, each with its reason."""
    tagger, found = run.tagger, []
    begin = ["perceptrons", "tag", "train", run.asked.file]
    on_data = command_text(begin, run.asked, OF_DATA)
    again = command_text(begin, run.asked, (*OF_DATA, "templates", *TAGGER_RULE, "on_bad_label", "resume:tagger"))
    if run.asked.output is None:
        name = "tagger" if str(run.asked.file) == "-" else run.asked.file.name.split(".")[0]
        found.append(
            (f"{again} -o {shlex.quote(f'{name}.model')}", "save the tagger, to use it with predict and evaluate")
        )
    else:
        saved = shlex.quote(str(run.asked.output))
        found.append((f"perceptrons tag predict {saved} NEW-FILE", "write the file again, with labels"))
        found.append((f"perceptrons inspect {saved}", "show the most important features and transitions"))
    is_perfect = round(run.training.quality.accuracy, 4) == 1.0  # shown as 100.00%
    if tagger.stop_reason_ == "max_iter" and not is_perfect:
        if run.asked.output is not None:
            saved = shlex.quote(str(run.asked.output))
            found.append((f"{on_data} --resume {saved} -o {saved}", "the weights were still changing: keep training"))
        else:
            found.append(
                (f"{again} --max-iter {2 * tagger.max_iter}", "the weights were still changing: train for more epochs")
            )
    if run.training.phrases is not None and tagger.allowed is None and run.corpus.first_broken("bio") is None:
        found.append((f"{again} --allowed bio", "do not let phrases begin with I-"))
    elif tagger.cost is None:
        found.append((f"{again} --cost hamming", "require a margin that grows with the number of wrong labels"))
    return found[:3]


def measured(tagger: "SequencePerceptron", corpus: "Corpus", scheme: str | None = None) -> TaggerQuality:
    """How good a tagger is on labelled sentences. scheme: count only phrases that keep to it."""
    with refusing(ValueError, about=corpus.file.path):
        return measure_tagger(tagger, corpus.sentences, corpus.labels, corpus.words, scheme)


def show_quality(found: TaggerQuality, console: "Console", title: str = "Accuracy", full: bool = False) -> None:
    """The report for people: with phrases, or else the most frequent confusions; full: with both, or all labels."""
    accuracy = f"{title} {percent(found.quality.accuracy, 2)} ({beside(found.quality)})"
    console.print(accuracy, markup=False, style="bold")
    if found.new_words is not None and found.new_words.total:
        console.print(f"Words not seen in training {found.new_words.in_words('tokens')}", markup=False)
    console.print(f"Sentences without a mistake {found.sentences.in_words('sentences')}", markup=False)
    if found.quality.n_unknown:
        strange = f"{count(found.quality.n_unknown, 'token')} with labels that the tagger does not know"
        console.print(f"{strange}, counted as mistakes: {listed(found.quality.unknown, 5)}", markup=False)
    if found.phrases is not None:
        _show_phrases(found.phrases, console, full)
    elif full:
        show_classes(found.quality, console, "label")
        show_confusion(found.quality, console, "label")
    if full == (found.phrases is not None) and found.quality.right < found.quality.total:
        show_confusions(found.quality, console)


def _show_phrases(phrases: PhraseScores, console: "Console", full: bool) -> None:
    by_type = sorted(phrases.by_type.items(), key=lambda pair: -pair[1].n_true)
    title = "Phrases (right if start, end and type are right)"
    if len(by_type) > MANY:
        title = f"{title}; the {MANY} most frequent of {len(by_type)} types (use --json for all)"
    columns = [(name, "right") for name in ("precision", "recall", "F1", "count", "found")]
    table = grid(("type", "left"), *columns)
    for kind, of in by_type[:MANY]:
        table.row(plain(kind) or "(none)", *_phrase_cells(of))
    table.row("all", *_phrase_cells(phrases), style="bold")
    if full:
        for name, called in (("macro", "macro average"), ("weighted", "weighted average")):
            mean = phrases.averages()[name]
            table.row(called, *(percent(share, 2) for share in mean[:3]), f"{mean.support:,}", "")
    console.print(heading(title), table)


def _phrase_cells(of: PhraseCounts) -> list[str]:
    return [*(percent(share, 2) for share in (of.precision, of.recall, of.f1)), f"{of.n_true:,}", f"{of.n_found:,}"]
