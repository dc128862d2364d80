"""Start a server: bind, serve until a signal ends it, and say what kept it from starting."""

import logging
import signal
import socket
import warnings
from collections.abc import Callable
from threading import current_thread, main_thread
from typing import Any, NamedTuple

import uvicorn

from perceptrons.serve.app import application
from perceptrons.serve.connection import MAX_CONNECTIONS, Connection
from perceptrons.serve.requests import Limits
from perceptrons.serve.security import LOCAL
from perceptrons.serve.service import Service

GRACE = 10  # seconds for requests in progress when the server ends
KEEP_ALIVE = 75


class Address(NamedTuple):
    """Where the server listens, and with which certificate."""

    host: str
    port: int
    certificate: str | None = None
    key: str | None = None

    @property
    def is_local(self) -> bool:
        """Can it be reached from this machine only?"""
        return self.host in LOCAL


def serve(
    service: Service, address: Address, limits: Limits, token: str | None, said: Callable[[str], None]
) -> BaseException | None:
    """Serve until SIGINT or SIGTERM. said: called with the URL once the server listens. Returns what made it fail."""
    warnings.simplefilter("ignore")  # they would go to a log nobody reads, and are not safe in threads
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.INFO)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.create_server((address.host, address.port), family=family, backlog=1024, reuse_port=False)
    host, port = listening.getsockname()[:2]
    config = uvicorn.Config(
        application(service, limits, token, LOCAL | {address.host}),
        http=Connection,
        ws="none",
        lifespan="on",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        server_header=False,
        log_level="warning",
        access_log=False,
    )
    server = uvicorn.Server(config)
    service.failed = lambda: setattr(server, "should_exit", True)
    service.ending = lambda: server.should_exit
    if (
        current_thread() is main_thread()
    ):  # uvicorn raises the signal again when it has ended: that is the end, not a failure
        signal.signal(signal.SIGTERM, lambda *_: None)
    scheme = "http" if address.certificate is None else "https"
    said(f"{scheme}://{f'[{host}]' if family == socket.AF_INET6 else host}:{port}")
    server.run(sockets=[listening])
    return service.error


__all__: list[Any] = ["Address", "serve"]
