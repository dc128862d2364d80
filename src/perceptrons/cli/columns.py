"""What the columns of a model that learned from a stream are called, and which of them several features share."""

from typing import TYPE_CHECKING, Any, NamedTuple

from perceptrons.cli.screen import count, grid, heading, listed, percent, plain, signed

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from perceptrons.cli.files import AnyModel
    from perceptrons.cli.weights import Row
    from perceptrons.data import Table
    from perceptrons.features import Columns

FEW = 1000  # names; so many are all listed in JSON
HEAVY = 20  # weights of a class among which shared columns are pointed out
SHOWN = 5  # features of a shared column
SAID = ("form", "label_column", "text_column", "categories", "ignore", "zero_based")  # of how files were read


class Called(NamedTuple):
    """A column by its features, the most frequent first, and the sign by which each of them counts."""

    names: list[str]
    signs: list[int]


class ColumnNames:
    """Names of columns, looked up as they are needed: there may be millions of columns."""

    def __init__(self, columns: "Columns"):
        self.columns = columns
        self._signs: np.ndarray | None = None

    def called(self, places: list[int]) -> list[Called]:
        """How these columns are called; one that nobody is remembered for, by its number from 1."""
        import numpy as np

        homes, counts = self.columns.columns, self.columns.counts
        numbers = np.flatnonzero(np.isin(homes, places))
        numbers = numbers[np.argsort(-counts[numbers], kind="stable")]
        by_column: dict[int, list[int]] = {}
        for number in numbers.tolist():
            by_column.setdefault(int(homes[number]), []).append(number)
        return [
            self._names(by_column[place]) if place in by_column else Called([f"column {place + 1}"], [1])
            for place in places
        ]

    def _names(self, numbers: list[int]) -> Called:
        if self._signs is None:
            self._signs = self.columns.signs
        return Called(self.columns.names(numbers), self._signs[numbers].astype(int).tolist())


class FromZero:
    """Names of columns in files that count from 0."""

    def __getitem__(self, column: int) -> str:
        return str(column)


def names_of(model: "AnyModel") -> "list[str] | ColumnNames | FromZero | None":
    """How the features of a model are called; None: by their numbers from 1."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return list(names)
    columns = getattr(model, "columns_", None)
    if columns is not None:
        return ColumnNames(columns)
    if (getattr(model, "source_", None) or {}).get("zero_based"):
        return FromZero()
    return None


def names_in(table: "Table") -> list[str] | dict[int, str] | None:
    """How the features of a table are called; of hashed ones by column, with - before those that count negatively."""
    from perceptrons.cli.weights import name_of

    names, columns = table.feature_names, table.columns
    if columns is None or columns.bits is None:
        return None if names is None else [name_of(names, k) for k in range(len(names))]
    places = sorted(set(columns.columns.tolist()))
    called = ColumnNames(columns).called(places)
    return {
        place: "-" * (one.signs[0] < 0) + one.names[0] + f" and {len(one.names) - 1} more" * (len(one.names) > 1)
        for place, one in zip(places, called, strict=True)
    }


def listed_names(model: "AnyModel") -> list[str] | None:
    """All names in the order of the columns, if every column has one and they are not too many."""
    names = names_of(model)
    if isinstance(names, ColumnNames):
        columns = names.columns
        return columns.names() if columns.bits is None and columns.n_names <= FEW else None
    return names if isinstance(names, list) else None


def source_in_words(source: dict[str, Any]) -> str:
    """text: words 1-2, lowercase False: how files were read, as far as it is not as usual."""
    from perceptrons.features import HashedText

    parts = {name: source[name] for name in SAID if source.get(name)}
    usual = HashedText().get_params() | {"bits": None, "words": None}
    for name, value in (source.get("text") or {}).items():
        if name in ("words", "chars") and value is not None:
            parts[name] = "-".join(str(size) for size in dict.fromkeys(value))
        elif name != "bits" and value != usual[name]:
            parts[name] = value
    said = [f"{name.replace('_', ' ')} {listed(value) if isinstance(value, list) else plain(value)}"
            for name, value in parts.items()]  # fmt: skip
    return ": ".join([str(source["format"]), *([", ".join(said)] if said else [])])


def audit(model: "AnyModel", rows: list["Row"], top: int) -> dict[str, Any] | None:
    """How features share columns, and the heaviest columns that are shared; None if columns are not hashed."""
    import numpy as np

    columns = getattr(model, "columns_", None)
    if columns is None or columns.bits is None:
        return None
    weights = np.array([row.weights for row in rows])
    found = {"bits": columns.bits, "signed": columns.signed, **columns.audit(weights, top)}
    names = ColumnNames(columns)
    called = names.called([entry["column"] for entry in found["heaviest"]])
    for entry, one in zip(found["heaviest"], called, strict=True):
        entry |= {"names": one.names, "signs": one.signs}
    return found


def hashing_in_words(found: dict[str, Any]) -> str:
    """7,291 features in 2^20 columns, 44 (0.6%) share one."""
    most = "more than " if found["forgot"] else ""
    said = f"{most}{count(found['features'], 'feature')} in 2^{found['bits']} columns"
    if not found["features"]:
        return f"2^{found['bits']} columns"
    sharing = found["features_sharing"]
    return f"{said}, {sharing:,} ({percent(sharing / found['features'])}) share one" if sharing else said


def shared_in_words(found: dict[str, Any], rows: list["Row"]) -> str:
    """Whether the heaviest weights are of one feature each."""
    from perceptrons.cli.weights import heaviest

    heavy = {place for row in rows for place in heaviest(row.weights, HEAVY)}
    shared = [entry for entry in found["heaviest"] if entry["column"] in heavy]
    if not shared:
        return f"none of the {len(heavy)} heaviest weights is of a column that features share"
    first = " and ".join(plain(name, 20) for name in shared[0]["names"][:2])
    return f"{len(shared)} of the {len(heavy)} heaviest weights are of shared columns, such as that of {first}"


def show_collisions(found: dict[str, Any], console: "Console") -> None:
    """Shared columns that carry weight, with their features and the signs by which these count."""
    entries = found["heaviest"]
    if not entries:
        console.print(heading("No column that features share carries weight"))
        return
    console.print(heading(f"Shared columns that carry weight, the heaviest {len(entries)}"))
    table = grid(("column", "right"), ("weight", "right"), ("features, the most frequent first", "left"))
    table.columns[2].no_wrap = False
    for entry in entries:
        signs = ["" if sign > 0 else "-" for sign in entry["signs"]]
        names = [f"{sign}{plain(name, 24)}" for sign, name in zip(signs, entry["names"], strict=True)]
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        table.row(f"{entry['column'] + 1:,}", signed(entry["weight"]), ", ".join(names[:SHOWN]) + more)
    console.print(table)
    if found["signed"]:
        console.print("A feature with - before it counts negatively: its own weight is the opposite.", style="dim")
