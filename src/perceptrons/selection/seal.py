"""Keeps the test set sealed until the end, and records which test sets were used, and for what.

The same request again gives the same result, so it is not a second use of the test set.
"""

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.modelfile import write_whole
from perceptrons.selection.splitting import Part, Parts, as_python, example_bytes

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

Book = dict[str, list[str]]  # by the digest of a test part


RERUN = "This run repeats an earlier one (same data, settings and seed), so it is not a second use of the test set."
INSTEAD = "use another test set (test=, random_state=), or give force=True"  # how to do it in Python
PACKAGES = ("perceptrons", "numpy", "scikit-learn")  # whose versions may change a result,
VERSIONED = ("perceptrons", "sklearn")  # and whose estimators are the same while these are


class OpenedBeforeError(ValueError):
    """This test set was used before, so anything chosen now would be chosen by it. looks: when that was."""

    def __init__(self, n: int, looks: list[str], instead: str = INSTEAD):
        self.n, self.looks = n, looks
        times = "once, at" if len(looks) == 1 else f"{len(looks):,} times, last at"
        these = f"These {n:,} test examples were" if n > 1 else "This test example was"
        super().__init__(
            f"{these} used before ({times} {looks[-1]}): settings chosen after that are chosen by the test set, so "
            f"the test score is too optimistic. Compare settings on the validation set, {instead}; the results and "
            "the model will then say so."
        )


class Ledger:
    """Which test parts were looked at, and when: in this process, or in a file that outlives it."""

    _here: dict[str, Book] = {}  # of this process  # noqa: RUF012 (shared on purpose)
    _turn = threading.Lock()

    def __init__(self, path: "str | os.PathLike[str] | None" = None):
        self.path = None if path is None else Path(os.fsdecode(path))
        if self.path is None:
            return
        if self.path.exists() and not self.path.is_file():
            raise ValueError(f"{self.path}: this is a folder or a device, not a regular file: give another name.")
        try:  # now, not when all the work is done
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path.parent):
                pass
        except OSError as error:
            raise OSError(error.errno, f"no ledger can be written there ({error.strerror})", str(self.path)) from error

    def looks(self, digest: str) -> list[str]:
        """When these examples were looked at."""
        return list(self._read()[0].get(digest, []))

    def knows(self, digest: str, request: str | None) -> bool:
        """Was just this asked of these examples before?"""
        return request is not None and request in self._read()[1].get(digest, [])

    def note(self, digest: str, at_most: int | None = None, request: str | None = None) -> list[str] | None:
        """Write a look down, and say when these examples were looked at, now included.

        The same request again is the same look, and nothing is written. None if they were looked at more often than
        at_most before, as by a run that was quicker: nothing is written.
        """
        with self._turn, self._locked():
            looks, requests = self._read()
            whens = looks.setdefault(digest, [])
            if request is not None and request in requests.get(digest, []):
                return list(whens)
            if at_most is not None and len(whens) > at_most:
                return None
            whens.append(datetime.now(UTC).isoformat(timespec="seconds"))
            if request is not None:
                requests.setdefault(digest, []).append(request)
            if self.path is not None:
                write_whole(self.path, json.dumps({"looks": looks, "requests": requests}, indent=1).encode())
            return list(whens)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process after the other, where the system has locks for that."""
        if self.path is None or fcntl is None:
            yield
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _read(self) -> tuple[Book, Book]:
        """Of every test part when it was looked at, and what was asked of it, which older ledgers do not tell."""
        if self.path is None:
            return self._here.setdefault("looks", {}), self._here.setdefault("requests", {})
        try:
            told = json.loads(self.path.read_bytes())
            looks, requests = told["looks"], told.get("requests", {})
            if not all(isinstance(one, list) for book in (looks, requests) for one in book.values()):
                raise TypeError("its entries are not lists")
        except FileNotFoundError:
            return {}, {}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(
                f"{self.path}: this is not a record of test set uses ({error}): give another file, or remove this one."
            ) from error
        return looks, requests


def usual_ledger() -> tuple[Path, str | None]:
    """The ledger in the user's folder for program state, and why it cannot be kept there, if it cannot."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # as its specification says
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    path = Path(base) / "perceptrons" / "looks.json"
    if not path.is_absolute():  # a user without a home folder
        return path, None if os.path.exists(path) else "no home folder"
    try:
        Ledger(path)
    except OSError as error:
        if not os.path.exists(path):  # else what it remembers must not be passed over
            return path, str(error.strerror)
    return path, None


class SealedTest:
    """Test examples that can be opened once. Whether they were opened before is known before any work is done."""

    def __init__(self, part: Part, ledger: Ledger, force: bool, request: str | None = None):
        """request: what is asked, as a digest; the same again is no second look."""
        self._part: Part | None = part
        self._ledger, self._force, self._request = ledger, force, request
        self.n, self.looks = len(part), 0  # looks: how often they were opened, this time included
        self.each = row_digests(*part.taken())
        self.digest = _together(self.each)
        before = ledger.looks(self.digest)
        self.rerun = ledger.knows(self.digest, request)
        if before and not (force or self.rerun):
            raise OpenedBeforeError(self.n, before)

    def open(self) -> tuple[Any, Any]:
        """The examples, for the one look."""
        if self._part is None:
            raise RuntimeError("The test set was already used: it gives one score, at the end.")
        whens = self._ledger.note(self.digest, None if self._force else 0, self._request)
        if whens is None:
            raise OpenedBeforeError(self.n, self._ledger.looks(self.digest))
        part, self._part, self.looks = self._part, None, len(whens)
        return part.taken()


def seal(parts: Parts, test: Part, ledger: Any, force: bool, **asked: Any) -> tuple[SealedTest, int]:
    """The test part, sealed for all that is asked, and how many of its examples are also in the other parts."""
    sealed = SealedTest(test, Ledger(ledger), force, request_digest(parts, **asked))
    return sealed, overlap(parts, sealed)


def overlap(parts: Parts, sealed: SealedTest) -> int:
    """How many test examples that came by themselves are also among those to learn from or to choose by.

    All of them: that is no test, and is refused.
    """
    if parts.test is None or (parts.test.rows is not None and parts.dev.rows is not None):
        return 0
    others = {*row_digests(*parts.train.taken()), *row_digests(*parts.dev.taken())}
    twice = sum(one in others for one in sealed.each)
    if twice == sealed.n:
        raise ValueError(
            f"All {sealed.n:,} test examples are also in the training or validation set, so this is not a test: give "
            "other examples."
        )
    return twice


def digest_of(X: Any, y: Any) -> str:
    """The same for the same examples in any order, dense or sparse."""
    return _together(row_digests(X, y))


def row_digests(X: Any, y: Any) -> list[bytes]:
    """A digest of every example with its label."""
    labels = y.toarray().tolist() if sp.issparse(y) else map(as_python, y.to_numpy() if hasattr(y, "to_numpy") else y)
    return [
        hashlib.blake2b(row + b"\0" + repr(label).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for row, label in zip(example_bytes(X), labels, strict=True)
    ]


def _together(digests: list[bytes]) -> str:
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()


class _NotRepeatableError(Exception):
    """Something in the request can give another result the next time."""


def request_digest(parts: Parts, **asked: Any) -> str | None:
    """A digest of the examples to learn from and to choose by, in their order, and of everything else that was asked.

    None if the result may differ from run to run or cannot be compared: a seed of None, a time limit, functions,
    objects that are no estimators, estimators of other libraries.
    """
    try:
        told = _comparable(asked)
    except _NotRepeatableError:
        return None
    found = hashlib.sha256(json.dumps([told, [version(name) for name in PACKAGES], parts.how]).encode())
    for part in (parts.train, parts.dev):
        X, y = part.taken()
        found.update(repr([type(X).__name__, str(getattr(X, "dtype", "")), list(getattr(X, "columns", ()))]).encode())
        for digest in row_digests(X, y):
            found.update(digest)
    return found.hexdigest()


def _comparable(value: Any, name: str = "") -> Any:
    """The value as JSON knows it, the same for equal ones."""
    if (name == "random_state" and not isinstance(value, int | np.integer)) or (name == "max_seconds" and value):
        raise _NotRepeatableError
    if hasattr(value, "get_params") and not isinstance(value, type):
        if type(value).__module__.partition(".")[0] not in VERSIONED:  # its code may be another by now
            raise _NotRepeatableError
        parameters = {key: _comparable(one, key) for key, one in value.get_params(deep=False).items()}
        return [f"{type(value).__module__}.{type(value).__qualname__}", sorted(parameters.items())]
    if isinstance(value, np.ndarray | np.generic):
        return [str(value.dtype), _comparable(value.tolist())]
    if isinstance(value, dict):
        pairs = [[json.dumps(_comparable(key)), _comparable(one, str(key))] for key, one in value.items()]
        return {"pairs": sorted(pairs, key=lambda pair: pair[0])}
    if isinstance(value, list | tuple):
        return [_comparable(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise _NotRepeatableError
