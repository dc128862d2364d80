"""Files that appear whole or not at all, whoever reads, interrupts or kills."""

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
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
AT_ONCE = 2**24  # bytes written before Ctrl-C is answered
STALE = 60  # seconds since anything was written to a file that nobody holds
STALE_UNHELD = 86_400  # the same where the system does not say who holds a file


def write_whole(path: Path, content: bytes, before: Path | None = None) -> None:
    """Write beside the file, then rename: a reader sees the old file or the new one, never a part.

    The new file may be read and written by whoever could the old one. Ctrl-C comes before or after the renaming. A
    process that is killed leaves a hidden file, which the next one that writes to this folder removes. before: what the
    old file is renamed to, if it is to be kept.
    """
    remove_stale(path.parent)
    with Uninterrupted() as hold:
        handle, temporary = _create(path)
        try:
            with os.fdopen(handle, "wb") as file:
                if fcntl is not None:
                    with suppress(OSError):  # a file system without locks
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for begin in range(0, len(content), AT_ONCE):
                    file.write(memoryview(content)[begin : begin + AT_ONCE])
                    hold.let()
                file.flush()
                os.fsync(file.fileno())
                hold.let()
                if os.name == "posix":  # still held, so that nobody takes it for stale
                    _rename(temporary, path, before)
            if os.name != "posix":  # Windows renames no open file
                _rename(temporary, path, before)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def write_page(path: str | os.PathLike[str], page: str) -> None:
    """Write a page of HTML to a file, whole or not at all; a file of that name is replaced."""
    where = Path(os.path.realpath(os.fsdecode(path)))  # a link is followed, not replaced
    if not where.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist: create it first", str(where.parent))
    if where.exists() and not where.is_file():
        raise IsADirectoryError(
            errno.EISDIR, "this is a folder or a device, not a regular file: give another name", str(where)
        )
    write_whole(where, page.encode())


def _rename(temporary: str, path: Path, before: Path | None) -> None:
    if before is not None and path.exists():
        os.replace(path, before)
    os.replace(temporary, path)


def _create(path: Path) -> tuple[int, str]:
    """A new file beside another, with the rights of that one, or those of any new file."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    temporary = str(path.parent / f"{PREFIX}{secrets.token_hex(8)}")
    try:
        rights = stat.S_IMODE(path.stat().st_mode) & 0o777
    except FileNotFoundError:
        return os.open(temporary, flags, 0o666), temporary  # less what the umask takes away
    handle = os.open(temporary, flags, rights & 0o600)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, rights)
    return handle, temporary


def remove_stale(folder: Path) -> None:
    """Remove what processes of this user that were killed have left in a folder."""
    for path in _left(folder):
        with suppress(OSError):  # another process may have removed it, or still be writing
            handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
            try:
                if fcntl is not None:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(handle)


def _left(folder: Path) -> Iterator[str]:
    """Hidden files of ours that have not been written to for a while."""
    oldest, user = time.time() - (STALE if fcntl is not None else STALE_UNHELD), getattr(os, "getuid", lambda: None)()
    with suppress(OSError), os.scandir(folder) as entries:  # a folder that may be written to, but not read
        for entry in entries:
            if not entry.name.startswith(PREFIX):
                continue
            with suppress(FileNotFoundError):
                found = entry.stat(follow_symlinks=False)
                mine = user is None or found.st_uid == user
                if stat.S_ISREG(found.st_mode) and mine and found.st_mtime < oldest:
                    yield entry.path
