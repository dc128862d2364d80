"""HTML for notebooks and reports: everything escaped, no scripts, no colours of its own, so that it fits any theme."""

from collections.abc import Iterable, Sequence
from html import escape
from numbers import Number
from typing import Any

CELL = "padding:0.15em 0.6em;border-bottom:1px solid rgba(127,127,127,0.3);color:inherit;background:none"


class Html(str):
    """Text that is HTML already."""


def escaped(text: Any) -> Html:
    """Any text as HTML that shows it; what is HTML already stays."""
    return text if isinstance(text, Html) else Html(escape(_visible(str(text)), quote=True))


def table(rows: Iterable[Sequence[Any]], header: Sequence[Any] = ()) -> Html:
    """A table, a line a row; numbers stand on the right."""
    body = "".join(f"<tr>{''.join(_cell(cell, 'td') for cell in row)}</tr>" for row in rows)
    head = f"<thead><tr>{''.join(_cell(cell, 'th') for cell in header)}</tr></thead>" if header else ""
    return Html(f'<table style="border-collapse:collapse;color:inherit">{head}<tbody>{body}</tbody></table>')


def note(text: Any) -> Html:
    """A paragraph."""
    return Html(f'<p style="margin:0.4em 0;max-width:60em">{escaped(text)}</p>')


def block(*parts: str) -> Html:
    """Pieces of HTML below each other, as one."""
    return Html(f'<div class="perceptrons" style="font-size:0.95em">{"".join(parts)}</div>')


def _cell(content: Any, tag: str) -> str:
    number = isinstance(content, Number) or (isinstance(content, str) and _is_number(content))
    side = "right" if number else "left"
    return f'<{tag} style="text-align:{side};{CELL}">{escaped(content)}</{tag}>'


def _is_number(text: str) -> bool:
    return bool(text) and text[-1] in "0123456789%" and not text.strip("+-0123456789.,e%×")


def _visible(text: str) -> str:
    """Without control characters and lone surrogates, which no page can hold."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1] for letter in text)
