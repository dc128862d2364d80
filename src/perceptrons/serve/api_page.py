"""The OpenAPI document as HTML for people, made on the server: all of it is escaped, and it needs no script."""

import json
import re
import shlex
from collections.abc import Iterable
from typing import Any

from perceptrons.engine.html import Html, escaped
from perceptrons.serve.openapi import JSON, document

HERE = "http://127.0.0.1:8080"
INTRODUCTION = (
    "The examples call a server on this machine. If yours was started with `--token-file`, add "
    "`-H 'Authorization: Bearer TOKEN'` to each of them."
)


def _tag(name: str, *content: Any, **attributes: str) -> Html:
    said = "".join(f' {key.rstrip("_")}="{escaped(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{said}>{''.join(escaped(part) for part in content)}</{name}>")


def _words(text: str) -> Html:
    """Text in which `this` is code."""
    parts = re.split(r"`([^`]+)`", text)
    return Html("".join(_tag("code", part) if k % 2 else escaped(part) for k, part in enumerate(parts)))


def _table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> Html:
    head = _tag("tr", *(_tag("th", name, scope="col") for name in header))
    body = (_tag("tr", *(_tag("td", cell) for cell in row)) for row in rows)
    return _tag("div", _tag("table", _tag("thead", head), _tag("tbody", *body)), class_="scroll")


def operations(described: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """All of (path, method, operation), in the order of the document."""
    return [(path, method, found) for path, all_of in described["paths"].items() for method, found in all_of.items()]


def curl(path: str, method: str, kind: str | None = None, value: Any = None) -> str:
    """The command that sends a request."""
    if kind is None:
        return f"curl {'-X POST ' if method == 'post' else ''}{HERE}{path}"
    body = json.dumps(value) if kind == JSON else str(value).rstrip("\n")
    return f"curl {HERE}{path} -H 'Content-Type: {kind}' \\\n  --data-binary {shlex.quote(body)}"


def contents() -> Html:
    """Links to all routes, by tag."""
    described = document()
    parts = []
    for tag in [one["name"] for one in described["tags"]]:
        items = [
            _tag("li", _tag("a", f"{method.upper()} {path}", href=f"#{found['operationId']}"))
            for path, method, found in operations(described)
            if tag in found["tags"]
        ]
        parts += [_tag("h2", tag), _tag("ul", *items)]
    return Html("".join([*parts, _tag("h2", "More"), '<ul><li><a href="#schemas">Schemas</a></li></ul>']))


def content() -> Html:
    """Everything else."""
    described = document()
    parts = [_tag("p", _words(part)) for part in (*described["info"]["description"].split("\n\n"), INTRODUCTION)]
    for tag in [one["name"] for one in described["tags"]]:
        parts.append(_tag("h2", tag))
        parts += [_operation(described, *one) for one in operations(described) if tag in one[2]["tags"]]
    parts.append(_tag("h2", "Schemas", id="schemas"))
    schemas = described["components"]["schemas"]
    parts += [_tag("section", _tag("h3", name), *_schema(found), id=name) for name, found in schemas.items()]
    return Html("".join(parts))


def _operation(described: dict[str, Any], path: str, method: str, found: dict[str, Any]) -> Html:
    title = _tag("span", method.upper(), class_=f"method {method}")
    parts = [_tag("h3", title, " ", _tag("code", path)), _tag("p", _tag("strong", found["summary"]))]
    parts.append(_tag("p", _words(found["description"])))
    if found.get("parameters"):
        rows = [
            (_tag("code", one["name"]), one["in"], _type(one["schema"]), _words(one["description"]))
            for one in found["parameters"]
        ]
        parts += [_tag("h4", "Parameters"), _table(("Name", "In", "Type", "Meaning"), rows)]
    parts += [_tag("h4", "Request"), *_requests(path, method, found)]
    answers = [
        (_tag("strong", status), *_answer(_resolved(described, one))) for status, one in found["responses"].items()
    ]
    parts += [_tag("h4", "Answers"), _table(("Status", "Meaning", "Content"), answers)]
    return _tag("section", *parts, id=found["operationId"])


def _requests(path: str, method: str, found: dict[str, Any]) -> list[Html]:
    """The examples as commands: the first one open, the others to unfold."""
    if "requestBody" not in found:
        return [_tag("pre", _tag("code", curl(path, method)), tabindex="0")]
    parts = []
    for kind, body in found["requestBody"]["content"].items():
        if kind == JSON:
            parts.append(_tag("p", "Body: ", _type(body["schema"])))
        for example in body["examples"].values():
            command = _tag("pre", _tag("code", curl(path, method, kind, example["value"])), tabindex="0")
            said = example["summary"] + (f": status {example['x-status']}" if example["x-status"] != 200 else "")
            if len(parts) < 2:
                parts.append(command)
            else:
                parts.append(_tag("details", _tag("summary", said), command))
    return parts


def _resolved(described: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in found:
        return dict(described["components"]["responses"][found["$ref"].rpartition("/")[2]])
    return found


def _answer(found: dict[str, Any]) -> tuple[Html, Html]:
    """Meaning and content of a response."""
    kinds = [
        _type(one["schema"]) if kind == JSON else _tag("span", kind) for kind, one in found.get("content", {}).items()
    ]
    headers = [_tag("span", ", header ", _tag("code", name)) for name in found.get("headers", {})]
    return _words(found["description"]), Html(", ".join(kinds) + "".join(headers))


def _type(schema: dict[str, Any]) -> Html:
    """A schema in a few words, with links to others."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _tag("a", name, href=f"#{name}")
    for word in ("anyOf", "allOf"):
        if word in schema:
            return Html(escaped(" or " if word == "anyOf" else " and ").join(map(_type, schema[word])))
    if "enum" in schema:
        return escaped(" or ".join(map(json.dumps, schema["enum"])))
    kind = schema.get("type", "anything")
    if kind == "array" and "items" in schema:
        return Html(f"list of {_type(schema['items'])}")
    said = " or ".join(kind) if isinstance(kind, list) else kind
    limits = {"minimum": "at least", "maximum": "at most", "default": "default:"}
    more = [f"{words} {json.dumps(schema[name])}" for name, words in limits.items() if name in schema]
    return escaped(", ".join([said, *more]))


def _schema(found: dict[str, Any]) -> list[Html]:
    """A schema: what it is for, its properties, examples."""
    parts = [_tag("p", _words(found["description"]))] if "description" in found else []
    for one in found.get("anyOf", found.get("allOf", [found])):
        if "properties" not in one:
            parts.append(_tag("p", _type(one), _words(f". {one['description']}" if one is not found and
                                                      "description" in one else "")))  # fmt: skip
            continue
        required = one.get("required", [])
        rows = [
            (_tag("code", name), _type(of), "yes" if name in required else "no", _words(of.get("description", "")))
            for name, of in one["properties"].items()
        ]
        parts.append(_table(("Property", "Type", "Required", "Meaning"), rows))
    if "examples" in found:
        shown = "\n".join(json.dumps(example) for example in found["examples"])
        parts += [_tag("h4", "Examples"), _tag("pre", _tag("code", shown), tabindex="0")]
    return parts
