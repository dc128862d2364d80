"""Certificates of linear separability: their claims, their words, their JSON format, and how anyone can verify them.

Two classes, separable: weights w, b with y (w·x + b) > 0 for every example, and two points of the convex hulls of the
classes whose distance is twice `margin.at_most`, so that no hyperplane can be farther from both.

Two classes, not separable: weights a >= 0, not all 0, with sum of a y (x, 1) = 0. Under a separating hyperplane every
term of sum of a y (w·x + b) would be positive. For several classes, f(x, y) - f(x, r) takes the place of y x.

The claims need no trust in how they were found: `Certificate.verify` checks them in exact arithmetic, and so does
`tools/check_certificate.py`, which knows nothing of this library.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.wording import count
from perceptrons.theory.exact import Checker, ExactSum, ExactWeights, exact_sum
from perceptrons.theory.examples import Examples, as_whole_numbers, check_examples
from perceptrons.theory.results import TheoryResult

FORMAT = "perceptrons-certificate-1"
LABEL_TYPES = (str, int, bool, float)
NUMBER_TYPES = ("float64", "float32", "decimal")
PLAIN_TYPES = {
    "separable": bool, "fit_intercept": bool, "n_samples": int, "n_features": int, "number_type": str, "reason": str,
    "digest": str,
}  # fmt: skip
LONG_NUMBER = re.compile(r"(?<!\w)\w{100000}")  # takes too long to read
MAX_NAMED_ROWS = 6
MAX_DECIMAL_DIGITS = 4000  # Python refuses to write longer numbers in decimal
MAX_FRACTION_BITS = 20  # of a fraction that is shown in full

Label = str | int | bool | float


class Margin(NamedTuple):
    """A bracket: this separator keeps `reached` from every example, and no other keeps more than `at_most`."""

    reached: float
    at_most: float


class Combination(NamedTuple):
    """Pairs (row, rival class) with positive weights that sum to 1."""

    rows: tuple[int, ...]
    labels: tuple[Any, ...]
    rivals: tuple[Any, ...]
    weights: tuple[Fraction, ...]

    def __repr__(self) -> str:
        parts = (f"{name}={_short_repr(value)}" for name, value in self._asdict().items())
        return f"Combination({', '.join(parts)})"

    @property
    def integer_weights(self) -> list[int]:
        """The weights times their common denominator."""
        common = math.lcm(*(weight.denominator for weight in self.weights))
        return [weight.numerator * (common // weight.denominator) for weight in self.weights]

    def is_well_formed(self) -> bool:
        """Return whether all parts have the right types and lengths, and the weights are positive with sum 1."""
        return (
            all(isinstance(part, tuple) for part in self)
            and 0 < len(self.rows) == len(self.labels) == len(self.rivals) == len(self.weights)
            and all(type(row) is int for row in self.rows)
            and all(type(label) in LABEL_TYPES for label in (*self.labels, *self.rivals))
            and all(isinstance(weight, Fraction) and weight > 0 for weight in self.weights)
            and sum(self.weights) == 1
        )

    def describe_rows(self) -> str:
        rows = sorted(set(self.rows))
        if len(rows) > MAX_NAMED_ROWS:
            return f"{len(rows)} rows ({', '.join(map(str, rows[:MAX_NAMED_ROWS]))}, ...)"
        return f"row{'s' * (len(rows) > 1)} {', '.join(map(str, rows))}"


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(TheoryResult):
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
        """Return the same certificate with its digest."""
        return replace(self, digest=_digest(self._content()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Certificate):
            return NotImplemented
        return self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        parts = (f"{entry.name}={_short_repr(getattr(self, entry.name))}" for entry in fields(self) if entry.repr)
        return f"Certificate({', '.join(parts)})"

    # ---- verification

    def verify(self, X: Any, y: Any) -> bool:
        """Return whether all claims hold for these data, checked in exact rational arithmetic.

        True only for a decided certificate. False for data of another shape or with other labels, and if any number,
        index or label of the certificate was altered since it was made. Invalid data (NaN, one class) raise the errors
        of `Perceptron.fit`.
        """
        return self.proves(check_examples(X, y))

    def proves(self, examples: Examples) -> bool:
        """Do the same as `verify` for data that were checked already."""
        X, codes, labels = examples.X, examples.codes, examples.classes.tolist()
        if not self._is_well_formed() or self.digest != _digest(self._content()):
            return False
        same_types = list(map(type, self.classes)) == list(map(type, labels))
        if X.shape != (self.n_samples, self.n_features) or list(self.classes) != labels or not same_types:
            return False
        if self.number_type == "float32" and not _are_float32(X.data if sp.issparse(X) else X):
            return False
        unit = 1  # the data are X / unit
        if self.number_type == "decimal":
            scaled = as_whole_numbers(X)
            if scaled is None:
                return False
            X, unit = scaled
        combination = self.support if self.separable else self.witness
        assert combination is not None
        total = sum_of_pairs(combination, X, codes, labels)
        if total is None:
            return False
        if not self.separable:
            return total.is_zero(self.fit_intercept)
        assert self.margin is not None
        reached, at_most = (Fraction(value) * unit for value in self.margin)
        has_bias = self.fit_intercept and total.bias.any()  # then it bounds no margin
        if has_bias or total.squared_bound(sum(combination.integer_weights)) > at_most**2:
            return False
        if not self.fit_intercept and np.any(self.intercept):
            return False
        weights = ExactWeights(self.coef, times_unit(self.intercept, unit))
        return Checker(X, codes).leads_at_least(weights, reached)

    def _is_well_formed(self) -> bool:
        """Return whether exactly the parts that the claim needs are there, with the right types and lengths."""
        if not (isinstance(self.separable, bool) and isinstance(self.fit_intercept, bool)):
            return False
        if not (type(self.n_samples) is int and type(self.n_features) is int and isinstance(self.classes, tuple)):
            return False
        if self.number_type not in NUMBER_TYPES:
            return False
        K = len(self.classes)
        if not self.separable:
            absent = all(part is None for part in (self.coef, self.intercept, self.margin, self.support))
            if not (absent and isinstance(self.witness, Combination) and self.witness.is_well_formed()):
                return False
            return len(self.witness.rows) <= 1 + (self.n_features + self.fit_intercept) * max(1, K - 1)
        if not (isinstance(self.margin, Margin) and self.witness is None):
            return False
        if not (isinstance(self.support, Combination) and self.support.is_well_formed()):
            return False
        if not isinstance(self.coef, np.ndarray) or (K > 2 and not isinstance(self.intercept, np.ndarray)):
            return False
        shape = (self.n_features,) if K == 2 else (K, self.n_features)
        numbers = [*self.coef.ravel().tolist(), *np.ravel(self.intercept).tolist(), *self.margin]
        finite = all(isinstance(v, Fraction) or (isinstance(v, float) and math.isfinite(v)) for v in numbers)
        fits = self.coef.shape == shape and np.shape(self.intercept) == shape[:-1] and min(self.margin) >= 0
        return finite and fits and self.coef.dtype in (np.float64, object)

    # ---- JSON

    def to_json(self) -> str:
        """Return the certificate as JSON text; `from_json` reads it, and `tools/check_certificate.py` checks it."""
        return json.dumps({**self._content(), "digest": self.digest}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read the output of `to_json`. Raises ValueError for anything that is not a certificate."""
        try:
            content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
            unescaped = json.dumps(content, ensure_ascii=False)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"This is not a certificate: it cannot be read as JSON ({error}).") from error
        if LONG_NUMBER.search(unescaped):
            raise ValueError("This is not a certificate: it contains a number of 100,000 digits or more.")
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise ValueError(f'This is not a certificate: its "format" is not "{FORMAT}".')
        differing = sorted(set(content) ^ {entry.name for entry in fields(cls)})
        if differing:
            raise ValueError(f"This is not a certificate: {', '.join(map(repr, differing))[:200]} missing or unknown.")
        try:
            return cls(**{name: _read(name, value) for name, value in content.items()})
        except (TypeError, KeyError, AttributeError, ZeroDivisionError, OverflowError, ValueError) as error:
            raise ValueError(f"This is not a certificate: a part of it has the wrong form ({error}).") from error

    def _content(self) -> dict[str, Any]:
        """Return the content of the JSON text, from which the digest is computed."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "digest"}
        return {"format": FORMAT, **{name: _plain(value) for name, value in values.items()}}

    # ---- words

    def _shown_values(self) -> dict[str, Any]:
        low, high = self.margin or (None, None)
        return {
            "separable": self.separable, "classes": self.classes, "n_samples": self.n_samples,
            "n_features": self.n_features, "margin reached": low, "margin at most": high, "reason": self.reason,
        }  # fmt: skip

    @property
    def _plane(self) -> str:
        return "hyperplane" + " through the origin" * (not self.fit_intercept)

    def explain(self) -> str:
        """Return the content of the certificate in words."""
        size = f"{self.n_samples:,} examples, {count(self.n_features, 'feature')}, {len(self.classes):,} classes"
        separable = "linearly separable" + " by hyperplanes through the origin" * (not self.fit_intercept)
        if self.separable is None:
            return f"Undecided ({size}): {self.reason}"
        if self.margin is not None and self.support is not None:
            low, high = self.margin
            kind = f"a {self._plane} puts" if len(self.classes) == 2 else f"{len(self.classes)} linear scores put"
            return (
                f"L{separable[1:]} ({size}): {kind} every example on its side, at a distance of {low:.6g} or more. "
                f"No hyperplane keeps a distance of more than {high:.6g}, because the convex hulls of the classes "
                f"come this close in {self.support.describe_rows()}. The best mistake bound that this margin gives is "
                "(R / margin)^2."
            )
        assert self.witness is not None
        rows, labels, rivals, _ = self.witness
        if len(rows) == 1:
            return f"Not {separable} ({size}): row {rows[0]} is all zeros, so all its scores are 0."
        if len(rows) == 2 and labels == rivals[::-1]:
            same = "the same point" if self.fit_intercept else "on the same side of the origin, in one direction,"
            return (
                f"Not {separable} ({size}): rows {rows[0]} and {rows[1]} are {same} with the labels {labels[0]!r} and "
                f"{labels[1]!r}."
            )
        return (
            f"Not {separable} ({size}): in {self.witness.describe_rows()} the convex hulls of the classes meet. "
            "Weighted as the witness says, these examples cancel exactly, while under any separating "
            f"{self._plane} their sum would be positive."
        )

    def describe_separator(self) -> str:
        """Return a sentence, without its end, that says what separates separable data."""
        if len(self.classes) == 2:
            return f"A {self._plane} puts every example on its side"
        return f"{len(self.classes)} linear scores give every example its class"

    def explain_with_names(
        self, name_rows: Callable[[list[int]], str], name_examples: Callable[[list[int]], str],
        same: str = "are the same point",
    ) -> str:  # fmt: skip
        """Return why the classes are separable or not, for a decided certificate, with the caller's names of rows.

        name_rows returns for example "lines 3 and 7", and name_examples the examples there as the subject of a
        sentence. same is said of two examples that are one point.
        """
        if self.margin is not None and self.support is not None:
            low, high = self.margin
            phrase = "at a distance" if len(self.classes) == 2 else "with a margin"
            return (
                f"{self.describe_separator()}, {phrase} of {low:.4g} or more. More than {high:.4g} is not possible, "
                f"because the classes come this close near {name_rows(sorted(set(self.support.rows)))}."
            )
        assert self.witness is not None
        rows = sorted(set(self.witness.rows))
        if len(rows) == 1:
            return f"{name_examples(rows)} has only zeros, so every {self._plane} goes through it."
        if len(rows) == 2:
            opposite = "lie in one direction, or opposite ones, from the origin"
            return f"{name_examples(rows)} {same if self.fit_intercept else opposite}."
        right = f"a {self._plane} has each on its side"
        if len(self.classes) > 2:
            right = "linear scores give each its class"
        return (
            f"The classes overlap: weighted as follows, these {len(rows):,} examples cancel out exactly, which they "
            f"cannot if {right}."
        )


def sum_of_pairs(combination: Combination, X: Any, codes: np.ndarray, classes: list[Any]) -> ExactSum | None:
    """Return the exact sum of a combination; None if it does not fit the data."""
    places = {label: place for place, label in enumerate(classes)}
    true_classes, rivals = (
        [places.get(label, -1) for label in part] for part in (combination.labels, combination.rivals)
    )
    rows = list(combination.rows)
    fits = (
        all(0 <= row < X.shape[0] for row in rows)
        and -1 not in true_classes
        and -1 not in rivals
        and all(codes[row] == y and y != r for row, y, r in zip(rows, true_classes, rivals, strict=True))
        and len(set(zip(rows, rivals, strict=True))) == len(rows)
    )
    return exact_sum(X, rows, true_classes, rivals, combination.integer_weights, len(classes)) if fits else None


def format_fraction(weight: Fraction | int | str) -> str:
    """Return 1/4 as it is, and a longer fraction, which may have thousands of digits, rounded."""
    weight = Fraction(weight)
    if max(weight.numerator.bit_length(), weight.denominator.bit_length()) <= MAX_FRACTION_BITS:
        return str(weight)
    exponent = weight.numerator.bit_length() - weight.denominator.bit_length()
    return f"about {float(weight):.3g}" if abs(exponent) < 1000 else f"about 2^{exponent:,}"


def _short_repr(value: Any) -> str:
    """Return the repr of a value, with fractions rounded that are too long for Python to write in decimal."""
    if isinstance(value, Fraction):
        digits = max(value.numerator.bit_length(), value.denominator.bit_length()) / math.log2(10)
        return repr(value) if digits < MAX_DECIMAL_DIGITS else format_fraction(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return f"array({_short_repr(value.tolist())}, dtype=object)"
    if type(value) in (list, tuple):
        inside = ", ".join(map(_short_repr, value)) + "," * (type(value) is tuple and len(value) == 1)
        return f"[{inside}]" if type(value) is list else f"({inside})"
    return repr(value)


def times_unit(biases: Any, unit: int | Fraction) -> Any:
    """Return biases times a unit, exact."""
    if unit == 1:
        return biases
    exact = np.array([Fraction(value) * unit for value in np.ravel(biases).tolist()], object)
    return exact if np.ndim(biases) else exact[0]


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _are_float32(values: np.ndarray) -> bool:
    with np.errstate(over="ignore", under="ignore"):
        return values.dtype == np.float32 or bool((values.astype(np.float32) == values).all())


# ---- values to JSON and back: fractions become "3/4", and whole numbers too long for Python become hexadecimal


def _plain(value: Any) -> Any:
    """Return a part of a certificate as JSON holds it."""
    if isinstance(value, Combination):
        plain = {name: list(part) for name, part in value._asdict().items()}
        return plain | {"weights": [_write_integer(weight) for weight in value.integer_weights]}
    if isinstance(value, Fraction):
        return f"{_write_integer(value.numerator)}/{_write_integer(value.denominator)}"
    if isinstance(value, np.ndarray):
        return _plain(value.tolist()) if value.dtype == object else value.tolist()
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _write_integer(number: int) -> str:
    return str(number) if number.bit_length() < MAX_DECIMAL_DIGITS * 3 else hex(number)


def _read(name: str, value: Any) -> Any:
    """Return a part of a certificate from what JSON holds. TypeError or ValueError: it has another form."""
    if value is None and name in ("separable", "coef", "intercept", "margin", "support", "witness"):
        return None
    if name in ("coef", "intercept"):
        return _read_numbers(value)
    if name in ("support", "witness"):
        return _read_combination(value)
    if name == "classes":
        return tuple(_require_type(label, *LABEL_TYPES) for label in _require_type(value, list))
    if name == "margin":
        return Margin(*(_require_type(number, float) for number in value))
    return _require_type(value, PLAIN_TYPES[name])


def _require_type(value: Any, *types: type) -> Any:
    if type(value) not in types:
        raise ValueError(f"{value!r} is not of type {' or '.join(required.__name__ for required in types)}")
    return value


def _read_numbers(values: Any) -> Any:
    if isinstance(values, str):
        numerator, denominator = values.split("/")
        return Fraction(int(numerator, 0), int(denominator, 0))
    if not isinstance(values, list):
        return _require_type(values, float)
    rows = [_read_numbers(value) for value in values]
    flat = [number for row in rows for number in np.ravel(np.asarray(row, object)).tolist()]
    array = np.array(rows, object if any(isinstance(number, Fraction) for number in flat) else np.float64)
    array.flags.writeable = False
    return array


def _read_combination(value: Any) -> Combination:
    if set(value) != set(Combination._fields):
        raise ValueError("a combination has rows, labels, rivals and weights")
    weights = [int(_require_type(weight, str), 0) for weight in value["weights"]]
    total = sum(weights)
    rows = tuple(_require_type(row, int) for row in value["rows"])
    labels, rivals = (
        tuple(_require_type(label, *LABEL_TYPES) for label in value[name]) for name in ("labels", "rivals")
    )
    combination = Combination(rows, labels, rivals, tuple(Fraction(weight, total) for weight in weights))
    if _plain(combination) != value:
        raise ValueError("weights must be whole numbers in lowest terms")
    return combination


def _unique_keys(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(entries)) != len(entries):
        raise ValueError("a key appears twice")
    return dict(entries)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")
