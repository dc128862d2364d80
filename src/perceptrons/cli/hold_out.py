"""Test sets: what `train`, `tune` and `compare` hold out, the same examples for the same seed and share.

Also what the last two share: groups, validation sets, and the ledger of the uses of test sets.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.files import SHARE, STDIN, like_table, name_of, opened, read_all, refusing_data
from perceptrons.cli.options import ExampleSplitOptions, ReadingOptions, SplitOptions
from perceptrons.cli.screen import BadInputError, count, percent, plain, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from perceptrons.data import Table
    from perceptrons.data.reader import Reader
    from perceptrons.data.splitting import Split, SplitMethod
    from perceptrons.data.table import Block

FOLDS = 5  # where the examples are too few for a test set
MAX_MISSED_SHARE = 0.02
MIN_TESTED = 10  # examples of a class


@dataclass(frozen=True)
class HoldOut:
    """The way to hold out a test set of examples that are read whole.

    share: None means the usual share, or no test set if that would be too small for the number of classes.
    """

    share: float | None
    seed: int
    time_order: bool = False
    groups: "np.ndarray | None" = None

    def share_of(self, y: Any) -> float:
        """Return the share to hold out of examples with these labels."""
        from perceptrons.data.splitting import is_too_small

        if self.share is not None:
            return self.share
        by_class = not self.time_order and self.groups is None
        return 0.0 if by_class and is_too_small(y, SHARE) else SHARE

    def test_rows(self, X: Any, y: Any, keys: "np.ndarray | None") -> "np.ndarray":
        """Return which examples are the test set; none if there are too few. keys: see `parts_of`."""
        import numpy as np

        from perceptrons.data.splitting import parts_of

        share = self.share_of(y)
        split: SplitMethod | None = "time" if self.time_order else None
        with suppress(ValueError):  # too few examples; `recipe` and `compare` say why
            parts = parts_of(
                X, y, dev=(y, y), test=share, split=split, groups=self.groups, keys=keys, random_state=self.seed
            )
            if parts.test is not None and parts.test.rows is not None:
                return parts.test.rows
        return np.arange(0)

    def apply_to(self, reader: "Reader") -> None:
        """Let a reader that reads all examples measure features on those outside the test set."""
        reader.keyed, reader.learn_from = True, self._rows_to_learn_from

    def _rows_to_learn_from(self, blocks: "list[Block]") -> "list[np.ndarray]":
        import numpy as np

        several = blocks[0].several  # examples are then split whatever their labels are
        y = np.concatenate([np.zeros(block.X.shape[0]) if several else block.y for block in blocks])
        keys = np.concatenate([np.asarray(block.keys) for block in blocks])
        learned = np.ones(len(y), bool)
        learned[self.test_rows(keys, y, keys)] = False
        return np.split(learned, np.cumsum([block.X.shape[0] for block in blocks])[:-1])

    def split(self, table: "Table") -> "Split":
        """Split a table into a training and a test set, with a sentence about both."""
        import numpy as np

        from perceptrons.data.splitting import Split

        n = table.X.shape[0]
        y = np.zeros(n) if table.several else table.y
        rows = self.test_rows(table.X, y, table.keys)
        if self.share == 0:
            return Split(table, None, f"All {n:,} for training, none held out")
        if not len(rows):
            too_few = f"too few to hold out {percent(self.share or SHARE, 0)} for testing"
            return Split(table, None, f"All {n:,} for training: {too_few}")
        method = f"{'at random' if table.several else 'stratified'}, seed {self.seed}"
        if self.time_order:
            method = "the last ones"
        learned = np.setdiff1d(np.arange(n), rows)
        share_of_all = f"{percent(len(rows) / n)}, {method}"
        description = f"{len(learned):,} for training; {len(rows):,} held out for testing ({share_of_all})"
        n_tested_of = {} if table.several else count_by_class(y[rows], y)
        share = SHARE if self.share is None else self.share
        warnings = test_set_warnings(share, len(rows), n, n_tested_of, f"--folds {FOLDS} tests on all examples")
        return Split(table.part(learned), table.part(rows), description, tuple(warnings))


def has_enough_for_folds(y: Any) -> bool:
    """Does every training part of the folds have two classes?"""
    import numpy as np

    counts = np.sort(np.unique(np.asarray(y), return_counts=True)[1])
    return len(counts) > 1 and counts[-1] >= FOLDS and counts[-2] > 1


def test_set_warnings(share: float, n_tested: int, n: int, n_tested_of: "Mapping[Any, int]", instead: str) -> list[str]:
    """Say what makes a test set a poor one.

    share: that was to be held out of n examples. n_tested_of: the number of test examples of every class. instead: what
    else to do.
    """
    warnings = []
    if abs(n_tested / n - share) > MAX_MISSED_SHARE:
        warnings.append(f"The test set has {percent(n_tested / n)} of the examples instead of {percent(share)}.")
    rare_classes = [label for label, tested in n_tested_of.items() if tested < MIN_TESTED]
    if rare_classes:
        least = min(rare_classes, key=n_tested_of.__getitem__)
        classes = f"{count(len(rare_classes), 'class has', 'classes have')} fewer than {MIN_TESTED} test examples"
        example = f"{plain(str(least), 20)} has {n_tested_of[least]:,}"
        warnings.append(f"{classes} ({example}), so the test score is uncertain: {instead}.")
    return warnings


def majority_warnings(y: Any, accuracy: float) -> list[str]:
    """Warn of an accuracy that always predicting the commonest of these test labels would reach, too."""
    import numpy as np

    labels, numbers = np.unique(np.asarray(y), return_counts=True)
    share = numbers.max() / numbers.sum()
    if accuracy == 1 or accuracy > share + 1e-12:  # another way to divide the same two counts may round up
        return []
    label = plain(str(labels[numbers.argmax()]), 30)
    return [
        f"An accuracy of {percent(accuracy)} is no better than always predicting {label} ({percent(share)}). "
        "Look at the columns (perceptrons look), or train with --kernel rbf."
    ]


def count_by_class(y: Any, classes: Any) -> dict[Any, int]:
    """Return how many of these labels each class has."""
    import numpy as np

    n_of = Counter(np.asarray(y).tolist())
    return {label: n_of[label] for label in np.unique(np.asarray(classes)).tolist()}


# ---- what tune and compare share: groups, parts, and the ledger of uses of test sets


def check_split(options: SplitOptions) -> None:
    """Refuse both a file and a share for a part, shares out of range, and a split both by time and by groups."""
    if isinstance(options, ExampleSplitOptions) and options.time_order and options.group_column is not None:
        raise BadInputError("--time-order and --group-column cannot be combined: split by time, or by groups.")
    for name in ("dev", "test"):
        path, share = getattr(options, name, None), getattr(options, f"{name}_share")
        if path is not None and share is not None:
            raise BadInputError(f"--{name} and --{name}-share cannot be combined: give a file, or a share to hold out.")
        if share is not None and not 0 <= share < 1:
            raise BadInputError(f"--{name}-share {share:g}: give a share from 0 to below 1.")


def read_examples(
    data: "Sequence[Path]", options: ExampleSplitOptions, reading: ReadingOptions, needs_test_set: bool
) -> "tuple[Table, np.ndarray | None, HoldOut]":
    """Read all examples, and their groups if there are any. Also return how the test set is held out."""
    from perceptrons.data.table import check_classes

    groups = None
    if (column := options.group_column) is not None:
        groups = groups_in(data, reading, column)
        reading = replace(reading, ignore=[*(reading.ignore or []), column])
    share = 0.0 if options.test is not None else options.test_share
    if share is None and needs_test_set:
        share = SHARE
    hold_out = HoldOut(share, options.seed, options.time_order, groups)
    reader = opened(data, reading)
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


def groups_in(data: "Sequence[Path]", options: ReadingOptions, column: str) -> "np.ndarray":
    """Return the group of every example: its value in a column that is not a feature."""
    from perceptrons.data.options import NAMED

    if STDIN in data:
        raise BadInputError("--group-column reads DATA twice, but standard input can be read only once: give a file.")
    if (format := opened(data, options).format) not in NAMED:
        raise BadInputError(f"--group-column: files of format {format} have no named columns: leave it out.")
    # a group is read as if it were the label, since it may be a word; as a feature it would give examples away
    label_options = replace(
        options, label_column=[column], labels=None, multilabel=False, label_separator=None, text_labels=True,
        many_classes=True,
    )  # fmt: skip
    try:
        groups = read_all(opened(data, label_options), reports=False).y
    except BadInputError as error:
        raise BadInputError(f"--group-column {plain(column)}, read in the same way as labels: {error}") from error
    assert groups is not None
    return groups


def make_parts(options: SplitOptions, read: Callable[[Path], Any]) -> dict[str, Any]:
    """Return the validation and test sets as `recipe` takes them: the examples of a file, or a share."""
    parts = {}
    for name in ("dev", "test"):
        path, share = getattr(options, name, None), getattr(options, f"{name}_share")
        parts[name] = read(path) if path is not None else SHARE if share is None else share
    return parts


def examples_like(table: "Table", path: Path, reading: ReadingOptions) -> tuple[Any, Any]:
    """Return the examples and labels of another file, read in the same way as a table."""
    more = like_table(table, path, reading)
    return more.X, labels_of(more)


def labels_of(table: "Table") -> Any:
    """Return the labels as `recipe` and `compare` take them: sets, where examples may have several."""
    return table.y if table.classes is None else table.label_sets


def describe_table(table: "Table") -> str:
    """Return the name and the size of a table."""
    assert table.y is not None
    n, d = table.X.shape
    if table.classes is not None:
        classes = count(len(table.classes), "label")
    else:
        classes = count(len(set(table.y.tolist())), "class", "classes")
    return f"{name_of(table)}: {count(n, 'example')}, {count(d, 'feature')}, {classes}"


def warnings_about_test_set(test_set: Any, table: "Table", options: SplitOptions) -> list[str]:
    """Return warnings about a test set that was held out of a table; test_set: a part, or None."""
    if options.test is not None or test_set is None:
        return []
    share = SHARE if options.test_share is None else options.test_share
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
def refusing_selection(name: str) -> "Iterator[None]":
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
