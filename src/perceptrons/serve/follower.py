"""A follower replays the log of a leader, over HTTP, so that it has the same model at the same version, bit for bit."""

import logging
from threading import Event, Thread

from perceptrons.client import Client, ServerError
from perceptrons.serve.journal import FRAME_SIZE, parse_frame
from perceptrons.serve.store import Store, StoreError, loaded_content
from perceptrons.serve.writer import BusyError, Writer

WAIT = 10  # seconds that the leader may wait for something new
PAUSE = 1.0  # seconds after something went wrong
logger = logging.getLogger("perceptrons.serve")


class Follower(Thread):
    """Asks the leader for what it has logged, and gives it to the writer."""

    def __init__(self, writer: Writer, url: str, token: str | None):
        super().__init__(name="follower", daemon=True)
        self.url, self._writer, self._ended = url.rstrip("/"), writer, Event()
        self._leader = Client(url, token, timeout=3 * WAIT, retries=0)

    def begin(self, store: Store) -> None:
        """Begin an empty folder with the model of the leader."""
        try:
            state, place = loaded_content(self._leader.model_at_its_place(), store.folder)
        except (ServerError, OSError) as error:
            raise StoreError(f"{self.url}: the leader does not answer ({error}).") from error
        store.begin(state.model, place)

    def run(self) -> None:
        while not self._ended.is_set():
            try:
                self._follow()
            except BusyError:  # this server ends
                return
            except Exception as error:  # a leader that cannot be reached, a full disk, an answer that makes no sense
                logger.warning("Following %s failed (%s). Trying again.", self.url, error)
                self._ended.wait(PAUSE)

    def stop(self, wait: bool = True) -> None:
        """Stop, but finish what is in progress. wait: until the leader has answered what it was asked."""
        self._ended.set()
        if wait and self.is_alive():
            self.join(2 * WAIT)

    def _follow(self) -> None:
        """Ask once, and learn what comes."""
        log = self._writer.store.log
        received = self._leader.frames(log.position, WAIT)
        if self._ended.is_set():
            return
        if received is None:
            self._begin_again("it no longer has what this server needs next")
            return
        content, offset = memoryview(received), 0
        while offset < len(content) and not self._ended.is_set():
            frame, problem = parse_frame(content, offset, log.last)
            if frame is None:
                if problem is not None:
                    self._begin_again(f"its log is not the one this server has a copy of: {problem}")
                return
            offset += FRAME_SIZE + len(frame.payload)
            learned = frame
            if not self._writer.ask(lambda: self._writer.apply(learned)).result():  # noqa: B023 (it is awaited here)
                self._begin_again("it went back to a snapshot")
                return

    def _begin_again(self, why: str) -> None:
        """Take the model of the leader as it is now."""
        logger.warning("Taking the model of the leader %s as it is now, as %s.", self.url, why)
        state, place = loaded_content(self._leader.model_at_its_place(), self._writer.store.folder)
        self._writer.ask(lambda: None if self._ended.is_set() else self._writer.become(state, place)).result()
