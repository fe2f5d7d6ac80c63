"""What a test lets become of a scheduler's requests on their way to the API server."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the scheduler."""

    method: str
    path: str
    body: bytes = b""

    @property
    def is_bind(self) -> bool:
        return self.method == "POST" and self.path.partition("?")[0].endswith("/binding")

    @property
    def is_eviction(self) -> bool:
        """Whether it is one that is meant, not one with dryRun."""
        path, _, query = self.path.partition("?")
        return self.method == "POST" and path.endswith("/eviction") and "dryRun" not in query

    @property
    def is_watch(self) -> bool:
        return "watch=" in self.path.partition("?")[2]

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def pod(self) -> str:
        """The name of the pod that it is about, if it is about one."""
        found = re.search(r"/pods/([^/?]+)", self.path)
        return found[1] if found else ""


Matches = Callable[[Request], bool]


class Rule:
    """What becomes of some requests instead of being handed on."""

    def __init__(self, matches: Matches, times: int | None) -> None:
        self._matches = matches
        self._left = times
        self._lock = threading.Lock()
        self.met: list[Request] = []
        """The requests that it applied to."""

    def takes(self, request: Request) -> bool:
        """Whether it applies to the request, and as often as it should."""
        with self._lock:
            if self._left == 0 or not self._matches(request):
                return False
            if self._left is not None:
                self._left -= 1
            self.met.append(request)
            return True


HOLD_S = 60.0
"""A request that a test forgot is handed on after so long."""


class Refuse(Rule):
    """The request is answered with an error, and not handed on."""

    def __init__(
        self, matches: Matches, status: int, times: int | None = None, retry_after_s: int = 0
    ) -> None:
        super().__init__(matches, times)
        self.status = status
        self.retry_after_s = retry_after_s


class Hold(Rule):
    """The request waits until it is released, and is handed on then, or dropped."""

    def __init__(self, matches: Matches, times: int | None = None) -> None:
        super().__init__(matches, times)
        self._released = threading.Event()
        self._drops = False

    def release(self) -> None:
        """Hand on what waits, and what comes later."""
        self._released.set()

    def discard(self) -> None:
        """Let nothing of it reach the server: its sender has died."""
        self._drops = True
        self._released.set()

    def wait(self) -> bool:
        """Wait for the test; return whether the request is handed on."""
        self._released.wait(HOLD_S)
        return not self._drops


class Delay(Hold):
    """The request waits so long, and is handed on then."""

    def __init__(self, matches: Matches, delay_s: float, times: int | None = None) -> None:
        super().__init__(matches, times)
        self._delay_s = delay_s

    def wait(self) -> bool:
        self._released.wait(self._delay_s)
        return True


class Lose(Rule):
    """The request is handed on, and its answer is lost with the connection."""


def is_bind(request: Request) -> bool:
    return request.is_bind


def later_binds() -> Matches:
    """Return what matches every bind but those of the pod that is bound first."""
    first: list[str] = []

    def matches(request: Request) -> bool:
        if request.is_bind and not first:
            first.append(request.pod)
        return request.is_bind and request.pod not in first

    return matches
