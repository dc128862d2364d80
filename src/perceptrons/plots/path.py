"""Plots the path of the weights, update by update: in a plane, or as length and angle to a solution."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.wording import count
from perceptrons.linear import Perceptron
from perceptrons.plots import style
from perceptrons.plots.model_facts import feature_names, split_pipeline
from perceptrons.plots.updates import Updates, fit_with_updates
from perceptrons.theory.bounds import falling_distance, join_bias, mistake_bound
from perceptrons.theory.examples import codes_among
from perceptrons.theory.model_bound import check_covered, constant_of

MAX_MARKED_UPDATES = 60  # more are drawn as a line without markers
MAX_NUMBERED_UPDATES = 20


class PathDisplay(style.Display):
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
        """
        transformer, model = split_pipeline(estimator)
        if transformer is not None and X is not None:
            X = transformer.transform(X)
        updates, constant = Updates(model), constant_of(model)
        versions = [(join_bias(version.w, version.b, constant).ravel(), version.n_survived) for version in updates]
        weights, n_survived = np.array([w for w, _ in versions]), np.array([n for _, n in versions])
        sums, n_seen = np.cumsum(n_survived[:, None] * weights, axis=0), np.cumsum(n_survived)[:, None]
        averages = np.divide(sums, n_seen, out=weights.astype(np.float64), where=n_seen > 0)
        solution, rho = (None, None) if X is None else _solution(model, X, y, max_seconds)
        names = None
        if updates.start[0].shape == (1, 2):
            x0, x1 = feature_names(model) or ["x0", "x1"]
            names = f"weight of {x0}", f"weight of {x1}"
        return cls(weights, averages, names=names, solution=solution, rho=rho)

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
        """
        return cls.from_estimator(fit_with_updates(X, y, parameters), X, y, max_seconds=max_seconds)

    def plot(self, ax: Axes | None = None) -> "PathDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            For two weights: one plane in it. Otherwise it is divided into panels. The axes to draw on; by default, a
            new figure is created.
        """
        if self.names is None:
            return self.plot_curves(ax)
        with self._single_axes(ax, (6.4, 4.4)) as ax:
            self._draw_plane(ax, self.names)
            style.set_title(ax, count(len(self.weights) - 1, "update"))
        return self

    def plot_curves(self, ax: Axes | None = None) -> "PathDisplay":
        """Draw length, angle and distance by update, also where there is a plane; otherwise as `plot`."""
        n_panels = 3 if self.distances is not None else 2
        with self._panels(ax, n_panels, (6.4, 0.9 + 1.5 * n_panels)):
            self._draw_curves()
            style.set_title(self.ax_, count(len(self.weights) - 1, "update"))
        return self

    def _draw_plane(self, ax: Axes, names: tuple[str, str]) -> None:
        w, average = self.weights[:, :2], self.averages[:, :2]
        n_updates = len(w) - 1
        is_marked = n_updates <= MAX_MARKED_UPDATES
        ax.axhline(0, color="#DDDDDD", lw=0.8, zorder=0)
        ax.axvline(0, color="#DDDDDD", lw=0.8, zorder=0)
        if self.solution is not None and np.any(self.solution[:2]):
            direction = self.solution[:2] / np.linalg.norm(self.solution[:2])
            end = 1.1 * float(np.linalg.norm(w, axis=1).max()) * direction
            label = "direction of the\nlargest margin"
            ax.plot([0, end[0]], [0, end[1]], color=style.COLORS[2], ls="--", lw=1.5, label=label, zorder=1)
        ax.plot(
            *w.T, color=style.COLORS[0], label="weights after each update", zorder=2, lw=1.1 if is_marked else 0.7,
            marker="o" if is_marked else ".", ms=4.5 if is_marked else 2.0,
        )  # fmt: skip
        if is_marked:
            _draw_arrows(ax, w)
        if n_updates <= MAX_NUMBERED_UPDATES:
            _draw_numbers(ax, w)
        marker = "s" if is_marked else ""
        ax.plot(*average.T, color=style.COLORS[1], lw=2.0, marker=marker, ms=3.5, label="average so far", zorder=3)
        for point, marker, size, color, label in (
            (w[0], "o", 9, "white", "start"),
            (w[-1], "*", 15, style.COLORS[0], "last weights"),
            (average[-1], "D", 8, style.COLORS[1], "last average"),
        ):
            ax.plot(*point, marker, ms=size, mfc=color, mec=style.INK, mew=1.2, label=label, zorder=4)
        style.set_xlabel(ax, style.shorten(names[0], 40))
        ax.set_ylabel(style.shorten(names[1], 40))
        ax.margins(0.1)
        style.add_legend(ax)

    def _draw_curves(self) -> None:
        k = np.arange(len(self.weights))
        is_marked = len(k) <= MAX_MARKED_UPDATES
        goal = self.averages[-1] if self.solution is None else self.solution
        length_panel, angle_panel = self.axes_[:2]
        for path, label, color, line_style, width, marker, size in (
            (self.weights, "weights", style.COLORS[0], "-", 1.3, "o", 4.0),
            (self.averages, "average", style.COLORS[1], "--", 1.8, "s", 3.5),
        ):
            options: dict[str, Any] = {"color": color, "ls": line_style, "lw": width, "ms": size, "label": label}
            options["marker"] = marker if is_marked else ""
            length_panel.plot(k, np.linalg.norm(path, axis=1), **options)
            angle_panel.plot(k, _angles(path, goal), **options)
        length_panel.set_ylabel("length |w|")
        length_panel.set_ylim(bottom=0)
        angle_panel.set_ylabel(f"angle to\n{'the last average' if self.solution is None else 'largest margin'}")
        angle_panel.set_ylim(bottom=0)
        angle_panel.yaxis.set_major_formatter("{x:.4g}°")
        if self.distances is not None:
            marker = "^" if is_marked else ""
            self.axes_[2].plot(k, self.distances, color=style.COLORS[2], lw=1.5, marker=marker, ms=4)
            self.axes_[2].set_ylabel("|w − ρw*|²")
        self.figure_.align_ylabels(list(self.axes_))
        style.add_legend(self.ax_)
        self.axes_[-1].set_xlabel("update")
        self.axes_[-1].xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))


def _solution(model: Perceptron, X: Any, y: Any, max_seconds: float | None) -> tuple[np.ndarray | None, float | None]:
    """Return w* and rho of `theory.convergence`: None if unknown, and without rho if the theorem does not apply."""
    if y is None:
        raise ValueError("X without y: give both to compute the solution, or neither.")
    bound = mistake_bound(
        X,
        codes_among(y, np.shape(X)[0], learner_of(model).classes),
        fit_intercept=bool(model.fit_intercept),
        intercept_scaling=constant_of(model),
        max_seconds=max_seconds,
    )
    if not bound.separable or bound.deviation > 0:
        return None, None
    solution, rho = falling_distance(bound, model.eta0)
    try:
        check_covered(model, learner_of(model))
    except ValueError:  # the theorem is about other updates: the distance to rho w* may rise
        return solution.ravel(), None
    return solution.ravel(), None if model.margin_ else rho


def _angles(path: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return the degrees between each row and the goal; NaN for rows of zeros, which have no direction."""
    lengths = np.linalg.norm(path, axis=1) * float(np.linalg.norm(goal))
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(lengths > 0, path @ goal / lengths, np.nan)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def _draw_arrows(ax: Axes, w: np.ndarray) -> None:
    """Draw the direction of every update at its middle."""
    options = {"arrowstyle": "-|>", "color": style.COLORS[0], "lw": 0, "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
    for start, step in zip(w[:-1], np.diff(w, axis=0), strict=True):
        ax.annotate("", xy=tuple(start + 0.55 * step), xytext=tuple(start + 0.45 * step), arrowprops=options, zorder=2)


def _draw_numbers(ax: Axes, w: np.ndarray) -> None:
    """Write the numbers of updates beside the weights; of two that are too close, only the earlier one."""
    spacing = np.array([0.09, 0.06]) * np.maximum(np.ptp(w, axis=0), np.finfo(float).tiny)
    numbered: list[np.ndarray] = []
    for k, point in enumerate(w):
        if all((np.abs(point - earlier) > spacing).any() for earlier in numbered):
            options: dict[str, Any] = {"fontsize": 8, "color": style.INK, "zorder": 5}
            ax.annotate(str(k), tuple(point), textcoords="offset points", xytext=(5, 5), **options)
            numbered.append(point)
