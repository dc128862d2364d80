"""Recent requests that the server remembers: replies by idempotency key, and examples by the ids of predictions.

Both are kept as JSON, since Python objects would take ten times the memory, and within bounds of number and memory.
"""

import hashlib
import secrets
from collections import OrderedDict
from itertools import count
from threading import Lock
from typing import Any

from msgspec import Raw, json

from perceptrons.serve.schemas import LearnReply

MAX_KEYS, MAX_KEY_BYTES = 100_000, 2**26
MAX_EXAMPLES, MAX_EXAMPLE_BYTES = 100_000, 2**26
REQUEST_BYTES = 400  # memory of a request beside its examples
FEEDBACK = "feedback\n"  # how the keys of feedback begin; no client can send such a key, as it has a line break


def digest(content: Any) -> str:
    """Return a digest of the content of a request, by which a repeated request is recognised."""
    return hashlib.sha256(json.encode(content)).hexdigest()[:32]


def feedback_key(prediction_id: str) -> str:
    """Return the key under which the feedback on a prediction is remembered."""
    return f"{FEEDBACK}{prediction_id[:60]}"


class RecentReplies:
    """The replies to the newest requests that had an idempotency key. The oldest are forgotten when there are many."""

    def __init__(self) -> None:
        self._replies: OrderedDict[str, tuple[str, bytes]] = OrderedDict()  # digests of requests, replies as JSON
        self._n_bytes = 0

    @classmethod
    def from_json(cls, content: bytes) -> "RecentReplies":
        """Return the replies that `as_json` wrote."""
        replies = cls()
        for key, request_digest, reply in json.decode(content, type=list[tuple[str, str, Raw]]):
            replies._add(key, request_digest, bytes(reply))
        return replies

    def as_json(self) -> bytes:
        """Return all keys with their replies, the oldest first: for snapshots and followers."""
        return json.encode(
            [(key, request_digest, Raw(reply)) for key, (request_digest, reply) in self._replies.items()]
        )

    def __len__(self) -> int:
        return len(self._replies)

    def __contains__(self, key: str) -> bool:
        return key in self._replies

    def find(self, key: str | None, request_digest: str) -> LearnReply | None:
        """Return the reply to the earlier request with this key, or None. ValueError if it was another request."""
        if key is None or key not in self._replies:
            return None
        first_digest, content = self._replies[key]
        if first_digest != request_digest and key.startswith(FEEDBACK):
            prediction_id = key.removeprefix(FEEDBACK)[:40]
            raise ValueError(f"The prediction {prediction_id!r} was given another label before, by another request.")
        if first_digest != request_digest:
            raise ValueError(
                f"The idempotency key {key[:40]!r} was used for another request: give every request its own."
            )
        reply = json.decode(content, type=LearnReply)
        reply.repeated = True
        return reply

    def add(self, key: str, request_digest: str, reply: LearnReply) -> None:
        self._add(key, request_digest, json.encode(reply))

    def _add(self, key: str, request_digest: str, content: bytes) -> None:
        if key in self._replies:
            self._n_bytes -= len(key) + len(self._replies.pop(key)[1])
        self._replies[key] = request_digest, content
        self._n_bytes += len(key) + len(content)
        while len(self._replies) > MAX_KEYS or (self._n_bytes > MAX_KEY_BYTES and len(self._replies) > 1):
            oldest, (_, forgotten) = self._replies.popitem(last=False)
            self._n_bytes -= len(oldest) + len(forgotten)


class RecentExamples:
    """The newest examples that were predicted, for feedback that comes later by the id of a prediction."""

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(4)  # ids of a server that ran before are not taken for ids of this one
        self._requests: OrderedDict[str, tuple[int, bytes]] = OrderedDict()  # number of examples, examples as JSON
        self._n_requests, self._n_examples, self._n_bytes, self._lock = 0, 0, 0, Lock()

    def add(self, examples: list[Any]) -> list[str]:
        """Keep the examples of a request. Return their ids."""
        content = bytes(memoryview(json.encode(examples)))  # a copy, as the encoder reserves more memory than it needs
        with self._lock:
            request = f"{self._prefix}-{self._n_requests}"
            self._n_requests += 1
            self._requests[request] = len(examples), content
            self._n_examples += len(examples)
            self._n_bytes += len(content) + REQUEST_BYTES
            while len(self._requests) > 1 and (self._n_examples > MAX_EXAMPLES or self._n_bytes > MAX_EXAMPLE_BYTES):
                _, (n_forgotten, forgotten) = self._requests.popitem(last=False)
                self._n_examples -= n_forgotten
                self._n_bytes -= len(forgotten) + REQUEST_BYTES
        return [f"{request}-{row}" for row in range(len(examples))]

    def find(self, ids: list[str]) -> dict[str, Any]:
        """Return the examples with these ids. Ids that are unknown or were forgotten are missing from the result."""
        examples, requests = dict[str, Any](), dict[str, dict[str, Any]]()  # a request is parsed once for all its ids
        for prediction_id in ids:
            request, _, row = prediction_id.rpartition("-")
            if request not in requests:
                _, content = self._requests.get(request, (0, b"[]"))
                requests[request] = dict(zip(map(str, count()), json.decode(content), strict=False))
            if row in requests[request]:
                examples[prediction_id] = requests[request][row]
        return examples
