"""Were features hashed, and to how many columns? Then different examples may have the same features."""

from collections.abc import Iterator
from typing import Any

from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer


def hashed_columns(model: Any, before: Any) -> int | None:
    """The columns of the narrowest hash on the way to the model; None if there is none that is known."""
    widths = [_width(step) for step in _steps(before)]
    widths.append(_power(getattr(getattr(model, "columns_", None), "bits", None)))
    return min((width for width in widths if width is not None), default=None)


def in_bits(columns: int) -> str:
    """1,024 columns (10 bits)."""
    bits = columns.bit_length() - 1
    return f"{columns:,} columns" + (f" ({bits} bit{'s' * (bits != 1)})" if columns == 2**bits else "")


def _steps(part: Any) -> Iterator[Any]:
    """A transformer and all inside it: of pipelines, unions and transformers of columns."""
    yield part
    for name in ("steps", "transformer_list", "transformers"):
        for _, inside, *_ in getattr(part, name, None) or ():
            yield from _steps(inside)


def _width(step: Any) -> int | None:
    if isinstance(step, FeatureHasher | HashingVectorizer):
        return int(step.n_features)
    return _power(getattr(step, "bits", None))


def _power(bits: Any) -> int | None:
    return 2**bits if isinstance(bits, int) and 1 <= bits <= 31 else None
