"""From files to models: beside Vowpal Wabbit, scikit-learn, pandas and fastText; several passes, raw text, memory.

The files are made by `bigfiles.py`, the contestants are in `readers.py`. Everybody has two cores and a warm page cache,
and ends with a saved model, which is then judged on examples held out.
"""

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import bigfiles, readers, results
from benchmarks.bigfiles import Pair
from benchmarks.memory import highest, resident
from benchmarks.peers import in_turns, timed
from benchmarks.readers import Contestant

MILLION = 10**6
REPEATS, PASSES = 5, 5
OURS, OURS_64, SKLEARN, FASTTEXT = "ours, in float32 as VW", "ours, in float64", "sklearn", "fastText"
FLOAT32 = {"dtype": "float32"}
VW, VW_DEFAULT = "vw --sgd", "vw"
LOADER = "load_svmlight_file + sklearn Perceptron"
HASHING, HASHING_AT_ONCE = "HashingVectorizer + SGDClassifier", "the same, all texts in memory"
TEXTS: dict[str, dict[str, Any]] = {  # ours on raw text; TOLD is the one that is compared
    "ours, nothing set": {},
    "ours, margin=1": {"margin": 1.0},
    'ours, step="pa1"': {"step": "pa1"},
    'ours, step="arow"': {"step": "arow"},
}
TOLD = 'ours, step="pa1"'  # the hinge loss with a margin of 1, as SGDClassifier has it
ASKED = {"vw": 3.0, "sklearn": 15.0, "passes": 3.0, "text": 8.0, "memory": 500.0}
COMMAND = [sys.executable, "-c", "import sys; from perceptrons.cli import main; sys.exit(main())"]
FIRST_CALL = """
import json, sys, time
start = time.perf_counter()
from perceptrons import Perceptron
from perceptrons.data import stream
imported = time.perf_counter()
Perceptron().fit_stream(stream(sys.argv[1]))
first = time.perf_counter()
Perceptron().fit_stream(stream(sys.argv[1]))
print(json.dumps({"import": imported - start, "first": first - imported, "second": time.perf_counter() - first}))
"""


class Sizes(NamedTuple):
    """Of what is read: rows of svmlight and of tables, bytes of the other files."""

    rows: int = 200_000
    text: int = 200 * MILLION
    packed: int = 50 * MILLION
    table: int = 200_000
    large: int = 4000 * MILLION
    piped: tuple[int, ...] = (50 * MILLION, 250 * MILLION, 1000 * MILLION)
    short: int = MILLION


QUICK = Sizes(4000, 4 * MILLION, 2 * MILLION, 4000, 40 * MILLION, (MILLION, 5 * MILLION, 20 * MILLION), MILLION)


def run(quick: bool) -> None:
    sizes, repeats = (QUICK, 2) if quick else (Sizes(), REPEATS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = bigfiles.svmlight(folder, sizes.rows)
        as_vw, texts = bigfiles.as_vw(rows), bigfiles.newsgroups(folder, sizes.text)
        tables = bigfiles.tables(folder, sizes.table)
        short = bigfiles.head(rows.train, folder / "short.svm", sizes.short)
        rehearse(folder, short, as_vw, texts, tables)
        found: dict[str, Any] = {"size": {"svmlight": size(rows.train), "vw": size(as_vw.train), "rows": sizes.rows}}
        found["svmlight"] = said("svmlight", numbered(rows, as_vw, folder, repeats))
        found["commands"] = said("commands", commands(rows, as_vw, short, folder, repeats))
        found["text"] = said("text", raw_text(texts, folder, 1 if quick else 3))
        found["formats"] = said("formats", formats(rows, as_vw, texts, tables, sizes.packed, folder, repeats))
        found["start"] = said("start", start(short, repeats))
        found["memory"] = said("memory", memory(rows, as_vw, texts, short, sizes.large, folder))
        found["pipe"] = said("pipe", pipe(rows, sizes.piped, folder))
    parts = {
        "files": describe_short(found),
        "files svmlight": describe_svmlight(found),
        "files text": describe_text(found),
        "files formats": describe_formats(found),
        "files memory": describe_memory(found),
        "files start": describe_start(found),
    }
    heads = ("In short", "svmlight", "Raw text", "Formats", "Memory", "Fixed costs")
    sections = [f"### {head}\n\n{text}" for head, text in zip(heads, parts.values(), strict=True)]
    results.write("files", found, "\n\n".join([*sections, f"### What was asked\n\n{verdict(found)}"]), parts, quick)


def said(name: str, found: Any) -> Any:
    print(f"{name}: {json.dumps(found)[:3000]}", flush=True)
    return found


def size(path: Path) -> int:
    return path.stat().st_size


def race(entries: dict[str, tuple[Contestant, Pair]], folder: Path, repeats: int) -> dict[str, Any]:
    """Seconds of each from file to saved model, in turns, and what the model is worth."""
    models = {name: folder / f"model-{number}" for number, name in enumerate(entries)}
    works = {name: seconds_of(partial(one.learn, pair.train, models[name])) for name, (one, pair) in entries.items()}
    times = in_turns(works, repeats)
    return {
        name: {
            "best": min(times[name]),
            "median": median(times[name]),
            "right": one.right(models[name], pair.test),
            "model": size(models[name]),
        }
        for name, (one, pair) in entries.items()
    }


def seconds_of(work: Callable[[], Any]) -> Callable[[], float]:
    return lambda: timed(work)[1]


def rehearse(folder: Path, short: Path, as_vw: Pair, texts: Pair, tables: dict[str, Path]) -> None:
    """Compile, or load what was compiled, here and for the command; import the libraries."""
    model = folder / "rehearsal"
    small_vw = bigfiles.head(as_vw.train, folder / "short.vw", MILLION)
    small_text = bigfiles.head(texts.train, folder / "short.txt", MILLION)
    for one, path in (
        (readers.ours(2), short), (readers.ours(2, reading=FLOAT32), short),
        (readers.ours(format="vw"), small_vw), (readers.vw(), small_vw),
        (readers.sklearn_svmlight(), short), *((readers.ours(), path) for path in tables.values()),
        *((readers.ours(format="text", **options), small_text) for options in TEXTS.values()),
    ):  # fmt: skip
        one.learn(path, model)
    subprocess.run(trained(short, model, 2), check=True)


# ---- numbered features: one pass, five passes, whole commands


def numbered(rows: Pair, as_vw: Pair, folder: Path, repeats: int) -> dict[str, Any]:
    one = {
        OURS: (readers.ours(reading=FLOAT32), rows),
        OURS_64: (readers.ours(), rows),
        VW: (readers.vw(), as_vw),
        VW_DEFAULT: (readers.vw(plain=False), as_vw),
        LOADER: (readers.sklearn_svmlight(), rows),
    }
    several = {
        OURS: (readers.ours(PASSES, reading=FLOAT32), rows),
        OURS_64: (readers.ours(PASSES), rows),
        VW: (readers.vw(PASSES), as_vw),
        VW_DEFAULT: (readers.vw(PASSES, plain=False), as_vw),
    }
    return {"one": race(one, folder, repeats), "several": race(several, folder, repeats)}


def commands(rows: Pair, as_vw: Pair, short: Path, folder: Path, repeats: int) -> dict[str, Any]:
    """Processes from their start to their end: what they cost whatever the data, and with them."""
    model = folder / "command"
    small = bigfiles.head(as_vw.train, folder / "few.vw", 10_000)
    few = bigfiles.head(short, folder / "few.svm", 10_000)
    works = {
        (who, which): seconds_of(partial(subprocess.run, words, check=True, capture_output=True))
        for which, (ours, theirs) in {"few": (few, small), "all": (rows.train, as_vw.train)}.items()
        for who, words in (
            (OURS, trained(ours, model)),
            (VW, [sys.executable, "-m", "vowpalwabbit", *readers.vw_words(theirs, model)]),
        )
    }
    times = in_turns(works, repeats)
    return {which: {who: min(times[who, which]) for who in (OURS, VW)} for which in ("few", "all")}


def trained(path: Path, model: Path, epochs: int = 1, *more: str) -> list[str]:
    """The command that learns from a file as a stream."""
    return [*COMMAND, "train", str(path), "-o", str(model), "--epochs", str(epochs), "--quiet", *more]


# ---- raw text


def raw_text(texts: Pair, folder: Path, repeats: int) -> dict[str, Any]:
    """Ours several times, the others once: they take long."""
    ours = {name: (readers.ours(format="text", **options), texts) for name, options in TEXTS.items()}
    classes = sorted(set(next(readers.text_blocks(texts.test, None))[0]))
    others = {
        HASHING: (readers.sklearn_text(classes, at_once=False), texts),
        HASHING_AT_ONCE: (readers.sklearn_text(classes, at_once=True), texts),
    }
    as_fasttext = bigfiles.as_fasttext(texts)
    for name, options in ((FASTTEXT, {}), (f"{FASTTEXT}, lr=1", {"lr": 1.0})):
        one = readers.fasttext(**options)
        if one is not None:
            others[name] = (one, as_fasttext)
    found = race(others, folder, 1) | race(ours, folder, repeats)
    return {"size": size(texts.train), "results": found}


# ---- formats


class Reading(NamedTuple):
    """Something to be timed, the file that it reads, and the bytes of text in this."""

    work: Callable[[], Any]
    path: Path
    n_bytes: int


def formats(
    rows: Pair, as_vw: Pair, texts: Pair, tables: dict[str, Path], part: int, folder: Path, repeats: int
) -> list[dict[str, Any]]:
    """Reading and learning, one pass; everything once before it is timed."""
    plain, of_vw, of_text = (
        bigfiles.head(path, folder / f"part{path.suffix}", part) for path in (rows.train, as_vw.train, texts.train)
    )
    ours = {"svmlight": plain, **packed(plain), "vw": of_vw, "text": of_text, **tables}
    works = {
        name: Reading(partial(_read_and_learn, path), path, size(plain if name.startswith("svmlight") else path))
        for name, path in ours.items()
    }
    lacking = bigfiles.with_missing(tables["csv"], folder / "missing.csv")
    ours["csv, values missing"] = lacking
    for name, path, more in (
        ("csv, scaled", tables["csv"], {}),
        ("csv, values missing, scaled and filled", lacking, {}),
        ("csv, values missing, scaled, filled, two products", lacking, {"interactions": ["x1*x2", "x3*x4"]}),
    ):
        told = {"prepare": True, **more}
        works[name] = Reading(partial(_read_and_learn, path, **told), path, size(path))
        works[f"{name}, reading alone"] = Reading(partial(_read_alone, path, **told), path, size(path))
    works["csv, reading alone"] = Reading(partial(_read_alone, tables["csv"]), tables["csv"], size(tables["csv"]))
    others = {"vw, by VW itself": (readers.vw(), of_vw)} | {
        f'csv, by pandas (engine="{engine}") and sklearn Perceptron': (readers.sklearn_csv(engine), tables["csv"])
        for engine in ("c", "pyarrow")
    }
    for name, (one, path) in others.items():
        works[name] = Reading(partial(one.learn, path, folder / "other"), path, size(path))
    for reading in works.values():
        reading.work()
    times = in_turns({name: seconds_of(reading.work) for name, reading in works.items()}, repeats)
    examples = {
        path: sum(block.X.shape[0] for block in _reader(path, prepare=path == lacking)) for path in ours.values()
    }
    return [
        {
            "name": name,
            "file": size(reading.path),
            "bytes": reading.n_bytes,
            "rows": examples[reading.path],
            "best": min(times[name]),
        }
        for name, reading in works.items()
    ]


def packed(path: Path) -> dict[str, Path]:
    import zstandard

    content = path.read_bytes()
    by_gzip, by_zstd = path.with_suffix(".svm.gz"), path.with_suffix(".svm.zst")
    by_gzip.write_bytes(gzip.compress(content, 6))
    by_zstd.write_bytes(zstandard.compress(content))
    return {"svmlight, gzip": by_gzip, "svmlight, zstd": by_zstd}


def _reader(path: Path, **reading: Any) -> Any:
    from perceptrons.data import stream

    return stream(path, format="text" if path.suffix == ".txt" else None, **reading)


def _read_and_learn(path: Path, **reading: Any) -> None:
    from perceptrons import Perceptron

    Perceptron().fit_stream(_reader(path, **reading))


def _read_alone(path: Path, **reading: Any) -> None:
    for _ in _reader(path, **reading):
        pass


# ---- the first call


def start(short: Path, repeats: int) -> dict[str, float]:
    """In processes of their own; what was compiled before is on disk."""
    command = [sys.executable, "-c", FIRST_CALL, str(short)]
    taken = []
    for _ in range(repeats):
        child, seconds = timed(lambda: subprocess.run(command, check=True, capture_output=True, text=True))
        taken.append(json.loads(child.stdout) | {"process": seconds})
    return {name: min(one[name] for one in taken) for name in taken[0]} | {"size": size(short)}


# ---- memory


def memory(rows: Pair, as_vw: Pair, texts: Pair, short: Path, large: int, folder: Path) -> list[dict[str, Any]]:
    """Each in a process of its own."""
    model = folder / "alone"
    code = (
        "import sys; from pathlib import Path as P; from benchmarks.readers import *; {}.learn(*map(P, sys.argv[1:]))"
    )
    alone = {
        name: [sys.executable, "-c", code.format(one), str(path), str(model)]
        for name, one, path in (("vw", "vw()", as_vw.train), ("sklearn", "sklearn_svmlight()", rows.train))
    }
    found = [
        watched("ours, 1 epoch", short, trained(short, model)),
        watched("ours, 1 epoch", rows.train, trained(rows.train, model)),
        watched("ours, 5 epochs", rows.train, trained(rows.train, model, 5)),
        watched(VW, as_vw.train, alone["vw"]),
        watched(LOADER, rows.train, alone["sklearn"]),
        watched("ours, raw text, 20 classes", texts.train, trained(texts.train, model, 1, "--format", "text")),
    ]
    path = folder / "large.svm"
    free = shutil.disk_usage(folder).free
    bigfiles.repeated(rows.train, path, min(large, free // 3))  # the cache takes two thirds of it
    try:
        found.append(watched("ours, 1 epoch", path, trained(path, model)))
        found.append(watched("ours, 2 epochs", path, trained(path, model, 2)))
    finally:
        path.unlink()
    return found


def watched(name: str, path: Path, command: list[str]) -> dict[str, Any]:
    """The most memory that a command had, and its time."""
    began, peak = time.perf_counter(), 0
    with subprocess.Popen(command, cwd=results.ROOT, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, highest(process.pid))
            time.sleep(0.02)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return {"name": name, "file": size(path), "peak": peak, "seconds": time.perf_counter() - began}


def pipe(rows: Pair, marks: tuple[int, ...], folder: Path) -> list[dict[str, Any]]:
    """The memory of `predict` after so many bytes of a pipe."""
    model = folder / "piped"
    subprocess.run(trained(rows.train, model), check=True)
    content, written, found = rows.test.read_bytes(), 0, []
    command = [*COMMAND, "predict", str(model), "-"]
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        for mark in marks:
            while written < mark:
                written += process.stdin.write(content)
            seconds = time.perf_counter() - began
            found.append({"bytes": written, "resident": resident(process.pid), "seconds": seconds})
        process.stdin.close()
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return found


# ---- in words


def describe_short(found: dict[str, Any]) -> str:
    """For the page of benchmarks."""
    return results.table(["", "ours", "theirs", "", "asked"], [list(row) for row in asked(found)])


def asked(found: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """What was asked: ours, theirs, how many times, at least how many."""
    one, several, texts = found["svmlight"]["one"], found["svmlight"]["several"], found["text"]["results"]
    theirs = quickest(texts, (HASHING, HASHING_AT_ONCE))
    mb = megabytes(found["size"]["svmlight"])
    rows = [
        (f"svmlight, {mb}, one pass; `{VW}`", one[OURS], one[VW], ASKED["vw"]),
        (f"the same; {LOADER}", one[OURS], one[LOADER], ASKED["sklearn"]),
        (f"{PASSES} passes; `{VW}` with its cache", several[OURS], several[VW], ASKED["passes"]),
        (
            f"raw text, {megabytes(found['text']['size'])}, one pass; {HASHING}",
            texts[TOLD],
            texts[theirs],
            ASKED["text"],
        ),
    ]
    if FASTTEXT in texts:
        rows.append(("the same; fastText", texts[TOLD], texts[f"{FASTTEXT}, lr=1"], 0.0))
    table = [
        (
            name, f"{ours['best']:.2f} s, {percent(ours)}", f"{other['best']:.2f} s, {percent(other)}",
            times(other["best"] / ours["best"]), f"≥ {wanted:.0f}×" if wanted else "",
        )
        for name, ours, other, wanted in rows
    ]  # fmt: skip
    large = found["memory"][-1]
    peak = f"{large['peak'] / MILLION:.0f} MB"
    return [*table, (f"memory for {megabytes(large['file'])}, 2 epochs", peak, "", "", f"< {ASKED['memory']:.0f} MB")]


def quickest(texts: dict[str, Any], names: tuple[str, ...]) -> str:
    return min(names, key=lambda name: texts[name]["best"])


def describe_svmlight(found: dict[str, Any]) -> str:
    lines = []
    for epochs, part in ((1, "one"), (PASSES, "several")):
        ours = found["svmlight"][part][OURS]
        for name, row in found["svmlight"][part].items():
            ratio = "" if name == OURS else times(row["best"] / ours["best"])
            rate = found["size"]["svmlight"] / row["best"] / MILLION
            lines.append([epochs, name, row["best"], row["median"], ratio, f"{rate:.0f}", percent(row)])
    head = ["passes", "", "s", "median", "× our time", "MB/s", "accuracy"]
    return (
        f"{results.table(head, lines)}\n\nThe data are {found['size']['rows']:,} examples with about "
        f"{bigfiles.NONZEROS} of {bigfiles.COLUMNS:,} features each: {megabytes(found['size']['svmlight'])} "
        f"({megabytes(found['size']['vw'])} in VW's format). Times are from the text to a saved model, on 2 cores, "
        f"with the files in the page cache. The programs run in turns; the table has the best of {REPEATS} runs and "
        "their median. Accuracy is on held-out examples. VW runs from its Python package with "
        f"`--loss_function hinge -b {readers.VW_BITS}`, and with `--cache_file` for several passes. MB/s is the size "
        "of the file divided by the time, whatever the number of passes."
    )


def describe_text(found: dict[str, Any]) -> str:
    texts, theirs = found["text"]["results"], found["text"]["size"]
    ours = texts[TOLD]["best"]
    lines = [
        [
            name, row["best"], "" if name in TEXTS else times(row["best"] / ours),
            f"{theirs / row['best'] / MILLION:.0f}", percent(row), f"{row['model'] / MILLION:.0f}",
        ]
        for name, row in sorted(texts.items(), key=lambda pair: (pair[0] not in TEXTS, pair[1]["best"]))
    ]  # fmt: skip
    told = TOLD.removeprefix("ours, ")
    return (
        f"{results.table(['', 's', f'× our time, {told}', 'MB/s', 'accuracy', 'model, MB'], lines)}\n\nThe data are "
        "the earlier messages of 20 newsgroups, with headers, one per line. They are repeated up to "
        f"{megabytes(theirs)}, and shuffled each time. Times are for one pass, from the text to the saved model. "
        "Accuracy is on the later messages. scikit-learn runs with `n_jobs=2`, in blocks of "
        f"{readers.TEXT_BLOCK:,} messages or with all texts in memory. fastText runs with `epoch=1, thread=2`, and "
        "once more with a learning rate of 1, which its tutorial recommends. Everything else has its default. The "
        "programs other than ours run once."
    )


def describe_formats(found: dict[str, Any]) -> str:
    lines = [
        [
            row["name"], f"{row['file'] / MILLION:.1f}", row["best"], f"{row['bytes'] / row['best'] / MILLION:.0f}",
            f"{row['rows'] / row['best']:,.0f}",
        ]
        for row in found["formats"]
    ]  # fmt: skip
    return (
        f"{results.table(['', 'file, MB', 's', 'MB/s', 'examples/s'], lines)}\n\nReading and learning, one pass, on 2 "
        f"cores, in turns; the best of {REPEATS} runs. For compressed svmlight, MB/s counts the uncompressed text. "
        "Tables have 30 columns of numbers and a label."
    )


def describe_memory(found: dict[str, Any]) -> str:
    lines = [
        [row["name"], megabytes(row["file"]), f"{row['peak'] / MILLION:.0f}", f"{row['seconds']:.1f}",
         f"{row['file'] / row['seconds'] / MILLION:.0f}"]
        for row in found["memory"]
    ]  # fmt: skip
    piped = [
        [megabytes(row["bytes"]), f"{row['resident'] / MILLION:.0f}", f"{row['seconds']:.1f}"] for row in found["pipe"]
    ]
    return (
        f"{results.table(['', 'file', 'peak memory, MB', 's', 'MB/s'], lines)}\n\nMemory is the peak resident memory "
        "of the process (VmHWM), with Python and all libraries. Mapped pages of the cache count, too. The time is "
        "that of the whole process. Ours is `perceptrons train`.\n\n"
        f"{results.table(['data through the pipe', 'memory, MB', 's'], piped)}\n\nResident memory of "
        "`perceptrons predict MODEL -` after it has read this much."
    )


def describe_start(found: dict[str, Any]) -> str:
    row, few, every = found["start"], found["commands"]["few"], found["commands"]["all"]
    lines = [["import", row["import"]], [f"the first `fit_stream`, {megabytes(row['size'])}", row["first"]],
             ["the second", row["second"]], ["the whole process", row["process"]]]  # fmt: skip
    whole = [["a dozen lines", few[OURS], few[VW]], [megabytes(found["size"]["svmlight"]), every[OURS], every[VW]]]
    return (
        f"{results.table(['a fresh process, code already compiled', 's'], lines)}\n\n"
        f"{results.table(['a whole command', 'perceptrons train, s', 'vw, s'], whole)}\n\nVW's command is that of its "
        "Python package, `python -m vowpalwabbit`. The table has the best of the runs."
    )


def verdict(found: dict[str, Any]) -> str:
    one, several, texts = found["svmlight"]["one"], found["svmlight"]["several"], found["text"]["results"]
    theirs = texts[quickest(texts, (HASHING, HASHING_AT_ONCE))]
    ratios = [
        ("one pass, times VW", one[VW]["best"] / one[OURS]["best"], ASKED["vw"]),
        ("by medians", one[VW]["median"] / one[OURS]["median"], ASKED["vw"]),
        (f"one pass, times {LOADER}", one[LOADER]["best"] / one[OURS]["best"], ASKED["sklearn"]),
        (f"{PASSES} passes, times VW", several[VW]["best"] / several[OURS]["best"], ASKED["passes"]),
        ("by medians", several[VW]["median"] / several[OURS]["median"], ASKED["passes"]),
        (f"raw text, times {HASHING}", theirs["best"] / texts[TOLD]["best"], ASKED["text"]),
        ("raw text, % right more than it", 100 * (texts[TOLD]["right"] - theirs["right"]), 0.0),
    ]
    lines = [
        [what, f"{value:.2f}", f"≥ {wanted:g}", "yes" if value >= wanted else "no"] for what, value, wanted in ratios
    ]
    peak = found["memory"][-1]["peak"] / MILLION
    met = "yes" if peak < ASKED["memory"] else "no"
    lines.append(
        [f"memory for {megabytes(found['memory'][-1]['file'])}, MB", f"{peak:.0f}", f"< {ASKED['memory']:.0f}", met]
    )
    return results.table(["", "found", "asked", "met"], lines)


def times(ratio: float) -> str:
    return f"{ratio:.1f}×"


def percent(row: dict[str, float]) -> str:
    return f"{100 * row['right']:.1f}%"


def megabytes(n: int) -> str:
    return f"{n / 10**9:.1f} GB" if n >= 10**9 else f"{n / MILLION:.0f} MB"
