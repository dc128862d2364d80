"""Data that `tune` and `compare` need whole: a table as it is, or all blocks of a stream, with labels and groups."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from errno import ENOENT
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import like, read_table
from perceptrons.cli.options import DataFormat
from perceptrons.cli.screen import count, plain, say
from perceptrons.cli.stream.options import STDIN, Asked, format_by_name, why_stream
from perceptrons.cli.stream.reading import TABLES, Reading, reader_for, reader_of, refusing_stream, say_skipped

if TYPE_CHECKING:
    import numpy as np

    from perceptrons.data.reader import Reader

SHARE = 0.2  # of all examples, for development and for the test, unless asked otherwise
UNREMEMBERED = "{path}: {why}. This use of the test set is not remembered; to remember it, use --ledger FILE."


@dataclass(frozen=True)
class WholeData:
    """Examples, and what a model that learned from them must know to read others.

    feature_names: of a table; source, columns: of a stream. lines: of each example, if it comes from one file of lines.
    """

    X: Any
    y: "np.ndarray"
    name: str
    feature_names: list[str] | None = None
    label_name: str | None = None
    source: dict[str, Any] | None = None
    columns: Any = None
    groups: "np.ndarray | None" = None
    lines: "np.ndarray | None" = None

    def teach(self, model: Any) -> None:
        """Let a fitted model read files as these were read."""
        if self.source is not None:
            model.source_, model.columns_ = self.source, self.columns
        elif self.feature_names is not None:
            model.feature_names_in_ = self.feature_names

    def in_words(self) -> str:
        n, d = self.X.shape
        classes = count(len(set(self.y.tolist())), "class", "classes")
        return f"{self.name}: {count(n, 'example')}, {count(d, 'feature')}, {classes}"


def read_whole(
    files: Sequence[Path], format: DataFormat | None, label_column: str | None, asked: Asked,
    group_column: str | None = None,
) -> WholeData:  # fmt: skip
    """All examples. asked: how streams are to be read; group_column: a column that is no feature, but a group."""
    for path in files:
        if path == STDIN and group_column is not None:
            raise BadInputError("--group-column reads DATA twice, and standard input can be read only once.")
    if why_stream(list(files), format, asked) is None and group_column is None:
        table = read_table(files[0], format, label_column)
        assert table.y is not None
        names = (table.feature_names, table.label_name)
        return checked(WholeData(table.X, table.y, str(files[0]), *names, lines=table.lines), asked.many_classes)
    if group_column is None:
        return checked(_collected(reader_of(files, format, label_column, asked)), asked.many_classes)
    named = format.value if format is not None else format_by_name(files[0])
    if named is not None and named not in TABLES:
        raise BadInputError(f"--group-column: files of format {named} have no columns with names: leave it out.")
    # a group is read as if it were the label, since it may be a word; as a feature it would give examples away
    without = replace(asked, ignore=[*(asked.ignore or []), group_column])
    data = _collected(reader_of(files, format, label_column, without))
    assert data.source is not None
    label = data.source.get("label_column")
    ignore = [*(asked.ignore or []), *([label] if label else [])]
    only = replace(asked, text_labels=True, many_classes=True, ignore=ignore)
    try:
        groups = _collected(reader_of(files, format, group_column, only)).y
    except BadInputError as error:
        raise BadInputError(f"--group-column {plain(group_column)}, read as labels are: {error}") from error
    if len(groups) != len(data.y):
        raise BadInputError(
            f"--group-column {plain(group_column)}: {len(groups):,} examples have one, of {len(data.y):,}: fill it in."
        )
    return checked(replace(data, groups=groups), asked.many_classes)


def read_more(path: Path, data: WholeData, format: DataFormat | None, label_column: str | None) -> WholeData:
    """A file of development or test examples, read as the training data were."""
    if data.source is None:
        table = read_table(
            path, format, data.label_name or label_column, like=like(data.feature_names, data.X.shape[1]),
            part="test", text_labels=data.y.dtype.kind == "U",
        )  # fmt: skip
        assert table.y is not None
        return WholeData(table.X, table.y, str(path), lines=table.lines)
    model: Any = SimpleNamespace(source_=data.source, columns_=data.columns, n_features_in_=data.X.shape[1])
    more = _collected(reader_for(model, [path], Reading(format, True, label_column)), data.X.shape[1])
    y = more.y
    if data.y.dtype.kind != "U":
        with refusing_stream():
            y = y.astype(data.y.dtype)
    return replace(more, y=y)


def part_of(
    path: Path | None, share: float | None, data: WholeData, first: Path, format: DataFormat | None,
    label_column: str | None,
) -> Any:  # fmt: skip
    """A development or test part as `recipe` takes it: the examples of a file, or a share. first: a file of data."""
    if path is None:
        return SHARE if share is None else share
    more = read_more(path, data, format if path.suffix == first.suffix else None, label_column)
    return more.X, more.y


def checked(data: WholeData, many_classes: bool) -> WholeData:
    """Refuse labels that are not classes."""
    import numpy as np

    from perceptrons.cli.train import check_classes
    from perceptrons.data import Table

    if not data.X.shape[0]:
        raise BadInputError(f"{data.name}: there is no example in it.")
    if len(np.unique(data.y)) < 2:
        raise BadInputError(f"{data.name}: has only one class, {plain(data.y[0])}: a classifier needs at least two.")
    check_classes(Table(data.X, data.y, data.feature_names, data.label_name, Path(data.name)), many_classes)
    return data


def ledger_file(asked: Path | None, quiet: bool = False) -> Path | None:
    """Where looks at test data are remembered: as asked, or in the user's folder for states of programs.

    None, and a line on stderr, if there is no such folder and none can be made: they are not remembered then.
    """
    from perceptrons.selection.seal import Ledger

    if asked is not None:
        if (asked.exists() and not asked.is_file()) or not asked.parent.is_dir():
            raise BadInputError(f"--ledger {asked}: is no ordinary file in a folder that is there: name one.")
        return asked
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # as its specification says
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    path = Path(base) / "perceptrons" / "looks.json"
    try:
        if not path.is_absolute():  # a user without a home folder
            raise OSError(ENOENT, "no home folder", str(path))
        Ledger(path)
    except OSError as error:
        if os.path.exists(path):  # what it remembers must not be passed over
            return path
        if not quiet:
            say(UNREMEMBERED.format(path=path.parent, why=error.strerror))
        return None
    return path


@contextmanager
def refusing_what_is_wrong(data: WholeData) -> Iterator[None]:
    """Turn what splitting, learning and the seal find wrong with the data into refusals, in the command's words."""
    from perceptrons.selection import OpenedBeforeError

    try:
        yield
    except OpenedBeforeError as error:
        again = OpenedBeforeError(error.n, error.looks, "test on others (--test FILE, --seed N), or give --force")
        raise BadInputError(f"{data.name}: {again}") from error
    except OSError as error:
        raise BadInputError(f"{error.filename}: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise BadInputError(f"{data.name}: {error}") from error


def _collected(reader: "Reader", n_features: int | None = None) -> WholeData:
    """All blocks of a stream as one matrix. n_features: of the model that it is for, if there is one."""
    import numpy as np
    import scipy.sparse as sp

    from perceptrons.training.blocks import widened

    with refusing_stream():
        blocks = list(reader)
    say_skipped(reader)
    name = str(reader.files[0]) if len(reader.files) == 1 else f"{count(len(reader.files), 'file')}"
    if not blocks:
        raise BadInputError(f"{name}: there is no example in it.")
    if any(block.weight is not None and (block.weight != 1).any() for block in blocks):
        raise BadInputError(f"{name}: has weights of examples, which count only in perceptrons train: remove them.")
    width = max(n_features or 0, max(block.X.shape[1] for block in blocks))
    parts = [widened(block.X, width) for block in blocks]
    X = sp.vstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.concatenate(parts)
    y = np.concatenate([block.y for block in blocks])
    lines = None
    if len(reader.files) == 1 and all(block.lines is not None for block in blocks):
        lines = np.concatenate([block.lines for block in blocks])
    recipe = reader.recipe()
    return WholeData(
        X, y, name, label_name=recipe.get("label_column"), source=recipe, columns=reader.columns, lines=lines
    )
