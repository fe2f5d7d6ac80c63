"""A server that takes every request and keeps it, or answers with an error of the test's."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sent:
    """One request."""

    method: str
    path: str
    body: Any
    content_type: str


class FakeRequests:
    """Keeps what is sent; ``fails`` gives the error, if any, for a method and path."""

    def __init__(self, fails: Callable[[str, str], Exception | None]) -> None:
        self.sent: list[Sent] = []
        self._fails = fails

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        return await self.send("GET", path, None, params=params)

    async def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        raise NotImplementedError(f"{path} {params}: the fake has no watches")
        yield b""

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        del params
        self.sent.append(Sent(method, path, body, content_type))
        await asyncio.sleep(0)
        error = self._fails(method, path)
        if error is not None:
            raise error
        return b"{}"
