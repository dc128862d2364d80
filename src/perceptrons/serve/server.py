"""Start a server: bind, serve until a signal ends it, and return the error that kept it from starting."""

import logging
import signal
import socket
import warnings
from collections.abc import Callable
from threading import current_thread, main_thread
from typing import NamedTuple

import uvicorn

from perceptrons.serve.app import application
from perceptrons.serve.connection import MAX_CONNECTIONS, Connection
from perceptrons.serve.requests import Limits
from perceptrons.serve.security import LOCAL_HOSTS
from perceptrons.serve.service import Service

GRACE_SECONDS = 10  # for requests in progress when the server ends
KEEP_ALIVE_SECONDS = 75


class Address(NamedTuple):
    """The address on which the server listens, and its certificate."""

    host: str
    port: int
    certificate: str | None = None
    key: str | None = None

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach it."""
        return self.host in LOCAL_HOSTS


def serve(
    service: Service, address: Address, limits: Limits, token: str | None, on_listening: Callable[[str], None]
) -> BaseException | None:
    """Serve until SIGINT or SIGTERM. Return the error that ended the server, if any.

    on_listening: called with the URL once the server listens.
    """
    warnings.simplefilter("ignore")  # they would go to a log nobody reads, and are not safe in threads
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.INFO)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.create_server((address.host, address.port), family=family, backlog=1024, reuse_port=False)
    host, port = listening.getsockname()[:2]
    config = uvicorn.Config(
        application(service, limits, token, LOCAL_HOSTS | {address.host}),
        http=Connection,
        ws="none",
        lifespan="on",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        server_header=False,
        log_level="warning",
        access_log=False,
    )
    server = uvicorn.Server(config)
    service.failed = lambda: setattr(server, "should_exit", True)
    service.ending = lambda: server.should_exit
    if current_thread() is main_thread():
        # uvicorn raises the signal again when it has ended, which would end the process with a failure.
        signal.signal(signal.SIGTERM, lambda *_: None)
    scheme = "http" if address.certificate is None else "https"
    on_listening(f"{scheme}://{f'[{host}]' if family == socket.AF_INET6 else host}:{port}")
    server.run(sockets=[listening])
    return service.error
