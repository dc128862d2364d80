"""What every command says without rich: one line on stderr, JSON on stdout, labels as words."""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from perceptrons.engine.wording import short


class BadInputError(Exception):
    """Ends a command with a message on stderr and exit code 2."""


def visible(text: str) -> str:
    """Escape the control characters of a text as Python does; line breaks stay."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def plain(label: Any, at_most: int = 28) -> str:
    """Return a label or name for one line: control characters are escaped, and long ones are cut."""
    return short(str(label), at_most)


def label_word(label: Any) -> str:
    """Return a label, or several with commas, uncut, for programs."""
    return ",".join(plain(item, at_most=sys.maxsize) for item in (label if isinstance(label, list) else [label]))


def say(message: str) -> None:
    """Print one line on stderr."""
    print(visible(" ".join(message.splitlines())), file=sys.stderr, flush=True)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object on one line."""
    print(json.dumps(content, allow_nan=False))


@contextmanager
def saying_warnings(speak: Callable[[str], None] = say, quiet: bool = False) -> Iterator[None]:
    """Print warnings of the library as one line on stderr; those of Python and NumPy, which would be bugs, stay."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\w+ stopped at max_iter=")  # commands say themselves why training stopped
        if quiet:
            warnings.simplefilter("ignore", UserWarning)
        show_before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, UserWarning):
                speak(str(message))
            else:
                show_before(message, category, *where, **more)

        warnings.showwarning = show
        yield
