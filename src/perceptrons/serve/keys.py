"""Idempotency keys: what was answered to requests that may be sent again."""

import hashlib
from collections import OrderedDict
from typing import Any

from msgspec import Raw, json

KEPT, KEPT_BYTES = 100_000, 2**26


class ReusedKeyError(ValueError):
    """A key came a second time, with other examples."""


def digest(asked: Any) -> bytes:
    """A number for what a request asked, to tell whether another asks the same."""
    return hashlib.sha256(json.encode(asked)).digest()[:16]


def feedback_key(prediction_id: str) -> str:
    """The key under which the feedback of a prediction is remembered. No client can send it: it has a line break."""
    return f"feedback\n{prediction_id[:60]}"


def reused(key: str) -> ReusedKeyError:
    """The error for a key that came with something else before."""
    if key.startswith(feedback_key("")):
        return ReusedKeyError(f"The prediction {key[9:49]!r} was given another label before, by another request.")
    return ReusedKeyError(f"The idempotency key {key[:40]!r} was used for another request: give every request its own.")


class Keys:
    """The answers to the newest requests that had a key, within bounds of number and memory."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, tuple[bytes, bytes]] = OrderedDict()
        self._n_bytes = 0

    @classmethod
    def from_json(cls, content: bytes) -> "Keys":
        """The keys that `as_json` wrote."""
        keys = cls()
        for key, asked, answer in json.decode(content):
            keys.remember(key, bytes.fromhex(asked), answer)
        return keys

    def as_json(self) -> bytes:
        """All keys with their answers, the oldest first: for snapshots and followers."""
        return json.encode([[k, asked.hex(), Raw(kept)] for k, (asked, kept) in self._answers.items()])

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def answer(self, key: str | None, asked: bytes) -> dict[str, Any] | None:
        """The answer to the earlier request with this key, or None. ReusedKeyError if that asked something else."""
        kept = None if key is None else self._answers.get(key)
        if key is None or kept is None:
            return None
        before, answer = kept
        if before != asked:
            raise reused(key)
        return {**json.decode(answer), "repeated": True}

    def remember(self, key: str, asked: bytes, answer: dict[str, Any]) -> None:
        """Keep an answer; the oldest ones are forgotten when there are too many."""
        content = json.encode(answer)
        if key in self._answers:
            self._n_bytes -= len(key) + len(self._answers.pop(key)[1])
        self._answers[key] = asked, content
        self._n_bytes += len(key) + len(content)
        while len(self._answers) > KEPT or (self._n_bytes > KEPT_BYTES and len(self._answers) > 1):
            old, (_, forgotten) = self._answers.popitem(last=False)
            self._n_bytes -= len(old) + len(forgotten)
