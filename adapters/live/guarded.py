"""Writing only while this replica leads: asked right before each request, not once for many.

Ten thousand binds queue for seconds; whoever loses its lease among them must not send the rest.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from .access import IN_FLIGHT, JSON, Api


class DeposedError(Exception):
    """Another replica may have taken over: nothing more is written."""


class Guarded:
    """An API that refuses to write once ``may_write`` says no."""

    def __init__(self, api: Api, may_write: Callable[[], bool]) -> None:
        self._api = api
        self._may_write = may_write
        self._gate = asyncio.Semaphore(IN_FLIGHT)

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        return await self._api.get(path, params)

    def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        return self._api.watch(path, params)

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> bytes:
        """Send a change.

        Raises
        ------
        DeposedError
            If this replica may not write when its turn has come.
        """
        async with self._gate:
            if not self._may_write():
                raise DeposedError
            return await self._api.send(
                method, path, body, params=params, content_type=content_type
            )
