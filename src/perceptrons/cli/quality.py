"""How good predictions are: accuracy, precision, recall and F1 of every class, and which classes are confused."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError
from perceptrons.cli.screen import count, grid, heading, listed, percent, plain

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

MANY = 20  # classes; above this many the tables show the worst
MOST_UNKNOWN = 1000  # labels; above this many they are no classes


@dataclass
class Quality:
    """labels: the model's classes, then labels that it does not know. confusion: true class by predicted class."""

    labels: list[Any]
    known: int
    confusion: "np.ndarray"

    @property
    def total(self) -> int:
        return int(self.confusion.sum())

    @property
    def right(self) -> int:
        return int(self.confusion.trace())

    @property
    def accuracy(self) -> float:
        return self.right / self.total

    @property
    def commonest(self) -> tuple[Any, float]:
        """The label that occurs most, and its share: the accuracy of always answering it."""
        counts = self.confusion.sum(axis=1)
        return self.labels[int(counts.argmax())], float(counts.max() / self.total)

    def by_class(self) -> list[dict[str, Any]]:
        """Precision, recall and F1 are None where they are 0/0."""
        rows = []
        for k, label in enumerate(self.labels):
            hit, true, said = (int(part) for part in (
                self.confusion[k, k], self.confusion[k].sum(), self.confusion[:, k].sum()))  # fmt: skip
            rows.append({
                "class": label, "count": true,
                "precision": hit / said if said else None,
                "recall": hit / true if true else None,
                "f1": 2 * hit / (true + said) if true + said else None,
            })  # fmt: skip
        return rows

    def confusions(self) -> list[tuple[Any, Any, int]]:
        """(true, predicted, how often), the most frequent first, right answers left out."""
        k = len(self.labels)
        pairs = [
            (self.labels[i], self.labels[j], int(self.confusion[i, j])) for i in range(k) for j in range(k) if i != j
        ]
        return sorted((pair for pair in pairs if pair[2]), key=lambda pair: -pair[2])


class Tally:
    """True labels against answers, counted as they come. Labels that the model does not know are mistakes."""

    def __init__(self, classes: "np.ndarray"):
        self.labels = classes.tolist()
        self.known = len(self.labels)
        self._whole = classes.dtype.kind in "iu"
        self._places = {key: k for k, label in enumerate(self.labels) for key in (str(label), label)}
        self._rows: list[Any] = []

    def add(self, labels: "np.ndarray", codes: "np.ndarray", answers: "np.ndarray") -> None:
        """codes: the number of each example's label among the labels. answers: the number of the class answered."""
        import numpy as np

        table = np.bincount(codes * self.known + answers, minlength=len(labels) * self.known)
        for label, row in zip(labels.tolist(), table.reshape(-1, self.known), strict=True):
            if row.any():
                place = self._place(label)
                self._rows += [np.zeros(self.known, np.int64) for _ in range(len(self._rows), place + 1)]
                self._rows[place] += row
        if len(self.labels) > self.known + MOST_UNKNOWN:
            raise BadInputError(
                f"There are more than {MOST_UNKNOWN:,} labels that the model does not know, such as "
                f"{listed(self.labels[-3:])}: name the right column with --label-column."
            )

    def _place(self, label: Any) -> int:
        """The number of a label; one that came never before gets the next."""
        from perceptrons.data.table import WHOLE

        if self._whole and isinstance(label, str) and WHOLE.fullmatch(label):
            label = int(label.partition(".")[0])  # +1 is 1
        place = self._places.get(label, self._places.get(str(label)))
        if place is None:
            place = self._places[label] = len(self.labels)
            self.labels.append(label)
        return place

    def quality(self) -> Quality:
        """What was counted so far."""
        import numpy as np

        confusion = np.zeros((len(self.labels), len(self.labels)), np.int64)
        for place, row in enumerate(self._rows):
            confusion[place, : self.known] = row
        return Quality(self.labels, self.known, confusion)


def measure(classes: "np.ndarray", y: Any, predicted: "np.ndarray") -> Quality:
    """Compare labels with the numbers of the predicted classes."""
    import numpy as np

    tally = Tally(classes)
    tally.add(*np.unique(y, return_inverse=True), predicted)
    return tally.quality()


def beside(quality: Quality) -> str:
    """What an accuracy has to be seen beside: how many, and what the laziest answer would get."""
    label, share = quality.commonest
    return f"{quality.right:,} of {quality.total:,}; always answering {plain(label, 16)} would give {percent(share)}"


def show_classes(quality: Quality, console: "Console", thing: str = "class") -> None:
    """Precision, recall, F1 and count; of very many classes those with the lowest F1. thing: how to call a class."""
    rows = quality.by_class()
    title = f"By {thing}"
    if len(rows) > MANY:
        present = [row for row in rows if row["count"]]
        rows = sorted(present, key=lambda row: (row["f1"] or 0.0, -row["count"]))[:MANY]
        title = f"By {thing}: the {MANY} of {len(quality.labels)} with the lowest F1 (--json has all)"
    table = grid((thing, "left"), ("precision", "right"), ("recall", "right"), ("F1", "right"), ("count", "right"))
    for row in rows:
        shares = ["-" if row[name] is None else percent(row[name]) for name in ("precision", "recall", "f1")]
        table.row(plain(row["class"]), *shares, f"{row['count']:,}")
    console.print(heading(title), table)


def show_confusion(quality: Quality, console: "Console", thing: str = "class") -> None:
    """The confusion matrix if it fits, else the most frequent confusions."""
    none = "." if console.options.ascii_only else "·"
    cells = [[f"{number:,}" if number else none for number in row] for row in quality.confusion.tolist()]
    for at_most in (28, 12, 6):
        labels = [plain(label, at_most) for label in quality.labels]
        widths = [2 + max(len(label), *(len(row[j]) for row in cells)) for j, label in enumerate(labels)]
        if len(labels) <= MANY and max(4, *map(len, labels)) + sum(widths) <= console.width:
            console.print(heading(f"Confusion: true {thing} in rows, predicted {thing} in columns"))
            console.print(_matrix(labels, cells))
            return
    show_confusions(quality, console)


def show_confusions(quality: Quality, console: "Console", at_most: int = 10) -> None:
    """The most frequent confusions."""
    pairs = quality.confusions()
    table = grid(("true", "left"), ("taken for", "left"), ("times", "right"))
    for true, said, times in pairs[:at_most]:
        table.row(plain(true), plain(said), f"{times:,}")
    kinds = count(len(pairs), "confusion")
    console.print(heading(f"The most frequent of {kinds}" if len(pairs) > at_most else f"All {kinds}"), table)


def _matrix(labels: list[str], cells: list[list[str]]) -> Any:
    from rich.text import Text

    table = grid(("true", "left"), *[(label, "right") for label in labels])
    for k, row in enumerate(cells):
        styles = ["bold green" if k == j else "red" if cell[0].isdigit() else "dim" for j, cell in enumerate(row)]
        table.row(labels[k], *(Text(cell, style) for cell, style in zip(row, styles, strict=True)))
    return table
