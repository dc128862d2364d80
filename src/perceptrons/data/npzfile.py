"""npz: NumPy's own archives, with one array of examples and one of labels. Nothing in them is ever unpickled."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.data.table import DataFileError, Table, Wanted, as_labels
from perceptrons.features.values import LARGEST
from perceptrons.training.structure import sound_csr

LARGEST_FLOAT32 = 1e13
EXAMPLES = ("x", "data", "features", "images")
LABELS = ("y", "target", "targets", "label", "labels")


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Read an npz file; see `read`. Pictures and the like, arrays of more than two axes, become one row an example."""
    X, y = _arrays(path, wanted.part)
    if y is None and wanted.need_labels:
        what = "there is no array of labels: save it as y beside X"
        if sp.issparse(X):
            what = "a sparse matrix without labels: write both with sklearn.datasets.dump_svmlight_file"
        raise DataFileError(path, what)
    if X.ndim > 2 and len(X):
        X = X.reshape(len(X), -1)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataFileError(path, f"the examples are {X.dtype} of shape {X.shape}: save a table of numbers, a row each")
    if 0 in X.shape:
        raise DataFileError(path, f"the examples have shape {X.shape}: there is nothing in them")
    if wanted.n_features is not None and X.shape[1] != wanted.n_features:
        raise DataFileError(
            path,
            f"the examples have {X.shape[1]} columns, but the model has {wanted.n_features} features: give the same",
        )
    _check_values(path, X)
    return Table(X, None if y is None else _labels(path, y, X.shape[0], wanted), None, None, path)


def _arrays(path: Path, part: str) -> tuple[Any, np.ndarray | None]:
    with path.open("rb") as file:  # a file that cannot be opened is an OSError, all else below is about its contents
        try:
            with np.load(file, allow_pickle=False) as archive:
                names = {name.lower(): name for name in archive.files}
                if {"format", "indptr", "shape"} <= names.keys():
                    file.seek(0)
                    return sound_csr(sp.load_npz(file)), None
                x, y = _names(names, part)
                if x is None:
                    held = ", ".join(archive.files) or "nothing"
                    raise DataFileError(path, f"there is no array of examples, only {held}: save X and y")
                return archive[x], None if y is None else archive[y]
        except DataFileError:
            raise
        except (ValueError, OSError, EOFError, KeyError, TypeError, AttributeError, NotImplementedError,
                zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
            what = "not a whole npz file: write it with numpy.savez(path, X=X, y=y)"
            if "pickle" in str(error):
                what = "it holds Python objects, which are never loaded: save X as numbers, y as numbers or strings"
            raise DataFileError(path, what) from error


def _names(names: dict[str, str], part: str) -> tuple[str | None, str | None]:
    """The arrays called X and y, or like them; else those of the part; else those for training."""
    for pattern in ("{}", f"{{}}_{part}", f"{part}_{{}}", "{}_train", "train_{}"):
        x, y = (
            next((names[pattern.format(kind)] for kind in kinds if pattern.format(kind) in names), None)
            for kinds in (EXAMPLES, LABELS)
        )
        if x is not None:
            return x, y
    return None, None


def _check_values(path: Path, X: Any) -> None:
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
        what = f"row {row}, column {column} of the examples is {values[place]:g} (counted from 0)"
        raise DataFileError(path, f"{what}: fill it in, scale it or remove it")


def _labels(path: Path, y: np.ndarray, n: int, wanted: Wanted) -> np.ndarray:
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (n,):
        raise DataFileError(path, f"the labels have shape {y.shape}, but there are {n} examples: give one label each")
    if y.dtype.kind == "b":
        return y
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "replace")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataFileError(
            path, f"label {int(np.argmin(np.isfinite(y)))} is not finite: give one, or remove the example"
        )
    if y.dtype.kind not in "iufU":
        raise DataFileError(path, f"the labels are {y.dtype}: give whole numbers or strings")
    return as_labels([str(label) for label in y.tolist()], wanted.text_labels)
