"""Files that only one run writes: each has a temporary name first, and a lock keeps other runs out."""

import errno
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows has none: names are still unique there
    fcntl = None

ENDING = ".part"
STALE_SECONDS = 60  # since anything was written to a file that no run holds


def create(path: Path) -> tuple[BinaryIO, str]:
    """Return a new file, open and locked, and its name. It stands beside `path`, to be renamed to it when complete.

    Files that killed runs have left for the same path are removed.
    """
    _remove_stale(path)
    name = f"{path}.{secrets.token_hex(8)}{ENDING}"
    file = open(name, "x+b")  # noqa: SIM115 (the caller closes it)
    hold(file)
    return file, name


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let no other run enter this block for the same path. Raise OSError if one is in it."""
    lock = Path(f"{path}.lock")
    file = _locked(lock)
    try:
        yield
    finally:
        if file is not None:
            lock.unlink(missing_ok=True)
            file.close()


def _locked(lock: Path) -> BinaryIO | None:
    """Return the lock file, locked. None if it cannot be created; writing the file itself will then raise the error."""
    while fcntl is not None:
        try:
            file = open(lock, "a+b")  # noqa: SIM115 (held until the end of the block)
        except OSError:
            return None
        if not hold(file):
            file.close()
            message = "another run is writing this file: wait until it ends, or give another name"
            raise OSError(errno.EBUSY, message, str(lock.with_suffix("")))
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(lock)):
                return file
        file.close()  # the run that held it has removed it meanwhile
    return None


def hold(file: BinaryIO | int) -> bool:
    """Lock an open file as long as it is open. Return False if another process has locked it."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # other errors: a file system without locks
            return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


def _remove_stale(path: Path) -> None:
    if fcntl is None:
        return
    with suppress(OSError):  # a folder that cannot be read, or files that others removed meanwhile
        for name in os.listdir(path.parent):
            part = path.with_name(name)
            if not (name.startswith(f"{path.name}.") and name.endswith(ENDING) and part.is_file()):
                continue
            if part.stat().st_mtime < time.time() - STALE_SECONDS:
                with part.open("r+b") as file:
                    if hold(file):
                        part.unlink()
