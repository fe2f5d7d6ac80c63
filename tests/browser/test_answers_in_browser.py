"""Pages of answers in a browser: on a phone, in the dark, for everybody."""

from pathlib import Path

import pytest

from hostile import HOSTILE, answers_of

from .axe import serious
from .chromium import Browser

pytestmark = pytest.mark.slow
COMMANDS = ("explain", "whatif", "capacity", "drain")
WIDTHS = (390, 1440)
SCHEMES = ("light", "dark")


def saved(document: str, folder: Path) -> str:
    path = folder / "answer.html"
    path.write_text(document)
    return path.as_uri()


@pytest.mark.parametrize("command", COMMANDS)
def test_it_fits_asks_for_nothing_and_has_no_complaints(
    browser: Browser, tmp_path: Path, command: str
) -> None:
    url = saved(answers_of("word")[command], tmp_path)

    for width in WIDTHS:
        page = browser.opened(url, width)
        assert page.value("document.documentElement.scrollWidth") <= width
        assert (page.complaints, page.requests) == ([], [url])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_nobody_is_kept_out(
    browser: Browser, tmp_path: Path, axe: str, command: str, scheme: str
) -> None:
    page = browser.opened(saved(answers_of("word")[command], tmp_path), 390, scheme=scheme)

    assert serious(page, axe) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path, command: str) -> None:
    for word in HOSTILE:
        page = browser.opened(saved(answers_of(word)[command], tmp_path))
        assert (word, page.complaints, page.outside) == (word, [], [])
