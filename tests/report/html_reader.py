"""Read a page as a browser does, far enough to say what is in it."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from html.parser import HTMLParser
from typing import Any

VOID = frozenset({"meta", "img", "input", "br", "link", "hr"})


def unpacked(text: str) -> Any:
    """Return what the page's script reads out of `text`."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


@dataclasses.dataclass
class Element:
    """One element: its name, attributes, and the text inside it and its children."""

    tag: str
    attributes: dict[str, str]
    text: str = ""

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()


class Page(HTMLParser):
    """All elements of a page, in the order in which they begin."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag in ("td", "th", "tr"):  # their end tags may be left out
            self._close_until(tag)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if any(element.tag == tag for element in self._open):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, css_class: str = "") -> list[Element]:
        found = (element for element in self.elements if element.tag == tag)
        return [element for element in found if not css_class or css_class in element.classes]

    def one(self, element_id: str) -> Element:
        (found,) = [element for element in self.elements if element.attributes.get("id") == element_id]
        return found

    def _close_until(self, tag: str) -> None:
        inner = {"td": ("td", "th"), "th": ("td", "th"), "tr": ("td", "th", "tr")}[tag]
        while self._open and self._open[-1].tag in inner:
            self._open.pop()
