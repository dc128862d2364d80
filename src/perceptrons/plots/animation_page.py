"""Writes an animation as one HTML page with data, drawing and controls, without external resources."""

import json
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

import numpy as np
from matplotlib.markers import MarkerStyle
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from perceptrons.engine.html import escaped
from perceptrons.plots import style

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 480, 58, 48, 8, 8

HTML, STYLE, SCRIPT = (
    files("perceptrons.plots").joinpath(f"animation.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
)
TEMPLATE = Template(HTML)


class Scene(NamedTuple):
    """What one frame shows."""

    view: np.ndarray  # (2, 2): low and high of each feature
    regions: list[list[np.ndarray]]  # of every class, its outlines
    example: np.ndarray | None  # the one visited
    arrow: np.ndarray | None  # (2, 2): from, to
    text: str
    numbers: str
    learned: bool  # was it an update?


def page(
    scenes: Sequence[Scene], labels: Sequence[str], points: np.ndarray, codes: np.ndarray, names: Sequence[str],
    note: str, fps: float,
) -> str:  # fmt: skip
    """The page."""
    written: list[dict[str, Any]] = []
    ticks = ""
    for scene in scenes:
        place, before = partial(_place, scene.view), ticks
        ticks = _ticks(scene.view, place)
        written.append(
            {
                "r": ["".join(f"M{_points(place(ring))}Z" for ring in rings) for rings in scene.regions],
                "e": None if scene.example is None else _rounded(place(scene.example)),
                "a": None if scene.arrow is None else _rounded(place(scene.arrow)),
                "v": [float(f"{part:.8g}") for part in scene.view.ravel()],
                "t": _plain(scene.text),
                "n": _plain(scene.numbers),
                "l": int(scene.learned),
                **({} if ticks == before else {"k": ticks}),
            }
        )
    area = [LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP]
    data = {
        "frames": written, "classes": [_plain(label) for label in labels], "wait": round(1000 / fps), "area": area,
        "points": [[float(f"{x:.8g}"), float(f"{y:.8g}")] for x, y in points],
    }  # fmt: skip
    # "<" would end the script that holds the data
    held = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    shapes = "".join(f'<path id="m{k}" d="{_marker(k)}"/>' for k in range(len(labels)))
    dots = "".join(f'<use href="#m{k}" fill="{style.colour(k)}"/>' for k in codes.tolist())
    areas = "".join(
        f'<path id="region{k}" d="" fill-rule="evenodd" fill="{_hex(style.tint(k))}" stroke="{style.INK}" '
        'stroke-width="2"/>'
        for k in range(len(labels))
    )
    keys = "".join(
        f'<li><svg viewBox="-7 -7 14 14" aria-hidden="true"><path d="{_marker(k)}" fill="{style.colour(k)}"/></svg> '
        f"{escaped(_plain(label))}</li>"
        for k, label in enumerate(labels)
    )
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    return TEMPLATE.substitute(
        style=STYLE, script=SCRIPT, data=held, width=WIDTH, height=HEIGHT, left=LEFT, top=TOP, right=right, floor=floor,
        across=right - LEFT, up=floor - TOP, middle=f"{(LEFT + right) / 2:g}", centre=f"{(TOP + floor) / 2:g}",
        below_axis=HEIGHT - 8, ink=style.INK, pale=style.PALE, shapes=shapes, areas=areas, dots=dots, keys=keys,
        name_across=escaped(_plain(names[0])), name_up=escaped(_plain(names[1])),
        last=len(scenes) - 1, note=f'<p class="note">{escaped(note)}.</p>' if note else "",
    )  # fmt: skip


def _plain(text: str) -> str:
    """A label as it is, not as matplotlib writes it."""
    return text.replace(r"\$", "$")


def _place(view: np.ndarray, xy: np.ndarray) -> np.ndarray:
    """Points as dots of the picture, (n, 2)."""
    flat = np.atleast_2d(np.asarray(xy, np.float64))
    across, up = (WIDTH - LEFT - RIGHT) / np.ptp(view[0]), (HEIGHT - TOP - BOTTOM) / np.ptp(view[1])
    return np.stack([LEFT + (flat[:, 0] - view[0, 0]) * across, HEIGHT - BOTTOM - (flat[:, 1] - view[1, 0]) * up], 1)


def _rounded(dots: np.ndarray) -> list[float]:
    return [round(float(part), 1) for part in dots.ravel()]


def _points(corners: np.ndarray) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _hex(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def _marker(k: int) -> str:
    """The marker of class k as the path of an SVG, of radius 5 about 0."""
    marker = MarkerStyle(style.marker(k))
    path, size = marker.get_transform().transform_path(marker.get_path()), 10 * style.area(k) ** 0.5
    letters = {1: "M", 2: "L", 3: "Q", 4: "C"}
    parts = []
    for points, code in path.iter_segments():
        numbers = size * np.asarray(points).reshape(-1, 2) * [1, -1]
        parts.append("Z" if code == 79 else letters[int(code)] + " ".join(f"{x:.2f},{y:.2f}" for x, y in numbers))
    return "".join(parts)


def _ticks(box: np.ndarray, place: Any) -> str:
    """The numbers along both axes."""
    parts = []
    for axis in (0, 1):
        low, high = box[axis]
        at = [tick for tick in MaxNLocator(nbins=6).tick_values(low, high) if low <= tick <= high]
        shown: Any = ScalarFormatter(useOffset=False)
        shown.create_dummy_axis()
        shown.axis.set_view_interval(low, high)
        shown.axis.set_data_interval(low, high)
        for tick, text in zip(at, shown.format_ticks(at), strict=True):
            xy = np.array([box[0, 0], box[1, 0]])
            xy[axis] = tick
            x, y = place(xy)[0]
            how = f'x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle"'
            if axis:
                how = f'x="{x - 6:.1f}" y="{y + 5:.1f}" text-anchor="end"'
            parts.append(f"<text {how}>{escaped(text)}</text>")
    return "".join(parts)
