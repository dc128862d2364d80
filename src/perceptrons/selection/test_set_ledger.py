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

from perceptrons.data.splitting import Part, Parts, as_python, example_bytes
from perceptrons.modelfile import write_whole

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

RERUN = "This run repeats an earlier one (same data, settings and seed), so it is not a second use of the test set."
HOW_TO_PROCEED = "use another test set (test=, random_state=), or give force=True"  # in Python
VERSIONED_PACKAGES = ("perceptrons", "numpy", "scikit-learn")  # other versions may give other results
REPEATABLE_MODULES = ("perceptrons", "sklearn")  # whose estimators do not change while these versions stay

Record = dict[str, list[str]]  # by the digest of a test set


class OpenedBeforeError(ValueError):
    """This test set was used before, so anything chosen now would be chosen by it. `looks`: the times of its uses."""

    def __init__(self, n: int, looks: list[str], instead: str = HOW_TO_PROCEED):
        self.n, self.looks = n, looks
        times = "once, at" if len(looks) == 1 else f"{len(looks):,} times, last at"
        subject = f"These {n:,} test examples were" if n > 1 else "This test example was"
        super().__init__(
            f"{subject} used before ({times} {looks[-1]}): settings chosen after that are chosen by the test set, so "
            f"the test score is too optimistic. Compare settings on the validation set, {instead}; the results and "
            "the model will then say so."
        )


class Ledger:
    """The uses of test sets with their times, in this process or in a file."""

    _here: dict[str, Record] = {}  # of this process  # noqa: RUF012 (shared on purpose)
    _lock = threading.Lock()

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
        """Return the times at which these examples were used."""
        return list(self._read()[0].get(digest, []))

    def knows(self, digest: str, request: str | None) -> bool:
        """Return whether these examples were used for the same request before."""
        return request is not None and request in self._read()[1].get(digest, [])

    def note(self, digest: str, at_most: int | None = None, request: str | None = None) -> list[str] | None:
        """Record a use of these examples, and return the times of all uses.

        The same request again is the same use, and nothing is recorded. Neither is it if the examples were used more
        than at_most times before, for instance by a faster process; then the answer is None.
        """
        with self._lock, self._locked_file():
            looks, requests = self._read()
            times = looks.setdefault(digest, [])
            if request is not None and request in requests.get(digest, []):
                return list(times)
            if at_most is not None and len(times) > at_most:
                return None
            times.append(datetime.now(UTC).isoformat(timespec="seconds"))
            if request is not None:
                requests.setdefault(digest, []).append(request)
            if self.path is not None:
                write_whole(self.path, json.dumps({"looks": looks, "requests": requests}, indent=1).encode())
            return list(times)

    @contextmanager
    def _locked_file(self) -> Iterator[None]:
        """Exclude other processes, if the system has locks for that."""
        if self.path is None or fcntl is None:
            yield
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _read(self) -> tuple[Record, Record]:
        """Return the times and the requests of every test set; older files have no requests."""
        if self.path is None:
            return self._here.setdefault("looks", {}), self._here.setdefault("requests", {})
        try:
            content = json.loads(self.path.read_bytes())
            looks, requests = content["looks"], content.get("requests", {})
            if not all(isinstance(entries, list) for record in (looks, requests) for entries in record.values()):
                raise TypeError("its entries are not lists")
        except FileNotFoundError:
            return {}, {}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(
                f"{self.path}: this is not a record of test set uses ({error}): give another file, or remove this one."
            ) from error
        return looks, requests


def usual_ledger() -> tuple[Path, str | None]:
    """Return the ledger in the user's folder for program state, and why it cannot be kept there, if it cannot."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # as its specification says
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    path = Path(base) / "perceptrons" / "looks.json"
    if not path.is_absolute():  # a user without a home folder
        return path, None if os.path.exists(path) else "no home folder"
    try:
        Ledger(path)
    except OSError as error:
        if not os.path.exists(path):  # an existing ledger must not be ignored
            return path, str(error.strerror)
    return path, None


class SealedTest:
    """Test examples that can be opened once, for a request. Earlier uses are known before any work is done.

    Attributes
    ----------
    n, n_shared : int
        The number of examples, and of those that are also in the training or validation set.
    rerun : bool
        Whether the same request was made before: then it is no second use.
    looks : int
        The number of uses, this one included; 0 until it is opened.
    """

    def __init__(self, parts: Parts, test: Part, ledger: "str | os.PathLike[str] | None", force: bool, **request: Any):
        self._part: Part | None = test
        self._ledger, self._force, self._request = Ledger(ledger), force, request_digest(parts, **request)
        self.digest, self.n, self.looks, self.n_shared = digest_of(*test.taken()), len(test), 0, 0
        before = self._ledger.looks(self.digest)
        self.rerun = self._ledger.knows(self.digest, self._request)
        if before and not (force or self.rerun):
            raise OpenedBeforeError(self.n, before)
        if test.rows is None or parts.dev.rows is None:
            others = {*row_digests(*parts.train.taken()), *row_digests(*parts.dev.taken())}
            self.n_shared = sum(digest in others for digest in row_digests(*test.taken()))
        if self.n_shared == self.n:
            raise ValueError(
                f"All {self.n:,} test examples are also in the training or validation set, so this is not a test: give "
                "other examples."
            )

    def open(self) -> tuple[Any, Any]:
        """Return the examples, once."""
        if self._part is None:
            raise RuntimeError("The test set was already used: it gives one score, at the end.")
        times = self._ledger.note(self.digest, None if self._force else 0, self._request)
        if times is None:
            raise OpenedBeforeError(self.n, self._ledger.looks(self.digest))
        part, self._part, self.looks = self._part, None, len(times)
        return part.taken()


def digest_of(X: Any, y: Any) -> str:
    """Return a digest that is the same for the same examples in any order, dense or sparse."""
    return hashlib.sha256(b"".join(sorted(row_digests(X, y)))).hexdigest()


def row_digests(X: Any, y: Any) -> list[bytes]:
    """Return a digest of every example with its label."""
    labels = y.toarray().tolist() if sp.issparse(y) else map(as_python, y.to_numpy() if hasattr(y, "to_numpy") else y)
    return [
        hashlib.blake2b(row + b"\0" + repr(label).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for row, label in zip(example_bytes(X), labels, strict=True)
    ]


class _NotRepeatableError(Exception):
    """Something in the request may give another result the next time."""


def request_digest(parts: Parts, **request: Any) -> str | None:
    """Return a digest of the training and validation sets, in their order, and of everything else in a request.

    None if the result may differ from run to run or cannot be compared: a seed of None, a time limit, functions,
    objects that are not estimators, estimators of other libraries.
    """
    try:
        comparable = _comparable(request)
    except _NotRepeatableError:
        return None
    versions = [version(name) for name in VERSIONED_PACKAGES]
    digest = hashlib.sha256(json.dumps([comparable, versions, parts.how]).encode())
    for part in (parts.train, parts.dev):
        X, y = part.taken()
        digest.update(repr([type(X).__name__, str(getattr(X, "dtype", "")), list(getattr(X, "columns", ()))]).encode())
        digest.update(b"".join(row_digests(X, y)))
    return digest.hexdigest()


def _comparable(value: Any, name: str = "") -> Any:
    """Return plain values for JSON that are the same for equal parameters."""
    if (name == "random_state" and not isinstance(value, int | np.integer)) or (name == "max_seconds" and value):
        raise _NotRepeatableError
    if hasattr(value, "get_params") and not isinstance(value, type):
        if type(value).__module__.partition(".")[0] not in REPEATABLE_MODULES:  # its code may have changed
            raise _NotRepeatableError
        parameters = {key: _comparable(part, key) for key, part in value.get_params(deep=False).items()}
        return [f"{type(value).__module__}.{type(value).__qualname__}", sorted(parameters.items())]
    if isinstance(value, np.ndarray | np.generic):
        return [str(value.dtype), _comparable(value.tolist())]
    if isinstance(value, dict):
        pairs = [[json.dumps(_comparable(key)), _comparable(part, str(key))] for key, part in value.items()]
        return {"pairs": sorted(pairs, key=lambda pair: pair[0])}
    if isinstance(value, list | tuple):
        return [_comparable(part) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise _NotRepeatableError
