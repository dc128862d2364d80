"""Tables from files: CSV, svmlight and npz. `read` chooses the reader by the file's name; each has its own module.

Files of tokens in columns are not tables: `conll.py` reads and writes them.
"""

import os
from pathlib import Path

from perceptrons.data.csvfile import read_csv
from perceptrons.data.npzfile import read_npz
from perceptrons.data.svmlight import read_svmlight
from perceptrons.data.table import DataFileError, Table, Wanted

__all__ = ["FORMATS", "DataFileError", "Table", "read"]

FORMATS = {"csv": read_csv, "tsv": read_csv, "svmlight": read_svmlight, "libsvm": read_svmlight, "npz": read_npz}
ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".txt": "svmlight", ".npz": "npz",
}  # fmt: skip


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    label_column: str | None = None,
    feature_names: list[str] | None = None,
    n_features: int | None = None,
    need_labels: bool = True,
    text_labels: bool = False,
    part: str = "train",
) -> Table:
    """Read examples and labels from a file.

    Parameters
    ----------
    path : path
        A text file may be gzipped; its name then ends in .gz.
    format : {"csv", "tsv", "svmlight", "libsvm", "npz"}, optional
        Otherwise known by the ending: .csv, .tsv, .svm, .svmlight, .libsvm, .txt (svmlight), .npz.
    label_column : str, optional
        CSV only: the name of the label column, or its number counted from 1. Otherwise it is the last one.
    feature_names, n_features : list of str, int, optional
        What the model was trained on. CSV columns are then chosen by name if the file has a header, and by their number
        if not; svmlight rows are padded to n_features; more features than that are an error.
    need_labels : bool, default=True
        Is it an error if the file has no labels?
    text_labels : bool, default=False
        Keep labels as strings. Otherwise they become whole numbers if all of them look like whole numbers.
    part : {"train", "test"}, default="train"
        npz only: which arrays to prefer in a file that holds both, such as X_train and X_test.

    Returns
    -------
    Table

    Raises
    ------
    DataFileError
        The first bad record as "file:line:column: what is wrong: what to do". The column is the cell in CSV, the
        character in svmlight. A file that cannot be opened raises OSError as usual.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from perceptrons.data import read
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = path.write_text("height,width,kind\\n1.5,2,tall\\n0.5,3,flat\\n")
    >>> table = read(path)
    >>> table.X.tolist(), table.y.tolist(), table.feature_names
    ([[1.5, 2.0], [0.5, 3.0]], ['tall', 'flat'], ['height', 'width'])
    """
    path = Path(path)
    wanted = Wanted(label_column, feature_names, n_features, need_labels, text_labels, part)
    return FORMATS[format_of(path) if format is None else format](path, wanted)


def format_of(path: Path) -> str:
    """The format that the ending of a file's name stands for."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    known = ENDINGS.get(endings[-1]) if endings else None
    if known is None:
        raise DataFileError(
            path,
            f"the ending of this name says nothing about the format: choose one of {', '.join(FORMATS)} (--format)",
        )
    return known
