"""`perceptrons tag train`: learn to label tokens from a file, test, save, and say how it went."""

import shlex
import sys
from contextlib import nullcontext
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perceptrons.cli import options as all_options
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, load_tagger, save_model
from perceptrons.cli.screen import as_json, count, screen
from perceptrons.cli.tag import options
from perceptrons.cli.tag.corpus import (
    Corpus,
    Reading,
    check_labels,
    corpus_for,
    corpus_like,
    corpus_to_begin,
    heal_labels,
)
from perceptrons.cli.tag.templates import read_templates, templates_file

if TYPE_CHECKING:
    from perceptrons import SequencePerceptron

Combine = StrEnum("Combine", ["average", "last"])
Step = StrEnum("Step", ["constant", "pa1"])
Scheme = StrEnum("Scheme", ["bio", "bioes"])
Cost = StrEnum("Cost", ["hamming"])
OnBadLabel = StrEnum("OnBadLabel", {"refuse": "raise", "skip": "skip", "repair": "repair"})
Rule = partial(typer.Option, rich_help_panel="How to learn")
Stop = partial(typer.Option, rich_help_panel="When to stop")
SHARE = 0.1  # of the sentences, held out as a test
OF_A_NEW_ONE = ("templates", "min_count", "hash_bits")  # cannot be changed later


def train(
    file: options.File,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="MODEL", readable=False, help="Save the tagger here.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", metavar="MODEL", readable=False, help="Go on with this tagger, on the same FILE or another."
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", readable=False, help="Test on this file.")
    ] = None,
    test_share: Annotated[
        float | None,
        typer.Option(
            "--test-share",
            metavar="SHARE",
            min=0,
            max=0.9,
            help=f"Hold this share of the sentences out as a test; otherwise {SHARE:g}.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", min=0, help="Seed of the split and of the orders; otherwise 0."),
    ] = None,
    label: options.Label = None,
    columns: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    encoding: options.Encoding = "utf-8",
    comments: options.Comments = False,
    templates: Annotated[
        str | None,
        Rule(
            "--templates",
            metavar="WHICH",
            help="Features of a token: words, chunking, or a file with a template a line, as word[-1]|word[0]. "
            "Otherwise a rich set for the columns there are.",
        ),
    ] = None,
    allowed: Annotated[
        Scheme | None,
        Rule("--allowed", metavar="SCHEME", help="Labels follow each other as in bio or bioes only."),
    ] = None,
    on_bad_label: Annotated[
        OnBadLabel,
        Rule(
            "--on-bad-label",
            metavar="WHAT",
            help="What to do with a label that --allowed forbids where it stands, such as I-NP after O: raise an error "
            "(default), skip its sentence, or repair it (I-NP becomes B-NP).",
        ),
    ] = OnBadLabel.refuse,
    combine: Annotated[
        Combine | None, Rule("--combine", metavar="WHICH", help="Weights that label: average (default) or last.")
    ] = None,
    step: Annotated[
        Step | None, Rule("--step", metavar="RULE", help="Length of a step: constant (default), or by the loss: pa1.")
    ] = None,
    C: Annotated[float | None, Rule("--C", metavar="C", help="Aggressiveness (step pa1); otherwise 1.")] = None,
    margin: Annotated[
        float | None,
        Rule("--margin", metavar="M", help="By how much the true labels must lead; otherwise 0, or 1 for pa1."),
    ] = None,
    cost: Annotated[
        Cost | None, Rule("--cost", metavar="COST", help="hamming: lead by 1 more for every wrong label.")
    ] = None,
    min_count: Annotated[
        int | None, Rule("--min-count", metavar="N", min=1, help="Only features that come so often; otherwise 1.")
    ] = None,
    hash_bits: Annotated[
        int | None,
        Rule("--hash-bits", metavar="B", help="Hash features into 2^B numbers: bounded memory, no names."),
    ] = None,
    max_iter: Annotated[
        int | None, Stop("--max-iter", metavar="N", min=1, help="Epochs at most, counted from here; otherwise 10.")
    ] = None,
    tol: Annotated[
        float | None, Stop("--tol", metavar="T", min=0, help="Stop when the average changes by less; otherwise never.")
    ] = None,
    early_stopping: Annotated[
        bool, Stop("--early-stopping", help="Stop when held-out training sentences get no better.")
    ] = False,
    max_seconds: Annotated[float | None, Stop("--max-seconds", metavar="S", help="Stop after this time.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show a live bar while learning.")] = False,
    json: all_options.Json = False,
) -> None:
    """Train a tagger, test it on sentences it has not seen, and say how it went.

    FILE: CoNLL-2000, CoNLL-2003, CoNLL-U, WNUT and their like. The label is in the last column, or as --label says.
    """
    if test is not None and test_share is not None:
        raise BadInputError("--test and --test-share exclude each other: give a test file, or a share to hold out.")
    check_output(output, file, test, templates_file(templates))  # not the one to resume: it may be written again
    from perceptrons.cli.tag.report import Run, show, summary

    rule = {
        "allowed": allowed, "combine": combine, "step": step, "C": C, "margin": margin, "cost": cost,
        "min_count": min_count, "hash_bits": hash_bits,
    }  # fmt: skip
    chosen = {**rule, "max_iter": max_iter, "tol": tol, "max_seconds": max_seconds}
    given = {name: getattr(value, "value", value) for name, value in chosen.items() if value is not None}
    if tol == 0:
        given["tol"] = None
    reading = Reading(separator, format, comments, encoding)
    if resume is None:
        tagger = new_tagger({**given, "random_state": seed or 0, "early_stopping": early_stopping})
        corpus = corpus_to_begin(file, reading, columns, label)
        check_labels(corpus)
        tagger.templates = read_templates(templates, corpus.names)
    else:
        tagger = resumed(resume, given | ({"templates": templates} if templates else {}), early_stopping)
        corpus = corpus_for(tagger, file, reading, columns, label)
    corpus, healed = heal_labels(corpus, tagger.allowed, on_bad_label.value)
    held_out = None if test is None else corpus_like(corpus, test, reading, columns, label)
    share = SHARE if test_share is None else test_share
    part, held_out, said = split(
        corpus, held_out, share, tagger._learner.seed if seed is None and resume else seed or 0
    )
    learn(tagger, part, verbose and not quiet, waiting=not (quiet or json or verbose))
    if output is not None:
        save_model(tagger, output)
    of_data = {
        "label": label, "columns": columns, "format": format, "separator": separator,
        "encoding": None if encoding == "utf-8" else encoding, "test": test, "test_share": test_share, "seed": seed,
    }  # fmt: skip
    way = {"on_bad_label": None if on_bad_label is OnBadLabel.refuse else on_bad_label.value}
    begun = shlex.join(["perceptrons", "tag", "train", str(file), *["--comments"] * comments])
    data, method = (in_words(options) for options in (of_data, {"templates": templates, **rule, **way}))
    run = Run(tagger, part, held_out, said, healed, file, output, resume, begun + data, method)
    if json:
        print(as_json(summary(run)), end="")
    elif not quiet:
        show(run, screen())


def in_words(options: dict[str, Any]) -> str:
    """Options as they are typed, those that were not given left out."""
    given = {name: value for name, value in options.items() if value is not None}
    return "".join(f" --{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in given.items())


def new_tagger(given: dict[str, Any]) -> "SequencePerceptron":
    """The tagger that the options ask for; parameters that it cannot have are refused."""
    from perceptrons import SequencePerceptron
    from perceptrons.sequence.choices import check_choices

    tagger = SequencePerceptron(**given)
    with refusing(ValueError):
        check_choices(tagger)
    return tagger


def resumed(path: Path, given: dict[str, Any], early_stopping: bool) -> "SequencePerceptron":
    """A tagger to go on with: as it was, but for the options given."""
    from perceptrons.sequence.choices import check_choices

    tagger = load_tagger(path, instead="train")
    for name in OF_A_NEW_ONE:
        if name in given:
            raise BadInputError(
                f"--{name.replace('_', '-')} cannot change with --resume: the features of {path} are made already."
            )
    tagger.set_params(**given, early_stopping=early_stopping or tagger.early_stopping)
    with refusing(ValueError):
        check_choices(tagger)
    return tagger


def split(corpus: Corpus, test: Corpus | None, share: float, seed: int) -> tuple[Corpus, Corpus | None, str]:
    """What to learn from, what to test on, and a sentence about it."""
    import numpy as np

    from perceptrons.training.epochs import hold_out

    n = len(corpus.sentences)
    all_of_it = f"{count(n, 'sentence')} ({count(corpus.n_tokens, 'token')}) to learn from"
    if test is not None:
        there = f"{count(len(test.sentences), 'sentence')} ({count(test.n_tokens, 'token')})"
        return corpus, test, f"{all_of_it}; {there} in {test.file.path} to test on"
    if share == 0:
        return corpus, None, f"{all_of_it}, none held out"
    if n * share < 1 or n == 1:
        return corpus, None, f"{all_of_it}: too few to hold {share:.0%} out as a test"
    train, rest = (corpus.part(which) for which in hold_out(np.zeros(n, np.intp), None, share, seed))
    said = (
        f"{count(len(train.sentences), 'sentence')} ({count(train.n_tokens, 'token')}) to learn from; "
        f"{len(rest.sentences):,} ({count(rest.n_tokens, 'token')}) held out as a test ({share:.0%}, seed {seed})"
    )
    return train, rest, said


def learn(tagger: "SequencePerceptron", corpus: Corpus, verbose: bool, waiting: bool) -> None:
    """Fit the tagger, from where it is; a spinner turns meanwhile if somebody is watching."""
    spinner: Any = nullcontext()
    if waiting and sys.stderr.isatty():
        spinner = screen(stderr=True).status("Learning ...")
    tagger.set_params(warm_start=True, verbose=int(verbose))
    with spinner, refusing(ValueError, OverflowError, about=corpus.file.path):
        tagger.fit(corpus.sentences, corpus.labels)
    tagger.set_params(warm_start=False, verbose=0)  # a saved tagger should behave wherever it is loaded
