"""The OpenAPI document: it is valid, has all routes, and says what a running app really answers."""

import asyncio
import errno
import json

import pytest

from perceptrons.serve.app import Routes, document
from perceptrons.serve.pages import curl, docs
from perceptrons.serve.requests import JSON, Limits
from perceptrons.serve.requests import LINES as ALL_LINES
from perceptrons.serve.schemas import TEXTS
from perceptrons.serve.security import OPEN_PATHS
from perceptrons.serve.writer import QueueFullError
from tests.support.served_here import served

TOKEN = "a-token-of-many-letters"
LINES = ALL_LINES[0]
DOCUMENT = document()
ALL = [(path, method, one) for path, methods in DOCUMENT["paths"].items() for method, one in methods.items()]
REQUESTS = [
    pytest.param(path, kind, example, id=f"{path} {name}")
    for path, _, operation in ALL
    for kind, body in operation.get("requestBody", {}).get("content", {}).items()
    for name, example in body.get("examples", {}).items()
]
ERRORS = [
    pytest.param(path, method, int(status), id=f"{method} {path} {status}")
    for path, method, operation in ALL
    for status in operation["responses"]
    if status != "200"
]


def learn(app, examples=TEXTS, labels=("spam", "ham")):
    answer = app.post("/learn", json={"examples": examples, "labels": list(labels)})
    assert answer.status_code == 200, answer.text


def ask(app, path, method, kind=JSON, body=b"", **headers):
    if method == "get":
        return app.get(path, headers=headers)
    return app.post(path, content=body, headers={"Content-Type": kind, **headers})


@pytest.fixture
def app(tmp_path):
    with served(tmp_path) as started:
        yield started


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """An app that has learned the examples of the document."""
    with served(tmp_path_factory.mktemp("taught")) as started:
        learn(started)
        yield started


def test_the_document_is_valid_openapi():
    pytest.importorskip("openapi_spec_validator").validate(DOCUMENT)


def test_the_document_has_exactly_the_routes_of_the_app(taught):
    routes = Routes(taught.service, Limits(), False).all()
    served = {(route.path, method.lower()) for route in routes for method in route.methods - {"HEAD"}}
    assert {(path, method) for path, method, _ in ALL} == served
    assert len({operation["operationId"] for *_, operation in ALL}) == len(served)


def test_routes_that_the_guard_leaves_open_are_those_without_security():
    assert {path for path, _, operation in ALL if not operation["security"]} == set(OPEN_PATHS)


def test_the_document_of_the_server_is_this_one(taught):
    assert taught.get("/openapi.json").json() == DOCUMENT


@pytest.mark.parametrize(("path", "kind", "example"), REQUESTS)
def test_every_example_of_a_request_gets_the_status_that_it_names(taught, path, kind, example):
    answer = _send(taught, path, kind, example["value"])
    assert answer.status_code == example["x-status"], answer.text
    _check(path, "post", answer)


@pytest.mark.parametrize(
    ("path", "method"), [(path, method) for path, method, operation in ALL if "requestBody" not in operation]
)
def test_every_request_without_a_body_gets_what_the_document_says(taught, path, method):
    learn(taught)  # another test may have gone back to the empty model
    answer = ask(taught, path, method)
    assert answer.status_code == 200, answer.text
    _check(path, method, answer)


@pytest.mark.parametrize("example", DOCUMENT["components"]["schemas"]["Example"]["examples"], ids=str)
def test_an_empty_model_learns_every_kind_of_example_and_predicts_it(app, example):
    labels = ["D", "N", "V"] if "tokens" in example else "yes"
    learn(app, [example] * 2, [labels] * 2)
    answer = app.post("/predict", json={"examples": [example]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["predictions"][0]["label"] == labels
    _check("/predict", "post", answer)


@pytest.mark.parametrize(("path", "method", "status"), ERRORS)
def test_every_status_of_the_document_can_happen_and_has_a_message(path, method, status, tmp_path, monkeypatch):
    given = {401: {"token": TOKEN}, 413: {"limits": Limits(body=5)}, 408: {"limits": Limits(seconds=0.05)}}
    with served(tmp_path, **given.get(status, {})) as app:
        if status in (404, 507):
            _break(app, status, monkeypatch, path)
        elif status not in (401, 413, 408):
            learn(app)
            _break(app, status, monkeypatch, path)
        if status == 408:
            found, said = asyncio.run(_slow(app.app, path))
        else:
            target = "/log?position=first" if (path, status) == ("/log", 400) else path
            headers = {"Host": "elsewhere.example"} if status == 403 else {}
            answer = ask(app, target, method, *_sent(path, status), **headers)
            found, said = answer.status_code, answer.json()
            _check(path, method, answer)
    assert found == status, said
    assert said["error"]


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/predict", b'{"examples": ["a"], "top": 0}', "The body, at $.top: expected `int` >= 1."),
        ("/predict", b'{"examples": ["a"], "top": 1001}', "The body, at $.top: expected `int` <= 1000."),
        ("/predict", b'{"examples": ["a"], "top": true}', "The body, at $.top: expected `int | null`, got `bool`."),
        ("/predict", b'{"examples": ["a"], "scores": 1}', "The body, at $.scores: expected `bool | null`, got `int`."),
        ("/predict", b'{"examples": "a"}', "The body, at $.examples: expected `array`, got `str`."),
        ("/predict", b'{"examples": [[1, 1e400]]}', "The body, at $.examples[0][1]: number out of range."),
        ("/predict", b'{"examples": [' + b"9" * 5000 + b"]}", "at $.examples[0]: integer value out of range."),
        ("/predict", b'{"examples": [[[[[[[1]]]]]]]}', "more than 4 deep, in $.examples[0]."),
        ("/predict", b"[]", "The body: expected `array` of length >= 1."),
        ("/predict", b"7", "The body: expected `object | array`, got `int`."),
        ("/predict", b'{"examples": [NaN]}', "The body is not valid JSON: JSON is malformed: invalid character"),
        ("/predict", b'{"examples": [Infinity]}', "The body is not valid JSON"),
        ("/predict", b'{"examples": ["\\ud800"]}', "The body is not valid JSON"),
        ("/predict", b'{"examples": ["\xff"]}', "The body is not valid JSON"),
        ("/predict", b'{"examples": ' + b"[" * 10**6, "nested too deeply"),
        ("/predict?top=x", b'["a"]', "The query string, at $.top: expected `int | null`, got `str`."),
        ("/predict?best=1", b'["a"]', "The query string: object contains unknown field `best`."),
        ("/learn", b'{"examples": ["a"], "labels": {}}', "at $.labels: expected `array | null`, got `object`."),
        ("/learn", b'{"examples": ["a"], "labels": [[[[[[1]]]]]]}', "more than 4 deep, in $.labels."),
        ("/feedback", b'{"feedback": [{"id": 1, "label": 2}]}', "at $.feedback[0].id: expected `str`, got `int`"),
        ("/feedback", b'{"id": "x-0"}', "The body: object missing required field `label`."),
        ("/feedback", b"[]", "The body: expected `object`, got `array`."),
        ("/rollback", b'{"version": -1}', "The body, at $.version: expected `int` >= 0."),
        ("/rollback", b'{"version": true}', "The body, at $.version: expected `int`, got `bool`."),
        ("/rollback", b"{}", 'missing required field `version`. Send, for example, {"version":0}. See /docs.'),
    ],
)  # fmt: skip
def test_a_body_that_does_not_fit_gets_400_with_the_place_and_what_to_send(taught, path, body, expected):
    answer = ask(taught, path, "post", JSON, body)
    assert answer.status_code == 400
    assert expected in answer.json()["error"]


def test_a_line_that_does_not_fit_is_named(taught):
    answer = ask(taught, "/predict", "post", LINES, b'"a"\n\n{"text": 1e400}\n')
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("Line 3, at $[...]: number out of range.")


def test_options_in_the_body_come_before_those_in_the_query_string(taught):
    for query, body, expected in (
        ("scores=true&top=1", {}, {"scores", "top"}), ("scores=true", {"scores": False}, set()),
        ("top=1", {"top": None, "scores": True}, {"top", "scores"}),
    ):  # fmt: skip
        answer = taught.post(f"/predict?{query}", json={"examples": TEXTS[:1], **body})
        assert {*answer.json()["predictions"][0]} == {"label", "id"} | expected


def test_the_page_names_every_route_status_and_schema_and_escapes_what_it_shows():
    page = docs(document).body.decode()
    for path, method, operation in ALL:
        assert f'id="{operation["operationId"]}"' in page
        assert f'<span class="method {method}">{method.upper()}</span> <code>{path}</code>' in page
    for name in DOCUMENT["components"]["schemas"]:
        assert f'id="{name}"' in page
    links = {part.partition('"')[0] for part in page.split('href="#')[1:]}
    assert {f"Status{status}" for *_, status in (one.values for one in ERRORS)} <= links
    assert all(f'id="{link}"' in page for link in links)
    assert "<script" not in page


def test_curl_sends_lines_as_they_are_and_quotes_what_the_shell_would_change():
    assert curl("/stats", "get") == "curl http://127.0.0.1:8080/stats"
    assert curl("/snapshot", "post") == "curl -X POST http://127.0.0.1:8080/snapshot"
    assert curl("/predict", "post", JSON, ["it's"]).endswith("""--data-binary '["it'"'"'s"]'""")
    assert curl("/predict", "post", LINES, '"a"\n"b"\n').endswith("""--data-binary '"a"\n"b"'""")


# ---- how to ask


def _send(app, path, kind, value):
    if kind != JSON:
        return ask(app, path, "post", kind, value.encode())
    if "PREDICTION-ID" in str(value):
        found = app.post("/predict", json={"examples": TEXTS}).json()["predictions"][0]["id"]
        one = {"id": found, "label": "spam"}
        value = {"feedback": [one]} if "feedback" in value else one
    return app.post(path, json=value)


def _check(path, method, answer):
    """The content fits the schema of the document."""
    operation = DOCUMENT["paths"][path][method]
    found = operation["responses"][str(answer.status_code)]
    if "$ref" in found:
        found = DOCUMENT["components"]["responses"][found["$ref"].rpartition("/")[2]]
    kind = answer.headers["content-type"].partition(";")[0]
    assert kind in found["content"]
    for name, header in found.get("headers", {}).items():
        assert name in answer.headers or not header.get("required")
    if kind == JSON:
        _validate(found["content"][JSON]["schema"], answer.json())
    elif kind == LINES:
        name = found["content"][LINES]["schema"]["description"].split()[-1].rstrip(".")
        for line in answer.iter_lines():
            _validate({"$ref": f"#/components/schemas/{name}"}, json.loads(line))


def _validate(schema, content):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(content)


# ---- how to be refused


def _sent(path, status):
    """The kind and the body of a request that is refused with this status."""
    good = {
        "/learn": b'{"examples": ["a"], "labels": ["spam"]}', "/predict": b'{"examples": ["a"]}',
        "/feedback": b'{"id": "x-0", "label": "spam"}', "/rollback": b'{"version": 0}',
    }  # fmt: skip
    unfit = {
        "/learn": b'{"examples": [[1]], "labels": ["spam"]}', "/predict": b'{"examples": [[1]]}',
        "/feedback": b'{"id": "x-0", "label": {}}', "/rollback": b'{"version": 0}',
    }  # fmt: skip
    if status == 400:
        return JSON, b"{"
    if status == 415:
        return "text/plain", good[path]
    if status == 404 and path == "/rollback":
        return JSON, b'{"version": 77}'
    return JSON, (unfit if status == 422 else good).get(path, b"")


def _break(app, status, monkeypatch, path):
    """Make the app one that answers with this status."""
    service = app.service

    def raising(error):
        def fail(*given, **named):
            raise error

        return fail

    if path == "/feedback" and status in (422, 429, 507):
        monkeypatch.setattr(service.recent_examples, "find", lambda names: dict.fromkeys(names, "a"))
    if status == 409:
        monkeypatch.setattr(type(service), "leader", "http://leader:8080")
    elif status == 410:
        monkeypatch.setattr(service.store.log, "encoded_frames", raising(LookupError("gone")))
    elif status == 422 and path == "/rollback":
        monkeypatch.setattr(type(service), "can_learn", False)
    elif status == 429:
        monkeypatch.setattr(service.writer, "submit", raising(QueueFullError("too many")))
    elif status == 503:
        monkeypatch.setattr(service, "ready", False)
    elif status == 507:
        full = raising(OSError(errno.ENOSPC, "No space left on device"))
        monkeypatch.setattr(service.store.log, "append", full)
        monkeypatch.setattr(service.store, "save", full)
        monkeypatch.setattr(service, "model_copy", full)
        monkeypatch.setattr(service, "promote", full)


async def _slow(app, path):
    """Ask with a body that never comes."""
    sent = []

    async def receive():
        await asyncio.sleep(60)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", JSON.encode())],
    }  # fmt: skip
    await app(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])
