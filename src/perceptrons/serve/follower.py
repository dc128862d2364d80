"""A follower replays the log of a leader over HTTP, so that it has the same model at the same version, bit for bit.

What a follower has and its leader lacks may be the last copy. So a follower never replaces its model by an older one:
it stops following, says why, and waits until a person decides.
"""

import logging
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import NamedTuple, TypeVar

from perceptrons.client import Client, ServerError
from perceptrons.serve.journal import FRAME_SIZE, parse_frame
from perceptrons.serve.store import Store, StoreError
from perceptrons.serve.writer import BusyError, Writer

WAIT_SECONDS = 10  # how long the leader waits for something new before it answers
PAUSE_SECONDS = 1.0  # after an error
ADVICE = (
    "Nothing was changed. If this server has what you want to keep, promote it (POST /promote). If the leader has, "
    "start this server again with --accept-older, which moves the log and the snapshots here to a folder beside them."
)
logger = logging.getLogger("perceptrons.serve")
T = TypeVar("T")


class RefusedLeaderError(RuntimeError):
    """The leader lacks what this server has, so it is not followed."""


class LeaderEnd(NamedTuple):
    """The end of a leader's log, and the leader's term."""

    base: str
    term: int
    position: int
    chain: int
    version: int

    @classmethod
    def from_headers(cls, headers: dict[str, str]) -> "LeaderEnd":
        base, *numbers = (headers[f"perceptrons-{name}"] for name in cls._fields)
        return cls(base, *map(int, numbers))


class Follower(Thread):
    """Reads the log of the leader, and hands its frames to the writer.

    accept_older: take the model of the leader even if this server has more, and move what is here aside.
    """

    def __init__(self, writer: Writer, url: str, token: str | None, accept_older: bool = False):
        super().__init__(name="follower", daemon=True)
        self.url, self._writer, self._ended = url.rstrip("/"), writer, Event()
        self._accept_older = accept_older
        self._leader = Client(url, token, timeout=3 * WAIT_SECONDS, retries=0)
        self.warning: str | None = None  # why the leader is not followed

    def begin(self, store: Store) -> None:
        """Start an empty folder with the model of the leader."""
        try:
            content = self._leader.copy()
        except (ServerError, OSError) as error:
            raise StoreError(f"{self.url}: the leader does not answer ({error}).") from error
        store.start_copy(store.receive(content, self.url))

    def newest_term(self) -> int:
        """Return the term of the leader, or 0 if it does not answer. The leader gets the term of this server."""
        store = self._writer.store
        try:
            return LeaderEnd.from_headers(self._leader.frames(store.log.position, 0, store.identity.term)[1]).term
        except (ServerError, OSError) as error:
            logger.info("%s does not answer (%s).", self.url, error)
            return 0

    def run(self) -> None:
        while not self._ended.is_set():
            try:
                self._follow()
                self.warning = None
            except BusyError:  # this server ends
                return
            except RefusedLeaderError as error:
                if self.warning != str(error):
                    logger.warning("Not following %s: %s", self.url, error)
                self.warning = str(error)
                self._ended.wait(PAUSE_SECONDS)
            except Exception as error:  # a leader that cannot be reached, a full disk, an answer that makes no sense
                logger.warning("Following %s failed (%s). Trying again.", self.url, error)
                self._ended.wait(PAUSE_SECONDS)

    def end(self) -> None:
        """Learn nothing more from the leader."""
        self._ended.set()

    def _follow(self) -> None:
        """Read the log once, and learn what is new."""
        store = self._writer.store
        log = store.log
        received, headers = self._leader.frames(log.position, WAIT_SECONDS, store.identity.term)
        if self._ended.is_set():
            return
        end = LeaderEnd.from_headers(headers)
        refusal = self._refusal(end)
        if refusal is not None:
            self._refuse(refusal)
            return
        if received is None:
            self._begin_again("it no longer has what this server needs next", keep=True)
            return
        content, offset = memoryview(received), 0
        while offset < len(content) and not self._ended.is_set():
            frame, problem = parse_frame(content, offset, log.last)
            if frame is None:
                if problem is not None:
                    self._refuse(f"its log is not the one that this server has a copy of ({problem}).")
                return
            offset += FRAME_SIZE + len(frame.payload)
            if self._ask(partial(self._writer.apply, frame)) is False:
                self._begin_again("it went back to a snapshot", keep=False)
                return
        if end.term > store.identity.term:
            self._ask(partial(store.set_identity, term=end.term))

    def _ask(self, call: Callable[[], T]) -> T | None:
        """Let the writer call a function, unless following has ended by then."""
        return self._writer.ask(lambda: None if self._ended.is_set() else call()).result()

    def _refusal(self, end: LeaderEnd) -> str | None:
        """Return why a leader whose log ends like this must not be followed, or None."""
        store = self._writer.store
        log, identity = store.log, store.identity
        if end.term < identity.term:
            return (
                f"it is the leader of term {end.term}, but this server knows term {identity.term}: another server was "
                "promoted since."
            )
        if identity.base and end.base and end.base != identity.base:
            return "its log began with another model than the log of this server."
        if end.position < log.position:
            return (
                f"it is older than this server. It has version {end.version:,} ({end.position:,} entries), and this "
                f"server has version {self._writer.buffer.version:,} ({log.position:,} entries)."
            )
        if end.position == log.position and end.chain != log.last.chain:
            return f"the last of its {end.position:,} entries is another one than here."
        return None

    def _refuse(self, reason: str) -> None:
        """Take the model of the leader if --accept-older was given. Raise RefusedLeaderError if not."""
        if not self._accept_older:
            raise RefusedLeaderError(f"{reason} {ADVICE}")
        self._begin_again(f"--accept-older was given, and {reason}", keep=True)

    def _begin_again(self, reason: str, keep: bool) -> None:
        """Take the model of the leader as it is now. keep: move what is here to a folder beside it."""
        logger.warning("Taking the model of the leader %s as it is now: %s", self.url, reason)
        copy = self._writer.store.receive(self._leader.copy(), self.url)
        backup = self._ask(partial(self._writer.become, copy, keep))
        if backup is not None:
            logger.warning("What was here before is now in %s. Delete it when nobody needs it.", backup)
