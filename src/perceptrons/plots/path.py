"""Plots the path of the weights, update by update: in a plane, or as length and angle to a solution."""

from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from perceptrons.engine.wording import count
from perceptrons.linear import Perceptron
from perceptrons.plots import layout, style
from perceptrons.plots.model_facts import split_pipeline
from perceptrons.plots.updates import Updates, fitted_to
from perceptrons.theory import mistake_bound
from perceptrons.theory.examples import codes_among
from perceptrons.theory.model_bound import constant_of, falling_distance, join, refuse_parameters

FEW = 60  # updates that are drawn one by one
NUMBERED = 20  # updates whose numbers are written


class PathDisplay:
    """A plot of how the weights and their average moved, update by update.

    Two classes over two features: the weights as points of a plane. Always: the length of the weights (bias included)
    and their angle to a solution, and where the solution w* of the largest margin is known, the distance
    |w_k - rho w*|^2, which falls at every update: that is why the perceptron converges.

    Use it to see the convergence theorem at work, or what averaging does. Do not use it on large data, because the path
    has one point per update.

    Parameters
    ----------
    weights, averages : arrays of shape (n_updates + 1, n_weights)
        Weights and bias after every update, the start first, and the mean over the examples seen until the next.
    names : tuple of two str, optional
        The names of the two weights of a plane; the bias is then the third. Without names, the plane is not drawn.
    solution : array of shape (n_weights,), optional
        w*, of norm 1; by default, the angle is that to the last average.
    rho : float, optional
        The scale at which the distance to rho w* falls.

    Attributes
    ----------
    distances : array of shape (n_updates + 1,) or None
        |w_k - rho w*|^2.
    ax_, axes_, figure_ : the first axes, all of them, and the figure of the last `plot`

    Examples
    --------
    >>> from perceptrons.plots import PathDisplay
    >>> X, y = [[0.0, 2.0], [0.0, -2.0], [1.0, 2.0]], [1, 0, 1]
    >>> display = PathDisplay.from_data(X, y, shuffle=False).plot()
    >>> display.weights
    array([[0., 0., 0.],
           [0., 2., 1.]])
    """

    def __init__(
        self, weights: np.ndarray, averages: np.ndarray, *, names: tuple[str, str] | None = None, solution: Any = None,
        rho: float | None = None,
    ):  # fmt: skip
        self.weights, self.averages, self.names, self.rho = weights, averages, names, rho
        self.solution = None if solution is None else np.asarray(solution, np.float64).ravel()
        self.distances: np.ndarray | None = None
        if self.solution is not None and rho is not None:
            self.distances = ((weights - rho * self.solution) ** 2).sum(axis=1)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, max_seconds: float | None = 10.0
    ) -> "PathDisplay":
        """Replay the updates of a fitted model.

        Parameters
        ----------
        estimator : Perceptron, or a pipeline that ends with one
            Fitted with combine="vote", which keeps every update. Of a pipeline, the weights of the
            features that it makes.
        X, y : optional
            The training examples, to compute the solution with the largest margin, which is drawn if the data are
            separable. The distance to it is drawn if the theorem covers the training.
        max_seconds : float or None, default=10.0
            The time limit for computing it.

        Returns
        -------
        PathDisplay
        """
        before, estimator = split_pipeline(estimator)
        if before is not None and X is not None:
            X = before.transform(X)
        updates = Updates(estimator)
        weights, averages, t = [], [], 0.0
        sums: Any = 0.0
        constant = constant_of(estimator)
        for version in updates:
            now = join(version.w, version.b, constant).ravel()
            sums, t = sums + version.survived * now, t + version.survived
            weights.append(now)
            averages.append(sums / t if t else now)
        solution = rho = None
        if X is not None:
            solution, rho = _solution(estimator, X, y, max_seconds)
        plane = updates.start[0].shape == (1, 2)
        known = getattr(estimator, "feature_names_in_", ("x0", "x1"))
        return cls(
            np.array(weights),
            np.array(averages),
            names=(f"weight of {known[0]}", f"weight of {known[1]}") if plane else None,
            solution=solution,
            rho=rho,
        )

    @classmethod
    def from_data(cls, X: Any, y: Any, *, max_seconds: float | None = 10.0, **parameters: Any) -> "PathDisplay":
        """Fit a `Perceptron` that keeps every update, and replay it.

        Parameters
        ----------
        X, y : as in `Perceptron.fit`
        max_seconds : float or None, default=10.0
            The time limit for computing the solution with the largest margin.
        **parameters
            Parameters of the `Perceptron`; also `coef_init` and `intercept_init`, the initial weights.

        Returns
        -------
        PathDisplay
        """
        return cls.from_estimator(fitted_to(X, y, parameters), X, y, max_seconds=max_seconds)

    def plot(self, ax: Any = None) -> "PathDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            For two weights: one plane in it. Otherwise it is divided into panels. The axes to draw on; by default, a
            new figure is created.

        Returns
        -------
        self
        """
        with style.context(ax):
            if self.names is not None:
                self.figure_, self.ax_ = style.figure_and_axes(ax, (6.4, 4.4))
                self.axes_ = np.array([self.ax_])
                self._plane(self.ax_)
            else:
                self._curves(ax)
            layout.title(self.ax_, count(len(self.weights) - 1, "update"))
        return self

    def plot_curves(self, ax: Any = None) -> "PathDisplay":
        """Draw length, angle and distance by update, also where there is a plane; otherwise as `plot`."""
        with style.context(ax):
            self._curves(ax)
            layout.title(self.ax_, count(len(self.weights) - 1, "update"))
        return self

    def _plane(self, ax: Any) -> None:
        w, mean = self.weights[:, :2], self.averages[:, :2]
        few = len(w) - 1 <= FEW
        ax.axhline(0, color="#DDDDDD", lw=0.8, zorder=0)
        ax.axvline(0, color="#DDDDDD", lw=0.8, zorder=0)
        if self.solution is not None:
            self._ray(ax, w)
        look: dict[str, Any] = {"lw": 1.1, "marker": "o", "ms": 4.5} if few else {"lw": 0.7, "marker": ".", "ms": 2.0}
        ax.plot(w[:, 0], w[:, 1], color=style.COLOURS[0], label="weights after each update", zorder=2, **look)
        if few:
            _arrows(ax, w)
        if len(w) - 1 <= NUMBERED:
            _numbers(ax, w)
        ax.plot(
            mean[:, 0], mean[:, 1], color=style.COLOURS[1], lw=2.0, ls="-", marker="s" if few else "", ms=3.5,
            label="average so far", zorder=3,
        )  # fmt: skip
        ends = {"ls": "", "mec": style.INK, "mew": 1.2, "zorder": 4}
        ax.plot(*w[0], marker="o", ms=9, mfc="white", label="start", **ends)
        ax.plot(*w[-1], marker="*", ms=15, mfc=style.COLOURS[0], label="last weights", **ends)
        ax.plot(*mean[-1], marker="D", ms=8, mfc=style.COLOURS[1], label="last average", **ends)
        assert self.names is not None
        layout.label_below(ax, style.shorten(self.names[0], 40))
        ax.set_ylabel(style.shorten(self.names[1], 40))
        ax.margins(0.1)
        handles, labels = ax.get_legend_handles_labels()
        layout.legend_beside(ax, handles, labels)

    def _ray(self, ax: Any, w: np.ndarray) -> None:
        assert self.solution is not None
        direction = self.solution[:2]
        length = float(np.linalg.norm(direction))
        if length:
            end = 1.1 * float(np.linalg.norm(w, axis=1).max()) * direction / length
            look = {"color": style.COLOURS[2], "ls": "--", "lw": 1.5, "zorder": 1}
            ax.plot([0, end[0]], [0, end[1]], label="direction of the\nlargest margin", **look)

    def _curves(self, ax: Any) -> None:
        rows = 3 if self.distances is not None else 2
        self.figure_, grid = style.panels(ax, rows, 1, (6.4, 0.9 + 1.5 * rows), sharex=True)
        self.axes_, self.ax_ = grid[:, 0], grid[0, 0]
        k = np.arange(len(self.weights))
        mark = len(k) <= FEW
        goal = self.averages[-1] if self.solution is None else self.solution
        to = "the last average" if self.solution is None else "largest margin"
        for panel, value in ((self.axes_[0], _lengths), (self.axes_[1], lambda path: _angles(path, goal))):
            panel.plot(k, value(self.weights), color=style.COLOURS[0], lw=1.3, marker="o" * mark, ms=4, label="weights")
            average = {"color": style.COLOURS[1], "lw": 1.8, "marker": "s" * mark, "ms": 3.5, "ls": "--"}
            panel.plot(k, value(self.averages), label="average", **average)
        self.axes_[0].set_ylabel("length |w|")
        self.axes_[0].set_ylim(bottom=0)
        self.axes_[1].set_ylabel(f"angle to\n{to}")
        self.axes_[1].yaxis.set_major_formatter("{x:.4g}°")
        self.axes_[1].set_ylim(bottom=0)
        if self.distances is not None:
            self.axes_[2].plot(k, self.distances, color=style.COLOURS[2], lw=1.5, marker="^" * mark, ms=4)
            self.axes_[2].set_ylabel("|w − ρw*|²")
        self.figure_.align_ylabels(list(self.axes_))
        layout.legend_beside(self.ax_, *self.ax_.get_legend_handles_labels())
        self.axes_[-1].set_xlabel("update")
        self.axes_[-1].xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))


def _solution(model: Perceptron, X: Any, y: Any, max_seconds: float | None) -> tuple[np.ndarray | None, float | None]:
    """w* and rho as `theory.convergence` has them; None if the data are not known to be separable, or not covered."""
    if y is None:
        raise ValueError("X without y: give both to compute the solution, or neither.")
    bound = mistake_bound(
        X,
        codes_among(y, np.shape(X)[0], model._fitted().classes),
        fit_intercept=bool(model.fit_intercept),
        intercept_scaling=constant_of(model),
        max_seconds=max_seconds,
    )
    if not bound.separable or bound.deviation > 0:
        return None, None
    star, rho = falling_distance(bound, model.eta0)
    try:
        refuse_parameters(model, model._fitted())
    except ValueError:  # the theorem is about other updates: the distance to rho w* may rise
        return star.ravel(), None
    return star.ravel(), None if model.margin_ else rho


def _lengths(path: np.ndarray) -> np.ndarray:
    return np.linalg.norm(path, axis=1)


def _angles(path: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Degrees between each row and the goal; NaN for rows of zeros, which have no direction."""
    lengths = _lengths(path) * float(np.linalg.norm(goal))
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(lengths > 0, path @ goal / lengths, np.nan)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def _arrows(ax: Any, w: np.ndarray) -> None:
    """The direction of every step, at its middle."""
    step = np.diff(w, axis=0)
    middle = w[:-1] + 0.45 * step
    for (x, y), (dx, dy) in zip(middle, step, strict=True):
        look = {
            "arrowstyle": "-|>",
            "color": style.COLOURS[0],
            "lw": 0,
            "mutation_scale": 9,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate("", xy=(x + 0.1 * dx, y + 0.1 * dy), xytext=(x, y), arrowprops=look, zorder=2)


def _numbers(ax: Any, w: np.ndarray) -> None:
    """The numbers of updates beside the weights, where there is room for them; the later of two is left out."""
    size = np.maximum(np.ptp(w, axis=0), np.finfo(float).tiny)
    written: list[np.ndarray] = []
    for k, point in enumerate(w):
        if all((np.abs(point - other) > [0.09, 0.06] * size).any() for other in written):
            look = {"textcoords": "offset points", "xytext": (5, 5), "fontsize": 8, "color": style.INK, "zorder": 5}
            ax.annotate(str(k), point, **look)
            written.append(point)
