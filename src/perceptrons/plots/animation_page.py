"""The page of an animation: one file of HTML with its data, its drawing and its controls inside; no network."""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from matplotlib.markers import MarkerStyle
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from perceptrons.plots import style
from perceptrons.training.html import escaped
from perceptrons.training.wording import count

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 480, 58, 48, 8, 8

FOLDER = files("perceptrons.plots")
STYLE, SCRIPT = (FOLDER.joinpath(f"animation.{kind}").read_text("utf-8") for kind in ("css", "js"))


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
    below = f'<p class="note">{escaped(note)}.</p>' if note else ""
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>The perceptron's boundary, update by update</title>
<style>
{STYLE}</style>
</head>
<body>
<h1>The perceptron's boundary, update by update</h1>
<svg class="plane" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Examples and the regions of the classes">
<defs>{shapes}<clipPath id="inside"><rect x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{floor - TOP}"/>
</clipPath></defs>
<g clip-path="url(#inside)">{areas}<g stroke="#fff" stroke-width="0.6">{dots}</g>
<circle id="ring" r="11" fill="none" stroke="{style.INK}" stroke-width="3" visibility="hidden"/></g>
<path d="M{LEFT},{TOP}V{floor}H{right}" fill="none" stroke="{style.PALE}"/>
{_ticks(box, place)}
<text x="{(LEFT + right) / 2:g}" y="{HEIGHT - 8}" text-anchor="middle">{escaped(_plain(names[0]))}</text>
<text transform="translate(16,{(TOP + floor) / 2:g}) rotate(-90)" text-anchor="middle">
{escaped(_plain(names[1]))}</text>
</svg>
<p id="text" aria-live="polite"></p>
<div class="controls">
<button id="back" type="button" aria-label="one update back">&#9664;&#xFE0E;</button>
<button id="play" type="button">&#9654; Play</button>
<button id="next" type="button" aria-label="one update on">&#9654;&#xFE0E;</button>
<input id="slider" type="range" min="0" max="{len(frames) - 1}" value="0" aria-label="update">
</div>
<ul>{keys}</ul>
<p class="note">Keys: arrows for one update back or on, space to play or pause, Home and End.</p>
{below}
<script type="application/json" id="data">{held}</script>
<script>
{SCRIPT}</script>
</body>
</html>
"""


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
