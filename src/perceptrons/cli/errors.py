"""What ends a command with exit code 2 instead of a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager


class BadInputError(Exception):
    """The user asked for what cannot be done; the text is the one line that says so."""


@contextmanager
def refusing(*kinds: type[Exception], about: object = None) -> Iterator[None]:
    """Turn these errors into refusals; only around calls whose errors are about what the user gave."""
    try:
        yield
    except kinds as error:
        raise BadInputError(f"{error}" if about is None else f"{about}: {error}") from error
