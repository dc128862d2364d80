"""`perceptrons tag tune`: tunes the hyperparameters of a tagger on a validation set, trains it and tests it once."""

from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_folder, check_output, save_model
from perceptrons.cli.inputs import SHARE
from perceptrons.cli.options import OF_FILE, given, takes
from perceptrons.cli.parameters import grid_of
from perceptrons.cli.screen import Waiting, as_json, count, plain, screen
from perceptrons.cli.tag.corpus import (
    check_labels,
    corpus_like,
    corpus_to_begin,
    heal_labels,
    metric_of,
    read_templates,
    templates_file,
)
from perceptrons.cli.tune import check_shares, ledger_file, refusing_what_is_wrong, show

if TYPE_CHECKING:
    from pathlib import Path

    from perceptrons import SequencePerceptron
    from perceptrons.data.corpus import Corpus

FIXED = ("allowed", "combine:tagger", "cost:tagger", "min_count", "hash_bits:tagger")  # the same for all settings


@takes(
    "file", "output:tagger", "dev", "test", "dev_share", "test_share", "time_order:tagger", "seed", "metric:tagger",
    "grid:tagger", "max_iter:tuned", "no_retrain", "force", "ledger", "jobs", "label:column", "columns", *OF_FILE,
    "templates", *FIXED, "on_bad_label", "quiet", "json",
)  # fmt: skip
def tune(asked: Any) -> None:
    """Tune the hyperparameters of a tagger on a validation set, train it with the best ones, and test it once.

    The sentences are split into a training set, a validation set to choose hyperparameters by, and a test set that is
    used once, at the end. One run per setting finds the number of epochs. A second use of the same test set is refused
    unless you give --force; the results and the tagger then say so.
    """
    check_shares(dev=(asked.dev, asked.dev_share), test=(asked.test, asked.test_share))
    check_output(asked.output, asked.file, asked.dev, asked.test, templates_file(asked.templates))
    check_folder(asked.output)
    where = ledger_file(asked.ledger, asked.quiet)
    tagger = tagger_to_tune(asked)
    settings = grid_of(asked.grid, tagger)
    from perceptrons.inspection.tagger_summary import facts
    from perceptrons.selection import recipe

    corpus = corpus_to_begin(asked.file, asked)
    check_labels(corpus)
    corpus, healed = heal_labels(corpus, tagger.allowed, asked.on_bad_label.value)
    tagger.templates = read_templates(asked.templates, corpus.names)
    waiting = Waiting("Trying settings ...", shown=not (asked.quiet or asked.json))
    with waiting, refusing_what_is_wrong(str(corpus.file.path)):
        found = recipe(
            tagger, corpus.sentences, corpus.labels, with_templates(settings, corpus.names),
            dev=part_of(asked.dev, asked.dev_share, corpus, asked),
            test=part_of(asked.test, asked.test_share, corpus, asked), retrain=not asked.no_retrain,
            random_state=asked.seed, split="time" if asked.time_order else None, metric=metric_of(corpus, asked),
            force=asked.force, ledger=where, n_jobs=asked.jobs,
            tell=lambda setting: waiting.say(f"Tried {setting.describe()}: {setting.score:.4f} ..."),
        )  # fmt: skip
    found.model.label_column_ = corpus.label_column
    if asked.output is not None:
        save_model(found.model, asked.output)
    if asked.json:
        saved = None if asked.output is None else str(asked.output)
        print(as_json({"data": str(asked.file), "model": saved, **found.to_dict(), **facts(found.model)}), end="")
    elif not asked.quiet:
        about = [f"{corpus.file.path}: {count(len(corpus.sentences), 'sentence')}, {count(corpus.n_tokens, 'token')}"]
        about += [] if healed is None else [healed.in_words()]
        show(found, "\n".join(about), asked.output, screen(), "sentence")


def tagger_to_tune(asked: Any) -> "SequencePerceptron":
    """The tagger whose settings are to be found; parameters that it cannot have are refused."""
    from perceptrons import SequencePerceptron
    from perceptrons.sequence.choices import check_choices

    tagger = SequencePerceptron(**given(asked, (*FIXED, "max_iter")), random_state=asked.seed)
    with refusing(ValueError):
        check_choices(tagger)
    return tagger


def with_templates(settings: Any, columns: list[str]) -> Any:
    """The settings with templates instead of their names."""
    if isinstance(settings, str):
        return settings
    for one in settings:
        for name in one.get("templates", []):
            if not isinstance(name, str):
                raise BadInputError(f"--grid: templates {plain(str(name), 40)}: give names, as for --templates.")
    return [
        one
        | ({"templates": [read_templates(name, columns) for name in one["templates"]]} if "templates" in one else {})
        for one in settings
    ]


def part_of(path: "Path | None", share: float | None, corpus: "Corpus", asked: Any) -> Any:
    """A validation or test set as `recipe` takes it: the sentences of a file, or a share."""
    if path is None:
        return SHARE if share is None else share
    more = corpus_like(corpus, path, asked)
    return more.sentences, more.labels
