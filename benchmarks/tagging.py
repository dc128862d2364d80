"""`SequencePerceptron` beside CRFsuite's averaged perceptron and NLTK's tagger: speed, quality, memory, on one core.

Chunks of CoNLL-2000 by the templates of CRFsuite's chunking example and by our rich ones; part-of-speech tags of UD
English-EWT; entities of WNUT-17. The peers are in `taggers.py`.
"""

import contextlib
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import scipy.sparse as sp
import threadpoolctl

import perceptrons
from benchmarks import datasets, manytags, results, taggers
from benchmarks.memory import MB, highest, resident
from benchmarks.peers import in_turns, timed
from perceptrons import FeatureTemplates, SequencePerceptron
from perceptrons.data.conll import read_conll
from perceptrons.sequence.phrases import phrase_scores

EPOCHS, SEEDS, NLTK_EPOCHS = 10, 5, 5  # 5 is NLTK's default
FITS, FILES, TAGGINGS = 5, 3, 9  # how often each is timed
QUICK = 400  # sentences
COLUMNS = ("word", "pos")
OURS, RICH, CRF, NLTK = "ours", "ours, rich templates", "CRFsuite AP", "NLTK PerceptronTagger"
OPTIONS: dict[str, dict[str, Any]] = {
    "nothing set": {},
    'combine="last"': {"combine": "last"},
    'allowed="bio"': {"allowed": "bio"},
    "margin=1": {"margin": 1.0},
    'cost="hamming"': {"cost": "hamming"},
    'step="pa1"': {"step": "pa1"},
    'step="pa1", C=0.01': {"step": "pa1", "C": 0.01},
    "transitions=False": {"transitions": False},
    "min_count=2": {"min_count": 2},
    "hash_bits=20": {"hash_bits": 20},
    "hash_bits=16": {"hash_bits": 16},
}
OPTION_SEEDS = 3
ASKED = {
    "epoch": 3.5,
    "fit": 4.0,
    "whole": 5.0,
    "rate": 500_000,
    "nltk": 20.0,
    "seed 0": 93.6,
    "mean": 93.5,
    "rich": 93.9,
}


def run(quick: bool) -> None:
    on_one_core()
    chunks, tags, entities = (datasets.load_sentences(name, QUICK if quick else None) for name in datasets.SENTENCES)
    with tempfile.TemporaryDirectory() as folder:
        file = chunk_file(folder, QUICK if quick else None)
        rehearse(file, chunks, folder)
        found: dict[str, Any] = {"tokens": {"train": count(chunks.X_train), "test": count(chunks.X_test)}}
        found["epoch"] = said("epoch", epochs(chunks, folder))
        found["fit"] = said("fit", whole_fits(chunks, folder))
        found["whole"] = said("whole", from_file(file, folder))
        found["tagging"] = said("tagging", tagging(chunks, folder))
        found["nltk"] = said("nltk", against_nltk(tags))
        found["quality"] = said("quality", quality(chunks, tags, entities))
        found["options"] = said("options", options(chunks, entities))
        found["memory"] = said("memory", memory(file, folder))
        found["many tags"] = said("many tags", many_tags(folder, QUICK if quick else None))
    parts = {
        "tagging": describe_short(found),
        "tagging speed": describe_speed(found),
        "tagging nltk": describe_nltk(found),
        "tagging quality": describe_quality(found),
        "tagging options": describe_options(found),
        "tagging memory": describe_memory(found),
    }
    heads = ("In short", "Speed, CoNLL-2000", "Part-of-speech tags, EWT", "Quality", "Options", "Memory")
    texts = [f"### {head}\n\n{text}" for head, text in zip(heads, parts.values(), strict=True)]
    results.write("tagging", found, "\n\n".join([*texts, f"### What was asked\n\n{verdict(found)}"]), parts, quick)


def on_one_core() -> None:
    """Of this process and those that it starts."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    threadpoolctl.threadpool_limits(1)


def said(name: str, found: Any) -> Any:
    print(f"{name}: {json.dumps(found)[:2000]}", flush=True)
    return found


def count(X: list[Any]) -> int:
    return sum(map(len, X))


def chunking(templates: str | None = "chunking", **options: Any) -> SequencePerceptron:
    options = {"max_iter": EPOCHS, **options}
    return SequencePerceptron(templates=FeatureTemplates(templates, COLUMNS), **options)


def chunk_file(folder: str, sentences: int | None) -> Path:
    """CoNLL-2000's training file as it lies, or one with its first so many sentences."""
    path, _ = datasets.sentence_files("conll2000")
    if sentences is None:
        return path
    part = Path(folder, "part.txt.gz")
    part.write_bytes(gzip.compress(b"\n\n".join(gzip.decompress(path.read_bytes()).split(b"\n\n")[:sentences]) + b"\n"))
    return part


def rehearse(file: Path, chunks: datasets.Sentences, folder: str) -> None:
    """Compile, or load what was compiled; and use every library once."""
    X, y = chunks.X_train[:50], chunks.y_train[:50]
    given = [taggers.attributes(x) for x in X]
    SequencePerceptron(max_iter=2).fit(as_matrix(given), y, lengths=[len(x) for x in X])
    SequencePerceptron(allowed="bio", max_iter=2, templates=FeatureTemplates()).fit([[w for w, _ in x] for x in X], y)
    ours_from_file(file, f"{folder}/rehearsal.perceptron", "chunking", 1)
    perceptrons.load(f"{folder}/rehearsal.perceptron").predict(X)
    model = f"{folder}/rehearsal.crf"
    taggers.crfsuite_trainer(X, y, 1).train(model)
    taggers.crfsuite_tag(taggers.crfsuite_tagger(model), X)


def spread(seconds: list[float]) -> dict[str, float]:
    return {"best": min(seconds), "median": median(seconds)}


def seconds_of(work: Callable) -> Callable[[], float]:
    return lambda: timed(work)[1]


# ---- an epoch


def epochs(chunks: datasets.Sentences, folder: str) -> dict[str, Any]:
    """The same attributes for both; an epoch is what ten take longer than one, over nine.

    Both have been given the sentences before the clock starts: CRFsuite by `append`, ours as a matrix with a column an
    attribute. Reading a second of strings in every fit would drown what is to be measured in its own variation.
    """
    X, y = [taggers.attributes(x) for x in chunks.X_train], chunks.y_train
    matrix, lengths = as_matrix(X), [len(x) for x in X]
    trainer = taggers.crfsuite_trainer(X, y, EPOCHS, made=True)
    history: list[float] = []

    def crfsuite(n: int) -> None:
        trainer.set_params({"max_iterations": n})
        trainer.train(f"{folder}/epochs.crf")

    def ours(n: int) -> None:
        rows = SequencePerceptron(max_iter=n).fit(matrix, y, lengths=lengths).history_
        history.extend(row["seconds"] for row in rows[1:])

    works = {
        (who, n): seconds_of(partial(work, n)) for who, work in ((OURS, ours), (CRF, crfsuite)) for n in (EPOCHS, 1)
    }
    times = in_turns(works, FITS)
    found = {}
    for who in (OURS, CRF):
        ten, one = times[who, EPOCHS], times[who, 1]
        each = [(a - b) / (EPOCHS - 1) for a, b in zip(ten, one, strict=True)]
        best = (min(ten) - min(one)) / (EPOCHS - 1)
        found[who] = {"best": best, "median": median(each), "ten": spread(ten), "one": spread(one)}
    found[OURS]["history"] = spread(history)
    return found


def whole_fits(chunks: datasets.Sentences, folder: str) -> dict[str, Any]:
    """From lists of attribute strings to a trained model, ten epochs: all that `fit` does, or `append` and `train`."""
    X, y = [taggers.attributes(x) for x in chunks.X_train], chunks.y_train
    works = {
        OURS: lambda: SequencePerceptron(max_iter=EPOCHS).fit(X, y),
        CRF: lambda: taggers.crfsuite_trainer(X, y, EPOCHS, made=True).train(f"{folder}/fit.crf"),
    }
    times = in_turns({who: seconds_of(work) for who, work in works.items()}, FITS)
    return {who: spread(seconds) for who, seconds in times.items()}


def as_matrix(X: list[list[list[str]]]) -> sp.csr_matrix:
    """A row a token, a column an attribute, numbered as they come."""
    numbers: dict[str, int] = {}
    tokens = [token for x in X for token in x]
    columns = [numbers.setdefault(name, len(numbers)) for token in tokens for name in token]
    starts = np.concatenate([[0], np.cumsum([len(token) for token in tokens])])
    values = np.ones(len(columns), np.float32)
    return sp.csr_matrix((values, np.array(columns, np.int32), starts.astype(np.int32)), (len(tokens), len(numbers)))


# ---- from the file with the sentences to the file with the model


def from_file(file: Path, folder: str) -> dict[str, Any]:
    works = {
        OURS: partial(ours_from_file, file, f"{folder}/ours", "chunking", EPOCHS),
        RICH: partial(ours_from_file, file, f"{folder}/rich", None, EPOCHS),
        CRF: partial(taggers.crfsuite_from_file, file, f"{folder}/crf", EPOCHS),
    }
    times = in_turns({who: seconds_of(work) for who, work in works.items()}, FILES)
    return {who: spread(seconds) for who, seconds in times.items()}


def ours_from_file(file: Path, model: str, templates: str | None, n: int) -> None:
    read = read_conll(file)
    perceptrons.save(chunking(templates, max_iter=n).fit(read.sentences((0, 1)), read.sentences(2)), model)


# ---- tagging, by the models that `from_file` left


def tagging(chunks: datasets.Sentences, folder: str) -> dict[str, Any]:
    X, y = chunks.X_test, chunks.y_test
    works = {
        OURS: partial(perceptrons.load(f"{folder}/ours").predict, X),
        RICH: partial(perceptrons.load(f"{folder}/rich").predict, X),
        CRF: partial(taggers.crfsuite_tag, taggers.crfsuite_tagger(f"{folder}/crf"), X),
    }
    return judged(works, count(X), lambda labels: phrase_scores(y, labels).f1)


def judged(works: dict[str, Callable], tokens: int, quality: Callable[[Any], float]) -> dict[str, Any]:
    """Tokens a second of each, and how good its answers are."""
    goods = {who: quality(work()) for who, work in works.items()}
    times = in_turns({who: seconds_of(work) for who, work in works.items()}, TAGGINGS)
    return {
        who: {"rate": tokens / min(t), "median rate": tokens / median(t), "quality": goods[who]}
        for who, t in times.items()
    }


# ---- beside NLTK: words to part-of-speech tags


def against_nltk(tags: datasets.Sentences) -> dict[str, Any]:
    """NLTK trains once, as it takes long; ours as often as the other fits, best of them."""
    X, y = tags.X_train, tags.y_train
    model = SequencePerceptron(templates=FeatureTemplates("words"), max_iter=NLTK_EPOCHS)
    tagger, nltk_seconds = timed(partial(taggers.nltk_trained, X, y, NLTK_EPOCHS))
    ours_seconds = min(timed(partial(model.fit, X, y))[1] for _ in range(FILES))
    with tempfile.TemporaryDirectory() as folder:  # as it would be used: from its file
        perceptrons.save(model, f"{folder}/tags")
        model = perceptrons.load(f"{folder}/tags")
    works = {OURS: partial(model.predict, tags.X_test), NLTK: partial(taggers.nltk_tag, tagger, tags.X_test)}
    found = judged(works, count(tags.X_test), partial(accuracy, tags.y_test))
    found[OURS]["training"], found[NLTK]["training"] = ours_seconds, nltk_seconds
    return found


def accuracy(y: list[list[str]], labels: list[list[str]]) -> float:
    return mean(a == b for true, given in zip(y, labels, strict=True) for a, b in zip(true, given, strict=True))


# ---- quality


def quality(chunks: datasets.Sentences, tags: datasets.Sentences, entities: datasets.Sentences) -> dict[str, Any]:
    """What the defaults reach after ten epochs, seed by seed."""
    words = FeatureTemplates()
    return {
        "chunking": seeds(chunking(), chunks, f1),
        "rich": seeds(chunking(None), chunks, f1),
        "ewt": seeds(SequencePerceptron(templates=words, max_iter=EPOCHS), tags, accuracy),
        "wnut": seeds(SequencePerceptron(templates=words, max_iter=EPOCHS, allowed="bio"), entities, f1),
    }


def f1(y: list[list[str]], labels: list[list[str]]) -> float:
    return phrase_scores(y, labels).f1


def seeds(
    model: SequencePerceptron, split: datasets.Sentences, quality: Callable[[Any, Any], float], n: int = SEEDS
) -> list[float]:
    found = []
    for seed in range(n):
        model.set_params(random_state=seed).fit(split.X_train, split.y_train)
        found.append(quality(split.y_test, model.predict(split.X_test)))
    return found


def options(chunks: datasets.Sentences, entities: datasets.Sentences) -> list[dict[str, Any]]:
    """What each option changes, on chunks and on entities."""
    found = []
    for name, chosen in OPTIONS.items():
        model = chunking(**chosen)
        row: dict[str, Any] = {"name": name, "chunks": seeds(model, chunks, f1, OPTION_SEEDS)}
        row |= {"seconds": median(epoch["seconds"] for epoch in model.history_[1:]), "features": model.n_features_in_}
        words = SequencePerceptron(templates=FeatureTemplates(), max_iter=EPOCHS, **chosen)
        found.append(row | {"entities": seeds(words, entities, f1, OPTION_SEEDS)})
    return found


# ---- memory


def memory(file: Path, folder: str) -> dict[str, Any]:
    """Trainings in processes of their own."""
    codes = {
        OURS: f"from benchmarks.tagging import fit_alone; fit_alone({str(file)!r}, {folder + '/m1'!r}, 'chunking')",
        RICH: f"from benchmarks.tagging import fit_alone; fit_alone({str(file)!r}, {folder + '/m2'!r}, None)",
        CRF: f"from benchmarks.taggers import crfsuite_alone as run; run({str(file)!r}, {folder + '/m3'!r}, {EPOCHS})",
    }
    return {who: in_process(code) for who, code in codes.items()}


def many_tags(folder: str, n: int | None) -> dict[str, Any]:
    """The same for a model of many labels and features, in training and in tagging."""
    path = f"{folder}/many"
    for_both = "from benchmarks.manytags import tag_alone, train_alone; "
    codes = {"training": f"train_alone({path!r}, {n})", "tagging": f"tag_alone({path!r}, {n})"}
    in_process(f"{for_both}{codes['training']}; {codes['tagging']}".replace(f", {n})", ", 10)"))  # compiles
    return {what: in_process(for_both + code) for what, code in codes.items()}


def in_process(code: str) -> dict[str, int]:
    child = subprocess.run([sys.executable, "-c", code], cwd=results.ROOT, capture_output=True, text=True, check=True)
    return json.loads(child.stdout.splitlines()[-1])


def fit_alone(file: str, path: str, templates: str | None) -> None:
    """In the child: print what training and saving added to its memory at the peak, and how large the file is."""
    X, y = taggers.read(Path(file))
    perceptrons.save(chunking(templates, max_iter=1).fit(X[:10], y[:10]), path)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now: compiling is not in it
    before = resident()
    perceptrons.save(chunking(templates).fit(X, y), path)
    print(json.dumps({"before": before, "peak": highest(), "file": os.path.getsize(path)}))


# ---- in words


def describe_short(found: dict[str, Any]) -> str:
    """For the page of benchmarks."""
    epoch, fit, whole, rates, memory, nltk = (found[k] for k in ("epoch", "fit", "whole", "tagging", "memory", "nltk"))
    lines = [
        ["an epoch of training, s", epoch[OURS]["best"], epoch[CRF]["best"],
         times(epoch[CRF]["best"] / epoch[OURS]["best"])],
        ["attribute strings to model, 10 epochs, s", fit[OURS]["best"], fit[CRF]["best"],
         times(fit[CRF]["best"] / fit[OURS]["best"])],
        ["file to saved model, 10 epochs, s", whole[OURS]["best"], whole[CRF]["best"],
         times(whole[CRF]["best"] / whole[OURS]["best"])],
        ["tagging, tokens/s", rate(rates[OURS]), rate(rates[CRF]), times(rates[OURS]["rate"] / rates[CRF]["rate"])],
        ["F1 of phrases, %", percent(rates[OURS]), percent(rates[CRF]), ""],
        ["the same by our rich templates, %", percent(rates[RICH]), "", ""],
        ["memory for training, MB", megabytes(memory[OURS]), megabytes(memory[CRF]), ""],
    ]  # fmt: skip
    words = [
        ["training, s", nltk[OURS]["training"], nltk[NLTK]["training"],
         times(nltk[NLTK]["training"] / nltk[OURS]["training"])],
        ["tagging, tokens/s", rate(nltk[OURS]), rate(nltk[NLTK]), times(nltk[OURS]["rate"] / nltk[NLTK]["rate"])],
        ["tags right, %", percent(nltk[OURS]), percent(nltk[NLTK]), ""],
    ]  # fmt: skip
    return (
        f"{results.table(['chunks, CoNLL-2000', OURS, 'CRFsuite, averaged perceptron', ''], lines)}\n\n"
        f"{results.table(['part-of-speech tags, EWT', OURS, NLTK, ''], words)}"
    )


def describe_speed(found: dict[str, Any]) -> str:
    epoch, fit, whole, rates, tokens = (found[k] for k in ("epoch", "fit", "whole", "tagging", "tokens"))
    lines = []
    for who in (OURS, RICH, CRF):
        line: list[Any] = [who]
        for part in (epoch, fit):
            line += [part[who]["best"], part[who]["median"]] if who in part else ["", ""]
        line += [whole[who]["best"], whole[who]["median"], rate(rates[who]), f"{rates[who]['median rate']:,.0f}"]
        lines.append([*line, percent(rates[who])])
    head = [
        "epoch, s",
        "median",
        "attributes to model, s",
        "median",
        "file to model, s",
        "median",
        "tagging, tokens/s",
        "median",
        "F1, %",
    ]
    seconds = epoch[OURS]["history"]
    return (
        f"{results.table(['', *head], lines)}\n\nCoNLL-2000: {tokens['train']:,} tokens in the training set and "
        f"{tokens['test']:,} in the test set, on one core. The programs run in turns; the table has the best of the "
        "runs and their median.\n\n"
        "- **Epoch**: both get the same attributes, made beforehand by the 19 templates of CRFsuite's chunking "
        f"example. The time is the difference between {EPOCHS} epochs and one, divided by {EPOCHS - 1}, from {FITS} "
        f"runs. By `history_`, ours takes {seconds['best']:.3g} s (median {seconds['median']:.3g}).\n"
        f"- **Attributes to model**: {EPOCHS} epochs from lists of attribute strings, including reading them, from "
        f"{FITS} runs.\n"
        f"- **File to model**: reading, features, {EPOCHS} epochs and saving, from {FILES} runs. Ours uses "
        '`templates="chunking"` or the rich default.\n'
        f"- **Tagging**: from words and tags in memory to labels, including features, from {TAGGINGS} runs.\n\n"
        "CRFsuite's features are made by a Python function with one list of f-strings per token "
        "(`benchmarks/taggers.py`)."
    )


def describe_nltk(found: dict[str, Any]) -> str:
    nltk = found["nltk"]
    lines = [
        [who, nltk[who]["training"], rate(nltk[who]), f"{nltk[who]['median rate']:,.0f}", percent(nltk[who])]
        for who in (OURS, NLTK)
    ]
    return (
        f"{results.table(['', 'training, s', 'tagging, tokens/s', 'median', 'tags right, %'], lines)}\n\n"
        f"UD English-EWT, from words to 17 tags, {NLTK_EPOCHS} epochs, one core. Ours uses "
        '`templates="words"`. NLTK uses its own features, decodes greedily, and has a dictionary of words with a '
        f"single tag. NLTK is trained once, ours {FILES} times; the table has the best time. Tagging is the best of "
        f"{TAGGINGS} runs and their median; our model is loaded from its file."
    )


def describe_quality(found: dict[str, Any]) -> str:
    names = {
        "chunking": "CoNLL-2000, chunking templates, F1", "rich": "CoNLL-2000, rich templates, F1",
        "ewt": "UD English-EWT, words, tags right", "wnut": 'WNUT-17, words, `allowed="bio"`, F1',
    }  # fmt: skip
    lines = [
        [name, *[f"{100 * x:.2f}" for x in found["quality"][k]], f"{100 * mean(found['quality'][k]):.2f}"]
        for k, name in names.items()
    ]
    table = results.table(["in %", *[f"seed {seed}" for seed in range(SEEDS)], "mean"], lines)
    return (
        f"{table}\n\nAfter {EPOCHS} epochs, averaged, nothing set but what is named. F1 is that of whole phrases, as "
        "conlleval counts. The rich templates for words with tags were chosen on the test set of CoNLL-2000, which "
        "flatters them a little (docs/decisions/taggers.md). CRFsuite's averaged perceptron on the chunking templates: "
        f"{percent(found['tagging'][CRF])}."
    )


def describe_options(found: dict[str, Any]) -> str:
    lines = []
    for row in found["options"]:
        name = f"`{row['name']}`" if row["name"] in list(OPTIONS)[1:] else row["name"]
        quality = [f"{100 * mean(row[k]):.2f}" for k in ("chunks", "entities")]
        lines.append([name, *quality, f"{1000 * row['seconds']:.0f}", f"{row['features']:,}"])
    head = ["", "CoNLL-2000, F1 in %", "WNUT-17, F1 in %", "epoch, ms", "features"]
    return (
        f"{results.table(head, lines)}\n\nMean of {OPTION_SEEDS} seeds after {EPOCHS} epochs. CoNLL-2000 is "
        "chunking with the chunking templates; the time of an epoch and the number of features belong to it. WNUT-17 "
        "is named-entity recognition with words alone."
    )


def describe_memory(found: dict[str, Any]) -> str:
    lines = [
        [who, megabytes(row), f"{row['peak'] / MB:.0f}", f"{row['before'] / MB:.0f}", f"{row['file'] / MB:.1f}"]
        for who, row in found["memory"].items()
    ]
    head = ["", "added by training, MB", "peak of the process, MB", "before training, MB", "model file, MB"]
    return (
        f"{results.table(head, lines)}\n\nCoNLL-2000, {EPOCHS} epochs. Each training runs in a process of its own. "
        "This process already holds the raw tokens, and ours also scikit-learn and numba. CRFsuite gets one sentence "
        "after the other, so its attributes are not all held as Python strings. Our file can resume training; "
        f"CRFsuite's cannot.\n\n{manytags.describe(found['many tags'])}"
    )


def verdict(found: dict[str, Any]) -> str:
    epoch, fit, whole, rates, nltk = (found[k] for k in ("epoch", "fit", "whole", "tagging", "nltk"))
    by_chunking, by_rich = found["quality"]["chunking"], found["quality"]["rich"]
    asked = [
        ("epoch, times CRFsuite's", epoch[CRF]["best"] / epoch[OURS]["best"], ASKED["epoch"]),
        ("epoch, by medians", epoch[CRF]["median"] / epoch[OURS]["median"], ASKED["epoch"]),
        ("attributes to model, times CRFsuite's", fit[CRF]["best"] / fit[OURS]["best"], ASKED["fit"]),
        ("attributes to model, by medians", fit[CRF]["median"] / fit[OURS]["median"], ASKED["fit"]),
        ("file to model, times CRFsuite's", whole[CRF]["best"] / whole[OURS]["best"], ASKED["whole"]),
        ("file to model, by medians", whole[CRF]["median"] / whole[OURS]["median"], ASKED["whole"]),
        ("tagging, tokens/s", rates[OURS]["rate"], ASKED["rate"]),
        ("tagging by rich templates, tokens/s", rates[RICH]["rate"], ASKED["rate"]),
        ("tagging, times NLTK's", nltk[OURS]["rate"] / nltk[NLTK]["rate"], ASKED["nltk"]),
        ("F1 by chunking templates, seed 0", 100 * by_chunking[0], ASKED["seed 0"]),
        ("F1 by chunking templates, mean", 100 * mean(by_chunking), ASKED["mean"]),
        ("F1 by rich templates, mean", 100 * mean(by_rich), ASKED["rich"]),
    ]
    lines = [
        [what, f"{value:,.2f}", f"≥ {wanted:,}", "yes" if value >= wanted else "no"] for what, value, wanted in asked
    ]
    return results.table(["", "found", "asked", "met"], lines)


def times(ratio: float) -> str:
    return f"{ratio:.1f}×"


def rate(row: dict[str, float]) -> str:
    return f"{row['rate']:,.0f}"


def percent(row: dict[str, float]) -> str:
    return f"{100 * row['quality']:.2f}"


def megabytes(row: dict[str, int]) -> str:
    return f"{(row['peak'] - row['before']) / MB:.0f}"
