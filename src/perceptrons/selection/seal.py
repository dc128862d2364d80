"""The test part under seal: opened once, at the end. A ledger remembers which test examples were looked at."""

import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.modelfile import write_whole
from perceptrons.selection.splitting import Part, len_of

AT_ONCE = 4096  # rows


INSTEAD = "take other examples as a test (test=, random_state=), or give force=True"  # how to do it in Python


class OpenedBeforeError(ValueError):
    """These test examples were looked at before: what is chosen now would be chosen by them. looks: when that was."""

    def __init__(self, n: int, looks: list[str], instead: str = INSTEAD):
        self.n, self.looks = n, looks
        times = "once, at" if len(looks) == 1 else f"{len(looks):,} times, last at"
        super().__init__(
            f"These {n:,} test examples were looked at before ({times} {looks[-1]}): a setting chosen after that is "
            f"chosen by them, and its test figure flatters. Compare settings on development data, {instead}, and the "
            "report and the model will say so."
        )


class Ledger:
    """Which test parts were looked at, and when: in this process, or in a file that outlives it."""

    _here: dict[str, list[str]] = {}  # of this process  # noqa: RUF012 (shared on purpose)

    def __init__(self, path: "str | os.PathLike[str] | None" = None):
        self.path = None if path is None else Path(os.fsdecode(path))

    def looks(self, digest: str) -> list[str]:
        """When these examples were looked at."""
        return list(self._read().get(digest, []))

    def note(self, digest: str) -> None:
        looks = self._read()
        looks.setdefault(digest, []).append(datetime.now(UTC).isoformat(timespec="seconds"))
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, json.dumps({"looks": looks}, indent=1).encode())

    def _read(self) -> dict[str, list[str]]:
        if self.path is None:
            return self._here
        try:
            looks = json.loads(self.path.read_bytes())["looks"]
            if not all(isinstance(when, list) for when in looks.values()):
                raise TypeError("looks that are no lists")
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{self.path}: is no ledger of looks at test data ({error}): give another file, or remove this one."
            ) from error
        return looks


class SealedTest:
    """Test examples that can be opened once. Whether they were opened before is known before any work is done."""

    def __init__(self, part: Part, ledger: Ledger, force: bool):
        self._part: Part | None = part
        self._ledger = ledger
        self.n = len(part)
        self.digest = digest_of(*part.taken())
        self.before = ledger.looks(self.digest)
        if self.before and not force:
            raise OpenedBeforeError(self.n, self.before)

    @property
    def looks(self) -> int:
        """How often they were opened, this time included."""
        return len(self.before) + (self._part is None)

    def open(self) -> tuple[Any, Any]:
        """The examples, for the one look."""
        if self._part is None:
            raise RuntimeError("The test part is open already: it gives one figure, at the end.")
        part, self._part = self._part, None
        self._ledger.note(self.digest)
        return part.taken()


def digest_of(X: Any, y: Any) -> str:
    """The same for the same examples in any order, dense or sparse."""
    labels = y.toarray().tolist() if sp.issparse(y) else map(_plain, y)
    each = [
        hashlib.blake2b(row + b"\0" + repr(label).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for row, label in zip(_as_bytes(X), labels, strict=True)
    ]
    return hashlib.sha256(b"".join(sorted(each))).hexdigest()


def _as_bytes(X: Any) -> Iterator[bytes]:
    """Every example as bytes: numbers by column and value, zeros left out; everything else as it is written."""
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    elif (
        isinstance(X, list) and np.ndim(X[0]) == 1 and all(isinstance(value, int | float | np.number) for value in X[0])
    ):
        X = np.asarray(X)
    if not sp.issparse(X) and (not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf" or X.ndim != 2):
        for x in X:
            yield repr(_plain(x)).encode("utf-8", "surrogatepass")
        return
    for begin in range(0, len_of(X), AT_ONCE):
        part = sp.csr_matrix(X[begin : begin + AT_ONCE], dtype=np.float64, copy=True)
        part.sum_duplicates()
        part.eliminate_zeros()
        columns, starts = part.indices.astype(np.int64), part.indptr
        for i, end in enumerate(starts[1:]):
            yield columns[starts[i] : end].tobytes() + part.data[starts[i] : end].tobytes()


def _plain(value: Any) -> Any:
    """A value of NumPy's as one of Python's, so that equal ones are written alike."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
