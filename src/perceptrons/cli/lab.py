"""`perceptrons lab`: a page on which a neuron learns step by step, opened in the browser."""

import os
import sys
import webbrowser
from pathlib import Path
from typing import Any

from perceptrons.cli.errors import refusing
from perceptrons.cli.files import check_output, save_text
from perceptrons.cli.inputs import opened, whole
from perceptrons.cli.options import READING, takes
from perceptrons.cli.screen import Waiting, visible


@takes("data", "output:lab", "no_open", *READING, "quiet")
def lab(asked: Any) -> None:
    """Write a page on which a perceptron learns step by step, and open it in the browser.

    The page is one HTML file with everything inside, to try rules and data, and to hand out. With DATA it starts with
    these examples, in two features or two principal components; their units stay as they are.
    """
    check_output(asked.output, *(asked.data or []))
    with Waiting("Writing the page ...", shown=not asked.quiet):
        from perceptrons.lab import show

        page = show() if not asked.data else with_data(asked, show)
    save_text(page.html, asked.output)
    shown = not asked.no_open and can_open() and webbrowser.open(Path(asked.output).resolve().as_uri())
    if not asked.quiet:
        if page.note:
            print(page.note)
        size = f"{len(page.html.encode()) / 1e3:.0f} kB"
        what = "opened in your browser" if shown else "open it in a browser"
        print(f"{visible(str(asked.output))}: {size}, everything inside; {what}.")


def with_data(asked: Any, show: Any) -> Any:
    """The page of the examples in files."""
    from perceptrons.inspection.names import names_of_table

    reader = opened(asked.data, asked, scale="none")  # the page shows the numbers of DATA
    table = whole(reader)
    names, files = names_of_table(table), reader.files
    title = (
        Path(str(files[0])).name if len(files) == 1 else f"{len(files)} files"
    )  # the page may be handed out: no folders
    with refusing(ValueError, TypeError, about=asked.data[0]):
        return show(table.X, table.y, feature_names=names if isinstance(names, list) else None, title=title)


def can_open() -> bool:
    """Is somebody there, with a screen? A text browser would take the terminal over, so Linux needs a display."""
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        return False
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
