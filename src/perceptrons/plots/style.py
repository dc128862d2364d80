"""The style of all plots: colours, markers that can be distinguished without colour, sizes, and names that fit.

Nothing here changes the settings of matplotlib for others: figures are made inside `context()`.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.lines import Line2D
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
LETTERS = ("axes.labelcolor", "text.color", "xtick.color", "ytick.color")
UNDATED = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
LARGEST = 120_000  # bytes; a drawing of more strokes than that is smaller, and shown faster, as pixels
SHARP = 160  # dots an inch


@contextmanager
def context(ax: Any = None) -> Iterator[None]:
    """The settings of our pictures, for as long as they are drawn; in axes of a dark figure with its light letters."""
    letters = INK if ax is None or not dark(ax.figure.figure.get_facecolor()) else ax.xaxis.label.get_color()
    with matplotlib.rc_context(SETTINGS | dict.fromkeys(LETTERS, letters)):
        yield


def dark(colour: Any) -> bool:
    """Is this what light letters are written on?"""
    r, g, b, seen = to_rgba(colour)
    return seen > 0 and 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.5


def picture(figure: Any, format: str = "png", dpi: float = 100) -> bytes:
    """Return a figure as the bytes of a file, the same in every run: without dates or random names.

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
    """The colour of class k; with its marker its own for up to 200 classes."""
    return COLOURS[(k + k // len(MARKERS)) % len(COLOURS)]


def marker(k: int) -> Any:
    """The marker of class k: its own for up to 20 classes; then they come again, in other colours."""
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


def figure_and_axes(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """The axes given and their figure, or a new figure of this size in inches with one pair of axes."""
    if ax is not None:
        ax.spines[["top", "right"]].set_visible(False)  # as in axes of our own
        if dark(ax.get_facecolor()) or (to_rgba(ax.get_facecolor())[3] == 0 and dark(ax.figure.figure.get_facecolor())):
            ax.set_facecolor("white")  # what our inks and colours are made for
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
            raise ValueError(
                "These axes cannot be divided, because they are not in a grid: give axes of plt.subplots, or ax=None."
            )
        ax.set_axis_off()
        grid = place.subgridspec(rows, columns, height_ratios=heights)
    axes = np.empty((rows, columns), object)
    for r in range(rows):
        for c in range(columns):
            axes[r, c] = figure.add_subplot(grid[r, c], sharex=axes[0, c] if sharex and r else None)
            if sharex and r < rows - 1:
                axes[r, c].tick_params(labelbottom=False)
    return figure, axes


def scatter_classes(
    ax: Any, points: np.ndarray, codes: np.ndarray, labels: list[str], size: float, absent: bool = True
) -> list[Any]:
    """Draw examples in the colours and markers of their classes; returns a handle a class for the legend.

    absent: also for classes that no example is of.
    """
    handles: list[Any] = []
    for k, label in enumerate(labels):
        own = points[codes == k]
        look = {"c": colour(k), "marker": marker(k), "edgecolors": "white", "linewidths": 0.5}
        ax.scatter(own[:, 0], own[:, 1], s=size * area(k), zorder=3, **look)
        if len(own) or absent:
            look = {"color": colour(k), "marker": marker(k), "mec": "white", "mew": 0.5, "ls": ""}
            handles.append(Line2D([], [], ms=6.5 * area(k) ** 0.5, label=label, **look))
    return handles


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


def drawn(display: Any, *, width: float | None = None, **how: Any) -> tuple[bytes, str]:
    """The bytes of a picture and their media type: SVG, or PNG where that would be large. The figure is closed.

    width: in inches, at most; narrower pictures can be read on phones. how: for the display's `plot`. Characters that
    the font of the pictures does not have are drawn as boxes, without a warning for each.
    """
    before = set(plt.get_fignums())
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
            warnings.filterwarnings("ignore", "Matplotlib currently does not support")  # some scripts
            figure = display.plot(**how).figure_
            across, high = figure.get_size_inches()
            if width is not None and across > width:
                figure.set_size_inches(width, high * (width / across) ** 0.5)  # letters stay as high as they are
            content = picture(figure, "svg")
            if len(content) <= LARGEST:
                return content, "image/svg+xml"
            return picture(figure, "png", SHARP), "image/png"
    finally:
        for number in set(plt.get_fignums()) - before:
            plt.close(number)
