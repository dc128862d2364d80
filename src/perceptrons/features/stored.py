"""Names that come from a file: checked before compiled loops walk over them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.scan.name_table import MOST
from perceptrons.training.parameters import NONE, Domain, Flag, Number

OPTIONS: dict[str, tuple[Domain, ...]] = {
    "bits": (Number(1, 31, whole=True), NONE),  # bit 32 is the sign
    "signed": (Flag(),),
    "seed": (Number(0, 2**32 - 1, whole=True),),
    "remember": (Number(0, MOST, whole=True),),
    "frozen": (Flag(),),
}
KINDS = {"arena": np.uint8, "ends": np.int64, "counts": np.int64, "columns": np.int32}


def check_options(options: Mapping[str, Any]) -> None:
    """Raise ValueError for an option of `Columns` that is missing or outside its domain."""
    for name, choices in OPTIONS.items():
        if name not in options or not any(domain.fits(options[name]) for domain in choices):
            allowed = " or ".join(str(domain) for domain in choices)
            raise ValueError(f"Columns({name}={options.get(name)!r}): {name} must be {allowed}.")


def check_arrays(arrays: Mapping[str, Any], bits: int | None, remember: int) -> tuple[np.ndarray, ...]:
    """Arena, ends, counts and columns of names. Raises ValueError unless they fit together."""
    parts = {}
    for name, kind in KINDS.items():
        part = arrays.get(name, np.zeros(0, kind)) if name == "columns" and bits is None else arrays.get(name)
        if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in "iu":
            raise ValueError(f"The names have no {name}: a list of whole numbers was expected.")
        if part.dtype != kind and len(part) and not np.array_equal(part, part.astype(kind)):
            raise ValueError(f"The {name} of the names are out of range.")
        parts[name] = np.array(part, kind)
    arena, ends, counts, columns = parts.values()
    n = len(counts)
    for sound, what in (
        (len(ends) == n + 1 and (bits is None or len(columns) == n), "there are not as many ends, counts and columns"),
        (bits is None or n <= remember, "there are more than may be remembered"),
        (ends[:1].tolist() == [0] and ends[-1:].tolist() == [len(arena)], "they are cut short"),
        (bool((np.diff(ends) >= 0).all()), "their ends are not in order"),
        (bool(((counts > 0) & (counts < 2**62)).all()), "some never came, or more often than can be counted"),
        (bits is None or not n or (columns.min() >= 0 and columns.max() < 2**bits), "some columns are out of range"),
    ):
        if not sound:
            raise ValueError(f"The names are not sound: {what}.")
    _check_text(arena, ends)
    return arena, ends, counts, columns


def _check_text(arena: np.ndarray, ends: np.ndarray) -> None:
    """Raise ValueError unless every name is UTF-8."""
    try:
        arena.tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"The names are not UTF-8: {error.reason} at byte {error.start}.") from error
    inner = ends[ends < len(arena)]
    if bool((arena[inner] >> 6 == 2).any()):
        raise ValueError("The names are not UTF-8: one ends within a character.")
