"""Animates the decision boundary after every update, as GIF, MP4, or an HTML page with a slider."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from perceptrons.inspection.html import escaped
from perceptrons.inspection.wording import count
from perceptrons.linear import Perceptron
from perceptrons.plots import layout, style
from perceptrons.plots.animation_page import page
from perceptrons.plots.model_facts import as_dense, feature_names, rows_of
from perceptrons.plots.plane import around
from perceptrons.plots.updates import Frame, Updates, fitted_to, frames_of
from perceptrons.theory.examples import codes_among

MOST_POINTS = 1500


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
        names: tuple[str, str] = ("x0", "x1"), positive_at_zero: bool = False,
    ):  # fmt: skip
        self.frames, self.updates, self.classes = frames, updates, np.asarray(classes)
        self.names, self.positive_at_zero = names, positive_at_zero
        met = [frame.example for frame in frames if frame.example is not None]
        every = np.concatenate([points, np.array(met).reshape(-1, 2)])
        self.box = np.array([around(every[:, i], 2) for i in (0, 1)])
        shown = style.thinned(len(points), MOST_POINTS)
        self.points, self.codes, self.n_examples = points[shown], codes[shown], len(points)

    @classmethod
    def from_estimator(cls, estimator: Perceptron, X: Any, y: Any, *, most_frames: int = 200) -> "BoundaryAnimation":
        """Replay a fitted model.

        Parameters
        ----------
        estimator : Perceptron
            A model with two features, fitted with combine="vote", which keeps every update.
        X, y : the examples to draw, usually the training examples
        most_frames : int, default=200
            The maximum number of frames. If there were more updates, this many are chosen evenly, including the first
            and the last.

        Returns
        -------
        BoundaryAnimation
        """
        if isinstance(most_frames, bool) or not isinstance(most_frames, int | np.integer) or most_frames < 2:
            raise ValueError(f"most_frames={most_frames!r}: give a whole number of at least 2.")
        updates = Updates(estimator)
        d = updates.start[0].shape[1]
        if d != 2:
            raise ValueError(
                f"The model has {d} feature{'s' * (d != 1)}, but the animation needs two: use PathDisplay instead."
            )
        rows = rows_of(X)
        codes = codes_among(y, rows.shape[0], updates.classes)
        names = feature_names(estimator, X) or ["x0", "x1"]
        return cls(
            frames_of(updates, estimator.zero_score == "positive", int(most_frames)),
            len(updates),
            updates.classes,
            as_dense(rows).astype(np.float64),
            codes,
            names=(names[0], names[1]),
            positive_at_zero=estimator.zero_score == "positive",
        )

    @classmethod
    def from_data(cls, X: Any, y: Any, *, most_frames: int = 200, **parameters: Any) -> "BoundaryAnimation":
        """Fit a `Perceptron` that keeps every update, and replay it.

        Parameters
        ----------
        X, y : as in `Perceptron.fit`, of two features
        most_frames : int, default=200
        **parameters
            Parameters of the `Perceptron`.

        Returns
        -------
        BoundaryAnimation
        """
        return cls.from_estimator(fitted_to(X, y, parameters), X, y, most_frames=most_frames)

    @property
    def labels(self) -> list[str]:
        return [style.shorten(label, 18) for label in self.classes.tolist()]

    @property
    def _size(self) -> tuple[float, float]:
        return (6.4 if len(self.classes) <= 12 else 8.4, 4.4)

    def regions(self, frame: Frame) -> list[np.ndarray]:
        """The region of every class in a frame, as the corners of a polygon; beyond the box, which hides its sides."""
        margin = 0.05 * np.ptp(self.box, axis=1)[:, None] * [[-1.0, 1.0]]
        return polygons(frame.w, frame.b, self.box + margin, positive_at_zero=self.positive_at_zero)

    def note(self) -> str:
        """What is left out, if anything."""
        parts = []
        if len(self.frames) <= self.updates:
            parts.append(f"{len(self.frames):,} of {self.updates + 1:,} versions shown")
        if len(self.points) < self.n_examples:
            parts.append(f"{len(self.points):,} of {self.n_examples:,} examples drawn")
        return "; ".join(parts)

    def draw(self, frame: int = -1, ax: Any = None) -> Any:
        """Draw one frame, the last unless told otherwise, and return the axes."""
        if not -len(self.frames) <= frame < len(self.frames):
            raise ValueError(f"There is no frame {frame}: there are {len(self.frames)} frames, numbered from 0.")
        with style.context(ax):
            _, ax = style.figure_and_axes(ax, self._size)
            self._move(self._stage(ax), self.frames[frame])
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
        kind = Path(path).suffix.lower()
        if kind not in (".gif", ".mp4", ".html"):
            raise ValueError(f"{str(path)!r} is not the name of an animation: use .gif, .mp4 or .html.")
        if fps is not None and not (isinstance(fps, int | float | np.number) and 0.1 <= fps <= 60):
            raise ValueError(f"fps={fps!r}: give 0.1 to 60 frames per second.")
        speed = float(np.clip(len(self.frames) / 15, 2, 12)) if fps is None else float(fps)
        if kind == ".html":
            Path(path).write_text(self.html(fps=speed), encoding="utf-8", newline="\n")
            return
        if kind == ".mp4" and not FFMpegWriter.isAvailable():
            raise RuntimeError(
                "MP4 needs the program ffmpeg, which was not found: install it (apt, brew or conda install ffmpeg), "
                "or save as .gif or .html."
            )
        with style.context():
            figure = Figure(figsize=self._size, dpi=dpi, layout="constrained")
            canvas, stage = FigureCanvasAgg(figure), self._stage(figure.add_subplot())
            self._move(stage, self.frames[-1])
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # nothing but the boundary is to move
            if kind == ".gif":
                self._save_gif(Path(path), canvas, stage, speed)
                return
            writer = FFMpegWriter(fps=speed, codec="h264", bitrate=1800)  # type: ignore[arg-type]  # fractions work
            with writer.saving(figure, str(path), dpi):
                for frame in self.frames:
                    self._move(stage, frame)
                    writer.grab_frame()

    def _save_gif(self, path: Path, canvas: FigureCanvasAgg, stage: tuple[Any, Any, Any], fps: float) -> None:
        """By one palette for all frames, which is several times as fast as one for each."""
        images: list[Any] = []
        palette: Any = None
        for frame in reversed(self.frames):  # the last has most colours
            self._move(stage, frame)
            canvas.draw()
            image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
            palette = _palette(image) if not images else palette
            images.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
        images.reverse()
        rest, wait = images[1:], round(1000 / fps)
        images[0].save(path, save_all=True, append_images=rest, duration=wait, loop=0, optimize=False)

    def html(self, *, fps: float | None = None) -> str:
        """Return the HTML page that `save` writes, without external resources."""
        speed = float(np.clip(len(self.frames) / 15, 2, 12)) if fps is None else float(fps)
        labels = self.labels
        frames = [
            (self.regions(frame), frame.example, frame.true, f"{frame.text(self.updates, labels)}.", frame.mistakes)
            for frame in self.frames
        ]
        return page(frames, labels, self.points, self.codes, self.box, self.names, self.note(), speed)

    def _repr_html_(self) -> str:
        frame = (
            'style="width:100%;max-width:700px;height:640px;border:0" title="The decision boundary, update by update"'
        )
        return f'<iframe srcdoc="{escaped(self.html())}" {frame}></iframe>'

    def _stage(self, ax: Any) -> tuple[Any, Any, Any]:
        """What stays in all frames, and the parts that move."""
        areas = PolyCollection([], edgecolors=style.INK, linewidths=1.3, zorder=0)
        ax.add_collection(areas, autolim=False)
        handles = style.scatter_classes(ax, self.points, self.codes, self.labels, 30)
        ring = ax.scatter([], [], s=170, facecolors="none", edgecolors=style.INK, linewidths=2.0, zorder=4)
        handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec=style.INK, mew=2, ms=10, label="its example"))
        ax.set_xlim(*self.box[0])
        ax.set_ylim(*self.box[1])
        if 0.5 <= np.ptp(self.box[0]) / np.ptp(self.box[1]) <= 2:
            ax.set_aspect("equal")
        layout.label_below(ax, style.shorten(self.names[0], 40))
        ax.set_ylabel(style.shorten(self.names[1], 40))
        layout.legend_beside(ax, handles, [handle.get_label() for handle in handles])
        return areas, ring, ax.set_title("")

    def _move(self, stage: tuple[Any, Any, Any], frame: Frame) -> None:
        areas, ring, title = stage
        regions = [(k, region) for k, region in enumerate(self.regions(frame)) if len(region)]
        areas.set_verts([region for _, region in regions])
        areas.set_facecolors([style.tint(k) for k, _ in regions])
        ring.set_offsets(np.empty((0, 2)) if frame.example is None else frame.example[None])
        note = f"; {self.note()}" if self.note() else ""
        said = frame.text(self.updates, [style.shorten(label, 12) for label in self.labels])
        mistakes = count(frame.mistakes, "mistake")
        title.set_text(layout.wrapped(title.axes, f"{said}\n{mistakes} so far{note}"))


def _palette(image: Any) -> Any:
    """256 colours of an image, paper white among them."""
    few = image.quantize(256, dither=Image.Dither.NONE)
    colours = np.array(few.getpalette()).reshape(-1, 3)
    colours[colours.min(axis=1) >= 248] = 255  # Pillow seeks the nearest by the first six bits only
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.vstack([colours[:255], [[255, 255, 255]]]).astype(int).ravel().tolist())
    return palette


def polygons(w: np.ndarray, b: np.ndarray, box: np.ndarray, *, positive_at_zero: bool = False) -> list[np.ndarray]:
    """For every class the corners (m, 2) of its region within a box; no corner where it has none there.

    w (rows, 2), b (rows,): one row for two classes, else one row per class; ties go to the first class, with one row to
    the
    second under positive_at_zero.  box: (low, high) of each feature, (2, 2).
    """
    w, b = np.asarray(w, np.float64), np.asarray(b, np.float64)
    if len(w) == 1:
        w, b = np.vstack([np.zeros_like(w), w]), np.hstack([0.0, b])
    (left, right), (low, high) = box
    corners = np.array([(left, low), (right, low), (right, high), (left, high)])
    found = []
    for k in range(len(w)):
        region = corners
        for rival in range(len(w)):
            if rival != k and len(region):
                wins_ties = (k < rival) != positive_at_zero
                region = _clipped(region, w[k] - w[rival], b[k] - b[rival], wins_ties)
        found.append(region)
    return found


def _clipped(region: np.ndarray, w: np.ndarray, b: float, wins_ties: bool) -> np.ndarray:
    """The part of a convex polygon where w·x + b >= 0 (Sutherland and Hodgman 1974)."""
    s = region @ w + b
    if not w.any():
        keeps = s[0] > 0 or (s[0] == 0 and wins_ties)
        return region if keeps else region[:0]
    if (s >= 0).all():
        return region
    corners = []
    for i in range(len(region)):
        here, there = s[i - 1], s[i]
        if (here >= 0) != (there >= 0):
            share = here / (here - there)
            corners.append(region[i - 1] + share * (region[i] - region[i - 1]))
        if there >= 0:
            corners.append(region[i])
    return np.array(corners) if len(corners) > 2 else region[:0]
