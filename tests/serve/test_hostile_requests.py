"""Requests that mean no good: forged, too large, from other sites, without a token. The server refuses and stays."""

import asyncio
import contextlib
import json
import os
import random
import socket
import subprocess
import time
import tracemalloc
from contextlib import closing
from threading import Event, Lock, Thread

import pytest

from perceptrons.client import Client, ServerError
from perceptrons.linear import Perceptron
from perceptrons.serve import recent
from perceptrons.serve.requests import Limits
from perceptrons.serve.service import prepare
from perceptrons.serve.state import GrowthLimits
from perceptrons.serve.store import Store
from tests.support.processes import started, wait_until
from tests.support.served import Examples, WarmServer, as_text, free_port, read_log
from tests.support.streams import PROGRAM
from tools.fuzz_requests import MODELS, Asgi, FoundError, Fuzzed
from tools.fuzz_requests import served as sparse_server

TOKEN = "a-token-of-forty-characters-or-thereabouts"
MANY = 400  # requests to each kind of model


@pytest.fixture
def server(request, tmp_path):
    """A server of an empty model, with the options that the test asks for."""
    yield from served(tmp_path, **getattr(request, "param", {}))


def served(folder, token=None, growth=None, limits=None, **options):
    store = Store(folder / "data", sync=False)
    prepare(store, Perceptron(), None)
    server = Asgi(store, growth or GrowthLimits(), limits or Limits(body=2**20, seconds=1.0), token, **options)
    yield server
    server.close()


def with_options(**options):
    """Decorate a test whose server has these options."""
    return pytest.mark.parametrize("server", [options], indirect=True, ids=["server"])


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


@with_options(token=TOKEN)
def test_a_host_header_that_looks_like_an_open_path_does_not_pass_for_the_token(server):
    for host in (b"x/healthz?", b"x/readyz#", b"localhost/docs?", b"x/?"):
        for method, path in (("GET", "/stats"), ("GET", "/model/file"), ("POST", "/snapshot")):
            assert server.ask(method, path, headers=[(b"host", host)])[0] == 401


@with_options(token=TOKEN)
def test_only_the_whole_token_is_let_in(server):
    token = TOKEN.encode()
    wrong = (b"", token[:-1], token + b"x", b"\xff\xfe", token.upper())
    for given in (b"", b"Bearer", b"Basic " + token, token, *(b"Bearer " + one for one in wrong)):
        status, headers, content = server.ask("GET", "/stats", headers=[(b"authorization", given)])
        assert status == 401
        assert headers["www-authenticate"] == "Bearer"
        assert TOKEN.encode() not in content
    assert server.ask("GET", "/stats", headers=[(b"authorization", b"Bearer " + TOKEN.encode())])[0] == 200
    assert server.ask("GET", "/healthz")[0] == 200


def test_without_a_token_other_names_of_the_server_are_refused(server):
    forged = b"localhost/.evil.example", b"localhost?.evil.example", b"localhost#x", b"localhost:80:80", b"localhost:x"
    for host in (
        b"evil.example", b"127.0.0.1.evil.example", b"", b"[", b"localhost@evil.example", b"192.168.1.7", *forged,
    ):  # fmt: skip
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


@with_options(limits=Limits(body=1000))
def test_a_body_without_a_length_is_cut_off_at_the_limit(server):
    for length in ([], [(b"content-length", b"10")], [(b"content-length", b"2000")]):
        assert server.ask("POST", "/predict", b" " * 2000, json_headers(*length))[0] == 413


@with_options(growth=GrowthLimits(classes=3))
def test_labels_beyond_the_limit_are_refused_before_the_model_makes_room_for_them(server, monkeypatch):
    assert server.json("/learn", {"examples": ["a"] * 3, "labels": ["x", "y", "z"]})[0] == 200
    assert server.ask("GET", "/model/file")[0] == 200  # comes after both copies have learned
    with monkeypatch.context() as patch:
        patch.setattr(type(server.service.writer.buffer.back), "learn_all", None)
        status, reply = server.json("/learn", {"examples": ["a"] * 2, "labels": ["x", "v"]})
    assert status == 422
    assert "grow to 4 classes. At most 3 are allowed (--max-classes)" in reply["error"]
    assert server.json("/learn", {"examples": ["a"], "labels": ["x"]})[1]["version"] == 4


@pytest.mark.parametrize("name", ["svmlight", "vw"])
@pytest.mark.parametrize("empty", [{}, "", " ", "#"])
def test_a_sparse_row_that_its_reader_passes_over_is_refused_and_shifts_no_label(name, empty, tmp_path):
    server = sparse_server(name, tmp_path / "data")
    try:
        good = {"1": 1.0}
        assert server.json("/predict", {"examples": [empty]})[0] in (200, 422)
        for path, more in (("/predict", {}), ("/learn", {"labels": [1, 1, 1]})):
            status, told = server.json(path, {"examples": [good, empty, good], **more})
            if status != 200:
                assert status == 422
                assert "model cannot learn" not in told["error"]
            else:
                assert len(told["predictions"]) == 3
    finally:
        server.close()


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 400])
@pytest.mark.parametrize("example", ["[%s, 1]", '{"a": %s}'])
def test_a_number_beyond_the_largest_float_is_refused(server, number, example):
    taught = example % 1
    assert (
        server.ask("POST", "/learn", b'{"examples": [%s], "labels": [1]}' % taught.encode(), json_headers())[0] == 200
    )
    body = b'{"examples": [%s]' % (example % number).encode()
    assert server.ask("POST", "/predict", body + b"}", json_headers())[0] == 422
    assert server.ask("POST", "/learn", body + b', "labels": [1]}', json_headers())[0] == 422
    assert server.service.version == 1


def test_labels_that_do_not_fit_are_named_and_the_others_of_the_same_feedback_are_learned(server):
    first, second, third = (
        one["id"] for one in server.json("/predict", {"examples": ["a", "b", "c"]})[1]["predictions"]
    )
    sent = [
        {"id": first, "label": "x"}, {"id": "0-0", "label": "x"}, {"id": second, "label": None},
        {"id": first, "label": "y"}, {"id": third, "label": "z"},
    ]  # fmt: skip
    status, told = server.json("/feedback", {"feedback": sent})
    assert (status, told["version"], told["learned"], told["repeated"]) == (200, 2, 2, False)
    assert [(one["id"], one["status"]) for one in told["refused"]] == [("0-0", 404), (second, 422), (first, 422)]
    status, told = server.json("/feedback", {"feedback": [{"id": first, "label": "x"}, {"id": second, "label": "y"}]})
    assert (status, told["version"], told["learned"], "refused" in told) == (200, 3, 2, False)
    for alone, expected in (({"id": first, "label": "y"}, 422), ({"id": "0-0", "label": "x"}, 404)):
        assert server.json("/feedback", {"feedback": [alone]})[0] == server.json("/feedback", alone)[0] == expected
    assert server.service.version == 3


def test_feedback_to_many_predictions_of_one_request_parses_that_request_once(server, monkeypatch):
    ids = [one["id"] for one in server.json("/predict", {"examples": ["a"] * 50})[1]["predictions"]]
    parsed = []
    monkeypatch.setattr(recent.json, "decode", lambda content: parsed.append(content) or json.loads(content))
    assert len(server.service.recent_examples.find(ids)) == 50
    assert len(parsed) == 1


def test_remembered_examples_take_no_more_memory_than_they_may(monkeypatch):
    monkeypatch.setattr(recent, "MAX_EXAMPLE_BYTES", 2**20)
    kept = recent.RecentExamples()
    examples = [{f"feature {k}": [0.5, 1.5] for k in range(40)} for _ in range(20)]
    tracemalloc.start()
    try:
        for _ in range(200):
            ids = kept.add(examples)
        assert tracemalloc.get_traced_memory()[0] < 1.2 * 2**20
    finally:
        tracemalloc.stop()
    assert kept.find([ids[3]]) == {ids[3]: examples[3]}


@with_options(limits=Limits(bodies=1000, seconds=30.0))
def test_bodies_in_progress_are_bounded_and_counted_off_when_they_are_done(server):
    writer = server.service.writer
    entered, free = Event(), Event()
    writer.ask(lambda: entered.set() or free.wait(60))
    entered.wait(60)
    body = json.dumps({"examples": ["a" * 700], "labels": ["x"]}).encode()

    async def both():
        first = asyncio.ensure_future(server._asked("POST", "/learn", body, json_headers(), b""))
        while not writer.n_waiting:
            await asyncio.sleep(0.001)
        second = await server._asked("POST", "/predict", body, json_headers(), b"")
        free.set()
        return await first, second

    try:
        first, second = server._loop.run_until_complete(both())
        assert (first[0], second[0], second[1]["retry-after"]) == (200, 503, "1")
        assert server.ask("POST", "/learn", body, json_headers())[0] == 200
        large = json.dumps({"examples": ["a" * 5000], "labels": ["x"]}).encode()
        assert server.ask("POST", "/learn", large, json_headers())[0] == 200  # a single request is let in
    finally:
        free.set()


def test_an_upload_that_breaks_off_is_counted_and_leaves_no_traceback(server, caplog):
    parts = [{"type": "http.request", "body": b'{"exam', "more_body": True}, {"type": "http.disconnect"}]

    async def receive():
        return parts.pop(0)

    async def send(message):
        pass

    scope = _scope("/learn") | {"method": "POST", "headers": [(b"host", b"localhost"), *json_headers()]}
    server._loop.run_until_complete(server.app(scope, receive, send))
    assert b'perceptrons_requests_total{route="/learn",status="499"} 1.0' in server.ask("GET", "/metrics")[2]
    assert not caplog.records


def test_when_learning_fails_for_good_requests_get_503_and_the_server_is_told_to_end(server, monkeypatch):
    ended = []
    server.service.failed = lambda: ended.append(True)
    monkeypatch.setattr(server.service.writer, "_commit", lambda *_: 1 / 0)
    status, told = server.json("/learn", {"examples": ["a"], "labels": ["x"]})
    assert (status, ended) == (503, [True])
    assert "send the request again" in told["error"]


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


# ---- over sockets


@pytest.fixture
def process(tmp_path):
    """A server in a process of its own, stopped at the end if it is still there."""
    made = WarmServer(tmp_path / "data")
    made.begin()
    made.ready()
    yield made
    made.close()


def connected(server):
    made = socket.create_connection(("127.0.0.1", server.port))
    made.settimeout(60)
    return made


POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes of POSIX")


@POSIX
@pytest.mark.slow
def test_a_body_that_comes_too_slowly_gets_408_and_others_are_answered_meanwhile(process):
    with connected(process) as slow, closing(Client(process.url, retries=0)) as client:
        slow.sendall(b"POST /learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: 100\r\n\r\n{")  # fmt: skip
        assert client.learn(["a"], ["x"])["version"] == 1
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")
        assert client.predict(["a"]) == ["x"]


@POSIX
def test_a_chunked_body_without_an_end_is_cut_off_at_the_limit(process):
    with connected(process) as endless:
        endless.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        b"Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
        chunk = b"100000\r\n" + b" " * 2**20 + b"\r\n"
        with contextlib.suppress(OSError):  # it may be closed before all is sent
            for _ in range(20):
                endless.sendall(chunk)
        assert endless.recv(1000).startswith(b"HTTP/1.1 413 ")


@with_options(max_waiting=5)
def test_more_examples_than_may_wait_get_429_and_a_time_to_try_again(server):
    writer = server.service.writer
    held, free = Event(), Event()
    writer.ask(lambda: held.set() or free.wait(60))
    held.wait(60)
    try:
        waiting = writer.submit(["a"] * 4, ["x"] * 4)
        sent = json.dumps({"examples": ["a"] * 2, "labels": ["x"] * 2}).encode()
        status, headers, _ = server.ask("POST", "/learn", sent, json_headers())
        assert (status, headers["retry-after"]) == (429, "1")
        assert server.json("/predict", {"examples": ["a"]})[0] == 200
        free.set()
        assert waiting.result(60).learned == 4
        wait_until(lambda: server.ask("POST", "/learn", sent, json_headers())[0] != 429)  # once both copies learned
        assert server.service.version == 6
    finally:
        free.set()


@POSIX
def test_sigterm_under_load_and_with_a_follower_ends_soon_with_0_and_loses_nothing(tmp_path):
    folders = tmp_path / "leader", tmp_path / "follower"
    ports = free_port(), free_port()
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    with contextlib.ExitStack() as stack:
        running, lock, acknowledged = [], Lock(), []
        for folder, port, more in zip(folders, ports, ([], ["--follow", urls[0]]), strict=True):
            command = [*PROGRAM, "serve", "--data", str(folder), "--port", str(port), "--quiet", *more]
            running.append(stack.enter_context(started(command, stderr=subprocess.PIPE, text=True)))
            with closing(Client(urls[len(running) - 1])) as client:
                wait_until(client.is_ready, 60)
        examples = Examples("features")

        def learns():
            with closing(Client(urls[0], retries=0)) as client, contextlib.suppress(OSError, ServerError):
                while True:
                    with lock:
                        some, labels = examples.some(3)
                    client.learn(some, labels)
                    with lock:
                        acknowledged.extend(map(as_text, some))

        threads = [Thread(target=learns) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(3)
        for one in running:  # by its own id: no other server is meant
            began = time.monotonic()
            one.terminate()
            assert one.wait(60) == 0, one.stderr.read()
            assert time.monotonic() - began < 5
        for thread in threads:
            thread.join()
        assert "Traceback" not in running[0].stderr.read()
    learned = read_log(folders[0]).examples()
    assert len(acknowledged) > 10
    assert len({*learned}) == len(learned)
    assert {*acknowledged} <= {*learned}
