"""The folder of a server: its log and its snapshots, from which a server that starts again has the model it had."""

import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from perceptrons.linear import Perceptron
from perceptrons.modelfile import ModelFileError, as_bytes, load_with_header
from perceptrons.modelfile.whole_files import write_whole
from perceptrons.serve.journal import (
    CHECK,
    DamagedLogError,
    Frame,
    Log,
    Start,
    check_unwritten,
    checked_frames,
    paths,
    set_aside,
    sync_folder,
)
from perceptrons.serve.state import Change, State

KEPT_SNAPSHOTS = 5
ENDING = ".perceptron"
EMPTY = b"PCPTEMPTY"  # how the snapshot of a model begins that has seen nothing


class StoreError(ValueError):
    """The folder cannot be used as it is."""


class Place(NamedTuple):
    """What a snapshot is of: the next frame of the log, the chain before it, and what had been counted."""

    position: int
    chain: int
    version: int
    generation: int
    learned: int
    mistakes: int


class Snapshot(NamedTuple):
    """A file with the model as it was."""

    path: Path
    version: int
    generation: int
    position: int
    n_bytes: int

    def as_dict(self) -> dict[str, Any]:
        return {"version": self.version, "generation": self.generation, "bytes": self.n_bytes}


class Logged(NamedTuple):
    """What a frame of the log holds: the version before it, and changes or a way back to a snapshot."""

    version: int
    changes: list[Change]
    rollback: dict[str, Any] | None

    @classmethod
    def of(cls, frame: Frame) -> "Logged":
        kept = orjson.loads(frame.payload)
        if isinstance(kept, dict):
            return cls(frame.version, [], kept["rollback"])
        return cls(frame.version, [Change.from_json(one) for one in kept], None)

    def payload(self) -> bytes:
        if self.rollback is not None:
            return orjson.dumps({"rollback": self.rollback})
        return orjson.dumps([change.as_json() for change in self.changes])


class Store:
    """The folder, open for one server. keep_bytes: of the log, so much is kept even if no snapshot needs it."""

    def __init__(self, folder: Path, sync: bool = True, segment_bytes: int = 2**26, keep_bytes: int = 2**30):
        self.folder, self.sync = folder, sync
        self._segment_bytes, self._keep_bytes = segment_bytes, keep_bytes
        self.complaints: list[str] = []
        self.needed: dict[str, int] = {}  # snapshots that the log goes back to, and the position where it does
        self.log: Log
        self._log_folder, self._snapshots = folder / "log", folder / "snapshots"
        self._snapshots.mkdir(parents=True, exist_ok=True)
        self._origin = folder / "origin"

    # ---- beginning

    @property
    def is_new(self) -> bool:
        """Was nothing ever served from this folder?"""
        return not self.snapshots()

    def begin(self, model: Any, place: Place, origin: bytes | None = None) -> None:
        """Begin the folder with a model. origin: the content of the file that it comes from."""
        self.save(State(model, place.version), place)
        if origin is not None:
            write_whole(self._origin, hashlib.sha256(origin).hexdigest().encode())

    def clear(self) -> None:
        """Remove all that is there, to begin again with another model."""
        for path in [*reversed(paths(self._log_folder)), *(one.path for one in self.snapshots())]:
            path.unlink()  # in this order what is left, should it be killed, is a log up to a point and a snapshot

    def begin_again(self, state: State, place: Place) -> None:
        """Begin with another model. OSError: it could not be written, and everything is as it was."""
        beside = self.folder / "beginning"
        write_whole(beside, self.content(state, place))
        self.log.close()
        self.clear()
        os.replace(beside, self._snapshots / _name(place))
        sync_folder(self._snapshots)
        self.needed = {}
        self.open_log(place)

    def check_origin(self, path: Path) -> None:
        """Raise StoreError if the folder was created with a different model than the one in this file."""
        if not self._origin.exists():
            return
        if hashlib.sha256(path.read_bytes()).hexdigest() != self._origin.read_text(errors="replace"):
            raise StoreError(
                f"{self.folder}: serves what another model than {path} has learned since. To serve that, leave MODEL "
                "out and give --data; to begin again with this one, give another --data."
            )

    def recovered(self) -> Iterator[Logged | State]:
        """The state of the newest sound snapshot, then what the log holds: all frames, those before it too.

        The caller gives the state what it is to learn. Afterwards `log` is open.
        """
        state, place = self._newest()
        self.place = place
        yield state
        segments = paths(self._log_folder)
        end = 0
        for end, chain, frame in checked_frames(self._log_folder):
            self._check_fits(place, end, chain, frame)
            if frame is not None:
                self.position = frame.position
                yield Logged.of(frame)
        if end < place.position and segments:  # a log without sync that lost its end
            self.complaints.append("The log ends before the newest snapshot, which is used: nothing is lost.")
            set_aside(self._log_folder, DamagedLogError(segments[0], 0, "superseded"))
        self.open_log(place)

    def _check_fits(self, place: Place, end: int, chain: int, frame: Frame | None) -> None:
        """Raise StoreError if the log at this point and a snapshot of this place do not go together."""
        advice = "Restore the files from a backup or a follower, or set the log aside with --repair."
        if frame is None and end > place.position:
            raise StoreError(
                f"{self.folder}: the log begins after the newest sound snapshot, so what was learned between them is "
                f"missing. {advice}"
            )
        if end == place.position and chain != place.chain:
            raise StoreError(f"{self.folder}: the newest snapshot does not belong to this log. {advice}")

    def open_log(self, place: Place) -> None:
        """Open the log for appending; one that is empty begins at this place."""
        self.log = Log(self._log_folder, Start(place.position, place.chain), self.sync, self._segment_bytes)

    def _newest(self) -> tuple[State, Place]:
        for snapshot in reversed(self.snapshots()):
            try:
                return self.load(snapshot)
            except ModelFileError as error:
                self.complaints.append(f"{error} An older snapshot is used.")
        raise StoreError(f"{self.folder}: no snapshot is sound: {' '.join(self.complaints)}")

    def repair(self) -> list[Path]:
        """Set aside what is damaged of the log, or all of it if no snapshot fits. Returns what was set aside."""
        check_unwritten(self._log_folder)
        moved = list[Path]()
        try:
            for _ in checked_frames(self._log_folder):
                pass
        except DamagedLogError as damage:
            moved = set_aside(self._log_folder, damage)
        if self.is_new:
            return moved
        place = self._newest()[1]
        try:
            for end, chain, frame in checked_frames(self._log_folder):
                self._check_fits(place, end, chain, frame)
        except StoreError as error:
            first = paths(self._log_folder)[0]
            moved += set_aside(self._log_folder, DamagedLogError(first, 0, str(error)))
        return moved

    # ---- snapshots

    def snapshots(self) -> list[Snapshot]:
        """The snapshots, the oldest first."""
        found = []
        for path in sorted(self._snapshots.glob(f"*{ENDING}")):
            parts = path.stem.split("-")
            if len(parts) == 3 and all(part.isdigit() for part in parts) and path.is_file():
                position, generation, version = map(int, parts)
                with suppress(FileNotFoundError):  # the writer may have removed it meanwhile
                    found.append(Snapshot(path, version, generation, position, path.stat().st_size))
        return found

    def save(self, state: State, place: Place) -> Snapshot:
        """Write a snapshot; old ones, and what of the log nobody needs any more, are removed."""
        path, content = self._snapshots / _name(place), self.content(state, place)
        write_whole(path, content)
        sync_folder(self._snapshots)
        kept = self.snapshots()
        oldest = kept[-2].position if len(kept) > 1 else 0  # should the newest one be damaged
        self.needed = {target: at for target, at in self.needed.items() if at >= oldest}
        for old in kept[1:-KEPT_SNAPSHOTS]:  # the first one is what it began with
            if old.path.name not in self.needed:
                old.path.unlink()
        if hasattr(self, "log"):
            self.log.drop_before(oldest, self._keep_bytes)
        return Snapshot(path, place.version, place.generation, place.position, len(content))

    def load(self, snapshot: Snapshot) -> tuple[State, Place]:
        """The model of a snapshot. ModelFileError if it is not sound."""
        return loaded(snapshot.path)

    @staticmethod
    def content(state: State, place: Place) -> bytes:
        """The file of a snapshot. Of a model that has seen nothing it has the place alone."""
        if state.kind is None:
            return EMPTY + _with_check(orjson.dumps(place._asdict()))
        return as_bytes(state.model, place._asdict())


def _name(place: Place) -> str:
    """The file of a snapshot; in the order of these names, later ones come last."""
    return f"{place.position:020d}-{place.generation:06d}-{place.version:020d}{ENDING}"


def loaded(path: Path) -> tuple[State, Place]:
    """The state and the place in a snapshot."""
    with path.open("rb") as file:
        begin = file.read(4096)
    model, kept = _empty(path, begin) if begin.startswith(EMPTY) else _of_file(path)
    if not isinstance(kept, dict) or {*kept} != {*Place._fields} or not all(type(n) is int for n in kept.values()):
        raise ModelFileError(f"{path}: this is a model, but not a snapshot of a server.")
    return State(model, kept["version"]), Place(**kept)


def _of_file(path: Path) -> tuple[Any, Any]:
    model, header = load_with_header(path)
    return model, header.get("place")


def _empty(path: Path, content: bytes) -> tuple[Any, Any]:
    """A model that has seen nothing, and its place."""
    place = content[len(EMPTY) : -CHECK.size]
    if content != EMPTY + _with_check(place):
        raise ModelFileError(f"{path}: the checksum does not match: the file was altered or damaged.")
    return Perceptron(), orjson.loads(place)


def _with_check(content: bytes) -> bytes:
    return content + CHECK.pack(zlib.crc32(content))


def loaded_content(content: bytes, folder: Path) -> tuple[State, Place]:
    """The same, of bytes that came from elsewhere."""
    handle, name = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return loaded(Path(name))
    finally:
        os.unlink(name)
