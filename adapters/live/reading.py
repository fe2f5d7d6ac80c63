"""Reading a cluster once: the same lists as a running scheduler's, and then no more.

Everything is listed one kind after the other while the cluster goes on, so that a pod may be seen
on a node that was listed before it came; the watches are followed until all kinds have been listed,
which closes that gap.
"""

import asyncio
from contextlib import suppress

from ...models import InputError
from ..kubernetes.options import ReadOptions
from .access import opened
from .feed import Feed
from .mirror import Mirror

PATIENCE_S = 60.0


async def mirror_of(
    kubeconfig: str | None,
    context: str | None,
    reading: ReadOptions,
    patience_s: float = PATIENCE_S,
) -> Mirror:
    """Return the cluster as it is now.

    Raises
    ------
    InputError
        If it cannot be reached, or some kind cannot be listed within the time.
    """
    async with opened(kubeconfig, context) as access:
        mirror = Mirror(reading)
        feed = Feed(access, mirror)
        task = asyncio.create_task(feed.run())
        try:
            await asyncio.wait_for(feed.synced.wait(), patience_s)
        except TimeoutError:
            troubles = "; ".join(sorted(set(feed.troubles.values()))) or "it does not answer"
            raise InputError(
                f"the cluster could not be read within {patience_s:.0f} s: {troubles}"
            ) from None
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        return mirror
