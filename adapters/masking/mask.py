"""Masking a snapshot: names, labels and sentences give way to pseudonyms that sort alike.

What a plan depends on stays (amounts, times, priorities, resources, well-known labels), and so does
the order of names, by which ties are broken: the plan of a masked snapshot, made deterministically,
is the plan of the original under other names.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from ...models import Config, InputError, Plan, QueueShare, Snapshot
from ...models.selector import integer
from .fields import Walk
from .pseudonyms import Words, pseudonyms
from .vocabulary import KEYS, NAMES, VALUES

_NAME, _KEY = "q", "z"


@dataclass(frozen=True, slots=True)
class MaskKey:
    """What each pseudonym stands for."""

    names: dict[str, str]
    """Names and values of labels, in parts between ``/``."""
    keys: dict[str, str]
    """Keys of labels, taints, attributes and gates."""
    sentences: dict[str, str]

    @property
    def originals(self) -> dict[str, str]:
        """All of them; pseudonyms of different kinds differ."""
        return {**self.names, **self.keys, **self.sentences}


@dataclass
class _Seen:
    """Collects what there is to mask."""

    names: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    sentences: set[str] = field(default_factory=set)
    values: set[tuple[str, str]] = field(default_factory=set)
    compared: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    quotas: set[str] = field(default_factory=set)

    def name(self, text: str) -> str:
        self.names.update(text.split("/"))
        return text

    def key(self, text: str) -> str:
        self.keys.add(text)
        return text

    def value(self, key: str, text: str) -> str:
        self.values.add((key, text))
        return text

    def said(self, text: str) -> str:
        self.sentences.add(text)
        return text

    def compares(self, key: str) -> None:
        self.compared.add(key)

    def member(self, name: str) -> None:
        self.members.update(name.split("/"))

    def quota(self, key: str) -> str:
        self.quotas.add(key)
        return key

    def finish(self) -> None:
        """Add those values of labels that are masked to the names."""
        for key, text in self.values:
            if not _stays(key, text, self.compared):
                self.name(text)


def _stays(key: str, value: str, compared: Iterable[str]) -> bool:
    return key in VALUES or (key in compared and integer(value) is not None)


class Mask:
    """Pseudonyms for what is in some snapshots and plans of them, one and the same in all."""

    def __init__(self, given: Iterable[Snapshot | Plan]) -> None:
        seen = _Seen()
        for one in given:
            if isinstance(one, Plan):
                Walk(seen).through_plan(one)
                continue
            if one.masked:
                raise InputError("the snapshot is masked already")
            Walk(seen).through(one)
        seen.finish()
        self._compared = frozenset(seen.compared)
        self._names = pseudonyms(
            seen.names, _NAME, Words(NAMES & seen.names, frozenset(seen.quotas)), seen.members
        )
        self._keys = pseudonyms(seen.keys, _KEY, Words(KEYS & seen.keys))
        width = len(str(len(seen.sentences)))
        self._said = {
            s: f"masked-{i:0{width}}" for i, s in enumerate(sorted(seen.sentences - {""}), 1)
        }

    @property
    def key_of_all(self) -> MaskKey:
        return MaskKey(*(_back(of) for of in (self._names, self._keys, self._said)))

    def of(self, snapshot: Snapshot) -> Snapshot:
        """Return the masked snapshot; it must be one of those that the mask was made for."""
        return replace(Walk(self).through(snapshot), masked=True)

    def of_plan(self, plan: Plan, snapshot: Snapshot, config: Config) -> Plan:
        """Return the masked plan of a masked snapshot, by masked settings."""
        masked = Walk(self).through_plan(plan)
        return replace(masked, snapshot=snapshot.digest, config=config.digest)

    def of_settings(self, config: Config) -> Config:
        """Return the settings with masked queues, namespaces and labels; others are dropped."""
        known = {q for q in config.queues if all(p in self._names for p in q.split("/"))}
        queues = {self.name(q): self._share(config.queues[q]) for q in sorted(known)}
        labels = tuple(self.key(k) for k in config.topology_labels if k in self._keys)
        return replace(config, queues=queues, topology_labels=labels)

    def _share(self, share: QueueShare) -> QueueShare:
        if share.namespaces is None:
            return share
        known = (n for n in share.namespaces if n in self._names)
        return replace(share, namespaces=tuple(map(self.name, known)))

    def name(self, text: str) -> str:
        return "/".join(self._names[part] if part else "" for part in text.split("/"))

    def key(self, text: str) -> str:
        return self._keys[text] if text else ""

    def value(self, key: str, text: str) -> str:
        return text if _stays(key, text, self._compared) else self.name(text)

    def said(self, text: str) -> str:
        return self._said[text] if text else ""

    def compares(self, key: str) -> None: ...

    def member(self, name: str) -> None: ...

    def quota(self, key: str) -> str:
        return key


def _back(of: dict[str, str]) -> dict[str, str]:
    return {mask: text for text, mask in of.items() if mask != text}
