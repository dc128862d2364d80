"""The regions of the classes in the plane of a film, and views that show the decision boundary in every frame."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from contourpy import FillType, contour_generator

from perceptrons.plots.model_facts import leads, to_dense

PICTURE_SIZE = np.array([574.0, 424.0])  # pixels across and up
ARROW_LENGTH = 0.16  # of the height of the picture
INNER_MARGIN = 0.2  # of the box: the boundary must come this far inside
ZOOM_DECAY = 0.6  # of an enlargement is left one frame later, or is there one frame earlier
GRID_POINTS = 81  # along each side
MAX_ZOOM_LEVELS = 12  # grids that are tried, each 1.5 times as large as the one before
Rings = list[np.ndarray]  # outlines of an area; what an even number of them surrounds is no part of it


class Surface:
    """The plane of a model's own two features: boundaries are straight lines. A box is (low, high) of both features."""

    def __init__(self, positive_at_zero: bool = False):
        self.positive_at_zero = positive_at_zero

    def regions(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> list[Rings]:
        """Return the region of every class within a box."""
        polygons = region_polygons(w, b, box, positive_at_zero=self.positive_at_zero)
        return [[polygon] if len(polygon) else [] for polygon in polygons]

    def view(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> np.ndarray:
        """Return a box around this one that holds a part of the boundary, or this one if there is no boundary."""
        inner = scale_box(box, 1 - INNER_MARGIN)
        point = _nearest_boundary_point(w, b, box)
        if point is None or sum(map(bool, self.regions(w, b, inner))) > 1:
            return box
        low, high = np.minimum(inner[:, 0], point), np.maximum(inner[:, 1], point)
        room = INNER_MARGIN * (high - low)
        return np.stack([np.minimum(box[:, 0], low - room), np.maximum(box[:, 1], high + room)], axis=1)

    def boundary_point(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return a point of the boundary of two classes, and the gradient of the score there."""
        point = _nearest_boundary_point(w, b, box) if len(w) == 1 else None
        return None if point is None else (point, np.asarray(w[0], np.float64))

    def arrow(self, w: np.ndarray, b: np.ndarray, view: np.ndarray) -> np.ndarray | None:
        """Return an arrow from the boundary towards higher scores, perpendicular to it in the picture: (from, to).

        Where both axes have one scale, that is the direction of w.
        """
        point_and_gradient = self.boundary_point(w, b, view)
        if point_and_gradient is None:
            return None
        point, gradient = point_and_gradient
        pixel = np.ptp(view, axis=1) / PICTURE_SIZE
        direction = gradient * pixel
        length = float(np.linalg.norm(direction))
        if not length or ((point < view[:, 0]) | (point > view[:, 1])).any():
            return None
        return np.stack([point, point + ARROW_LENGTH * PICTURE_SIZE[1] * pixel * direction / length])


class TransformedSurface(Surface):
    """The plane of two features from which a pipeline computes others: boundaries are curves, found on a grid."""

    def __init__(self, transform: Callable[[np.ndarray], Any], positive_at_zero: bool = False):
        super().__init__(positive_at_zero)
        self.transform = transform
        self._grid_features: dict[bytes, np.ndarray] = {}

    def regions(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> list[Rings]:
        x, y, lead = self._leads_on_grid(w, b, box)
        if not (lead > 0).any():  # ties go to the first class, or as the model says
            winner = int(self.positive_at_zero) if len(lead) == 2 else int((lead == 0).all(axis=(1, 2)).argmax())
            return [[_corners(box)] if k == winner else [] for k in range(len(lead))]
        return [_filled_rings(x, y, z) if (z > 0).any() else [] for z in lead]

    def view(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> np.ndarray:
        if not np.any(w - w[:1] if len(w) > 1 else w):
            return box
        for level in range(MAX_ZOOM_LEVELS):
            wide = scale_box(box, 1.5**level)
            if (self._leads_on_grid(w, b, wide)[2] > 0).any(axis=(1, 2)).sum() > 1:
                return wide
        return box

    def boundary_point(self, w: np.ndarray, b: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        if len(w) > 1:
            return None
        x, y, lead = self._leads_on_grid(w, b, box)
        lines = contour_generator(x, y, lead[1]).lines(0.0)
        if not lines:
            return None
        points = np.concatenate([np.asarray(line) for line in lines])
        distances = (((points - box.mean(axis=1)) / np.ptp(box, axis=1)) ** 2).sum(axis=1)
        point = points[distances.argmin()]
        step = 1e-4 * np.ptp(box, axis=1)
        neighbours = point + np.array([[step[0], 0], [-step[0], 0], [0, step[1]], [0, -step[1]]])
        s = (self._features(neighbours) @ w.T + b)[:, 0]
        return point, np.array([s[0] - s[1], s[2] - s[3]]) / (2 * step)

    def original_points(self, rows: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return for each transformed row the point of the plane that it was computed from."""
        indices = {row.tobytes(): k for k, row in enumerate(self._features(points) + 0.0)}
        matches = [indices.get(row.tobytes()) for row in np.asarray(rows, np.float64) + 0.0]
        if None in matches:
            raise ValueError("The pipeline learned from other examples than X: give those that it was fitted on.")
        return points[np.array(matches, np.intp)].reshape(-1, 2)

    def _features(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(to_dense(self.transform(points)), np.float64)

    def _leads_on_grid(
        self, w: np.ndarray, b: np.ndarray, box: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the axes of a grid, and the lead of each class there, (n_classes, rows, columns)."""
        x, y = (np.linspace(low, high, GRID_POINTS) for low, high in box.tolist())
        key = box.tobytes()
        if key not in self._grid_features:
            grid = np.stack([part.ravel() for part in np.meshgrid(x, y)], axis=1)
            self._grid_features[key] = self._features(grid)
        s = self._grid_features[key] @ np.asarray(w, np.float64).T + b
        return x, y, leads(s[:, 0] if len(w) == 1 else s).T.reshape(-1, GRID_POINTS, GRID_POINTS)


def _filled_rings(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Rings:
    areas: Any = contour_generator(x, y, z, fill_type=FillType.OuterOffset).filled(0.0, float(z.max()) + 1.0)
    return [part for points, offsets in zip(*areas, strict=True) for part in np.split(points, offsets[1:-1].tolist())]


def region_polygons(w: np.ndarray, b: np.ndarray, box: np.ndarray, *, positive_at_zero: bool = False) -> Rings:
    """Return for every class the corners (m, 2) of its region within a box; none where it has no region there.

    w (rows, 2), b (rows,): one row for two classes, otherwise one row per class. Ties go to the first class; with one
    row, they go to the second under positive_at_zero.
    """
    w, b = np.asarray(w, np.float64), np.asarray(b, np.float64)
    if len(w) == 1:
        w, b = np.vstack([np.zeros_like(w), w]), np.hstack([0.0, b])
    polygons = []
    for k in range(len(w)):
        polygon = _corners(box)
        for rival in range(len(w)):
            if rival != k and len(polygon):
                polygon = _clip(polygon, w[k] - w[rival], b[k] - b[rival], (k < rival) != positive_at_zero)
        polygons.append(polygon)
    return polygons


def _clip(polygon: np.ndarray, w: np.ndarray, b: float, wins_ties: bool) -> np.ndarray:
    """Return the part of a convex polygon where w·x + b >= 0 (Sutherland and Hodgman 1974)."""
    s = polygon @ w + b
    if not w.any():
        return polygon if s[0] > 0 or (s[0] == 0 and wins_ties) else polygon[:0]
    if (s >= 0).all():
        return polygon
    corners = []
    for i in range(len(polygon)):
        previous, current = s[i - 1], s[i]
        if (previous >= 0) != (current >= 0):
            fraction = previous / (previous - current)
            corners.append(polygon[i - 1] + fraction * (polygon[i] - polygon[i - 1]))
        if current >= 0:
            corners.append(polygon[i])
    return np.array(corners) if len(corners) > 2 else polygon[:0]


def _corners(box: np.ndarray) -> np.ndarray:
    (left, right), (low, high) = box
    return np.array([(left, low), (right, low), (right, high), (left, high)])


def _nearest_boundary_point(w: np.ndarray, b: np.ndarray, box: np.ndarray) -> np.ndarray | None:
    """Return the point of the boundary nearest to the middle of a box, in units of its sides; None if there is none."""
    w, b = np.asarray(w, np.float64), np.asarray(b, np.float64)
    middle, half = box.mean(axis=1), np.ptp(box, axis=1) / 2
    if len(w) > 1:
        winner = int((w @ middle + b).argmax())
        w, b = np.delete(w[winner] - w, winner, axis=0), np.delete(b[winner] - b, winner)
    s, scaled = w @ middle + b, w * half
    squares = (scaled**2).sum(axis=1)
    lines = np.flatnonzero(squares)
    if not len(lines):
        return None
    nearest = lines[np.argmin(np.abs(s[lines]) / np.sqrt(squares[lines]))]
    point = middle - half * scaled[nearest] * (s[nearest] / squares[nearest])
    return point if np.isfinite(point).all() else None


# ---- views


def scale_box(box: np.ndarray, factor: float) -> np.ndarray:
    """Return a box with the same middle and sides this many times as long."""
    middle, half = box.mean(axis=1, keepdims=True), np.ptp(box, axis=1, keepdims=True) / 2
    return middle + factor * half * [[-1.0, 1.0]]


def smooth_views(views: Sequence[np.ndarray], box: np.ndarray) -> list[np.ndarray]:
    """Return a view for every frame that holds the given one, and widens and narrows gradually.

    Each side is as far out as the largest enlargement of any frame requires, less for frames further away.
    """
    outwards = np.array([[-1.0, 1.0]])
    enlargements = np.array([outwards * (view - box) for view in views])
    frames = np.arange(len(views))
    weights = ZOOM_DECAY ** np.abs(frames[:, None] - frames[None, :])
    smooth = (np.maximum(enlargements, 0.0)[None] * weights[:, :, None, None]).max(axis=1)
    smooth[smooth < 0.01 * np.ptp(box, axis=1)[:, None]] = 0.0
    return [_match_aspect(box + outwards * sides, box) for sides in np.maximum(smooth, enlargements)]


def _match_aspect(view: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Return a box around this one whose sides have the proportion of another."""
    half = (np.ptp(view, axis=1) / np.ptp(box, axis=1)).max() * np.ptp(box, axis=1) / 2
    middle = view.mean(axis=1)
    return np.stack([middle - half, middle + half], axis=1)


def match_picture(box: np.ndarray) -> np.ndarray:
    """Return a box in the picture's proportion, so that axes have one scale, unless that would waste most of it."""
    across, up = np.ptp(box, axis=1)
    return _match_aspect(box, np.stack([0 * PICTURE_SIZE, PICTURE_SIZE], axis=1)) if 0.5 <= across / up <= 2 else box


def has_equal_scales(box: np.ndarray) -> bool:
    """Return whether both axes have the same scale in the picture."""
    across, up = np.ptp(box, axis=1) / PICTURE_SIZE
    return bool(abs(across - up) <= 1e-6 * up)
