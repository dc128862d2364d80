"""Access control: holders of the token if there is one, else this machine only; never pages of other sites."""

import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request

from perceptrons.serve.requests import error_response

OPEN_PATHS = frozenset(("/", "/docs", "/openapi.json", "/healthz", "/readyz"))  # they show no data
LOCAL_HOSTS = frozenset(("localhost", "127.0.0.1", "::1"))
HOST_PATTERN = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")  # name and port
Scope = MutableMapping[str, Any]


class Guard:
    """Refuses requests before any route sees them. token: None if only this machine can reach the server.

    Without a token the name of the host must be that of this machine, or a page of another site could reach the server
    through a name of its own (DNS rebinding). Pages of other origins are refused always.
    """

    def __init__(self, app: Any, token: str | None, hosts: frozenset[str] = LOCAL_HOSTS):
        self._app, self._token, self._hosts = app, None if token is None else token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        app = self._app if refusal is None else error_response(refusal)
        await app(scope, receive, send)

    def _refusal(self, request: Request) -> HTTPException | None:
        host = request.headers.get("host", "")
        if self._token is None and _host_name(host) not in self._hosts:
            return HTTPException(403, "Call the server by the name localhost, or start it with --token-file.")
        origin = request.headers.get("origin")
        if origin is not None and _origin_host(origin) != host.lower():
            return HTTPException(403, "Pages of other sites may not use this server.")
        if self._token is None or request.scope["path"] in OPEN_PATHS:  # request.url would believe the Host header
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token):
            return None
        advice = "Give the token: send the header Authorization: Bearer TOKEN."
        return HTTPException(401, advice, {"WWW-Authenticate": "Bearer"})


def _origin_host(origin: str) -> str | None:
    """Return the name and the port in an Origin header."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _host_name(host: str) -> str:
    """Return the name in a Host header without the port, or "" if the header is malformed."""
    match = HOST_PATTERN.fullmatch(host)
    return "" if match is None else match[1].strip("[]").lower()
