"""The schedulers that are measured, each started on a control plane as its users start it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.installing import install
from cluster.part import Part
from cluster.plane import ControlPlane
from cluster.scheduler import Scheduler

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Contestant:
    """A scheduler: the name that pods ask for, and how it is installed and started."""

    name: str
    of_pods: str
    install: Callable[[ControlPlane], Callable[[], Part]]
    """Makes what it needs in the cluster, which is not measured; returns what starts it."""


def apportion(plane: ControlPlane) -> Scheduler:
    """Return Apportion with the rights of its manifest and default settings, to be started."""
    with plane.client() as client:
        access = install(plane, client)
    return Scheduler(plane.folder, access)


def _apportion(plane: ControlPlane) -> Callable[[], Part]:
    one = apportion(plane)

    def start() -> Part:
        one.start()
        return one

    return start


def _kube_scheduler(plane: ControlPlane) -> Callable[[], Part]:
    """kube-scheduler without limits on its requests."""

    def start() -> Part:
        plane.add("kube-scheduler")
        return plane.parts["kube-scheduler"]

    return start


CONTESTANTS = {
    one.name: one
    for one in (
        Contestant("apportion", "apportion", _apportion),
        Contestant("kube-scheduler", "default-scheduler", _kube_scheduler),
    )
}


@contextmanager
def running(start: Callable[[], Part]) -> Iterator[Part]:
    """Run an installed scheduler for a block."""
    part = start()
    try:
        yield part
    finally:
        part.stop()


def cpu_s(pid: int) -> float:
    """Return the processor seconds of a process and all that it has started; 0 where it is gone."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        below = [c for t in tasks for c in (t / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return _ticks(pid, 11, 15) / TICKS + sum(cpu_s(int(c)) for c in below)


def own_cpu_s(pid: int) -> float:
    """Return the processor seconds of a process alone; 0 where it is gone."""
    return _ticks(pid, 11, 13) / TICKS


def _ticks(pid: int, first: int, end: int) -> int:
    """Return the sum of some of the times in the kernel's word on a process: man 5 proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(map(int, fields[first:end]))
