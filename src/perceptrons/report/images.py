"""Examples that are images: seeing that they are, and turning rows of numbers into small pictures."""

import re
import struct
import zlib
from typing import Any

import numpy as np
import scipy.sparse as sp

NUMBERED = re.compile(r"(column |pixel|pix|px|attribute|feature|[a-z])?[ _.]?\d+([x_.-]\d+)?", re.IGNORECASE)
SMALLEST, LARGEST = 8, 128  # sides of images that are recognised
SAMPLE = 500
ALIKE = 0.3  # the correlation that neighbouring pixels have at least; those of a shuffled image have none


def find_shape(asked: Any, X: Any, names: Any) -> tuple[int, int] | None:
    """Rows and columns of the pixels that the features are: as asked, "auto" for a guess, None for no images."""
    width = X.shape[1]
    if asked is None:
        return None
    if isinstance(asked, str):
        if asked != "auto":
            raise ValueError(f"image_shape={asked!r}: give (rows, columns), 'auto' or None.")
        return _guess(X, names)
    try:
        rows, columns = (int(side) for side in asked)
    except (TypeError, ValueError):
        raise ValueError(f"image_shape={asked!r}: give (rows, columns), 'auto' or None.") from None
    if rows < 1 or columns < 1 or rows * columns != width:
        raise ValueError(
            f"image_shape={rows}x{columns} has {rows * columns:,} pixels, and there are {width:,} features."
        )
    return rows, columns


def _guess(X: Any, names: Any) -> tuple[int, int] | None:
    """Square, no negative numbers, no telling names, and neighbours that are alike."""
    side = round(X.shape[1] ** 0.5)
    if side * side != X.shape[1] or not SMALLEST <= side <= LARGEST:
        return None
    if names.real and not all(NUMBERED.fullmatch(name) for name in names.called(np.arange(X.shape[1]))[0]):
        return None
    some = dense(X[np.unique(np.linspace(0, X.shape[0] - 1, SAMPLE).astype(int))])
    if some.min(initial=0) < 0 or not some.any():
        return None
    images = some.reshape(-1, side, side)
    pairs = ((images[:, :, :-1], images[:, :, 1:]), (images[:, :-1], images[:, 1:]))
    return (side, side) if all(_correlation(*pair) > ALIKE for pair in pairs) else None


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    one, other = one.ravel() - one.mean(), other.ravel() - other.mean()
    size = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / size if size else 0.0


def dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)


def grey(values: np.ndarray, low: float, high: float) -> bytes:
    """A picture in shades of grey, the lowest value white, as ink on paper."""
    share = np.clip((values - low) / (high - low if high > low else 1.0), 0, 1)
    return png((255 * (1 - share)).round().astype(np.uint8))


def coloured(values: np.ndarray, reach: float) -> bytes:
    """A picture of signed values: orange above 0, blue below, the paler the smaller."""
    share = np.clip(values / (reach or 1.0), -1, 1)[..., None]
    orange, blue, white = np.array([213, 94, 0]), np.array([0, 114, 178]), np.full(3, 255)
    colours = np.where(share >= 0, white + share * (orange - white), white - share * (blue - white))
    return png(colours.round().astype(np.uint8))


def png(pixels: np.ndarray) -> bytes:
    """The bytes of a PNG file: (rows, columns) for grey, (rows, columns, 3) for colours, of 8 bits."""
    rows, columns = pixels.shape[:2]
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)], axis=1)  # 0: no filter
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0 if pixels.ndim == 2 else 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )
