"""Reads the sentences of a file: the input columns of a tagger, and the column of the labels."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from perceptrons.cli.files import refusing, refusing_to_open
from perceptrons.cli.messages import BadInputError, plain
from perceptrons.cli.tag.options import (
    LabelledFileOptions,
    OnBadLabel,
    TaggerMetric,
    TaggerOptions,
    TokenFileOptions,
)
from perceptrons.data import DataFileError
from perceptrons.data.conll import CONLLU, ColumnFile, Corpus, column_names, column_places, read_conll
from perceptrons.engine.wording import count, listed
from perceptrons.sequence import FeatureTemplates, SequencePerceptron
from perceptrons.sequence.allowed import Healed, check_way, heal_lists
from perceptrons.sequence.phrases import are_phrase_labels
from perceptrons.sequence.templates import parse

MAX_LABELS = 5000  # a chain with more is hopeless
SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " "}  # as people can type them
TEMPLATE_SETS = ("words", "chunking")  # of templates, by their names
UNIVERSAL_TAGS = frozenset((
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM",
    "VERB", "X",
))  # fmt: skip


# ---- corpora


def column_file(path: Path, options: TokenFileOptions) -> ColumnFile:
    """Read a file of columns."""
    separator = None if options.separator is None else SEPARATORS.get(options.separator, options.separator)
    with refusing(ValueError), refusing_to_open(path):
        return read_conll(
            path, separator, format=options.format, comments=options.comments or None, encoding=options.encoding
        )


def corpus_to_begin(tagger: SequencePerceptron, options: TaggerOptions) -> tuple[Corpus, Healed | None]:
    """Return the sentences that a new tagger learns from, and what was done about bad labels; set its templates."""
    file = column_file(options.file, options)
    label = label_index(file, options.label)
    places = input_columns(file, options.columns, label)
    corpus = _corpus(file, places, column_names(file, places), label)
    check_labels(corpus)
    corpus, healed = heal_labels(corpus, tagger.allowed, options.on_bad_label)
    tagger.templates = read_templates(options.templates, corpus.names)
    return corpus, healed


def corpus_for(tagger: SequencePerceptron, path: Path, options: LabelledFileOptions) -> Corpus:
    """Return labelled sentences for an existing tagger."""
    file = column_file(path, options)
    label = learned_column(file, tagger, "--label") if options.label is None else label_index(file, options.label)
    names = tagger.templates.parsed()[1]
    return _corpus(file, find_columns(file, names, options.columns), names, label)


def corpus_like(corpus: Corpus, path: Path, options: LabelledFileOptions) -> Corpus:
    """Return labelled sentences from another file, to test on."""
    file = column_file(path, options)
    same = options.label is None and file.format == corpus.file.format == "conllu"
    label = corpus.label if same and corpus.label is not None else label_index(file, options.label)
    return _corpus(file, find_columns(file, corpus.names, options.columns), corpus.names, label)


def corpus_to_tag(tagger: SequencePerceptron, path: Path, options: TokenFileOptions, columns: str | None) -> Corpus:
    """Return sentences for a tagger, without labels."""
    file, names = column_file(path, options), tagger.templates.parsed()[1]
    return _corpus(file, find_columns(file, names, columns), names, None)


def _corpus(file: ColumnFile, places: list[int], names: list[str], label: int | None) -> Corpus:
    if label is not None and label in places:
        raise BadInputError(
            f"{file.path}: column {label + 1} is both the label and an input of the tagger, which would give the "
            "label away: give both with --label and --columns."
        )
    corpus = Corpus.of(file, places, names, label)
    if label is not None and (token := corpus.first_missing()) is not None:
        raise BadInputError(
            f"{corpus.place(token)}: the label is missing: add it, or name the right column with --label."
        )
    return corpus


def check_labels(corpus: Corpus) -> None:
    """Refuse labels that are all the same, or nearly all different."""
    labels = set(chain.from_iterable(corpus.labels))
    about, n = f"{corpus.file.path}: {corpus.label_name}", corpus.n_tokens
    if len(labels) == 1:
        raise BadInputError(
            f"{about} has only one label, {plain(min(labels))}, but a tagger needs at least two: name the right "
            "column with --label."
        )
    if len(labels) > MAX_LABELS or (len(labels) > 20 and len(labels) > n / 5):
        raise BadInputError(
            f"{about} has {len(labels):,} different values for {count(n, 'token')}, so these do not look like "
            "labels: name the right column with --label."
        )


def heal_labels(corpus: Corpus, allowed: Any, on_bad_label: OnBadLabel) -> tuple[Corpus, Healed | None]:
    """Return the corpus without label sequences that --allowed forbids, by the method of --on-bad-label."""
    with refusing(ValueError):
        check_way(on_bad_label, allowed)
    if allowed is None:
        return corpus, None
    if on_bad_label == "raise":
        if (violation := corpus.first_broken(allowed)) is not None:
            token, problem = violation
            is_scheme = isinstance(allowed, str)
            rule = f"--allowed {allowed}" if is_scheme else "the tagger"
            raise BadInputError(
                f"{corpus.place(token)}: {problem}, which {rule} forbids: correct the label, add "
                f"--on-bad-label skip{' or repair' * is_scheme}, or leave --allowed out."
            )
        return corpus, None
    labels, healed = heal_lists(corpus.labels, allowed, on_bad_label)
    retained = corpus if healed.kept is None else corpus.part(healed.kept.tolist())
    if not retained.sentences:
        raise BadInputError(
            f"{corpus.file.path}: every sentence has a label that --allowed forbids, so --on-bad-label skip leaves "
            "no training data: check --label and --allowed."
        )
    return replace(retained, labels=labels), healed


def choose_metric(corpus: Corpus, metric: TaggerMetric | None) -> TaggerMetric:
    """Return the metric of --metric, or one that fits the labels."""
    phrases = are_phrase_labels(set(chain.from_iterable(corpus.labels)))
    if metric is None:
        return "phrase_f1" if phrases else "accuracy"
    if metric == "phrase_f1" and not phrases:
        raise BadInputError(
            f"{corpus.file.path}: --metric phrase_f1 needs labels that mark phrases, such as B-NP, I-NP and O, but "
            f"{corpus.label_name} has other labels: use --metric accuracy, or name the right column with --label."
        )
    return metric


# ---- columns


def column_index(file: ColumnFile, option: str, column: str) -> int:
    """Return the index, from 0, of the column that an option names."""
    with refusing(DataFileError, about=f"{option} {plain(column)}"):
        return file.column_number(column)


def label_index(file: ColumnFile, column: str | None) -> int:
    """Return the column of the label: the last one, or that of universal parts of speech in CoNLL-U."""
    if column is None:
        column = "upos" if file.format == "conllu" else "-1"
    return column_index(file, "--label", column)


def input_columns(file: ColumnFile, columns: str | None, label: int) -> list[int]:
    """Return the columns that a new tagger learns from."""
    if columns is not None:
        places = _parse_columns(file, columns)
    else:
        places = [file.column_number("form")] if file.format == "conllu" else list(range(label))
    if not places:
        if file.n_columns == 1:
            raise BadInputError(
                f"{file.path}: there is only one column, but a tagger learns from words and labels: give a file with "
                "both, or give the separator of the columns with --separator."
            )
        raise BadInputError(
            f"{file.path}: the label is column {label + 1}, and there is no column left of it: name the columns to "
            "learn from with --columns."
        )
    return places


def find_columns(file: ColumnFile, names: list[str], columns: str | None) -> list[int]:
    """Return the columns that a tagger knows by these names."""
    if columns is not None:
        places = _parse_columns(file, columns)
        if len(places) != len(names):
            number = count(len(places), "column")
            raise BadInputError(
                f"--columns {plain(columns)}: {number}, but the tagger needs {len(names)}: {listed(names)}."
            )
    elif (by_name := column_places(file, names)) is not None:
        places = by_name
    elif file.format == "conllu":
        raise BadInputError(
            f"{file.path}: the tagger needs the columns {listed(names)}, which CoNLL-U does not have: name the "
            "columns to use with --columns, for instance --columns form,xpos."
        )
    else:
        raise BadInputError(
            f"{file.path}: the file has {count(file.n_columns, 'column')}, but the tagger needs {len(names)} "
            f"({listed(names)}): use a file with these columns, or give their places with --columns."
        )
    return places


def output_column(file: ColumnFile, tagger: SequencePerceptron, column: str | None) -> int | None:
    """Return the column for predictions, or None for a new last column."""
    if column is not None:
        is_new = file.format == "columns" and column.strip() == str(file.n_columns + 1)
        return None if is_new else column_index(file, "--into", column)
    if file.format == "columns":
        return None
    return learned_column(file, tagger, "--into")


def learned_column(file: ColumnFile, tagger: SequencePerceptron, option: str) -> int:
    """Return the column that a tagger predicts. Old model files do not name it, so its labels decide then."""
    learned = getattr(tagger, "label_column_", None)
    if file.format == "columns":
        number = int(learned) if learned is not None and learned.lstrip("-").isdecimal() else -1
        return label_index(file, str(number if number <= file.n_columns else -1))
    if learned in CONLLU:
        return file.column_number(learned)
    labels = [str(name) for name in tagger.classes_.tolist()]
    if UNIVERSAL_TAGS.issuperset(labels):
        return file.column_number("upos")
    raise BadInputError(
        f"{file.path}: it is not clear which column the tagger's labels ({listed(labels, 3)}) belong to: name it "
        f"with {option}, for instance {option} xpos."
    )


def _parse_columns(file: ColumnFile, columns: str) -> list[int]:
    if not all(name.strip() for name in columns.split(",")):
        raise BadInputError(f"--columns {plain(columns)}: a column is missing: write 1,2 or form,xpos.")
    places = [column_index(file, "--columns", name) for name in columns.split(",")]
    repeated = next((place for place in places if places.count(place) > 1), None)
    if repeated is not None:
        raise BadInputError(f"--columns {plain(columns)}: column {repeated + 1} is given twice.")
    return places


# ---- templates


def templates_file(templates: str | None) -> Path | None:
    """Return the file of --templates, or None if it names a set."""
    return None if templates is None or templates in TEMPLATE_SETS else Path(templates)


def read_templates(text: str | None, columns: list[str]) -> FeatureTemplates:
    """Return the templates for these columns; by default the rich set."""
    path = templates_file(text)
    source = text if path is None else _read_template_file(path, columns)
    templates = FeatureTemplates(source, columns=columns)
    with refusing(ValueError, about=f"--templates {text}"):
        templates.parsed()
    return templates


def _read_template_file(path: Path, columns: list[str]) -> list[str]:
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = f"{error.strerror}".lower() if isinstance(error, OSError) else "not UTF-8 text"
        raise BadInputError(
            f"--templates {path}: {reason}: give {', '.join(TEMPLATE_SETS)}, or a file with one template per line."
        ) from error
    texts = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if text:
            with refusing(ValueError, about=f"{path}:{number}:1"):
                parse(text, columns)
            texts.append(text)
    if not texts:
        raise BadInputError(f"{path}: there is no template in it: write one per line, for instance word[-1]|word[0].")
    return texts
