"""A display drawn, turned into the bytes of a file and forgotten: for pages that hold their pictures inside."""

import warnings
from typing import Any

import matplotlib.pyplot as plt

from perceptrons.plots.style import picture

LARGEST = 120_000  # bytes; a drawing of more strokes than that is smaller, and shown faster, as pixels
SHARP = 160  # dots an inch


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
