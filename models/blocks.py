"""Devices of a node in blocks: which numbers of them a pod may ask for, and from how few blocks."""

from .value import Value


class DeviceBlocks(Value, frozen=True):
    """Devices of one resource, by index: so many make the first block, so many the next, ..."""

    resource: str
    sizes: tuple[int, ...]
    numbers: tuple[int, ...] = ()
    """How many a pod may ask for; (): any number."""
    absent: tuple[int, ...] = ()
    """Devices that are broken, by index."""
    free: tuple[int, ...] | None = None
    """Devices that were reported as free; None: nothing was reported."""

    def block_of(self, index: int) -> int | None:
        """Return the block in which a device lies."""
        for block, size in enumerate(self.sizes):
            if index < size:
                return block if index >= 0 else None
            index -= size
        return None
