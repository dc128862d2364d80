"""The OpenAPI document, made from the declarations of the routes in app.py and the types in schemas.py."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

import msgspec

from perceptrons import __version__
from perceptrons.serve.requests import JSON, LINES, MAX_KEY_LENGTH
from perceptrons.serve.schemas import COMPONENTS, ErrorReply, Examples
from perceptrons.serve.security import OPEN_PATHS

TAGS = ("Examples", "Model", "Server", "Followers", "Pages")
STATUSES = {
    400: "The request is malformed.",
    401: "The token is missing or wrong.",
    403: "The page of another site asks, or the server has no token and is not called by a name of this machine.",
    404: "What is asked for does not exist.",
    408: "The body did not arrive in time.",
    409: "The server is a follower, which does not learn.",
    410: "The log no longer has that position.",
    413: "The body is too long, or has too many examples or features.",
    415: "The body is neither JSON nor JSON Lines.",
    422: "The request is well formed, but does not fit the model. Nothing was learned.",
    429: "Too many examples wait to be learned. Send the request again after Retry-After seconds.",
    503: "The server is starting or ending, or the answer takes too long. Try again after Retry-After seconds.",
    507: "The disk is full. Nothing was learned; the server still predicts.",
}
RETRY_AFTER_HEADER = ("Retry-After", "Seconds to wait.", "integer")
HEADERS = {401: ("WWW-Authenticate", "Bearer.", "string"), 429: RETRY_AFTER_HEADER, 503: RETRY_AFTER_HEADER}
BODY_ERRORS = (400, 408, 413, 415, 422)  # statuses of all routes that take a body
ABOUT = """A model that learns while it answers, and forgets nothing.

Every answer names the `version` of the model: the number of examples that it has learned while it was served. An
acknowledged request to `/learn` or `/feedback` is on disk. Send a request again with the same `Idempotency-Key` if you
do not know whether it was learned: it is learned once.

Errors are JSON objects, `{"error": "..."}`, that say what is wrong, where, and what to do."""
KEY_PARAMETER = {
    "name": "Idempotency-Key", "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
    "description": "Any text of your own, another for each request. A request with a key is learned once, however "
    "often it is sent, also after a restart.",
}  # fmt: skip
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Endpoint:
    """Declaration of one route: inputs, replies and errors. The docstring of the decorated method says the rest."""

    method: str
    path: str
    tag: str
    _: KW_ONLY
    reply: Any  # the type of the JSON, or the media type of something else
    bodies: tuple[Any, ...] = ()  # types of the body: one of them
    line: Any = None  # the type of each line of the reply, where examples may be sent as JSON Lines
    query: type[msgspec.Struct] | None = None
    takes_key: bool = False
    errors: tuple[int, ...] = ()  # statuses beside 200, 401, 403 and those of bodies and models
    needs_model: bool = True  # answered only when the model is loaded

    def __call__(self, function: F) -> F:
        """Declare the route that a method answers."""
        function.endpoint = self  # type: ignore[attr-defined]
        return function


def document(functions: Sequence[Callable[..., Any]]) -> dict[str, Any]:
    """Return the OpenAPI document of all routes that these functions answer."""
    endpoints: list[Endpoint] = [function.endpoint for function in functions]  # type: ignore[attr-defined]
    kinds = [kind for route in endpoints for kind in (*route.bodies, route.reply, route.line)]
    types = [kind for kind in kinds if kind is not None and not isinstance(kind, str)]
    _, components = msgspec.json.schema_components([*types, ErrorReply], ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for route, function in zip(endpoints, functions, strict=True):
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, function)
    token = {"type": "http", "scheme": "bearer", "description": "Where the server was started with --token-file."}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "perceptrons serve", "version": __version__, "summary": "A perceptron that learns online",
            "description": ABOUT, "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in TAGS],
        "paths": paths,
        "components": {
            "schemas": COMPONENTS | components, "securitySchemes": {"token": token},
            "responses": {f"Status{status}": _error(status) for status in STATUSES},
        },
    }  # fmt: skip


def _schema(kind: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template="#/components/schemas/{name}")
    return schema


def _operation(route: Endpoint, function: Callable[..., Any]) -> dict[str, Any]:
    summary, _, description = inspect.cleandoc(function.__doc__ or "").partition("\n")
    is_open = route.path in OPEN_PATHS
    description = f"Needs no token. {description}" if is_open else description
    errors = {403, *route.errors} | ({*BODY_ERRORS} if route.bodies else set())
    errors |= ({503} if route.needs_model else set()) | (set() if is_open else {401})
    operation = {
        "tags": [route.tag], "operationId": function.__name__, "summary": summary.rstrip("."),
        "description": " ".join(description.split()),
        "security": [] if is_open else [{"token": []}, {}],
        "responses": {
            "200": {"description": "Success.", "content": _reply_content(route)},
            **{str(status): {"$ref": f"#/components/responses/Status{status}"} for status in sorted(errors)},
        },
    }  # fmt: skip
    parameters = [*_query_parameters(route.query), *([KEY_PARAMETER] if route.takes_key else [])]
    if parameters:
        operation["parameters"] = parameters
    if route.bodies:
        operation["requestBody"] = {"required": True, "content": _request_content(route)}
    return operation


def _reply_content(route: Endpoint) -> dict[str, Any]:
    if isinstance(route.reply, str):
        return {route.reply: {"schema": {"type": "string"}}}
    content: dict[str, Any] = {JSON: {"schema": _schema(route.reply)}}
    if route.line is not None:
        content[LINES[0]] = {"schema": {"type": "string", "description": f"Lines, each a {route.line.__name__}."}}
    return content


def _request_content(route: Endpoint) -> dict[str, Any]:
    lists = [] if route.line is None else [Examples]  # a list of examples alone will do
    schemas = [_schema(body) for body in (*route.bodies, *lists)]
    content: dict[str, Any] = {JSON: {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}}
    if route.line is not None:
        about = f"One example per line. Also as {' and '.join(LINES[1:])}."
        content[LINES[0]] = {"schema": {"type": "string", "description": about}}
    for body in route.bodies:
        for name, example in body.request_examples.items():
            media_type = LINES[0] if isinstance(example.body, str) else JSON
            shown = {"summary": example.summary, "value": example.body, "x-status": example.status}
            content[media_type].setdefault("examples", {})[name] = shown
    return content


def _query_parameters(query: type[msgspec.Struct] | None) -> list[dict[str, Any]]:
    """Describe the query string: one parameter for each field."""
    if query is None:
        return []
    _, components = msgspec.json.schema_components([query])
    schemas = components[query.__name__]["properties"]
    return [
        {"name": name, "in": "query", "description": schema.pop("description"), "schema": schema}
        for name, schema in schemas.items()
    ]


def _error(status: int) -> dict[str, Any]:
    response = {"description": STATUSES[status], "content": {JSON: {"schema": _schema(ErrorReply)}}}
    if status in HEADERS:
        name, description, kind = HEADERS[status]
        response["headers"] = {name: {"description": description, "schema": {"type": kind}, "required": True}}
    return response
