"""Errors that end a command with one line on stderr and exit code 2."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class BadInputError(Exception):
    """Ends a command with a message and exit code 2."""


@contextmanager
def refusing(*kinds: type[Exception], about: object = None) -> Iterator[None]:
    """Turn exceptions of these kinds into refusals. about: the start of the message."""
    try:
        yield
    except kinds as error:
        raise BadInputError(str(error) if about is None else f"{about}: {error}") from error


@contextmanager
def refusing_to_open(path: Path) -> Iterator[None]:
    """Turn the system's errors about a file into refusals that name it."""
    try:
        yield
    except OSError as error:
        raise BadInputError(f"{path}: {(error.strerror or str(error)).lower()}") from error


@contextmanager
def refusing_data() -> Iterator[None]:
    """Turn errors of data, caches, checkpoints and missing packages into refusals."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        reason = reason[:1].lower() + reason[1:]
        if error.filename is None and error.errno in FULL:
            reason += ": parsed data are kept in a temporary file in the folder TMPDIR: set TMPDIR to another folder"
        raise BadInputError(reason if error.filename is None else f"{error.filename}: {reason}") from error
    except (ValueError, ModuleNotFoundError) as error:
        raise BadInputError(str(error)) from error
