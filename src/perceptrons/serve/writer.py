"""The one thread that learns: it takes what waits, learns it, logs it with one sync, publishes it, and answers.

The order matters. The back of the double buffer learns first, so a request that the model cannot take is refused before
anything is logged. The log is synced before readers see the new model and before anybody is answered, so what was
answered is never lost. Then the other copy learns the same.
"""

import logging
import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple, TypeVar

from perceptrons.inspection.evaluation import several_labels
from perceptrons.serve.example_kinds import UnfitError
from perceptrons.serve.journal import Frame, next_frame
from perceptrons.serve.metrics import Progress
from perceptrons.serve.recent import RecentReplies
from perceptrons.serve.schemas import LearnReply, RollbackReply
from perceptrons.serve.state import Change, DoubleBuffer, GrowthLimits, RestoreError, State
from perceptrons.serve.store import (
    Logged,
    NotLoggedError,
    Place,
    Rollback,
    Snapshot,
    SnapshotContent,
    Store,
    read_snapshot,
)

MAX_GROUP_EXAMPLES = 20_000  # learned between two syncs
REPLAY_EXAMPLES = 2000  # changes that are learned together when the server starts again
DEFAULT_LIMITS = GrowthLimits()
T = TypeVar("T")
logger = logging.getLogger("perceptrons.serve")


class BusyError(RuntimeError):
    """The server cannot do it now, as it is short of memory or ends."""


class QueueFullError(BusyError):
    """More is waiting than the server takes."""


class Job(NamedTuple):
    """Work for the writer: examples to learn, or a function to call while nothing is learned."""

    done: "Future[Any]"
    key: str | None = None
    digest: str = ""  # digest of a request that has a key
    examples: list[Any] = []  # noqa: RUF012 (never changed)
    labels: list[Any] | None = None
    call: Callable[[], Any] | None = None


END = Job(Future())  # put behind the last job


class Writer(Thread):
    """Learns for all. `submit` gives it examples, `ask` a function to call between two groups."""

    def __init__(
        self, store: Store, limits: GrowthLimits = DEFAULT_LIMITS, max_waiting: int = 50_000,
        snapshot_every: int = 100_000, clock: Callable[[], float] = time.monotonic,
    ):  # fmt: skip
        super().__init__(name="writer", daemon=True)
        self.store, self.replies, self.progress = store, RecentReplies(), Progress(clock)
        self.generation = 0
        self._limits, self._max_waiting, self._snapshot_every = limits, max_waiting, snapshot_every
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self.n_waiting, self._lock, self._is_closed = 0, Lock(), False  # n_waiting: examples
        self._postponed: Job | None = None  # by `_next_group`
        self.buffer: DoubleBuffer
        self._n_since_snapshot = 0
        self.failed: Callable[[BaseException], None] = lambda error: None  # called when it can learn no more

    # ---- starting again

    def recover(self) -> None:
        """Load the model, its counters and the remembered replies from the folder."""
        saved, frames = self.store.recovered()
        state, place, self.replies = saved.state, saved.place, saved.replies
        self.generation = place.generation
        learned, mistakes, pending = place.learned, place.mistakes, list[Change]()
        for frame in frames:
            logged = Logged.from_frame(frame)
            replies = self._count(logged, state.model, is_live=False)
            if frame.position < place.position:  # the snapshot has it
                continue
            learned += sum(reply.learned for reply in replies)
            mistakes += sum(reply.mistakes for reply in replies)
            pending += logged.changes
            if logged.rollback is not None or len(pending) > REPLAY_EXAMPLES:
                self._learn_pending(state, pending)
            if logged.rollback is not None:
                state, self.generation = self._load_rollback(logged.rollback), logged.rollback.generation
                self.store.needed[logged.rollback.snapshot] = frame.position
        self._learn_pending(state, pending)
        self.progress.set_totals(learned, mistakes)
        self.buffer = DoubleBuffer(state)

    def _learn_pending(self, state: State, pending: list[Change]) -> None:
        state.learn_all(pending)
        self._n_since_snapshot += _n_examples(pending)
        pending.clear()

    def _count(self, logged: Logged, model: Any, is_live: bool = True) -> list[LearnReply]:
        """Count what was learned, and remember the replies. Return them."""
        version, replies, has_label_sets = logged.version, list[LearnReply](), several_labels(model)
        for change in logged.changes:
            mistakes = self.progress.add_learned(change, version, has_label_sets, is_live)
            version += len(change.examples)
            reply = LearnReply(version, len(change.examples), mistakes, change.predictions, repeated=False)
            if change.key is not None:
                self.replies.add(change.key, change.digest, reply)
            replies.append(reply)
        return replies

    # ---- what others ask

    def submit(
        self, examples: list[Any], labels: list[Any] | None, key: str | None = None, digest: str = ""
    ) -> "Future[LearnReply]":
        """Learn from examples. QueueFullError if too many wait already. digest: of the request that has the key."""
        return self._put(Job(Future(), key, digest, examples, labels))

    def ask(self, call: Callable[[], T]) -> "Future[T]":
        """Call a function while nothing is learned."""
        return self._put(Job(Future(), call=call))

    def _put(self, job: Job) -> "Future[Any]":
        n = len(job.examples)
        with self._lock:
            if n and self.n_waiting and self.n_waiting + n > self._max_waiting:
                raise QueueFullError(f"{self.n_waiting:,} examples wait to be learned already: send them again later.")
            if self._is_closed:
                raise BusyError("The server is shutting down.")
            self.n_waiting += n
            self._jobs.put(job)
        return job.done

    def close(self, seconds: float) -> bool:
        """Learn what waits, write a snapshot of what is new, and end. Return False if that took too long."""
        with suppress(BusyError):  # it failed meanwhile
            self.ask(lambda: self.snapshot() if self._n_since_snapshot else None)
        with self._lock:
            self._is_closed = True
            self._jobs.put(END)
        self.join(seconds)
        return not self.is_alive()

    # ---- the thread

    def run(self) -> None:
        group = list[Job]()
        try:
            while group := self._next_group():
                if group[0].call is not None:
                    self._call(group[0])
                else:
                    self._learn_group(group)
        except BaseException as error:  # the two copies may differ now, so nothing more may be learned or published
            logger.critical("The server stops, as learning failed. What was acknowledged is safe.", exc_info=error)
            self._give_up(group, error)
        finally:
            self.store.close()

    def _give_up(self, group: list[Job], error: BaseException) -> None:
        """Tell the server to end, and refuse all that waits."""
        with self._lock:
            self._is_closed = True
        self.failed(error)
        waiting = [*group, *([] if self._postponed is None else [self._postponed])]
        while not self._jobs.empty():
            waiting.append(self._jobs.get_nowait())
        for job in waiting:
            if job is not END and not job.done.done():
                job.done.set_exception(BusyError("The server failed and ends: send the request again later."))

    def _next_group(self) -> list[Job]:
        """Return the requests to learn that wait, or one function to call, or nothing at the end.

        A request that comes twice waits for the next group, where the reply to the first one is known.
        """
        group, keys, n = list[Job](), set[str](), 0
        while True:
            job, self._postponed = self._postponed or self._jobs.get(), None
            if group and (job is END or job.call is not None or job.key in keys):
                self._postponed = job
                return group
            if job is END:
                return []
            group.append(job)
            keys |= set() if job.key is None else {job.key}
            n += len(job.examples)
            if job.call is not None or n >= MAX_GROUP_EXAMPLES or self._jobs.empty():
                return group

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
        new = [job for job in group if not self._answer_if_known(job)]
        learned = self._learn_jobs(new)
        if learned:
            self._commit(learned)
        with self._lock:
            self.n_waiting -= sum(len(job.examples) for job in group)
        self._snapshot_if_due()

    def _answer_if_known(self, job: Job) -> bool:
        """Answer a request that was answered before."""
        try:
            reply = self.replies.find(job.key, job.digest)
        except ValueError as error:  # the key of another request
            job.done.set_exception(error)
            return True
        if reply is not None:
            job.done.set_result(reply)
        return reply is not None

    def _learn_jobs(self, jobs: list[Job]) -> list[tuple[Job, Change]]:
        """Let the back learn from all requests at once; if one of them does not fit, from one after the other.

        Those that do not fit are refused, and leave no trace in the model.
        """
        try:
            return self._try_to_learn(jobs, []) if jobs else []
        except RestoreError:
            raise
        except Exception:
            logger.debug("One of %d requests does not fit", len(jobs), exc_info=True)
        learned = list[tuple[Job, Change]]()
        for job in jobs:
            try:
                learned += self._try_to_learn([job], [change for _, change in learned])
            except RestoreError:
                raise
            except Exception as error:
                job.done.set_exception(_error_for_client(error))
        return learned

    def _try_to_learn(self, jobs: list[Job], learned: list[Change]) -> list[tuple[Job, Change]]:
        """Let the back learn from requests. If it cannot, restore it to what it was after the changes `learned`."""
        back = self.buffer.back
        if back.kind is None and len(jobs) > 1:
            raise UnfitError("The first request alone says what an example is.")
        inputs = [back.read(job.examples, job.labels) for job in jobs]
        predictions = iter(back.predict([example for examples, _ in inputs for example in examples], new_columns=True))
        changes = [
            Change(
                key=job.key, digest=job.digest, examples=examples, labels=labels,
                predictions=[next(predictions).label for _ in examples],
            )
            for job, (examples, labels) in zip(jobs, inputs, strict=True)
        ]  # fmt: skip
        self._limits.check_labels(back, changes)
        try:
            back.learn_all(changes)
            with self.buffer.reading() as front:
                self._limits.check(back, front)
        except BaseException:
            self.buffer.restore(learned)
            raise
        return list(zip(jobs, changes, strict=True))

    def _commit(self, learned: list[tuple[Job, Change]]) -> None:
        """Log, publish, answer, and let the other copy learn. If the log cannot be written, nothing was learned."""
        logged = Logged(self.buffer.version, [change for _, change in learned])
        try:
            frame = next_frame(self.store.log.last, logged.version, logged.payload())
        except MemoryError as error:
            self._refuse(learned, _error_for_client(error))
            return
        try:
            self.store.append(frame, logged.version_after)
        except NotLoggedError as error:  # any other error leaves it open what the log holds, and ends the writer
            self._refuse(learned, error)
            logger.error("The log cannot be written: %s", error)
            return
        self.buffer.publish()
        for (job, _), reply in zip(learned, self._count(logged, self.buffer.back.model), strict=True):
            job.done.set_result(reply)
        self._catch_up(logged)

    def _refuse(self, learned: list[tuple[Job, Change]], error: Exception) -> None:
        """Take back what the back has learned."""
        self.buffer.restore()
        for job, _ in learned:
            job.done.set_exception(error)

    def _catch_up(self, logged: Logged) -> None:
        """Let the other copy learn what was published."""
        self.buffer.catch_up(logged.changes)
        self._n_since_snapshot += _n_examples(logged.changes)

    def apply(self, frame: Frame) -> bool:
        """Learn what a leader has logged: for followers. Return False if the leader went back to a snapshot.

        Called while nothing else is learned (`ask`).
        """
        logged = Logged.from_frame(frame)
        if logged.rollback is not None:
            return False
        try:
            self.buffer.back.learn_all(logged.changes)
            self.store.append(frame, logged.version_after)
        except BaseException:
            self.buffer.restore()
            raise
        self.buffer.publish()
        self._count(logged, self.buffer.back.model)
        self._catch_up(logged)
        self._snapshot_if_due()
        return True

    # ---- snapshots

    def place(self) -> Place:
        """Return where the log and the counts are."""
        last, totals = self.store.log.last, self.progress.totals()
        return Place(self.store.log.position, last.chain, self.buffer.version, self.generation, *totals)

    def snapshot(self) -> Snapshot:
        """Write a snapshot now. Called while nothing is learned (`ask`)."""
        snapshot = self.store.save(self.buffer.back, self.place(), self.replies)
        self._n_since_snapshot = 0
        return snapshot

    def _snapshot_if_due(self) -> None:
        if self._n_since_snapshot >= self._snapshot_every:
            self._try_snapshot()

    def _try_snapshot(self) -> None:
        """Write a snapshot. A full disk is no reason to stop, as the log has everything."""
        try:
            self.snapshot()
        except (OSError, ValueError) as error:  # ValueError: of weights that are not finite
            self._n_since_snapshot = 0
            logger.error("A snapshot cannot be written: %s. The log has everything, so nothing is lost.", error)

    def rollback(self, version: int) -> RollbackReply:
        """Go back to the newest snapshot of this version. Called while nothing is learned."""
        snapshots = self.store.snapshots()
        names = [snapshot.path.name for snapshot in snapshots if snapshot.version == version]
        if not names:
            versions = ", ".join(f"{snapshot.version:,}" for snapshot in snapshots)
            raise LookupError(f"There is no snapshot of version {version:,}, only of {versions}.")
        rollback = Rollback(version, names[-1], self.generation + 1)
        state = self._load_rollback(rollback)
        log, logged = self.store.log, Logged(self.buffer.version, [], rollback)
        self.store.append(next_frame(log.last, logged.version, logged.payload()), version)
        self.store.needed[rollback.snapshot] = log.position - 1
        self.generation = rollback.generation
        self.buffer.replace(state)
        self._try_snapshot()
        return RollbackReply(version, rollback.generation)

    def _load_rollback(self, rollback: Rollback) -> State:
        """Return the model that a rollback goes to."""
        for snapshot in self.store.snapshots():
            if snapshot.path.name == rollback.snapshot:
                return read_snapshot(snapshot.path).state
        raise LookupError(f"The snapshot {rollback.snapshot} is gone, to which the log goes back.")

    def become(self, copy: SnapshotContent, keep: bool) -> Path | None:
        """Begin again with a leader's model. Called while nothing is learned.

        keep: move what is there to a folder, which is returned.
        """
        backup = self.store.replace_with(copy, keep)
        place = copy.place
        self.generation, self.replies = place.generation, copy.replies
        self.progress.set_totals(place.learned, place.mistakes)
        self.buffer.replace(copy.state)
        return backup


def _n_examples(changes: list[Change]) -> int:
    return sum(len(change.examples) for change in changes)


def _error_for_client(error: Exception) -> Exception:
    """Return an error that says what is wrong with the request, or that it cannot be learned now."""
    if isinstance(error, ValueError | TypeError):
        return error
    logger.error("Learning failed", exc_info=error)
    if isinstance(error, MemoryError):
        return BusyError("There is not enough memory to learn from these examples: send fewer, or send them later.")
    return ValueError("The model cannot learn from these examples.")
