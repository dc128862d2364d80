"""Forge model files of every kind with a right checksum, and use whatever loads.

    PERCEPTRONS_BOUNDSCHECK=1 python -m tools.fuzz_models --seconds 600 --seed 0

A finding is anything but a refusal: `load` raises something else than ModelFileError, or a loaded model fails by an
error that the library did not raise itself, takes more than 20 seconds, is refused after it was saved again, or ends
the process. Each is printed with its seed; `--seed THAT --cases 1` does it again.
"""

import argparse
import contextlib
import io
import json
import linecache
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import perceptrons
from perceptrons import ModelFileError, modelfile
from perceptrons.cli import main as command
from tools.forging import SAMPLES, Classes, Sample, forged

PACKAGE = str(Path(perceptrons.__file__).parent)
SLOW = 20  # seconds
WIDEST = 10_000  # columns of rows that are made for a model
MEMORY = 16 * 2**30  # bytes of addresses: what asks for more gets a MemoryError
REFUSALS = (ValueError, TypeError, AttributeError)  # if the library itself raises them


class FoundError(Exception):
    """What a file did that it must not."""


def is_refusal(error: BaseException) -> bool:
    """Was it raised on purpose, by a line of the library that says `raise`? Or of scikit-learn, about an argument."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    ours = frame.filename.startswith(PACKAGE) or f"{os.sep}sklearn{os.sep}" in frame.filename
    return isinstance(error, REFUSALS) and ours and line.startswith("raise")


def used(sample: Sample, path: Path) -> bool:
    """Load a file and do everything with the model; False if it was refused. Raises FoundError."""
    try:
        model: Any = perceptrons.load(path)
    except ModelFileError:
        return False
    except BaseException as error:
        raise FoundError(f"load: {told(error)}") from error
    if sample.model.__class__.__name__ == "StructuredPerceptron":
        model.set_params(model=Classes())
    X, y = examples(sample, model)
    uses = {
        "repr": lambda: (repr(model), model._repr_html_() if hasattr(model, "_repr_html_") else None),
        "attributes": lambda: [getattr(model, name, None) for name in dir(model) if name.endswith("_")],
        "inspect": lambda: inspected(path),
        "save": lambda: saved_again(model, path),
    }
    if X is not None:
        uses |= {
            "predict": lambda: model.predict(X),
            "decision_function": lambda: model.decision_function(X) if hasattr(model, "decision_function") else None,
            "predict_one": lambda: [model.predict_one(x) for x in X[:3]],
            "explain": lambda: [str(model.explain(x)) for x in X[:2]] if hasattr(model, "explain") else None,
            "learn_one": lambda: [model.learn_one(x, label) for x, label in zip(X[:4], y[:4], strict=True)],
            "partial_fit": lambda: model.partial_fit(X, y),
            "predict after learning": lambda: (model.predict(X), model.predict_one(X[0])),
            "save after learning": lambda: saved_again(model, path),
        }
    for name, use in uses.items():
        try:
            use()
        except FoundError as error:
            raise FoundError(f"{name}: {error}") from error
        except BaseException as error:
            if not is_refusal(error):
                raise FoundError(f"{name}: {told(error)}") from error
    return True


def examples(sample: Sample, model: Any) -> tuple[Any, Any]:
    """Examples for a model: those of its sample, or rows as wide as it says it wants."""
    n = getattr(model, "n_features_in_", None)
    if sample.X is not None and (not hasattr(sample.X, "shape") or sample.X.shape[1] == n):
        return sample.X, sample.y
    if not isinstance(n, int) or not 0 < n <= WIDEST:
        return None, None
    rows = np.zeros((6, n))
    rows[:, :: max(1, n // 7)] = 1.0
    rows[:3] *= -1
    labels = model.classes_.tolist() if hasattr(model, "classes_") else [0]
    return rows, [labels[k % len(labels)] for k in range(6)]


def inspected(path: Path) -> None:
    """`perceptrons inspect`, in words and as JSON: it ends with 0 or 2."""
    for more in ([], ["--json"]):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as complaint:
            code = command(["inspect", str(path), *more])
        if code not in (0, 2) or complaint.getvalue().count("\n") > 1:
            raise FoundError(f"exit code {code}: {complaint.getvalue()[-200:]}")


def saved_again(model: Any, path: Path) -> None:
    again = path.with_name("again")
    perceptrons.save(model, again)
    try:
        perceptrons.load(again)
    except ModelFileError as error:
        raise FoundError(f"it was saved, but is refused: {error}") from error


def told(error: BaseException) -> str:
    """The error, and where it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(PACKAGE)]
    where = f" ({Path(frames[-1].filename).relative_to(PACKAGE)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {str(error)[:200]}{where}"


def overdue(*_: Any) -> None:
    raise TimeoutError(f"still running after {SLOW} seconds")


def work(first: int, last: int, until: float, folder: Path) -> None:
    """Try the seeds from first to last. A file says which one is being tried, and what was found and loaded before."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, overdue)
    samples: dict[str, Any] = {}
    findings = loaded = 0
    seed = first
    for seed in range(first, last):
        if time.time() > until:
            break
        draw = np.random.default_rng(seed)
        name = list(SAMPLES)[int(draw.integers(len(SAMPLES)))]
        if name not in samples:
            made = SAMPLES[name]()
            samples[name] = made, modelfile.KINDS[type(made.model).__name__].contents(made.model)
        sample, contents = samples[name]
        (folder / "seed").write_text(f"{seed} {findings} {loaded}")
        header, arrays, said = forged(draw, *contents)
        path = folder / "model"
        path.write_bytes(modelfile.sealed(json.dumps(header), arrays))
        signal.alarm(SLOW)
        try:
            loaded += used(sample, path)
        except FoundError as error:
            findings += 1
            print(f"seed {seed}, {name}: {'; '.join(said)}\n    {error}", flush=True)
        finally:
            signal.alarm(0)
    (folder / "seed").write_text(f"{seed} {findings} {loaded}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="When to stop (default: 60).")
    parser.add_argument("--seed", type=int, default=0, help="The first seed (default: 0).")
    parser.add_argument("--cases", type=int, default=10**9, help="How many seeds to try (default: until it is time).")
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)  # of a process that this one started
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.folder is not None:
        work(asked.seed, asked.seed + asked.cases, asked.until, asked.folder)
        return 0
    seed, last, until = asked.seed, asked.seed + asked.cases, time.time() + asked.seconds
    findings = loaded = 0
    with tempfile.TemporaryDirectory() as folder:
        while seed < last and time.time() < until:  # another process, if one was ended by what it loaded
            options = ["--seed", str(seed), "--cases", str(last - seed), "--until", str(until), "--folder", folder]
            code = subprocess.run([sys.executable, "-m", "tools.fuzz_models", *options]).returncode
            reached, found, sound = (int(n) for n in (Path(folder) / "seed").read_text().split())
            findings, loaded, seed = findings + found, loaded + sound, reached + 1
            if code != 0:
                findings += 1
                print(f"seed {reached}: the process ended with {code}", flush=True)
    print(f"{seed - asked.seed:,} files, {loaded:,} were loaded and used, {findings:,} findings")
    return min(findings, 1)


if __name__ == "__main__":
    sys.exit(main())
