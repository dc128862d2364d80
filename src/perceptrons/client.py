"""A client for `perceptrons serve`: predict, learn and inspect a served model, by the standard library alone.

A request that fails on the way is sent again. Learning is safe to repeat: every request to learn has a key, by which
the server recognises it and learns from it once.
"""

import http.client
import json
import random
import selectors
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import local
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

__all__ = ["Client", "ServerError"]

JSON = {"Content-Type": "application/json"}
BUSY = (429, 503)  # statuses after which the same request may succeed later
MAX_PAUSE_SECONDS = 5.0


class ServerError(RuntimeError):
    """The server refused a request. `status` is the HTTP status, `message` says what is wrong."""

    def __init__(self, status: int, message: str):
        super().__init__(f"{message} (status {status})")
        self.status, self.message = status, message


class Client:
    """Talk to a server that `perceptrons serve` started. It can be used by several threads.

    Parameters
    ----------
    url : str
        The address that the server printed.
    token : str or None
        The content of the server's `--token-file`.
    timeout : float
        The seconds to wait for an answer.
    retries : int
        How often a request is sent again if the connection fails or the server is busy.
    http : httpx.Client or None
        A client of httpx to send requests with (default: the standard library's).
    context : ssl.SSLContext or None
        Settings for HTTPS, such as the certificate of an authority of your own.

    Examples
    --------
    >>> from perceptrons.client import Client
    >>> client = Client("http://127.0.0.1:8080")
    >>> client.learn(["free cash", "see you at noon"], ["spam", "ham"])  # doctest: +SKIP
    {'version': 2, 'learned': 2, 'mistakes': 2, 'predictions': [None, None], 'repeated': False}
    >>> client.predict(["free tickets"])  # doctest: +SKIP
    ['spam']
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 5,
        http: Any = None,
        context: ssl.SSLContext | None = None,
    ):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a server, such as http://127.0.0.1:8080.")
        self.url = url.rstrip("/")
        self._parts, self._http, self._context = parts, http, context
        self._timeout, self._retries, self._open = timeout, retries, local()
        self._connections: list[http.client.HTTPConnection] = []  # of all threads
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def close(self) -> None:
        """Close the connections of all threads. A request that is sent afterwards opens a new one."""
        for connection in self._connections:
            connection.close()

    # ---- examples

    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """Return the predicted labels of some examples."""
        return [one["label"] for one in self.details(examples)["predictions"]]

    def details(
        self,
        examples: Sequence[Any],
        *,
        scores: bool = False,
        probabilities: bool = False,
        explain: bool = False,
        top: int | None = None,
    ) -> dict[str, Any]:
        """Return the version of the model, and for each example its label, its id, and what else you ask for.

        Parameters
        ----------
        examples : sequence
            Texts, records, rows or token lists: whatever the model was trained on.
        scores, probabilities, explain : bool
            Add the scores, the probabilities of a calibrated model, or what each feature contributes.
        top : int or None
            Add this many of the best labels with their scores.
        """
        options = {"scores": scores, "probabilities": probabilities, "explain": explain, "top": top}
        return self._json("POST", "/predict", {"examples": list(examples), **options})

    def learn(
        self, examples: Sequence[Any], labels: Sequence[Any] | None = None, *, key: str | None = None
    ) -> dict[str, Any]:
        """Learn from labelled examples. It returns when they are safe on the server's disk.

        Parameters
        ----------
        examples : sequence
            The examples; with their labels inside if `labels` is None.
        labels : sequence or None
            One label for each example.
        key : str or None
            The idempotency key: requests with the same key are learned from once (default: a new one).

        Returns
        -------
        dict
            `version`, `learned`, `mistakes`, `predictions` (made before learning) and `repeated`.
        """
        body = {"examples": list(examples)} | ({} if labels is None else {"labels": list(labels)})
        return self._json("POST", "/learn", body, {"Idempotency-Key": key or uuid.uuid4().hex})

    def feedback(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """Learn the right labels of earlier predictions, by their ids."""
        return self._json("POST", "/feedback", {"feedback": [{"id": k, "label": v} for k, v in labels.items()]})

    # ---- the model

    def model(self) -> dict[str, Any]:
        """Return what `perceptrons inspect --json` prints."""
        return self._json("GET", "/model")

    def download(self, path: str | Path) -> int:
        """Write the model file to a path. Returns the version of the model."""
        reply = self._checked(self._send("GET", "/model/file"))
        Path(path).write_bytes(reply.content)
        return int(reply.headers["perceptrons-version"])

    def stats(self) -> dict[str, Any]:
        """Return what the live page shows."""
        return self._json("GET", "/stats")

    def snapshot(self) -> dict[str, Any]:
        """Write a snapshot now."""
        return self._json("POST", "/snapshot")

    def snapshots(self) -> list[dict[str, Any]]:
        """Return the snapshots that the model can go back to."""
        return list(self._json("GET", "/snapshots"))

    def rollback(self, version: int) -> dict[str, Any]:
        """Go back to the snapshot of a version."""
        return self._json("POST", "/rollback", {"version": version}, repeatable=False)

    def promote(self) -> dict[str, Any]:
        """Make a follower a leader, which learns."""
        return self._json("POST", "/promote")

    def is_ready(self) -> bool:
        """Return whether the server can answer now."""
        try:
            return self._send_once("GET", "/readyz", None, {}).status == http.client.OK
        except OSError:
            return False

    # ---- the log, for followers

    def frames(self, position: int, wait: int = 0, term: int = 0) -> tuple[bytes | None, dict[str, str]]:
        """Return the log from a position on, and headers that say how far it goes. It waits for new entries.

        The log is None if it does not begin there any more, or does not go that far.

        Parameters
        ----------
        position : int
            The number of entries that you have.
        wait : int
            The seconds to wait if there is nothing new.
        term : int
            The newest term that you know. A leader of an older term learns from it that another server was promoted.
        """
        query = urlencode({"position": position, "wait": wait})
        reply = self._send("GET", f"/log?{query}", headers={"Perceptrons-Term": str(term)})
        if reply.status == http.client.GONE:
            return None, reply.headers
        return self._checked(reply).content, reply.headers

    def copy(self) -> bytes:
        """Return what a new follower begins with: the model file, its place in the log, and the idempotency keys."""
        return self._checked(self._send("GET", "/model/file?place=1")).content

    # ---- requests

    def _json(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, repeatable: bool = True
    ) -> Any:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        return json.loads(self._checked(self._send(method, path, content, headers, repeatable)).content)

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        repeatable: bool = True,
    ) -> "_Reply":
        """Send a request, again if it fails and is repeatable. Raise OSError if the server cannot be reached."""
        attempt = 0
        while True:
            is_last = not repeatable or attempt >= self._retries
            pause = min(MAX_PAUSE_SECONDS, 0.1 * 2**attempt)
            try:
                reply = self._send_once(method, path, body, headers or {})
                if is_last or reply.status not in BUSY:
                    return reply
                retry_after = reply.headers.get("retry-after", "")
                if retry_after.isdigit():
                    pause = max(pause, min(MAX_PAUSE_SECONDS, float(retry_after)))
            except OSError:
                if is_last:
                    raise
            time.sleep(pause * random.uniform(0.5, 1.0))
            attempt += 1

    def _send_once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> "_Reply":
        headers = {**self._headers, **headers, **({} if body is None else JSON)}
        if self._http is not None:
            response = self._http.request(method, self.url + path, content=body, headers=headers)
            return _Reply(response.status_code, dict(response.headers), response.content)
        connection = self._connection()
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, body, headers)
            response = connection.getresponse()
            reply_headers = {name.lower(): value for name, value in response.getheaders()}
            return _Reply(response.status, reply_headers, response.read())
        except http.client.HTTPException as error:
            connection.close()
            raise ConnectionError(f"{self.url}: the connection broke ({type(error).__name__}).") from error
        except OSError:
            connection.close()
            raise

    def _connection(self) -> http.client.HTTPConnection:
        """Return the connection of this thread, which stays open between requests."""
        if not hasattr(self._open, "connection"):
            connect: Callable[..., http.client.HTTPConnection] = http.client.HTTPConnection
            if self._parts.scheme == "https":
                connect = partial(http.client.HTTPSConnection, context=self._context)
            self._open.connection = connect(str(self._parts.hostname), self._parts.port, timeout=self._timeout)
            self._connections.append(self._open.connection)
        connection: http.client.HTTPConnection = self._open.connection
        if connection.sock is not None and _is_readable(connection.sock):  # the server has closed it meanwhile
            connection.close()  # the next request opens it again
        return connection

    @staticmethod
    def _checked(reply: "_Reply") -> "_Reply":
        """Return the reply of a request that succeeded. Raise ServerError for any other."""
        if reply.status == http.client.OK:
            return reply
        try:
            message = json.loads(reply.content)["error"]
        except (ValueError, TypeError, KeyError):
            message = "The server did not say what is wrong."
        raise ServerError(reply.status, message)


class _Reply(NamedTuple):
    """The reply to one request, with the names of its headers in lower case."""

    status: int
    headers: dict[str, str]
    content: bytes


def _is_readable(idle: socket.socket) -> bool:
    """Return whether there is something to read, or the end, on a connection where no answer is due."""
    with selectors.DefaultSelector() as selector:
        selector.register(idle, selectors.EVENT_READ)
        return bool(selector.select(0))
