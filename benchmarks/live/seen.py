"""What a watch of the pods tells: when each was created by us, and when it was first on a node."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import msgspec
import urllib3

from cluster.access import Access


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Event(msgspec.Struct):
    type: str
    object: _Pod


_EVENT = msgspec.json.Decoder(_Event).decode


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast binds came, from the first to the last."""

    bound: int
    seconds: float
    best_second: int

    @property
    def per_second(self) -> float:
        return self.bound / self.seconds if self.seconds else 0.0


@dataclass
class Bindings:
    """Follows the pods of a cluster in a thread; times are of the monotonic clock, in seconds."""

    access: Access
    version: str
    """Resource version after which it begins."""
    tell: Callable[[str, float], None] | None = None
    """Told of each bind instead of ``bound_s``, which would grow with them."""
    bound_s: dict[str, float] = field(default_factory=dict)
    """By name of the pod, when the watch first told of its node."""

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._pool = urllib3.PoolManager(ca_certs=str(self.access.ca_file), retries=False)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._pool.clear()

    def wait(self, many: int, deadline_s: float) -> bool:
        """Wait until so many pods have nodes; return whether they have, in time."""
        end = time.monotonic() + deadline_s
        while len(self.bound_s) < many:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def rate(self) -> Rate:
        """Return how fast it went."""
        times = sorted(self.bound_s.values())
        if not times:
            return Rate(0, 0.0, 0)
        seconds = Counter(int(t - times[0]) for t in times)
        return Rate(len(times), times[-1] - times[0], max(seconds.values()))

    def _follow(self) -> None:
        version = self.version
        while not self._over.is_set():
            url = f"{self.access.url}/api/v1/pods?watch=true&resourceVersion={version}"
            headers = {"Authorization": f"Bearer {self.access.token}"}
            try:
                answer = self._pool.request(
                    "GET", url, headers=headers, preload_content=False, timeout=3600
                )
                with closing(answer):
                    for line in answer:
                        event = _EVENT(line)
                        version = event.object.metadata.resource_version
                        name = event.object.metadata.name
                        if event.object.spec.node_name:
                            self._is_bound(name)
            except (urllib3.exceptions.HTTPError, OSError):
                continue

    def _is_bound(self, name: str) -> None:
        if self.tell is not None:
            self.tell(name, time.monotonic())
        elif name not in self.bound_s:
            self.bound_s[name] = time.monotonic()


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value that so large a part of them does not exceed; 0 of none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
