"""Displays in the axes of others: on any backend, in any figure, nothing is cut off, collapses or cannot be read."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_ps import FigureCanvasPS
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure

from perceptrons import KernelPerceptron, Perceptron
from perceptrons import plots as p
from tests.images import clusters
from tests.plots.test_plots_images import overlapping, texts

X, Y = clusters(2, 40, 3.5)
Y = np.array(["ant", "bee"])[Y]
MODEL = Perceptron(max_iter=20).fit(X, Y)
DISPLAYS = {
    "boundary": lambda: p.BoundaryDisplay.from_estimator(MODEL, X, Y, resolution=40),
    "history": lambda: p.HistoryDisplay.from_estimator(MODEL, bound=4000),
    "margins": lambda: p.MarginsDisplay.from_estimator(MODEL, X, Y),
    "curves": lambda: p.CurvesDisplay.from_estimator(MODEL, X, Y),
    "path": lambda: p.PathDisplay.from_data(X, Y, max_iter=2),
    "losses": p.LossesDisplay.from_losses,
}


def legends(figure):
    return [ax.get_legend() for ax in figure.axes if ax.get_legend() is not None]


def grey(colour):
    return np.dot([0.2126, 0.7152, 0.0722], to_rgb(colour))


@pytest.mark.parametrize("canvas", [None, FigureCanvasSVG, FigureCanvasPdf, FigureCanvasPS])
@pytest.mark.parametrize("name", DISPLAYS)
def test_a_plain_figure_and_backends_that_draw_no_pixels_will_do(name, canvas):
    figure = Figure(layout="constrained")
    if canvas is not None:
        canvas(figure)
    display = DISPLAYS[name]().plot(ax=figure.add_subplot())
    assert display.figure_ is figure
    assert legends(figure)


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_figure_inside_a_figure_will_do(name):
    whole = plt.figure(figsize=(12, 5), layout="constrained")
    left, right = whole.subfigures(1, 2)
    display = DISPLAYS[name]().plot(ax=right.subplots())
    assert display.figure_ is right
    whole.draw_without_rendering()
    assert all(right.bbox.x0 <= ax.get_window_extent().x0 for ax in right.axes)
    assert left.axes == []


@pytest.mark.parametrize("name", DISPLAYS)
@pytest.mark.parametrize("columns", [1, 2])
def test_a_legend_where_nothing_makes_room_is_neither_cut_off_nor_over_other_axes(name, columns):
    figure, axes = plt.subplots(1, columns, squeeze=False, figsize=(4.8 * columns, 3.6))
    display = DISPLAYS[name]().plot(ax=axes[0, 0])
    figure.draw_without_rendering()
    for legend in legends(figure):
        box = legend.get_window_extent()
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y0 >= -1
        if columns == 2:
            assert box.x1 <= axes[0, 1].get_window_extent().x0
    assert display.figure_ is figure


def test_a_legend_for_which_there_is_no_room_is_left_out():
    figure, axes = plt.subplots(4, 4, figsize=(5, 5))
    p.LossesDisplay.from_losses().plot(ax=axes[1, 1])
    assert legends(figure) == []


@pytest.mark.parametrize(("rows", "size"), [(1, (10, 3.5)), (2, (12, 7))])
def test_panels_of_a_grid_do_not_collapse_and_their_texts_do_not_overlap(rows, size):
    figure, axes = plt.subplots(rows, 3, figsize=size, layout="constrained")
    for row in axes.reshape(rows, 3):
        for name, ax in zip(("history", "margins", "boundary"), row, strict=True):
            DISPLAYS[name]().plot(ax=ax)
    for _ in range(2):
        figure.draw_without_rendering()
    panels = [ax for ax in figure.axes if ax.axison]
    assert min(ax.get_window_extent().width for ax in panels) > 0.15 * figure.bbox.width
    assert overlapping(texts(figure)) == []


def test_titles_and_names_that_are_too_long_where_nothing_makes_room_are_shortened():
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.5))
    display = DISPLAYS["margins"]().plot(ax=axes[1])
    assert display.ax_.get_title(loc="left").count("\n") == 1
    assert display.axes_[1].get_xlabel() == "margin"
    assert display.figure_ is figure


@pytest.mark.parametrize("name", DISPLAYS)
def test_letters_on_a_dark_figure_are_light_and_what_is_drawn_is_on_white(name):
    with plt.style.context("dark_background"):
        figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    display = DISPLAYS[name]().plot(ax=ax)
    for panel in display.axes_ if hasattr(display, "axes_") else [display.ax_]:
        assert to_rgba(panel.get_facecolor()) == (1, 1, 1, 1)
        outside = [panel.xaxis.label, panel.yaxis.label, panel._left_title, *panel.get_xticklabels()]
        assert min(grey(text.get_color()) for text in outside) > 0.8
    for legend in legends(figure):
        assert legend.get_frame_on()
        paper = grey(legend.get_frame().get_facecolor())
        assert all(abs(paper - grey(text.get_color())) > 0.6 for text in legend.get_texts())


@pytest.mark.parametrize("how", [{}, {"image_shape": (1, 2)}])
def test_the_title_of_the_figure_stays_as_it_is(how):
    figure, ax = plt.subplots(layout="constrained")
    figure.suptitle("mine")
    display = p.WeightsDisplay(np.eye(2)[:1], ["a", "b"], note="averaged weights").plot(ax=ax, **how)
    assert figure.get_suptitle() == "mine"
    titles = display.ax_.get_title(loc="left") + display.ax_.get_title(loc="center")
    assert titles.startswith("averaged weights")


def test_light_figures_keep_the_colour_of_their_axes():
    figure, ax = plt.subplots(facecolor="white")
    ax.set_facecolor("#EEEEEE")
    p.LossesDisplay.from_losses().plot(ax=ax)
    assert to_rgba(ax.get_facecolor()) == to_rgba("#EEEEEE")
    assert legends(figure)


def test_support_examples_are_ringed_in_axes_of_others_too():
    figure, ax = plt.subplots()
    model = KernelPerceptron(max_iter=2).fit(X, Y)
    display = p.BoundaryDisplay.from_estimator(model, X, Y, resolution=30).plot(ax=ax)
    ringed = next(c for c in ax.collections if c.get_zorder() == 3.5).get_offsets()
    assert len(ringed) == display.support.sum() > 0
    assert display.figure_ is figure
