"""`ColumnOptions`: options of the columns of a table, as parameters of `stream` or options of the command."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from perceptrons.features.hashed import HashedText
from perceptrons.features.preparation import ON_MISSING, SCALES, Preparation
from perceptrons.features.values import Missing

LISTS = ("categories", "ignore", "missing", "keep")  # of names


class ModelColumns(NamedTuple):
    """The features of a model that learned from arrays: numbers, by name or by position."""

    names: list[str] | None
    n_features: int


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Options of the columns of a table. They are checked here, once; lists of names may be one string with commas.

    Parameters
    ----------
    label_column : str, int or list, optional
        Name of the column with the labels, or its number from 1. Several columns hold 1 or 0 each, and their names are
        the labels. Default: the last column that is not named below; but "label", "y", "target" or "class" if there is
        such a column and the format is not CSV or TSV. JSON must have one of these, as its keys have no order.
    text_column : str or list of str, optional
        Columns of text. Their words are features by the rules of `text`: of one column by themselves, of several as
        "column=word". Numbers are then called "column=", as "column" is a word.
    categories, ignore : str or list of str, optional
        Columns that are categories whatever they look like; columns to leave out.
    numbers : str or list of str, optional
        Columns of numbers. If given, no column is left to decide: columns that are named nowhere are left out.
    optional : str or list of str, optional
        JSON: numbers and categories that a record may lack; they are then 0. Default: those that a record of the first
        block lacks, or all if records have few of them. Any other key that is missing counts as null.
    names : list of str, optional
        CSV: names of the columns of a file without a header. Default: "1", "2", ..., or as in the first file.
    header : bool, optional
        CSV: whether the first row holds names. Default: it does if none of its cells is a number.
    decimal : {".", ","}, optional
        CSV: what separates decimals. Default: a comma if cells are separated by something else, a column of the first
        rows has decimal commas, and none has decimal points.
    prefix : bool, default=True
        Whether to keep the words of several columns of text apart, by the name of their column. False reads the texts
        of a row as one text.
    text : HashedText or dict, optional
        How texts become features, or its parameters.
    model : ModelColumns, optional
        The features of a model that is to predict and learned from arrays.
    prepare : bool, default=False
        Whether to prepare the table for learning, as the command does: scale="auto", on_missing="fill", and the kinds
        of columns are inferred. Identifiers, free text and empty columns are left out, which `notices` reports, but
        strings that are the only feature become texts; dates become numbers and categories; yes and no, true and false,
        become 1 and 0.
    scale : {"auto", "standard", "max-abs", "none"}, optional
        Numbers are left as they are ("none"), divided by their largest absolute value ("max-abs"), or get mean 0 and
        standard deviation 1 ("standard", and "auto"), as measured on all examples that are read, or on the first block
        of a stream. "standard" and "auto" also weight the words of texts by their inverse document frequency (idf), and
        scale every column of texts to length 1 by itself.
    on_missing : {"raise", "fill"}, optional
        A missing number is a malformed record, or becomes the mean of its column; a feature "column=missing" is 1 then,
        if the column had missing numbers where it was measured.
    missing : str or list of str, optional
        What stands for a missing value, in addition to empty cells, ?, NA, N/A, NaN, null, none and -.
    keep : str or list of str, optional
        With prepare: columns that are not left out, whatever they look like.
    interactions : str or list of str, optional
        Products of columns: "a*b", "a*" (a with every other) or "*" (all pairs).
    powers : int, optional
        The highest power of numbers that is a feature. Powers and products of numbers are scaled like numbers.
    preparation : dict, optional
        The preparation as it was measured for a model that is to predict.
    labelled : bool, default=True
        Whether one of the columns is the label. False makes features of all.
    grow : bool, default=False
        Whether columns that the model does not know are features, too, beside those that `numbers` and `categories`
        name.
    """

    label_column: str | list[str] | None = None
    text_column: str | list[str] | None = None
    categories: Sequence[str] = ()
    ignore: Sequence[str] = ()
    numbers: Sequence[str] | None = None
    optional: Sequence[str] | None = None
    names: list[str] | None = None
    header: bool | None = None
    decimal: str | None = None
    prefix: bool = True
    text: HashedText | None = None
    model: ModelColumns | None = None
    prepare: bool = False
    scale: str = ""
    on_missing: str = ""
    missing: Sequence[str] = ()
    keep: Sequence[str] = ()
    interactions: Sequence[str] = ()
    powers: int = 1
    preparation: Preparation | None = None
    labelled: bool = True
    grow: bool = False
    # What a reader adds:
    need_labels: bool = True  # is an example without a label an error?
    several: bool = False  # may an example have several labels, or none?
    # the keys beside the named ones that have columns in the model that is to predict; None: there is no such model
    other_keys: frozenset[str] | None = None
    closed: bool = False  # do only the named columns have features?

    def __post_init__(self) -> None:
        labels = self.label_column if isinstance(self.label_column, list) else [self.label_column]
        labels, products = [str(name) for name in labels if name], self.interactions
        checked: dict[str, Any] = {
            "label_column": labels[0] if len(labels) == 1 else labels or None,
            "text_column": self.text_column or None,
            "scale": self.scale or ("auto" if self.prepare else "none"),
            "on_missing": self.on_missing or ("fill" if self.prepare else "raise"),
            "interactions": [products] if isinstance(products, str) else list(products or ()),
            "powers": 1 if self.powers is None else self.powers,
            "text": self._checked_text(),
        }
        for name in LISTS:
            checked[name] = listed(getattr(self, name))
        for name in ("numbers", "optional", "names"):  # None is not the same as an empty list
            checked[name] = None if getattr(self, name) is None else listed(getattr(self, name))
        if isinstance(self.preparation, dict):
            checked["preparation"] = Preparation.from_dict(self.preparation)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        for name, choices in (("scale", SCALES), ("on_missing", ON_MISSING)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(choices)}.")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal={self.decimal!r}: choose '.' or ','.")

    def _checked_text(self) -> HashedText | None:
        """Return how texts become features; None if there is no column of texts."""
        if not self.text_column:
            if self.text is not None:
                raise ValueError(
                    "text configures how words become features, but there is no text column: name it in text_column."
                )
            return None
        text = HashedText(**self.text) if isinstance(self.text, dict) else self.text or HashedText()
        if text.min_count > 1:
            raise ValueError("min_count needs to see all texts before training: leave it out for a stream.")
        return text

    @cached_property
    def missing_values(self) -> Missing:
        """What stands for a missing value, where values may be missing."""
        if self.preparation is not None:
            return self.preparation.missing_values
        return Missing.of(self.missing, self.on_missing == "fill")

    @property
    def infers_kinds(self) -> bool:
        """Whether the first rows decide what the columns are, by what they look like."""
        preparation = self.preparation
        if self.grow:
            return preparation is not None and bool(preparation.missing_values.texts)
        return self.prepare and preparation is None and self.numbers is None and self.model is None

    def without_preparation(self) -> "ColumnOptions":
        """Return the options for records that lack most columns: what is missing is 0, so nothing is scaled."""
        return replace(self, prepare=False, scale="none", on_missing="raise")

    def for_new_columns(self, preparation: Preparation) -> "ColumnOptions":
        """Return the options that prepare new columns as this preparation prepares those that it knows."""
        missing_values = preparation.missing_values
        on_missing, missing = "fill" if missing_values.texts else "raise", missing_values.named
        return replace(self, scale=preparation.scale, on_missing=on_missing, missing=missing, interactions=(), powers=1)

    def ignoring(self, names: Sequence[str]) -> "ColumnOptions":
        """Return the same options, with more columns left out."""
        return replace(self, ignore=[*self.ignore, *names])


def listed(names: str | Sequence[str] | None) -> list[str]:
    """Return names in a list; in a string they have commas between them."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names or [])
