"""Bodies within limits: received, decoded as the types of schemas.py, and the replies as JSON."""

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from functools import cache
from threading import Lock
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from perceptrons.serve.schemas import ErrorReply, Example, Examples, LearnRequest, PredictRequest

JSON, LINES = "application/json", ("application/x-ndjson", "application/jsonl", "application/json-lines")
MAX_KEY_LENGTH = 200
RETRY_AFTER = {"Retry-After": "1"}
NO_PATH = {"Not Found": "There is nothing at this path", "Method Not Allowed": "This path takes another method"}
T = TypeVar("T")
R = TypeVar("R", PredictRequest, LearnRequest)


class Limits(NamedTuple):
    """Limits on one request."""

    body: int = 2**24  # bytes
    examples: int = 10_000
    features: int = 100_000  # features of one example
    depth: int = 4  # nested lists and objects within an example
    explained: int = 100  # examples
    seconds: float = 30.0  # for a body to come in, and for an answer
    bodies: int = 2**26  # bytes of all bodies that are received, waiting or being learned at the same time


class BodyBudget:
    """Bounds the memory of requests: the bytes of all bodies that are received, waiting or being learned."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.n_bytes, self.lock = max_bytes, 0, Lock()


class BodyBytes:
    """The bytes of one request in the budget, until it is answered and everything that it asked for is done."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget, self._n_bytes, self._n_users = budget, 0, 1

    def add(self, n_bytes: int) -> None:
        """Count bytes that have arrived. A single request is always let in."""
        budget = self._budget
        with budget.lock:
            if budget.n_bytes + n_bytes > budget.max_bytes and budget.n_bytes > self._n_bytes:
                message = "The requests in progress fill the server's memory: send this one again."
                raise HTTPException(503, message, RETRY_AFTER)
            budget.n_bytes += n_bytes
            self._n_bytes += n_bytes

    def keep_until(self, done: "Future[Any]") -> None:
        """Keep the bytes until the writer has learned the examples, even if nobody waits for the answer any more."""
        with self._budget.lock:
            self._n_users += 1
        done.add_done_callback(lambda _: self.release())

    def release(self) -> None:
        """Give the bytes back if nobody else uses them."""
        with self._budget.lock:
            self._n_users -= 1
            if not self._n_users:
                self._budget.n_bytes -= self._n_bytes


# ---- reading


async def read_json(request: Request, limits: Limits, kind: type[T]) -> T:
    """Read a body that is one JSON value of this type."""
    if _content_type(request) != JSON:
        raise HTTPException(415, f"Send JSON with the header Content-Type: {JSON}.")
    return decode(await _read_body(request, limits), kind)


async def read_examples(request: Request, limits: Limits, kind: type[R]) -> tuple[R, bool]:
    """Read examples: an object, a list of examples, or one example per line. True: they came as lines."""
    media_type = _content_type(request)
    if media_type not in (JSON, *LINES):
        raise HTTPException(415, f"Send JSON with the header Content-Type: {JSON}, or JSON Lines with {LINES[0]}.")
    body, is_lines = await _read_body(request, limits), media_type != JSON
    if is_lines:
        lines = enumerate(body.splitlines(), 1)
        content = kind(examples=[decode(line, Example, f"Line {number}") for number, line in lines if line.strip()])
        if not content.examples:
            raise HTTPException(400, "The body has no example: send one per line.")
    else:
        decoded = decode(body, _examples_or(kind))
        content = kind(examples=decoded) if isinstance(decoded, list) else decoded
    _check_size(content.examples, limits)
    return content, is_lines


@cache
def _examples_or(kind: type[R]) -> Any:
    return kind | Examples


def read_query(request: Request, kind: type[T]) -> T:
    """Return the query string as this type."""
    return convert(dict(request.query_params), kind, "The query string", strict=False)


def convert(value: Any, kind: type[T], source: str = "The body", strict: bool = True) -> T:
    """Return decoded JSON, or text if not strict, as this type. A refusal says what is wrong and where."""
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise _invalid(source, kind, error) from None


def decode(content: bytes, kind: Any, source: str = "The body") -> Any:
    """Decode JSON as this type. A refusal says what is wrong, where, and what a valid body looks like."""
    try:
        return _decoder(kind).decode(content)
    except msgspec.ValidationError as error:
        raise _invalid(source, kind, error) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"{source} is not valid JSON: {error}.") from None
    except RecursionError:
        raise HTTPException(400, f"{source} has lists or objects that are nested too deeply.") from None


@cache
def _decoder(kind: Any) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(kind)


def _invalid(source: str, kind: Any, error: msgspec.ValidationError) -> HTTPException:
    """Return the refusal of a value that does not fit, such as "The body, at $.top: expected `int` >= 1."."""
    problem, _, place = str(error).partition(" - at ")
    source += f", at {place.strip('`')}" if place else ""
    examples = [
        example for body in get_args(kind) or (kind,) for example in getattr(body, "request_examples", {}).values()
    ]
    advice = f" Send, for example, {msgspec.json.encode(examples[0].body).decode()}." if examples else ""
    return HTTPException(400, f"{source}: {problem[:1].lower()}{problem[1:].rstrip('.')}.{advice} See /docs.")


def parse_number(text: str, digits: int = 18) -> int | None:
    """Return a whole number in the digits 0 to 9, or None if the text is not one or too long."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def read_key(request: Request) -> str | None:
    """Return the idempotency key of a request, or None if it has none."""
    keys = [key.strip(" \t") for key in request.headers.getlist("idempotency-key")]
    if len(keys) > 1:
        raise HTTPException(400, "There are several idempotency keys: send one.")
    key = keys[0] if keys else None
    if key is not None and not (0 < len(key) <= MAX_KEY_LENGTH and key.isprintable()):
        raise HTTPException(400, f"An idempotency key has 1 to {MAX_KEY_LENGTH} printable characters.")
    return key


def check_depth(value: Any, limits: Limits, place: str) -> None:
    """Refuse lists and objects that are nested more deeply than allowed. place: for the message."""
    if _is_deeper(value, limits.depth):
        raise HTTPException(400, f"There are lists or objects more than {limits.depth} deep, in {place}.")


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _read_body(request: Request, limits: Limits) -> bytes:
    """Return the body, if it is not too long and does not take too long."""
    too_long = HTTPException(
        413, f"The body is longer than {limits.body:,} bytes (--max-body): send fewer examples at a time."
    )
    if (parse_number(request.headers.get("content-length", "0")) or 0) > limits.body:
        raise too_long
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                request.state.body_bytes.add(len(part))
                parts.append(part)
                size += len(part)
                if size > limits.body:
                    raise too_long
    except TimeoutError:
        raise HTTPException(408, f"The body did not arrive within {limits.seconds:g} seconds.") from None
    return b"".join(parts)


def _check_size(examples: list[Any], limits: Limits) -> None:
    if len(examples) > limits.examples:
        raise HTTPException(
            413, f"{len(examples):,} examples are more than {limits.examples:,} (--max-examples): send fewer at a time."
        )
    for row, example in enumerate(examples):
        if isinstance(example, str):
            continue
        if isinstance(example, list | dict) and len(example) > limits.features:
            raise HTTPException(413, f"Example {row} has more than {limits.features:,} features.")
        check_depth(example, limits, f"$.examples[{row}]")


def _is_deeper(value: Any, depth: int) -> bool:
    if not isinstance(value, list | dict):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(isinstance(item, list | dict) and _is_deeper(item, depth - 1) for item in inside)


# ---- replying


def error_response(error: HTTPException) -> Response:
    """Return the reply to a request that is refused, also by Starlette itself."""
    message = f"{NO_PATH[error.detail]}: see /docs." if error.detail in NO_PATH else error.detail
    return json_response(ErrorReply(message), error.status_code, error.headers)


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, JSON)


def lines_response(rows: Iterable[Any]) -> Response:
    return Response(msgspec.json.Encoder().encode_lines(rows), media_type=LINES[0])
