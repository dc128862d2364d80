"""The page: its sections and their templates, tables, pictures, names from the data, and numbers in words."""

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
from markupsafe import Markup, escape
from PIL import Image

from perceptrons.engine.html import visible
from perceptrons.engine.wording import count, percent
from perceptrons.plots.pages import read_asset, template_environment
from perceptrons.plots.style import Drawable, render

MAX_ROWS = 1000  # of a table
LONG_NAME = 25  # characters of HTML after which a name needs room
AFTER_PUNCTUATION = re.compile(r"(?<=[_/.:=|,;)\]-])(?=\w)")
LONG_WORD_PIECES = re.compile(r"(?:\S{1,16}\s*|\s+)")
PHONE_WIDTH = 5.0  # inches of pictures: letters in them are still legible on a phone
ORANGE, BLUE, WHITE = np.array([213, 94, 0]), np.array([0, 114, 178]), np.full(3, 255)


@dataclass(frozen=True)
class Section:
    """A part of the page: a template and its values."""

    anchor: str
    title: str
    values: dict[str, Any]

    @property
    def template(self) -> str:
        return f"templates/{self.anchor}.html.jinja"


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows.

    numbers: the columns that are aligned to the right. After n_open rows, the others open under the title `more`.
    """

    header: Sequence[Any]
    rows: Sequence[Sequence[Any]]
    about: str
    numbers: Sequence[int] = ()
    n_open: int = MAX_ROWS
    more: str = ""
    kind: str = ""  # a class of the style sheet

    @property
    def css_class(self) -> str:
        has_long_names = any(len(escape(row[0])) > LONG_NAME for row in self.rows)
        return f"{self.kind} long".strip() if has_long_names else self.kind


@dataclass(frozen=True)
class Picture:
    """A plot, with a text for those who cannot see it. options: of the display's `plot`."""

    display: Drawable
    alt: str
    caption: str | None = None
    max_width: float | None = PHONE_WIDTH
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        return data_uri(*render(self.display, max_width=self.max_width, **self.options))


# ---- names from the data


def user_text(text: Any, max_length: int = 60) -> Markup:
    """Return a label or a name from the data: of any script, isolated from the words around it, cut if long.

    A narrow column may break it after punctuation, and within words only if they are very long.
    """
    text = visible(" ".join(str(text).split()) or repr(str(text)))
    text = text if len(text) <= max_length else text[: max_length - 1] + "…"
    pieces = [piece for part in AFTER_PUNCTUATION.split(text) for piece in LONG_WORD_PIECES.findall(part)]
    return Markup("<bdi>{}</bdi>").format(Markup("<wbr>").join(pieces))


def user_texts(texts: Iterable[Any], max_length: int = 60) -> Markup:
    """Return several labels or names, separated by commas."""
    return Markup(", ").join(user_text(text, max_length) for text in texts)


# ---- numbers


def format_seconds(number: float) -> str:
    return f"{number:g} second{'s' * (number != 1)}"


def format_number(value: float) -> str:
    """Return a number with four digits, or a whole one in full, with the minus sign of print."""
    text = f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


def format_signed(value: float) -> str:
    """Return a number with its sign and three digits; up to a million in full, which is shorter than an exponent."""
    text = f"{value:+.3g}"
    text = f"{float(text):+,.0f}" if "e+0" in text and abs(value) < 1e6 else text
    return text.replace("-", "\N{MINUS SIGN}")


def bar(fraction: float, kind: str = "") -> Markup:
    """Return a bar across a part of its cell; anything above 0 is visible. kind: "for", "against" or ""."""
    width = 0.0 if fraction <= 0 else max(0.5, 100 * min(1.0, fraction))
    fill = Markup('<span class="{}" style="width:{:.1f}%"></span>').format(f"fill {kind}".strip(), width)
    return Markup('<span class="bar" aria-hidden="true">{}</span>').format(fill)


def evidence(text: str, is_for: bool) -> Markup:
    """Return a text in the colour of evidence for or against a class."""
    return Markup('<span class="say-{}">{}</span>').format("for" if is_for else "against", text)


# ---- images


def data_uri(content: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def grey_image(values: np.ndarray, low: float, high: float) -> str:
    """Return an image of values in shades of grey, the lowest white, as the address of a PNG."""
    fraction = np.clip((values - low) / (high - low if high > low else 1.0), 0, 1)
    return _png_uri(255 * (1 - fraction))


def signed_image(values: np.ndarray, largest: float) -> str:
    """Return an image of values, orange above 0, blue below, paler near 0, as the address of a PNG."""
    fraction = np.clip(values / (largest or 1.0), -1, 1)[..., None]
    return _png_uri(np.where(fraction >= 0, WHITE + fraction * (ORANGE - WHITE), WHITE - fraction * (BLUE - WHITE)))


def _png_uri(pixels: np.ndarray) -> str:
    buffer = BytesIO()
    Image.fromarray(pixels.round().astype(np.uint8)).save(buffer, "PNG", optimize=True)
    return data_uri(buffer.getvalue(), "image/png")


# ---- the page


def make_page(title: str, header: Section, sections: Sequence[Section], subject: Any) -> str:
    """Return the page as HTML. Templates read what they say from the subject of the report."""
    environment = template_environment("perceptrons.report")
    environment.globals |= {"count": count, "percent": percent, "number": format_number}
    environment.filters |= {"name": user_text, "names": user_texts, "kind": lambda model: type(model).__name__}
    return environment.get_template("templates/page.html.jinja").render(
        title=title, header=header, sections=sections, subject=subject,
        style=read_asset("perceptrons.report", "report.css"),
    )  # fmt: skip
