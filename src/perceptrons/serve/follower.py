"""A follower replays the log of a leader, over HTTP, so that it has the same model at the same version, bit for bit."""

import logging
from threading import Event, Thread
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from perceptrons.serve.log import FRAME_SIZE, parse_frame
from perceptrons.serve.store import Store, StoreError, loaded_content
from perceptrons.serve.writer import Writer

WAIT = 10  # seconds that the leader may wait for something new
PAUSE = 1.0  # seconds after something went wrong
GONE = 410
logger = logging.getLogger("perceptrons.serve")


class Follower(Thread):
    """Asks the leader for what it has logged, and gives it to the writer."""

    def __init__(self, writer: Writer, url: str, token: str | None):
        super().__init__(name="follower", daemon=True)
        self.url, self._token, self._writer, self._ended = url.rstrip("/"), token, writer, Event()

    def begin(self, store: Store) -> None:
        """Begin an empty folder with the model of the leader."""
        try:
            state, place = loaded_content(self._fetched("/model/file?place=1"), store.folder)
        except (URLError, OSError) as error:
            raise StoreError(f"{self.url}: the leader does not answer ({error}).") from error
        store.begin(state.model, place)

    def run(self) -> None:
        while not self._ended.is_set():
            try:
                self._follow()
            except HTTPError as error:
                if error.code == GONE:
                    self._begin_again()
                    continue
                logger.warning("The leader %s answers %d: trying again.", self.url, error.code)
                self._ended.wait(PAUSE)
            except LookupError:  # the leader went back to a snapshot
                self._begin_again()
            except (URLError, OSError) as error:
                logger.warning("The leader %s does not answer (%s): trying again.", self.url, error)
                self._ended.wait(PAUSE)

    def stop(self) -> None:
        """End, but finish what was begun."""
        self._ended.set()
        if self.is_alive():
            self.join(2 * WAIT)

    def _follow(self) -> None:
        """Ask once, and learn what comes."""
        log = self._writer.store.log
        content = memoryview(self._fetched(f"/log?position={log.position}&wait={WAIT}"))
        offset = 0
        while offset < len(content) and not self._ended.is_set():
            frame, problem = parse_frame(content, offset, log.last)
            if frame is None:
                if problem is not None:  # not the log that this one is a copy of
                    logger.warning("The log of %s is another one (%s): beginning again with it.", self.url, problem)
                    raise LookupError(problem)
                return
            offset += FRAME_SIZE + len(frame.payload)
            learned = frame
            self._writer.ask(lambda: self._writer.apply(learned)).result()  # noqa: B023 (it is awaited here)

    def _begin_again(self) -> None:
        """Take the model of the leader as it is now."""
        try:
            state, place = loaded_content(self._fetched("/model/file?place=1"), self._writer.store.folder)
            self._writer.ask(lambda: self._writer.become(state, place)).result()
        except (URLError, OSError) as error:
            logger.warning("The leader %s does not answer (%s): trying again.", self.url, error)
            self._ended.wait(PAUSE)

    def _fetched(self, path: str) -> bytes:
        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        with urlopen(Request(self.url + path, headers=headers), timeout=3 * WAIT) as answer:
            return bytes(answer.read())
