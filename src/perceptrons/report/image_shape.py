"""Recognises examples that are images."""

import re
from typing import Any, Protocol

import numpy as np

from perceptrons.plots.model_facts import to_dense

NUMBERED_NAME = re.compile(r"(column |pixel|pix|px|attribute|feature|[a-z])?[ _.]?\d+([x_.-]\d+)?", re.IGNORECASE)
MIN_SIDE, MAX_SIDE = 8, 128
SAMPLE_SIZE = 500
MIN_CORRELATION = 0.3  # of neighbouring pixels; those of a shuffled image have none


class Names(Protocol):
    @property
    def are_known(self) -> bool: ...
    def of_columns(self, columns: Any) -> tuple[list[str], Any]: ...


def find_image_shape(image_shape: Any, X: Any, names: Names) -> tuple[int, int] | None:
    """Return rows and columns of the pixels, as given or for "auto" as guessed; None for no images."""
    n_features = X.shape[1]
    if image_shape is None:
        return None
    if isinstance(image_shape, str) and image_shape == "auto":
        return _guess_shape(X, names)
    try:
        rows, columns = (int(side) for side in image_shape)
    except (TypeError, ValueError):
        raise ValueError(f"image_shape={image_shape!r}: give (rows, columns), 'auto' or None.") from None
    if rows < 1 or columns < 1 or rows * columns != n_features:
        raise ValueError(
            f"image_shape={rows}x{columns} has {rows * columns:,} pixels, and there are {n_features:,} features."
        )
    return rows, columns


def _guess_shape(X: Any, names: Names) -> tuple[int, int] | None:
    """Recognise square images: no negative values, no meaningful names, and similar neighbours."""
    side = round(X.shape[1] ** 0.5)
    if side * side != X.shape[1] or not MIN_SIDE <= side <= MAX_SIDE:
        return None
    if names.are_known and not all(NUMBERED_NAME.fullmatch(name) for name in names.of_columns(range(X.shape[1]))[0]):
        return None
    sample = to_dense(X[np.unique(np.linspace(0, X.shape[0] - 1, SAMPLE_SIZE).astype(int))]).astype(np.float64)
    if sample.min(initial=0) < 0 or not sample.any():
        return None
    images = sample.reshape(-1, side, side)
    neighbours = ((images[:, :, :-1], images[:, :, 1:]), (images[:, :-1], images[:, 1:]))
    return (side, side) if all(_correlation(*pair) > MIN_CORRELATION for pair in neighbours) else None


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a.ravel() - a.mean(), b.ravel() - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else 0.0
