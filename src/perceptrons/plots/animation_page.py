"""Writes an animation as one HTML page with data, drawing and controls, without external resources."""

import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from matplotlib.markers import MarkerStyle
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from perceptrons.inspection.html import escaped
from perceptrons.inspection.wording import count
from perceptrons.plots import style

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 480, 58, 48, 8, 8

HTML, STYLE, SCRIPT = (
    files("perceptrons.plots").joinpath(f"animation.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
)
TEMPLATE = Template(HTML)


def page(
    frames: Sequence[tuple[Any, ...]], labels: Sequence[str], points: np.ndarray, codes: np.ndarray, box: np.ndarray,
    names: Sequence[str], note: str, fps: float,
) -> str:  # fmt: skip
    """The page. frames: (regions, example or None, its class, what happened, mistakes so far)."""
    across = (WIDTH - LEFT - RIGHT) / np.ptp(box[0])
    up = (HEIGHT - TOP - BOTTOM) / np.ptp(box[1])

    def place(xy: np.ndarray) -> np.ndarray:
        flat = np.atleast_2d(np.asarray(xy, np.float64))
        return np.stack([LEFT + (flat[:, 0] - box[0, 0]) * across, HEIGHT - BOTTOM - (flat[:, 1] - box[1, 0]) * up], 1)

    written = [
        {
            "r": [_points(place(region)) if len(region) else "" for region in regions],
            "e": None if example is None else [round(float(part), 1) for part in place(example)[0]],
            "t": f"{_plain(text)} {count(mistakes, 'mistake')} so far.",
        }
        for regions, example, _, text, mistakes in frames
    ]
    data = {"frames": written, "classes": [_plain(label) for label in labels], "wait": round(1000 / fps)}
    # "<" would end the script that holds the data
    held = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    shapes = "".join(f'<path id="m{k}" d="{_marker(k)}"/>' for k in range(len(labels)))
    dots = "".join(
        f'<use href="#m{k}" x="{x:.1f}" y="{y:.1f}" fill="{style.colour(k)}"/>'
        for k, (x, y) in zip(codes.tolist(), place(points), strict=True)
    )
    areas = "".join(
        f'<polygon id="region{k}" points="" fill="{_hex(style.tint(k))}" stroke="{style.INK}" stroke-width="2"/>'
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
        ticks=_ticks(box, place), name_across=escaped(_plain(names[0])), name_up=escaped(_plain(names[1])),
        last=len(frames) - 1, note=f'<p class="note">{escaped(note)}.</p>' if note else "",
    )  # fmt: skip


def _plain(text: str) -> str:
    """A label as it is, not as matplotlib writes it."""
    return text.replace(r"\$", "$")


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
