"""Writes a film as one HTML page with data, drawing and controls, without external resources."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from perceptrons.plots import style
from perceptrons.plots.pages import read_asset, render_page

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 480, 58, 632, 8, 432  # pixels; the last four are those of the axes


class Scene(NamedTuple):
    """One frame of the page."""

    view: np.ndarray  # (2, 2): low and high of each feature
    regions: list[list[np.ndarray]]  # of every class, its outlines
    example: np.ndarray | None  # the visited one
    arrow: np.ndarray | None  # (2, 2): from, to
    text: str
    numbers: str
    is_update: bool


def film_page(
    scenes: Sequence[Scene], labels: Sequence[str], points: np.ndarray, codes: np.ndarray, names: Sequence[str],
    note: str, fps: float,
) -> str:  # fmt: skip
    """Return the page as HTML."""
    frames: list[dict[str, Any]] = []
    previous_ticks: list[list[Any]] = []
    for scene in scenes:
        ticks = _ticks(scene.view)
        frames.append({
            "r": ["".join(map(_svg_path, _to_pixels(scene.view, rings))) for rings in scene.regions],
            "e": _rounded_pixels(scene.view, scene.example),
            "a": _rounded_pixels(scene.view, scene.arrow),
            "v": [float(f"{side:.8g}") for side in scene.view.ravel()],
            "t": _unescape(scene.text),
            "n": _unescape(scene.numbers),
            "l": int(scene.is_update),
            **({} if ticks == previous_ticks else {"k": ticks}),
        })  # fmt: skip
        previous_ticks = ticks
    classes = [
        {
            "name": _unescape(label), "marker": _marker_path(k), "color": style.class_color(k),
            "region_color": to_hex(style.region_color(k)),
        }
        for k, label in enumerate(labels)
    ]  # fmt: skip
    data = {
        "frames": frames, "classes": [row["name"] for row in classes], "wait": round(1000 / fps),
        "area": [LEFT, RIGHT, BOTTOM, TOP], "points": [[float(f"{x:.8g}"), float(f"{y:.8g}")] for x, y in points],
    }  # fmt: skip
    return render_page(
        "perceptrons.plots", "animation.html.jinja", data=data, classes=classes, codes=codes.tolist(), note=note,
        names=[_unescape(name) for name in names], style=read_asset("perceptrons.plots", "animation.css"),
        script=read_asset("perceptrons.plots", "animation.js"), ink=style.INK, pale_ink=style.PALE_INK, width=WIDTH,
        height=HEIGHT, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM,
    )  # fmt: skip


def _unescape(text: str) -> str:
    """Undo the escaping of dollars for matplotlib."""
    return text.replace(r"\$", "$")


def _to_pixels(view: np.ndarray, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    scale = [(RIGHT - LEFT), (TOP - BOTTOM)] / np.ptp(view, axis=1)
    return [[LEFT, BOTTOM] + scale * (np.asarray(points, np.float64) - view[:, 0]) for points in parts]


def _rounded_pixels(view: np.ndarray, points: np.ndarray | None) -> list[float] | None:
    return None if points is None else _to_pixels(view, [points])[0].round(1).ravel().tolist()


def _svg_path(corners: np.ndarray) -> str:
    return "M" + " ".join(f"{x:.1f},{y:.1f}" for x, y in corners) + "Z"


def _marker_path(k: int) -> str:
    """Return the marker of class k as the path of an SVG, of radius 5 about 0."""
    marker = MarkerStyle(style.class_marker(k))
    path, size = marker.get_transform().transform_path(marker.get_path()), 10 * style.class_marker_area(k) ** 0.5
    letters = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}
    parts = []
    for points, code in path.iter_segments():
        numbers = size * np.asarray(points).reshape(-1, 2) * [1, -1]
        closes = code == Path.CLOSEPOLY
        parts.append("Z" if closes else letters[code] + " ".join(f"{x:.2f},{y:.2f}" for x, y in numbers))
    return "".join(parts)


def _ticks(view: np.ndarray) -> list[list[Any]]:
    """Return the ticks of both axes: pixels across and down, the axis, and the text."""
    ticks = []
    for axis, (low, high) in enumerate(view):
        for value in MaxNLocator(nbins=6).tick_values(low, high):
            if low <= value <= high:
                point = view[:, 0].copy()
                point[axis] = value
                text = f"{value + 0.0:.6g}".replace("-", "\N{MINUS SIGN}")
                ticks.append([*_to_pixels(view, [point])[0].round(1).tolist(), "xy"[axis], text])
    return ticks
