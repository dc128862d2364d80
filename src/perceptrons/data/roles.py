"""What the columns of a table are, label, numbers, categories or texts: settled by the first block, found by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from perceptrons.data.table import DataFileError
from perceptrons.features.records import Roles
from perceptrons.features.values import did_you_mean, listed, shown

USUAL_LABELS = ("label", "y", "target", "class")


class ModelColumns(NamedTuple):
    """The features of a model that learned from arrays: numbers, by name or by position."""

    names: list[str] | None
    n_features: int


class Asked(NamedTuple):
    """What the caller of `TableReader` said of the columns; see there."""

    label: str | None
    texts: list[str] | str | None
    numbers: list[str] | None
    categories: list[str]
    ignore: list[str]
    names: list[str] | None
    header: bool | None
    need_labels: bool
    closed: bool  # have features that are not named here no column, so that nobody need look at them?
    optional: list[str] | None = None  # columns that a record may lack; None: not known
    # other keys that have columns in the model that is to predict, if there is one
    further: frozenset[str] | None = None
    model: ModelColumns | None = None  # the model that is to predict, if it did not learn from files


class Layout(NamedTuple):
    """Where the columns lie in a file; places count from 0."""

    names: list[str]
    label: int | None
    numbers: list[int]
    categories: list[int]
    texts: list[int]
    form: Any = None  # the format's own

    def used(self) -> list[int]:
        """All places that are looked at."""
        return sorted({*self.numbers, *self.categories, *self.texts, *([] if self.label is None else [self.label])})


class Origin(NamedTuple):
    """A file, for messages."""

    path: Path
    line: int | None = None
    header: bool = True

    def error(self, what: str, place: int = 0) -> DataFileError:
        return DataFileError(self.path, what, self.line, place + 1)


def settle(
    origin: Origin,
    names: list[str],
    asked: Asked,
    is_number: Callable[[list[int]], list[bool]],
    labels: list[str],
) -> Roles:
    """Decide what columns of these names are.

    is_number: for columns at these places, by what they hold. labels: columns that may be the label if none is named,
    the likeliest last.
    """
    texts = text_columns(names, asked)
    if asked.model is not None:
        return _roles_for(origin, names, asked, asked.model)
    if asked.numbers is not None:
        label = _label(origin, names, asked, labels, {*asked.numbers, *asked.categories, *texts})
        return Roles(label, list(asked.numbers), list(asked.categories), texts, asked.optional or [])
    _all_there(origin, names, [*texts, *asked.categories, *asked.ignore])
    label = _label(origin, names, asked, labels, {*asked.categories, *asked.ignore, *texts})
    if label in texts:
        raise origin.error(f"column {shown(str(label))} cannot be both label and text: name one of them otherwise")
    others, told = {label, *asked.ignore, *texts}, set(asked.categories)
    features = [place for place, name in enumerate(names) if name not in others]
    undecided = [place for place in features if names[place] not in told]
    numbers = {place for place, number in zip(undecided, is_number(undecided), strict=True) if number}
    roles = Roles(
        label,
        [names[place] for place in features if place in numbers],
        [names[place] for place in features if place not in numbers],
        texts,
        [],
    )
    _check_names(origin, roles)
    return roles


def _roles_for(origin: Origin, names: list[str], asked: Asked, model: ModelColumns) -> Roles:
    """The columns for a model that learned from arrays: by name where there are names, otherwise by position."""
    label, n = None if asked.label is None else _label(origin, names, asked, [], set()), model.n_features
    if model.names is not None and (origin.header or set(model.names) <= {*names}):
        known, features = set(model.names), model.names
        missing = [name for name in model.names if name not in {*names}]
        if missing:
            what = f"the header lacks {listed(missing)}, which the model was trained on: add what is missing"
            raise origin.error(what)
        others = [name for name in names if name not in known]
        if label is None and others and (others[-1] == names[-1] or len(others) == 1):
            label = others[-1]
    else:
        if label is None and len(names) == n + 1:
            label = names[-1]
        features = [name for name in names if name != label]
        if len(features) != n:
            what = f"{counted(len(names), 'column')} here, but the model has {counted(n, 'feature')}"
            raise origin.error(f"{what}: give one column for each, and if you like the label behind them")
    if label is None and asked.need_labels:
        raise origin.error("there is no label column: add it, or name it with label_column (--label-column)")
    return Roles(label, list(features), [], [], [])


def counted(number: int, thing: str) -> str:
    """1 column, 2 columns."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _check_names(origin: Origin, roles: Roles) -> None:
    """No two columns may make features of one name."""
    categories = set(roles.categories)
    for name in (*roles.numbers, *roles.categories):
        for place, letter in enumerate(name):
            if letter == "=" and name[:place] in categories:
                both = f"{shown(name[:place])} and {shown(name)}"
                raise origin.error(f"columns {both} could make features of the same name: rename one")


def locate(origin: Origin, names: list[str], roles: Roles, asked: Asked, form: Any = None) -> Layout:
    """Where the columns of these roles are in another file."""
    place_of = {name: place for place, name in enumerate(names)}
    label = None if roles.label is None else place_of.get(roles.label)
    used = {*roles.numbers, *roles.categories, *roles.texts}
    missing = [name for name in (*roles.numbers, *roles.categories, *roles.texts) if name not in place_of]
    if label is None and asked.need_labels and not missing and roles.label is not None:
        what = f"no column is called {shown(roles.label)}: there are {listed(names)}"
        raise origin.error(f"{what}: name that of the labels with label_column (--label-column)")
    if label is None and asked.need_labels:
        missing += ["the label" if roles.label is None else roles.label]
    if missing and not origin.header:
        what = f"there is no header, so where are {listed(missing)}? Give one, or as many columns as in training"
        raise origin.error(what)
    if missing:
        hints = "".join(did_you_mean(name, [one for one in names if one not in used]) for name in missing[:1])
        where = "the first file has" if asked.numbers is None else "the model was trained on"
        raise origin.error(f"there is no column {listed(missing)}, which {where}{hints}: add what is missing")
    if not roles.numbers and not roles.categories and not roles.texts:
        raise origin.error("there is only one column: give a label and at least one feature, separated by commas")
    numbers, categories, texts = (
        [place_of[name] for name in part] for part in (roles.numbers, roles.categories, roles.texts)
    )
    return Layout(names, label, numbers, categories, texts, form)


def text_columns(names: list[str], asked: Asked) -> list[str]:
    """The columns of text, each once: names, or several names separated by commas."""
    given = [asked.texts] if isinstance(asked.texts, str) else asked.texts or []
    parts = [[name] if name in names else [part.strip() for part in name.split(",")] for name in given]
    return list(dict.fromkeys(name for part in parts for name in part))


def likely_labels(names: list[str]) -> list[str]:
    """The names of columns, those last that labels usually have."""
    return [name for name in names if name not in USUAL_LABELS] + [
        name for name in reversed(USUAL_LABELS) if name in names
    ]


def _all_there(origin: Origin, names: list[str], wanted: list[str]) -> None:
    for name in wanted:
        if name not in names:
            raise origin.error(f"no column is called {shown(name)}: there are {listed(names)}")


def _label(origin: Origin, names: list[str], asked: Asked, labels: list[str], taken: set[str]) -> str | None:
    if asked.label is None:
        free = [name for name in labels if name not in taken]
        return free[-1] if free and (asked.numbers is None or asked.need_labels) else None
    if asked.label in names:
        return asked.label
    if asked.label.isascii() and asked.label.isdecimal() and 1 <= int(asked.label) <= len(names):
        return names[int(asked.label) - 1]
    if not asked.need_labels or asked.numbers is not None:
        return asked.label
    if not origin.header:
        what = (
            f"there is no header, so no column is called {shown(asked.label)}: give its number, from 1 to {len(names)}"
        )
    else:
        what = f"no column is called {shown(asked.label)}: there are {listed(names)}"
    raise origin.error(what)
