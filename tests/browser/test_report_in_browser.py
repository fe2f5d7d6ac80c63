"""The page for a browser, in one: how soon it is there, what it asks for, who can read it."""

from pathlib import Path

import pytest

from apportion.adapters.cli.words import plain
from apportion.adapters.report.page import written
from hostile import HOSTILE, document_of
from large_report import large_report

from .axe import serious
from .chromium import Browser

pytestmark = pytest.mark.slow
WIDTHS = (390, 1440)
SCHEMES = ("light", "dark")
LARGEST_BYTES = 3_000_000
SOON_S = 2.0
"""Of the processor, as others are at work on the machine too."""
OPEN_ALL = "document.querySelectorAll('details').forEach(d => d.open = true)"


@pytest.fixture(scope="module")
def document() -> str:
    """Return the report of 500 nodes with a timeline of 30 cycles."""
    return written(large_report(500, 1000))


@pytest.fixture(scope="module")
def url(document: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(document, tmp_path_factory.mktemp("report"))


def saved(document: str, folder: Path) -> str:
    path = folder / "report.html"
    path.write_text(document)
    return path.as_uri()


def test_it_is_small(document: str) -> None:
    assert len(document.encode()) < LARGEST_BYTES


def test_it_opens_soon_asks_for_nothing_and_has_no_complaints(browser: Browser, url: str) -> None:
    page = browser.opened(url)

    before_s = page.processor_s()
    page.load_next(lambda: page.call("Page.reload"))

    assert 0 < page.processor_s() - before_s < SOON_S
    assert page.complaints == []
    assert page.requests == [url] * 2


def test_a_large_page_keeps_nobody_out(browser: Browser, url: str, axe: str) -> None:
    page = browser.opened(url, width=390)

    assert serious(page, axe) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_with_all_tables_open_nobody_is_kept_out(
    browser: Browser, tmp_path: Path, axe: str, width: int, scheme: str
) -> None:
    page = browser.opened(saved(written(large_report(24, 60)), tmp_path), width, scheme=scheme)
    page.value(OPEN_ALL)

    assert serious(page, axe) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_the_width_of_the_screen(browser: Browser, url: str, width: int) -> None:
    page = browser.opened(url, width)
    page.value(OPEN_ALL)

    assert page.value("document.documentElement.scrollWidth") <= width


def test_light_and_dark_follow_the_system(browser: Browser, url: str) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"

    shown = {s: browser.opened(url, scheme=s).value(colour) for s in SCHEMES}

    assert shown == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 19, 24)"}


def test_the_keyboard_reaches_links_and_tables(browser: Browser, url: str) -> None:
    page = browser.opened(url)
    focused = "(e => e.textContent.slice(0, 20))(document.activeElement)"

    page.press("Tab")
    first = page.value(focused)
    page.press("Enter")
    at = page.value("location.hash")
    page.press("Tab")
    second = page.value("document.activeElement.tagName")

    assert (first, at, second) == ("To the plan", "#main", "SUMMARY")
    before = page.value("document.activeElement.parentElement.open")
    page.press("Enter")
    assert page.value("document.activeElement.parentElement.open") is not before


@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_shown_and_do_nothing(
    browser: Browser, tmp_path: Path, word: str
) -> None:
    page = browser.opened(saved(document_of(word), tmp_path))

    assert page.complaints == []
    assert page.outside == []
    shown = page.value("document.querySelector('#waits tbody th bdi').textContent")
    assert shown == f"{plain(word)}/{plain(word)}"
