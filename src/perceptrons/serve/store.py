"""The folder of a server: its log and its snapshots, from which a server that restarts has the same model."""

import errno
import hashlib
import logging
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import DecodeError, Raw, Struct, json

from perceptrons.linear import Perceptron
from perceptrons.modelfile import ModelFileError, as_bytes, load_with_header
from perceptrons.modelfile.whole_files import write_whole
from perceptrons.serve.journal import (
    CHECK,
    DamagedLogError,
    Frame,
    Log,
    LogEnd,
    Start,
    Watermark,
    check_not_in_use,
    checked_frames,
    move_damage_aside,
    read_start,
    segment_paths,
    sync_folder,
    with_checksum,
)
from perceptrons.serve.recent import RecentReplies
from perceptrons.serve.schemas import SnapshotEntry
from perceptrons.serve.state import Change, State

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MAX_SNAPSHOTS = 5
SNAPSHOT_SUFFIX = ".perceptron"
EMPTY_MAGIC = b"PCPTEMPTY"  # how the snapshot of a model begins that has seen nothing
BEGINNING = "beginning"  # the file of a snapshot that a leader has sent, until it becomes the only one here
logger = logging.getLogger("perceptrons.serve")


class StoreError(ValueError):
    """The folder cannot be used as it is."""


class NotLoggedError(OSError):
    """The log could not be written, so nothing was learned."""


class Place(NamedTuple):
    """The state that a snapshot has: the next frame of the log, the chain before it, and the counters."""

    position: int
    chain: int
    version: int
    generation: int
    learned: int
    mistakes: int

    @property
    def end(self) -> LogEnd:
        """The end of a log that goes up to here."""
        return LogEnd(self.position, self.chain, self.version)


class Identity(NamedTuple):
    """The folder of a server among other servers, as the file `server.json` keeps it.

    base: the digest of the model that the log starts with. role: "leader" or "follower". term: it grows with every
    promotion, which tells the newer of two leaders. leader: the URL that this server follows, or followed until it
    was promoted. newest_term: the newest term of another server that this one has heard of.
    """

    base: str | None = None
    role: str = "leader"
    term: int = 0
    leader: str | None = None
    newest_term: int = 0

    @classmethod
    def read(cls, path: Path) -> "Identity | None":
        """Return what a file says, or None if there is none. Raise StoreError if it is damaged."""
        try:
            content = json.decode(path.read_bytes())
            checksum = content.pop("checksum")
            if checksum == zlib.crc32(json.encode(content)):
                return cls(**content)  # fields that are newer than the file have their defaults
        except FileNotFoundError:
            return None
        except (DecodeError, ValueError, TypeError, KeyError, IsADirectoryError):
            pass
        raise StoreError(
            f"{path}: the file is damaged. Restore it from a backup, or delete it: the server then forgets whether it "
            "was promoted."
        )

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        content = self._asdict()
        write_whole(path, json.format(json.encode(content | {"checksum": zlib.crc32(json.encode(content))})))
        sync_folder(path.parent)


class SnapshotContent(NamedTuple):
    """The content of a snapshot. identity: of the leader, in a copy that a follower gets; else that of a new folder."""

    state: State
    place: Place
    replies: RecentReplies
    identity: Identity


class Snapshot(NamedTuple):
    """A file with the model at one version."""

    path: Path
    position: int
    generation: int
    version: int
    n_bytes: int

    def entry(self) -> SnapshotEntry:
        """Return what the service says about the snapshot."""
        return SnapshotEntry(self.version, self.generation, self.n_bytes)


class Rollback(Struct):
    """The way back to a snapshot: its version and the name of its file, and the generation that begins with it."""

    to: int
    snapshot: str
    generation: int


class RollbackFrame(Struct):
    """The payload of a frame that is a rollback."""

    rollback: Rollback


class Logged(NamedTuple):
    """The content of a frame: the version before it, and changes or a rollback."""

    version: int
    changes: list[Change]
    rollback: Rollback | None = None

    @classmethod
    def from_frame(cls, frame: Frame) -> "Logged":
        content = json.decode(frame.payload, type=list[Change] | RollbackFrame)
        if isinstance(content, RollbackFrame):
            return cls(frame.version, [], content.rollback)
        return cls(frame.version, content)

    @property
    def version_after(self) -> int:
        """The version once it is learned."""
        if self.rollback is not None:
            return self.rollback.to
        return self.version + sum(len(change.examples) for change in self.changes)

    def payload(self) -> bytes:
        return json.encode(self.changes if self.rollback is None else RollbackFrame(self.rollback))


class Store:
    """The folder, open for one server. keep_bytes: how much of the log is kept even if no snapshot needs it."""

    def __init__(self, folder: Path, sync: bool = True, segment_bytes: int = 2**26, keep_bytes: int = 2**30):
        self.folder, self.sync = folder, sync
        self._segment_bytes, self._keep_bytes = segment_bytes, keep_bytes
        self.warnings: list[str] = []
        self._can_mark = True  # can the watermark be written?
        self.needed: dict[str, int] = {}  # snapshots that the log goes back to, and the position where it does
        self.log: Log
        self.end = LogEnd(0, 0, 0)
        self._log_folder, self._snapshots = folder / "log", folder / "snapshots"
        self._snapshots.mkdir(parents=True, exist_ok=True)
        self._watermark, self._identity_path = Watermark(folder / "acknowledged"), folder / "server.json"
        self.identity = Identity.read(self._identity_path) or Identity()

    # ---- beginning

    @property
    def is_new(self) -> bool:
        """True if nothing was ever served from this folder."""
        return not (self.snapshots() or segment_paths(self._log_folder) or self._watermark.path.exists())

    def set_identity(self, **changes: Any) -> None:
        identity = self.identity._replace(**changes)
        if identity != self.identity or not self._identity_path.exists():
            identity.write(self._identity_path)
            self.identity = identity

    def begin(self, model: Any, origin: bytes | None = None) -> None:
        """Start the folder with a model. origin: the content of the file that it comes from.

        The chain of the log starts with the digest of this model. So a folder that has lost its snapshots, but not its
        log, can begin again with the same model, and with no other.
        """
        state = State(model)
        base = hashlib.sha256(self.content(state, Place(0, 0, 0, 0, 0, 0)) if origin is None else origin).hexdigest()
        place = Place(0, int(base[:8], 16), 0, 0, 0, 0)
        segments = segment_paths(self._log_folder)
        if segments and read_start(segments[0]) != Start(place.position, place.chain):
            raise StoreError(
                f"{self.folder}: the snapshots are gone, and the log does not begin with this model. Restore the "
                "snapshots from a backup or a follower, or give the MODEL that the server was first started with."
            )
        if not segments:
            self._check_end(self._read_watermark(), 0, 0)
        if self.identity.base not in (None, base):
            raise StoreError(
                f"{self.folder}: another model was served from this folder, but its log and its snapshots are gone. "
                "Restore them from a backup or a follower; to start again with this model, give another --data."
            )
        if self.identity.base is not None and not segments:
            self.warnings.append(
                f"{self.folder}: this model was served from this folder before, but nothing is left of the log and of "
                "the snapshots. It starts again at version 0."
            )
        self.set_identity(base=base, role="leader", leader=None)
        self.save(state, place)
        if not segments:
            self._note_start(place)

    def receive(self, content: bytes, leader: str) -> SnapshotContent:
        """Write what the leader at this URL has sent to a file, and read it. Raise ModelFileError if it is damaged."""
        path = self.folder / BEGINNING
        write_whole(path, content)
        saved = read_snapshot(path)
        return saved._replace(identity=saved.identity._replace(role="follower", leader=leader))

    def start_copy(self, copy: SnapshotContent) -> None:
        """Start the folder of a follower with what `receive` has read."""
        if not self.is_new:
            raise StoreError(
                f"{self.folder}: the snapshots are gone, but not the log. Restore the snapshots from a backup, or "
                "begin this follower in another folder (--data)."
            )
        self._use_received(copy)
        self._note_start(copy.place)

    def _use_received(self, copy: SnapshotContent) -> None:
        """Make the file that `receive` has written the first snapshot."""
        self.set_identity(**copy.identity._asdict())
        os.replace(self.folder / BEGINNING, self._snapshots / _file_name(copy.place))
        sync_folder(self._snapshots)

    def _note_start(self, place: Place) -> None:
        """Note where the log of a new folder starts, so that it is noticed if the log and the note are both gone."""
        if not self._watermark.path.exists():
            self._watermark.write(place.end)
            self._watermark.close()

    def clear(self) -> None:
        """Remove all that is there, to start again with another model."""
        self._watermark.remove()
        for path in [*reversed(segment_paths(self._log_folder)), *(snapshot.path for snapshot in self.snapshots())]:
            path.unlink()  # in this order what is left, should it be killed, is a log up to a point and a snapshot

    def replace_with(self, copy: SnapshotContent, keep: bool) -> Path | None:
        """Start again with what `receive` has read. keep: move what is there to a folder, which is returned."""
        self.log.close()
        backup = self._move_apart() if keep else None
        self.clear()
        self._use_received(copy)
        self.needed = {}
        self.open_log(copy.place)
        self._mark(copy.place.version)
        return backup

    def _move_apart(self) -> Path:
        """Move the log, the snapshots and what goes with them to a new folder beside them. Return the folder."""
        number = 1
        while (backup := self.folder / f"older-{number}").exists():
            number += 1
        backup.mkdir()
        self._watermark.close()
        for path in (self._watermark.path, self._identity_path, self._log_folder, self._snapshots):
            if path.exists():
                os.replace(path, backup / path.name)
        self._snapshots.mkdir()
        sync_folder(backup)
        sync_folder(self.folder)
        return backup

    def recovered(self) -> tuple[SnapshotContent, Iterator[Frame]]:
        """Return the newest valid snapshot, and all frames of the log, those before the snapshot too.

        Once all frames were read, `log` is open.
        """
        if not self._identity_path.exists():
            self.warnings.append(f"{self._identity_path} is gone, so this server does not know if it was promoted.")
            self.set_identity()
        saved = self._newest()
        return saved, self._recovered_frames(saved.place)

    def _recovered_frames(self, place: Place) -> Iterator[Frame]:
        segments, reached = segment_paths(self._log_folder), self._read_watermark()
        if reached is None and not self._watermark.path.exists():
            self.warnings.append(
                f"{self._watermark.path} is gone, so nobody can tell whether the end of the log is there."
            )
        end, newest = 0, None
        for last in checked_frames(self._log_folder):
            end = last.end
            self._check_fits(place, last)
            if reached is not None and end == reached.position and last.chain != reached.chain:
                raise StoreError(
                    f"{self.folder}: entry {end:,} of the log is not the one that was acknowledged. Restore the files "
                    "from a backup or a follower, or accept the log as it is with --repair."
                )
            if isinstance(last, Frame):
                newest = last if end > place.position else None
                yield last
        version = place.version if newest is None else Logged.from_frame(newest).version_after
        self._check_end(reached, max(end, place.position), version)
        if end < place.position and segments:  # a log without sync that lost its end
            self.warnings.append(
                f"The log ends before the newest snapshot, which is used: the model has version {place.version:,}."
            )
            move_damage_aside(self._log_folder, DamagedLogError(segments[0], 0, "superseded"))
        self.open_log(place)
        self._mark(version)

    def _read_watermark(self) -> LogEnd | None:
        """Return where the log ended, or None if that is unknown."""
        try:
            return self._watermark.read()
        except ValueError as error:
            warning = f"{error} So nobody can tell whether the end of the log is there."
            self.warnings += [] if warning in self.warnings else [warning]
            return None

    def _check_end(self, reached: LogEnd | None, end: int, version: int) -> None:
        """Raise StoreError if more was acknowledged than the log and the snapshots hold, which end here."""
        missing = self._missing(reached, end, version)
        if missing is not None and self.sync:
            raise StoreError(
                f"{missing} Restore the files from a backup, promote a follower that has them, or accept the loss with "
                "--repair."
            )
        if missing is not None:
            self.warnings.append(f"{missing} A power failure may do this with --no-sync.")

    def _missing(self, reached: LogEnd | None, end: int, version: int) -> str | None:
        """Return a message if entries are missing at the end of the log, which ends here."""
        if reached is None or reached.position <= end:
            return None
        return (
            f"{self.folder}: the end of the log is missing: it was acknowledged up to version {reached.version:,} "
            f"({reached.position:,} entries), but what is there ends at version {version:,} ({end:,} entries)."
        )

    def append(self, frame: Frame, version: int) -> None:
        """Append a frame to the log, wait until it is safe, and note where the log ends now.

        version: the one after the frame. NotLoggedError: nothing was appended.
        """
        try:
            self.log.append(frame)
        except OSError as error:
            raise NotLoggedError(error.errno, error.strerror) from error
        self._mark(version)

    def _mark(self, version: int) -> None:
        self.end = LogEnd(self.log.position, self.log.last.chain, version)
        if self._can_mark:
            try:
                self._watermark.write(self.end)
            except OSError as error:  # the log itself was written, so what it holds is safe
                self._can_mark = False
                logger.error("%s cannot be written (%s): a missing end of the log may go unnoticed.",
                             self._watermark.path, error)  # fmt: skip

    def close(self) -> None:
        self.log.close()
        try:
            self._watermark.close()
        except OSError as error:
            logger.error("%s cannot be written: %s", self._watermark.path, error)

    def _check_fits(self, place: Place, last: Start | Frame) -> None:
        """Raise StoreError if the log up to `last` and a snapshot of this place contradict each other."""
        advice = "Restore the files from a backup or a follower, or set the log aside with --repair."
        if isinstance(last, Start) and last.end > place.position:
            raise StoreError(
                f"{self.folder}: the log begins after the newest sound snapshot, so what was learned between them is "
                f"missing. {advice}"
            )
        if last.end == place.position and last.chain != place.chain:
            raise StoreError(f"{self.folder}: the newest snapshot does not belong to this log. {advice}")

    def open_log(self, place: Place) -> None:
        """Open the log for appending. An empty log starts at this place."""
        self.log = Log(self._log_folder, Start(place.position, place.chain), self.sync, self._segment_bytes)

    def _newest(self) -> SnapshotContent:
        snapshots = self.snapshots()
        if not snapshots:
            raise StoreError(
                f"{self.folder}: the snapshots are gone. Restore them from a backup or a follower, or give the MODEL "
                "that the server was first started with."
            )
        for snapshot in reversed(snapshots):
            try:
                return read_snapshot(snapshot.path)
            except ModelFileError as error:
                self.warnings.append(f"{error} An older snapshot is used.")
        raise StoreError(f"{self.folder}: no snapshot is sound: {' '.join(self.warnings)}")

    def repair(self) -> list[Path]:
        """Set aside the damaged part of the log, or all of it if no snapshot fits. Return the files set aside.

        `warnings` say what is lost.
        """
        check_not_in_use(self._log_folder)
        moved = list[Path]()
        try:
            for _ in checked_frames(self._log_folder):
                pass
        except DamagedLogError as damage:
            moved = move_damage_aside(self._log_folder, damage)
        if not self.snapshots():
            return moved
        place = self._newest().place
        reached = place.end
        try:
            for last in checked_frames(self._log_folder):
                self._check_fits(place, last)
                if isinstance(last, Frame) and last.end > place.position:
                    reached = LogEnd(last.end, last.chain, Logged.from_frame(last).version_after)
        except StoreError as error:
            first = segment_paths(self._log_folder)[0]
            moved += move_damage_aside(self._log_folder, DamagedLogError(first, 0, str(error)))
            reached = place.end
        missing = self._missing(self._read_watermark(), reached.position, reached.version)
        if missing is not None:
            self.warnings.append(missing)
        self._watermark.write(reached)
        self._watermark.close()
        return moved

    # ---- snapshots

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots, the oldest first."""
        snapshots = []
        for path in sorted(self._snapshots.glob(f"*{SNAPSHOT_SUFFIX}")):
            parts = path.stem.split("-")
            if len(parts) == 3 and all(part.isdigit() for part in parts) and path.is_file():
                position, generation, version = map(int, parts)
                with suppress(FileNotFoundError):  # the writer may have removed it meanwhile
                    snapshots.append(Snapshot(path, position, generation, version, path.stat().st_size))
        return snapshots

    def save(self, state: State, place: Place, replies: RecentReplies | None = None) -> Snapshot:
        """Write a snapshot. Remove old ones, and the segments of the log that nobody needs any more."""
        path, content = self._snapshots / _file_name(place), self.content(state, place, replies)
        write_whole(path, content)
        sync_folder(self._snapshots)
        snapshots = self.snapshots()
        oldest = snapshots[-2].position if len(snapshots) > 1 else 0  # should the newest one be damaged
        self.needed = {target: at for target, at in self.needed.items() if at >= oldest}
        for old in snapshots[1:-MAX_SNAPSHOTS]:  # the first one is what it began with
            if old.path.name not in self.needed:
                old.path.unlink()
        if hasattr(self, "log"):
            self.log.drop_before(oldest, self._keep_bytes)
        return Snapshot(path, place.position, place.generation, place.version, len(content))

    @staticmethod
    def content(
        state: State, place: Place, replies: RecentReplies | None = None, identity: Identity | None = None
    ) -> bytes:
        """Return the content of a snapshot. replies: to remember, too. identity: of the leader, for a follower."""
        record: dict[str, Any] = place._asdict()
        record |= {} if identity is None else {"base": identity.base, "term": identity.term}
        keys = replies.as_json() if replies else None
        if state.kind is None:  # an empty model has no file
            content = json.encode(record if keys is None else record | {"keys": Raw(keys)})
            return EMPTY_MAGIC + with_checksum(content)
        return as_bytes(state.model, record if keys is None else record | {"keys": np.frombuffer(keys, np.uint8)})


def _file_name(place: Place) -> str:
    """Return the file name of a snapshot. Sorted by name, later snapshots come last."""
    return f"{place.position:020d}-{place.generation:06d}-{place.version:020d}{SNAPSHOT_SUFFIX}"


def read_snapshot(path: Path) -> SnapshotContent:
    """Return what a snapshot holds. Raise ModelFileError if it is damaged."""
    with path.open("rb") as file:
        is_empty = file.read(len(EMPTY_MAGIC)) == EMPTY_MAGIC
    if is_empty:
        content = path.read_bytes()
        record = content[len(EMPTY_MAGIC) : -CHECK.size]
        if content != EMPTY_MAGIC + with_checksum(record):
            raise ModelFileError(f"{path}: the checksum does not match: the file was altered or damaged.")
        model, place = Perceptron(), json.decode(record)
        replies = json.encode(place.get("keys", []))
    else:
        model, header = load_with_header(path)
        place = header.get("place")
        replies = bytes(place["keys"]) if isinstance(place, dict) and "keys" in place else b"[]"
    if not isinstance(place, dict) or not all(type(place.get(name)) is int for name in Place._fields):
        raise ModelFileError(f"{path}: this is a model, but not a snapshot of a server.")
    return SnapshotContent(
        State(model, place["version"]), Place(*(place[name] for name in Place._fields)),
        RecentReplies.from_json(replies), Identity(place.get("base"), term=place.get("term", 0)),
    )  # fmt: skip
