"""What `tune` and `compare` share: examples with groups, splits, and the ledger of uses of test sets."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError
from perceptrons.cli.inputs import SHARE, like_table, name_of, opened, whole, with_groups
from perceptrons.cli.screen import count, say
from perceptrons.cli.train import check_classes

if TYPE_CHECKING:
    import numpy as np

    from perceptrons.data import Table

UNREMEMBERED = "{path}: {why}. This use of the test set is not remembered; to remember it, use --ledger FILE."


def check_split(asked: Any, **parts: tuple[Path | None, float | None]) -> None:
    """Refuse what does not go together. parts: by name, the file and the share that were given for each."""
    for name, (path, share) in parts.items():
        if path is not None and share is not None:
            raise BadInputError(f"--{name} and --{name}-share exclude each other: give a file, or a share to hold out.")
        if share is not None and not 0 <= share < 1:
            raise BadInputError(f"--{name}-share {share:g}: give a share from 0 to below 1.")
    if asked.time_order and asked.group_column is not None:
        raise BadInputError("--time-order and --group-column exclude each other: split by time, or by groups.")


def read_examples(asked: Any) -> tuple["Table", "np.ndarray | None"]:
    """All examples, and their groups if there are any."""
    if asked.group_column is None:
        table, groups = whole(opened(asked.files, asked)), None
    else:
        table, groups = with_groups(asked.files, asked, asked.group_column)
    if table.weight is not None:
        raise BadInputError(
            f"{name_of(table)}: has weights of examples, which count only in perceptrons train: remove them."
        )
    check_classes(table, asked.many_classes)
    return table, groups


def part_of(path: Path | None, share: float | None, table: "Table", asked: Any) -> Any:
    """A validation or test set as `recipe` takes it: the examples of a file, or a share."""
    if path is None:
        return SHARE if share is None else share
    more = like_table(table, path, asked)
    return more.X, more.y


def in_words(table: "Table") -> str:
    assert table.y is not None
    n, d = table.X.shape
    classes = count(len(set(table.y.tolist())), "class", "classes")
    return f"{name_of(table)}: {count(n, 'example')}, {count(d, 'feature')}, {classes}"


def ledger_file(asked: Path | None, quiet: bool = False) -> Path | None:
    """Where uses of test sets are remembered: as asked, or in the user's folder for program state.

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
def refusing_what_is_wrong(table: "Table") -> Iterator[None]:
    """Turn what splitting, learning and the seal find wrong with the data into refusals, in the command's words."""
    from perceptrons.selection import OpenedBeforeError

    name = name_of(table)
    try:
        yield
    except OpenedBeforeError as error:
        again = OpenedBeforeError(error.n, error.looks, "test on others (--test FILE, --seed N), or give --force")
        raise BadInputError(f"{name}: {again}") from error
    except OSError as error:
        raise BadInputError(f"{error.filename}: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise BadInputError(f"{name}: {error}") from error
