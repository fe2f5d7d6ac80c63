"""The live page of the demo: the cluster as a picture of text, from what the API server says."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from cluster.client import Data
from cluster.invariants import GROUP, holds, requests
from cluster.objects import RACK

GPU = "nvidia.com/gpu"
COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red", "white")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FREE = "·"
MOST = 8
"""Lines of what waits."""


def page(
    nodes: Sequence[Data], pods: Sequence[Data], groups: Sequence[Data], cycle: Mapping[str, Any]
) -> Group:
    """Return the page: nodes with their GPUs by job, what waits and why, and the last cycle."""
    names = sorted({_job(p) for p in pods})
    mark = {name: LETTERS[i % len(LETTERS)] for i, name in enumerate(names)}
    return Group(
        _headline(nodes, pods, cycle),
        Text(),
        _map(nodes, pods, mark),
        Text(),
        _waiting(pods, groups, mark),
    )


def _headline(nodes: Sequence[Data], pods: Sequence[Data], cycle: Mapping[str, Any]) -> Text:
    has = sum(int(n["status"]["allocatable"].get(GPU, 0)) for n in nodes)
    used = sum(gpus(p) for p in pods if holds(p))
    waiting = sum(not p["spec"].get("nodeName") for p in pods)
    text = Text.assemble(
        ("Apportion", "bold"), f"  {used} of {has} GPUs in use, {waiting} pods wait"
    )
    if cycle:
        gap = cycle.get("gap")
        text.append(
            f"\ncycle {cycle['number']}: {cycle['bound']} bound, {cycle['evicted']} evicted, "
            f"{cycle['held']} groups held, {cycle['engine']} in {cycle['solveSeconds']:.2f} s"
            + ("" if gap is None else f", gap {gap:.1%}"),
            style="dim",
        )
    return text


def _map(nodes: Sequence[Data], pods: Sequence[Data], mark: Mapping[str, str]) -> Table:
    """Draw a line for each node: a letter for each GPU, the same for the pods of a job."""
    table = Table.grid(padding=(0, 2, 0, 0))
    on: dict[str, list[Data]] = defaultdict(list)
    for p in pods:
        if holds(p):
            on[p["spec"]["nodeName"]].append(p)
    for n in nodes:
        name, size = n["metadata"]["name"], int(n["status"]["allocatable"].get(GPU, 0))
        row = Text()
        for p in sorted(on[name], key=_job):
            letter = mark[_job(p)]
            leaves = "deletionTimestamp" in p["metadata"]
            row.append(letter * gpus(p), style="dim strike" if leaves else colour(letter))
        row.append(FREE * (size - len(row)), style="dim")
        table.add_row(Text(n["metadata"]["labels"].get(RACK, "")), Text(name), row)
    return table


def _waiting(pods: Sequence[Data], groups: Sequence[Data], mark: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    queue_of = {g["metadata"]["name"]: g["spec"].get("queue", "default") for g in groups}
    waits: dict[str, list[Data]] = defaultdict(list)
    for p in pods:
        if not p["spec"].get("nodeName"):
            waits[_job(p)].append(p)
    for job, its in list(sorted(waits.items()))[:MOST]:
        said = [c for p in its for c in _conditions(p) if c["type"] == "PodScheduled"]
        why = said[0].get("message", "") if said else ""
        size = f"{len(its)} × {gpus(its[0])} GPUs"
        letter = mark[job]
        table.add_row(
            Text(letter, style=colour(letter)),
            Text(job),
            Text(queue_of.get(job, "")),
            size,
            Text(why),
        )
    if len(waits) > MOST:
        table.add_row("", f"and {len(waits) - MOST} more", "", "", "")
    return table


def colour(letter: str) -> str:
    return COLOURS[LETTERS.index(letter) % len(COLOURS)]


def gpus(pod: Data) -> int:
    """Return how many GPUs the pod asks for."""
    return int(requests(pod).get(GPU, 0))


def _job(pod: Data) -> str:
    notes = pod["metadata"].get("annotations") or {}
    return str(notes.get(GROUP) or pod["metadata"]["name"])


def _conditions(pod: Data) -> Iterable[Mapping[str, str]]:
    return pod["status"].get("conditions") or ()
