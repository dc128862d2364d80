"""The two pages for people, `/` and `/docs`: one file of HTML each, with its style and its script inside.

Nothing is fetched but from this server. The Content-Security-Policy allows exactly the style and the script that the
page holds, by their hashes, so text that comes from requests cannot run even if it were written into the page as HTML.
"""

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

SCRIPTS = ("live_elements.js", "live_charts.js", "live_try.js", "live.js")
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' "
    "rx='4' fill='%230b57a4'/%3E%3Cpath d='M2 12L14 4' stroke='white' stroke-width='2'/%3E%3Ccircle cx='5' cy='5' "
    "r='2' fill='white'/%3E%3Ccircle cx='11' cy='11' r='2' fill='%23ffb37a'/%3E%3C/svg%3E"
)
URL = "http://127.0.0.1:8080"  # in the examples of /docs
HEADERS = {
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@cache
def live(needs_token: bool = False) -> Response:
    """Return the live page. With needs_token, it asks for the token before it sends any request."""
    script = '"use strict";\n(() => {\n' + "".join(map(_read, SCRIPTS)) + "})();\n"
    return _page("live", script, token="needed" if needs_token else "unknown")


@cache
def docs(document: Callable[[], dict[str, Any]]) -> Response:
    """Return the page about the API, which needs no script. document: returns the OpenAPI document."""
    return _page("docs", document=document(), curl=curl)


def _page(name: str, script: str = "", **values: Any) -> Response:
    style = _read("page.css") + _read(f"{name}.css")
    page = _templates().get_template(f"{name}.html").render(style=style, script=script, icon=ICON, **values)
    return HTMLResponse(page, headers={**HEADERS, "Content-Security-Policy": policy(style, script)})


def policy(style: str, script: str = "") -> str:
    """Return the Content-Security-Policy of a page with this style and this script."""
    parts = ["default-src 'none'", f"style-src {_hash(style)}", "img-src data:"]
    if script:
        parts += [f"script-src {_hash(script)}", "connect-src 'self'", "require-trusted-types-for 'script'"]
        parts += ["trusted-types 'none'"]
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"])


def curl(path: str, method: str, media_type: str = "", body: Any = None) -> str:
    """Return the command that sends a request."""
    if body is None:
        return f"curl {'-X POST ' if method == 'post' else ''}{URL}{path}"
    text = body.rstrip("\n") if isinstance(body, str) else json.dumps(body)
    return f"curl {URL}{path} -H 'Content-Type: {media_type}' \\\n  --data-binary {shlex.quote(text)}"


@cache
def _templates() -> Environment:
    environment = Environment(loader=PackageLoader("perceptrons", "serve"), autoescape=True, trim_blocks=True)
    environment.filters |= {"json": json.dumps, "code": _with_code}
    return environment


def _with_code(text: str) -> Markup:
    """Return text in which `this` is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _read(name: str) -> str:
    return files("perceptrons.serve").joinpath(name).read_text("utf-8")


def _hash(content: str) -> str:
    """Return how a policy names one style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
