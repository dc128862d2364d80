"""Animates the decision boundary after every update, as GIF, MP4, or an HTML page with a slider."""

import pathlib
import textwrap
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from PIL import Image

from perceptrons.engine.html import escaped
from perceptrons.engine.wording import count
from perceptrons.plots import layout, style
from perceptrons.plots.animation_page import Scene, page
from perceptrons.plots.model_facts import as_dense, as_given, feature_names, rows_of, split_pipeline
from perceptrons.plots.plane import around
from perceptrons.plots.updates import Frame, Updates, fitted_to, frames_of, frames_of_trace
from perceptrons.plots.views import Mapped, Rings, Straight, Surface, arrow, framed, one_scale, steady
from perceptrons.theory import Trace, trace
from perceptrons.theory.examples import codes_among

MOST_POINTS = 1500
WIDEST = 76  # letters of a line above the picture


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
        met = [frame.example for frame in frames if frame.example is not None]
        every = np.concatenate([points, np.array(met).reshape(-1, 2)])
        self.surface = Straight(positive_at_zero) if surface is None else surface
        self.box = framed(np.array([around(every[:, i], 2) for i in (0, 1)]))
        self.views = steady([self.surface.needed(frame.w, frame.b, self.box) for frame in frames], self.box)
        shown = style.thinned(len(points), MOST_POINTS)
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

        Returns
        -------
        BoundaryAnimation
        """
        _check_frames(most_frames)
        before, model = split_pipeline(estimator)
        updates = Updates(model)
        rows = rows_of(X)
        d = updates.start[0].shape[1] if before is None else rows.shape[1]
        if d != 2:
            raise ValueError(
                f"The model has {d} feature{'s' * (d != 1)}, but the animation needs two: use PathDisplay instead."
            )
        codes = codes_among(y, rows.shape[0], updates.classes)
        names = feature_names(estimator, X) or ["x0", "x1"]
        points, at_zero = as_dense(rows).astype(np.float64), model.zero_score == "positive"
        mapped = None if before is None else Mapped(lambda grid: before.transform(as_given(grid, X)), at_zero)
        origins = None if mapped is None else mapped.origins(updates.support, points)
        return cls(
            frames_of(updates, model, int(most_frames), origins),
            len(updates),
            updates.classes,
            points,
            codes,
            names=(names[0], names[1]),
            positive_at_zero=at_zero,
            surface=mapped,
        )

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

        Returns
        -------
        BoundaryAnimation
        """
        _check_frames(most_frames)
        if every_visit:
            told = {"shuffle": True, "combine": "average", **parameters}
            return cls.from_trace(trace(X, y, visits=int(most_frames) - 1, **told), X, y)
        return cls.from_estimator(fitted_to(X, y, parameters), X, y, most_frames=most_frames)

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

        Returns
        -------
        BoundaryAnimation
        """
        _check_frames(most_frames)
        if len(trace.names) != 2 or trace.start.coef is None:
            raise ValueError(f"The trace is of {len(trace.names)} features or a kernel: the film is of two weights.")
        rows = rows_of(X)
        at_zero = trace.model.zero_score == "positive"
        return cls(
            frames_of_trace(trace, int(most_frames)),
            trace.updates,
            trace.classes,
            as_dense(rows).astype(np.float64),
            codes_among(y, rows.shape[0], trace.classes),
            names=(trace.names[0], trace.names[1]),
            positive_at_zero=at_zero,
        )

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
        shown = self.box if view is None else view
        margin = 0.05 * np.ptp(shown, axis=1)[:, None] * [[-1.0, 1.0]]
        return self.surface.rings(frame.w, frame.b, shown + margin)

    def note(self) -> str:
        """What is left out, if anything."""
        parts = []
        shown = len({frame.update for frame in self.frames})
        if shown <= self.updates:
            parts.append(f"{shown:,} of {self.updates + 1:,} versions shown")
        if len(self.points) < self.n_examples:
            parts.append(f"{len(self.points):,} of {self.n_examples:,} examples drawn")
        return "; ".join(parts)

    def draw(self, frame: int = -1, ax: Any = None) -> Any:
        """Draw one frame, the last unless told otherwise, and return the axes."""
        if not -len(self.frames) <= frame < len(self.frames):
            raise ValueError(f"There is no frame {frame}: there are {len(self.frames)} frames, numbered from 0.")
        with style.context(ax):
            _, ax = style.figure_and_axes(ax, self._size)
            self._move(self._stage(ax), frame % len(self.frames))
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
        speed = float(np.clip(len(self.frames) / 15, 2, 12)) if fps is None else float(fps)
        if kind == ".html":
            pathlib.Path(path).write_text(self.html(fps=speed), encoding="utf-8", newline="\n")
            return
        if kind == ".mp4" and not FFMpegWriter.isAvailable():
            raise RuntimeError(
                "MP4 needs the program ffmpeg, which was not found: install it (apt, brew or conda install ffmpeg), "
                "or save as .gif or .html."
            )
        with style.context():
            figure = Figure(figsize=self._size, dpi=dpi, layout="constrained")
            canvas, stage = FigureCanvasAgg(figure), self._stage(figure.add_subplot())
            self._move(stage, len(self.frames) - 1)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # nothing but the boundary is to move
            if kind == ".gif":
                self._save_gif(pathlib.Path(path), canvas, stage, speed)
                return
            writer = FFMpegWriter(fps=speed, codec="h264", bitrate=1800)  # type: ignore[arg-type]  # fractions work
            with writer.saving(figure, str(path), dpi):
                for frame in range(len(self.frames)):
                    self._move(stage, frame)
                    writer.grab_frame()

    def _save_gif(self, path: pathlib.Path, canvas: FigureCanvasAgg, stage: tuple[Any, ...], fps: float) -> None:
        """By one palette for all frames, which is several times as fast as one for each."""
        images: list[Any] = []
        palette: Any = None
        for frame in reversed(range(len(self.frames))):  # the last has most colours
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
        scenes = [
            Scene(
                view,
                self.regions(frame, view),
                frame.example,
                arrow(self.surface, frame.w, frame.b, view),
                f"{frame.text(self.updates, labels)}. {count(frame.mistakes, 'mistake')} so far.",
                frame.numbers(labels),
                frame.learned,
            )
            for frame, view in zip(self.frames, self.views, strict=True)
        ]
        return page(scenes, labels, self.points, self.codes, self.names, self.note(), speed)

    def _repr_html_(self) -> str:
        frame = (
            'style="width:100%;max-width:700px;height:640px;border:0" title="The decision boundary, update by update"'
        )
        return f'<iframe srcdoc="{escaped(self.html())}" {frame}></iframe>'

    def _stage(self, ax: Any) -> tuple[Any, ...]:
        """What stays in all frames, and the parts that move."""
        areas = PathCollection([], edgecolors=style.INK, linewidths=1.3, zorder=0)
        ax.add_collection(areas, autolim=False)
        handles = style.scatter_classes(ax, self.points, self.codes, self.labels, 30)
        ring = ax.scatter([], [], s=170, facecolors="none", edgecolors=style.INK, linewidths=2.0, zorder=4)
        handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec=style.INK, mew=2, ms=10, label="its example"))
        look = {"arrowstyle": "-|>", "color": style.INK, "lw": 1.8, "mutation_scale": 14, "shrinkA": 0, "shrinkB": 0}
        pointer = ax.annotate("", xy=(0, 0), xytext=(0, 0), arrowprops=look, zorder=5, annotation_clip=False)
        if len(self.classes) == 2:
            handles.append(Line2D([], [], ls="", marker=r"$\rightarrow$", color=style.INK, ms=12, label="w"))
        if one_scale(self.box):
            ax.set_aspect("equal")
        ax.set_xlim(*self.box[0])
        ax.set_ylim(*self.box[1])
        layout.label_below(ax, style.shorten(self.names[0], 40))
        ax.set_ylabel(style.shorten(self.names[1], 40))
        layout.legend_beside(ax, handles, [handle.get_label() for handle in handles])
        return areas, ring, pointer, ax.set_title("")

    def _move(self, stage: tuple[Any, ...], number: int) -> None:
        areas, ring, pointer, title = stage
        frame, view = self.frames[number], self.views[number]
        title.axes.set_xlim(*view[0])
        title.axes.set_ylim(*view[1])
        regions = [(k, rings) for k, rings in enumerate(self.regions(frame, view)) if rings]
        areas.set_paths([Path.make_compound_path(*(Path(one, closed=False) for one in map(_closed, rings)))
                         for _, rings in regions])  # fmt: skip
        areas.set_facecolors([style.tint(k) for k, _ in regions])
        ring.set_offsets(np.empty((0, 2)) if frame.example is None else frame.example[None])
        ring.set_linestyle("-" if frame.learned else ":")
        ends = arrow(self.surface, frame.w, frame.b, view)
        pointer.set_visible(ends is not None)
        if ends is not None:
            pointer.xy = tuple(ends[1])
            pointer.set_position(tuple(ends[0]))
        names = [style.shorten(label, 12) for label in self.labels]
        said = f"{frame.text(self.updates, names)}; {count(frame.mistakes, 'mistake')} so far"
        lines = [textwrap.fill(line, WIDEST) for line in (said, frame.numbers(names), self.note()) if line]
        title.set_text(layout.wrapped(title.axes, "\n".join(lines)))


def _closed(ring: np.ndarray) -> np.ndarray:
    """The corners, and the first again."""
    return np.concatenate([ring, ring[:1]])


def _check_frames(most_frames: Any) -> None:
    if isinstance(most_frames, bool) or not isinstance(most_frames, int | np.integer) or most_frames < 2:
        raise ValueError(f"most_frames={most_frames!r}: give a whole number of at least 2.")


def _palette(image: Any) -> Any:
    """256 colours of an image, paper white among them."""
    few = image.quantize(256, dither=Image.Dither.NONE)
    colours = np.array(few.getpalette()).reshape(-1, 3)
    colours[colours.min(axis=1) >= 248] = 255  # Pillow seeks the nearest by the first six bits only
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.vstack([colours[:255], [[255, 255, 255]]]).astype(int).ravel().tolist())
    return palette
