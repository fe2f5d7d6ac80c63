"""What scheduling costs: processor seconds of each process, and requests of the server by kind."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from cluster.client import Client
from cluster.part import Part
from cluster.plane import ControlPlane

from .contestants import cpu_s, own_cpu_s

SERVERS = ("etcd", "kube-apiserver")
_REQUESTS = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Work:
    """What was done between two moments, or by one of them."""

    cpu_s: Mapping[str, float] = field(default_factory=dict)
    """Processor seconds by process: the servers, the scheduler itself, and its children."""
    requests: Mapping[str, int] = field(default_factory=dict)
    """Requests that the server has answered, by kind, the most frequent first."""

    def since(self, before: "Work") -> "Work":
        """Return what was done after a moment; what the scheduler did is all after its start."""
        used = {k: round(v - before.cpu_s.get(k, 0.0), 1) for k, v in self.cpu_s.items()}
        asked = Counter(self.requests)
        asked.subtract(before.requests)
        return Work(used, {k: n for k, n in asked.most_common() if n > 0})


def work_of(plane: ControlPlane, client: Client, scheduler: Part | None = None) -> Work:
    """Return what servers have done since they were started, and the scheduler if there is one."""
    used = processor_s(plane, scheduler)
    return Work(used, requests_in(client.request("GET", "/metrics", wanted="text/plain").decode()))


def processor_s(plane: ControlPlane, scheduler: Part | None = None) -> dict[str, float]:
    """Return the processor seconds so far, by process."""
    used = {name: cpu_s(plane.parts[name].pid) for name in SERVERS}
    if scheduler is not None:
        own = own_cpu_s(scheduler.pid)
        used |= {"scheduler": own, "children": cpu_s(scheduler.pid) - own}
    return used


def requests_in(metrics: str) -> Counter[str]:
    """Count requests by verb and resource, as ``POST pods/binding``; a refusal with its code."""
    out: Counter[str] = Counter()
    for labels, value in _REQUESTS.findall(metrics):
        said = dict(_LABEL.findall(labels))
        kind = f"{said['verb']} {said['resource']}"
        if said["subresource"]:
            kind += f"/{said['subresource']}"
        if int(said["code"]) >= 400:
            kind += f" {said['code']}"
        out[kind] += int(float(value))
    return out
