"""Checks what users hand in and turns it into rows, without copying what is already in shape."""

import math
import numbers
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils.validation import validate_data

from perceptrons.engine.passes.average import smallest_scale
from perceptrons.engine.rows import Dense, Rows, Sparse
from perceptrons.engine.training.matrices import check_csr, sound_csr

# types of values that NumPy turns into real numbers without an error
NOT_REAL_TYPES = frozenset({np.complex64, np.complex128, np.clongdouble, np.datetime64, np.timedelta64})
MAX_CACHED_NUMBERS = 2**20  # up to this many numbers, two passes are faster than waiting for several threads
ROW_TYPES = frozenset((list, tuple, np.ndarray))  # that may be one row of numbers
# types of values that are numbers beyond doubt; NumPy would also read strings
NUMBER_TYPES = frozenset((float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_))
MAX_DENSE_FEATURES = 4096  # of dicts, up to which rows are made as wide as there are features


class Growth(NamedTuple):
    """How values grow into weights: by the learning rate, and by the scale if weights decay."""

    eta: float = 1.0
    decays: bool = False


@lru_cache(maxsize=64)
def largest(dtype: Any, growth: Growth) -> float:
    """Return the largest value whose scores cannot overflow in training."""
    limit = math.sqrt(float(np.finfo(dtype).max)) * 1e-6 / max(1.0, growth.eta)
    return limit * math.sqrt(smallest_scale(dtype)) if growth.decays else limit


def as_rows(X: Any) -> Rows:
    """Return a checked matrix as Dense or Sparse rows, without a copy."""
    return Sparse(X.data, X.indices, X.indptr) if sp.issparse(X) else Dense(X)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written. numba compiles a loop separately for arrays that can be."""
    view = array.view()
    view.flags.writeable = False
    return view


def as_configured(matrix: Any) -> Any:
    """Return a CSR matrix as such, or as an array where scikit-learn's `sparse_interface` (since 1.9) asks for one."""
    as_array = get_config().get("sparse_interface") == "sparray" and sp.issparse(matrix)
    return sp.csr_array(matrix) if as_array else matrix


def as_read_only(rows: Rows) -> Rows:
    return type(rows)(*map(read_only, rows))


def check_matrix(
    estimator: Any, X: Any, *, reset: bool, dtype: Any = None, growth: Growth | None = None, learning: bool = False
) -> Any:
    """Return X as a C-contiguous array or CSR matrix of finite float32 or float64 numbers.

    dtype: the model's, if it has one already; otherwise float32 stays float32, small integers, booleans and float16
    become float32 (exactly), all else float64. growth: of values into weights, which must not overflow. learning: new
    features of raw examples get columns; there are more of them then.
    """
    if not reset and is_raw(X):
        rows = as_learned(estimator, X, learning)
        if rows is not None:
            check_sound(rows, growth or Growth(), getattr(estimator, "feature_names_in_", None))
            return rows if dtype is None else rows.astype(dtype, copy=False)
    if dtype is None:
        dtype = _number_type(X)
    _refuse_kinds(X)
    X = sound_csr(X) if sp.issparse(X) else X  # before anybody follows its indices
    try:
        X = validate_data(
            estimator, X, accept_sparse="csr", dtype=dtype, order="C", ensure_all_finite=False, reset=reset
        )
    except (ValueError, TypeError, OverflowError) as error:
        if "float" in str(error):
            _name_the_cell(X, error)
        raise
    _check_values(X, growth or Growth(), getattr(estimator, "feature_names_in_", None))
    return X


def as_learned(estimator: Any, X: Any, learning: bool = False) -> Any:
    """Return frames, records or texts as rows of the columns of a model that knows them; None if it does not.

    learning: names that come for the first time get columns.
    """
    columns = getattr(estimator, "columns_", None)
    if columns is not None and learning:
        return columns.rows(X, estimator.source_)
    if columns is not None:
        rows, n_features = columns.as_frozen().rows(X, estimator.source_), estimator.n_features_in_
        return rows if rows.shape[1] <= n_features else rows[:, :n_features]
    names = getattr(estimator, "_columns", None)
    if names is None or not all(isinstance(x, Mapping) for x in X):
        return None
    return _dict_rows(X, names, estimator._learner.dtype)


def _dict_rows(X: Any, names: Mapping[str, int], dtype: Any) -> Any:
    """Return a list of dicts as a matrix of the known features."""
    rows = [known_part(*dict_row(x, names, dtype, Growth())) for x in X]
    starts = np.cumsum([0, *(len(row.values) for row in rows)])
    parts = [np.concatenate(part) for part in zip(*((row.values, row.columns) for row in rows), strict=True)]
    matrix = sp.csr_matrix((*parts, starts), shape=(len(rows), len(names)))
    return matrix.toarray() if len(names) <= MAX_DENSE_FEATURES else matrix


def is_raw(X: Any) -> bool:
    """Return whether X is a frame, or a list of records or texts, rather than rows of numbers."""
    if sp.issparse(X):
        return False
    _refuse_lazy(X)
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        return True
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or not len(X):
        return False
    first = X[0] if isinstance(X, list | tuple) else next(iter(X))
    return isinstance(first, str | bytes | Mapping)


def check_block(estimator: Any, X: Any, dtype: Any, growth: Growth) -> Any:
    """Check a block of a stream like `check_matrix`; it may have more columns than the one before."""
    if not (sp.issparse(X) and X.format == "csr" and X.dtype in (np.float32, np.float64) and dtype in (None, X.dtype)):
        return check_matrix(estimator, X, reset=True, dtype=dtype, growth=growth)
    X = sound_csr(X)
    _check_values(X, growth)
    estimator.n_features_in_ = X.shape[1]
    return X


def check_sound(X: Any, growth: Growth, names: Any = None) -> None:
    """Raise ValueError for a matrix of floats whose parts do not fit together, or whose numbers are too large."""
    if sp.issparse(X):
        check_csr(X)
    _check_values(X, growth, names)


def _refuse_kinds(X: Any) -> None:
    """Raise an error for what NumPy would convert to numbers although it means something else."""
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], Mapping):
        raise TypeError(
            "X is a list of dicts, but the model does not know features by name: train with learn_one, or use "
            "scikit-learn's DictVectorizer first."
        )
    _refuse_lazy(X)
    check_real(X)


def _refuse_lazy(X: Any) -> None:
    """Raise TypeError for a LazyFrame of polars, whose rows are still to be computed."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a lazy frame: call its collect() first.")


def check_real(X: Any, name: str = "X") -> None:
    """Raise an error for masked values, dates, times and complex numbers in a matrix, a frame or one example."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(f"{name} is a masked array with masked values: fill them first.")
    kinds = _number_kinds(X)
    if kinds & {"m", "M"}:
        raise TypeError(f"{name} contains dates or times: convert them to numbers first.")
    if "c" in kinds:
        raise ValueError(
            f"Complex data not supported: {name} contains complex numbers. Give real and imaginary parts as features "
            "of their own."
        )


def _number_kinds(X: Any) -> set[str]:
    """Return the kinds of numbers in an array, a frame, or a list of numbers or rows, as in `dtype.kind`."""
    dtype = getattr(X, "dtype", None)
    if dtype is not None and getattr(dtype, "kind", "") != "O":
        return {getattr(dtype, "kind", "")}
    if hasattr(X, "dtypes"):
        return {getattr(dtype_, "kind", "") for dtype_ in X.dtypes}
    types: set[type] = set()
    if dtype is not None and not sp.issparse(X):
        types.update(map(type, np.asarray(X).ravel().tolist()))
    elif isinstance(X, list | tuple):
        types.update(map(type, X))
        for row in X if types & {list, tuple, np.ndarray} else ():
            if isinstance(row, list | tuple):
                types.update(map(type, row))
            elif isinstance(row, np.ndarray):
                types.add(row.dtype.type)
    return {np.dtype(dtype_).kind for dtype_ in types & NOT_REAL_TYPES}


def _number_type(X: Any) -> Any:
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 2:
        return np.float32
    return [np.float64, np.float32]


def _name_the_cell(X: Any, error: Exception) -> None:
    """Raise an error that names the cell that is not a number, if there is one."""
    if sp.issparse(X) or not (hasattr(X, "columns") or np.ndim(X) == 2):
        return
    names = [str(name) for name in getattr(X, "columns", range(np.shape(X)[1]))]
    for row, cells in enumerate(np.asarray(X, dtype=object)):
        for name, cell in zip(names, cells, strict=True):
            try:
                float(cell)
            except (ValueError, TypeError, OverflowError) as reason:
                kind = TypeError if isinstance(reason, TypeError) else ValueError
                raise kind(
                    f"Input X has {cell!r} at row {row}, column {name}: {reason}. Encode categories first, for "
                    "instance with scikit-learn's OneHotEncoder, or text with TfidfVectorizer."
                ) from error


def dict_row(x: Mapping[str, Any], columns: Mapping[str, int], dtype: Any, growth: Growth) -> tuple[Sparse, list[str]]:
    """Return a dict of features as one sparse row, and the names that have no column yet, in their order.

    A string value counts as the feature "name=value" being there, as in scikit-learn's DictVectorizer.
    """
    amounts: list[float] = []
    places: list[int] = []
    new: dict[str, int] = {}
    limit = largest(dtype, growth)
    for name, value in x.items():
        if not isinstance(name, str):
            name = _whole_name(name, x)
        if isinstance(value, str):
            name, value = f"{name}={value}", 1.0
        if isinstance(value, bytes | bytearray):  # float() would take b"1.5"
            raise TypeError(f"Feature {name!r} is {bytes(value)!r} (bytes), which is neither a number nor a string.")
        try:
            if type(value) in NOT_REAL_TYPES:
                raise TypeError("not a real number")
            number = float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"Feature {name!r} is {value!r}, which is neither a number nor a string.") from error
        except OverflowError:
            number = math.inf
        if not abs(number) <= limit:
            raise ValueError(f"Feature {name!r} is {number!r}: values must be finite and at most {limit:.0e}.")
        if number:
            place = columns.get(name)
            if place is None:
                place = new.setdefault(name, len(columns) + len(new))
            amounts.append(number)
            places.append(place)
    values, at = np.array(amounts, dtype), np.array(places, np.int32)
    return Sparse(values, at, np.array([0, len(values)], np.int32)), list(new)


def known_numbers(x: Mapping[str, Any], columns: Mapping[str, int], dtype: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return values and columns of a dict; None if a feature has no column or a value is not a plain number."""
    if not NUMBER_TYPES.issuperset(map(type, x.values())):
        return None
    try:
        places = np.fromiter(map(columns.__getitem__, x), np.int32, len(x))
        values = np.fromiter(x.values(), np.float64, len(x))
    except (KeyError, OverflowError):
        return None
    if dtype == np.float64:
        return values, places
    with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite
        return values.astype(dtype), places


def _whole_name(name: Any, x: Mapping[Any, Any]) -> str:
    """Return a whole number as the name of a feature: 3 is the feature "3", as in files."""
    if not isinstance(name, numbers.Integral) or isinstance(name, bool):
        kind = type(name).__name__
        raise TypeError(f"Feature name {name!r} is {kind}: feature names must be strings or whole numbers.")
    if str(name) in x:
        raise ValueError(f"The features {name!r} and {str(name)!r} have the same name as text: rename one.")
    return str(name)


def known_part(rows: Any, new: list[str]) -> Any:
    """Return the row without unknown features, which `dict_row` numbers behind the known ones."""
    if not new or not isinstance(rows, Sparse):
        return rows
    is_known = rows.columns < rows.columns.max() - len(new) + 1
    return Sparse(rows.values[is_known], rows.columns[is_known], np.array([0, is_known.sum()], np.int32))


def entries(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return values and columns of one row."""
    if isinstance(rows, Sparse):
        return rows.values, rows.columns.astype(np.int32, copy=False)
    return rows.values[0], np.arange(rows.values.shape[1], dtype=np.int32)


def plain_row(x: Any, n_features: int | None, dtype: Any, growth: Growth) -> Rows:
    """Return one row of numbers: a sequence, an array, or a sparse matrix of one row."""
    if np.ndim(x) == 0 and not sp.issparse(x):
        raise ValueError(f"{x!r} is not an example: give a row of numbers or a dict of features.")
    if sp.issparse(x):
        x = sound_csr(x, "The example", row=True)
        row, shape, values = as_rows(x.astype(dtype)), x.shape, x.data
    else:
        check_real(x, "The example")
        try:
            values = np.atleast_2d(np.asarray(x, dtype))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"The example {x!r} is not a row of numbers or a dict of features.") from error
        row, shape = Dense(np.ascontiguousarray(values)), values.shape
    if len(shape) != 2 or shape[0] != 1:
        raise ValueError(
            f"One example must have the shape (n_features,), not {shape}: use partial_fit for several examples."
        )
    if n_features is not None and shape[1] != n_features:
        raise ValueError(f"The example has {shape[1]} features, but the model has {n_features}.")
    if not (np.abs(values) <= largest(dtype, growth)).all():
        raise ValueError(f"The example contains NaN, infinity or a value above {largest(dtype, growth):.0e}.")
    return row


def once_each(rows: Rows) -> Rows:
    """Return the rows with the values of repeated columns added up. Norms need it, scores do not.

    A row without such a column keeps the order of its columns, whatever rows are beside it. So a block learns what its
    examples would learn one by one, to the last bit: sums round by their order.
    """
    if not isinstance(rows, Sparse) or not len(rows.columns):
        return rows
    if len(rows.starts) == 2 and len(set(rows.columns.tolist())) == len(rows.columns):
        return rows  # one row of its own, at less than the cost of making a matrix of it
    shape = (len(rows.starts) - 1, int(rows.columns.max()) + 1)
    X = sp.csr_matrix((rows.values, rows.columns, rows.starts), shape=shape, copy=False)
    if X.has_canonical_format:
        return rows
    X = X.copy()
    X.sum_duplicates()
    if X.nnz == len(rows.columns):
        return rows
    sizes, new_sizes = np.diff(rows.starts), np.diff(X.indptr)
    old, new = np.repeat(sizes == new_sizes, sizes), np.repeat(sizes == new_sizes, new_sizes)
    X.data[new], X.indices[new] = rows.values[old], rows.columns[old]
    return as_rows(X)


def _check_values(X: Any, growth: Growth, names: Any = None) -> None:
    """Raise ValueError for NaN, infinity, or numbers so large that scores would overflow; one read at memory speed.

    Not where scikit-learn's `assume_finite` is set. Learning then stops at a step that overflows, or learns NaN.
    """
    if get_config()["assume_finite"]:
        return
    values = X.data if sp.issparse(X) else X
    flat = values.ravel(order="K")
    limit = largest(values.dtype, growth)
    if len(flat) <= MAX_CACHED_NUMBERS:  # where a product would wait for the threads of BLAS
        if max(-float(flat.min(initial=0)), float(flat.max(initial=0))) <= limit:
            return
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            if float(flat @ flat) <= limit**2:
                return
    bad = ~(np.abs(flat) <= limit)
    if not bad.any():
        return  # only the sum of all squares is above the limit
    place = int(np.argmax(bad))
    if sp.issparse(X):
        row, column = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
    else:
        row, column = divmod(place, X.shape[1])
    value = float(flat[place])
    place_name = f"row {row}, column {column if names is None else names[column]}"
    if math.isfinite(value):
        raise ValueError(
            f"Input X has {value:g} at {place_name}: too large for {values.dtype} scores (at most {limit:.0e}"
            f"{' if weights decay' if growth.decays else ''}). Scale the features, for instance with "
            "scikit-learn's StandardScaler."
        )
    problem = (
        "NaN"
        if math.isnan(value)
        else "infinity"
        if values.dtype == np.float64
        else "infinity or a number that is too large"
    )
    raise ValueError(
        f"Input X contains {problem} at {place_name}. Remove or replace such values first, for instance with "
        "scikit-learn's SimpleImputer."
    )


def as_numbers(values: Any, name: str) -> np.ndarray:
    """Return an array of float64, or raise ValueError that names the argument."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}.") from error
