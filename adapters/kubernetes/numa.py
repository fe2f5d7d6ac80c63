"""NUMA cells of nodes: NodeResourceTopology, else Volcano's Numatopology.

Sources: k8stopologyawareschedwg/noderesourcetopology-api v1alpha1 and v1alpha2; Volcano's
nodeinfo.volcano.sh/v1alpha1.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...models import Amounts, Cell, CellShare, Numa
from ...models.quantity import parse
from .body_numa import CpuDetail, NodeResourceTopology, Numatopology, NumatopologySpec, Zone
from .faults import Faults, Ledger
from .meta import Thing

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_SCOPES = ("container", "pod")
_ONE_WORD = {
    "None": ("none", "container"),
    "BestEffort": ("best-effort", "container"),
    "BestEffortContainerLevel": ("best-effort", "container"),
    "BestEffortPodLevel": ("best-effort", "pod"),
    "Restricted": ("restricted", "container"),
    "RestrictedContainerLevel": ("restricted", "container"),
    "RestrictedPodLevel": ("restricted", "pod"),
    "SingleNUMANodeContainerLevel": ("single-numa-node", "container"),
    "SingleNUMANodePodLevel": ("single-numa-node", "pod"),
}
"""``topologyPolicies`` of a NodeResourceTopology."""
_NUMBER = re.compile(r"[0-9]{1,6}")
_LAST_NUMBER = re.compile(r"(?<![0-9])([0-9]{1,6})$")
_MOST_CPUS = 1 << 16


@dataclass(slots=True)
class NumaReports:
    """Cells by node, and what pods hold of them by uid and by ``namespace/name``."""

    nodes: dict[str, Numa] = field(default_factory=dict)
    pods: dict[str, tuple[CellShare, ...]] = field(default_factory=dict)


def numa_reports(
    topologies: Iterable[Thing], volcano: Iterable[Thing], ledger: Ledger
) -> NumaReports:
    """Read what is published; bad objects are rejected."""
    reports = NumaReports()
    for thing in topologies:
        faults = Faults()
        numa = _topology(thing.body, faults)
        ledger.reject(thing.title, faults)
        if not faults:
            reports.nodes[thing.name] = numa
    for thing in volcano:
        if thing.name in reports.nodes:
            said = "is passed over: the node has a NodeResourceTopology, which says more"
            ledger.warn(thing.title, "", said)
            continue
        faults = Faults()
        body: Numatopology = thing.body
        cpus = _Cpus(body.spec or NumatopologySpec(), faults)
        ledger.reject(thing.title, faults)
        if not faults:
            reports.nodes[thing.name] = cpus.numa()
            reports.pods |= cpus.pods()
    return reports


# NodeResourceTopology


def _topology(body: NodeResourceTopology, faults: Faults) -> Numa:
    policy, scope = "none", "container"
    for i, word in enumerate(body.topology_policies or ()):
        if word not in _ONE_WORD:
            faults.add(f"topologyPolicies[{i}]", _no("policy", word, _ONE_WORD))
        else:
            policy, scope = _ONE_WORD[word]
    for i, a in enumerate(body.attributes or ()):
        at = f"attributes[{i}].value"
        if a.name == "topologyManagerPolicy":
            policy = a.value
            if policy not in POLICIES:
                faults.add(at, _no("policy", policy, POLICIES))
        elif a.name == "topologyManagerScope":
            scope = a.value
            if scope not in _SCOPES:
                faults.add(at, _no("scope", scope, _SCOPES))
    cells: dict[int, Cell] = {}
    for i, zone in enumerate(body.zones or ()):
        if (zone.type or "Node").lower() != "node":
            continue  # a zone inside a cell, or around several
        number = _LAST_NUMBER.search(zone.name)
        if number is None or int(number[1]) in cells:
            faults.add(f"zones[{i}].name", f"{zone.name!r} is no name of its own such as node-0")
        else:
            cells[int(number[1])] = _cell(int(number[1]), zone, f"zones[{i}]", faults)
    made = tuple(cells[i] for i in sorted(cells))
    return Numa(policy, scope, made)  # type: ignore[arg-type]  # a fault where it is not one


def _cell(number: int, zone: Zone, path: str, faults: Faults) -> Cell:
    parts: dict[str, dict[str, int]] = {"capacity": {}, "allocatable": {}, "available": {}}
    known = True
    for i, r in enumerate(zone.resources or ()):
        said: dict[str, int] = {}
        for part in parts:
            raw: Any = getattr(r, part)
            if raw is not None:
                try:
                    said[part] = parse(raw, r.name)
                except ValueError as e:
                    faults.add(f"{path}.resources[{i}].{part}", str(e))
        offered = said.get("allocatable", said.get("capacity", said.get("available", 0)))
        parts["allocatable"][r.name] = offered
        parts["capacity"][r.name] = max(said.get("capacity", offered), offered)
        parts["available"][r.name] = min(said.get("available", 0), offered)
        known &= "available" in said
    free = Amounts(parts["available"]) if known else None
    return Cell(number, Amounts(parts["allocatable"]), Amounts(parts["capacity"]), free)


def _no(what: str, word: str, known: Iterable[str]) -> str:
    return f"{word[:60]!r} is no {what}; write {', '.join(known)}"


# Numatopology


class _Cpus:
    """The CPUs of a node, by cell."""

    def __init__(self, spec: NumatopologySpec, faults: Faults) -> None:
        self._spec = spec
        policies = spec.policies or {}
        self._policy = policies.get("TopologyManagerPolicy") or "none"
        self._static = policies.get("CPUManagerPolicy") == "static"
        if self._policy not in POLICIES:
            at = "spec.policies.TopologyManagerPolicy"
            faults.add(at, _no("policy", self._policy, POLICIES))
        self._detail: dict[int, CpuDetail] = {}
        for name, detail in (spec.cpu_detail or {}).items():
            if _NUMBER.fullmatch(name):
                self._detail[int(name)] = detail
            else:
                faults.add(f"spec.cpuDetail.{name[:60]}", "is no CPU; write its number, such as 0")
        self._cell_of = {cpu: d.numa for cpu, d in self._detail.items()}
        said = (spec.numares or {}).get("cpu")
        self._free: set[int] | None = None
        if said is not None and said.allocatable is not None:
            self._free = _cpu_set(said.allocatable, "spec.numares.cpu.allocatable", faults)
        self._given: list[tuple[list[str], dict[int, int]]] = []
        for i, pod in enumerate(spec.pod_allocations or ()):
            amounts: dict[int, int] = {}
            for j, c in enumerate(pod.container_allocations or ()):
                at = f"spec.podAllocations[{i}].containerAllocations[{j}].allocations.cpu"
                for cpu in _cpu_set((c.allocations or {}).get("cpu", ""), at, faults):
                    cell = self._cell_of.get(cpu)
                    if cell is not None:
                        amounts[cell] = amounts.get(cell, 0) + 1
            keys = [pod.uid] if pod.uid else []
            keys += [f"{pod.namespace or 'default'}/{pod.name}"] if pod.name else []
            self._given.append((keys, amounts))
        reserved = (spec.res_reserved or {}).get("cpu")
        self._kept = self._reserved(0 if reserved is None else parse(reserved, "cpu"))

    def _reserved(self, milli: int) -> set[int]:
        """Return the CPUs that the kubelet keeps: whole cores from the first socket on."""
        where = self._detail
        order = sorted(where, key=lambda c: (where[c].socket, where[c].numa, where[c].core, c))
        return set(order[: -(-milli // 1000)])

    def numa(self) -> Numa:
        cells = []
        for number in sorted(set(self._cell_of.values())):
            here = {cpu for cpu, cell in self._cell_of.items() if cell == number}
            usable = here - self._kept
            if not self._static:
                cells.append(Cell(number))
                continue
            free = None if self._free is None else _cpus(len(usable & self._free))
            cells.append(Cell(number, _cpus(len(usable)), _cpus(len(here)), free))
        return Numa(self._policy, "container", tuple(cells))  # type: ignore[arg-type]  # checked

    def pods(self) -> Mapping[str, tuple[CellShare, ...]]:
        return {
            key: tuple(CellShare(cell, _cpus(n)) for cell, n in sorted(amounts.items()))
            for keys, amounts in self._given
            for key in keys
            if amounts
        }


def _cpus(number: int) -> Amounts:
    return Amounts({"cpu": 1000 * number})


def _cpu_set(text: str, path: str, faults: Faults) -> set[int]:
    """Return the CPUs of a list such as ``0-3,8``."""
    out: set[int] = set()
    for part in text.split(",") if text.strip() else ():
        first, _, last = part.strip().partition("-")
        last = last or first
        fine = _NUMBER.fullmatch(first) and _NUMBER.fullmatch(last)
        if not fine or not int(first) <= int(last) < _MOST_CPUS:
            faults.add(path, f"{part[:40]!r} is no CPU or range of CPUs; write such as 0-3,8")
            return set()
        out |= set(range(int(first), int(last) + 1))
    return out
