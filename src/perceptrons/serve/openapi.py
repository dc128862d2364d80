"""What may be asked, as an OpenAPI document. The schemas are in openapi_schemas.json."""

import json
from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any

from perceptrons import __version__
from perceptrons.serve.security import OPEN

JSON, LINES, BYTES = "application/json", "application/x-ndjson", "application/octet-stream"
STATUSES = {
    400: ("The request is malformed.", 'There is no list of examples: send {"examples": [...]}.'),
    401: ("The token is missing or wrong.", "Give the token: send the header Authorization: Bearer TOKEN."),
    403: (
        "The page of another site asks, or the server has no token and is not called by a name of this machine.",
        "Call the server by the name localhost, or start it with --token-file.",
    ),
    404: ("What is asked for does not exist.", "There is no snapshot of version 7, only of 0."),
    408: ("The body did not arrive in time.", "The body did not arrive within 30 seconds."),
    409: (
        "The server is a follower, which does not learn.",
        "This is a follower, which does not learn: send it to http://leader:8080.",
    ),
    410: ("The log no longer has that position.", "The log does not begin there: begin with /model/file?place=1."),
    413: (
        "The body is too long, or has too many examples or features.",
        "20,000 examples are more than 10,000 (--max-examples): send fewer at a time.",
    ),
    415: ("The body is neither JSON nor JSON Lines.", f"Send JSON with the header Content-Type: {JSON}."),
    422: (
        "The request is well formed, but does not fit the model. Nothing was learned.",
        'Example 0 does not fit the model, which takes a text, or {"text": "..."}.',
    ),
    429: (
        "Too many examples wait to be learned. Send the request again after Retry-After seconds.",
        "50,000 examples wait to be learned already: send them again later.",
    ),
    503: (
        "The server is starting or ending, or the answer takes too long. Try again after Retry-After seconds.",
        "The server is starting and reads its log: try again soon.",
    ),
    507: (
        "The disk is full. Nothing was learned; the server still predicts.",
        "The disk is full, so nothing was learned. The server still predicts.",
    ),
}
RETRIED, ALWAYS_RETRIED = (429, 503, 507), (429, 503)  # may have, and always have, a header Retry-After
BODY = (400, 408, 413, 415, 422)  # of routes that take one
ABOUT = """A model that learns while it answers, and forgets nothing.

Every answer names the `version` of the model: the number of examples that it has learned while it was served. An
acknowledged request to `/learn` or `/feedback` is on disk. Send a request again with the same `Idempotency-Key` if you
do not know whether it was learned: it is learned once.

Errors are JSON objects, `{"error": "..."}`, that say what is wrong and what to do."""
TEXTS = ["Free entry: text WIN to 80082", "See you at noon"]


def _schema(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _example(summary: str, value: Any, status: int = 200) -> dict[str, Any]:
    """An example of a request; status: what the server answers to it."""
    return {"summary": summary, "value": value, "x-status": status}


def _lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _body(schema: str, examples: dict[str, Any], lines: dict[str, Any] | None = None) -> dict[str, Any]:
    content: dict[str, Any] = {JSON: {"schema": _schema(schema), "examples": examples}}
    if lines is not None:
        about = "One example per line. Also as application/jsonl and application/json-lines."
        content[LINES] = {"schema": {"type": "string", "description": about}, "examples": lines}
    return {"required": True, "content": content}


def _response(about: str, content: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"description": about, "content": content, **others}


def _json(about: str, schema: str, lines: str | None = None, **others: Any) -> dict[str, Any]:
    content: dict[str, Any] = {JSON: {"schema": _schema(schema)}}
    if lines is not None:
        said = f"If JSON Lines were sent: one {lines} per line."
        content[LINES] = {"schema": {"type": "string", "description": said}}
    return _response(about, content, **others)


def _header(about: str, kind: str = "integer") -> dict[str, Any]:
    return {"description": about, "schema": {"type": kind}}


def _query(name: str, about: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": schema}


YES = {"type": "boolean", "default": False}
KEY = {
    "name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": "Any text of your own, another for each request. A request with a key is learned once, however "
    "often it is sent, also after a restart.",
}  # fmt: skip
OPTIONS = [
    _query("scores", "Also answer the score of every class.", YES),
    _query("probabilities", "Also answer probabilities. The model must be calibrated.", YES),
    _query("top", "Also answer this many best labels.", {"type": "integer", "minimum": 1, "maximum": 1000}),
    _query("explain", "Also answer what each feature adds to the scores.", YES),
]


def _route(
    tag: str, name: str, summary: str, about: str, answer: dict[str, Any], errors: Iterable[int] = (), **others: Any
) -> dict[str, Any]:
    """One operation. errors: its statuses beside 200, 401 and 403."""
    return {"tags": [tag], "operationId": name, "summary": summary, "description": about, **others,
            "responses": {"200": answer} | {str(status): None for status in errors}}  # fmt: skip


def _examples_routes() -> dict[str, dict[str, Any]]:
    learn = _route(
        "Examples", "learn", "Learn from labelled examples",
        "The answer comes when the examples are on disk. It says what the model would have answered before it learned "
        "from the request, so that you see the progressive error. All examples of a request are learned, or none.",
        _json("Learned.", "LearnAnswer", "LearnLine"), (*BODY, 409, 429, 503, 507), parameters=[KEY],
        requestBody=_body(
            "LearnRequest",
            {
                "labels beside the examples": _example(
                    "Examples and their labels", {"examples": TEXTS, "labels": ["spam", "ham"]}),
                "labels in the examples": _example(
                    "Examples that hold their labels", {"examples": [{"text": TEXTS[0], "label": "spam"}]}),
                "no labels": _example("Without labels nothing can be learned", {"examples": TEXTS}, 422),
            },
            {"lines": _example(
                "One example per line", _lines(*({"text": text, "label": label} for text, label in
                                                 zip(TEXTS, ("spam", "ham"), strict=True))))},
        ),
    )  # fmt: skip
    links = {"feedback": {
        "operationId": "feedback", "description": "Send the right label of a prediction by its id.",
        "requestBody": {"id": "$response.body#/predictions/0/id", "label": "spam"},
    }}  # fmt: skip
    predict = _route(
        "Examples", "predict", "Predict labels",
        "Predicting never waits for learning. Give options in the body or in the query string.",
        _json("Predictions, in the order of the examples.", "PredictAnswer", "PredictLine", links=links), (*BODY, 503),
        parameters=OPTIONS,
        requestBody=_body(
            "PredictRequest",
            {
                "labels": _example("Labels", {"examples": TEXTS}),
                "scores": _example("Scores, the best two labels and an explanation",
                                   {"examples": TEXTS[:1], "scores": True, "top": 2, "explain": True}),
                "list": _example("Examples only", TEXTS),
                "unknown option": _example("An option that does not exist", {"examples": TEXTS, "best": 3}, 400),
                "unfit": _example("An example of another kind than those of the model", {"examples": [[1, 2]]}, 422),
            },
            {"lines": _example("One example per line", _lines(*TEXTS))},
        ),
    )  # fmt: skip
    feedback = _route(
        "Examples", "feedback", "Send the right label of an earlier prediction",
        "The server remembers the examples of recent predictions by their ids, and learns from them. A prediction is "
        "learned from once, however often its label is sent. Each label of a list is learned on its own: those that "
        "cannot be learned are listed under `refused`, with a status and a reason.",
        _json("Learned.", "LearnAnswer"), (*BODY, 404, 409, 429, 503, 507),
        requestBody=_body(
            "FeedbackRequest",
            {
                "one": _example("One label; the id is that of a prediction", {"id": "PREDICTION-ID", "label": "spam"}),
                "many": _example("Several labels", {"feedback": [{"id": "PREDICTION-ID", "label": "spam"}]}),
                "unknown id": _example("An id that is not known", {"id": "nobody-0", "label": "spam"}, 404),
            },
        ),
    )  # fmt: skip
    return {"/learn": {"post": learn}, "/predict": {"post": predict}, "/feedback": {"post": feedback}}


def _model_routes() -> dict[str, dict[str, Any]]:
    place = _query("place", "With any value: a copy for a new follower, with the place in the log and the keys.",
                   {"type": "string"})  # fmt: skip
    headers = {"Perceptrons-Version": _header("The version of the model."),
               "Perceptrons-Position": _header("The position of the log.")}  # fmt: skip
    rollback = _body("RollbackRequest", {
        "beginning": _example("Back to what the server began with", {"version": 0}),
        "no version": _example("Without a version", {}, 400),
        "no snapshot": _example("There is no snapshot of this version", {"version": 123456789}, 404),
    })  # fmt: skip
    binary = {BYTES: {"schema": {"type": "string", "contentMediaType": BYTES}}}
    return {
        "/model": {"get": _route(
            "Model", "model", "Describe the model", "The same as `perceptrons inspect --json` prints.",
            _json("The model.", "Model"), (503,))},
        "/model/file": {"get": _route(
            "Model", "file", "Download the model file",
            "A file of one version; the model keeps learning. `perceptrons predict` and `perceptrons.load` read it.",
            _response("The file.", binary, headers=headers), (404, 503, 507), parameters=[place])},
        "/snapshots": {"get": _route(
            "Model", "snapshots", "List the snapshots", "The snapshots that a rollback can go to, the oldest first.",
            _response("The snapshots.", {JSON: {"schema": {"type": "array", "items": _schema("Snapshot")}}}), (503,))},
        "/snapshot": {"post": _route(
            "Model", "snapshot", "Write a snapshot now", "The server also writes snapshots by itself.",
            _json("The snapshot.", "Snapshot"), (503, 507))},
        "/rollback": {"post": _route(
            "Model", "rollback", "Go back to a snapshot",
            "The model becomes that of the snapshot. The log keeps what was learned since, and the rollback itself.",
            _json("Done.", "RollbackAnswer"), (*BODY, 404, 409, 503, 507), requestBody=rollback)},
    }  # fmt: skip


def _server_routes() -> dict[str, dict[str, Any]]:
    position = _query("position", "The first frame wanted.", {"type": "integer", "minimum": 0, "default": 0})
    wait = _query("wait", "Seconds to wait for a frame if there is none yet.",
                  {"type": "integer", "minimum": 0, "maximum": 999, "default": 0})  # fmt: skip
    html, plain = {"text/html": {"schema": {"type": "string"}}}, {"text/plain": {"schema": {"type": "string"}}}
    return {
        "/stats": {"get": _route(
            "Server", "stats", "Numbers of the live page",
            "Progressive error, throughput, recent mistakes, drift, important features, log and snapshots.",
            _json("The numbers.", "Stats"), (503,))},
        "/metrics": {"get": _route(
            "Server", "metrics", "Metrics for Prometheus",
            "Requests, latencies, examples, progressive error, sizes and the position of the log.",
            _response("In Prometheus' text format.", plain))},
        "/healthz": {"get": _route(
            "Server", "health", "Is the process alive?", "Needs no token.", _json("It is.", "Status"))},
        "/readyz": {"get": _route(
            "Server", "ready", "Can the model answer?", "Needs no token. 503 while the server reads its log.",
            _json("It can.", "Status"), (503,))},
        "/log": {"get": _route(
            "Followers", "log", "Read the log", "For followers: frames from a position on, as they were written.",
            _response("Frames, maybe none.", {BYTES: {"schema": {"type": "string", "contentMediaType": BYTES}}}),
            (400, 410, 503), parameters=[position, wait])},
        "/promote": {"post": _route(
            "Followers", "promote", "Make a follower a leader",
            "The server stops following, and learns, also after a restart. Its term grows by one. On a leader it "
            "changes nothing.", _json("Done.", "Role"), (503, 507))},
        "/": {"get": _route("Pages", "page", "The live page", "Needs no token; the page asks for it.",
                            _response("The page.", html))},
        "/docs": {"get": _route("Pages", "docs", "This documentation", "Needs no token.",
                                _response("The page.", html))},
        "/openapi.json": {"get": _route(
            "Pages", "openapi", "This document", "Needs no token.",
            _response("The document.", {JSON: {"schema": {"type": "object"}}}))},
    }  # fmt: skip


def _errors() -> dict[str, Any]:
    """What is answered with each status, by its number."""
    found = {}
    for status, (about, message) in STATUSES.items():
        content = {JSON: {"schema": _schema("Error"), "example": {"error": message}}}
        headers = {"headers": {"Retry-After": _header("Seconds to wait.")}} if status in RETRIED else {}
        found[f"Status{status}"] = _response(about, content, **headers)
    found["Status401"]["headers"] = {"WWW-Authenticate": {**_header("Bearer.", "string"), "required": True}}
    for status in ALWAYS_RETRIED:
        found[f"Status{status}"]["headers"]["Retry-After"]["required"] = True
    return found


@cache
def _document() -> dict[str, Any]:
    paths = _examples_routes() | _model_routes() | _server_routes()
    for path, methods in paths.items():
        for operation in methods.values():
            more = {"403": None} if path in OPEN else {"401": None, "403": None}
            operation["security"] = [] if path in OPEN else [{"token": []}, {}]
            responses = operation["responses"] | more
            operation["responses"] = {
                status: found or {"$ref": f"#/components/responses/Status{status}"}
                for status, found in sorted(responses.items())
            }
    schemas = json.loads(files("perceptrons.serve").joinpath("openapi_schemas.json").read_text("utf-8"))
    token = {"type": "http", "scheme": "bearer", "description": "Where the server was started with --token-file."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "perceptrons serve", "version": __version__, "summary": "A perceptron that learns online",
                 "description": ABOUT, "license": {"name": "MIT", "identifier": "MIT"}},
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in ("Examples", "Model", "Server", "Followers", "Pages")],
        "paths": paths,
        "components": {"schemas": schemas, "responses": _errors(), "securitySchemes": {"token": token}},
    }  # fmt: skip


def document() -> dict[str, Any]:
    """The OpenAPI document of all routes."""
    return deepcopy(_document())
