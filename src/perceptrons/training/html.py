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
    return text if isinstance(text, Html) else Html(escape(visible(str(text)), quote=True))


def table(rows: Iterable[Sequence[Any]], header: Sequence[Any] = ()) -> Html:
    """A table, a line a row; numbers that are not HTML yet stand on the right, and so does what is above them."""
    lines = [tuple(row) for row in rows]
    last = lines[-1] if lines else ()
    above = [_cell(cell, "th", number=k < len(last) and _is_number(last[k])) for k, cell in enumerate(header)]
    body = "".join(f"<tr>{''.join(_cell(cell, 'td', _is_number(cell)) for cell in row)}</tr>" for row in lines)
    head = f"<thead><tr>{''.join(above)}</tr></thead>" if header else ""
    return Html(f'<table style="border-collapse:collapse;color:inherit">{head}<tbody>{body}</tbody></table>')


def note(text: Any) -> Html:
    """A paragraph."""
    return Html(f'<p style="margin:0.4em 0;max-width:60em">{escaped(text)}</p>')


def block(*parts: str) -> Html:
    """Pieces of HTML below each other, as one."""
    return Html(f'<div class="perceptrons" style="font-size:0.95em">{"".join(parts)}</div>')


def _cell(content: Any, tag: str, number: bool) -> str:
    return f'<{tag} style="text-align:{"right" if number else "left"};{CELL}">{escaped(content)}</{tag}>'


def _is_number(content: Any) -> bool:
    if isinstance(content, str) and not isinstance(content, Html):
        return content[-1:] in tuple("0123456789%") and not content.strip("+-0123456789.,e%")
    return isinstance(content, Number)


def visible(text: str) -> str:
    """Without control characters and lone surrogates, which no page can hold."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1] for letter in text)
