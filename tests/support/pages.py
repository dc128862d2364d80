"""What tests read from a page of HTML: its outline, checked while it is read."""

import base64
from html.parser import HTMLParser
from typing import Any

VOID = {"img", "meta", "br", "wbr"}
WITHIN = {"bdi", "wbr", "span", "strong", "code", "mark", "a"}  # elements that words may go through


class Outline(HTMLParser):
    """Elements in order, with their attributes and texts; refuses what is not closed, or closed in the wrong order."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        self.elements.append((tag, dict(attributes)))
        if tag not in WITHIN:
            self.texts.append(("", " "))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> in the wrong place"
        if tag not in WITHIN:
            self.texts.append(("", " "))

    def handle_data(self, data):
        self.texts.append((self._open[-1] if self._open else "", data))

    @property
    def text(self) -> str:
        """What a reader sees, spaces as one."""
        return " ".join("".join(text for tag, text in self.texts if tag not in ("style", "script", "title")).split())

    def all(self, tag: str) -> list[dict[str, Any]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def pictures(self) -> list[tuple[str, bytes]]:
        """The media type and the bytes of every picture."""
        found = []
        for image in self.all("img"):
            media, _, content = image["src"].removeprefix("data:").partition(";base64,")
            found.append((media, base64.b64decode(content, validate=True)))
        return found
