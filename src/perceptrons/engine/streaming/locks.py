"""Files that only one run writes: each under a name of its own first, and a lock where two would write the same."""

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
STALE = 60  # seconds since anything was written to a file that nobody holds
BUSY = (errno.EAGAIN, errno.EACCES)


def create(path: Path) -> tuple[BinaryIO, str]:
    """A new file beside another, to be renamed to it when it is whole: the file, open and held, and its name.

    Those that killed runs have left for the same path are removed.
    """
    _remove_stale(path)
    name = f"{path}.{secrets.token_hex(8)}{ENDING}"
    file = open(name, "x+b")  # noqa: SIM115 (the caller closes it)
    hold(file)
    return file, name


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """While the block runs, nobody else may enter it for this path; OSError if somebody is in it."""
    lock = Path(f"{path}.lock")
    file = _locked(lock)
    try:
        yield
    finally:
        if file is not None:
            lock.unlink(missing_ok=True)
            file.close()


def _locked(lock: Path) -> BinaryIO | None:
    """The lock file, held; None where there can be none: the writing itself will then say what is wrong."""
    while fcntl is not None:
        try:
            file = open(lock, "a+b")  # noqa: SIM115 (held until the end of the block)
        except OSError:
            return None
        if not hold(file):
            file.close()
            what = "another run is writing this file: wait until it ends, or give another name"
            raise OSError(errno.EBUSY, what, str(lock.with_suffix("")))
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(lock)):
                return file
        file.close()  # whoever held it has removed it meanwhile
    return None


def hold(file: BinaryIO | int) -> bool:
    """Lock an open file as long as it is open. False if another process has locked it."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # else a file system without locks
            return error.errno not in BUSY
    return True


def _remove_stale(path: Path) -> None:
    if fcntl is None:
        return
    with suppress(OSError):  # a folder that cannot be read, or files that others removed meanwhile
        for name in os.listdir(path.parent):
            if not (name.startswith(f"{path.name}.") and name.endswith(ENDING)):
                continue
            part = path.with_name(name)
            if part.is_file() and part.stat().st_mtime < time.time() - STALE:
                with part.open("r+b") as file:
                    if hold(file):
                        part.unlink()
