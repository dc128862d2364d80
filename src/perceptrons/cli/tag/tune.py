"""`perceptrons tag tune`: tunes the hyperparameters of a tagger on a validation set, trains it and tests it once."""

from pathlib import Path
from typing import Any

from perceptrons.cli.files import check_folder, check_output, refusing, save_model
from perceptrons.cli.hold_out import check_split, find_ledger, make_parts
from perceptrons.cli.messages import BadInputError, plain
from perceptrons.cli.models import read_grid
from perceptrons.cli.options import given
from perceptrons.cli.screen import print_result
from perceptrons.cli.tag import corpora
from perceptrons.cli.tag.options import TagTuneOptions
from perceptrons.cli.tune import find_best, show
from perceptrons.data.conll import Corpus
from perceptrons.engine.wording import count
from perceptrons.inspection.summary import tagger_facts
from perceptrons.sequence import SequencePerceptron
from perceptrons.sequence.estimator import check_choices

FIXED = ("allowed", "combine", "cost", "min_count", "hash_bits")  # the same for all settings


def tune(options: TagTuneOptions) -> None:
    """Run `perceptrons tag tune`."""
    check_split(options)
    check_output(options.output, options.file, options.dev, options.test, corpora.templates_file(options.templates))
    check_folder(options.output)
    ledger = find_ledger(options)
    tagger = SequencePerceptron(**given(options, (*FIXED, "max_iter")), random_state=options.seed)
    with refusing(ValueError):
        check_choices(tagger)
    settings = read_grid(options.grid, tagger)
    corpus, healed = corpora.corpus_to_begin(tagger, options)
    parts = make_parts(options, lambda path: sentences_like(corpus, path, options))
    result = find_best(
        options, str(corpus.file.path), tagger, corpus.sentences, corpus.labels,
        with_templates(settings, corpus.names), **parts, metric=corpora.choose_metric(corpus, options.metric),
        ledger=ledger,
    )  # fmt: skip
    result.model.label_column_ = corpus.label_column
    save_model(result.model, options.output)
    about = [f"{corpus.file.path}: {count(len(corpus.sentences), 'sentence')}, {count(corpus.n_tokens, 'token')}"]
    about += [] if healed is None else [healed.in_words()]
    saved = {"data": str(options.file), "model": None if options.output is None else str(options.output)}
    print_result(
        options,
        lambda: {**saved, **result.to_dict(), **tagger_facts(result.model)},
        lambda console: show(result, "\n".join(about), options.output, console, "sentence"),
    )


def with_templates(settings: Any, columns: list[str]) -> Any:
    """Return the settings with templates instead of their names."""
    if isinstance(settings, str):
        return settings
    settings = [dict(setting) for setting in settings]
    for setting in settings:
        for name in setting.get("templates", []):
            if not isinstance(name, str):
                raise BadInputError(f"--grid: templates {plain(name, 40)}: give names, as for --templates.")
        if "templates" in setting:
            setting["templates"] = [corpora.read_templates(name, columns) for name in setting["templates"]]
    return settings


def sentences_like(corpus: Corpus, path: Path, options: TagTuneOptions) -> tuple[Any, Any]:
    """Return the sentences and labels of another file."""
    more = corpora.corpus_like(corpus, path, options)
    return more.sentences, more.labels
