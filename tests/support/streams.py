"""What the tests of streams on the command line share: files, a program to run as a process."""

import gzip
import io
import json
import subprocess
import sys

import numpy as np

PROGRAM = [sys.executable, "-c", "import sys; from perceptrons.cli import main; sys.exit(main())"]
SPAM = ["win a free prize now", "free cash, call now", "claim your prize, text WIN", "cheap tickets, call 0900"]
HAM = ["see you at home", "are you coming for lunch", "call me when you are home", "happy birthday mum"]


def texts(n, seed=0):
    """Labels and texts of two kinds, some of the wrong one."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, n)
    words = [
        f"{(HAM, SPAM)[kind][rng.integers(4)]} {word}" for kind, word in zip(kinds, rng.integers(0, 50, n), strict=True)
    ]
    labels = np.array(["ham", "spam"])[kinds ^ (rng.random(n) < 0.05)]
    return labels.tolist(), words


def points(n, seed=0, d=5, k=3):
    """Labels 1..k and rows that a noisy linear rule gives."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)), 3)
    rule = np.random.default_rng(99).standard_normal((d, k))
    y = 1 + np.argmax(X @ rule + 0.3 * rng.standard_normal((n, k)), axis=1)
    y[:k] = np.arange(1, k + 1)
    return X, y


def as_svm(X, y):
    return "".join(
        f"{label} " + " ".join(f"{j}:{v}" for j, v in enumerate(x, 1)) + "\n" for x, label in zip(X, y, strict=True)
    )


def write_files(folder):
    """Files of every kind that the tests read."""
    for part in range(3):
        (folder / f"part-{part}.svm").write_text(as_svm(*points(400, part)))
    (folder / "whole.svm").write_text("".join((folder / f"part-{part}.svm").read_text() for part in range(3)))
    (folder / "test.svm").write_text(as_svm(*points(300, 9)))
    (folder / "bad.svm").write_text("1 1:2 2:1\n2 1:x\n3 2:1\n1 1\n2 2:2\n")
    labels, words = texts(600)
    lines = [f"{label}\t{word}\n" for label, word in zip(labels, words, strict=True)]
    (folder / "mail.tsv").write_text("".join(lines))
    (folder / "mail.ft").write_text("".join("__label__" + line.replace("\t", " ") for line in lines))
    (folder / "mail.tsv.gz").write_bytes(gzip.compress("".join(lines).encode()))
    rows = [{"size": k % 7, "shop": k % 3, "text": word, "label": label}
            for k, (label, word) in enumerate(zip(labels, words, strict=True))]  # fmt: skip
    (folder / "mail.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "mail.csv").write_text(
        "size,shop,text,label\n" + "".join(f'{r["size"]},{r["shop"]},"{r["text"]}",{r["label"]}\n' for r in rows)
    )
    (folder / "mail.vw").write_text("".join(f"{1 if label == 'spam' else -1} |t {word.replace(',', '')}\n"
                                            for label, word in zip(labels, words, strict=True)))  # fmt: skip
    return folder


class Typed(io.TextIOWrapper):
    """Standard input with something in it."""

    def __init__(self, text):
        super().__init__(io.BytesIO(text.encode()))


class Warm:
    """A process that has everything loaded, and runs commands in forks of itself, which begin at once."""

    CODE = """
import json, os, signal, sys
from perceptrons.cli import main
for line in sys.stdin:
    arguments, said = json.loads(line)
    if said is None:
        print(main(arguments), flush=True)
        continue
    child = os.fork()
    if not child:
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(main(arguments))
    print(flush=True)
    if sys.stdin.readline() == "kill\\n":
        os.kill(child, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

    def __init__(self, said):
        """said: a file for what the commands say on stderr."""
        self._said = said
        command = [sys.executable, "-W", "ignore", "-c", self.CODE]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def load(self, *arguments):
        """Run a quiet command in the process itself, so that what it needs is loaded."""
        assert int(self._ask(json.dumps([[str(word) for word in arguments], None]))) == 0

    def start(self, *arguments):
        """Begin a command."""
        self._ask(json.dumps([[str(word) for word in arguments], str(self._said)]))

    def end(self):
        """Wait for the command; gives its code."""
        return int(self._ask("wait"))

    def kill(self):
        """Kill the command; gives the signal as a negative number, or the code of a command that had ended before."""
        return int(self._ask("kill"))

    def run(self, *arguments):
        """The code of a command and what it said on stderr."""
        self.start(*arguments)
        return self.end(), self._said.read_text()

    def close(self):
        with self._process:
            self._process.stdin.close()

    def _ask(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()
