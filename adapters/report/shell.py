"""The shell of every page: a document that asks for nothing else, with its style and navigation."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .elements import Html, Part, joined, tag, verbatim
from .jobs import looks, patterns

NAVIGATION = (
    ("ask", "Ask"), ("because", "Why"), ("difference", "Difference"), ("copies", "Copies"),
    ("emptied", "Order"), ("kept", "Kept"),
    ("map", "Cluster"), ("queues", "Queues"), ("starts", "Starts"), ("promised", "Promised"),
    ("evicted", "Evicted"), ("waits", "Waits"), ("timeline", "Timeline"), ("tiers", "Objective"),
    ("rejected", "Rejected"), ("warnings", "Warnings"),
)  # fmt: skip


@dataclass(frozen=True)
class Controls:
    """What a page has besides where somebody serves it: it may then ask its own server."""

    header: Html
    sections: tuple[Html, ...]
    """Before all others."""
    script: str


@dataclass(frozen=True)
class Content:
    """What a page shows."""

    title: str
    """Of the window; text."""
    head: Sequence[Part]
    """Heading, facts and what else comes first."""
    sections: Sequence[Html]
    footer: str
    looks: int = 0
    """How many jobs have a look of their own."""
    definitions: Sequence[Html] = ()
    """What pictures refer to."""
    skip: str = "To the plan"
    """What the link says that leads past head and navigation."""


def document(content: Content, controls: Controls | None = None) -> str:
    """Return the page. Equal contents give equal documents."""
    sections = [*(controls.sections if controls is not None else ()), *content.sections]
    style = _style(content.looks)
    header = tag(
        "header", *content.head, controls.header if controls else "", _navigation(sections)
    )
    body = tag(
        "body",
        tag("a", content.skip, href="#main", class_="skip"),
        patterns(content.looks, *content.definitions),
        header,
        tag("main", *sections, id="main", tabindex=-1),
        tag("footer", tag("p", content.footer)),
        tag("script", verbatim(controls.script)) if controls is not None else "",
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content=policy_of(style, controls.script if controls else None),
        ),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", content.title),
        tag("style", verbatim(style)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en').markup}\n"


def facts(of: Sequence[tuple[str, str, str]]) -> Html:
    """Return facts, each as what it is about, a value, and a remark."""
    return tag(
        "dl",
        *(tag("div", tag("dt", t), tag("dd", v, tag("small", s))) for t, v, s in of),
        class_="facts",
    )


def policy_of(style: str, script: str | None = None) -> str:
    """Return the content security policy: nothing is loaded, only this style and script apply."""
    rules = ["default-src 'none'", f"style-src {_hash(style)}", "base-uri 'none'"]
    if script is None:
        return "; ".join((*rules, "form-action 'none'"))
    return "; ".join((*rules, f"script-src {_hash(script)}", "form-action 'self'"))


def _hash(source: str) -> str:
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _style(count_of_looks: int) -> str:
    sheet = Path(__file__).with_name("style.css").read_text()
    return sheet.replace("\n", "") + looks(count_of_looks)


def _navigation(sections: Sequence[Html]) -> Html:
    whole = joined(sections).markup
    links = [
        tag("li", tag("a", word, href=f"#{key}"))
        for key, word in NAVIGATION
        if f'<section id="{key}"' in whole
    ]
    return tag("nav", tag("ul", *links), aria_label="Sections")
