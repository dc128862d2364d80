"""A server without HTTP: it starts, predicts, reports its state, leads or follows a leader, and ends."""

import io
import json
import logging
import tempfile
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock, Thread
from typing import IO, Any

from msgspec import structs

from perceptrons.inspection.summary import ModelSummary
from perceptrons.inspection.weights import most_important, rows_of
from perceptrons.linear import Perceptron
from perceptrons.modelfile import as_bytes
from perceptrons.serve.example_kinds import any_example, input_kind
from perceptrons.serve.follower import Follower
from perceptrons.serve.metrics import Metrics
from perceptrons.serve.recent import RecentExamples
from perceptrons.serve.schemas import LogSize, ModelShape, PredictOptions, PredictReply, Role, Stats
from perceptrons.serve.store import DISK_FULL, Place, Store, StoreError
from perceptrons.serve.writer import BusyError, Writer

CLOSE_SECONDS = 10.0  # to learn what waits when the server ends
SHOWN_FEATURES = 8  # features of each class on the page
MAX_SHOWN_CLASSES = 50
FEATURES_SECONDS = 2.0  # between two computations of the most important features
PIECE_BYTES = 2**18  # read from a model file at a time
logger = logging.getLogger("perceptrons.serve")


class ModelCopy:
    """A model file in a temporary file, from which any number of clients are sent pieces.

    If the disk is full, it stays in memory: then above all, somebody may want to save the model elsewhere.
    """

    def __init__(self, content: bytes, place: Place, folder: Path):
        self.place, self.n_bytes, self._lock = place, len(content), Lock()
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (it is closed below)
        try:
            self._file.write(content)
            self._file.flush()
        except OSError as error:
            with suppress(OSError):
                self._file.close()
            if error.errno not in DISK_FULL:
                raise
            self._file = io.BytesIO(content)
        weakref.finalize(self, self._file.close)

    def pieces(self) -> Iterator[bytes]:
        """Read the file from disk piece by piece."""
        for start in range(0, self.n_bytes, PIECE_BYTES):
            with self._lock:
                self._file.seek(start)
                piece = self._file.read(PIECE_BYTES)
            yield piece


class Service:
    """The server as the routes see it. The web server sets `failed`, which is called to end it, and `ending`."""

    def __init__(
        self, store: Store, writer: Writer, follow: tuple[str, str | None] | None = None, accept_older: bool = False
    ):
        self.store, self.writer = store, writer
        self.recent_examples, self.metrics = RecentExamples(), Metrics()
        self.ready = False
        self.error: BaseException | None = None
        self.failed: Callable[[], None] = lambda: None
        self.ending: Callable[[], bool] = lambda: False  # does the web server end? Requests are still answered
        self._start_time = time.monotonic()
        self._follower = None if follow is None else Follower(writer, *follow, accept_older)
        self._heard_term = 0  # the newest term that another server has told since this one was started
        self._copies: dict[bool, ModelCopy] = {}
        self._features: list[dict[str, Any]] | None = None  # computed for `_features_version`
        self._features_version, self._features_due, self._features_lock = -1, 0.0, Lock()
        self._example: Any = None  # predicted last
        writer.failed = self._fail

    # ---- start and end

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """Start, and close at the end. Until the log is read, the server answers that it is not ready."""
        starting = Thread(target=self._start, name="start", daemon=True)
        starting.start()
        try:
            yield
        finally:
            starting.join(CLOSE_SECONDS)
            self._close()

    def _start(self) -> None:
        try:
            if self._follower is not None and not self.store.snapshots():
                self._follower.begin(self.store)
            self.writer.recover()
            self._decide_role()
            self._compile()
        except Exception as error:
            self._fail(error)
            return
        for warning in self.store.warnings:
            logger.warning("%s", warning)
        self.writer.start()
        if self._follower is not None:
            self._follower.start()
        self.ready = True

    def _decide_role(self) -> None:
        """Lead or follow: as the folder says if the server was promoted, else as the command says."""
        store, follower = self.store, self._follower
        identity = store.identity
        if follower is None:
            if identity.role == "follower":
                self._lead()
                logger.warning(
                    "This server followed %s, and leads now, as it was started without --follow (term %d). See to it "
                    "that the old leader stays off.", identity.leader, store.identity.term,
                )  # fmt: skip
            elif self.is_superseded:
                logger.warning("%s", self.warning)
            return
        if identity.role == "leader" and identity.leader == follower.url and follower.newest_term() <= identity.term:
            logger.warning(
                "This server was promoted (term %d) and stays a leader, although --follow %s is given.",
                identity.term, follower.url,
            )  # fmt: skip
            self._follower = None
            return
        store.set_identity(role="follower", leader=follower.url)

    def _lead(self) -> None:
        """Make this server the leader of a new term, on disk first."""
        self.store.set_identity(role="leader", term=max(self.store.identity.term, self._newest_term) + 1)

    def _fail(self, error: BaseException) -> None:
        """End the server. The error is shown when it has ended."""
        self.error, self.ready = error, False
        self.failed()

    def _compile(self) -> None:
        """Predict and learn once, on a copy, so that the first requests need not wait for the compiler.

        A model whose parameters do not allow it to learn from single examples is served all the same: `/learn` says so.
        """
        with self.writer.buffer.reading() as state:
            pair = any_example(state.model, state.kind)
            if pair is not None:
                example, label = pair
                state.predict([example])
                if state.can_learn:
                    with suppress(ValueError):
                        state.copied().learn([example], [label])

    def _close(self) -> None:
        self._copies.clear()
        if self._follower is not None:
            self._follower.end()  # the writer refuses what it may still bring
        if not self.ready:
            return
        self.ready = False
        if not self.writer.close(CLOSE_SECONDS):
            logger.error("Learning took longer than %g seconds to end. What was answered is safe.", CLOSE_SECONDS)

    # ---- answers

    def predict(self, examples: list[Any], options: PredictOptions) -> PredictReply:
        """Predict examples. Their ids are remembered for feedback."""
        with self.writer.buffer.reading() as state:
            predictions = state.predict(examples, bool(options.scores), bool(options.probabilities), options.top)
            if options.explain:
                for prediction, example in zip(predictions, examples, strict=True):
                    prediction.explanation = state.explain(example)
            version = state.version
        for prediction, name in zip(predictions, self.recent_examples.add(examples), strict=True):
            prediction.id = name
        self._example = examples[-1]
        self.writer.progress.add_predicted(len(examples))
        return PredictReply(version, predictions)

    def inspected(self) -> dict[str, Any]:
        """Return what `perceptrons inspect --json` prints, and the version."""
        with self.writer.buffer.reading() as state:
            if state.kind is None:
                return {"kind": type(state.model).__name__, "version": state.version, "classes": []}
            return {**ModelSummary(state.model).to_dict(), "version": state.version}

    def model_copy(self, with_place: bool) -> ModelCopy:
        """Return a copy of the model file on disk; with the place for followers. Called by the writer.

        All requests while the model stays the same get the same copy.
        """
        place = self.writer.place()
        copy = self._copies.get(with_place)
        if copy is not None and copy.place == place:
            return copy
        if with_place:
            content = self.store.content(self.writer.buffer.back, place, self.writer.replies, self.store.identity)
        elif self.writer.buffer.back.kind is None:
            raise LookupError("The model has learned nothing yet, so there is no file of it.")
        else:
            content = as_bytes(self.writer.buffer.back.model)
        self._copies[with_place] = copy = ModelCopy(content, place, self.store.folder)
        return copy

    # ---- state

    @property
    def version(self) -> int:
        return self.writer.buffer.version

    @property
    def leader(self) -> str | None:
        """The URL of the server that this one follows."""
        return None if self._follower is None else self._follower.url

    @property
    def role(self) -> Role:
        return "leader" if self._follower is None else "follower"

    @property
    def is_quick(self) -> bool:
        """True if a prediction takes less time than handing it to a thread."""
        with self.writer.buffer.reading() as state:
            return isinstance(state.model, Perceptron)

    @property
    def can_learn(self) -> bool:
        with self.writer.buffer.reading() as state:
            return state.can_learn

    def promote(self) -> None:
        """Stop following, and learn. Called while nothing is learned."""
        if self._follower is not None or self.is_superseded:
            self._lead()
        if self._follower is not None:
            self._follower.end()
            self._follower = None

    def meet_term(self, term: int) -> None:
        """Take notice of a term that another server knows. If it is newer, this server is no leader any more."""
        if term > max(self.store.identity.term, self._newest_term):
            logger.error("Another server was promoted (term %d), so this one stops learning.", term)
            self._heard_term = term
            with suppress(BusyError):  # the server ends, and hears of the term again
                self.writer.ask(self._write_newest_term)

    def _write_newest_term(self) -> None:
        """Write the newest term to the folder, so that a restart does not forget it."""
        try:
            self.store.set_identity(newest_term=self._newest_term)
        except OSError as error:
            logger.error("The term %d cannot be written (%s): a restart forgets it.", self._newest_term, error)

    @property
    def _newest_term(self) -> int:
        """The newest term of another server that this one has heard of, also before it was started."""
        return max(self.store.identity.newest_term, self._heard_term)

    @property
    def is_superseded(self) -> bool:
        """True if this server is a leader, and another one was promoted."""
        return self._follower is None and self._newest_term > self.store.identity.term

    @property
    def warning(self) -> str | None:
        """The decision that a person has to make, or None."""
        if self.is_superseded:
            return (
                f"Another server was promoted (term {self._newest_term}), so this one (term "
                f"{self.store.identity.term}) does not learn: stop it, or let it follow the new leader (--follow)."
            )
        warning = None if self._follower is None else self._follower.warning
        return None if warning is None else f"This server does not follow its leader: {warning}"

    def render_metrics(self) -> bytes:
        if not self.ready:
            return self.metrics.render()
        progress = self.writer.progress.stats()
        return self.metrics.render(
            progress, version=self.version, position=self.store.log.position, queue=self.writer.n_waiting,
            learned=progress.learned, mistakes=progress.mistakes, predicted=self.writer.progress.predictions,
            model_bytes=self._model_bytes(), log_bytes=self.store.log.n_bytes,
        )  # fmt: skip

    def stats(self) -> Stats:
        """Return the numbers of the live page."""
        with self.writer.buffer.reading() as state:
            model, kind, version = state.model, state.kind, state.version
            classes = [] if kind in (None, "pipeline") else model.classes_.tolist()[:MAX_SHOWN_CLASSES]
            n_features = int(getattr(model, "n_features_in_", 0))
            shape = ModelShape(type(model).__name__, kind, classes, n_features, self._model_bytes(), self._example)
        log, snapshots = self.store.log, [snapshot.entry() for snapshot in self.store.snapshots()]
        return Stats(
            **structs.asdict(self.writer.progress.stats()),
            version=version, generation=self.writer.generation, position=log.position, role=self.role,
            leader=self.leader, ready=self.ready, term=self.store.identity.term, warning=self.warning,
            uptime=round(time.monotonic() - self._start_time, 1), features=self._important_features(version),
            model=shape, log=LogSize(log.n_bytes, len(log.segments), snapshots),
        )  # fmt: skip

    def _important_features(self, version: int) -> list[dict[str, Any]] | None:
        """Return the most important features of each class. They are updated at most every two seconds."""
        with self._features_lock:
            now = time.monotonic()
            if self._features_version != version and now >= self._features_due:
                with self.writer.buffer.reading() as state:
                    has_weights = input_kind(state.model) not in (None, "pipeline") and hasattr(state.model, "coef_")
                    model = state.model
                    weights = most_important(model, rows_of(model), SHOWN_FEATURES)["weights"] if has_weights else None
                self._features, self._features_version = weights, version
                self._features_due = now + FEATURES_SECONDS
            return self._features

    def _model_bytes(self) -> int:
        snapshots = self.store.snapshots()
        return snapshots[-1].n_bytes if snapshots else 0


def prepare(store: Store, model: Any, path: Path | None, changes: dict[str, str] | None = None) -> None:
    """Start an empty folder with this model, or raise StoreError if the folder belongs to another one.

    changes: parameters of the model in the file that were changed for the server.
    """
    origin = None if path is None else path.read_bytes() + (json.dumps(changes).encode() if changes else b"")
    if origin is not None and not store.is_new and store.identity.base not in (None, sha256(origin).hexdigest()):
        raise StoreError(
            f"{store.folder}: serves what another model than {path}, or one with other options, has learned since. "
            "To serve that, leave MODEL out and give --data; to begin again with this one, give another --data."
        )
    if model is not None and not store.snapshots():
        store.begin(model, origin)
