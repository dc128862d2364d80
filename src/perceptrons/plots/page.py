"""The page of an animation: one file of HTML with its data, its drawing and its controls inside; no network."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.markers import MarkerStyle
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from perceptrons.plots import style
from perceptrons.training.html import escaped

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 480, 58, 48, 8, 8

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 760px; padding: 12px; background: #fff; color: #222;
  font: 16px/1.4 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.15em; margin: 0 0 .3em; }
svg.plane { display: block; width: 100%; height: auto; }
svg.plane text { font-size: 14px; fill: #222; }
#text { min-height: 2.9em; margin: .3em 0; }
.controls { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.controls button { font: inherit; min-width: 44px; min-height: 44px; padding: 0 .7em; border: 1px solid #6e6e6e;
  border-radius: 6px; background: #f4f4f4; color: #222; cursor: pointer; }
.controls button:focus-visible, .controls input:focus-visible { outline: 3px solid #0072b2; outline-offset: 2px; }
.controls input { flex: 1 1 200px; min-width: 120px; height: 44px; accent-color: #0072b2; }
ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2em 1.2em; margin: .6em 0; padding: 0; }
li svg { width: 1.1em; height: 1.1em; vertical-align: -.15em; overflow: visible; }
li { overflow-wrap: anywhere; }
@media (max-width: 520px) { svg.plane text { font-size: 19px; } }
.note { color: #555; font-size: .9em; margin: .4em 0; }
"""

SCRIPT = """
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const slider = at("slider"), play = at("play"), ring = at("ring");
const regions = data.classes.map((_, k) => at("region" + k));
let now = 0, timer = null;
function show(i) {
  now = Math.max(0, Math.min(data.frames.length - 1, i));
  const frame = data.frames[now];
  regions.forEach((region, k) => region.setAttribute("points", frame.r[k]));
  if (frame.e) {
    ring.setAttribute("cx", frame.e[0]);
    ring.setAttribute("cy", frame.e[1]);
  }
  ring.setAttribute("visibility", frame.e ? "visible" : "hidden");
  at("text").textContent = frame.t;
  slider.value = now;
  slider.setAttribute("aria-valuetext", frame.t);
}
function stop() {
  clearInterval(timer);
  timer = null;
  play.textContent = "\\u25B6 Play";
}
function start() {
  if (now === data.frames.length - 1) show(0);
  play.textContent = "\\u23F8 Pause";
  timer = setInterval(() => {
    show(now + 1);
    if (now === data.frames.length - 1) stop();
  }, data.wait);
}
const toggle = () => timer === null ? start() : stop();
const go = i => { stop(); show(i); };
play.addEventListener("click", toggle);
at("back").addEventListener("click", () => go(now - 1));
at("next").addEventListener("click", () => go(now + 1));
slider.addEventListener("input", () => go(Number(slider.value)));
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const moves = {ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1,
    Home: 0, End: data.frames.length - 1};
  if (event.key in moves) go(moves[event.key]);
  else if (event.key === " " && event.target.tagName !== "BUTTON") toggle();
  else return;
  event.preventDefault();
});
show(0);
"""


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
            "t": f"{_plain(text)} {style.counted(mistakes, 'mistake')} so far.",
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
<style>{STYLE}</style>
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
<script>{SCRIPT}</script>
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
