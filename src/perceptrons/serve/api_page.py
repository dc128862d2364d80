"""The page about the API: the OpenAPI document as HTML, made on the server, without a script or a network."""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from perceptrons.engine.html import Html, escaped

URL = "http://127.0.0.1:8080"
INTRODUCTION = (
    "The examples call a server on this machine. If yours was started with `--token-file`, add "
    "`-H 'Authorization: Bearer TOKEN'` to each of them."
)
Json = dict[str, Any]


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Return path, method and description of all routes."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def contents(document: Json) -> Html:
    """Return links to all routes."""
    links = (
        f'<li><a href="#{one["operationId"]}">{method.upper()} {escaped(path)}</a></li>'
        for path, method, one in operations(document)
    )
    return Html(
        f'<ul>{"".join(links)}<li><a href="#schemas">Schemas</a></li><li><a href="#errors">Errors</a></li></ul>'
    )


def content(document: Json) -> Html:
    """Return the description of all routes and schemas."""
    introduction = [*document["info"]["description"].split("\n\n"), INTRODUCTION]
    routes = (_route(*one) for one in operations(document))
    schemas = (_schema(name, schema) for name, schema in document["components"]["schemas"].items())
    errors = (
        f'<dt id="{name}">{name.removeprefix("Status")}</dt><dd>{_text(one["description"])}</dd>'
        for name, one in document["components"]["responses"].items()
    )
    return Html(
        "".join(f"<p>{_text(part)}</p>" for part in introduction)
        + "".join(routes) + '<h2 id="schemas">Schemas</h2>' + "".join(schemas)
        + '<h2 id="errors">Errors</h2><dl>' + "".join(errors) + "</dl>"
    )  # fmt: skip


def curl(path: str, method: str, media_type: str = "", body: Any = None) -> str:
    """Return the command that sends a request."""
    if body is None:
        return f"curl {'-X POST ' if method == 'post' else ''}{URL}{path}"
    text = body.rstrip("\n") if isinstance(body, str) else json.dumps(body)
    return f"curl {URL}{path} -H 'Content-Type: {media_type}' \\\n  --data-binary {shlex.quote(text)}"


def _route(path: str, method: str, one: Json) -> str:
    commands = [("", curl(path, method))] if "requestBody" not in one else []
    body = ""
    for media_type, described in one.get("requestBody", {}).get("content", {}).items():
        body += f"<li>Body, {escaped(media_type)}: {_content(described['schema'])}</li>"
        for example in described.get("examples", {}).values():
            status = f": status {example['x-status']}" if example["x-status"] != 200 else ""
            commands.append((example["summary"] + status, curl(path, method, media_type, example["value"])))
    for parameter in one.get("parameters", ()):
        meaning = f"{_type(parameter['schema'])}. {_text(parameter['description'])}"
        body += f"<li>{parameter['in'].capitalize()} <code>{escaped(parameter['name'])}</code>: {meaning}</li>"
    replies = "; ".join(
        f"{escaped(media_type)}: {_content(described['schema'])}"
        for media_type, described in one["responses"]["200"]["content"].items()
    )
    errors = ", ".join(f'<a href="#Status{status}">{status}</a>' for status in one["responses"] if status != "200")
    examples = "".join(
        f'<p>{escaped(summary)}</p><pre tabindex="0"><code>{escaped(command)}</code></pre>'
        for summary, command in commands
    )
    return (
        f'<section id="{one["operationId"]}"><h3><span class="method {method}">{method.upper()}</span> '
        f"<code>{escaped(path)}</code></h3><p><strong>{escaped(one['summary'])}</strong></p>"
        f"<p>{_text(one['description'])}</p><ul>{body}<li>Reply, {replies}</li><li>Errors: {errors}</li></ul>"
        f"{examples}</section>"
    )


def _schema(name: str, schema: Json) -> str:
    required = schema.get("required", ())
    rows = "".join(
        f"<tr><td><code>{escaped(field)}</code></td><td>{_type(one)}</td><td>{'yes' if field in required else 'no'}"
        f"</td><td>{_text(one.get('description', ''))}</td></tr>"
        for field, one in schema.get("properties", {}).items()
    )
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Property", "Type", "Always there", "Meaning"))
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    examples = "\n".join(map(json.dumps, schema.get("examples", ())))
    return (
        f'<section id="{name}"><h3>{name}</h3><p>{_text(schema.get("description", ""))}</p>'
        f"{table if rows else f'<p>{_type(schema)}</p>'}"
        + (f'<pre tabindex="0"><code>{escaped(examples)}</code></pre>' if examples else "")
        + "</section>"
    )


def _content(schema: Json) -> Html:
    """Describe what a body holds: JSON Lines have a description."""
    return _text(schema["description"].rstrip(".")) if "description" in schema else _type(schema)


def _type(schema: Json) -> Html:
    """Describe a schema in a few words, with links to others."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return Html(f'<a href="#{name}">{name}</a>')
    if "anyOf" in schema:
        return Html(" or ".join(map(_type, schema["anyOf"])))
    if "enum" in schema:
        return escaped(" or ".join(map(json.dumps, schema["enum"])))
    kind = schema.get("type", "anything")
    if kind == "array" and isinstance(schema.get("items"), dict):
        return Html(f"list of {_type(schema['items'])}")
    limits = {"minimum": "at least", "maximum": "at most"}
    more = [f"{words} {schema[name]}" for name, words in limits.items() if name in schema]
    return escaped(", ".join([" or ".join(kind) if isinstance(kind, list) else kind, *more]))


def _text(text: str) -> Html:
    """Return text in which `this` is code."""
    parts = re.split(r"`([^`]+)`", text)
    return Html("".join(f"<code>{escaped(part)}</code>" if k % 2 else escaped(part) for k, part in enumerate(parts)))
