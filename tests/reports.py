"""A written report as tests look at it: its elements in order, their attributes, their text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "br", "input", "link"})


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    children: "list[Element | str]" = field(default_factory=list)

    def walk(self) -> "Iterator[Element]":
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, name: str) -> "list[Element]":
        return [e for e in self.walk() if e.name == name]

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def find(self, key: str) -> "Element":
        """Return the element of an id."""
        [found] = [e for e in self.walk() if e.attributes.get("id") == key]
        return found

    def rows(self) -> list[list[str]]:
        """Return the body of the first table as text."""
        body = self.all("tbody")[0]
        return [[c.text for c in r.children if isinstance(c, Element)] for r in body.all("tr")]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {k: v or "" for k, v in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(document: str) -> Element:
    """Return the document; every element has to be closed where it should be."""
    parser = _Parser()
    parser.feed(document)
    parser.close()
    assert parser.open == [parser.root]
    return parser.root
