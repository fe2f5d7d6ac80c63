"""The local page in a browser: search, questions, and nothing that leaves it."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from apportion.adapters.ask.whatif import repeatable
from apportion.adapters.inputs import Asked, read_case
from apportion.adapters.ui.server import Pages, Server
from apportion.models import Config
from apportion.solver.entry import plan

from .axe import serious
from .chromium import Browser, Page

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
CONFIG = repeatable(Config(engine="greedy"))
PATIENCE_S = 60


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    snapshot = read_case([str(ROOT / "examples" / "small")], Asked()).snapshot
    server = Server(Pages(snapshot, CONFIG, plan(snapshot, CONFIG), "examples/small"))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(), loop).result(PATIENCE_S)
    yield server.address
    asyncio.run_coroutine_threadsafe(server.stop(), loop).result(PATIENCE_S)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def visible(page: Page, what: str) -> int:
    count: int = page.value(
        f"[...document.querySelectorAll({what!r})].filter(e => !e.hidden).length"
    )
    return count


def test_search_leaves_what_it_finds(browser: Browser, address: str) -> None:
    page = browser.opened(address)
    every = visible(page, ".nodes > li")

    page.value("document.getElementById('search').focus()")
    page.call("Input.insertText", text="INGEST")
    page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    assert every == 4
    assert visible(page, ".nodes > li") == 1
    assert visible(page, ".domain") == 1
    assert page.value("document.getElementById('found').textContent").endswith(" found")


def test_a_question_is_asked_by_keyboard(browser: Browser, address: str) -> None:
    page = browser.opened(address)

    page.value("document.getElementById('value').focus()")
    page.call("Input.insertText", text="gpu-b")
    page.load_next(lambda: page.press("Enter"))

    assert "drain node gpu-b" in page.value("document.getElementById('difference').textContent")
    assert page.value("location.search") == "?option=--drain&value=gpu-b"
    page.load_next(lambda: page.value("document.querySelector('#ask button').click()"))
    assert page.value("location.search").startswith("?edit=--drain+gpu-b&option=")


def test_nothing_leaves_the_page_and_nobody_is_kept_out(
    browser: Browser, address: str, axe: str
) -> None:
    page = browser.opened(
        f"{address}?edit=--drain%20gpu-b&edit=--copy%20lab/notes&why=lab/notes", 390
    )

    assert serious(page, axe) == []
    assert page.value("document.documentElement.scrollWidth") <= 390
    assert page.complaints == []
    assert {url.split("?")[0] for url in page.requests} == {address}
