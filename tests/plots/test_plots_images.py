"""Pictures look as they did: compared with those in tests/images, which `python -m tests.images` draws anew."""

import numpy as np
import pytest
from matplotlib.text import Text

from perceptrons import plots as p
from tests import images
from tests.images import PICTURES, clusters, difference, drawn, kept, plt, tolerances


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_looks_as_it_did_and_no_two_texts_in_it_overlap(name, monkeypatch):
    found = []
    inside = images.inside
    monkeypatch.setattr(images, "inside", lambda figure: found.append(texts(figure)) or inside(figure))
    now = drawn(name)
    for new, old, most in zip(now, kept(name), tolerances(name), strict=True):
        assert difference(new, old) <= most
    assert overlapping(found[0]) == []


def texts(figure):
    """The texts that are drawn, with their boxes in pixels, and the size of the figure."""
    met, draw = {}, Text.draw

    def noted(self, *arguments, **more):
        met[id(self)] = self
        return draw(self, *arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", noted)
        figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    visible = [text for text in met.values() if text.get_visible() and text.get_text().strip()]
    boxes = [(text.get_text(), *text.get_window_extent(renderer).extents) for text in visible]
    return figure.bbox.width, figure.bbox.height, boxes


def overlapping(found):
    """Pairs of texts that overlap by more than a pixel, and texts that are cut off by the edge of the figure."""
    width, height, boxes = found
    wrong = [t for t, x0, y0, x1, y1 in boxes if x0 < -1 or y0 < -1 or x1 > width + 1 or y1 > height + 1]
    for i, (one, a0, b0, a1, b1) in enumerate(boxes):
        for other, c0, d0, c1, d1 in boxes[i + 1 :]:
            if min(a1, c1) - max(a0, c0) > 1 and min(b1, d1) - max(b0, d0) > 1:
                wrong.append((one, other))
    return wrong


def test_a_wrong_picture_is_found_out():
    X, y = clusters(3, 40, 3.2)
    names = np.array(["class 0", "class 1", "class 2"])

    def boundary(labels, classes, **how):
        model = images.rosenblatt(combine="last", max_iter=20).fit(X, labels)
        return p.BoundaryDisplay.from_estimator(model, X, classes, resolution=120).plot(**how)

    _, known = kept("boundary-3")
    most = tolerances("boundary-3")[1]
    assert difference(images.inside(boundary(names[y], names[y]).figure_), known) <= most
    swapped = names[[1, 0, 2]][y]
    assert difference(images.inside(boundary(swapped, swapped).figure_), known) > most
    assert difference(images.inside(boundary(swapped, names[y]).figure_), known) > most  # the boundary of others
    assert difference(images.inside(boundary(names[y], names[y], mistakes=False).figure_), known) > most / 3
    shifted = boundary(names[y], names[y])
    shifted.ax_.set_xlim(*(np.array(shifted.ax_.get_xlim()) + 1))
    assert difference(images.inside(shifted.figure_), known) > most


def test_texts_that_overlap_or_are_cut_off_are_found():
    figure = plt.figure(figsize=(3, 2))
    figure.text(0.5, 0.5, "one")
    figure.text(0.52, 0.5, "two")
    figure.text(0.9, 0.1, "far out")
    assert overlapping(texts(figure)) == ["far out", ("one", "two")]


def test_pictures_that_are_not_of_one_size_are_different():
    assert difference(kept("losses")[0], kept("boundary-2")[0]) == np.inf


def test_every_picture_kept_is_drawn_by_a_test():
    assert {path.stem for path in images.FOLDER.glob("*.png")} == set(PICTURES)
    assert {path.stem for path in (images.FOLDER / "inside").glob("*.png")} == set(PICTURES)


@pytest.mark.parametrize(("name", "format"), [("boundary-20", "svg"), ("history-many", "png"), ("path-plane", "pdf")])
def test_the_same_picture_is_the_same_file_to_the_byte(name, format):
    first, second = (p.picture(PICTURES[name](), format) for _ in range(2))
    assert first == second
    assert len(first) > 1000
