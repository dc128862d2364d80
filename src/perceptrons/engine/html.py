"""HTML for notebooks and reports: everything escaped, no scripts, no colours of its own, so that it fits any theme."""

from collections.abc import Iterable, Sequence
from html import escape
from numbers import Number
from typing import Any

WIDTH, HEIGHT, POINTS = 240, 48, 240  # of the drawing; more epochs than points are thinned out
CLASSES = 8
REASONS = {
    "converged": "an epoch without an update",
    "stuck": "scores of exactly 0 counted as right, so training stopped",
    "tol": "the averaged weights stopped changing",
    "early_stopping": "accuracy on held-out examples no longer improved",
    "max_iter": "the maximum number of epochs was reached",
    "max_seconds": "the time limit was reached",
    "interrupted": "training was interrupted",
    "failed": "an error ended training",
}

CELL = "padding:0.15em 0.6em;border-bottom:1px solid rgba(127,127,127,0.3);color:inherit;background:none"


class Html(str):
    """Text that is HTML already."""


def escaped(text: Any) -> Html:
    """Any text as HTML that shows it; what is HTML already stays."""
    return text if isinstance(text, Html) else Html(escape(visible(str(text)), quote=True))


def table(rows: Iterable[Sequence[Any]], header: Sequence[Any] = ()) -> Html:
    """An HTML table of the rows. Numbers that are not HTML yet are aligned to the right, with their headers."""
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


def iframe(page: str, title: str, style: str, sandbox: str | None = None) -> Html:
    """A whole page in a frame of its own, for notebooks. sandbox: what it may do; None: everything."""
    limits = "" if sandbox is None else f'sandbox="{sandbox}" '
    return Html(
        f'<iframe {limits}title="{escaped(title)}" style="width:100%;{style}" srcdoc="{escape(page)}"></iframe>'
    )


def _cell(content: Any, tag: str, number: bool) -> str:
    return f'<{tag} style="text-align:{"right" if number else "left"};{CELL}">{escaped(content)}</{tag}>'


def _is_number(content: Any) -> bool:
    if isinstance(content, str) and not isinstance(content, Html):
        return content[-1:] in tuple("0123456789%") and not content.strip("+-0123456789.,e%")
    return isinstance(content, Number)


def visible(text: str) -> str:
    """Without control characters and lone surrogates, which no page can hold."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1] for letter in text)


def how_it_went(model: Any) -> str:
    """Classes, features, epochs, updates, why training stopped, and a drawing of the mistakes; "" if not fitted."""
    learner = getattr(model, "_learner", None)
    if learner is None:
        return ""
    history, reason = getattr(model, "history_", []), getattr(model, "stop_reason_", None)
    rows: list[tuple[Any, Any]] = []
    if hasattr(learner, "classes"):
        labels = learner.classes.tolist()
        named = ", ".join(str(label) for label in labels[:CLASSES]) + ", ..." * (len(labels) > CLASSES)
        rows.append(("classes", f"{len(labels):,}: {named}"))
    if hasattr(model, "n_features_in_"):
        rows.append(("features", f"{model.n_features_in_:,}"))
    if hasattr(learner, "n_support"):
        rows.append(("support vectors", f"{learner.n_support:,}"))
    rows += [("epochs", f"{len(history):,}")] if history else [("examples seen", f"{model.t_:,.0f}")]
    rows.append(("updates", f"{model.n_updates_:,}"))
    if reason:
        rows.append(("stopped", f"{reason}: {REASONS[reason]}" if reason in REASONS else reason))
    rows = [(name, escaped(value)) for name, value in rows]  # numbers, too, begin on the left
    drawing = [note("Mistakes by epoch"), sparkline([row["mistakes"] for row in history])] if len(history) > 1 else []
    return block(table(rows), *drawing)


def sparkline(numbers: Sequence[float], words: str = "", low: float = 0.0) -> Html:
    """A line through the numbers, from `low` up, in the colour of the text around it, and what it says in words.

    Without words it is of mistakes, the first and the last of which are said.
    """
    step = max(1, -(-len(numbers) // POINTS))
    shown = [max(numbers[k : k + step]) for k in range(0, len(numbers), step)]
    most, last = max(low + 1e-9 if words else 1, *shown), max(1, len(shown) - 1)
    points = " ".join(
        f"{4 + WIDTH * k / last:.1f},{4 + HEIGHT * (1 - (number - low) / (most - low)):.1f}"
        for k, number in enumerate(shown)
    )
    words = words or f"{numbers[0]:,} in the first of {len(numbers):,} epochs, {numbers[-1]:,} in the last"
    return Html(
        f'<svg role="img" width="{WIDTH + 8}" height="{HEIGHT + 8}" viewBox="0 0 {WIDTH + 8} {HEIGHT + 8}" '
        f'style="max-width:100%"><title>{words}</title>'
        f'<path d="M4 {HEIGHT + 4}H{WIDTH + 4}" stroke="currentColor" stroke-opacity="0.3" fill="none"/>'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5" '
        f'stroke-linejoin="round"/></svg>' + note(words)
    )
