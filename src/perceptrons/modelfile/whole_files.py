"""Atomic writes: a file appears whole or not at all, also if the process is interrupted or killed."""

import errno
import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from perceptrons.engine.training.interrupts import Uninterrupted

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None

PREFIX = ".perceptrons-"  # of files that are being written
CHUNK_BYTES = 2**24  # written before Ctrl-C is answered
STALE_SECONDS = 60  # since the last write to a file without a lock
STALE_SECONDS_WITHOUT_LOCKS = 86_400  # on a system without file locks


def write_whole(path: Path, content: bytes, before: Path | None = None) -> None:
    """Write a temporary file and rename it: a reader sees the old file or the new one, never a part.

    The new file has the permissions of the old one. Ctrl-C comes before or after the renaming. A process that is killed
    leaves a hidden file, which the next process that writes to this folder removes. before: the new name of the old
    file, if it should stay.
    """
    remove_stale(path.parent)
    with Uninterrupted() as hold:
        handle, temporary = _create(path)
        try:
            with os.fdopen(handle, "wb") as file:
                if fcntl is not None:
                    with suppress(OSError):  # a file system without locks
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for begin in range(0, len(content), CHUNK_BYTES):
                    file.write(memoryview(content)[begin : begin + CHUNK_BYTES])
                    hold.let()
                file.flush()
                os.fsync(file.fileno())
                hold.let()
                if os.name == "posix":  # still locked, so that no other process removes it as stale
                    _rename(temporary, path, before)
            if os.name != "posix":  # Windows cannot rename an open file
                _rename(temporary, path, before)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def write_page(path: str | os.PathLike[str], page: str) -> None:
    """Write a page of HTML to a file atomically. A file of this name is replaced."""
    destination = Path(os.path.realpath(os.fsdecode(path)))  # a link is followed, not replaced
    if not destination.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist: create it first", str(destination.parent))
    if destination.exists() and not destination.is_file():
        raise IsADirectoryError(
            errno.EISDIR, "this is a folder or a device, not a regular file: give another name", str(destination)
        )
    write_whole(destination, page.encode())


def _rename(temporary: str, path: Path, before: Path | None) -> None:
    if before is not None and path.exists():
        os.replace(path, before)
    os.replace(temporary, path)


def _create(path: Path) -> tuple[int, str]:
    """Create a temporary file in the folder of another, with the permissions of that one or of any new file."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    temporary = str(path.parent / f"{PREFIX}{secrets.token_hex(8)}")
    try:
        permissions = stat.S_IMODE(path.stat().st_mode) & 0o777
    except FileNotFoundError:
        return os.open(temporary, flags, 0o666), temporary  # the umask removes some permissions
    handle = os.open(temporary, flags, permissions & 0o600)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, permissions)
    return handle, temporary


def remove_stale(folder: Path) -> None:
    """Remove temporary files that killed processes of this user have left in a folder."""
    age = STALE_SECONDS if fcntl is not None else STALE_SECONDS_WITHOUT_LOCKS
    oldest, user = time.time() - age, getattr(os, "getuid", lambda: None)()
    with suppress(OSError), os.scandir(folder) as entries:  # a folder that may be written to, but not read
        for entry in entries:
            if not entry.name.startswith(PREFIX):
                continue
            with suppress(OSError):  # another process may have removed it, or still be writing
                status = entry.stat(follow_symlinks=False)
                is_own = user is None or status.st_uid == user
                if stat.S_ISREG(status.st_mode) and is_own and status.st_mtime < oldest:
                    _remove_unless_locked(entry.path)


def _remove_unless_locked(path: str) -> None:
    handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(handle)
