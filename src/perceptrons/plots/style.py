"""Colours, markers, sizes, legends and titles of all plots.

Nothing here changes matplotlib's settings for others: figures are drawn inside `style_context()`.
"""

import io
import pathlib
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine, TightLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.path import Path

# Okabe and Ito (2008), safe for the colour-blind; dark and light in turn, so that neighbours differ in grey too
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8C6BB1", "#B8A800", "#4D4D4D", "#999999")
POLYGON_MARKERS = tuple(
    Path(np.array([*corners, corners[0]], float), closed=True)
    for corners in (
        [(-0.5, -1), (0.5, -1), (0.5, 1), (-0.5, 1)],
        [(-1, -0.5), (1, -0.5), (1, 0.5), (-1, 0.5)],
        [(-1, -1), (1, -1), (-1, 1), (1, 1)],
        [(-1, -1), (-1, 1), (1, -1), (1, 1)],
    )
)
MARKERS: tuple[Any, ...] = (
    "o", "s", "^", "D", "v", "P", "X", "*", "<", ">", *POLYGON_MARKERS, Path.wedge(180, 360), Path.wedge(0, 180), "p",
    "d", (4, 1, 0), (6, 1, 0),
)  # fmt: skip
MARKER_AREAS = {"*": 1.7, (4, 1, 0): 2.4, (6, 1, 0): 2.0, "P": 1.3, "X": 1.3, "d": 1.3}  # these look too small
MISTAKE_COLOR = "#D55E00"  # always with a hatch or a cross as well
CORRECT_COLOR = "#0072B2"
INK = "#222222"
PALE_INK = "#6E6E6E"
LINE_STYLES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
HATCH = "////"

SETTINGS: Any = matplotlib.rc_params_from_file(
    str(pathlib.Path(__file__).with_name("plots.mplstyle")), fail_on_error=True, use_default_template=False
)
TEXT_COLOR_SETTINGS = ("axes.labelcolor", "text.color", "xtick.color", "ytick.color")
METADATA_WITHOUT_DATES: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
MAX_SVG_BYTES = 120_000  # larger drawings are smaller, and shown faster, as pixels
PNG_DPI = 160
MAX_LEGEND_FRACTION = 0.45  # of the width of the axes' place in the figure
MAX_INNER_LEGEND_FRACTION = 0.6  # of the width and of the height of the axes
NARROW_PANEL_INCHES = 4.0
CHARACTER_WIDTH = 0.58  # of the font size
MAX_TITLE_CHARACTERS = 76  # of a line


class Drawable(Protocol):
    """Anything that can be drawn: `plot` returns an object with `figure_`."""

    def plot(self) -> Any: ...


class Display:
    """The base of our displays: `plot` sets the figure, all axes that it drew on, and the first of them."""

    figure_: Any  # a Figure or a SubFigure
    axes_: np.ndarray
    ax_: Axes

    @contextmanager
    def _single_axes(self, ax: Axes | None, size: tuple[float, float]) -> Iterator[Axes]:
        """Draw in our style on the given axes, or on those of a new figure of this size in inches."""
        with style_context(ax):
            self.figure_, self.ax_ = get_axes(ax, size)
            self.axes_ = np.array([self.ax_])
            yield self.ax_

    @contextmanager
    def _panels(
        self, ax: Axes | None, n_panels: int, size: tuple[float, float], heights: Sequence[float] | None = None
    ) -> Iterator[np.ndarray]:
        """Draw in our style on panels below each other with one horizontal axis, in place of the given axes if any."""
        with style_context(ax):
            self.figure_, grid = get_panels(ax, n_panels, 1, size, sharex=True, heights=heights)
            self.axes_, self.ax_ = grid[:, 0], grid[0, 0]
            yield self.axes_


# ---- settings and files


@contextmanager
def style_context(ax: Axes | None = None) -> Iterator[None]:
    """Use the settings of our plots; in axes of a dark figure, text keeps the figure's light colour."""
    text_color = INK if ax is None or not is_dark(ax.figure.figure.get_facecolor()) else ax.xaxis.label.get_color()
    with matplotlib.rc_context(SETTINGS | dict.fromkeys(TEXT_COLOR_SETTINGS, text_color)):
        yield


def is_dark(color: Any) -> bool:
    """Return whether text on this colour must be light. Transparent colours are not dark."""
    r, g, b, alpha = to_rgba(color)
    return alpha > 0 and 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.5


def picture(figure: Figure, format: str = "png", dpi: float = 100) -> bytes:
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

    Examples
    --------
    >>> from perceptrons.plots import LossesDisplay, picture
    >>> figure = LossesDisplay.from_losses().plot().figure_
    >>> picture(figure)[1:4], picture(figure, "svg") == picture(figure, "svg")
    (b'PNG', True)
    """
    if format not in METADATA_WITHOUT_DATES:
        raise ValueError(f"format={format!r}: give 'png', 'svg' or 'pdf'.")
    buffer = io.BytesIO()
    with style_context():
        if figure.get_layout_engine() is not None:
            for _ in range(2):  # every drawing would move things a little, by ever less
                figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figure.savefig(buffer, format=format, dpi=dpi, metadata=METADATA_WITHOUT_DATES[format])
    return buffer.getvalue()


def render(display: Drawable, *, max_width: float | None = None, **plot_options: Any) -> tuple[bytes, str]:
    """Plot a display and return the picture's bytes and media type: SVG, or PNG where that would be large.

    max_width: in inches; narrower pictures can be read on phones. The figure is closed. Characters that the font lacks
    are drawn as boxes, without a warning for each.
    """
    open_figures = set(plt.get_fignums())
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
            warnings.filterwarnings("ignore", "Matplotlib currently does not support")  # some scripts
            figure = display.plot(**plot_options).figure_
            width, height = figure.get_size_inches()
            if max_width is not None and width > max_width:
                figure.set_size_inches(max_width, height * (max_width / width) ** 0.5)  # letters keep their height
            content = picture(figure, "svg")
            if len(content) <= MAX_SVG_BYTES:
                return content, "image/svg+xml"
            return picture(figure, "png", PNG_DPI), "image/png"
    finally:
        for number in set(plt.get_fignums()) - open_figures:
            plt.close(number)


# ---- how classes look


def class_color(k: int) -> str:
    """Return the colour of class k. Colour and marker together are unique for up to 200 classes."""
    return COLORS[(k + k // len(MARKERS)) % len(COLORS)]


def class_marker(k: int) -> Any:
    """Return the marker of class k, unique for up to 20 classes."""
    return MARKERS[k % len(MARKERS)]


def class_marker_area(k: int) -> float:
    """Return how much larger the marker of class k must be to look as large as a disc."""
    marker = class_marker(k)
    return MARKER_AREAS.get(marker, 1.0) if isinstance(marker, str | tuple) else 1.5


def region_color(k: int, strength: float = 0.22) -> tuple[float, float, float]:
    """Return the pale colour of the region of class k."""
    r, g, b = (1 - strength * (1 - part) for part in to_rgb(class_color(k)))
    return r, g, b


def scatter_classes(
    ax: Axes, points: np.ndarray, codes: np.ndarray, labels: Sequence[str], size: float, show_absent: bool = True
) -> list[Artist]:
    """Draw examples in the colours and markers of their classes, and return the handles of the legend.

    show_absent: whether classes without examples have a handle.
    """
    handles: list[Artist] = []
    for k, label in enumerate(labels):
        color, marker, area = class_color(k), class_marker(k), class_marker_area(k)
        x, y = points[codes == k].T
        ax.scatter(x, y, s=size * area, c=color, marker=marker, edgecolors="white", linewidths=0.5, zorder=3)
        if len(x) or show_absent:
            handle = Line2D([], [], ms=6.5 * area**0.5, label=label, color=color, marker=marker, ls="")
            handle.set(markeredgecolor="white", markeredgewidth=0.5)
            handles.append(handle)
    return handles


def subsample(n: int, max_points: int, always: np.ndarray | None = None) -> np.ndarray:
    """Return which of n points to draw: all, or `max_points` by a fixed seed, with the few of `always`."""
    if n <= max_points:
        return np.arange(n)
    rng = np.random.default_rng(0)
    required = np.empty(0, np.intp) if always is None else np.flatnonzero(always)
    if len(required) > max_points // 10:  # a random choice has enough of them
        return np.sort(rng.choice(n, max_points, replace=False))
    optional = np.setdiff1d(np.arange(n), required, assume_unique=True)
    return np.sort(np.concatenate([required, rng.choice(optional, max_points - len(required), replace=False)]))


# ---- texts


def shorten(name: Any, max_length: int = 22) -> str:
    """Return a name on one line, without its middle if it is long, with dollars escaped for matplotlib."""
    text = (" ".join(str(name).split()) or repr(str(name))).replace("$", r"\$")
    if len(text) <= max_length:
        return text
    front = max_length // 2
    return f"{text[:front]}…{text[len(text) - (max_length - 1 - front) :]}"


def format_number(value: float) -> str:
    """Format a number for a title or a legend: three digits, and the minus sign of print."""
    text = f"{int(value):,}" if value == int(value) and abs(value) < 1e15 else f"{value:.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


# ---- axes


def get_axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Any, Axes]:
    """Return the figure and the given axes, or a new figure of this size in inches and its axes."""
    if ax is None:
        return plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    background = ax.get_facecolor()
    if is_dark(background) or (to_rgba(background)[3] == 0 and is_dark(ax.figure.figure.get_facecolor())):
        ax.set_facecolor("white")  # our inks are made for it
    return ax.figure, ax


def get_panels(
    ax: Axes | None,
    rows: int,
    columns: int,
    size: tuple[float, float],
    *,
    sharex: bool = False,
    heights: Sequence[float] | None = None,
) -> tuple[Any, np.ndarray]:
    """Return a figure and a grid of axes: in a new figure of this size, or in place of the given axes."""
    if ax is None:
        figure: Any = plt.figure(figsize=size, layout="constrained")
        grid: Any = figure.add_gridspec(rows, columns, height_ratios=heights)
    else:
        figure, spec = ax.figure, ax.get_subplotspec()
        if spec is None:
            raise ValueError(
                "These axes cannot be divided, because they are not in a grid: give axes of plt.subplots, or ax=None."
            )
        ax.set_axis_off()
        grid = spec.subgridspec(rows, columns, height_ratios=heights)
    return figure, grid.subplots(sharex="col" if sharex else False, squeeze=False)


def add_legend(ax: Axes, handles: Sequence[Artist] | None = None, max_rows: int = 12) -> Legend | None:
    """Add a legend right of the axes, in as many columns as it needs, if the figure makes room for it.

    Otherwise the legend lies inside the axes; where it does not fit there either, there is none.
    """
    if handles is None:
        handles, labels = ax.get_legend_handles_labels()
    else:
        labels = [str(handle.get_label()) for handle in handles]
    ax.apply_aspect()
    frame, room = ax.get_window_extent(), 0.0
    width = float(frame.width)
    if has_layout_engine(ax):
        spec, full_width = cast(SubplotSpec, ax.get_subplotspec()), available_width(ax)
        is_panel = spec != spec.get_topmost_subplotspec()  # panels that are narrow have no other room than their own
        if not (is_panel and full_width < NARROW_PANEL_INCHES * ax.figure.dpi):
            room = MAX_LEGEND_FRACTION * full_width
        width = min(width, 0.7 * full_width)
    opaque = {"frameon": True, "facecolor": "white", "edgecolor": "none", "labelcolor": INK}
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    if is_dark(ax.figure.figure.get_facecolor()):
        beside |= {**opaque, "framealpha": 1.0}
    inside: dict[str, Any] = {**opaque, "loc": "best", "framealpha": 0.8}
    inner_limits = (MAX_INNER_LEGEND_FRACTION * width, MAX_INNER_LEGEND_FRACTION * frame.height)
    for location, (max_width, max_height) in ((beside, (room, np.inf)), (inside, inner_limits)):
        for font_size, max_length in ((9.0, 100), (7.5, 16), (6.5, 10)):
            legend = ax.legend(
                handles, [_shorten_label(label, max_length) for label in labels], fontsize=font_size,
                ncols=max(1, -(-len(handles) // max_rows)), handletextpad=0.5, columnspacing=1.0, **location,
            )  # fmt: skip
            box = legend.get_window_extent()
            if box.width <= max_width and box.height <= max_height:
                return legend
    legend.remove()
    return None


def _shorten_label(label: str, max_length: int) -> str:
    return label if "\n" in label else shorten(label.replace(r"\$", "$"), max_length)


def has_layout_engine(ax: Axes) -> bool:
    """Return whether the figure moves these axes, so that there is room for what is beside them."""
    engine = ax.figure.get_layout_engine()
    return ax.get_subplotspec() is not None and isinstance(engine, ConstrainedLayoutEngine | TightLayoutEngine)


def available_width(ax: Axes) -> float:
    """Return the width of the axes, in pixels; where the figure moves them, with all texts around them."""
    spec, figure = ax.get_subplotspec(), ax.figure
    if spec is None or not has_layout_engine(ax):
        return float(ax.get_window_extent().width)
    edges: Any = spec.get_topmost_subplotspec().get_gridspec().get_subplot_params(figure)  # type: ignore[arg-type]
    fraction = spec.get_position(figure).width / (edges.right - edges.left)  # type: ignore[arg-type]
    return float(figure.bbox.width * min(1.0, fraction))


def characters_across(ax: Axes, font_size: float) -> int:
    """Return how many characters of this size, in points, fit across the available width."""
    return int(available_width(ax) * 72 / ax.figure.dpi / (CHARACTER_WIDTH * font_size))


def set_title(ax: Axes, text: str) -> None:
    """Set a title, wrapped where the axes are narrow: at five lines, or at two where nothing makes room."""
    n_characters, max_lines = characters_across(ax, SETTINGS["axes.titlesize"]), 2
    if has_layout_engine(ax):
        n_characters, max_lines = min(MAX_TITLE_CHARACTERS, n_characters - 8), 5  # 8 on the left of the axes
    lines = [part for line in text.split("\n") for part in textwrap.wrap(line, max(16, n_characters)) or [""]]
    if len(lines) > max_lines:
        lines[max_lines - 1 :] = [f"{lines[max_lines - 1]} …"]
    ax.set_title("\n".join(lines))


def set_xlabel(ax: Axes, text: str) -> None:
    """Set the name of the horizontal axis, wrapped where it is narrow, shortened where nothing makes room."""
    n_characters = characters_across(ax, SETTINGS["axes.labelsize"])
    if has_layout_engine(ax):
        text = "\n".join(textwrap.wrap(text, max(12, int(0.55 * n_characters))))
    elif len(text) > n_characters:
        text = _shorten_label(text.split(" (")[0], max(8, n_characters))
    ax.set_xlabel(text)
