"""The log of what was learned: frames with checksums, appended and synced before the request is answered.

A log is a folder of segments, each named after the position of its first frame. A frame is one group of requests. Its
checksum covers the frame and, as a chain, all frames before it, so nothing can be changed, dropped or reordered in
silence. A write that was cut short leaves a torn frame at the end of the last segment, which is removed when the log is
opened; anything else that does not fit is damage, which is refused.
"""

import errno
import os
import re
import struct
import zlib
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from perceptrons.engine.streaming.locks import hold

MAGIC = b"PCPTLOG1"
SEGMENT = struct.Struct("<8sQI")  # magic, position of the first frame, chain before it; then a checksum
MARK = b"PCPT"
FRAME = struct.Struct("<4sIQI")  # mark, length of the payload, version before, chain with this frame; then a checksum
CHECK = struct.Struct("<I")
SEGMENT_SIZE, FRAME_SIZE = SEGMENT.size + CHECK.size, FRAME.size + CHECK.size
WATERMARK = struct.Struct("<8sQIQ")  # magic, position after the last frame, chain, version; then a checksum
WATERMARK_MAGIC = b"PCPTMARK"
SEGMENT_SUFFIX = ".log"
MAX_PAYLOAD_BYTES = 2**31
SECTOR_BYTES = 512  # a disk writes a sector whole or not at all
O_BINARY = getattr(os, "O_BINARY", 0)  # Windows would otherwise write b"\r\n" for b"\n"
MAX_RECENT_BYTES = 2**24  # frames kept in memory for followers


class DamagedLogError(ValueError):
    """The log is not what was written. `offset` is where the damage in the file `path` begins."""

    def __init__(self, path: Path, offset: int, problem: str):
        super().__init__(
            f"{path}: the log is damaged at byte {offset:,} ({problem}). Nothing was changed. Restore the file from a "
            "backup or a follower, or set the damaged part aside with --repair, which loses what was learned from "
            "there on."
        )
        self.path, self.offset = path, offset


class Frame(NamedTuple):
    """One group of requests: its position, the number of examples learned before it, and what it holds."""

    position: int
    version: int
    chain: int
    payload: bytes

    @property
    def end(self) -> int:
        """The position after the frame."""
        return self.position + 1

    def encoded(self) -> bytes:
        """Return the frame as the log holds it and as followers get it."""
        return with_checksum(FRAME.pack(MARK, len(self.payload), self.version, self.chain)) + self.payload


class Start(NamedTuple):
    """The start of a log or a segment: the position of its first frame, and the chain before it."""

    position: int
    chain: int

    @property
    def end(self) -> int:
        """The position of the first frame."""
        return self.position


def next_frame(previous: Start | Frame, version: int, payload: bytes) -> Frame:
    """Return the frame that follows another one, or the start of a log."""
    if len(payload) >= MAX_PAYLOAD_BYTES:
        raise ValueError(f"A frame of {len(payload):,} bytes is too large for the log.")
    head = struct.pack("<IQ", len(payload), version)
    return Frame(previous.end, version, zlib.crc32(payload, zlib.crc32(head, previous.chain)), payload)


class Log:
    """A log that is open for appending. Only one process may have it open.

    sync: wait until the disk has what was appended. segment_bytes: start a new segment at this size.
    """

    def __init__(self, folder: Path, start: Start, sync: bool = True, segment_bytes: int = 2**26):
        self.folder, self.sync, self.segment_bytes = folder, sync, segment_bytes
        folder.mkdir(parents=True, exist_ok=True)
        self._handle, self._size = _open_newest(folder), 0
        for path in _all_segment_paths(folder)[-1:]:
            if _is_unfinished(path):  # a crash left it without a header, unless another server is creating it
                os.close(_open_locked(path))
                path.unlink()
        paths = segment_paths(folder)
        self.segments = [read_start(path).position for path in paths]  # replaced, not changed: other threads read it
        self.last: Start | Frame = _read_last_frame(paths[-1]) if paths else start
        self._closed_bytes = sum(path.stat().st_size for path in paths[:-1])
        self._recent: deque[Frame] = deque()
        self._recent_bytes = 0
        if self.segments:
            self._size = os.lseek(self._handle, 0, os.SEEK_END)
        else:
            self._start_segment()

    @property
    def position(self) -> int:
        """The number of frames ever appended."""
        return self.last.end

    @property
    def n_bytes(self) -> int:
        """The size of all segments."""
        return self._closed_bytes + self._size

    def append(self, frame: Frame) -> None:
        """Append a frame and wait until it is safe. If this raises OSError, nothing was appended.

        If the part that was written cannot be removed either, the log closes itself. Only a restart can use it
        again, because it checks what is really there.
        """
        if self._handle < 0:
            raise OSError(5, "the log could not be written and is closed: see to the disk and start the server again")
        if frame.position != self.position:
            raise ValueError(f"frame {frame.position} does not follow frame {self.position - 1}")
        if self._size > self.segment_bytes:
            self._start_segment()
        try:
            _write_all(self._handle, frame.encoded())
            if self.sync:
                getattr(os, "fdatasync", os.fsync)(self._handle)  # Windows and macOS have no fdatasync, which is faster
        except OSError:
            self._take_back()
            raise
        self._size += FRAME_SIZE + len(frame.payload)
        self._recent.append(frame)
        self._recent_bytes += len(frame.payload)
        while self._recent_bytes > MAX_RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= len(self._recent.popleft().payload)
        self.last = frame  # after the recent frames, as other threads read up to it

    def _take_back(self) -> None:
        try:
            os.ftruncate(self._handle, self._size)
            os.lseek(self._handle, self._size, os.SEEK_SET)
            os.fsync(self._handle)
        except OSError:
            self.close()

    def frames(self, position: int) -> Iterator[Frame]:
        """Yield the frames from a position on. Raise LookupError if they are not there any more, or not yet."""
        first, end, recent = self.segments[0], self.position, list(self._recent)
        if not first <= position <= end:
            raise LookupError(f"The log has frames {first} to {end - 1}, but not {position}.")
        if position == end:  # a frame there may be half written
            return
        if recent and recent[0].position <= position:
            yield from recent[position - recent[0].position :]
            return
        segments = self.segments
        for begin in segments[bisect_right(segments, position) - 1 :]:
            for frame in read_segment(self._path(begin)):
                if frame.position >= position:
                    yield frame
                if frame.position + 1 >= end:  # a frame behind may be half written
                    return

    def encoded_frames(self, position: int, max_bytes: int) -> list[bytes]:
        """Return the frames from a position on as they were written: at least one, then up to about max_bytes."""
        frames, n_bytes = list[bytes](), 0
        for frame in self.frames(position):
            frames.append(frame.encoded())
            n_bytes += len(frames[-1])
            if n_bytes > max_bytes:
                break
        return frames

    def drop_before(self, position: int, keep_bytes: int) -> None:
        """Remove the oldest segments, up to this position, but keep at least keep_bytes of the log."""
        while len(self.segments) > 1 and self.segments[1] <= position and self.n_bytes > keep_bytes:
            oldest = self._path(self.segments[0])
            size = oldest.stat().st_size
            oldest.unlink()
            self._closed_bytes -= size
            self.segments = self.segments[1:]

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _path(self, position: int) -> Path:
        return self.folder / f"{position:020d}{SEGMENT_SUFFIX}"

    def _start_segment(self) -> None:
        begin = Start(self.position, self.last.chain)
        path = self._path(begin.position)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | O_BINARY, 0o600)
        try:
            _lock(handle, path)
            _write_all(handle, with_checksum(SEGMENT.pack(MAGIC, *begin)))
            os.fsync(handle)
            sync_folder(self.folder)
        except OSError:
            os.close(handle)
            path.unlink(missing_ok=True)
            raise
        self.close()
        self._closed_bytes += self._size
        self._handle, self._size = handle, SEGMENT_SIZE
        self.segments = [*self.segments, begin.position]


class LogEnd(NamedTuple):
    """The end of a log: the position after its last frame, the chain up to it, and the version there."""

    position: int
    chain: int
    version: int


class Watermark:
    """A small file that says where the log ends, by which a missing end of the log is noticed.

    It is overwritten after every frame, which costs a system call, and not synced, which would double the time of a
    commit. So it may be behind after a power failure, but it is never ahead of a log that is synced.
    """

    def __init__(self, path: Path):
        self.path, self._handle = path, -1

    def read(self) -> LogEnd | None:
        """Return what the file says, or None if there is none. Raise ValueError if it is damaged."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        fields = content[: WATERMARK.size]
        if len(fields) < WATERMARK.size or with_checksum(fields) != content or not fields.startswith(WATERMARK_MAGIC):
            raise ValueError(f"{self.path}: the file is damaged.")
        return LogEnd(*WATERMARK.unpack(fields)[1:])

    def write(self, reached: LogEnd) -> None:
        if self._handle < 0:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | O_BINARY, 0o600)
        content = with_checksum(WATERMARK.pack(WATERMARK_MAGIC, *reached))
        if hasattr(os, "pwrite"):
            os.pwrite(self._handle, content, 0)
        else:  # Windows
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, content)

    def close(self) -> None:
        """Close the file when the disk has it."""
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def remove(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)


class TornError(Exception):
    """The last frame of a segment is not whole. The argument is the offset at which it begins."""


def segment_paths(folder: Path) -> list[Path]:
    """Return the segments, the oldest first, without one that was created but never got its header."""
    segments = _all_segment_paths(folder)
    return segments[:-1] if segments and _is_unfinished(segments[-1]) else segments


def _all_segment_paths(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{SEGMENT_SUFFIX}") if path.stem.isdigit())


def check_not_in_use(folder: Path) -> None:
    """Raise OSError if a server writes the log in this folder."""
    for path in _all_segment_paths(folder):
        if path.is_file():
            os.close(_open_locked(path))


def _open_newest(folder: Path) -> int:
    """Open and lock the newest segment, or return -1 if there is none. Raise OSError if another server writes it.

    A lock on the segment itself holds even if somebody removes the lock file of the server's folder.
    """
    while segments := segment_paths(folder):
        read_start(segments[-1])
        handle = _open_locked(segments[-1])
        if segment_paths(folder)[-1:] == segments[-1:]:
            return handle
        os.close(handle)  # another server has begun the next segment meanwhile
    return -1


def _open_locked(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | O_BINARY)
    try:
        _lock(handle, path)
    except OSError:
        os.close(handle)
        raise
    return handle


def _lock(handle: int, path: Path) -> None:
    """Lock an open segment. Raise OSError if another server writes it."""
    if not hold(handle):
        raise OSError(errno.EBUSY, "another server writes this log: stop it, or give another --data", str(path))


def _is_unfinished(path: Path) -> bool:
    """Return whether this is a segment whose header a crash left unwritten."""
    if not path.is_file():
        return False
    size = path.stat().st_size
    return size < SEGMENT_SIZE or (size == SEGMENT_SIZE and not any(path.read_bytes()))


def checked_frames(folder: Path) -> Iterator[Start | Frame]:
    """Yield the start of the log, then all frames, each checked to follow the one before.

    A torn frame at the very end is left out. Raises DamagedLogError where the log is not what was written.
    """
    last: Start | Frame | None = None
    segments = segment_paths(folder)
    for path in segments:
        begin = read_start(path)
        if last is None:
            last = begin
            yield last
        elif (begin.end, begin.chain) != (last.end, last.chain):
            raise DamagedLogError(path, 0, f"frame {last.end} should come first, and {begin.position} does")
        try:
            for frame in read_segment(path):
                last = frame
                yield last
        except TornError as torn:
            if path != segments[-1]:
                raise DamagedLogError(path, torn.args[0], "the segment ends within a frame") from None


def read_segment(path: Path) -> Iterator[Frame]:
    """Yield the frames of a segment. TornError: the last one is not whole. DamagedLogError: bytes are wrong."""
    last: Start | Frame = read_start(path)
    content = memoryview(path.read_bytes())
    offset = SEGMENT_SIZE
    while offset < len(content):
        frame, problem = parse_frame(content, offset, last)
        if frame is None:
            if problem is None or _is_torn(content, offset):
                raise TornError(offset)
            raise DamagedLogError(path, offset, problem)
        yield frame
        last, offset = frame, offset + FRAME_SIZE + len(frame.payload)


def _read_last_frame(path: Path) -> Frame | Start:
    """Return the last frame of a segment, and cut off a torn one behind it."""
    last: Frame | Start = read_start(path)
    try:
        for frame in read_segment(path):
            last = frame
    except TornError as torn:
        _truncate(path, torn.args[0])
    return last


def parse_frame(content: memoryview, offset: int, last: Start | Frame) -> tuple[Frame | None, str | None]:
    """Return the frame at this place, or what is wrong with it; (None, None): it is not there in full."""
    if offset + FRAME_SIZE > len(content):
        return None, None
    head, (check,) = content[offset : offset + FRAME.size], CHECK.unpack_from(content, offset + FRAME.size)
    if zlib.crc32(head) != check:
        return None, "the head of a frame does not match its checksum"
    _, length, version, chain = FRAME.unpack(head)
    begin = offset + FRAME_SIZE
    if begin + length > len(content):
        return None, None
    frame = next_frame(last, version, bytes(content[begin : begin + length]))
    if frame.chain != chain:
        return None, "a frame does not match its checksum, or does not follow the one before"
    return frame, None


def _is_torn(content: memoryview, offset: int) -> bool:
    """Return whether a power failure left the last frame like this: the file has grown, but sectors are missing.

    Missing sectors are zeros, which no payload has. A frame behind it shows that this one was once written whole.
    """
    starts = [offset, *range((offset // SECTOR_BYTES + 1) * SECTOR_BYTES, len(content), SECTOR_BYTES)]
    if all(any(content[start : (start // SECTOR_BYTES + 1) * SECTOR_BYTES]) for start in starts):
        return False
    heads = re.finditer(b"(?=%b(.{%d}))" % (MARK, FRAME_SIZE - len(MARK)), bytes(content[offset + 1 :]), re.DOTALL)
    return not any(with_checksum(MARK + head[1][: -CHECK.size]) == MARK + head[1] for head in heads)


def move_damage_aside(folder: Path, damage: DamagedLogError) -> list[Path]:
    """Move the damaged part, and all behind it, to the folder `damaged` beside the log. Return the files there."""
    aside = folder.parent / "damaged"
    aside.mkdir(exist_ok=True)
    moved = []
    for path in segment_paths(folder):
        if path < damage.path:
            continue
        number = sum(1 for _ in aside.iterdir())
        target = aside / f"{number:04d}-{path.name}"
        if path == damage.path and damage.offset > SEGMENT_SIZE:
            target.write_bytes(path.read_bytes()[damage.offset :])
            _truncate(path, damage.offset)
        else:
            path.rename(target)
        moved.append(target)
    sync_folder(aside)
    sync_folder(folder)
    return moved


def read_start(path: Path) -> Start:
    """Return where a segment starts. Raise DamagedLogError if it is not a segment."""
    if not path.is_file():
        raise DamagedLogError(path, 0, "this is a folder or a device, not a segment of a log")
    with path.open("rb") as file:
        head = file.read(SEGMENT_SIZE)
    fields = head[: SEGMENT.size]
    if len(head) < SEGMENT_SIZE or with_checksum(fields) != head or fields[: len(MAGIC)] != MAGIC:
        raise DamagedLogError(path, 0, "this is not the beginning of a segment of a log")
    _, position, chain = SEGMENT.unpack(fields)
    if path.stem != f"{position:020d}":
        raise DamagedLogError(path, 0, f"the name of the file should be {position:020d}{SEGMENT_SUFFIX}")
    return Start(position, chain)


def with_checksum(fields: bytes) -> bytes:
    """Append the checksum of some bytes to them."""
    return fields + CHECK.pack(zlib.crc32(fields))


def _write_all(handle: int, content: bytes) -> None:
    unwritten = memoryview(content)
    while unwritten:
        unwritten = unwritten[os.write(handle, unwritten) :]


def _truncate(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
