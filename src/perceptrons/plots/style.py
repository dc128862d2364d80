"""How all pictures look: colours and markers that are told apart without colour, sizes, and names that fit.

Nothing here changes matplotlib's settings for others: figures are made inside `context()`.
"""

import io
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.path import Path

# Okabe and Ito (2008), safe for the colour-blind; dark and light in turn, so that neighbours differ in grey too
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8C6BB1", "#B8A800", "#4D4D4D", "#999999")
TALL, FLAT, SAND, BOW = (
    Path(np.array([*corners, corners[0]], float), closed=True)
    for corners in (
        [(-0.5, -1), (0.5, -1), (0.5, 1), (-0.5, 1)],
        [(-1, -0.5), (1, -0.5), (1, 0.5), (-1, 0.5)],
        [(-1, -1), (1, -1), (-1, 1), (1, 1)],
        [(-1, -1), (-1, 1), (1, -1), (1, 1)],
    )
)
CUP, CAP = Path.wedge(180, 360), Path.wedge(0, 180)
MARKERS: tuple[Any, ...] = (
    "o", "s", "^", "D", "v", "P", "X", "*", "<", ">", TALL, FLAT, SAND, BOW, CUP, CAP, "p", "d", (4, 1, 0), (6, 1, 0),
)  # fmt: skip
SMALL = {"*": 1.7, (4, 1, 0): 2.4, (6, 1, 0): 2.0, "P": 1.3, "X": 1.3, "d": 1.3}  # these look smaller than they are
WRONG = "#D55E00"  # mistakes, always with a hatch or a cross as well
RIGHT = "#0072B2"
INK = "#222222"
PALE = "#6E6E6E"
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
HATCH = "////"
WIDEST = 0.45  # of the place of the axes may be the legend's

SETTINGS: Any = {
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.fontsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titlelocation": "left",
    "axes.formatter.useoffset": False,
    "axes.grid": False,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "perceptrons",
    "svg.fonttype": "path",
}
UNDATED = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@contextmanager
def context() -> Iterator[None]:
    """The settings of our pictures, for as long as they are drawn."""
    with matplotlib.rc_context(SETTINGS):
        yield


def picture(figure: Any, format: str = "png", dpi: float = 100) -> bytes:
    """A figure as the bytes of a file, the same from run to run: no date, no random names inside.

    The figure's layout is settled by it and stays as it is.

    When to use it: for pictures that are kept under version control or compared. When not: `figure.savefig` does for
    all others.

    Parameters
    ----------
    figure : matplotlib Figure
        For example `display.figure_`.
    format : {"png", "svg", "pdf"}, default="png"
    dpi : float, default=100
        Of a PNG.

    Returns
    -------
    bytes

    Examples
    --------
    >>> from perceptrons.plots import LossesDisplay, picture
    >>> figure = LossesDisplay.from_losses().plot().figure_
    >>> picture(figure)[1:4], picture(figure, "svg") == picture(figure, "svg")
    (b'PNG', True)
    """
    if format not in UNDATED:
        raise ValueError(f"format={format!r}: give 'png', 'svg' or 'pdf'.")
    buffer = io.BytesIO()
    with context():
        if figure.get_layout_engine() is not None:
            for _ in range(2):  # every drawing would move things a little, by ever less
                figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figure.savefig(buffer, format=format, dpi=dpi, metadata=UNDATED[format])
    return buffer.getvalue()


def colour(k: int) -> str:
    """The colour of class k."""
    return COLOURS[k % len(COLOURS)]


def marker(k: int) -> Any:
    """The marker of class k: its own for up to 20 classes."""
    return MARKERS[k % len(MARKERS)]


def area(k: int) -> float:
    """How much larger the marker of class k must be to look as large as a disc."""
    kind = marker(k)
    return SMALL.get(kind, 1.0) if isinstance(kind, str | tuple) else 1.5


def tint(k: int, share: float = 0.22) -> tuple[float, float, float]:
    """The colour of class k, pale: that of its region."""
    r, g, b = (1 - share * (1 - part) for part in to_rgb(colour(k)))
    return r, g, b


def shorten(name: Any, at_most: int = 22) -> str:
    """A name on one line, its middle left out if it is longer."""
    text = " ".join(str(name).split()) or repr(str(name))
    text = text.replace("$", r"\$")  # a dollar would begin mathematics
    if len(text) <= at_most:
        return text
    front = at_most // 2
    return f"{text[:front]}…{text[len(text) - (at_most - 1 - front) :]}"


def number(value: float) -> str:
    """A number for a title or a legend: four digits, the minus sign of print."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "\N{MINUS SIGN}")
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def counted(n: int, thing: str) -> str:
    """'1 mistake', '2,000 mistakes'."""
    return f"{n:,} {thing}" + "s" * (n != 1)


def figure_and_axes(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """The axes given and their figure, or a new figure of this size in inches with one pair of axes."""
    if ax is not None:
        ax.spines[["top", "right"]].set_visible(False)  # as in axes of our own
        return ax.figure, ax
    return plt.subplots(figsize=size, layout="constrained")


def panels(
    ax: Any, rows: int, columns: int, size: tuple[float, float], *, sharex: bool = False, heights: Any = None
) -> tuple[Any, np.ndarray]:
    """A grid of axes: in a new figure of this size, or in place of the axes given, which are hidden."""
    if ax is None:
        figure = plt.figure(figsize=size, layout="constrained")
        grid = figure.add_gridspec(rows, columns, height_ratios=heights)
    else:
        figure, place = ax.figure, ax.get_subplotspec()
        if place is None:
            raise ValueError("These axes have no place in a grid to divide: give axes of plt.subplots, or ax=None.")
        ax.set_axis_off()
        grid = place.subgridspec(rows, columns, height_ratios=heights)
    axes = np.empty((rows, columns), object)
    for r in range(rows):
        for c in range(columns):
            axes[r, c] = figure.add_subplot(grid[r, c], sharex=axes[0, c] if sharex and r else None)
            if sharex and r < rows - 1:
                axes[r, c].tick_params(labelbottom=False)
    return figure, axes


def legend_beside(ax: Any, handles: Sequence[Any], labels: Sequence[str], most: int = 12) -> Any:
    """A legend to the right of the axes, in as many columns as it needs; smaller, or none, where that is too wide."""
    figure, room = ax.figure, WIDEST * width_of(ax)
    columns = max(1, -(-len(handles) // most))
    for size, width in ((9.0, 100), (7.5, 16), (6.5, 10)):
        legend = ax.legend(
            handles, [_cut(label, width) for label in labels], loc="upper left", bbox_to_anchor=(1.01, 1.0),
            ncols=columns, borderaxespad=0.0, handletextpad=0.5, columnspacing=1.0, fontsize=size,
        )  # fmt: skip
        if legend.get_window_extent(figure.canvas.get_renderer()).width <= room:
            return legend
    legend.remove()
    return None


def _cut(label: str, at_most: int) -> str:
    return label if "\n" in label else shorten(label.replace(r"\$", "$"), at_most)


def width_of(ax: Any) -> float:
    """How wide the axes and all around them may be, in pixels: their share of the figure."""
    spec, figure = ax.get_subplotspec(), ax.figure
    if spec is None:
        return float(ax.get_window_extent().width)
    edges = spec.get_gridspec().get_subplot_params(figure)
    return float(figure.bbox.width * min(1.0, spec.get_position(figure).width / (edges.right - edges.left)))


def letters_across(ax: Any, size: float) -> int:
    """How many letters of this size, in points, are about as wide as the axes and all around them."""
    return int(width_of(ax) * 72 / ax.figure.dpi / (0.58 * size))


def title(ax: Any, text: str) -> None:
    """A title above the axes, on as many lines as it needs where they are narrow."""
    letters = max(16, letters_across(ax, SETTINGS["axes.titlesize"]) - 8)  # what is on the left of the axes
    ax.set_title("\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, letters) or [""]))


def place_labels(
    ax: Any, names: Sequence[str], candidates: Sequence[np.ndarray], share: Callable[[int, np.ndarray], float],
    **font: Any,
) -> list[Any]:  # fmt: skip
    """Write names into the axes, each at the first of its candidate points where it overlaps no other.

    candidates[k]: points (m, 2) in data coordinates, the best first. share(k, points): how much of a name that covers
    these points lies where it should; it must be most. A name that fits nowhere is shortened, and at last left out.
    """
    figure = ax.figure
    figure.draw_without_rendering()  # a layout that is still to come would move everything
    renderer, frame = figure.canvas.get_renderer(), ax.get_window_extent()
    back, spots = (
        ax.transData.inverted(),
        np.stack(np.meshgrid(np.linspace(0, 1, 7), [0.2, 0.5, 0.8]), 2).reshape(-1, 2),
    )
    taken: list[Any] = []
    written: list[Any] = []
    for k, (name, points) in enumerate(zip(names, candidates, strict=True)):
        text = ax.text(0, 0, name, ha="center", va="center", **font)
        for shown in dict.fromkeys(_cut(name, width) for width in (18, 11, 7)):
            text.set_text(shown)
            text.set_position((0.5 * sum(ax.get_xlim()), 0.5 * sum(ax.get_ylim())))
            box = text.get_window_extent(renderer).padded(1.5)
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


def thinned(n: int, at_most: int, always: np.ndarray | None = None) -> np.ndarray:
    """Which of n points to draw: all, or `at_most` by a fixed seed; those of `always` too, if they are few."""
    if n <= at_most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    wanted = np.flatnonzero(always) if always is not None else np.empty(0, np.intp)
    if len(wanted) > at_most // 10:  # enough of them will be drawn
        return np.sort(rng.choice(n, at_most, replace=False))
    rest = np.setdiff1d(np.arange(n), wanted, assume_unique=True)
    return np.sort(np.concatenate([wanted, rng.choice(rest, at_most - len(wanted), replace=False)]))
