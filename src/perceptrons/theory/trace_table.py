"""`Trace`, the table of the visits of a training: as text, in a notebook, as a frame, LaTeX, CSV or plain values."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from perceptrons.engine.html import Html, block, escaped, note, table
from perceptrons.theory.visits import Visit, Weights, alone, rounded

FEW = 6  # features that are shown as a vector; of more, those that are not 0 are shown by name
SHOWN = 4  # of those at most
LEFT = ("", "x", "scores", "w", "alpha")  # columns that begin on the left
LINES = 200  # visits that text and notebooks show at most: the first ones


class Trace(Sequence[Visit]):
    """The visits of a training, one by one, and the weights after each. Made by `perceptrons.theory.trace`.

    It is a sequence of `Visit`. Printed, or shown in a notebook, it is a table.

    Attributes
    ----------
    start : Weights
        Before the first visit.
    classes : array of shape (n_classes,)
    names : list of str
        Of the features.
    model : Perceptron or KernelPerceptron
        As it is after the last visit. `model.stop_reason_` says why training stopped; None: as many visits or updates
        were made as were asked for.
    places : list of str or None
        What the table calls the examples: default X[0], X[1], ...
    """

    def __init__(
        self, visits: list[Visit], *, start: Weights, classes: np.ndarray, names: list[str], model: Any, n_examples: int
    ):
        self.visits, self.start, self.classes, self.names = visits, start, classes, names
        self.model, self.n_examples = model, n_examples
        self.places: list[str] | None = None

    def __len__(self) -> int:
        return len(self.visits)

    @overload
    def __getitem__(self, place: int) -> Visit: ...
    @overload
    def __getitem__(self, place: slice) -> list[Visit]: ...
    def __getitem__(self, place: Any) -> Any:
        return self.visits[place]

    def __iter__(self) -> Iterator[Visit]:
        return iter(self.visits)

    def __repr__(self) -> str:
        return f"<Trace of {self.summary()}>"

    @property
    def updates(self) -> int:
        """How many there were."""
        return self.visits[-1].k if self.visits else 0

    @property
    def mistakes(self) -> int:
        """How many there were."""
        return sum(visit.mistake for visit in self.visits)

    def summary(self) -> str:
        """How many visits, mistakes and updates, and why it ended."""
        parts = [_counted(len(self), "visit"), _counted(self.mistakes, "mistake"), _counted(self.updates, "update")]
        reason = self.model.stop_reason_
        return ", ".join(parts) + (f"; stopped: {reason}" if reason else "")

    # ---- as a table to read

    def __str__(self) -> str:
        header, lines = self._cells()
        rows = [list(header)]
        for line in lines:
            cells = [str(cell).split("\n") for cell in line]
            height = max(map(len, cells))
            rows += [[cell[k] if k < len(cell) else "" for cell in cells] for k in range(height)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(header))]
        left = self._left(header)
        text = "\n".join(
            "  ".join(
                cell.ljust(width) if k in left else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )
        return "\n".join([text, *self._notes()])

    def _repr_html_(self) -> str:
        header, lines = self._cells()
        rows = [[Html("<br>".join(map(escaped, str(cell).split("\n")))) for cell in line] for line in lines]
        return block(table(rows, header), *(note(one) for one in self._notes()))

    def to_latex(self) -> str:
        """A `tabular` environment, which needs no packages."""
        header, lines = self._cells(limit=None)
        left = self._left(header)
        columns = "".join("l" if k in left else "r" for k in range(len(header)))
        rows = [" & ".join(_latex(cell) for cell in line) for line in [header, *lines]]
        body = [rows[0] + r" \\ \hline", *(row + r" \\" for row in rows[1:])]
        return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}"]) + "\n"

    def _left(self, header: Sequence[str]) -> set[int]:
        """Columns that begin on the left."""
        return {k for k, name in enumerate(header) if name.removeprefix("average ") in LEFT}

    def _notes(self) -> list[str]:
        """What is to be said below the table."""
        notes = []
        if len(self) > LINES:
            notes.append(f"{LINES} of {len(self):,} visits shown.")
        low, high = (self.classes.tolist() * 2)[:2]
        if len(self.classes) == 2 and (low, high) != (-1, 1):
            notes.append(f"y is -1 for {low!r} and +1 for {high!r}.")
        return notes

    def _cells(self, limit: int | None = LINES) -> tuple[list[str], list[list[str]]]:
        """The header and the lines of the table as text; the start is the first line."""
        several, kernel = len(self.classes) > 2, self.start.alpha is not None
        header = ["k", "epoch", "example", "x", "y", *(["scores", "margin"] if several else ["s", "y·s"]), ""]
        header += ["alpha", "average alpha"] if kernel else ["w", "b", "average w", "average b"]
        first = ["0", *[""] * 7, *self._written(self.start, None)]
        first = first[: len(header)] if kernel else [*first[:-2], "", ""]
        lines = [first]
        for visit in self.visits[:limit]:
            named = zip(self.classes.tolist(), np.ravel(visit.score).tolist(), strict=False)
            scores = (
                ", ".join(f"{label}: {rounded(s, _size(visit))}" for label, s in named)
                if several
                else rounded(visit.score, _size(visit))
            )
            lines.append(
                [
                    f"{visit.k}",
                    f"{visit.epoch}",
                    self._place(visit.example),
                    self._vector(visit.x),
                    f"{visit.y}",
                    scores,
                    rounded(visit.margin, _size(visit)),
                    visit.verdict,
                    *self._written(visit.weights, visit),
                ]
            )
        return header, lines

    def _written(self, weights: Weights, visit: Visit | None) -> list[str]:
        """The cells of the weights. Of several classes the rows that moved; before the first visit all."""
        if weights.alpha is not None:
            return [self._alphas(weights.alpha), self._alphas(weights.alpha_average)]
        about = None if visit is None else np.flatnonzero(visit.x)
        if len(self.classes) == 2:
            now = [self._vector(weights.coef[0], about), rounded(weights.intercept[0])]
            mean = [self._vector(weights.coef_average[0], about), rounded(weights.intercept_average[0])]
            return now + mean
        if visit is None and not weights.coef.any() and not weights.intercept.any():
            return ["all 0", "", "", ""]
        rows = range(len(weights.coef)) if visit is None else self._rows(visit)
        names = self._row_names(len(weights.coef))
        now = ["\n".join(f"{names[r]}: {self._vector(weights.coef[r], about)}" for r in rows),
               "\n".join(rounded(weights.intercept[r]) for r in rows)]  # fmt: skip
        mean = ["\n".join(self._vector(weights.coef_average[r], about) for r in rows),
                "\n".join(rounded(weights.intercept_average[r]) for r in rows)]  # fmt: skip
        return now + mean

    def _rows(self, visit: Visit) -> list[int]:
        """The numbers of the rows of weights that a visit moved."""
        names = self._row_names(len(visit.weights.coef))
        return [r for r, name in enumerate(names) if name in visit.moved]

    def _row_names(self, n: int) -> list[Any]:
        """What rows of weights are called: classes, or by pairs of classes the numbers of the rows."""
        labels = self.classes.tolist()
        return labels if n == len(labels) else list(range(n))

    def _place(self, example: int) -> str:
        """Where an example stands."""
        return f"X[{example}]" if self.places is None else self.places[example]

    def _vector(self, values: np.ndarray, about: np.ndarray | None = None) -> str:
        """(1, 0.5), or of many features those that are not 0, or those in `about`, by name."""
        largest = float(np.abs(values).max(initial=0.0))
        if len(values) <= FEW:
            return f"({', '.join(rounded(value, largest) for value in values.tolist())})"
        which = np.flatnonzero(values) if about is None else about
        shown = ", ".join(f"{self.names[i]}={rounded(values[i], largest)}" for i in which[:SHOWN].tolist())
        return (shown or "0") + ", ..." * (len(which) > SHOWN)

    def _alphas(self, alpha: np.ndarray) -> str:
        """One coefficient per example, those that are 0 left out if there are many; one line per class."""
        lines = []
        for row, values in enumerate(alpha.T):
            if len(values) <= FEW:
                text = f"({', '.join(map(rounded, values.tolist()))})"
            else:
                which = np.flatnonzero(values)
                text = ", ".join(f"{self._place(i)}={rounded(values[i])}" for i in which[:SHOWN].tolist()) or "0"
                text += ", ..." * (len(which) > SHOWN)
            lines.append(f"{self.classes[row]}: {text}" if len(alpha.T) > 1 else text)
        return "\n".join(lines)

    # ---- as data

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON knows them: classes, features, the start and the visits."""
        visits = []
        for visit in self.visits:
            plain = {name: _plain(getattr(visit, name)) for name in visit._fields if name != "weights"}
            place = {} if self.places is None else {"place": self.places[visit.example]}
            visits.append(plain | place | self._plain_weights(visit.weights))
        return {
            "classes": self.classes.tolist(),
            "features": list(self.names),
            "start": self._plain_weights(self.start),
            "visits": visits,
            "mistakes": self.mistakes,
            "updates": self.updates,
            "stop_reason": self.model.stop_reason_,
        }

    def _plain_weights(self, weights: Weights) -> dict[str, Any]:
        parts = weights._asdict()
        if weights.alpha is not None:
            return {name: _plain(_column(parts[name])) for name in ("alpha", "alpha_average")}
        names = ("coef", "intercept", "coef_average", "intercept_average")
        return {name: _plain(alone(parts[name])) for name in names}

    def to_records(self) -> list[dict[str, Any]]:
        """One flat dict per visit, its keys the columns of `to_frame`."""
        several = len(self.classes) > 2
        records = []
        for visit in self.visits:
            record: dict[str, Any] = {"k": visit.k, "epoch": visit.epoch, "example": visit.example}
            record |= {f"x_{name}": float(value) for name, value in zip(self.names, visit.x, strict=True)}
            record |= {"y": visit.y, "predicted": visit.predicted}
            if several:
                named = zip(self.classes.tolist(), np.ravel(visit.score).tolist(), strict=True)
                record |= {f"score_{label}": score for label, score in named}
            else:
                record["score"] = visit.score
            record |= {"margin": visit.margin, "mistake": visit.mistake, "update": visit.update}
            records.append(record | self._flat(visit.weights))
        return records

    def _flat(self, weights: Weights) -> dict[str, float]:
        flat: dict[str, float] = {}
        if weights.alpha is not None:
            for name, alpha in (("alpha", weights.alpha), ("average_alpha", weights.alpha_average)):
                for row, values in enumerate(alpha.T):
                    of = f"_{self.classes[row]}" if len(alpha.T) > 1 else ""
                    flat |= {f"{name}{of}_{i}": float(value) for i, value in enumerate(values)}
            return flat
        rows = [f"_{name}" for name in self._row_names(len(weights.coef))] if len(weights.coef) > 1 else [""]
        for name, w, b in (
            ("", weights.coef, weights.intercept),
            ("average_", weights.coef_average, weights.intercept_average),
        ):
            for r, of in enumerate(rows):
                flat |= {f"{name}w{of}_{of_x}": float(v) for of_x, v in zip(self.names, w[r], strict=True)}
                flat[f"{name}b{of}"] = float(b[r])
        return flat

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per visit."""
        import pandas as pd

        return pd.DataFrame(self.to_records())

    def to_csv(self, path: Any = None) -> str | None:
        """Comma-separated values, one line per visit, written to a file or, without a path, returned."""
        records = self.to_records()
        text = io.StringIO()
        if records:
            writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
        if path is None:
            return text.getvalue()
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        return None


def _column(part: np.ndarray) -> np.ndarray:
    return part[:, 0] if part.shape[1] == 1 else part


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _size(visit: Visit) -> float:
    """About how large the terms of a score are."""
    if visit.weights.coef is None:
        return float(np.abs(visit.score).max())
    weights = max(np.abs(visit.weights.coef).max(initial=0.0), np.abs(visit.weights.intercept).max(initial=0.0))
    return float(weights * max(1.0, np.abs(visit.x).max(initial=0.0)))


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
         "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "·": r"$\cdot$", "\n": "; "}  # fmt: skip


def _latex(cell: str) -> str:
    """A cell with LaTeX's letters escaped; numbers and vectors in math, for the sign of minus."""
    if cell and not cell.strip("0123456789.,-+e() \n"):
        return "$" + cell.replace("\n", "; ") + "$"
    return "".join(LATEX.get(letter, letter) for letter in cell)
