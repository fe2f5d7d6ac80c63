"""Waiting for whichever of several events comes first."""

import asyncio
from contextlib import suppress


async def first_of(*events: asyncio.Event, timeout_s: float | None = None) -> None:
    """Wait until one of the events is set, or the time is over."""
    waits = [asyncio.ensure_future(e.wait()) for e in events]
    try:
        await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for w in waits:
            w.cancel()
            with suppress(asyncio.CancelledError):
                await w
