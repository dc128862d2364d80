"""A server in this process: the whole application, without a socket."""

from contextlib import contextmanager

from starlette.testclient import TestClient

from perceptrons import Perceptron, load
from perceptrons.client import Client
from perceptrons.serve.app import application
from perceptrons.serve.requests import Limits
from perceptrons.serve.security import LOCAL_HOSTS
from perceptrons.serve.service import Service, prepare
from perceptrons.serve.store import Store
from perceptrons.serve.writer import Writer
from tests.support.processes import wait_until

URL = "http://localhost"
LEADER = "http://localhost:1"  # where nobody listens


@contextmanager
def served(folder, model=None, limits=None, token=None, store=None, follow=None, accept_older=False, **of_writer):
    """A client of httpx for a server of this folder; model: a file to begin with.

    Its `service` is the server, its `client` is our own client of it.

    follow: such a client of the server to follow, or None while that is off, in a tuple.
    """
    store = Store(folder) if store is None else store
    if store.is_new and follow is None:
        prepare(store, Perceptron() if model is None else load(model), model)
    service = Service(store, Writer(store, **of_writer), None if follow is None else (LEADER, None), accept_older)
    follower = service._follower
    if follow is not None:
        follow_through(service, *follow)
    app = application(service, limits or Limits(), token, LOCAL_HOSTS)
    with TestClient(app, base_url=URL, raise_server_exceptions=False) as http:
        wait_until(lambda: service.ready or service.error is not None, 60)
        assert service.error is None, service.error
        http.service, http.client = service, Client(URL, http=http, retries=0)
        yield http
    if follower is not None and follower.is_alive():
        follower.join(30)  # its leader must not end while it asks
    del service.writer.buffer  # two models, which would stay until garbage is collected


def follow_through(service, leader):
    """Let a follower reach its leader through a client of httpx; None: it does not reach it."""
    service._follower._leader = Client(LEADER, timeout=1, retries=0) if leader is None else leader.client


@contextmanager
def client_of(folder, model=None, **options):
    """The same, as our own client."""
    with served(folder, model, **options) as http:
        yield http.client
