"""Requests that mean no good: forged, too large, from other sites, without a token. The server refuses and stays."""

import random

import pytest

from perceptrons.linear import Perceptron
from perceptrons.serve.requests import Limits
from perceptrons.serve.service import prepared
from perceptrons.serve.store import Store
from perceptrons.serve.writer import Growth
from tools.fuzz_requests import MODELS, Asgi, Fuzzed, FoundError

TOKEN = "a-token-of-forty-characters-or-thereabouts"
MANY = 400  # requests to each kind of model


@pytest.fixture
def server(request, tmp_path):
    """A server of an empty model, with the token that the test asks for."""
    made = served(tmp_path, token=getattr(request, "param", None))
    yield made
    made.close()


def served(folder, token=None, growth=None, limits=None, **options):
    store = Store(folder / "data", sync=False)
    prepared(store, Perceptron(), None)
    return Asgi(store, growth or Growth(), limits or Limits(body=2**20, seconds=1.0), token, **options)


def json_headers(*more):
    return [(b"content-type", b"application/json"), *more]


@pytest.mark.filterwarnings("ignore")  # as the server does
@pytest.mark.parametrize("name", MODELS)
def test_forged_requests_are_answered_with_documented_statuses_and_refused_ones_change_nothing(name, tmp_path):
    fuzzed, draw = Fuzzed(name, tmp_path / name), random.Random(name)
    try:
        for _ in range(MANY):
            fuzzed.one(draw)
        assert {200, 400, 422} <= {*fuzzed.statuses}
        assert fuzzed.server.ask("GET", "/readyz")[0] == 200
    finally:
        fuzzed.server.close()


def test_the_fuzzer_finds_a_status_that_is_not_documented(tmp_path):
    fuzzed = Fuzzed("numbers", tmp_path / "numbers")
    try:
        fuzzed.server.ask = lambda *_: (500, {}, b'{"error": "x"}')
        with pytest.raises(FoundError, match="500"):
            fuzzed.one(random.Random(0))
    finally:
        fuzzed.server.close()


@pytest.mark.parametrize("server", [TOKEN], indirect=True)
def test_a_host_header_that_looks_like_an_open_path_does_not_pass_for_the_token(server):
    for host in (b"x/healthz?", b"x/readyz#", b"localhost/docs?", b"x/?"):
        for method, path in (("GET", "/stats"), ("GET", "/model/file"), ("POST", "/snapshot")):
            assert server.ask(method, path, headers=[(b"host", host)])[0] == 401


@pytest.mark.parametrize("server", [TOKEN], indirect=True)
def test_only_the_whole_token_is_let_in(server):
    for given in (b"", b"Bearer", b"Bearer ", b"Basic " + TOKEN.encode(), TOKEN.encode(), b"Bearer " + TOKEN[:-1].encode(),
                  b"Bearer " + TOKEN.encode() + b"x", b"Bearer \xff\xfe", b"Bearer " + TOKEN.upper().encode()):  # fmt: skip
        status, headers, content = server.ask("GET", "/stats", headers=[(b"authorization", given)])
        assert status == 401
        assert headers["www-authenticate"] == "Bearer"
        assert TOKEN.encode() not in content
    assert server.ask("GET", "/stats", headers=[(b"authorization", b"Bearer " + TOKEN.encode())])[0] == 200
    assert server.ask("GET", "/healthz")[0] == 200


def test_without_a_token_other_names_of_the_server_are_refused(server):
    for host in (b"evil.example", b"127.0.0.1.evil.example", b"", b"[", b"localhost@evil.example", b"192.168.1.7"):
        assert server.ask("GET", "/stats", headers=[(b"host", host)])[0] == 403
    for host in (b"localhost", b"LOCALHOST:80", b"127.0.0.1:8080", b"[::1]:8080"):
        assert server.ask("GET", "/stats", headers=[(b"host", host)])[0] == 200


@pytest.mark.parametrize(
    "origin", [b"http://evil.example", b"null", b"http://[", b"", b"http://localhost.evil.example"]
)
def test_pages_of_other_sites_are_refused(server, origin):
    body = b'{"examples": ["a"], "labels": ["b"]}'
    status, _, _ = server.ask("POST", "/learn", body, json_headers((b"origin", origin)))
    assert status == 403
    assert server.service.version == 0


def test_the_own_page_is_let_in(server):
    body = b'{"examples": ["a"], "labels": ["b"]}'
    assert server.ask("POST", "/learn", body, json_headers((b"origin", b"http://localhost")))[0] == 200


@pytest.mark.parametrize("said", ["²", "9" * 5000, "-1", "x", ""])
def test_a_content_length_that_is_not_a_number_is_no_failure(server, said):
    sent = json_headers((b"content-length", said.encode("latin-1")))
    assert server.ask("POST", "/predict", b'{"examples": ["a"]}', sent)[0] in (200, 400)


@pytest.mark.parametrize("query", ["position=%C2%B2", "position=%D9%A3", "wait=%C2%B2", "position=-1", "position="])
def test_a_position_in_digits_of_another_script_is_refused(server, query):
    assert server.ask("GET", "/log", query=query.encode())[0] == 400


def test_a_log_position_that_is_not_there_is_gone(server):
    assert server.ask("GET", "/log", query=b"position=7")[0] == 410


@pytest.mark.parametrize("path", ["/learn", "/feedback"])
def test_labels_nested_deeper_than_any_writer_goes_are_refused(server, path):
    server.json("/predict", {"examples": ["a"]})
    found = server.json("/predict", {"examples": ["a"]})[1]["predictions"][0]["id"]
    deep = b"[" * 300 + b"]" * 300
    body = b'{"examples": ["a"], "labels": [%s]}' % deep if path == "/learn" else b'{"id": "%s", "label": %s}' % (
        found.encode(), deep)  # fmt: skip
    assert server.ask("POST", path, body, json_headers((b"idempotency-key", b"k")))[0] == 400


@pytest.mark.parametrize(
    "path", ["/../origin", "/..%2forigin", "/log/00000000000000000000.log", "/snapshots/../origin", "//etc/passwd",
             "/model/file/../../../etc/passwd", "/learn/", "/static/x", "/.."]
)  # fmt: skip
def test_no_files_are_served(server, path):
    status, _, content = server.ask("GET", path)
    assert (status, b"error" in content) == (404, True)


def test_a_body_without_a_length_is_cut_off_at_the_limit(tmp_path):
    server = served(tmp_path, limits=Limits(body=1000))
    try:
        for said in ([], [(b"content-length", b"10")], [(b"content-length", b"2000")]):
            assert server.ask("POST", "/predict", b" " * 2000, json_headers(*said))[0] == 413
    finally:
        server.close()


def test_labels_beyond_the_limit_are_refused_before_the_model_makes_room_for_them(tmp_path, monkeypatch):
    server = served(tmp_path, growth=Growth(classes=3))
    try:
        assert server.json("/learn", {"examples": ["a"] * 3, "labels": ["x", "y", "z"]})[0] == 200
        with monkeypatch.context() as patch:
            patch.setattr(type(server.service.writer.sides.back), "learn_all", None)
            status, told = server.json("/learn", {"examples": ["a"] * 2, "labels": ["x", "v"]})
        assert status == 422
        assert "grow to 4 classes. At most 3 are allowed (--max-classes)" in told["error"]
        assert server.json("/learn", {"examples": ["a"], "labels": ["x"]})[1]["version"] == 4
    finally:
        server.close()


def test_the_best_labels_of_a_model_with_one_class_are_that_class(server):
    server.json("/learn", {"examples": [[1, 2]], "labels": ["only"]})
    status, told = server.json("/predict", {"examples": [[1, 2]], "top": 3})
    assert status == 200
    assert [label for label, _ in told["predictions"][0]["top"]] == ["only"]


def test_a_failure_is_answered_without_its_stack_trace(server, monkeypatch):
    def fails():
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr(server.service, "stats", fails)
    answered = []

    async def send(message):
        answered.append(message)

    with pytest.raises(RuntimeError):  # for the log of the server
        server._loop.run_until_complete(server.app(_scope("/stats"), None, send))
    assert answered[0]["status"] == 500
    assert b"secret" not in answered[1]["body"]


def _scope(path):
    return {
        "type": "http", "method": "GET", "path": path, "headers": [(b"host", b"localhost")], "query_string": b"",
        "scheme": "http", "server": ("localhost", 80), "http_version": "1.1", "root_path": "",
    }  # fmt: skip
