"""Requests and answers: bodies within limits, in JSON or JSON Lines, become examples and options, and back."""

import asyncio
from concurrent.futures import Future
from threading import Lock
from typing import Any, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import Response

JSON, LINES = "application/json", ("application/x-ndjson", "application/jsonl", "application/json-lines")
OPTIONS = ("scores", "probabilities", "explain", "top")
TOP = 1000
KEY_LENGTH = 200
AFTER = {"Retry-After": "1"}


class Limits(NamedTuple):
    """What one request may ask for."""

    body: int = 2**24  # bytes
    examples: int = 10_000
    features: int = 100_000  # of one example
    depth: int = 4  # of lists and objects within an example
    explained: int = 100  # examples
    seconds: float = 30.0  # for a body to come in, and for an answer
    bodies: int = 2**26  # bytes of all bodies that are received, waiting or being learned at the same time


class Refusal(Exception):  # noqa: N818 (it is an answer)
    """Ends a request with a status and a message."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


class Asked(NamedTuple):
    """The content of a request: examples, their labels if they are beside them, and what else was said."""

    examples: list[Any]
    labels: list[Any] | None
    options: dict[str, Any]
    lines: bool  # JSON Lines, answered alike


class BodyBudget:
    """Bounds the memory of requests: the bytes of all bodies that are received, waiting or being learned."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes, self._used, self._lock = max_bytes, 0, Lock()

    def take(self, n_bytes: int, own: int) -> None:
        """Count bytes of a request that has `own` bytes so far. A single request is always let in."""
        with self._lock:
            if self._used + n_bytes > self._max_bytes and self._used > own:
                raise Refusal(503, "The requests in progress fill the server's memory: send this one again.", AFTER)
            self._used += n_bytes

    def give_back(self, n_bytes: int) -> None:
        with self._lock:
            self._used -= n_bytes


class BodyBytes:
    """The bytes of one request in the budget, until it is answered and everything that it asked for is done."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget, self._n_bytes, self._users, self._lock = budget, 0, 1, Lock()

    def add(self, n_bytes: int) -> None:
        self._budget.take(n_bytes, self._n_bytes)
        self._n_bytes += n_bytes

    def keep_until(self, done: "Future[Any]") -> None:
        """Keep the bytes until the writer has learned the examples, even if nobody waits for the answer any more."""
        with self._lock:
            self._users += 1
        done.add_done_callback(lambda _: self.release())

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            is_last = self._users == 0
        if is_last:
            self._budget.give_back(self._n_bytes)


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body, if it is not too long and does not take too long."""
    said = request.headers.get("content-length", "0")
    if is_number(said) and int(said) > limits.body:
        raise _too_long(limits)
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                request.state.body_bytes.add(len(part))
                parts.append(part)
                size += len(part)
                if size > limits.body:
                    raise _too_long(limits)
    except TimeoutError:
        raise Refusal(408, f"The body did not arrive within {limits.seconds:g} seconds.") from None
    return b"".join(parts)


def is_number(text: str, digits: int = 18) -> bool:
    """Is this a whole number, in the digits 0 to 9 and not too long?"""
    return text.isascii() and text.isdigit() and len(text) <= digits


def _too_long(limits: Limits) -> Refusal:
    return Refusal(413, f"The body is longer than {limits.body:,} bytes (--max-body): send fewer examples at a time.")


async def read_json(request: Request, limits: Limits) -> Any:
    """A body that is one JSON value."""
    if _content_type(request) != JSON:
        raise Refusal(415, f"Send JSON with the header Content-Type: {JSON}.")
    return _parsed(await read_body(request, limits))


async def read_examples(request: Request, limits: Limits) -> Asked:
    """Examples: a list, an object with a list `examples`, or one example per line."""
    kind = _content_type(request)
    if kind not in (JSON, *LINES):
        raise Refusal(415, f"Send JSON with the header Content-Type: {JSON}, or JSON Lines with {LINES[0]}.")
    body = await read_body(request, limits)
    options: dict[str, Any] = {name: _option(value) for name, value in request.query_params.items()}
    labels = None
    if kind == JSON:
        content = _parsed(body)
        if isinstance(content, dict):
            if not isinstance(content.get("examples"), list):
                raise Refusal(400, 'There is no list of examples: send {"examples": [...]}.')
            examples, labels = content.pop("examples"), content.pop("labels", None)
            options |= content
        else:
            examples = content
    else:
        examples = [_parsed(line, number) for number, line in enumerate(body.splitlines(), 1) if line.strip()]
    if not isinstance(examples, list) or not examples:
        raise Refusal(400, 'There is no example: send {"examples": [...]} with at least one.')
    if labels is not None and not isinstance(labels, list):
        raise Refusal(400, '"labels" must be a list with one label for each example.')
    check_depth(labels, limits)
    _check_size(examples, limits)
    return Asked(examples, labels, options, kind != JSON)


def _check_size(examples: list[Any], limits: Limits) -> None:
    if len(examples) > limits.examples:
        raise Refusal(
            413, f"{len(examples):,} examples are more than {limits.examples:,} (--max-examples): send fewer at a time."
        )
    for row, example in enumerate(examples):
        if isinstance(example, str):
            continue
        if isinstance(example, list | dict) and len(example) > limits.features:
            raise Refusal(413, f"Example {row} has more than {limits.features:,} features.")
        if _is_deeper(example, limits.depth):
            raise Refusal(400, f"Example {row} has lists or objects more than {limits.depth} deep.")


def check_depth(value: Any, limits: Limits) -> None:
    """Refuse what is beside the examples and nested as they may not be."""
    if _is_deeper(value, limits.depth):
        raise Refusal(400, f"There are lists or objects more than {limits.depth} deep.")


def _is_deeper(value: Any, depth: int) -> bool:
    if not isinstance(value, list | dict):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(isinstance(one, list | dict) and _is_deeper(one, depth - 1) for one in inside)


def checked_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a prediction. Refusal for unknown ones and senseless values."""
    for name, value in options.items():
        if name not in OPTIONS:
            raise Refusal(400, f"{name[:40]!r} is not an option: choose among {', '.join(OPTIONS)}.")
        if name == "top" and not (value is None or (type(value) is int and 1 <= value <= TOP)):
            raise Refusal(400, f"top must be a whole number from 1 to {TOP:,}.")
        if name != "top" and not isinstance(value, bool | None):
            raise Refusal(400, f"{name} must be true or false.")
    return options


def key_of(request: Request) -> str | None:
    """The idempotency key of a request."""
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= KEY_LENGTH and key.isprintable()):
        raise Refusal(400, f"An idempotency key has 1 to {KEY_LENGTH} printable characters.")
    return key


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(content), status, headers, JSON)


def answer_lines(rows: list[dict[str, Any]]) -> Response:
    """One line for each row."""
    return Response(b"".join(orjson.dumps(row) + b"\n" for row in rows), media_type=LINES[0])


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _parsed(content: bytes, line: int | None = None) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        where = "The body" if line is None else f"Line {line}"
        raise Refusal(400, f"{where} is not valid JSON: {error}.") from None


def _option(value: str) -> Any:
    """An option in the query string."""
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return int(value) if is_number(value, 9) else value
