"""What commands take before they do anything: `python -m benchmarks startup --commit HEAD~1`.

Both sides run the same commands in turns. "First" has no compiled code yet, "warm" finds all of it. Only the time of
the processor counts, that of the user and of the system together: it holds on a busy machine too. Both have Python's
bytecode, as pip makes it when it installs a package.
"""

import compileall
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import against, results

REPEATS = 5  # warm; the first runs take long, and vary less
FIRSTS = 2
RUN = "import sys; from perceptrons.cli import main; sys.exit(main())"
CASES = {
    "--help": "--help",
    "train --help": "train --help",
    "train n.csv": "train n.csv -o n.perceptron",
    "predict": "predict n.perceptron n.csv",
    "train text": "train t.txt --format text -o t.perceptron",
    "predict text": "predict t.perceptron t.txt",
    "a stream": "train n.csv --in-memory 0 -o s.perceptron",
    "diagnose": "diagnose n.csv",
    "tag train": "tag train g.txt -o g.perceptron",
}
WARM_ONLY = ("--help", "train --help")  # these compile nothing


def run(quick: bool, commit: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        against.sources(folder, commit)
        for side in ("before", "now"):
            compileall.compile_dir(folder / side / "src", quiet=1)
        files(folder)
        found = [row for case in CASES for row in _compared(folder, case, quick)]
    head = ["command", "compiled code", f"{commit}, CPU s", "this commit, CPU s", "ratio"]
    rows = [[row[key] for key in ("command", "code", "before", "now", "ratio")] for row in found]
    results.write("startup", {"results": found}, results.table(head, rows), {}, quick, f"startup --commit {commit}")


def _compared(folder: Path, case: str, quick: bool) -> list[dict[str, Any]]:
    times: dict[tuple[str, str], list[float]] = {}
    firsts, repeats = (1, 1) if quick else (FIRSTS, REPEATS)
    for take in range(firsts + repeats):
        code = "none" if take < firsts else "kept"
        for side in ("before", "now") if take % 2 else ("now", "before"):
            seconds = _seconds(folder, side, CASES[case], f"{case}-{take}" if take < firsts else f"{case}-0")
            times.setdefault((code, side), []).append(seconds)
    found = []
    for code in ("kept",) if case in WARM_ONLY else ("none", "kept"):
        before, now = (min(times[code, side]) for side in ("before", "now"))
        found.append({"command": case, "code": code, "before": before, "now": now, "ratio": now / before})
        print(f"{case}, {code}: {before:.2f} s, {now:.2f} s, {now / before:.2f}", flush=True)
    return found


def _seconds(folder: Path, side: str, command: str, cache: str) -> float:
    """What a command takes of the processor, in a process of its own, with the compiled code in this cache."""
    environment = {
        "PYTHONPATH": str(folder / side / "src"),
        "NUMBA_CACHE_DIR": str(folder / side / cache.replace(" ", "-")),
        "COLUMNS": "80",
    }
    work = folder / side
    names = {name: str(folder / name) for name in ("n.csv", "t.txt", "g.txt")}
    arguments = [names.get(word, word) for word in command.split()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=work, env=os.environ | environment, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def files(folder: Path) -> None:
    """A small table of numbers, texts and tagged sentences."""
    draw = random.Random(0)
    rows = [[draw.gauss(0, 1) for _ in range(4)] for _ in range(300)]
    lines = [",".join(f"{x:.4f}" for x in row) + (",yes" if row[0] + row[1] > 0 else ",no") for row in rows]
    (folder / "n.csv").write_text("\n".join(["a,b,c,d,label", *lines]) + "\n")
    words = "free win cash prize call now hello how are you today meeting lunch tomorrow home love the a of to".split()  # noqa: SIM905
    kinds = {"ham": words[7:], "spam": words[:12]}
    texts = [f"{kind}\t{' '.join(draw.choices(kinds[kind], k=12))}\n" for kind in draw.choices(list(kinds), k=300)]
    (folder / "t.txt").write_text("".join(texts))
    tagged = ("the D", "dog N", "cat N", "runs V", "sees V", "a D", "big A")
    (folder / "g.txt").write_text("\n".join("\n".join(draw.choices(tagged, k=6)) + "\n" for _ in range(60)))
