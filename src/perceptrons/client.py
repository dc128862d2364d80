"""A client for `perceptrons serve`: predict, learn and inspect a served model, by the standard library alone.

A request that fails on the way is sent again. Learning is safe to repeat: every request to learn has a key, by which
the server recognises it and learns from it once.
"""

import http.client
import json
import random
import ssl
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import local
from typing import Any
from urllib.parse import urlencode, urlsplit

__all__ = ["Client", "ServerError"]

JSON = {"Content-Type": "application/json"}
BUSY = (429, 503)  # statuses after which the same request may succeed later
LONGEST_PAUSE = 5.0  # seconds


class ServerError(RuntimeError):
    """The server refused a request. `status` is its HTTP status, `message` what it said."""

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
        asked: dict[str, Any] = {"examples": list(examples), "scores": scores, "probabilities": probabilities}
        return self._json("POST", "/predict", {**asked, "explain": explain, "top": top})

    def learn(self, examples: Sequence[Any], labels: Sequence[Any] | None = None, *, key: str | None = None) -> Any:
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
        asked = {"examples": list(examples)} | ({} if labels is None else {"labels": list(labels)})
        return self._json("POST", "/learn", asked, {"Idempotency-Key": key or uuid.uuid4().hex})

    def feedback(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """Learn the right labels of earlier predictions, by their ids."""
        return self._json("POST", "/feedback", {"feedback": [{"id": k, "label": v} for k, v in labels.items()]})

    # ---- the model

    def model(self) -> dict[str, Any]:
        """Return what `perceptrons inspect --json` prints."""
        return self._json("GET", "/model")

    def download(self, path: str | Path) -> int:
        """Write the model file to a path. Returns the version of the model."""
        status, headers, content = self._sent("GET", "/model/file")
        self._check(status, content)
        Path(path).write_bytes(content)
        return int(headers["perceptrons-version"])

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
        """Can the server answer now?"""
        try:
            return self._once("GET", "/readyz", None, {})[0] == http.client.OK
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
        status, headers, content = self._sent("GET", f"/log?{query}", headers={"Perceptrons-Term": str(term)})
        if status == http.client.GONE:
            return None, headers
        self._check(status, content)
        return content, headers

    def copy(self) -> bytes:
        """Return what a new follower begins with: the model file, its place in the log, and the idempotency keys."""
        status, _, content = self._sent("GET", "/model/file?place=1")
        self._check(status, content)
        return content

    # ---- requests

    def _json(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, repeatable: bool = True
    ) -> Any:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        status, _, answer = self._sent(method, path, content, headers, repeatable)
        self._check(status, answer)
        return json.loads(answer)

    def _sent(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        repeatable: bool = True,
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request, again if need be. OSError if the server cannot be reached."""
        retries = self._retries if repeatable else 0
        for attempt in range(retries + 1):
            pause = min(LONGEST_PAUSE, 0.1 * 2**attempt)
            try:
                status, received, content = self._once(method, path, body, headers or {})
            except OSError:
                if attempt == retries:
                    raise
            else:
                if status not in BUSY or attempt == retries:
                    return status, received, content
                asked = received.get("retry-after", "")
                pause = max(pause, min(LONGEST_PAUSE, float(asked))) if asked.isdigit() else pause
            time.sleep(pause * random.uniform(0.5, 1.0))
        raise AssertionError("unreachable")

    def _once(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        sent = {**self._headers, **headers, **({} if body is None else JSON)}
        if self._http is not None:
            answer = self._http.request(method, self.url + path, content=body, headers=sent)
            return answer.status_code, dict(answer.headers), answer.content
        connection = self._connection()
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, body, sent)
            received = connection.getresponse()
            return received.status, {name.lower(): text for name, text in received.getheaders()}, received.read()
        except http.client.HTTPException as error:
            connection.close()
            raise ConnectionError(f"{self.url}: the connection broke ({type(error).__name__}).") from error
        except OSError:
            connection.close()
            raise

    def _connection(self) -> http.client.HTTPConnection:
        """The connection of this thread, which stays open between requests."""
        if not hasattr(self._open, "connection"):
            host, port = str(self._parts.hostname), self._parts.port
            if self._parts.scheme == "https":
                made: http.client.HTTPConnection = http.client.HTTPSConnection(
                    host, port, timeout=self._timeout, context=self._context
                )
            else:
                made = http.client.HTTPConnection(host, port, timeout=self._timeout)
            self._open.connection = made
            self._connections.append(made)
        return self._open.connection

    @staticmethod
    def _check(status: int, content: bytes) -> None:
        if status == http.client.OK:
            return
        try:
            message = json.loads(content)["error"]
        except (ValueError, TypeError, KeyError):
            message = "The server did not say what is wrong."
        raise ServerError(status, message)
