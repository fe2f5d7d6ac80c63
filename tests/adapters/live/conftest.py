"""Coroutines as plain tests: ``run`` gives a test its event loop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Return what runs a coroutine to its end, within a minute."""

    def wait(what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(asyncio.wait_for(what, 60))

    return wait
