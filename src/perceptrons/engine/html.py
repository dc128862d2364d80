"""HTML for notebooks: everything escaped, no scripts, no colours of its own, so that it fits any theme."""

from collections.abc import Iterable, Sequence
from html import escape
from numbers import Number
from typing import Any

from perceptrons.engine.wording import STOP_REASONS, listed

SPARKLINE_WIDTH, SPARKLINE_HEIGHT, SPARKLINE_MARGIN = 240, 48, 4
MAX_SPARKLINE_POINTS = 240
MAX_CLASSES = 8
CELL_STYLE = "padding:0.15em 0.6em;border-bottom:1px solid rgba(127,127,127,0.3);color:inherit;background:none"


class Html(str):
    """Text that is HTML already."""


def visible(text: str) -> str:
    """Return a text with control characters and lone surrogates, which no page can hold, written as escapes."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1] for letter in text)


def escaped(text: Any) -> Html:
    """Return any text as HTML that shows it; `Html` stays as it is."""
    return text if isinstance(text, Html) else Html(escape(visible(str(text)), quote=True))


def table(rows: Iterable[Sequence[Any]], header: Sequence[Any] = ()) -> Html:
    """Return a table. Numbers that are not `Html` yet are aligned to the right, with their headers."""
    lines = [tuple(row) for row in rows]
    last = lines[-1] if lines else ()
    titles = [_cell(cell, "th", k < len(last) and _is_number(last[k])) for k, cell in enumerate(header)]
    head = f"<thead><tr>{''.join(titles)}</tr></thead>" if header else ""
    body = "".join(f"<tr>{''.join(_cell(cell, 'td', _is_number(cell)) for cell in row)}</tr>" for row in lines)
    return Html(f'<table style="border-collapse:collapse;color:inherit">{head}<tbody>{body}</tbody></table>')


def note(text: Any) -> Html:
    """Return a paragraph."""
    return Html(f'<p style="margin:0.4em 0;max-width:60em">{escaped(text)}</p>')


def block(*parts: str) -> Html:
    """Return pieces of HTML below each other, as one."""
    return Html(f'<div class="perceptrons" style="font-size:0.95em">{"".join(parts)}</div>')


def iframe(page: str, title: str, style: str, sandbox: str | None = None) -> Html:
    """Return a whole page in a frame of its own. sandbox: what the page may do; None: everything."""
    limits = "" if sandbox is None else f'sandbox="{sandbox}" '
    return Html(
        f'<iframe {limits}title="{escaped(title)}" style="width:100%;{style}" srcdoc="{escape(page)}"></iframe>'
    )


def _cell(content: Any, tag: str, is_number: bool) -> str:
    return f'<{tag} style="text-align:{"right" if is_number else "left"};{CELL_STYLE}">{escaped(content)}</{tag}>'


def _is_number(content: Any) -> bool:
    if isinstance(content, str) and not isinstance(content, Html):
        return content[-1:] in tuple("0123456789%") and not content.strip("+-0123456789.,e%")
    return isinstance(content, Number)


def training_summary(model: Any) -> str:
    """Return classes, features, epochs, updates, why training stopped, and mistakes by epoch; "" if not fitted."""
    learner = getattr(model, "_learner", None)
    if learner is None:
        return ""
    history, reason = getattr(model, "history_", []), getattr(model, "stop_reason_", None)
    rows: list[tuple[str, str]] = []
    if hasattr(learner, "classes"):
        labels = learner.classes.tolist()
        rows.append(("classes", f"{len(labels):,}: {listed(labels, MAX_CLASSES)}"))
    if hasattr(model, "n_features_in_"):
        rows.append(("features", f"{model.n_features_in_:,}"))
    if hasattr(learner, "n_support"):
        rows.append(("support vectors", f"{learner.n_support:,}"))
    rows.append(("epochs", f"{len(history):,}") if history else ("examples seen", f"{model.t_:,.0f}"))
    rows.append(("updates", f"{model.n_updates_:,}"))
    if reason:
        rows.append(("stopped", f"{reason}: {STOP_REASONS[reason]}" if reason in STOP_REASONS else reason))
    parts = [table((name, escaped(value)) for name, value in rows)]  # as HTML, so that numbers begin on the left
    if len(history) > 1:
        parts += [note("Mistakes by epoch"), sparkline([row["mistakes"] for row in history])]
    return block(*parts)


def sparkline(numbers: Sequence[float], words: str = "", low: float = 0.0) -> Html:
    """Return a line through the numbers, from `low` up, in the colour of the text around it, and a text alternative.

    Without words the numbers are mistakes, and the first and the last of them are the text.
    """
    step = max(1, -(-len(numbers) // MAX_SPARKLINE_POINTS))
    peaks = [max(numbers[k : k + step]) for k in range(0, len(numbers), step)]
    top, last = max(low + 1e-9 if words else 1, *peaks), max(1, len(peaks) - 1)
    width, height, margin = SPARKLINE_WIDTH, SPARKLINE_HEIGHT, SPARKLINE_MARGIN
    points = " ".join(
        f"{margin + width * k / last:.1f},{margin + height * (1 - (number - low) / (top - low)):.1f}"
        for k, number in enumerate(peaks)
    )
    words = words or f"{numbers[0]:,} in the first of {len(numbers):,} epochs, {numbers[-1]:,} in the last"
    size = f"{width + 2 * margin} {height + 2 * margin}"
    return Html(
        f'<svg role="img" width="{width + 2 * margin}" height="{height + 2 * margin}" viewBox="0 0 {size}" '
        f'style="max-width:100%"><title>{words}</title>'
        f'<path d="M{margin} {height + margin}H{width + margin}" stroke="currentColor" stroke-opacity="0.3" '
        f'fill="none"/><polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5" '
        f'stroke-linejoin="round"/></svg>' + note(words)
    )
