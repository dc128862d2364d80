"""The folder of a server: its log and its snapshots, from which a server that restarts has the same model."""

import hashlib
import logging
import os
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import DecodeError, Raw, Struct, json

from perceptrons.linear import Perceptron
from perceptrons.modelfile import ModelFileError, as_bytes, load_with_header
from perceptrons.modelfile.whole_files import write_whole
from perceptrons.serve.journal import (
    CHECK,
    DamagedLogError,
    DamagedWatermarkError,
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
)
from perceptrons.serve.recent import RecentReplies
from perceptrons.serve.schemas import SnapshotEntry
from perceptrons.serve.state import Change, State

MAX_SNAPSHOTS = 5
SNAPSHOT_SUFFIX = ".perceptron"
EMPTY_MAGIC = b"PCPTEMPTY"  # how the snapshot of a model begins that has seen nothing
KEYS_SUFFIX = ".keys"  # idempotency keys, beside the snapshot that they go with
COPY_MAGIC = b"PCPTCOPY"  # what a leader gives to a new follower: the length of a head, the head, a snapshot
COPY_HEAD = struct.Struct("<8sI")
logger = logging.getLogger("perceptrons.serve")


class StoreError(ValueError):
    """The folder cannot be used as it is."""


class Place(NamedTuple):
    """The state that a snapshot has: the next frame of the log, the chain before it, and the counters."""

    position: int
    chain: int
    version: int
    generation: int
    learned: int
    mistakes: int


class Identity(NamedTuple):
    """What the folder of a server is to other servers. It is kept in the file `server.json`.

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


class Copy(NamedTuple):
    """What a follower starts with: the model of the leader at one place of its log, and what goes with it."""

    state: State
    place: Place
    identity: Identity
    replies: RecentReplies


class Snapshot(NamedTuple):
    """A file with the model at one version."""

    path: Path
    version: int
    generation: int
    position: int
    n_bytes: int

    def entry(self) -> SnapshotEntry:
        """Return what the service says about the snapshot."""
        return SnapshotEntry(self.version, self.generation, self.n_bytes)


class Rollback(Struct):
    """The way back to a snapshot: its version and the name of its file, and the generation that begins with it."""

    to: int
    snapshot: str
    generation: int


class _RollbackFrame(Struct):
    """The payload of a frame that is a rollback."""

    rollback: Rollback


class Logged(NamedTuple):
    """What a frame of the log holds: the version before it, and changes or a rollback."""

    version: int
    changes: list[Change]
    rollback: Rollback | None = None

    @classmethod
    def from_frame(cls, frame: Frame) -> "Logged":
        """Return what a frame holds."""
        content = json.decode(frame.payload, type=list[Change] | _RollbackFrame)
        if isinstance(content, _RollbackFrame):
            return cls(frame.version, [], content.rollback)
        return cls(frame.version, content)

    @property
    def version_after(self) -> int:
        """The version once it is learned."""
        if self.rollback is not None:
            return self.rollback.to
        return self.version + sum(len(change.examples) for change in self.changes)

    def payload(self) -> bytes:
        """Return the payload of the frame."""
        return json.encode(self.changes if self.rollback is None else _RollbackFrame(self.rollback))


class Store:
    """The folder, open for one server. keep_bytes: how much of the log is kept even if no snapshot needs it."""

    def __init__(self, folder: Path, sync: bool = True, segment_bytes: int = 2**26, keep_bytes: int = 2**30):
        self.folder, self.sync = folder, sync
        self._segment_bytes, self._keep_bytes = segment_bytes, keep_bytes
        self.warnings: list[str] = []
        self._can_mark = True  # can the watermark be written?
        self.needed: dict[str, int] = {}  # snapshots that the log goes back to, and the position where it does
        self.log: Log
        self._end = LogEnd(0, 0, 0)
        self._log_folder, self._snapshots = folder / "log", folder / "snapshots"
        self._snapshots.mkdir(parents=True, exist_ok=True)
        self._watermark, self._identity_path = Watermark(folder / "acknowledged"), folder / "server.json"
        self.identity = Identity.read(self._identity_path) or Identity()
        self.replies = RecentReplies()  # of the snapshot that was recovered

    # ---- beginning

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever served from this folder."""
        return not (self.snapshots() or segment_paths(self._log_folder) or self._watermark.path.exists())

    def set_identity(self, **changes: Any) -> None:
        """Change the identity of the folder, also on disk."""
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
        start = Start(0, int(base[:8], 16))
        segments = segment_paths(self._log_folder)
        if segments and read_start(segments[0]) != start:
            raise StoreError(
                f"{self.folder}: the snapshots are gone, and the log does not begin with this model. Restore the "
                "snapshots from a backup or a follower, or give the MODEL that the server was first started with."
            )
        if not segments:
            self._check_end(0, 0)
        self.set_identity(base=base, role="leader", leader=None)
        self.save(state, Place(start.position, start.chain, 0, 0, 0, 0))
        if not segments:
            self._note_start(start.position, start.chain, 0)

    def start_copy(self, copy: Copy) -> None:
        """Start the folder of a follower with the model of its leader."""
        if not self.is_new:
            raise StoreError(
                f"{self.folder}: the snapshots are gone, but not the log. Restore the snapshots from a backup, or "
                "begin this follower in another folder (--data)."
            )
        self.set_identity(**copy.identity._asdict())
        self.save(copy.state, copy.place, copy.replies)
        self._note_start(copy.place.position, copy.place.chain, copy.place.version)

    def _note_start(self, position: int, chain: int, version: int) -> None:
        """Note where the log of a new folder starts, so that it is noticed if the log and the note are both gone."""
        if not self._watermark.path.exists():
            self._watermark.write(LogEnd(position, chain, version))
            self._watermark.close()

    def clear(self) -> None:
        """Remove all that is there, to start again with another model."""
        self._watermark.remove()
        for path in [*reversed(segment_paths(self._log_folder)), *(one.path for one in self.snapshots())]:
            path.unlink()  # in this order what is left, should it be killed, is a log up to a point and a snapshot
        for path in self._snapshots.glob(f"*{KEYS_SUFFIX}"):
            path.unlink()

    def replace_with(self, copy: Copy, keep: bool) -> Path | None:
        """Start again with the model of a leader. keep: move what is there to a folder, which is returned.

        OSError: it could not be written, and everything is as it was.
        """
        beside = {
            self.folder / "beginning.keys": self._snapshots / _file_name(copy.place, KEYS_SUFFIX),
            self.folder / "beginning": self._snapshots / _file_name(copy.place),
        }
        for path, content in zip(
            beside, (_with_checksum(copy.replies.as_json()), self.content(*copy[:2])), strict=True
        ):
            write_whole(path, content)
        self.log.close()
        kept = self._move_apart() if keep else None
        self.clear()
        self.set_identity(**copy.identity._asdict())
        for path, target in beside.items():
            os.replace(path, target)
        sync_folder(self._snapshots)
        self.needed = {}
        self.open_log(copy.place)
        self._mark(copy.place.version)
        return kept

    def _move_apart(self) -> Path:
        """Move the log, the snapshots and what goes with them to a new folder beside them. Returns the folder."""
        numbers = [int(path.name[6:]) for path in self.folder.glob("older-*") if path.name[6:].isdigit()]
        apart = self.folder / f"older-{max(numbers, default=0) + 1}"
        apart.mkdir()
        self._watermark.close()
        for path in (self._watermark.path, self._identity_path, self._log_folder, self._snapshots):
            if path.exists():
                os.replace(path, apart / path.name)
        self._snapshots.mkdir()
        sync_folder(apart)
        sync_folder(self.folder)
        return apart

    def check_origin(self, path: Path) -> None:
        """Raise StoreError if the folder was created with a different model than the one in this file."""
        if self.identity.base not in (None, hashlib.sha256(path.read_bytes()).hexdigest()):
            raise StoreError(
                f"{self.folder}: serves what another model than {path} has learned since. To serve that, leave MODEL "
                "out and give --data; to begin again with this one, give another --data."
            )

    def recovered(self) -> Iterator[Logged | State]:
        """Yield the state of the newest valid snapshot, then what all frames of the log hold, those before it too.

        The caller lets the state learn. Afterwards `log` is open.
        """
        if not self._identity_path.exists():
            self.warnings.append(f"{self._identity_path} is gone, so this server does not know if it was promoted.")
            self.set_identity()
        state, place, self.replies = self._newest()
        self.place = place
        yield state
        segments, reached = segment_paths(self._log_folder), self._reached()
        end, version = 0, place.version
        for end, chain, frame in checked_frames(self._log_folder):
            self._check_fits(place, end, chain, frame)
            if reached is not None and end == reached.position and chain != reached.chain:
                raise StoreError(
                    f"{self.folder}: entry {end:,} of the log is not the one that was acknowledged. Restore the files "
                    "from a backup or a follower, or accept the log as it is with --repair."
                )
            if frame is not None:
                self.position = frame.position
                logged = Logged.from_frame(frame)
                version = logged.version_after if end > place.position else place.version
                yield logged
        self._check_end(max(end, place.position), version)
        if end < place.position and segments:  # a log without sync that lost its end
            self.warnings.append("The log ends before the newest snapshot, which is used: nothing is lost.")
            move_damage_aside(self._log_folder, DamagedLogError(segments[0], 0, "superseded"))
        self.open_log(place)
        self._mark(version)

    def _reached(self) -> LogEnd | None:
        """Return where the log ended, or None if that is unknown."""
        try:
            reached = self._watermark.read()
        except DamagedWatermarkError as error:
            self.warnings.append(f"{error} So nobody can tell whether the end of the log is there.")
            return None
        if reached is None:
            self.warnings.append(
                f"{self._watermark.path} is gone, so nobody can tell whether the end of the log is there."
            )
        return reached

    def _check_end(self, end: int, version: int) -> None:
        """Raise StoreError if more was acknowledged than the log and the snapshots hold."""
        missing = self._missing(end, version)
        if missing is not None and self.sync:
            raise StoreError(
                f"{missing} Restore the files from a backup, promote a follower that has them, or accept the loss with "
                "--repair."
            )
        if missing is not None:
            self.warnings.append(f"{missing} A power failure may do this with --no-sync.")

    def _missing(self, end: int, version: int) -> str | None:
        """Return a message if entries are missing at the end of the log, which ends here."""
        with suppress(DamagedWatermarkError):  # `_reached` complains about it
            reached = self._watermark.read()
            if reached is not None and reached.position > end:
                return (
                    f"{self.folder}: the end of the log is missing: it was acknowledged up to version "
                    f"{reached.version:,} ({reached.position:,} entries), but what is there ends at version "
                    f"{version:,} ({end:,} entries)."
                )
        return None

    def append(self, frame: Frame, version: int) -> None:
        """Append a frame to the log, wait until it is safe, and note where the log ends now.

        version: the one after the frame. OSError: nothing was appended.
        """
        self.log.append(frame)
        self._mark(version)

    def end(self) -> LogEnd:
        """Return where the log ends."""
        return self._end

    def _mark(self, version: int) -> None:
        self._end = LogEnd(self.log.position, self.log.last.chain, version)
        if self._can_mark:
            try:
                self._watermark.write(self._end)
            except OSError as error:  # the log itself was written, so what it holds is safe
                self._can_mark = False
                logger.error("%s cannot be written (%s): a missing end of the log may go unnoticed.",
                             self._watermark.path, error)  # fmt: skip

    def close(self) -> None:
        """Close the log."""
        self.log.close()
        try:
            self._watermark.close()
        except OSError as error:
            logger.error("%s cannot be written: %s", self._watermark.path, error)

    def _check_fits(self, place: Place, end: int, chain: int, frame: Frame | None) -> None:
        """Raise StoreError if the log and a snapshot of this place contradict each other."""
        advice = "Restore the files from a backup or a follower, or set the log aside with --repair."
        if frame is None and end > place.position:
            raise StoreError(
                f"{self.folder}: the log begins after the newest sound snapshot, so what was learned between them is "
                f"missing. {advice}"
            )
        if end == place.position and chain != place.chain:
            raise StoreError(f"{self.folder}: the newest snapshot does not belong to this log. {advice}")

    def open_log(self, place: Place) -> None:
        """Open the log for appending. An empty log starts at this place."""
        self.log = Log(self._log_folder, Start(place.position, place.chain), self.sync, self._segment_bytes)

    def _newest(self) -> tuple[State, Place, RecentReplies]:
        snapshots = self.snapshots()
        if not snapshots:
            raise StoreError(
                f"{self.folder}: the snapshots are gone. Restore them from a backup or a follower, or give the MODEL "
                "that the server was first started with."
            )
        for snapshot in reversed(snapshots):
            try:
                return *self.load(snapshot), self._replies_of(snapshot)
            except ModelFileError as error:
                self.warnings.append(f"{error} An older snapshot is used.")
        raise StoreError(f"{self.folder}: no snapshot is sound: {' '.join(self.warnings)}")

    def _replies_of(self, snapshot: Snapshot) -> RecentReplies:
        """Return the replies by idempotency key that were remembered when the snapshot was written."""
        path = snapshot.path.with_suffix(KEYS_SUFFIX)
        try:
            content = path.read_bytes()
        except FileNotFoundError:  # there were none
            return RecentReplies()
        if content != _with_checksum(content[: -CHECK.size]):
            self.warnings.append(
                f"{path}: the file is damaged. A request that is older than the log may be learned a second time."
            )
            return RecentReplies()
        return RecentReplies.from_json(content[: -CHECK.size])

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
        place = self._newest()[1]
        reached = LogEnd(place.position, place.chain, place.version)
        try:
            for end, chain, frame in checked_frames(self._log_folder):
                self._check_fits(place, end, chain, frame)
                if frame is not None and end > place.position:
                    reached = LogEnd(end, chain, Logged.from_frame(frame).version_after)
        except StoreError as error:
            first = segment_paths(self._log_folder)[0]
            moved += move_damage_aside(self._log_folder, DamagedLogError(first, 0, str(error)))
            reached = LogEnd(place.position, place.chain, place.version)
        missing = self._missing(reached.position, reached.version)
        if missing is not None:
            self.warnings.append(missing)
        self._watermark.write(reached)
        self._watermark.close()
        return moved

    # ---- snapshots

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots, the oldest first."""
        found = []
        for path in sorted(self._snapshots.glob(f"*{SNAPSHOT_SUFFIX}")):
            parts = path.stem.split("-")
            if len(parts) == 3 and all(part.isdigit() for part in parts) and path.is_file():
                position, generation, version = map(int, parts)
                with suppress(FileNotFoundError):  # the writer may have removed it meanwhile
                    found.append(Snapshot(path, version, generation, position, path.stat().st_size))
        return found

    def save(self, state: State, place: Place, replies: RecentReplies | None = None) -> Snapshot:
        """Write a snapshot. Remove old ones, and the segments of the log that nobody needs any more."""
        path, content = self._snapshots / _file_name(place), self.content(state, place)
        if replies:
            write_whole(path.with_suffix(KEYS_SUFFIX), _with_checksum(replies.as_json()))
        write_whole(path, content)
        sync_folder(self._snapshots)
        kept = self.snapshots()
        oldest = kept[-2].position if len(kept) > 1 else 0  # should the newest one be damaged
        self.needed = {target: at for target, at in self.needed.items() if at >= oldest}
        for old in kept[1:-MAX_SNAPSHOTS]:  # the first one is what it began with
            if old.path.name not in self.needed:
                old.path.unlink()
        for path_of_keys in self._snapshots.glob(f"*{KEYS_SUFFIX}"):
            if path_of_keys.stem not in {one.path.stem for one in kept[-2:]}:
                path_of_keys.unlink()
        if hasattr(self, "log"):
            self.log.drop_before(oldest, self._keep_bytes)
        return Snapshot(path, place.version, place.generation, place.position, len(content))

    def load(self, snapshot: Snapshot) -> tuple[State, Place]:
        """Load a snapshot. Raise ModelFileError if it is not valid."""
        return loaded(snapshot.path)

    @staticmethod
    def content(state: State, place: Place) -> bytes:
        """Return the content of a snapshot. That of an empty model has the place alone."""
        if state.kind is None:
            return EMPTY_MAGIC + _with_checksum(json.encode(place._asdict()))
        return as_bytes(state.model, place._asdict())

    def copy_content(self, state: State, place: Place, replies: RecentReplies) -> bytes:
        """Return a copy for a follower, as `read_copy` reads it."""
        head = json.encode({"identity": self.identity._asdict(), "keys": Raw(replies.as_json())})
        return COPY_HEAD.pack(COPY_MAGIC, len(head)) + _with_checksum(head) + self.content(state, place)

    def read_copy(self, content: bytes, leader: str) -> Copy:
        """Read what the leader at this URL has sent. Raise ModelFileError if it is not valid."""
        what = f"What {leader} has sent is not a copy of its model, or was cut short."
        if len(content) < COPY_HEAD.size:
            raise ModelFileError(what)
        magic, length = COPY_HEAD.unpack_from(content)
        end = COPY_HEAD.size + length
        head = content[COPY_HEAD.size : end]
        if magic != COPY_MAGIC or content[COPY_HEAD.size : end + CHECK.size] != _with_checksum(head):
            raise ModelFileError(what)
        told = json.decode(head)
        identity = Identity(**told["identity"])._replace(role="follower", leader=leader)
        replies = RecentReplies.from_json(json.encode(told["keys"]))
        return Copy(*_loaded_content(content[end + CHECK.size :], self.folder), identity, replies)


def _file_name(place: Place, ending: str = SNAPSHOT_SUFFIX) -> str:
    """Return the file name of a snapshot. Sorted by name, later snapshots come last."""
    return f"{place.position:020d}-{place.generation:06d}-{place.version:020d}{ending}"


def loaded(path: Path) -> tuple[State, Place]:
    """Return the state and the place in a snapshot."""
    with path.open("rb") as file:
        begin = file.read(4096)
    model, kept = _empty(path, begin) if begin.startswith(EMPTY_MAGIC) else _of_file(path)
    if not isinstance(kept, dict) or {*kept} != {*Place._fields} or not all(type(n) is int for n in kept.values()):
        raise ModelFileError(f"{path}: this is a model, but not a snapshot of a server.")
    return State(model, kept["version"]), Place(**kept)


def _of_file(path: Path) -> tuple[Any, Any]:
    model, header = load_with_header(path)
    return model, header.get("place")


def _empty(path: Path, content: bytes) -> tuple[Any, Any]:
    """Return an empty model and its place."""
    place = content[len(EMPTY_MAGIC) : -CHECK.size]
    if content != EMPTY_MAGIC + _with_checksum(place):
        raise ModelFileError(f"{path}: the checksum does not match: the file was altered or damaged.")
    return Perceptron(), json.decode(place)


def _with_checksum(content: bytes) -> bytes:
    return content + CHECK.pack(zlib.crc32(content))


def _loaded_content(content: bytes, folder: Path) -> tuple[State, Place]:
    """Return the state and the place in the content of a snapshot."""
    handle, name = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return loaded(Path(name))
    finally:
        os.unlink(name)
