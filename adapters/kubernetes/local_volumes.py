"""Local volumes: how many free ones of a class a node has; each claim takes one of them.

Counted are classes without provisioner all of whose free volumes lie on one host each. A claim
counts among the volumes of its class, and among those of some sizes and more: by Hall's theorem
those are all conditions that there are, where nothing but the size tells volumes apart.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...models import NodeSelectorTerm, Volume
from ...models.selector import IN

_HOST = "kubernetes.io/hostname"
_MOST_SIZES = 4
"""A claim is counted as often; volumes of more sizes than that are told apart less finely."""


@dataclass(slots=True)
class LocalVolumes:
    """The free local volumes of the input, by class and size."""

    sizes: dict[str, list[int]] = field(default_factory=dict)
    """By class, all sizes of its volumes, upwards."""
    on_host: dict[str, Counter[str]] = field(default_factory=dict)
    """By host name, how many volumes there are of each lot."""
    _larger: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By lot, those that hold all of its volumes and more."""

    def add(self, kind: str, found: Iterable[tuple[int, str | None]]) -> None:
        """Count the free volumes of a class: sizes with hosts, None where it is not one host."""
        volumes = list(found)
        if not volumes or any(host is None for _, host in volumes):
            return
        self.sizes[kind] = sorted({size for size, _ in volumes})
        larger: list[str] = []
        for lot, least in self._lots(kind):
            self._larger[lot] = tuple(larger)
            larger.append(lot)
            for size, host in volumes:
                if host is not None and size >= least:
                    self.on_host.setdefault(host, Counter())[lot] += 1

    def lot_of(self, kind: str, size: int) -> str:
        """Return the smallest lot with every volume for such a claim; "": nothing is counted."""
        fits = next((s for s in self.sizes.get(kind, ()) if s >= size), None)
        if fits is None:
            return ""
        return next(lot for lot, least in reversed(self._lots(kind)) if least <= fits)

    def beside(self, volume: Volume) -> Iterable[Volume]:
        """Yield what else a claim that takes one of a lot counts as: one of each larger lot."""
        for lot in self._larger.get(volume.driver, ()):
            yield Volume(volume.claim, driver=lot)

    def on(self, labels: Mapping[str, str]) -> Mapping[str, int]:
        """Return how many volumes of each lot a node has."""
        return self.on_host.get(labels.get(_HOST, ""), {})

    def _lots(self, kind: str) -> list[tuple[str, int]]:
        """Return name and least size of each lot, the largest lot first."""
        sizes = self.sizes.get(kind, [])
        step = -(-len(sizes) // _MOST_SIZES) or 1
        first, *rest = sizes[::step] or [0]
        title = f"StorageClass {kind}"
        return [(title, first), *((f"{title} from {s} bytes", s) for s in rest)]


def host_of(terms: Iterable[NodeSelectorTerm]) -> str | None:
    """Return the only host that the terms let a volume be on; None: there may be several."""
    hosts: set[str] = set()
    for term in terms:
        pinned = [r.values for r in term.labels if r.key == _HOST and r.operator == IN]
        if not pinned or len(pinned[0]) != 1:
            return None
        hosts.update(pinned[0])
    return hosts.pop() if len(hosts) == 1 else None
