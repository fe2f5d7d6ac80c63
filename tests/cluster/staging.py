"""A scenario on a real cluster: its objects created, its outcome read back.

What a server would not take is put in its words: numbers of priority become PriorityClasses, and
statuses are left to the controllers. Nobody can give objects an age, so that all are equally old.
Evicted pods come back under their names, as scenarios have it: a controller's part.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from apportion.adapters.expect import failures
from apportion.adapters.inputs import Case
from apportion.adapters.scenario import Scenario
from apportion.adapters.scenario_objects import objects_of
from apportion.models import Plan, PodKey
from apportion.models.plan import Settled
from cluster import objects
from cluster.client import ApiError, Client, Data

AGED = frozenset(
    (
        "borrower-of-seven-gives-half-back",
        "newer-borrowed-job-leaves-first",
        "siblings-settle-it-between-them",
    )
)
"""Scenarios that end otherwise when everything is equally old."""
ORDER = ("PriorityClass", "Queue", "Node", "PodDisruptionBudget", "PodGroup", "Pod")


@dataclass
class Staged:
    """A scenario that has been put on a cluster."""

    case: Case
    client: Client
    pods: dict[str, Data]
    """By ``namespace/name``, as they were created."""
    uids: dict[str, str] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    """Pods that had a node when they were last looked at."""
    evicted: list[str] = field(default_factory=list)

    def bring_back(self) -> None:
        """Note which pods have gone, and create them anew, pending.

        One that had no node was evicted by nobody: kwok ends pods by name, and so may end the
        successor of one that is gone already.
        """
        seen = {_key(p): p for p in self.client.find_all("pods")}
        for key, pod in self.pods.items():
            uid = seen[key]["metadata"]["uid"] if key in seen else ""
            if key not in self.uids:
                self.uids[key] = uid
            elif uid != self.uids[key]:
                if key in self.placed:
                    self.evicted.append(key)
                pod["spec"].pop("nodeName", None)
                self.uids[key] = self.client.create(pod)["metadata"]["uid"]
                seen.pop(key, None)
        self.placed = {k for k, p in seen.items() if p["spec"].get("nodeName")}

    def standing(self) -> dict[str, tuple[str, str]]:
        """Return uid and node of each pod that a scheduler has to do with, by key."""
        return {
            _key(p): (p["metadata"]["uid"], p["spec"].get("nodeName", ""))
            for p in self.client.find_all("pods")
            if p["spec"].get("nodeName") or p["spec"]["schedulerName"] == "apportion"
        }

    def leaving(self) -> list[str]:
        """Return the pods that are being deleted; end those on nodes that are gone.

        That is the part of the controller that collects pods.
        """
        nodes = {n["metadata"]["name"] for n in self.client.find_all("nodes")}
        pods = [p for p in self.client.find_all("pods") if "deletionTimestamp" in p["metadata"]]
        for p in pods:
            if p["spec"].get("nodeName") not in nodes:
                self.client.delete("pods", p["metadata"]["name"], p["metadata"]["namespace"], 0)
        return [_key(p) for p in pods]

    def faults(self) -> list[str]:
        """Return what of the scenario's expectations does not hold now."""
        assert self.case.scenario is not None
        seen = {_key(p): p for p in self.client.find_all("pods")}
        running = {
            PodKey(k): {"node": p["spec"]["nodeName"]}
            for k, p in seen.items()
            if p["spec"].get("nodeName") and "deletionTimestamp" not in p["metadata"]
        }
        gone = tuple(PodKey(k) for k in self.evicted)
        outcome = replace(_NOTHING, settled=Settled(1, True, running, gone))
        return [
            why
            for e in self.case.scenario.expect
            for why in failures(e, self.case.snapshot, outcome)
        ]


_NOTHING = Plan(snapshot="", config="")


def can_be_staged(case: Case) -> bool:
    """Say whether the scenario speaks of what came of it only, in words that a server takes."""
    told = case.scenario
    if (
        told is None
        or told.metadata.name in AGED
        or told.cluster.objects
        or told.cluster.files
        or told.cluster.snapshot
    ):
        return False
    first_plan = any(
        x is not None for e in told.expect for x in (e.group, e.reason, e.warning, e.rejected)
    )
    plain = not told.settings.changes() and all(q.within is None for q in told.queues)
    # Volcano's definition knows no weight of zero.
    real = all(n.ready for n in told.cluster.nodes) and all(q.weight != 0 for q in told.queues)
    return plain and real and not first_plan and not _given_up(case)


def _given_up(case: Case) -> bool:
    """Say whether a broken gang is to be given up: live, only one whose pods have controllers."""
    pods, now_s = case.snapshot.pods_by_group, case.snapshot.taken_at_s
    return any(
        0 < sum(p.holds for p in pods.get(g.key, ())) < g.effective_minimum
        and now_s - g.created_s >= case.config.grace_s
        for g in case.snapshot.groups
    )


def stage(case: Case, client: Client) -> Staged:
    """Create the scenario's objects."""
    assert case.scenario is not None
    made = list(_real(case.scenario))
    for name in sorted({d["metadata"].get("namespace", "default") for d in made}):
        _create(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for kind in ORDER:
        for d in (d for d in made if d["kind"] == kind):
            d["metadata"].pop("creationTimestamp", None)
            _create(client, d)
    pods = {_key(d): d for d in made if d["kind"] == "Pod"}
    staged = Staged(case, client, pods)
    staged.bring_back()
    return staged


def _create(client: Client, thing: Data) -> None:
    try:
        client.create(thing)
    except ApiError as e:
        if e.reason != "AlreadyExists":
            raise


def _real(scenario: Scenario) -> Iterable[Data]:
    for d in objects_of(scenario, "apportion", scenario.metadata.name):
        if d["kind"] == "Node":
            yield _node(d)
        elif d["kind"] == "Pod":
            yield from _pod(d)
        else:
            yield d


def _node(d: Data) -> Data:
    meta, room = d["metadata"], {k: str(v) for k, v in d["status"]["allocatable"].items()}
    node = objects.node(meta["name"], 0, labels=meta["labels"], **d["spec"])
    node["status"] = {"capacity": room, "allocatable": room}
    return node


def _pod(d: Data) -> Iterable[Data]:
    spec: dict[str, Any] = d["spec"]
    d.pop("status", None)
    number = spec.pop("priority", 0)
    if number:
        name = f"priority-{number}" if number >= 0 else f"priority-minus-{-number}"
        policy = spec.pop("preemptionPolicy", None)
        if policy:
            name += f"-{policy.lower()}"
        more = {"preemptionPolicy": policy} if policy else {}
        yield objects.priority_class(name, number, **more)
        spec["priorityClassName"] = name
    for c in spec["containers"]:
        c["image"] = "example.com/work"
        resources = c["resources"]
        asked = {k: str(v) for k, v in resources["requests"].items()}
        limits = {k: v for k, v in asked.items() if "/" in k}
        c["resources"] = {"requests": asked, **({"limits": limits} if limits else {})}
    yield d


def _key(d: Data) -> str:
    meta = d["metadata"]
    return f"{meta.get('namespace', 'default')}/{meta['name']}"
