"""Animates the decision boundary after every update, as GIF, MP4, or an HTML page with a slider."""

import pathlib
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.animation import FFMpegWriter, PillowWriter
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from perceptrons.engine.html import iframe
from perceptrons.engine.wording import count
from perceptrons.plots import style
from perceptrons.plots.boundary import grid_axis
from perceptrons.plots.model_facts import check_nonempty_rows, feature_names, split_pipeline, to_dense
from perceptrons.plots.pages import read_asset, template_environment
from perceptrons.plots.regions import (
    Rings,
    Surface,
    TransformedSurface,
    has_equal_scales,
    match_picture,
    smooth_views,
)
from perceptrons.plots.updates import Frame, Updates, fit_with_updates, frames_of_trace, frames_of_updates
from perceptrons.theory import Trace, trace
from perceptrons.theory.examples import codes_among

MAX_POINTS = 1500
DEFAULT_SECONDS = 15
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 480, 58, 632, 8, 432  # pixels of the page; the last four of the axes


class SettledLayout(ConstrainedLayoutEngine):
    """Keeps the axes where they are, so that nothing but the boundary moves from frame to frame."""

    def execute(self, fig: Figure) -> None:
        pass


class BoundaryAnimation:
    """An animation of the decision boundary of a `Perceptron` with two features, update by update.

    Use it to see, or show, how the perceptron learns. For more than two features, use `PathDisplay`. Of thousands of
    updates, only some are shown.

    Parameters
    ----------
    frames : list of Frame
    updates : int
        The number of updates; more than the frames show if some were left out.
    classes : array of shape (n_classes,)
    points, codes : arrays of shape (n_examples, 2) and (n_examples,)
        The examples and the numbers of their classes.
    names : tuple of two str, default=("x0", "x1")
    positive_at_zero : bool, default=False
        Whether a score of exactly 0 means the second of two classes.
    surface : Surface, optional
        How weights become regions of the plane, if the features are computed from the two that are drawn.

    Attributes
    ----------
    views : list of arrays of shape (2, 2)
        The view of every frame, as (low, high) of each feature: all examples, and always a part of the decision
        boundary. The view widens and narrows smoothly.

    Examples
    --------
    >>> from perceptrons.plots import BoundaryAnimation
    >>> X, y = [[0.0, 1.0], [0.0, 4.0], [1.0, 3.0]], ["low", "high", "high"]
    >>> film = BoundaryAnimation.from_data(X, y, shuffle=False)
    >>> [(frame.update, frame.mistakes) for frame in film.frames]
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    >>> film.save("film.html")  # doctest: +SKIP
    """

    def __init__(
        self, frames: list[Frame], updates: int, classes: Any, points: np.ndarray, codes: np.ndarray, *,
        names: tuple[str, str] = ("x0", "x1"), positive_at_zero: bool = False, surface: Surface | None = None,
    ):  # fmt: skip
        self.frames, self.updates, self.classes = frames, updates, np.asarray(classes)
        self.names, self.positive_at_zero = names, positive_at_zero
        visited = [frame.example for frame in frames if frame.example is not None]
        every = np.concatenate([points, np.array(visited).reshape(-1, 2)])
        self.surface = Surface(positive_at_zero) if surface is None else surface
        self.box = match_picture(np.array([grid_axis(every[:, i], 2) for i in (0, 1)]))
        self.views = smooth_views([self.surface.view(frame.w, frame.b, self.box) for frame in frames], self.box)
        shown = style.subsample(len(points), MAX_POINTS)
        self.points, self.codes, self.n_examples = points[shown], codes[shown], len(points)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, most_frames: int = 200) -> "BoundaryAnimation":
        """Replay a fitted model.

        Parameters
        ----------
        estimator : Perceptron, or a pipeline that ends with one
            A model with two features, fitted with combine="vote", which keeps every update. A pipeline may compute
            other features from the two: the animation shows the original plane.
        X, y : the examples to draw, usually the training examples
        most_frames : int, default=200
            The maximum number of frames. If there were more updates, this many are chosen evenly, including the first
            and the last.
        """
        _check_max_frames(most_frames)
        transformer, model = split_pipeline(estimator)
        updates = Updates(model)
        rows = check_nonempty_rows(X)
        d = updates.start[0].shape[1] if transformer is None else rows.shape[1]
        if d != 2:
            raise ValueError(
                f"The model has {d} feature{'s' * (d != 1)}, but the animation needs two: use PathDisplay instead."
            )
        codes = codes_among(y, rows.shape[0], updates.classes)
        x0, x1 = feature_names(estimator, X) or ["x0", "x1"]
        points, positive_at_zero = to_dense(rows).astype(np.float64), model.zero_score == "positive"
        surface = support_points = None
        if transformer is not None:

            def transform(points: np.ndarray) -> Any:
                return transformer.transform(type(X)(points, columns=X.columns) if hasattr(X, "iloc") else points)

            surface = TransformedSurface(transform, positive_at_zero)
            support_points = surface.original_points(updates.support, points)
        frames = frames_of_updates(updates, model, int(most_frames), support_points)
        return cls(
            frames, len(updates), updates.classes, points, codes, names=(x0, x1), positive_at_zero=positive_at_zero,
            surface=surface,
        )  # fmt: skip

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, most_frames: int = 200, every_visit: bool = False, **parameters: Any
    ) -> "BoundaryAnimation":
        """Fit a `Perceptron` that keeps every update, and replay it.

        Parameters
        ----------
        X, y : as in `Perceptron.fit`, of two features
        most_frames : int, default=200
        every_visit : bool, default=False
            Show examples that were right, too: one frame for every visit, at most `most_frames` from the first on.
        **parameters
            Parameters of the `Perceptron`; also `coef_init` and `intercept_init`, the initial weights.
        """
        _check_max_frames(most_frames)
        if every_visit:
            parameters = {"shuffle": True, "combine": "average", **parameters}
            return cls.from_trace(trace(X, y, visits=int(most_frames) - 1, **parameters), X, y)
        return cls.from_estimator(fit_with_updates(X, y, parameters), X, y, most_frames=most_frames)

    @classmethod
    def from_trace(cls, trace: Trace, X: Any, y: Any, *, most_frames: int = 200) -> "BoundaryAnimation":
        """The film of a trace: one frame for every visit, also of examples that were right.

        Parameters
        ----------
        trace : perceptrons.theory.Trace
            Of a linear model of two features.
        X, y : the examples to draw, usually those that were traced
        most_frames : int, default=200
            At most this many frames, from the first on.
        """
        _check_max_frames(most_frames)
        if len(trace.names) != 2 or trace.start.coef is None:
            raise ValueError(f"The trace is of {len(trace.names)} features or a kernel: the film is of two weights.")
        rows = check_nonempty_rows(X)
        codes, points = codes_among(y, rows.shape[0], trace.classes), to_dense(rows).astype(np.float64)
        return cls(
            frames_of_trace(trace, int(most_frames)), trace.updates, trace.classes, points, codes,
            names=(trace.names[0], trace.names[1]), positive_at_zero=trace.model.zero_score == "positive",
        )  # fmt: skip

    @property
    def labels(self) -> list[str]:
        return [style.shorten(label, 18) for label in self.classes.tolist()]

    @property
    def _size(self) -> tuple[float, float]:
        return (6.4 if len(self.classes) <= 12 else 8.4, 4.4)

    def regions(self, frame: Frame, view: np.ndarray | None = None) -> list[Rings]:
        """The region of every class in a frame: the corners of its outlines, and of holes in it, if there are any.

        view: what is shown, the box around the examples unless given; regions go beyond it, so that it hides their
        sides.
        """
        box = self.box if view is None else view
        return self.surface.regions(frame.w, frame.b, box + 0.05 * np.ptp(box, axis=1)[:, None] * [[-1.0, 1.0]])

    def note(self) -> str:
        """What is left out, if anything."""
        parts = []
        n_versions = len({frame.update for frame in self.frames})
        if n_versions <= self.updates:
            parts.append(f"{n_versions:,} of {self.updates + 1:,} versions shown")
        if len(self.points) < self.n_examples:
            parts.append(f"{len(self.points):,} of {self.n_examples:,} examples drawn")
        return "; ".join(parts)

    def draw(self, frame: int = -1, ax: Axes | None = None) -> Axes:
        """Draw one frame, by default the last, and return the axes."""
        if not -len(self.frames) <= frame < len(self.frames):
            raise ValueError(f"There is no frame {frame}: there are {len(self.frames)} frames, numbered from 0.")
        with style.style_context(ax):
            _, ax = style.get_axes(ax, self._size)
            self._draw_frame(ax, frame % len(self.frames))
        return ax

    def save(self, path: str | PathLike[str], *, fps: float | None = None, dpi: float = 100) -> None:
        """Write the animation to a file.

        Parameters
        ----------
        path : str or path
            Ends in .gif, .mp4 (needs ffmpeg) or .html (one page with a slider, which needs no network).
        fps : float, optional
            The number of frames per second; by default 2 to 12, for about 15 seconds.
        dpi : float, default=100
            Of GIF and MP4: the picture is 640 by 440 at 100; wider for more than 12 classes.
        """
        kind = pathlib.Path(path).suffix.lower()
        if kind not in (".gif", ".mp4", ".html"):
            raise ValueError(f"{str(path)!r} is not the name of an animation: use .gif, .mp4 or .html.")
        if fps is not None and not (isinstance(fps, int | float | np.number) and 0.1 <= fps <= 60):
            raise ValueError(f"fps={fps!r}: give 0.1 to 60 frames per second.")
        fps = self._default_fps() if fps is None else float(fps)
        if kind == ".html":
            pathlib.Path(path).write_text(self.html(fps=fps), encoding="utf-8", newline="\n")
            return
        if kind == ".mp4" and not FFMpegWriter.isAvailable():
            raise RuntimeError(
                "MP4 needs the program ffmpeg, which was not found: install it (apt, brew or conda install ffmpeg), "
                "or save as .gif or .html."
            )
        rate: Any = fps  # matplotlib says int, but fractions work
        writer = PillowWriter(fps=rate) if kind == ".gif" else FFMpegWriter(fps=rate, codec="h264", bitrate=1800)
        with style.style_context():
            figure = Figure(figsize=self._size, dpi=dpi, layout="constrained")
            FigureCanvasAgg(figure)
            ax = figure.add_subplot()
            longest_title = max(range(len(self.frames)), key=lambda number: len(self._title(number)))
            self._draw_frame(ax, longest_title)
            figure.draw_without_rendering()
            figure.set_layout_engine(SettledLayout())
            with writer.saving(figure, str(path), dpi):
                for number in range(len(self.frames)):
                    ax.clear()
                    self._draw_frame(ax, number)
                    writer.grab_frame()

    def html(self, *, fps: float | None = None) -> str:
        """Return the HTML page that `save` writes, without external resources."""
        labels = [_unescape(label) for label in self.labels]
        frames: list[dict[str, Any]] = []
        previous_ticks: list[list[Any]] = []
        for frame, view in zip(self.frames, self.views, strict=True):
            ticks = _ticks(view)
            frames.append({
                "r": [_svg_path(view, rings) for rings in self.regions(frame, view)],
                "e": _rounded_pixels(view, frame.example),
                "a": _rounded_pixels(view, self.surface.arrow(frame.w, frame.b, view)),
                "v": [float(f"{side:.8g}") for side in view.ravel()],
                "t": f"{frame.text(self.updates, labels)}. {count(frame.mistakes, 'mistake')} so far.",
                "n": frame.numbers(labels),
                "l": int(frame.is_update),
                **({} if ticks == previous_ticks else {"k": ticks}),
            })  # fmt: skip
            previous_ticks = ticks
        classes = [
            {
                "name": label, "marker": _marker_path(k), "color": style.class_color(k),
                "region_color": to_hex(style.region_color(k)),
            }
            for k, label in enumerate(labels)
        ]  # fmt: skip
        data = {
            "frames": frames, "classes": labels, "area": [LEFT, RIGHT, BOTTOM, TOP],
            "wait": round(1000 / (self._default_fps() if fps is None else float(fps))),
            "points": [[float(f"{x:.8g}"), float(f"{y:.8g}")] for x, y in self.points],
        }  # fmt: skip
        template = template_environment("perceptrons.plots").get_template("animation.html.jinja")
        return template.render(
            data=data, classes=classes, codes=self.codes.tolist(),
            note=self.note(), names=[_unescape(name) for name in self.names],
            style=read_asset("perceptrons.plots", "animation.css"),
            script=read_asset("perceptrons.plots", "animation.js"), ink=style.INK, pale_ink=style.PALE_INK, width=WIDTH,
            height=HEIGHT, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return iframe(self.html(), "The decision boundary, update by update", "max-width:700px;height:640px;border:0")

    def _default_fps(self) -> float:
        return float(np.clip(len(self.frames) / DEFAULT_SECONDS, 2, 12))

    def _draw_frame(self, ax: Axes, number: int) -> None:
        frame, view = self.frames[number], self.views[number]
        for k, rings in enumerate(self.regions(frame, view)):
            if rings:
                outline = Path.make_compound_path(*(Path(np.concatenate([ring, ring[:1]])) for ring in rings))
                ax.add_patch(PathPatch(outline, fc=style.region_color(k), ec=style.INK, lw=1.3, zorder=0))
        handles: list[Any] = style.scatter_classes(ax, self.points, self.codes, self.labels, 30)
        if frame.example is not None:
            line_style = "-" if frame.is_update else ":"
            x, y = frame.example
            ax.scatter(x, y, s=170, fc="none", ec=style.INK, lw=2.0, ls=line_style, zorder=4)
        handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec=style.INK, mew=2, ms=10, label="its example"))
        arrow = self.surface.arrow(frame.w, frame.b, view)
        if arrow is not None:
            options = {
                "arrowstyle": "-|>",
                "color": style.INK,
                "lw": 1.8,
                "mutation_scale": 14,
                "shrinkA": 0,
                "shrinkB": 0,
            }
            ax.annotate("", xy=arrow[1], xytext=arrow[0], arrowprops=options, zorder=5, annotation_clip=False)
        if len(self.classes) == 2:
            handles.append(Line2D([], [], ls="", marker=r"$\rightarrow$", color=style.INK, ms=12, label="w"))
        if has_equal_scales(self.box):
            ax.set_aspect("equal")
        ax.set(xlim=view[0], ylim=view[1], ylabel=style.shorten(self.names[1], 40))
        style.set_xlabel(ax, style.shorten(self.names[0], 40))
        style.add_legend(ax, handles)
        style.set_title(ax, self._title(number))

    def _title(self, number: int) -> str:
        frame, names = self.frames[number], [style.shorten(label, 12) for label in self.labels]
        text = f"{frame.text(self.updates, names)}; {count(frame.mistakes, 'mistake')} so far"
        return "\n".join(filter(None, [text, frame.numbers(names), self.note()]))


def _check_max_frames(most_frames: Any) -> None:
    if isinstance(most_frames, bool) or not isinstance(most_frames, int | np.integer) or most_frames < 2:
        raise ValueError(f"most_frames={most_frames!r}: give a whole number of at least 2.")


# ---- the HTML page


def _unescape(text: str) -> str:
    """Undo the escaping of dollars for matplotlib."""
    return text.replace(r"\$", "$")


def _to_pixels(view: np.ndarray, points: np.ndarray) -> np.ndarray:
    return [LEFT, BOTTOM] + [RIGHT - LEFT, TOP - BOTTOM] / np.ptp(view, axis=1) * (points - view[:, 0])


def _rounded_pixels(view: np.ndarray, points: np.ndarray | None) -> list[float] | None:
    return None if points is None else _to_pixels(view, points).round(1).ravel().tolist()


def _svg_path(view: np.ndarray, rings: Rings) -> str:
    corners = (_to_pixels(view, ring) for ring in rings)
    return "".join("M" + " ".join(f"{x:.1f},{y:.1f}" for x, y in ring) + "Z" for ring in corners)


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
                ticks.append([*_to_pixels(view, point).round(1).tolist(), "xy"[axis], text])
    return ticks
