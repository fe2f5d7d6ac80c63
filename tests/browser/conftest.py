"""One Chromium for all tests here; where there is none, they say so in a line."""

from collections.abc import Iterator

import pytest

from .axe import axe_core
from .chromium import Browser
from .fetch import chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = chromium()
    if program is None:
        pytest.skip("no Chromium on this machine; python -m browser.fetch says why")
    with Browser(program, tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture(scope="session")
def axe() -> str:
    source = axe_core()
    if source is None:
        pytest.skip("axe-core is not here, and npm cannot fetch it")
    return source
