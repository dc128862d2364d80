"""The regions of a linear classifier of two features, exactly: convex polygons, cut from a box by half-planes."""

import numpy as np


def polygons(w: np.ndarray, b: np.ndarray, box: np.ndarray, *, positive_at_zero: bool = False) -> list[np.ndarray]:
    """For every class the corners (m, 2) of its region within a box; no corner where it has none there.

    w (rows, 2), b (rows,): one row for two classes, else a row a class; ties go to the first class, with one row to the
    second under positive_at_zero.  box: (low, high) of each feature, (2, 2).
    """
    w, b = np.asarray(w, np.float64), np.asarray(b, np.float64)
    if len(w) == 1:
        w, b = np.vstack([np.zeros_like(w), w]), np.hstack([0.0, b])
    (left, right), (low, high) = box
    corners = np.array([(left, low), (right, low), (right, high), (left, high)])
    found = []
    for k in range(len(w)):
        region = corners
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
