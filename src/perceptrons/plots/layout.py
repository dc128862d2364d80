"""What fits where: legends, titles and names in the room that their axes have, in any figure and on any backend."""

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.layout_engine import ConstrainedLayoutEngine, TightLayoutEngine

from perceptrons.plots.style import INK, SETTINGS, dark, shorten

WIDEST = 0.45  # of the place of the axes may be the legend's
INSIDE = 0.6  # of the width and of the height of the axes may be a legend's that lies over what is drawn
NARROW = 4.0  # inches
BESIDE = 55.0  # points that the numbers and the name on the left of axes take


def legend_beside(ax: Any, handles: Sequence[Any], labels: Sequence[str], most: int = 12) -> Any:
    """A legend to the right of the axes, in as many columns as it needs; inside, or none, where that is too wide."""
    figure, laid = ax.figure, laid_out(ax)
    ax.apply_aspect()
    frame = ax.get_window_extent()
    wide, room = float(frame.width), _right_of(ax, BESIDE) - frame.x1
    if laid:
        spec, across = ax.get_subplotspec(), width_of(ax)
        wide, room = min(wide, 0.7 * across), WIDEST * across
        if spec != spec.get_topmost_subplotspec() and across < NARROW * figure.dpi:
            room = 0.0  # panels have no other room than their own
    white = {"frameon": True, "facecolor": "white", "edgecolor": "none", "labelcolor": INK}
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    if dark(figure.figure.get_facecolor()):
        beside |= {**white, "framealpha": 1.0}  # our inks could not be seen
    inside: dict[str, Any] = {**white, "loc": "best", "framealpha": 0.8}
    columns = max(1, -(-len(handles) // most))
    for where, limits in ((beside, (room, np.inf)), (inside, (INSIDE * wide, INSIDE * frame.height))):
        for size, width in ((9.0, 100), (7.5, 16), (6.5, 10)):
            legend = ax.legend(
                handles, [_cut(label, width) for label in labels], ncols=columns, handletextpad=0.5, columnspacing=1.0,
                fontsize=size, **where,
            )  # fmt: skip
            box = legend.get_window_extent()
            if box.width <= limits[0] and box.height <= limits[1]:
                return legend
    legend.remove()
    return None


def _cut(label: str, at_most: int) -> str:
    return label if "\n" in label else shorten(label.replace(r"\$", "$"), at_most)


def laid_out(ax: Any) -> bool:
    """Does the figure move these axes, so that what is beside them has room?"""
    engine = ax.figure.get_layout_engine()
    return ax.get_subplotspec() is not None and isinstance(engine, ConstrainedLayoutEngine | TightLayoutEngine)


def _right_of(ax: Any, needed: float) -> float:
    """The pixel up to which there is room to the right of axes that stay where they are.

    needed: points that other axes there need for what is on their left.
    """
    own, edge = ax.get_window_extent(), float(ax.figure.bbox.x1)
    for other in ax.figure.axes:
        box = other.get_window_extent()
        if box.x0 >= own.x1 - 1 and box.y0 < own.y1 and box.y1 > own.y0:
            edge = min(edge, float(box.x0) - needed * ax.figure.dpi / 72)
    return edge


def width_of(ax: Any) -> float:
    """How wide the axes and all around them may be, in pixels: their share of the figure."""
    spec, figure = ax.get_subplotspec(), ax.figure
    if spec is None:
        return float(ax.get_window_extent().width)
    edges = spec.get_topmost_subplotspec().get_gridspec().get_subplot_params(figure)
    return float(figure.bbox.width * min(1.0, spec.get_position(figure).width / (edges.right - edges.left)))


def letters_across(ax: Any, size: float) -> int:
    """How many letters of this size, in points, are about as wide as the axes and all around them."""
    return int(width_of(ax) * 72 / ax.figure.dpi / (0.58 * size))


def title(ax: Any, text: str) -> None:
    """A title above the axes."""
    ax.set_title(wrapped(ax, text))


def wrapped(ax: Any, text: str) -> str:
    """A title on as many lines as it needs where the axes are narrow; on two at most where nothing makes room."""
    size = SETTINGS["axes.titlesize"]
    if laid_out(ax):
        letters, most = letters_across(ax, size) - 8, 5  # less what is on the left of the axes
    else:
        across = _right_of(ax, 8.0) - ax.get_window_extent().x0
        letters, most = int(across * 72 / ax.figure.dpi / (0.58 * size)), 2
    lines = [part for line in text.split("\n") for part in textwrap.wrap(line, max(16, letters)) or [""]]
    if len(lines) > most:
        lines[most - 1 :] = [f"{lines[most - 1]} …"]
    return "\n".join(lines)


def label_below(ax: Any, text: str) -> None:
    """The name of the horizontal axis, on more lines where it is narrow; shortened where nothing makes room."""
    size = SETTINGS["axes.labelsize"]
    if laid_out(ax):
        text = "\n".join(textwrap.wrap(text, max(12, int(0.55 * letters_across(ax, size)))))
    else:
        letters = max(8, int(ax.get_window_extent().width * 72 / ax.figure.dpi / (0.58 * size)))
        text = text if len(text) <= letters else _cut(text.split(" (")[0], letters)
    ax.set_xlabel(text)


def place_labels(
    ax: Any, names: Sequence[str], candidates: Sequence[np.ndarray], share: Callable[[int, np.ndarray], float],
    **font: Any,
) -> list[Any]:  # fmt: skip
    """Write names into the axes, each at the first of its candidate points where it overlaps no other.

    candidates[k]: points (m, 2) in data coordinates, the best first. share(k, points): how much of a name that covers
    these points lies where it should; it must be most. A name that fits nowhere is shortened, and at last left out.
    """
    ax.figure.figure.draw_without_rendering()  # a layout that is still to come would move everything
    frame = ax.get_window_extent()
    back, spots = (
        ax.transData.inverted(),
        np.stack(np.meshgrid(np.linspace(0, 1, 7), [0.2, 0.5, 0.8]), 2).reshape(-1, 2),
    )
    taken: list[Any] = []
    written: list[Any] = []
    for k, (name, points) in enumerate(zip(names, candidates, strict=True)):
        text = ax.text(0, 0, name, ha="center", va="center", color=INK, **font)
        for shown in dict.fromkeys(_cut(name, width) for width in (18, 11, 7)):
            text.set_text(shown)
            text.set_position((0.5 * sum(ax.get_xlim()), 0.5 * sum(ax.get_ylim())))
            box = text.get_window_extent().padded(1.5)
            low = ax.transData.transform(points) - [box.width / 2, box.height / 2]
            high = low + np.array([box.width, box.height])
            fits = (low >= frame.min).all(axis=1) & (high <= frame.max).all(axis=1)
            for other in taken:
                fits &= ~((low < other[1]).all(axis=1) & (high > other[0]).all(axis=1))
            for i in np.flatnonzero(fits):
                if share(k, back.transform(low[i] + spots * [box.width, box.height])) >= 0.7:
                    text.set_position(points[i])
                    taken.append((low[i], high[i]))
                    written.append(text)
                    break
            else:
                continue
            break
        else:
            text.remove()
    return written
