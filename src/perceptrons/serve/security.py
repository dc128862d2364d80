"""Who may ask: a token where there is one; without one only this machine, and no page of another site."""

import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request

from perceptrons.serve.requests import Refusal

OPEN = frozenset(("/", "/docs", "/openapi.json", "/healthz", "/readyz"))  # routes that show no data
LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))
HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")  # a Host header: a name or address, and a port
Scope = MutableMapping[str, Any]


class Guard:
    """Refuses requests before any route sees them. token: None, if the server can be reached from this machine only.

    Without a token the name of the host must be that of this machine, or a page of another site could reach the server
    through a name of its own (DNS rebinding). Pages of other origins are refused always.
    """

    def __init__(self, app: Any, token: str | None, hosts: frozenset[str] = LOCAL):
        self._app, self._token, self._hosts = app, None if token is None else token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(Request(scope))
        if refused is None:
            await self._app(scope, receive, send)
        else:
            await refused(scope, receive, send)

    def _refused(self, request: Request) -> Any:
        host = request.headers.get("host", "")
        if self._token is None and _name(host) not in self._hosts:
            return Refusal(403, "Call the server by the name localhost, or start it with --token-file.").response()
        origin = request.headers.get("origin")
        if origin is not None and _netloc(origin) != host.lower():
            return Refusal(403, "Pages of other sites may not use this server.").response()
        if self._token is None or request.scope["path"] in OPEN:  # request.url would believe the Host header
            return None
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token):
            return None
        what = "Give the token: send the header Authorization: Bearer TOKEN."
        return Refusal(401, what, {"WWW-Authenticate": "Bearer"}).response()


def _netloc(origin: str) -> str | None:
    """The name and the port in an Origin header."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _name(host: str) -> str:
    """Return the name in a Host header without the port, or "" if the header is malformed."""
    match = HOST.fullmatch(host)
    return "" if match is None else match[1].strip("[]").lower()
