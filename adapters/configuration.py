"""The configuration file: our own ``kind: Configuration``, or Volcano's scheduler.conf.

Both become changes to a :class:`~apportion.models.Config`, so that a scenario's settings and a
file's can be laid over each other.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec.structs import replace
from pydantic import AfterValidator, Field, model_validator

from ..models import Config, ExpectedPod, InputError, QueueShare, TierSettings, Warned
from ..models.config import Engine, Evictions, Packing, Unready, Within
from ..models.devices import GPU
from ..models.quantity import parse
from .durations import duration_ms
from .files import Document, documents
from .strict import API_VERSION, Strict, parsed
from .volcano_conf import changes_of_volcano, volcano_conf_in

Changes = Mapping[str, Any]
"""Fields of Config with their new values."""

_MIB = 1 << 20


def _duration(text: str) -> str:
    duration_ms(text)
    return text


def _budget(text: str) -> str:
    if duration_ms(text) < 1:
        raise ValueError("must be at least 1ms")
    return text


def _memory(text: str | int) -> str | int:
    if parse(text, "memory") < 512 * _MIB:
        raise ValueError(f"must be at least 512Mi, got {text}")
    return text


def percent(text: str) -> int:
    """Return the number of a percentage such as 50%."""
    digits = text.removesuffix("%")
    if digits == text or not digits.isascii() or not digits.isdigit() or len(digits) > 6:
        raise ValueError(f"{text[:40]!r} is no percentage; write it like 50%")
    return int(digits)


def _share(text: str) -> str:
    if percent(text) > 100:
        raise ValueError(f"must be at most 100%, got {text}")
    return text


def _overcommit(text: str) -> str:
    if percent(text) < 100:
        raise ValueError(f"must be at least 100%, got {text}")
    return text


Duration = Annotated[str, AfterValidator(_duration)]
Budget = Annotated[str, AfterValidator(_budget)]
Memory = Annotated[str | int, AfterValidator(_memory)]
Share = Annotated[str, AfterValidator(_share)]
Overcommit = Annotated[str, AfterValidator(_overcommit)]


class QueueSettings(Strict):
    """``queues.<name>``: what a Queue object cannot say."""

    within: Within | None = None
    capability: dict[str, Share] | None = None
    deserved: dict[str, Share] | None = None
    guarantee: dict[str, Share] | None = None
    namespaces: list[str] | None = None


class Expected(Strict):
    """One kind of pod under ``tiers.mix``."""

    weight: int = Field(ge=1, le=1_000_000)
    gpu: str | int | float
    cpu: str | int | float = 0
    memory: str | int = 0

    def kind(self) -> ExpectedPod:
        """Return it in canonical units.

        Raises
        ------
        ValueError
            For an amount that cannot be read, or parts beside whole GPUs.
        """
        gpu = parse(str(self.gpu), GPU)
        if not 0 < gpu <= 64_000 or (gpu > 1000 and gpu % 1000):
            raise ValueError(f"gpu {self.gpu}: write a part of one, such as 0.5, or a whole number")
        cpu, memory = parse(str(self.cpu), "cpu"), parse(str(self.memory), "memory")
        return ExpectedPod(self.weight, gpu, cpu, memory)

    @model_validator(mode="after")
    def _readable(self) -> "Expected":
        self.kind()
        return self


class Tiers(Strict):
    """``tiers``: how the objective is cut."""

    slices: int | None = Field(default=None, ge=1, le=64)
    packing: Packing | None = None
    mix: list[Expected] | None = Field(default=None, max_length=64)


class Settings(Strict):
    """Every setting; what is left out keeps its default."""

    budget: Budget | None = None
    polish: Budget | None = None
    seed: int | None = Field(default=None, ge=0, le=2**31 - 1)
    deterministic: bool | None = None
    evictions: Evictions | None = None
    engine: Engine | None = None
    workers: int | None = Field(default=None, ge=1, le=64)
    memory_limit: Memory | None = None
    moves: int | None = Field(default=None, ge=0, le=1000)
    off: list[str] | None = None
    options: dict[str, dict[str, Any]] | None = None
    tiers: Tiers | None = None
    queues: dict[str, QueueSettings] | None = None
    literal_deserved: bool | None = None
    priority_everywhere: bool | None = None
    topology_labels: list[Annotated[str, Field(min_length=1)]] | None = None
    grace: Duration | None = None
    ready_within: Duration | None = None
    unready: Unready | None = None
    overcommit: Overcommit | None = None

    def changes(self) -> dict[str, Any]:
        """Return what these settings say, as fields of Config."""
        out: dict[str, Any] = {
            "budget_ms": None if self.budget is None else duration_ms(self.budget),
            "polish_ms": None if self.polish is None else duration_ms(self.polish),
            "memory_limit_mib": _mib(self.memory_limit),
            "grace_s": _seconds(self.grace),
            "ready_within_s": _seconds(self.ready_within),
            "overcommit_percent": None if self.overcommit is None else percent(self.overcommit),
            "off": None if self.off is None else tuple(self.off),
            "topology_labels": None
            if self.topology_labels is None
            else tuple(self.topology_labels),
            "queues": None if self.queues is None else _queues(self.queues),
        }
        for name in (
            "seed", "deterministic", "evictions", "engine", "workers", "moves", "options",
            "literal_deserved", "priority_everywhere", "unready",
        ):  # fmt: skip
            out[name] = getattr(self, name)
        if self.tiers is not None:
            given = self.tiers.model_dump(exclude_none=True)
            out["tiers"] = {k: v for k, v in given.items() if v is not None}
            if self.tiers.mix is not None:
                out["tiers"]["mix"] = tuple(e.kind() for e in self.tiers.mix)
        return {k: v for k, v in out.items() if v is not None}


class Configuration(Settings):
    """A configuration file of our own."""

    api_version: Literal["apportion.dev/v1alpha1"]
    kind: Literal["Configuration"]
    metadata: dict[str, Any] | None = None


def _seconds(written: str | None) -> int | None:
    """Return whole seconds, rounded up."""
    return None if written is None else -(-duration_ms(written) // 1000)


def _mib(size: str | int | None) -> int | None:
    return None if size is None else parse(size, "memory") // _MIB


def _percents(given: Mapping[str, str] | None) -> dict[str, int]:
    return {r: percent(v) for r, v in (given or {}).items()}


def _queues(given: Mapping[str, QueueSettings]) -> dict[str, QueueShare]:
    return {
        name: QueueShare(
            within=q.within or "groups",
            capability_percent=_percents(q.capability),
            deserved_percent=_percents(q.deserved),
            guarantee_percent=_percents(q.guarantee),
            namespaces=None if q.namespaces is None else tuple(q.namespaces),
        )
        for name, q in given.items()
    }


def changed(config: Config, changes: Changes) -> Config:
    """Return the configuration with the changes; mappings are merged, lists are added to."""
    new = dict(changes)
    if "tiers" in new:
        new["tiers"] = replace(config.tiers, **new["tiers"])
    if "off" in new:
        new["off"] = tuple(sorted({*config.off, *new["off"]}))
    for name in ("options", "queues"):
        if name in new:
            new[name] = {**getattr(config, name), **new[name]}
    return replace(config, **new)


def changes_in(path: str | Path) -> tuple[Changes, tuple[Warned, ...]]:
    """Read a configuration file: what it changes, and what of it has no counterpart.

    Raises
    ------
    InputError
        If it is no configuration, or anything in it is wrong.
    """
    found = [d for d in documents([path]) if d.data is not None]
    if len(found) != 1:
        raise InputError(f"{path}: a configuration is one document, found {len(found)}")
    return _changes_of(found[0], str(path))


def _changes_of(document: Document, source: str) -> tuple[Changes, tuple[Warned, ...]]:
    data = document.data
    volcano = volcano_conf_in(data, source)
    if volcano is not None:
        return changes_of_volcano(volcano, source)
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind != "Configuration":
        shown = f"kind {kind!r}" if kind is not None else "no kind"
        raise InputError(
            f"{source}: is no configuration ({shown}); write apiVersion: {API_VERSION} and "
            "kind: Configuration, or give Volcano's scheduler.conf with its actions and tiers"
        )
    return parsed(data, Configuration, source, document.faults).changes(), ()


def read_configuration(path: str | Path) -> tuple[Config, tuple[Warned, ...]]:
    """Read a configuration file over the defaults, with what has no counterpart."""
    changes, warnings = changes_in(path)
    return changed(Config(), changes), warnings


__all__ = [
    "Changes",
    "Configuration",
    "QueueSettings",
    "Settings",
    "TierSettings",
    "Tiers",
    "changed",
    "changes_in",
    "read_configuration",
]
