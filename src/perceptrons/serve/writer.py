"""The one thread that learns: it takes what waits, learns it, logs it with one sync, publishes it, and answers.

The order matters. The back of the two sides learns first, so a request that the model cannot take is refused before
anything is logged. The log is synced before readers see the new model and before anybody is answered, so what was
answered is never lost. Then the other side learns the same.
"""

import errno
import logging
import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

from perceptrons.serve.example_kinds import UnfitError
from perceptrons.serve.growth import Growth
from perceptrons.serve.journal import Frame, framed
from perceptrons.serve.keys import Keys, ReusedKeyError, reused
from perceptrons.serve.metrics import Progress
from perceptrons.serve.sides import RestoreError, Sides
from perceptrons.serve.state import Change, State, several_labels_of
from perceptrons.serve.store import Copy, Logged, Place, Snapshot, Store

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
GROUP = 20_000  # examples that are learned between two syncs
REPLAYED = 2000  # changes that are learned together when the server starts again
logger = logging.getLogger("perceptrons.serve")


class BusyError(RuntimeError):
    """More is waiting than the server takes."""


class NotLoggedError(OSError):
    """The log could not be written, so nothing was learned."""


DEFAULT_GROWTH = Growth()


class Job(NamedTuple):
    """What waits for the writer: examples to learn, or something to do while nobody learns."""

    done: "Future[Any]"
    key: str | None = None
    asked: bytes = b""  # a digest of what the request with the key asked
    examples: list[Any] = []  # noqa: RUF012 (never changed)
    labels: list[Any] | None = None
    call: Callable[[], Any] | None = None


class Writer(Thread):
    """Learns for all. `submit` gives it examples, `ask` something else to do between two groups."""

    def __init__(
        self, store: Store, growth: Growth = DEFAULT_GROWTH, waiting: int = 50_000, snapshot_every: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
    ):  # fmt: skip
        super().__init__(name="writer", daemon=True)
        self.store, self.keys, self.progress = store, Keys(), Progress(clock)
        self.generation = 0
        self._growth, self._most, self._every = growth, waiting, snapshot_every
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._waiting, self._lock, self._closed = 0, Lock(), False
        self.sides: Sides
        self._since_snapshot = 0
        self.failed: Callable[[BaseException], None] = lambda error: None  # called when it can learn no more

    # ---- starting again

    def recover(self) -> None:
        """Have the model that the folder holds, and all that was counted and answered."""
        found = self.store.recovered()
        state, pending, reached = next(found), list[Change](), False
        assert isinstance(state, State)
        place, self.keys = self.store.place, self.store.keys
        self.generation = place.generation
        for logged in found:
            assert isinstance(logged, Logged)
            new = self.store.position >= place.position
            if new and not reached:
                self.progress.set_totals(place.learned, place.mistakes)
                reached = True
            self._count(logged, several_labels_of(state.model), now=False)
            if not new:
                continue
            pending += logged.changes
            if logged.rollback is not None or len(pending) > REPLAYED:
                state.learn_all(pending)
                self._since_snapshot += sum(len(change.examples) for change in pending)
                pending = []
            if logged.rollback is not None:
                state, self.generation = self._snapshot_of(logged.rollback)
                self.store.needed[logged.rollback["snapshot"]] = self.store.position
        state.learn_all(pending)
        self._since_snapshot += sum(len(change.examples) for change in pending)
        if not reached:
            self.progress.set_totals(place.learned, place.mistakes)
        self.sides = Sides(state)

    def _count(self, logged: Logged, sets: bool, now: bool = True) -> list[dict[str, Any]]:
        """Count what was learned, remember what was answered; returns the answers."""
        version, answers = logged.version, []
        for change in logged.changes:
            said = change.examples, change.labels, change.predictions
            mistakes = self.progress.add_learned(*said, version, sets, now)
            version += len(change.examples)
            answer = {
                "version": version, "learned": len(change.examples), "mistakes": mistakes,
                "predictions": change.predictions, "repeated": False,
            }  # fmt: skip
            if change.key is not None:
                self.keys.remember(change.key, change.digest, answer)
            answers.append(answer)
        return answers

    # ---- what others ask

    def submit(
        self, examples: list[Any], labels: list[Any] | None, key: str | None = None, asked: bytes = b""
    ) -> "Future[Any]":
        """Learn from examples. BusyError if too many wait already. asked: a digest of the request that has the key."""
        with self._lock:
            if self._closed:
                raise BusyError("The server is shutting down.")
            if self._waiting + len(examples) > self._most and self._waiting:
                raise BusyError(f"{self._waiting:,} examples wait to be learned already: send them again later.")
            self._waiting += len(examples)
            job = Job(Future(), key, asked, examples, labels)
            self._jobs.put(job)
        return job.done

    def ask(self, call: Callable[[], Any]) -> "Future[Any]":
        """Call a function while nothing is learned."""
        job = Job(Future(), call=call)
        with self._lock:
            if self._closed:
                raise BusyError("The server is shutting down.")
            self._jobs.put(job)
        return job.done

    @property
    def waiting(self) -> int:
        """The number of examples that wait."""
        return self._waiting

    def close(self, seconds: float) -> bool:
        """Learn what waits, then end. False if that took too long."""
        with self._lock:
            self._closed = True
            self._jobs.put(None)
        self.join(seconds)
        return not self.is_alive()

    # ---- the thread

    def run(self) -> None:
        ended, group, call = False, list[Job](), None
        try:
            while not ended:
                group, call, ended = self._taken()
                if group:
                    self._learn_group(group)
                if call is not None:
                    self._call(call)
        except BaseException as error:  # the two sides may differ now, so nothing more may be learned or published
            logger.critical("The server stops, as learning failed. What was acknowledged is safe.", exc_info=error)
            self._give_up([*group, *([] if call is None else [call])], error)
        finally:
            self.store.close()

    def _give_up(self, group: list[Job], error: BaseException) -> None:
        """Tell the server to end, and refuse all that waits."""
        with self._lock:
            self._closed = True
        self.failed(error)
        while not self._jobs.empty():
            job = self._jobs.get_nowait()
            if job is not None:
                group.append(job)
        for job in group:
            if not job.done.done():
                job.done.set_exception(BusyError("The server failed and ends: send the request again later."))

    def _taken(self) -> tuple[list[Job], Job | None, bool]:
        """All that waits to be learned, up to something else that is to be done; and whether that was the end."""
        group, n, job = list[Job](), 0, self._jobs.get()
        while True:
            if job is None or job.call is not None:
                return group, job, job is None
            group.append(job)
            n += len(job.examples)
            if n >= GROUP:
                return group, None, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group, None, False

    def _call(self, job: Job) -> None:
        assert job.call is not None
        try:
            job.done.set_result(job.call())
        except RestoreError:
            raise
        except Exception as error:
            job.done.set_exception(error)

    # ---- learning

    def _learn_group(self, group: list[Job]) -> None:
        new, again = self._without_known(group)
        learned = self._learned(new)
        if learned:
            self._commit(learned)
        for job, first in again:
            error = first.done.exception()
            if error is None:
                job.done.set_result({**first.done.result(), "repeated": True})
            else:
                job.done.set_exception(error)
        with self._lock:
            self._waiting -= sum(len(job.examples) for job in group)
        if self._since_snapshot >= self._every:
            self._snapshot_in_passing()

    def _without_known(self, group: list[Job]) -> tuple[list[Job], list[tuple[Job, Job]]]:
        """Answer requests that were answered before. Returns the others, and those that come twice in the group."""
        new, again, first = list[Job](), list[tuple[Job, Job]](), dict[str, Job]()
        for job in group:
            try:
                known = self.keys.answer(job.key, job.asked)
                if known is not None:
                    job.done.set_result(known)
                elif job.key is None or job.key not in first:
                    new.append(job)
                    if job.key is not None:
                        first[job.key] = job
                elif first[job.key].asked != job.asked:
                    raise reused(job.key)
                else:
                    again.append((job, first[job.key]))
            except ReusedKeyError as error:
                job.done.set_exception(error)
        return new, again

    def _learned(self, jobs: list[Job]) -> list[tuple[Job, Change]]:
        """Let the back learn from all requests at once; if one of them does not fit, from one after the other.

        Those that do not fit are refused, and leave no trace in the model.
        """
        try:
            return self._tried(jobs, []) if jobs else []
        except RestoreError:
            raise
        except Exception:
            logger.debug("One of %d requests does not fit", len(jobs), exc_info=True)
        found = list[tuple[Job, Change]]()
        for job in jobs:
            try:
                found += self._tried([job], [change for _, change in found])
            except RestoreError:
                raise
            except Exception as error:
                job.done.set_exception(_in_words(error))
        return found

    def _tried(self, jobs: list[Job], before: list[Change]) -> list[tuple[Job, Change]]:
        """What the requests ask, learned by the back. If it cannot, it becomes again what it was after `before`."""
        back = self.sides.back
        if back.kind is None and len(jobs) > 1:
            raise UnfitError("The first request alone says what an example is.")
        read = [back.read(job.examples, job.labels) for job in jobs]
        said = iter(back.predict([example for examples, _ in read for example in examples], new_columns=True))
        changes = [
            Change(job.key, examples, labels, [next(said).label for _ in examples], job.asked)
            for job, (examples, labels) in zip(jobs, read, strict=True)
        ]
        self._growth.check_labels(back, changes)
        try:
            back.learn_all(changes)
            with self.sides.reading() as front:
                self._growth.check(back, front)
        except BaseException:
            self.sides.restore(before)
            raise
        return list(zip(jobs, changes, strict=True))

    def _commit(self, learned: list[tuple[Job, Change]]) -> None:
        """Log, publish, answer, and let the other side learn. If the log cannot be written, nothing was learned."""
        changes = [change for _, change in learned]
        logged = Logged(self.sides.version, changes, None)
        try:
            frame = framed(self.store.log.last, logged.version, logged.payload())
        except MemoryError as error:
            self.sides.restore()
            for job, _ in learned:
                job.done.set_exception(_in_words(error))
            return
        try:
            self.store.append(frame, logged.version_after)
        except OSError as error:
            self.sides.restore()
            for job, _ in learned:
                job.done.set_exception(NotLoggedError(error.errno, error.strerror))
            logger.error("The log cannot be written: %s", error)
            return
        self.sides.publish()
        for (job, _), answer in zip(learned, self._count(logged, self._sets), strict=True):
            job.done.set_result(answer)
        self.sides.catch_up(changes)
        self._since_snapshot += sum(len(change.examples) for change in changes)

    @property
    def _sets(self) -> bool:
        """Does each example have a set of labels?"""
        return several_labels_of(self.sides.back.model)

    def apply(self, frame: Frame) -> bool:
        """Learn what a leader has logged: for followers. False if the leader went back to a snapshot.

        Called while nothing else is learned (`ask`).
        """
        logged = Logged.of(frame)
        if logged.rollback is not None:
            return False
        try:
            self.sides.back.learn_all(logged.changes)
            self.store.append(frame, logged.version_after)
        except BaseException:
            self.sides.restore()
            raise
        self.sides.publish()
        self._count(logged, self._sets)
        self.sides.catch_up(logged.changes)
        self._since_snapshot += sum(len(change.examples) for change in logged.changes)
        if self._since_snapshot >= self._every:
            self._snapshot_in_passing()
        return True

    # ---- snapshots

    def place(self) -> Place:
        """Where the log and the counts are."""
        last, total = self.store.log.last, self.progress.totals()
        return Place(self.store.log.position, last.chain, self.sides.version, self.generation, *total)

    @property
    def unsaved(self) -> bool:
        """Was anything learned since the newest snapshot?"""
        return self._since_snapshot > 0

    def snapshot(self) -> Snapshot:
        """Write a snapshot now. Called while nothing is learned (`ask`)."""
        found = self.store.save(self.sides.back, self.place(), self.keys)
        self._since_snapshot = 0
        return found

    def _snapshot_in_passing(self) -> None:
        """A snapshot is a convenience: the log has everything, so a full disk is no reason to stop."""
        try:
            self.snapshot()
        except (OSError, ValueError) as error:  # ValueError: of weights that are not finite
            self._since_snapshot = 0
            logger.error("A snapshot cannot be written: %s. The log has everything, so nothing is lost.", error)

    def copy_content(self) -> tuple[bytes, Place]:
        """The model as it is now with all that a follower needs. Called while nothing is learned."""
        place = self.place()
        return self.store.copy_content(self.sides.back, place, self.keys), place

    def rollback(self, version: int) -> dict[str, Any]:
        """Go back to the newest snapshot of this version. Called while nothing is learned."""
        found = [one for one in self.store.snapshots() if one.version == version]
        if not found:
            there = ", ".join(f"{one.version:,}" for one in self.store.snapshots())
            raise LookupError(f"There is no snapshot of version {version:,}, only of {there}.")
        told = {"to": version, "snapshot": found[-1].path.name, "generation": self.generation + 1}
        state, generation = self._snapshot_of(told)
        log = self.store.log
        try:
            logged = Logged(self.sides.version, [], told)
            self.store.append(framed(log.last, logged.version, logged.payload()), version)
        except OSError as error:
            raise NotLoggedError(error.errno, error.strerror) from error
        self.store.needed[found[-1].path.name] = log.position - 1
        self.generation = generation
        self.sides.replace(state)
        self._snapshot_in_passing()
        return {"version": version, "generation": generation}

    def _snapshot_of(self, told: dict[str, Any]) -> tuple[State, int]:
        """The model that a rollback goes to, and the generation that begins with it."""
        for one in self.store.snapshots():
            if one.path.name == told["snapshot"]:
                return self.store.load(one)[0], told["generation"]
        raise LookupError(f"The snapshot {told['snapshot']} is gone, to which the log goes back.")

    def become(self, copy: Copy, keep: bool) -> Path | None:
        """Begin again with a leader's model. Called while nothing is learned.

        keep: move what is there to a folder, which is returned.
        """
        kept = self.store.begin_again(copy, keep)
        place = copy.place
        self.generation, self.keys = place.generation, copy.keys
        self.progress.set_totals(place.learned, place.mistakes)
        self.sides.replace(State(copy.state.model, place.version))
        return kept


def _in_words(error: Exception) -> Exception:
    """What to answer: errors that say what is wrong with the examples as they are, others as such an error."""
    if isinstance(error, ValueError | TypeError):
        return error
    logger.error("Learning failed", exc_info=error)
    if isinstance(error, MemoryError):
        return BusyError("There is not enough memory to learn from these examples: send fewer, or send them later.")
    return ValueError("The model cannot learn from these examples.")
