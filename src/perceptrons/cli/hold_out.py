"""What `tune` and `compare` share: examples with groups, validation and test sets, the ledger of uses of test sets."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from perceptrons.cli.files import STDIN, like_table, name_of, open_data, read_all, refusing_data
from perceptrons.cli.messages import BadInputError, plain, say
from perceptrons.cli.options import ExampleSplitOptions, ReadingOptions, SplitOptions, refuse_both
from perceptrons.data import Table
from perceptrons.data.options import NAMED
from perceptrons.data.splitting import HELD_OUT_SHARE, HoldOut, count_by_class, test_set_warnings
from perceptrons.data.table import check_classes
from perceptrons.engine.wording import count, in_percent

FOLDS = 5  # where the examples are too few for a test set


def majority_warnings(y: Any, accuracy: float) -> list[str]:
    """Warn of an accuracy that always predicting the commonest of these test labels would reach, too."""
    labels, numbers = np.unique(np.asarray(y), return_counts=True)
    share = numbers.max() / numbers.sum()
    if accuracy == 1 or accuracy > share + 1e-12:  # another way to divide the same two counts may round up
        return []
    label = plain(labels[numbers.argmax()], 30)
    return [
        f"An accuracy of {in_percent(accuracy)} is no better than always predicting {label} ({in_percent(share)}). "
        "Look at the columns (perceptrons look), or train with --kernel rbf."
    ]


def check_split(options: SplitOptions) -> None:
    """Refuse both a file and a share for a part, shares out of range, and a split both by time and by groups."""
    if isinstance(options, ExampleSplitOptions):
        refuse_both(options, "time_order", ("group_column",), "split by time, or by groups")
    for name in ("dev", "test"):
        share = getattr(options, f"{name}_share")
        if hasattr(options, name):
            refuse_both(options, name, (f"{name}_share",), "give a file, or a share to hold out")
        if share is not None and not 0 <= share < 1:
            raise BadInputError(f"--{name}-share {share:g}: give a share from 0 to below 1.")


def read_examples(
    data: Sequence[Path], options: ExampleSplitOptions, reading: ReadingOptions, needs_test_set: bool
) -> tuple[Table, np.ndarray | None, HoldOut]:
    """Read all examples, and their groups if there are any. Also return how the test set is held out."""
    groups = None
    if (column := options.group_column) is not None:
        groups = groups_in(data, reading, column)
        reading = replace(reading, ignore=[*(reading.ignore or []), column])
    share = 0.0 if options.test is not None else options.test_share
    if share is None and needs_test_set:
        share = HELD_OUT_SHARE
    hold_out = HoldOut(share, options.seed, options.time_order, groups)
    reader = open_data(data, reading)
    hold_out.apply_to(reader)
    table = read_all(reader)
    if groups is not None and len(groups) != table.X.shape[0]:
        raise BadInputError(
            f"--group-column {plain(column)}: only {len(groups):,} of {table.X.shape[0]:,} examples have a value: add "
            "the missing ones."
        )
    if table.weight is not None:
        raise BadInputError(
            f"{name_of(table)}: has example weights, which only perceptrons train supports: remove them."
        )
    with refusing_data():
        check_classes(table, reading.many_classes)
    return table, groups, hold_out


def groups_in(data: Sequence[Path], options: ReadingOptions, column: str) -> np.ndarray:
    """Return the group of every example: its value in a column that is not a feature."""
    if STDIN in data:
        raise BadInputError("--group-column reads DATA twice, but standard input can be read only once: give a file.")
    if (format := open_data(data, options).format) not in NAMED:
        raise BadInputError(f"--group-column: files of format {format} have no named columns: leave it out.")
    # a group is read as if it were the label, since it may be a word; as a feature it would give examples away
    label_options = replace(
        options, label_column=[column], labels=None, multilabel=False, label_separator=None, text_labels=True,
        many_classes=True,
    )  # fmt: skip
    try:
        groups = read_all(open_data(data, label_options), reports=False).y
    except BadInputError as error:
        raise BadInputError(f"--group-column {plain(column)}, read in the same way as labels: {error}") from error
    assert groups is not None
    return groups


def make_parts(options: SplitOptions, read: Callable[[Path], Any]) -> dict[str, Any]:
    """Return the validation and test sets as `recipe` takes them: the examples of a file, or a share."""
    parts = {}
    for name in ("dev", "test"):
        path, share = getattr(options, name, None), getattr(options, f"{name}_share")
        parts[name] = read(path) if path is not None else HELD_OUT_SHARE if share is None else share
    return parts


def examples_like(table: Table, path: Path, reading: ReadingOptions) -> tuple[Any, Any]:
    """Return the examples and labels of another file, read in the same way as a table."""
    more = like_table(table, path, reading)
    return more.X, labels_of(more)


def labels_of(table: Table) -> Any:
    """Return the labels as `recipe` and `compare` take them: sets, where examples may have several."""
    return table.y if table.classes is None else table.label_sets


def describe_table(table: Table) -> str:
    """Return the name and the size of a table."""
    assert table.y is not None
    n, d = table.X.shape
    if table.classes is not None:
        classes = count(len(table.classes), "label")
    else:
        classes = count(len(set(table.y.tolist())), "class", "classes")
    return f"{name_of(table)}: {count(n, 'example')}, {count(d, 'feature')}, {classes}"


def warnings_about_test_set(test_set: Any, table: Table, options: SplitOptions) -> list[str]:
    """Return warnings about a test set that was held out of a table; test_set: a part, or None."""
    if options.test is not None or test_set is None:
        return []
    share = HELD_OUT_SHARE if options.test_share is None else options.test_share
    n_tested_of = {} if table.several else count_by_class(test_set.taken()[1], table.y)
    instead = f"perceptrons train --folds {FOLDS} tests on all examples"
    return test_set_warnings(share, len(test_set), table.X.shape[0], n_tested_of, instead)


def find_ledger(options: SplitOptions) -> Path | None:
    """Return the file that records uses of test sets: that of --ledger, or one in the user's folder for program state.

    If that folder cannot be written, say so on stderr and return None.
    """
    from perceptrons.selection.test_set_ledger import usual_ledger

    if (path := options.ledger) is not None:
        if (path.exists() and not path.is_file()) or not path.parent.is_dir():
            raise BadInputError(
                f"--ledger {path}: this is not a regular file in an existing folder: give another name."
            )
        return path
    path, reason = usual_ledger()
    if reason is None:
        return path
    if not options.quiet:
        say(f"{path.parent}: {reason}. This use of the test set is not recorded; to record it, use --ledger FILE.")
    return None


@contextmanager
def refusing_selection(name: str) -> Iterator[None]:
    """Turn errors of splitting, training and the use of test sets into refusals, in the command's words."""
    from perceptrons.selection import OpenedBeforeError

    try:
        yield
    except OpenedBeforeError as error:
        advice = "use another test set (--test FILE, --seed N), or give --force"
        raise BadInputError(f"{name}: {OpenedBeforeError(error.n, error.looks, advice)}") from error
    except OSError as error:
        raise BadInputError(f"{error.filename}: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise BadInputError(f"{name}: {error}") from error
