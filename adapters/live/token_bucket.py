"""A token bucket: how much may be said, on the whole and in a burst."""

from collections.abc import Callable


class TokenBucket:
    """Holds at most ``burst`` tokens, and gets ``per_s`` of them each second.

    ``now_s`` is a clock that never goes back. It is full at first.
    """

    def __init__(self, per_s: float, burst: int, now_s: Callable[[], float]) -> None:
        if per_s <= 0 or burst < 1:
            raise ValueError(
                f"a bucket needs a rate above 0 and a burst of at least 1, got {per_s}, {burst}"
            )
        self._per_s = per_s
        self._burst = burst
        self._now_s = now_s
        self._tokens = float(burst)
        self._at_s = now_s()

    def take(self) -> bool:
        """Take a token; say whether there was one."""
        now = self._now_s()
        self._tokens = min(self._burst, self._tokens + (now - self._at_s) * self._per_s)
        self._at_s = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
