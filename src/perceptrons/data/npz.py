"""Arrays of examples and of labels: npz, NumPy's own archives, in which nothing is ever unpickled, or in memory."""

import zipfile
import zlib
from collections.abc import Generator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.data.options import ReadOptions
from perceptrons.data.reader import Reader
from perceptrons.data.source import InMemory, Inputs
from perceptrons.data.table import Block, DataFileError, DataPath, Outcome
from perceptrons.engine.training.matrices import sound_csr
from perceptrons.features.values import LARGEST, Recipe

LARGEST_FLOAT32 = 1e13
EXAMPLES = ("x", "data", "features", "images")
LABELS = ("y", "target", "targets", "label", "labels")


class ArrayReader(Reader):
    """Arrays of examples and labels, from npz files or in memory: one block each.

    Images and the like, arrays of more than two axes, become one row per example. The option `part` is "train" or
    "test", the arrays to take from an npz file that holds both, such as X_train and X_test.
    """

    def __init__(self, paths: Inputs, options: ReadOptions) -> None:
        super().__init__(paths, options)
        if options.hash_bits:
            raise ValueError("hash_bits does not apply to arrays, whose columns have numbers: leave it out.")
        if options.part not in ("train", "test"):
            raise ValueError(f"part={options.part!r}: choose 'train' or 'test'.")
        self._model_width = options.n_features

    def _recipe(self) -> Recipe:
        return {}

    def _outcomes(self) -> Generator[Outcome, None, None]:
        self._labels.begin()
        self.n_features, self._restored = self._model_width or 0, None
        for path in self.files:
            self._begin_file(path)
            block = self._read_arrays(path)
            if block.codes is not None and self._must_check_classes:
                self._check_classes(path, block.labels(), len(block.codes))
            yield block, []

    def _read_arrays(self, path: DataPath) -> Block:
        X, y = path.examples if isinstance(path, InMemory) else _file_arrays(path, self.options.part)
        X = sound_csr(X) if sp.issparse(X) else np.asarray(X)
        y = y if y is None or sp.issparse(y) else np.asarray(y)
        y = y.astype(str) if y is not None and y.dtype.kind == "O" else y
        if y is None and self.need_labels:
            message = "there is no array of labels: save it as y next to X"
            if sp.issparse(X):
                message = "this is a sparse matrix without labels: write both with sklearn.datasets.dump_svmlight_file"
            raise DataFileError(path, message)
        if X.ndim > 2 and len(X):
            X = X.reshape(len(X), -1)
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            message = f"the examples are {X.dtype} of shape {X.shape}: save a table of numbers, one row per example"
            raise DataFileError(path, message)
        if 0 in X.shape:
            raise DataFileError(path, f"the examples have shape {X.shape}: the array is empty")
        if self.n_features and X.shape[1] != self.n_features:
            whose = "the model has" if self._model_width else "earlier examples have"
            message = f"the examples have {X.shape[1]} columns, but {whose} {self.n_features} features"
            raise DataFileError(path, f"{message}: give the same number")
        self.n_features = X.shape[1]
        _check_values(path, X)
        if y is not None and y.ndim == 2 and y.shape[1] > 1:
            return self._with_indicator(path, X, y)
        codes, distinct = (None, None) if y is None else self._coded(path, y, X.shape[0])
        return self._labels.finished(Block(X, codes, distinct, None, path, None))

    def _with_indicator(self, path: DataPath, X: Any, y: Any) -> Block:
        """Return a block whose examples may have several labels: their numbers are those of the columns of y."""
        n = X.shape[0]
        flags = sp.csr_matrix(y) if y.dtype.kind in "biuf" else sp.csr_matrix((0, 0))
        if flags.shape[0] != n or not np.isin(flags.data, (0, 1)).all():
            message = f"the labels have shape {y.shape} and are not all 0 or 1, or not for {n} examples"
            hint = "a matrix of labels has one column per label, which is 1 where an example has the label"
            raise DataFileError(path, f"{message}: {hint}")
        if self._labels.multilabel is False:
            raise DataFileError(path, self._labels.why_not(("0", "1")))
        self._labels.several = True
        flags.eliminate_zeros()
        names = [str(k) if self.options.text_labels else k for k in range(y.shape[1])]
        sets = [
            tuple(names[k] for k in flags.indices[begin:end].tolist()) for begin, end in pairwise(flags.indptr.tolist())
        ]
        return Block(X, np.arange(n, dtype=np.int32), [*sets, tuple(names)], None, path, None)  # all labels are known

    def _coded(self, path: DataPath, y: np.ndarray, n: int) -> tuple[np.ndarray, list[Any]]:
        """Return the labels as numbers of the distinct ones."""
        distinct, codes = np.unique(_labels(path, y, n), return_inverse=True)
        codes = codes.astype(np.int32)
        if distinct.dtype.kind == "b":
            return codes, distinct.tolist()
        labels, faults = self._labels.read([str(label) for label in distinct.tolist()])
        for code, message in faults.items():
            raise DataFileError(path, f"label {int(np.argmax(codes == code))} (numbered from 0): {message}")
        return codes, labels


def _file_arrays(path: DataPath, part: str) -> tuple[Any, np.ndarray | None]:
    assert isinstance(path, Path)
    with path.open("rb") as file:  # a file that cannot be opened is an OSError, all else below is about its contents
        try:
            with np.load(file, allow_pickle=False) as archive:
                names = {name.lower(): name for name in archive.files}
                if {"format", "indptr", "shape"} <= names.keys():
                    file.seek(0)
                    return sp.load_npz(file), None
                x, y = _names(names, part)
                if x is None:
                    names_there = ", ".join(archive.files) or "nothing"
                    raise DataFileError(path, f"there is no array of examples, only {names_there}: save X and y")
                return archive[x], None if y is None else archive[y]
        except DataFileError:
            raise
        except (ValueError, OSError, EOFError, KeyError, TypeError, AttributeError, NotImplementedError,
                zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
            message = "not a complete npz file: write it with numpy.savez(path, X=X, y=y)"
            file.seek(0)
            if "pickle" in str(error) and file.read(2) == b"PK":  # else NumPy takes any file for a pickle
                message = "it contains Python objects, which are never loaded"
                message += ": save X as numbers, y as numbers or strings"
            raise DataFileError(path, message) from error


def _names(names: dict[str, str], part: str) -> tuple[str | None, str | None]:
    """Return the arrays called X and y, or like them; else those of the part; else those for training."""
    for pattern in ("{}", f"{{}}_{part}", f"{part}_{{}}", "{}_train", "train_{}"):
        x, y = (
            next((names[pattern.format(kind)] for kind in kinds if pattern.format(kind) in names), None)
            for kinds in (EXAMPLES, LABELS)
        )
        if x is not None:
            return x, y
    return None, None


def _check_values(path: DataPath, X: Any) -> None:
    values = X.data if sp.issparse(X) else X.ravel()
    if values.dtype.kind != "f":
        return
    values = values.astype(np.promote_types(values.dtype, np.float32), copy=False)
    bad = ~(np.abs(values) <= (LARGEST_FLOAT32 if values.dtype == np.float32 else LARGEST))
    if bad.any():
        place = int(np.argmax(bad))
        if sp.issparse(X):
            row, column = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
        else:
            row, column = divmod(place, X.shape[1])
        message = f"row {row}, column {column} of the examples is {values[place]:g} (numbered from 0)"
        raise DataFileError(path, f"{message}: replace it, scale it, or remove the example")


def _labels(path: DataPath, y: np.ndarray, n: int) -> np.ndarray:
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (n,):
        raise DataFileError(path, f"the labels have shape {y.shape}, but there are {n} examples: give one label each")
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "replace")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        message = f"label {int(np.argmin(np.isfinite(y)))} is not finite: give one, or remove the example"
        raise DataFileError(path, message)
    if y.dtype.kind not in "biufU":
        raise DataFileError(path, f"the labels are {y.dtype}: give whole numbers or strings")
    return y
