"""A server in this process: the whole application, without a socket."""

import time
from contextlib import contextmanager

from starlette.testclient import TestClient

from perceptrons import Perceptron, load
from perceptrons.client import Client
from perceptrons.serve.app import application
from perceptrons.serve.requests import Limits
from perceptrons.serve.security import LOCAL
from perceptrons.serve.service import Service, prepared
from perceptrons.serve.store import Store
from perceptrons.serve.writer import Writer

URL = "http://localhost"


@contextmanager
def served(folder, model=None, limits=None, token=None, store=None, **of_writer):
    """A client of httpx for a server of this folder; model: a file to begin with. Its `service` is the server."""
    store = Store(folder) if store is None else store
    if store.is_new:
        prepared(store, Perceptron() if model is None else load(model), model)
    service = Service(store, Writer(store, **of_writer))
    app = application(service, limits or Limits(), token, LOCAL)
    with TestClient(app, base_url=URL, raise_server_exceptions=False) as http:
        until = time.monotonic() + 60
        while not service.ready:
            assert service.error is None, service.error
            assert time.monotonic() < until
            time.sleep(0.005)
        http.service = service
        yield http
    del service.writer.sides  # two models, which would stay until garbage is collected


@contextmanager
def client_of(folder, model=None, **options):
    """The same, as our own client."""
    with served(folder, model, **options) as http:
        yield Client(URL, http=http, retries=0)
