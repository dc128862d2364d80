"""What a film shows: the regions of the classes in a box, and boxes that hold a part of the boundary in every frame."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from contourpy import FillType, contour_generator

PICTURE = np.array([574.0, 424.0])  # dots across and up
ARROW = 0.16  # of the height of the picture
INSIDE = 0.2  # of the box: how far from its sides the boundary must come
CALM = 0.6  # how much of an enlargement is left one frame later, or is there one frame before
SIDE = 81  # points of a grid along each side
LEVELS = 12  # sizes of grids that are tried, each half as large again as the last
Rings = list[np.ndarray]  # outlines of an area; what an even number of them surrounds is no part of it


class Surface(ABC):
    """The scores over the plane, of any weights."""

    positive_at_zero = False

    @abstractmethod
    def rings(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> list[Rings]:
        """The region of every class within a box."""

    @abstractmethod
    def needed(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> np.ndarray:
        """A box around this one that holds a part of the boundary; this one where there is no boundary."""

    @abstractmethod
    def foot(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Of two classes: a point of the boundary in the box, and the gradient of the score there."""


class Straight(Surface):
    """Two features as they are: boundaries are lines."""

    def __init__(self, positive_at_zero: bool = False):
        self.positive_at_zero = positive_at_zero

    def rings(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> list[Rings]:
        found = polygons(w, b, box, positive_at_zero=self.positive_at_zero)
        return [[region] if len(region) else [] for region in found]

    def needed(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> np.ndarray:
        middle, half = box.mean(axis=1), np.ptp(box, axis=1) / 2
        inner = np.stack([middle - (1 - INSIDE) * half, middle + (1 - INSIDE) * half], axis=1)
        near = _nearest(w, b, middle, half)
        if near is None or sum(map(bool, self.rings(w, b, inner))) > 1:
            return box
        low, high = np.minimum(inner[:, 0], near), np.maximum(inner[:, 1], near)
        room = INSIDE * (high - low)
        return np.stack([np.minimum(box[:, 0], low - room), np.maximum(box[:, 1], high + room)], axis=1)

    def foot(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        middle, half = box.mean(axis=1), np.ptp(box, axis=1) / 2
        near = _nearest(w, b, middle, half) if len(w) == 1 else None
        return None if near is None else (near, np.asarray(w[0], np.float64))


class Mapped(Surface):
    """Two features that a pipeline makes others of: boundaries are curves, found on a grid."""

    def __init__(self, transform: Callable[[np.ndarray], Any], positive_at_zero: bool = False):
        self.transform, self.positive_at_zero = transform, positive_at_zero
        self._grids: dict[bytes, Any] = {}

    def rings(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> list[Rings]:
        x, y, lead = self._leads(w, b, box)
        found: list[Rings] = []
        for k, z in enumerate(lead):
            others = lead[:k] if len(lead) > 2 else lead[:0]
            tied = np.any([z == other for other in others], axis=0) if len(others) else np.zeros(z.shape, bool)
            if not (z > 0).any():  # ties go to the first class, or as the model says
                wins_ties = (k == 1) if self.positive_at_zero else (k == 0)
                whole = bool((z == 0).all() and wins_ties and not tied.all())
                found.append([_corners(box)] if whole else [])
                continue
            generator = contour_generator(x, y, z, fill_type=FillType.OuterOffset)
            filled: Any = generator.filled(0.0, float(z.max()) + 1.0)
            found.append([
                part[begin:end] for part, at in zip(*filled, strict=True)
                for begin, end in pairwise(at.tolist())
            ])  # fmt: skip
        return found

    def needed(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> np.ndarray:
        if not np.any(w - w[:1] if len(w) > 1 else w):
            return box
        middle, half = box.mean(axis=1), np.ptp(box, axis=1) / 2
        for level in range(LEVELS):
            size = 1.5**level * half
            wide = np.stack([middle - size, middle + size], axis=1)
            lead = self._leads(w, b, wide)[2]
            if sum(bool((z > 0).any()) for z in lead) > 1:
                return wide
        return box

    def foot(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        if len(w) > 1:
            return None
        x, y, lead = self._leads(w, b, box)
        z = lead[1]
        lines = contour_generator(x, y, z).lines(0.0)
        if not lines:
            return None
        points = np.concatenate([np.asarray(line) for line in lines])
        near = points[np.argmin((((points - box.mean(axis=1)) / np.ptp(box, axis=1)) ** 2).sum(axis=1))]
        step = 1e-4 * np.ptp(box, axis=1)
        around = near + np.array([[step[0], 0], [-step[0], 0], [0, step[1]], [0, -step[1]]])
        s = (np.asarray(self._features(around)) @ w.T + b)[:, 0]
        return near, np.array([s[0] - s[1], s[2] - s[3]]) / (2 * step)

    def origins(self, made: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Where examples are in the plane whose features were made of some of these points."""
        known = {row.tobytes(): k for k, row in enumerate(self._features(points) + 0.0)}
        places = [known.get(row.tobytes()) for row in np.asarray(made, np.float64) + 0.0]
        if None in places:
            raise ValueError("The pipeline learned from other examples than X: give those that it was fitted on.")
        return points[np.array(places, np.intp)].reshape(-1, 2)

    def _features(self, points: np.ndarray) -> np.ndarray:
        made = self.transform(points)
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made, np.float64)

    def _leads(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """The grid, and by how much each class leads its best rival there."""
        x, y = (np.linspace(low, high, SIDE) for low, high in box.tolist())
        key = box.tobytes()
        if key not in self._grids:
            self._grids[key] = self._features(np.stack([part.ravel() for part in np.meshgrid(x, y)], axis=1))
        s = (self._grids[key] @ np.asarray(w, np.float64).T + b).T.reshape(len(w), SIDE, SIDE)
        if len(w) == 1:
            return x, y, [-s[0], s[0]]
        return x, y, [s[k] - np.delete(s, k, axis=0).max(axis=0) for k in range(len(w))]


def steady(needed: Sequence[np.ndarray], box: np.ndarray) -> list[np.ndarray]:
    """A box for every frame that holds the one needed, and grows and shrinks by and by.

    Each side is as far out as the largest enlargement of any frame asks for, less for frames further away.
    """
    out = np.array([(np.array([[-1.0, 1.0]]) * (view - box)) for view in needed])  # how far each side moves out
    far = np.ptp(box, axis=1)[:, None]
    place = np.arange(len(out))
    fading = CALM ** np.abs(place[:, None] - place[None, :])  # (frames, frames)
    smooth = (np.maximum(out, 0.0)[None] * fading[:, :, None, None]).max(axis=1)
    smooth[smooth < 0.01 * far] = 0.0
    smooth = np.maximum(smooth, out)
    return [_in_proportion(box + np.array([[-1.0, 1.0]]) * one, box) for one in smooth]


def _in_proportion(view: np.ndarray, box: np.ndarray) -> np.ndarray:
    """A box around this one whose sides have the proportion of another."""
    size, other = np.ptp(view, axis=1), np.ptp(box, axis=1)
    half = (size / other).max() * other / 2
    middle = view.mean(axis=1)
    return np.stack([middle - half, middle + half], axis=1)


def framed(box: np.ndarray) -> np.ndarray:
    """A box in the proportion of the picture, so that both axes have one scale; as it is if that would waste most."""
    across, up = np.ptp(box, axis=1)
    return _in_proportion(box, np.stack([0 * PICTURE, PICTURE], axis=1)) if 0.5 <= across / up <= 2 else box


def one_scale(box: np.ndarray) -> bool:
    """Have both axes one scale in the picture?"""
    across, up = np.ptp(box, axis=1) / PICTURE
    return bool(abs(across - up) <= 1e-6 * up)


def arrow(surface: Surface, w: np.ndarray, b: np.ndarray, view: np.ndarray) -> np.ndarray | None:
    """From the boundary towards higher scores, at right angles to it in the picture: (2, 2), or None.

    Where both axes have one scale, that is the direction of w.
    """
    found = surface.foot(w, b, view)
    if found is None:
        return None
    foot, slope = found
    unit = np.ptp(view, axis=1) / PICTURE  # a dot of the picture
    seen = slope * unit
    length = float(np.linalg.norm(seen))
    if not length or ((foot < view[:, 0]) | (foot > view[:, 1])).any():
        return None
    return np.stack([foot, foot + ARROW * PICTURE[1] * unit * seen / length])


def _nearest(w: np.ndarray, b: np.ndarray, middle: np.ndarray, half: np.ndarray) -> np.ndarray | None:
    """The point of the boundary nearest to the middle of a box, in the units of its sides; None: there is none."""
    w, b = np.asarray(w, np.float64), np.asarray(b, np.float64)
    if len(w) == 1:
        lines = [(w[0], b[0])]
    else:
        winner = int((w @ middle + b).argmax())
        lines = [(w[winner] - w[k], b[winner] - b[k]) for k in range(len(w)) if k != winner]
    best, found = np.inf, None
    for line, bias in lines:
        seen = line * half
        size = float(seen @ seen)
        if size > 0:
            s = float(line @ middle + bias)
            if abs(s) / np.sqrt(size) < best:
                best, found = abs(s) / np.sqrt(size), middle - half * seen * (s / size)
    return found if found is None or np.isfinite(found).all() else None


def _corners(box: np.ndarray) -> np.ndarray:
    (left, right), (low, high) = box
    return np.array([(left, low), (right, low), (right, high), (left, high)])


def polygons(w: np.ndarray, b: np.ndarray, box: np.ndarray, *, positive_at_zero: bool = False) -> list[np.ndarray]:
    """For every class the corners (m, 2) of its region within a box; no corner where it has none there.

    w (rows, 2), b (rows,): one row for two classes, otherwise one row per class. Ties go to the first class; with one
    row, they go to the second under positive_at_zero.  box: (low, high) of each feature, (2, 2).
    """
    w, b = np.asarray(w, np.float64), np.asarray(b, np.float64)
    if len(w) == 1:
        w, b = np.vstack([np.zeros_like(w), w]), np.hstack([0.0, b])
    found = []
    for k in range(len(w)):
        region = _corners(box)
        for rival in range(len(w)):
            if rival != k and len(region):
                wins_ties = (k < rival) != positive_at_zero
                region = _clipped(region, w[k] - w[rival], b[k] - b[rival], wins_ties)
        found.append(region)
    return found


def _clipped(region: np.ndarray, w: np.ndarray, b: float, wins_ties: bool) -> np.ndarray:
    """The part of a convex polygon where w·x + b >= 0 (Sutherland and Hodgman 1974)."""
    s = region @ w + b
    if not w.any():
        keeps = s[0] > 0 or (s[0] == 0 and wins_ties)
        return region if keeps else region[:0]
    if (s >= 0).all():
        return region
    corners = []
    for i in range(len(region)):
        here, there = s[i - 1], s[i]
        if (here >= 0) != (there >= 0):
            share = here / (here - there)
            corners.append(region[i - 1] + share * (region[i] - region[i - 1]))
        if there >= 0:
            corners.append(region[i])
    return np.array(corners) if len(corners) > 2 else region[:0]
