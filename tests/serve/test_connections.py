"""Connections that would keep a server busy: half a request, headers without an end, clients that read nothing."""

import contextlib
import socket
from threading import Thread

import pytest
import uvicorn

from perceptrons import Perceptron
from perceptrons.client import Client
from perceptrons.serve import connection
from perceptrons.serve.app import application
from perceptrons.serve.requests import Limits
from perceptrons.serve.security import LOCAL_HOSTS
from perceptrons.serve.service import Service, prepare
from perceptrons.serve.store import Store
from perceptrons.serve.writer import Writer
from tests.support.processes import wait_until

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
N_FEATURES = 2**19  # of the model: its file has 8 MB, more than buffers of sockets hold


@contextlib.contextmanager
def listening(folder, model=None):
    """The port of a server in a thread, and the server."""
    store = Store(folder, sync=False)
    prepare(store, model or Perceptron(), None)
    app = application(Service(store, Writer(store)), Limits(), None, LOCAL_HOSTS)
    config = uvicorn.Config(
        app, http=connection.Connection, lifespan="on", log_level="error", timeout_graceful_shutdown=10,
        limit_concurrency=connection.MAX_CONNECTIONS,
    )  # fmt: skip
    server, listener = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
    thread = Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield listener.getsockname()[1], server
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@contextlib.contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(30)
        yield client


def answer_to(client, sent):
    """What the server sends until it closes the connection, or its first answer."""
    with contextlib.suppress(OSError):  # it may be closed before all is sent
        client.sendall(sent)
    try:
        return client.recv(10_000)
    except ConnectionResetError:
        return b""


HALF = b"GET /healthz HTTP/1.1\r\nHost: loc"


@pytest.mark.parametrize(
    ("before", "part"), [(b"", b""), (b"", b"\r\n"), (b"", HALF), (GET, b"\r\n"), (GET, HALF)]
)  # fmt: skip
def test_half_a_request_is_closed_after_a_while(before, part, tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "HEADER_SECONDS", 0.3)
    with listening(tmp_path) as (port, _), connected(port) as client:
        if before:
            answer = answer_to(client, before)
            while not answer.endswith(b"}"):  # the head may come alone
                answer += client.recv(10_000)
            assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer_to(client, part) == b""
        with connected(port) as other:
            assert answer_to(other, GET).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "start",
    [
        b"GET /",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"GET /healthz HTTP/1.1\r\n",
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
    ],
    ids=["path", "one header", "headers", "trailers"],
)
def test_headers_without_an_end_are_refused(start, tmp_path):
    endless = b"x-name: value\r\n" if start.endswith(b"\n") else b"x" * 1000
    with listening(tmp_path) as (port, server), connected(port) as client:
        client.sendall(start)
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 40 * 2**20:
                client.sendall(endless * 64)
                sent += 64 * len(endless)
        assert sent < 40 * 2**20  # the server closed the connection before
        wait_until(lambda: not server.server_state.connections)


def test_a_new_connection_replaces_the_one_that_was_idle_for_longest(tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "MAX_CONNECTIONS", 10)
    with listening(tmp_path) as (port, _), contextlib.ExitStack() as many:
        clients = [many.enter_context(connected(port)) for _ in range(9)]
        for client in clients[1:] + clients[:1]:
            assert answer_to(client, GET).startswith(b"HTTP/1.1 200 ")
        newcomer = many.enter_context(connected(port))
        assert answer_to(newcomer, GET).startswith(b"HTTP/1.1 200 ")
        assert answer_to(clients[1], b"") == b""
        assert answer_to(clients[0], GET).startswith(b"HTTP/1.1 200 ")


def large_model():
    model = Perceptron(max_iter=1, tol=None)
    return model.partial_fit([[0.0] * N_FEATURES, [1.0] * N_FEATURES], [0, 1])


@pytest.mark.filterwarnings("ignore")
def test_our_client_opens_a_connection_again_that_the_server_has_closed(tmp_path):
    with listening(tmp_path) as (port, server):
        client = Client(f"http://127.0.0.1:{port}", retries=0)
        wait_until(client.is_ready)
        client.learn([{"a": 1}], ["x"])
        for other in list(server.server_state.connections):
            other.loop.call_soon_threadsafe(other.transport.abort)
        wait_until(lambda: not server.server_state.connections)
        assert client.rollback(0)["version"] == 0  # which is sent once only
        client.close()


def test_clients_that_do_not_read_a_model_file_are_closed_and_hold_no_copies_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "STALL_SECONDS", 0.5)
    with listening(tmp_path, large_model()) as (port, server), contextlib.ExitStack() as many:
        _wait_until_ready(port)
        stalled = [many.enter_context(connected(port)) for _ in range(10)]
        for client in stalled:
            client.sendall(b"GET /model/file HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with connected(port) as reader:
            received = _read_answer(reader, b"GET /model/file HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert received > 8 * N_FEATURES
        wait_until(lambda: len(server.server_state.connections) <= 1)


def test_the_server_ends_soon_though_clients_do_not_read(tmp_path):
    with listening(tmp_path, large_model()) as (port, server), contextlib.ExitStack() as many:
        _wait_until_ready(port)
        for _ in range(5):
            client = many.enter_context(connected(port))
            client.sendall(b"GET /model/file HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: any(one._stall for one in server.server_state.connections))
        server.should_exit = True
        wait_until(lambda: not server.server_state.connections, connection.STALL_SECONDS)


def _wait_until_ready(port):
    with connected(port) as client:
        wait_until(lambda: b" 200 " in answer_to(client, GET.replace(b"healthz", b"readyz")), 60)


def _read_answer(client, request):
    """The number of bytes of an answer, headers included."""
    client.sendall(request)
    received = client.recv(2**16)
    head, _, _ = received.partition(b"\r\n\r\n")
    length = next(int(line.split()[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    total, expected = len(received), len(head) + 4 + length
    while total < expected:
        part = client.recv(2**20)
        assert part
        total += len(part)
    return total
