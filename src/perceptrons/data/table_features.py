"""`TableFeatures`, a transformer for scikit-learn's pipelines that prepares tables as the command does."""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.training.inputs import as_configured
from perceptrons.features import HashedText
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.inference import check_powers
from perceptrons.features.rows import rows_of_examples

Names = str | list[str] | None


class TableFeatures(TransformerMixin, BaseEstimator):
    """Turn a raw table into rows of numbers that are suitable for a linear model.

    Numbers are scaled to mean 0 and standard deviation 1, and missing numbers are filled with the mean. Strings are
    one-hot encoded categories. Dates become year, days, month, weekday and hour; yes and no, true and false, become 1
    and 0. Identifiers, free text and empty columns are left out, unless you name them below; names that are the only
    feature are read as text, by words and sequences of 1 to 4 characters. `perceptrons train`
    prepares tables in the same way, so a pipeline of `TableFeatures` and `Perceptron` learns the same weights.

    Use it for raw tables with empty cells, categories and different units. Do not use it for sparse data, or for
    numbers that already have the same scale.

    Parameters
    ----------
    scale : {"auto", "standard", "max-abs", "none"}, default="auto"
        How to scale numbers: to mean 0 and standard deviation 1 ("standard" and "auto"), to a largest absolute value of
        1 ("max-abs"), or not at all. "standard" and "auto" also weight the words of texts by their inverse document
        frequency (idf).
    on_missing : {"fill", "raise"}, default="fill"
        What to do with missing numbers: fill them with the mean of their column, and add a feature "column=missing" if
        the column had missing numbers in `fit`; or raise an error. For categories, missing is a category of its own.
    missing : list of str, optional
        Texts that mark a missing value, in addition to None, NaN, empty strings, ?, NA, N/A, null, none and -.
    categories, ignore, keep : list of str, optional
        Columns of numbers to treat as categories; columns to leave out; columns to use even if they look like
        identifiers.
    text_column : str or list of str, optional
        Columns of text. Their words become hashed features, as `text` defines.
    text : HashedText, optional
        How texts become features (default: `HashedText()`).
    interactions : str or list of str, optional
        Products of columns: "a*b", "a*" (a with every other column) or "*" (all pairs).
    powers : int, default=1
        The highest power of numbers to use as features. Powers and products of numbers are scaled as `scale` says.
    hash_bits : int, optional
        Hash features to 2^hash_bits columns. By default, only texts are hashed, and products of categories if there are
        more than 262,144.

    Attributes
    ----------
    columns_ : Columns
        The features by name.
    source_ : dict
        How tables are read, as a model file stores it.
    left_out_ : list of str
        The columns that are not used, each with the reason.
    n_features_in_ : int
        The number of columns of the table.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.features import TableFeatures
    >>> from sklearn.pipeline import make_pipeline
    >>> people = [{"age": 31, "job": "nurse"}, {"age": None, "job": "smith"}, {"age": 58, "job": "nurse"}]
    >>> table = TableFeatures().fit(people)
    >>> table.get_feature_names_out().tolist()
    ['age', 'age=missing', 'job=nurse', 'job=smith']
    >>> model = make_pipeline(TableFeatures(), Perceptron()).fit(people, ["in", "out", "in"])
    >>> model.predict([{"age": 40, "job": "smith"}]).tolist()
    ['out']
    """

    def __init__(
        self, *, scale: Literal["auto", "standard", "max-abs", "none"] = "auto",
        on_missing: Literal["fill", "raise"] = "fill", missing: Names = None, categories: Names = None,
        ignore: Names = None, keep: Names = None, text_column: Names = None, text: HashedText | None = None,
        interactions: Names = None,
        powers: int = 1, hash_bits: int | None = None,
    ) -> None:  # fmt: skip
        self.scale = scale
        self.on_missing = on_missing
        self.missing = missing
        self.categories = categories
        self.ignore = ignore
        self.keep = keep
        self.text_column = text_column
        self.text = text
        self.interactions = interactions
        self.powers = powers
        self.hash_bits = hash_bits

    def fit(self, X: Any, y: Any = None) -> "TableFeatures":
        """Learn the types and scales of the columns.

        Parameters
        ----------
        X : frame (pandas, polars, pyarrow), list of dicts or array
            The table, without the labels.
        y : ignored
        """
        self._read(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **more: Any) -> Any:
        """Learn the types and scales of the columns, and return the rows of the table."""
        return self._in_output_form(self._read(X))

    def transform(self, X: Any) -> Any:
        """Return the rows of a table: an array if all features are numbers, else a sparse matrix.

        Parameters
        ----------
        X : frame (pandas, polars, pyarrow), list of dicts or array
        """
        check_is_fitted(self)
        table = _table(X)
        if isinstance(table, ArrayColumns) and table.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        return self._in_output_form(rows_of_examples(table, self.source_, self.columns_))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features; for hashed features, the names in each column, the most frequent first."""
        check_is_fitted(self)
        hashed = self.columns_.bits is not None
        return np.array(self.columns_.labels() if hashed else self.columns_.names(), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags

    def _check(self) -> None:
        """Raise ValueError for parameters outside their domains."""
        check_powers(1 if self.powers is None else self.powers)
        ColumnOptions(prepare=True, scale=self.scale, on_missing=self.on_missing)
        for name in ("missing", "categories", "ignore", "keep", "text_column", "interactions"):
            value = getattr(self, name)
            if not (
                value is None or isinstance(value, str) or all(isinstance(name_given, str) for name_given in value)
            ):
                raise ValueError(f"{name}={value!r}: give names, as strings in a list.")

    def _read(self, X: Any) -> Any:
        from perceptrons.data import read

        self._check()
        table = _table(X)
        result = read(table, prepare=True, labelled=False, need_labels=False, **self.get_params(deep=False))
        assert result.columns is not None
        self.source_, self.columns_, self.left_out_ = result.source, result.columns.as_frozen(), result.notices
        if hasattr(table, "shape"):
            self.n_features_in_ = table.shape[1]
            if not isinstance(table, ArrayColumns):
                names = list(getattr(table, "column_names", table.columns))
                self.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
        else:
            self.n_features_in_ = len({name for record in table for name in record})
        return result.X

    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> "TableFeatures":
        """Set the container of what `transform` returns, as for scikit-learn's transformers.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Arrays or sparse matrices, or frames. None changes nothing.

        Returns
        -------
        TableFeatures
        """
        super().set_output(transform=transform)
        if transform is not None:
            self._transform_output = transform
        return self

    def __sklearn_clone__(self) -> "TableFeatures":
        """Return a clone that has the same output container, which scikit-learn's `clone` calls."""
        copy: TableFeatures = super().__sklearn_clone__()
        return copy.set_output(transform=getattr(self, "_transform_output", None))

    def _in_output_form(self, X: Any) -> Any:
        """Return a sparse matrix as an array if frames are asked for, which hold no sparse matrices."""
        container = getattr(self, "_transform_output", get_config()["transform_output"])
        return X.toarray() if container != "default" and sp.issparse(X) else as_configured(X)


class ArrayColumns:
    """An array as a frame whose columns are called x0, x1, ..."""

    def __init__(self, X: Any) -> None:
        self._X, self.shape = X, X.shape
        self.columns = [f"x{place}" for place in range(X.shape[1])]

    def __getitem__(self, name: str) -> np.ndarray:
        return self._X[:, int(name[1:])]


def _table(X: Any) -> Any:
    """Return what a reader of tables takes."""
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        return X
    if sp.issparse(X):
        raise TypeError(
            "TableFeatures takes tables, but a sparse matrix was passed: leave TableFeatures out for sparse data."
        )
    if isinstance(X, list | tuple) and all(hasattr(record, "keys") for record in X):
        if not len(X):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return list(X)
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if array.ndim != 2:
        raise ValueError(f"Expected 2D array, a frame or a list of records, got an array of shape {array.shape}. "
                         "Reshape your data: a table has rows and columns.")  # fmt: skip
    for axis, thing in enumerate(("sample", "feature")):
        if not array.shape[axis]:
            raise ValueError(f"Found array with 0 {thing}(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    return ArrayColumns(array)
