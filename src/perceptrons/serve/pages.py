"""The two pages for people, `/` and `/docs`: one file of HTML each, with its style and its script inside.

Nothing is fetched but from this server. The Content-Security-Policy allows exactly the style and the script that the
page holds, by their hashes, so text that comes from requests cannot run even if it were written into the page as HTML.
"""

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from starlette.responses import HTMLResponse, Response

from perceptrons.serve import api_page

SCRIPTS = ("live_elements.js", "live_charts.js", "live_try.js", "live.js")
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' "
    "rx='4' fill='%230b57a4'/%3E%3Cpath d='M2 12L14 4' stroke='white' stroke-width='2'/%3E%3Ccircle cx='5' cy='5' "
    "r='2' fill='white'/%3E%3Ccircle cx='11' cy='11' r='2' fill='%23ffb37a'/%3E%3C/svg%3E"
)
HEADERS = {
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def _read(name: str) -> str:
    return files("perceptrons.serve").joinpath(name).read_text("utf-8")


def _allowed(content: str) -> str:
    """Return how a policy names one style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def policy(style: str, script: str | None = None) -> str:
    """Return the Content-Security-Policy of a page with this style and this script."""
    parts = ["default-src 'none'", f"style-src {_allowed(style)}", "img-src data:"]
    if script is not None:
        parts += [f"script-src {_allowed(script)}", "connect-src 'self'", "require-trusted-types-for 'script'"]
        parts += ["trusted-types 'none'"]
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"])


@cache
def _live(needs_token: bool) -> tuple[str, str]:
    """Return the live page and its policy."""
    style = _read("page.css") + _read("live.css")
    script = '"use strict";\n(() => {\n' + "".join(map(_read, SCRIPTS)) + "})();\n"
    page = Template(_read("live.html")).substitute(
        style=style, script=script, icon=ICON, token="needed" if needs_token else "unknown"
    )
    return page, policy(style, script)


def live(needs_token: bool = False) -> Response:
    """Return the live page. With needs_token, it asks for the token before it sends any request."""
    page, allowed = _live(needs_token)
    return HTMLResponse(page, headers={**HEADERS, "Content-Security-Policy": allowed})


@cache
def _docs(document: Callable[[], dict[str, Any]]) -> tuple[str, str]:
    """Return the page about the API and its policy: it needs no script."""
    style = _read("page.css") + _read("docs.css")
    contents, main = api_page.contents(document()), api_page.content(document())
    page = Template(_read("docs.html")).substitute(style=style, icon=ICON, contents=contents, main=main)
    return page, policy(style)


def docs(document: Callable[[], dict[str, Any]]) -> Response:
    """Return the page about the API. document: returns the OpenAPI document."""
    page, allowed = _docs(document)
    return HTMLResponse(page, headers={**HEADERS, "Content-Security-Policy": allowed})
