"""What all fuzzers share: seeds one by one, in a process that may die, within a time; what counts as a finding."""

import argparse
import contextlib
import faulthandler
import linecache
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba.core.compiler_lock import global_compiler_lock

import perceptrons

PACKAGE = str(Path(perceptrons.__file__).parent)
SLOW = 20  # seconds
MEMORY = 16 * 2**30  # bytes of addresses: what asks for more gets a MemoryError
REFUSALS = (ValueError, TypeError, AttributeError)  # if the library itself raises them


class FoundError(Exception):
    """What happened that must not."""


class Case(NamedTuple):
    """Something forged. use: returns False if it was refused, raises FoundError, or any other error."""

    name: str
    use: Callable[[], bool]


Cases = Callable[[np.random.Generator], Case]


def is_refusal(error: BaseException) -> bool:
    """Was it raised on purpose, by a line of the library that says `raise`? Or of scikit-learn, about an argument."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    ours = frame.filename.startswith(PACKAGE) or f"{os.sep}sklearn{os.sep}" in frame.filename
    return isinstance(error, REFUSALS) and ours and line.startswith("raise")


def one_line(error: BaseException) -> bool:
    """Is it a refusal in one line? FoundError if it is no refusal, or a long one."""
    if not is_refusal(error):
        raise FoundError(told(error)) from error
    if "\n" in str(error):
        raise FoundError(f"more than a line: {told(error)}") from error
    return True


def told(error: BaseException) -> str:
    """The error, and where it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(PACKAGE)]
    where = f" ({Path(frames[-1].filename).relative_to(PACKAGE)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {str(error)[:200]!r}{where}"


def watched() -> None:
    """From now on a case may take SLOW seconds."""
    signal.alarm(SLOW)
    faulthandler.dump_traceback_later(3 * SLOW, exit=True)  # where only compiled code runs, no signal is heard


def overdue(*_: Any) -> None:
    if global_compiler_lock.is_locked():  # what is compiled is no fault of the case
        watched()
        return
    raise TimeoutError(f"still running after {SLOW} seconds")


def attempt(cases: Cases, seed: int) -> tuple[bool, str]:
    """Try a seed: was what it forged not refused, and what was found, if anything."""
    for left in (1, 0):  # what was slow may have been compiled first
        case = cases(np.random.default_rng(seed))
        watched()
        try:
            with np.errstate(all="ignore"):
                return case.use(), ""
        except BaseException as error:
            if left and (isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError)):
                continue
            what = str(error) if isinstance(error, FoundError) else told(error)
            return True, f"seed {seed}, {case.name}\n    {what}"
        finally:
            signal.alarm(0)
            faulthandler.cancel_dump_traceback_later()
    raise AssertionError


def work(begin: Callable[[Path], Cases], first: int, last: int, seconds: float, folder: Path) -> None:
    """Try the seeds from first to last. A file says which one is being tried, what was found and used before, and
    how many seconds are left."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, overdue)
    note = (folder / "note").write_text
    note(f"{first} 0 0 {seconds}")
    cases = begin(Path(tempfile.mkdtemp(dir=folder)))
    seed, findings, used, until = first, 0, 0, time.monotonic() + seconds
    while seed < last and time.monotonic() < until:
        note(f"{seed} {findings} {used} {until - time.monotonic()}")
        sound, found = attempt(cases, seed)
        used += sound
        if found:
            findings += 1
            print(found, flush=True)
        seed += 1
    note(f"{seed - 1} {findings} {used} 0")


def run(module: str, about: str | None, what: str, begin: Callable[[Path], Cases]) -> int:
    """The command of a fuzzer. what: its cases are called; begin: makes them, with a folder for files."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="How long to try once all is ready (default: 60).")
    parser.add_argument("--seed", type=int, default=0, help="The first seed (default: 0).")
    parser.add_argument("--cases", type=int, default=10**9, help="How many seeds to try (default: until it is time).")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # of a process that this one started
    asked = parser.parse_args()
    seed, last, left = asked.seed, asked.seed + asked.cases, asked.seconds
    if asked.folder is not None:
        work(begin, seed, last, left, asked.folder)
        return 0
    findings = used = 0
    with tempfile.TemporaryDirectory() as folder:
        while seed < last and left > 0:  # another process, if one was ended by what it used
            options = ["--seed", str(seed), "--cases", str(last - seed), "--seconds", str(left), "--folder", folder]
            code = subprocess.run([sys.executable, "-m", module, *options]).returncode
            reached, found, sound, rest = (Path(folder) / "note").read_text().split()
            findings, used = findings + int(found), used + int(sound)
            seed, left = int(reached) + 1, float(rest) - 1
            if code != 0:
                findings += 1
                print(f"seed {reached}: the process ended with {code}", flush=True)
    print(f"{seed - asked.seed:,} {what}, {used:,} were not refused, {findings:,} findings")
    return min(findings, 1)
