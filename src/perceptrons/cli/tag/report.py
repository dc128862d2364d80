"""What `perceptrons tag train` says when it is done, for people and for machines."""

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.run import mistakes
from perceptrons.cli.screen import count, heading, listed, percent
from perceptrons.cli.tag.corpus import first_broken
from perceptrons.cli.tag.inside import facts
from perceptrons.cli.tag.marks import Marks, mark, show_marks
from perceptrons.inspection.wording import settings, why_it_stopped

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons import SequencePerceptron
    from perceptrons.cli.tag.corpus import Corpus
    from perceptrons.sequence.allowed import Healed


@dataclass
class Run:
    """A finished training: the tagger, what it learned from, what it is tested on (None: nothing), where it went."""

    tagger: "SequencePerceptron"
    corpus: "Corpus"
    held_out: "Corpus | None"
    split: str
    healed: "Healed | None"  # what was done about labels that are not allowed
    path: Path
    output: Path | None
    resumed: Path | None
    on_data: str  # the command that learns from the same data
    by_rule: str  # the options that say how it learned

    @cached_property
    def training(self) -> Marks:
        return mark(self.tagger, self.corpus)

    @cached_property
    def test(self) -> Marks | None:
        return None if self.held_out is None else mark(self.tagger, self.held_out)


def summary(run: Run) -> dict[str, Any]:
    """Everything as JSON knows it."""
    test = run.test
    return {
        "data": str(run.path),
        "model": None if run.output is None else str(run.output),
        "resumed": None if run.resumed is None else str(run.resumed),
        "label_column": run.corpus.label_name,
        "sentences": len(run.corpus.sentences),
        "tokens": run.corpus.n_tokens,
        "test_sentences": 0 if run.held_out is None else len(run.held_out.sentences),
        "skipped_sentences": 0 if run.healed is None else run.healed.skipped,
        "repaired_labels": 0 if run.healed is None else run.healed.repaired,
        **facts(run.tagger),
        "history": run.tagger.history_,
        "train_accuracy": run.training.quality.accuracy,
        "test_accuracy": None if test is None else test.quality.accuracy,
        "test": None if test is None else test.as_json(),
    }


def show(run: Run, console: "Console") -> None:
    """The report for people."""
    tagger, labels = run.tagger, run.tagger.classes_.tolist()
    console.print(f"{run.corpus.file.path}\n{run.split}", markup=False)
    if run.healed is not None:
        console.print(what_was_done(run.healed), markup=False)
    console.print(
        f"It sees {listed(run.corpus.names)} ({count(tagger.n_features_in_, 'feature')}) and learns "
        f"{run.corpus.label_name}: {count(len(labels), 'label')} ({listed(labels, 4)})",
        markup=False,
    )
    if run.resumed is not None:
        console.print(f"Goes on with {run.resumed}", markup=False)
    if changed := settings(tagger):
        console.print(f"Settings: {changed}", markup=False)
    console.print(heading("Sentences with a mistake while learning"), mistakes(tagger, console))
    seconds = sum(row["seconds"] for row in tagger.history_)
    console.print(
        f"\nStopped after {count(tagger.n_iter_, 'epoch')} in {seconds:.2f} s. {why_it_stopped(tagger)}", markup=False
    )
    console.print(f"Training accuracy {percent(run.training.quality.accuracy, 2)}", markup=False)
    if run.test is not None:
        show_marks(run.test, console, title="Test accuracy")
    if run.output is not None:
        console.print(f"\nSaved as {run.output}", markup=False, soft_wrap=True)
    console.print(heading("What to try next"))
    for command, why in suggestions(run):
        console.print(f"  {command}", markup=False, soft_wrap=True, style="cyan")
        console.print(f"      {why}", markup=False, style="dim")


def what_was_done(healed: "Healed") -> str:
    """About labels that are not allowed where they stand."""
    if healed.skipped:
        return f"Skipped {count(healed.skipped, 'sentence')}, labels not allowed in that order"
    if healed.repaired:
        return f"Repaired {count(healed.repaired, 'label')}, not allowed in that order"
    return "All labels are allowed in their order: nothing to skip or repair"


def suggestions(run: Run) -> list[tuple[str, str]]:
    """At most three commands that make sense after this run, each with its reason."""
    tagger, found = run.tagger, []
    resumed = "" if run.resumed is None else f" --resume {shlex.quote(str(run.resumed))}"
    again = run.on_data + run.by_rule + resumed
    if run.output is None:
        name = "tagger" if str(run.path) == "-" else run.path.name.split(".")[0]
        found.append((f"{again} -o {shlex.quote(f'{name}.model')}", "save the tagger, to tag and evaluate with it"))
    else:
        saved = shlex.quote(str(run.output))
        found.append((f"perceptrons tag predict {saved} NEW-FILE", "the file again, with labels"))
        found.append((f"perceptrons inspect {saved}", "look at the features and transitions that tell most"))
    if tagger.stop_reason_ == "max_iter" and run.training.sentences.right < run.training.sentences.total:
        if run.output is not None:
            saved = shlex.quote(str(run.output))
            found.append((f"{run.on_data} --resume {saved} -o {saved}", "it had not settled: let it go on"))
        else:
            found.append((f"{again} --max-iter {2 * tagger.max_iter}", "it had not settled: give it more epochs"))
    if run.training.phrases is not None and tagger.allowed is None and first_broken(run.corpus, "bio") is None:
        found.append((f"{again} --allowed bio", "let no phrase begin with I-"))
    elif tagger.cost is None:
        found.append((f"{again} --cost hamming", "ask for a lead that grows with the number of wrong labels"))
    return found[:3]
