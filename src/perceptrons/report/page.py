"""The page: its elements, all of them escaped by the way they are made, numbers in words, and its skeleton."""

import base64
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from perceptrons.engine.html import Html, escaped

STYLE = files("perceptrons.report").joinpath("report.css").read_text("utf-8")
VOID = ("img", "meta", "br", "wbr")
LONG = 25  # letters, marks of HTML counted, of a name that needs room
NARROW = 4  # columns of a table that fit a phone
AFTER_MARKS = re.compile(r"(?<=[_/.:=|,;)\]-])(?=\w)")
VERY_LONG = re.compile(r"(?:\S{1,16}\s*|\s+)")  # pieces of words of more than 16 letters
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
WIDTH = 5.0  # inches of pictures: letters in them are still legible where the screen is a phone's


class Section(NamedTuple):
    """A part of the page, to which its list of contents leads."""

    anchor: str
    title: str
    content: Html


def element(tag: str, *content: Any, **attributes: Any) -> Html:
    """An HTML element; whatever is not HTML yet is escaped, and so is every attribute. class_ is class."""
    said = ""
    for name, value in attributes.items():
        if value is not None and value is not False:
            word = name.rstrip("_").replace("_", "-")
            said += f" {word}" if value is True else f' {word}="{escaped(str(value))}"'
    inside = "".join(escaped(part) for part in content)
    return Html(f"<{tag}{said}>" if tag in VOID else f"<{tag}{said}>{inside}</{tag}>")


def joined(parts: Iterable[Any]) -> Html:
    """Pieces behind each other."""
    return Html("".join(escaped(part) for part in parts))


def section(anchor: str, title: str, *parts: Any) -> Section:
    return Section(anchor, title, joined(parts))


def paragraph(*parts: Any) -> Html:
    return element("p", *parts)


def soft(*parts: Any) -> Html:
    """A paragraph that is less important."""
    return element("p", *parts, class_="soft")


def warning(*parts: Any) -> Html:
    """What must not be overlooked."""
    return element("p", element("strong", "Mind: "), *parts, class_="warning", role="note")


def user(text: Any, at_most: int = 60) -> Html:
    """A label or a name of the user's: of any script, kept apart from the words around it, cut if long."""
    text = " ".join(str(text).split()) or repr(str(text))
    return element("bdi", breakable(text if len(text) <= at_most else text[: at_most - 1] + "…"))


def breakable(text: str) -> Html:
    """Text that a narrow column may break behind marks such as _ and /; within a word only if it is very long."""
    pieces = [piece for part in AFTER_MARKS.split(text) for piece in VERY_LONG.findall(part)]
    return Html("<wbr>".join(escaped(piece) for piece in pieces))


def listed(names: Iterable[Any], at_most: int = 60) -> Html:
    """Several of them, with commas."""
    return Html(", ".join(user(name, at_most) for name in names))


def facts(rows: Iterable[tuple[Any, Any]]) -> Html:
    """Names and what they stand for, a line each."""
    return element(
        "dl", *(element("div", element("dt", name), element("dd", value)) for name, value in rows), class_="facts"
    )


def number(text: Any, **attributes: Any) -> Html:
    """A cell of a table that stands on the right."""
    return element("td", text, class_="number", **attributes)


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], about: str, numbers: Sequence[int] = ()) -> Html:
    """A table in a box that scrolls by itself. numbers: the columns that stand on the right; about: says what it is."""
    head = element(
        "tr", *(element("th", cell, scope="col", class_="number" * (k in numbers) or None)
                for k, cell in enumerate(header)),
    )  # fmt: skip
    body, long = [], False
    for row in rows:
        long = long or len(escaped(row[0])) > LONG
        cells = [element("th", row[0], scope="row", class_="number" * (0 in numbers) or None)]
        cells += [number(cell) if k in numbers else element("td", cell) for k, cell in enumerate(row[1:], 1)]
        body.append(element("tr", *cells))
    grid = element("table", element("thead", head), element("tbody", *body), class_="long" if long else None)
    return scrolling(grid, about, len(header) > NARROW)


def scrolling(content: Html, about: str, wide: bool = True) -> Html:
    """A box that scrolls by itself where what it holds is wider than the screen; if it may well be, by keyboard too."""
    if not wide:
        return element("div", content, class_="scroll")
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=about)


def bar(share: float, kind: str = "") -> Html:
    """A bar of a part of its cell's width; anything above 0 leaves a trace."""
    width = 0.0 if share <= 0 else max(0.5, 100 * min(1.0, share))
    fill = element("span", class_=f"fill {kind}".strip(), style=f"width:{width:.1f}%")
    return element("span", fill, class_="bar", aria_hidden="true")


def uri(content: bytes, media: str) -> str:
    """Bytes as an address that holds them itself."""
    return f"data:{media};base64,{base64.b64encode(content).decode()}"


def figure(picture: tuple[bytes, str], alt: str, caption: Any = None) -> Html:
    """A picture with words for who cannot see it."""
    image = element("img", src=uri(*picture), alt=alt, class_="picture")
    below = [] if caption is None else [element("figcaption", caption)]
    return element("figure", image, *below)


def details(summary: Any, *parts: Any) -> Html:
    """What is there for who opens it."""
    return element("details", element("summary", summary), *parts)


def code(text: str) -> Html:
    return element("pre", element("code", text), tabindex="0")


def whole_page(title: str, head: Html, sections: Sequence[Section]) -> str:
    """The file."""
    links = (element("li", element("a", part.title, href=f"#{part.anchor}")) for part in sections)
    contents = element(
        "nav", element("h2", "Contents", id="contents"), element("ol", *links), aria_labelledby="contents"
    )
    parts = (
        element("section", element("h2", part.title, id=part.anchor), part.content, aria_labelledby=part.anchor)
        for part in sections
    )
    body = element("body", element("main", element("header", head), contents, *parts))
    begin = joined(
        [
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            # nothing can be loaded or run, whatever the data hold
            element("meta", http_equiv="Content-Security-Policy", content=POLICY),
            element("title", title),
            Html(f"<style>\n{STYLE}</style>"),
        ]
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{begin}</head>\n{body}\n</html>\n'


def seconds(number: float) -> str:
    """1 second, 0.5 seconds."""
    return f"{number:g} second{'s' * (number != 1)}"


def short(value: float) -> str:
    """A number of four digits, with the minus sign of print."""
    text = f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


def signed(value: float) -> str:
    """A number with its sign: three digits; up to a million in full, which is shorter than an exponent."""
    text = f"{value:+.3g}"
    text = f"{float(text):+,.0f}" if "e+0" in text and abs(value) < 1e6 else text
    return text.replace("-", "\N{MINUS SIGN}")
