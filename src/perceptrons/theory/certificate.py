"""Certificates of linear separability: their claims, their JSON format, and how anyone can verify them.

The claims need no trust in how they were found: `Certificate.verify` checks them in exact arithmetic, and so does
`tools/check_certificate.py`, which knows nothing of this library.
"""

import hashlib
import json
import math
import re
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.theory.examples import Examples, as_whole_numbers, check_examples
from perceptrons.theory.in_words import DECIMALS, InWords, plainly
from perceptrons.theory.verification import Checker, Combination, Margin, Total, Weights, combined

FORMAT = "perceptrons-certificate-1"
LABELS = (str, int, bool, float)
TOO_LONG = re.compile(r"(?<!\w)\w{100000}")  # a number of this many digits takes too long
SHOWN = 6  # rows named in words


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(InWords):
    """A certificate that data are linearly separable or not, with the proof, made by `separability` and `max_margin`.

    Attributes
    ----------
    separable : True, False or None
        None: not decided; `reason` says why.
    coef, intercept : array and float, or for several classes a row and a number for each
        If separable, weights that put every example strictly on its side: float64, or exact Fractions if the classes
        are closer than rounding.
    margin : Margin
        If separable, `reached` and `at_most`: the distance that these weights keep from every example, and an upper
        limit for all weights.
    support : Combination
        If separable, the proof of `at_most`: points of the convex hulls of the classes that are this close to each
        other.
    witness : Combination
        If not separable, examples whose combination cancels: the hulls meet. At most n_features + 2 rows for two
        classes.
    reason : str
        If undecided, why.
    classes, n_samples, n_features, fit_intercept
        The data that the certificate is about.
    number_type : {"float64", "float32", "decimal"}
        What the numbers of the data are. "float64", "float32": the floats themselves, to which a file is rounded when
        it is read. "decimal": the decimals that the floats were read from, 0.1 being one tenth.
    digest : str
        SHA-256 of all the rest.

    Examples
    --------
    >>> from perceptrons.theory import separability
    >>> xor = separability([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> xor.separable, xor.witness.rows, [str(weight) for weight in xor.witness.weights]
    (False, (0, 1, 2, 3), ['1/4', '1/4', '1/4', '1/4'])
    >>> xor.verify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    True
    """

    _shown = ("separable", "classes", "n_samples", "n_features", "margin", "reason")

    separable: bool | None
    classes: tuple[Any, ...]
    n_samples: int
    n_features: int
    fit_intercept: bool
    number_type: str
    coef: Any = None
    intercept: Any = None
    margin: Margin | None = None
    support: Combination | None = None
    witness: Combination | None = None
    reason: str = ""
    digest: str = field(default="", repr=False)

    def sealed(self) -> "Certificate":
        """The same with its digest."""
        return replace(self, digest=_digest(self._content()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Certificate):
            return NotImplemented
        return self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        parts = (f"{entry.name}={plainly(getattr(self, entry.name))}" for entry in fields(self) if entry.repr)
        return f"Certificate({', '.join(parts)})"

    # ---- checking

    def verify(self, X: Any, y: Any) -> bool:
        """Return whether all claims hold for these data, checked in exact rational arithmetic.

        True only for a decided certificate. False for data of another shape or with other labels, and if any number,
        index or label of the certificate was altered since it was made. Invalid data (NaN, one class) raise the errors
        of `Perceptron.fit`.
        """
        return self.proves(check_examples(X, y))

    def proves(self, examples: Examples) -> bool:
        """`verify` for data that were checked already."""
        X, codes = examples.X, examples.codes
        labels = examples.classes.tolist()
        if not self._well_formed() or self.digest != _digest(self._content()):
            return False
        same_kind = all(type(own) is type(other) for own, other in zip(self.classes, labels, strict=False))
        if X.shape != (self.n_samples, self.n_features) or list(self.classes) != labels or not same_kind:
            return False
        if self.number_type == "float32" and not _all_float32(X.data if sp.issparse(X) else X):
            return False
        unit = 1  # the data are X / unit
        if self.number_type == "decimal":
            scaled = as_whole_numbers(X)
            if scaled is None:
                return False
            X, unit = scaled
        if self.separable:
            weights = Weights(self.coef, in_unit(self.intercept, unit))
            within = self.fit_intercept or not np.any(self.intercept)
            reached, at_most = (Fraction(value) * unit for value in self.margin)  # type: ignore[union-attr]
            return within and Checker(X, codes).leads_at_least(weights, reached) and self._bounds(X, codes, at_most)
        total = self._sum(self.witness, X, codes)
        return total is not None and total.is_zero(self.fit_intercept)

    def _bounds(self, X: Any, codes: np.ndarray, at_most: Fraction) -> bool:
        """Does the support prove that no margin of X exceeds this?"""
        total = self._sum(self.support, X, codes)
        if total is None or (self.fit_intercept and any(total.bias)):
            return False
        return total.bound(sum(self.support.whole)) <= at_most**2  # type: ignore[union-attr]

    def _sum(self, combination: Any, X: Any, codes: np.ndarray) -> Total | None:
        """The exact sum of a combination; None if it does not fit the data."""
        places = {label: place for place, label in enumerate(self.classes)}
        own = [places.get(label) for label in combination.labels]
        rivals = [places.get(label) for label in combination.rivals]
        rows = list(combination.rows)
        fits = (
            all(0 <= row < X.shape[0] for row in rows)
            and None not in own
            and None not in rivals
            and all(codes[row] == y and y != r for row, y, r in zip(rows, own, rivals, strict=True))
            and len(set(zip(rows, rivals, strict=True))) == len(rows)
        )
        return combined(X, rows, own, rivals, combination.whole, len(self.classes)) if fits else None  # type: ignore[arg-type]

    def _well_formed(self) -> bool:
        """Are all parts there that the claim needs, of the right kinds and lengths, and no others?"""
        if not (isinstance(self.separable, bool) and isinstance(self.fit_intercept, bool)):
            return False
        if not (type(self.n_samples) is int and type(self.n_features) is int and isinstance(self.classes, tuple)):
            return False
        if self.number_type not in ("float64", "float32", "decimal"):
            return False
        K = len(self.classes)
        if not self.separable:
            others = (self.coef, self.intercept, self.margin, self.support)
            most = 1 + (self.n_features + self.fit_intercept) * max(1, K - 1)
            witness: Any = self.witness
            return all(part is None for part in others) and _is_combination(witness) and len(witness.rows) <= most
        if not (isinstance(self.margin, Margin) and _is_combination(self.support) and self.witness is None):
            return False
        if not isinstance(self.coef, np.ndarray) or (K > 2 and not isinstance(self.intercept, np.ndarray)):
            return False
        shape = (self.n_features,) if K == 2 else (K, self.n_features)
        numbers = [*self.coef.ravel().tolist(), *np.ravel(self.intercept).tolist(), *self.margin]
        finite = all(isinstance(v, Fraction) or (isinstance(v, float) and math.isfinite(v)) for v in numbers)
        fits = self.coef.shape == shape and np.shape(self.intercept) == shape[:-1] and min(self.margin) >= 0
        return finite and fits and self.coef.dtype in (np.float64, object)

    # ---- writing and reading

    def to_json(self) -> str:
        """Return the certificate as JSON text; `from_json` reads it, and `tools/check_certificate.py` checks it."""
        return json.dumps({**self._content(), "digest": self.digest}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read the output of `to_json`. Raises ValueError for anything that is not a certificate."""
        try:
            content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_once_each)
            unescaped = json.dumps(content, ensure_ascii=False)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"This is not a certificate: it cannot be read as JSON ({error}).") from error
        if TOO_LONG.search(unescaped):
            raise ValueError("This is not a certificate: it contains a number of 100,000 digits or more.")
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f'This is not a certificate: its "format" is not "{FORMAT}".')
        names = {entry.name for entry in fields(cls)}
        if set(content) != names | {"format"}:
            wrong = sorted(set(content) ^ (names | {"format"}))
            raise ValueError(f"This is not a certificate: {', '.join(map(repr, wrong))[:200]} missing or unknown.")
        try:
            return _read(content)
        except (TypeError, KeyError, AttributeError, ZeroDivisionError, OverflowError, ValueError) as error:
            raise ValueError(f"This is not a certificate: a part of it has the wrong form ({error}).") from error

    def _content(self) -> dict[str, Any]:
        """What the digest is taken of, as JSON has it."""
        return {
            "format": FORMAT,
            "separable": self.separable,
            "classes": list(self.classes),
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "fit_intercept": self.fit_intercept,
            "number_type": self.number_type,
            "coef": _plain(self.coef),
            "intercept": _plain(self.intercept),
            "margin": None if self.margin is None else list(self.margin),
            "support": _pairs(self.support),
            "witness": _pairs(self.witness),
            "reason": self.reason,
        }

    # ---- words

    def explain(self) -> str:
        """Return the content of the certificate in words."""
        what = f"{self.n_samples:,} examples, {self.n_features:,} feature{'s' * (self.n_features != 1)}, "
        what += f"{len(self.classes):,} classes"
        plane = "hyperplane" if self.fit_intercept else "hyperplane through the origin"
        separable = "linearly separable" + " by hyperplanes through the origin" * (not self.fit_intercept)
        if self.separable is None:
            return f"Undecided ({what}): {self.reason}"
        if self.separable:
            low, high = self.margin  # type: ignore[misc]
            kind = f"a {plane} puts" if len(self.classes) == 2 else f"{len(self.classes)} linear scores put"
            return (
                f"L{separable[1:]} ({what}): {kind} every example on its side, at a distance of {low:.6g} or more. "
                f"No hyperplane keeps a distance of more than {high:.6g}, because the convex hulls of the classes "
                "come this close in "
                f"{_rows(self.support)}. The best mistake bound that this margin gives is (R / margin)^2."
            )
        witness: Any = self.witness
        if len(witness.rows) == 1:
            return f"Not {separable} ({what}): row {witness.rows[0]} is all zeros, so all its scores are 0."
        if len(witness.rows) == 2 and witness.labels == witness.rivals[::-1]:
            first, second = witness.rows
            return (
                f"Not {separable} ({what}): rows {first} and {second} are "
                f"{'the same point' if self.fit_intercept else 'on the same side of the origin, in one direction,'} "
                f"with the labels {witness.labels[0]!r} and {witness.labels[1]!r}."
            )
        return (
            f"Not {separable} ({what}): in {_rows(witness)} the convex hulls of the classes meet. Weighted as "
            f"the witness says, these examples cancel exactly, while under any separating {plane} their sum would be "
            "positive."
        )


def _rows(combination: Any) -> str:
    rows = sorted(set(combination.rows))
    if len(rows) <= SHOWN:
        return "row " * (len(rows) == 1) + "rows " * (len(rows) > 1) + ", ".join(map(str, rows))
    return f"{len(rows)} rows ({', '.join(map(str, rows[:SHOWN]))}, ...)"


def in_unit(numbers: Any, unit: int | Fraction) -> Any:
    """Biases times a unit, exact."""
    if unit == 1:
        return numbers
    exact = np.array([Fraction(value) * unit for value in np.ravel(numbers).tolist()], object)
    return exact if np.ndim(numbers) else exact[0]


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _all_float32(values: np.ndarray) -> bool:
    with np.errstate(over="ignore", under="ignore"):
        return values.dtype == np.float32 or bool((values.astype(np.float32) == values).all())


def _is_combination(value: Any) -> bool:
    if not isinstance(value, Combination) or not all(isinstance(part, tuple) for part in value):
        return False
    if not value.rows or len({len(part) for part in value}) != 1:
        return False
    if not all(type(row) is int for row in value.rows):
        return False
    if not all(type(label) in LABELS for label in (*value.labels, *value.rivals)):
        return False
    return all(isinstance(weight, Fraction) and weight > 0 for weight in value.weights) and sum(value.weights) == 1


def _plain(numbers: Any) -> Any:
    """Arrays of floats or Fractions as JSON has them."""
    if numbers is None:
        return None
    if isinstance(numbers, Fraction):
        return f"{_written(numbers.numerator)}/{_written(numbers.denominator)}"
    values = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
    return [_plain(value) for value in values] if isinstance(values, list) else values


def _written(number: int) -> str:
    """In decimal, or in hexadecimal if it is too long for Python."""
    return str(number) if number.bit_length() < DECIMALS * 3 else hex(number)


def _pairs(combination: Combination | None) -> dict[str, Any] | None:
    if combination is None:
        return None
    return {
        "rows": list(combination.rows),
        "labels": list(combination.labels),
        "rivals": list(combination.rivals),
        "weights": [_written(weight) for weight in combination.whole],
    }


def _read(content: dict[str, Any]) -> Certificate:
    margin = content["margin"]
    if margin is not None:
        margin = Margin(*(_kind(value, float) for value in margin))
    return Certificate(
        separable=None if content["separable"] is None else _kind(content["separable"], bool),
        classes=tuple(_label(label) for label in _kind(content["classes"], list)),
        n_samples=_kind(content["n_samples"], int),
        n_features=_kind(content["n_features"], int),
        fit_intercept=_kind(content["fit_intercept"], bool),
        number_type=_kind(content["number_type"], str),
        coef=_numbers(content["coef"]),
        intercept=_numbers(content["intercept"]),
        margin=margin,
        support=_combination(content["support"]),
        witness=_combination(content["witness"]),
        reason=_kind(content["reason"], str),
        digest=_kind(content["digest"], str),
    )


def _kind(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{value!r} is not of type {kind.__name__}")
    return value


def _label(label: Any) -> Any:
    if type(label) not in LABELS:
        raise ValueError(f"{label!r} is not a label")
    return label


def _numbers(values: Any) -> Any:
    if values is None:
        return None
    if isinstance(values, str):
        top, bottom = values.split("/")
        return Fraction(int(top, 0), int(bottom, 0))
    if not isinstance(values, list):
        return _kind(values, float)
    read = [_numbers(value) for value in values]
    flat = [
        entry for value in read for entry in (np.ravel(value).tolist() if isinstance(value, np.ndarray) else [value])
    ]
    array = np.array(read, object if any(isinstance(value, Fraction) for value in flat) else np.float64)
    array.flags.writeable = False
    return array


def _combination(value: Any) -> Combination | None:
    if value is None:
        return None
    if set(value) != {"rows", "labels", "rivals", "weights"}:
        raise ValueError("a combination has rows, labels, rivals and weights")
    whole = [int(_kind(weight, str), 0) for weight in value["weights"]]
    total = sum(whole)
    combination = Combination(
        tuple(_kind(row, int) for row in value["rows"]),
        tuple(_label(label) for label in value["labels"]),
        tuple(_label(label) for label in value["rivals"]),
        tuple(Fraction(weight, total) for weight in whole),
    )
    if _pairs(combination) != value:
        raise ValueError("weights must be whole numbers in lowest terms")
    return combination


def _once_each(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(entries)) != len(entries):
        raise ValueError("a key appears twice")
    return dict(entries)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")
