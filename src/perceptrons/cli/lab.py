"""`perceptrons lab`: a page on which a neuron learns step by step, opened in the browser."""

import os
import sys
import webbrowser
from pathlib import Path
from typing import Any

from perceptrons.cli.files import check_output, open_data, read_all, refusing, save_bytes
from perceptrons.cli.messages import visible
from perceptrons.cli.options import LabOptions
from perceptrons.cli.screen import Waiting
from perceptrons.inspection.weights import names_of_table
from perceptrons.lab import show


def lab(options: LabOptions) -> None:
    """Run `perceptrons lab`."""
    check_output(options.output, *(options.data or []))
    with Waiting("Writing the page ...", options):
        page = with_data(options.data, options) if options.data else show()
    content = page.html.encode()
    save_bytes(content, options.output)
    is_opened = not options.no_open and can_open() and webbrowser.open(Path(options.output).resolve().as_uri())
    if not options.quiet:
        if page.note:
            print(page.note)
        size = f"{len(content) / 1e3:.0f} kB"
        hint = "opened in your browser" if is_opened else "open it in a browser"
        print(f"{visible(str(options.output))}: {size}, everything inside; {hint}.")


def with_data(data: list[Path], options: LabOptions) -> Any:
    """Return the page of the examples in files."""
    reader = open_data(data, options, scale="none")  # the page shows the numbers of DATA
    table = read_all(reader)
    names, files = names_of_table(table), reader.files
    # the page may be handed out: no folders
    title = Path(str(files[0])).name if len(files) == 1 else f"{len(files)} files"
    with refusing(ValueError, TypeError, about=data[0]):
        return show(table.X, table.y, feature_names=names if isinstance(names, list) else None, title=title)


def can_open() -> bool:
    """Is there a user with a screen? On Linux without a display, a text browser would take over the terminal."""
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        return False
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
