"""Random edits, and the same edits made on a snapshot's document, by code that shares nothing."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from apportion.models import End, EndBy, PodState, QueueName, Snapshot, Toleration
from apportion.models.edit import edited
from apportion.models.edit_wait import known_ends
from apportion.models.edits import (
    AddNodes,
    CopyGroup,
    Cordon,
    Drain,
    Edit,
    RemoveGroup,
    RemoveNode,
    Resize,
    SetMinimum,
    SetPriority,
    SetQueue,
    SetQueuePriority,
    SetRequests,
    SetWeight,
    Tolerate,
    Uncordon,
    Wait,
)
from apportion.models.snapshot import read, write

Doc = dict[str, Any]
ENDS = (-60, 0, 60, 600, 3600)
"""Of pods that run, seconds from now: overdue ones, too."""


def with_ends(snapshot: Snapshot, seed: int) -> Snapshot:
    """Return the snapshot where most groups that run are known to end, but single pods are not."""
    rng = Random(f"ends {seed}")
    some = {g.key for g in snapshot.groups if rng.randrange(8)}

    def known(group: Any) -> bool:
        return group in some and rng.randrange(16) > 0

    return replace(
        snapshot,
        pods=tuple(
            replace(p, end=End(snapshot.taken_at_s + rng.choice(ENDS), rng.choice(list(EndBy))))
            if p.state is PodState.RUNNING and known(p.group) else p
            for p in snapshot.pods
        ),
    )  # fmt: skip


def random_edits(snapshot: Snapshot, seed: int) -> list[Edit]:
    """Return one to three edits of what is in the snapshot."""
    rng = Random(f"edits {seed}")
    out: list[Edit] = []
    nodes = [n.name for n in snapshot.nodes]
    groups = [g.key for g in snapshot.groups]
    for _ in range(rng.randint(1, 3)):
        makers: list[Callable[[], Edit]] = [
            lambda: AddNodes(rng.choice(nodes), rng.randint(1, 2)),
            lambda: Cordon(rng.choice(nodes)),
            lambda: Uncordon(rng.choice(nodes)),
            lambda: Drain(rng.choice(nodes)),
            lambda: RemoveNode(nodes.pop(rng.randrange(len(nodes)))),
            lambda: _of_queue(rng, rng.choice([q.name for q in snapshot.queues])),
            lambda: _wait(rng, edited(snapshot, out), groups),
        ]
        if groups:
            makers += [lambda: _of_group(rng, groups)] * 6
        if len(nodes) < 2:
            del makers[4]
        if not nodes:
            del makers[:4]
        out.append(rng.choice(makers)())
    return out


def _wait(rng: Random, now: Snapshot, groups: list[Any]) -> Edit:
    seconds = rng.choice([s for s in ENDS if s >= 0])
    ended = [k for k, end in known_ends(now).items() if end.at_s <= now.taken_at_s + seconds]
    groups[:] = [g for g in groups if g not in ended]
    return Wait(seconds)


def _of_queue(rng: Random, queue: QueueName) -> Edit:
    made: list[Edit] = [
        SetWeight(queue, rng.randint(0, 3)),
        SetQueuePriority(queue, rng.randint(0, 2)),
        SetQueue(queue, "limit", "cpu", rng.choice([None, 1000, 4000])),
        SetQueue(queue, "due", "cpu", rng.choice([None, 0, 3000])),
        SetQueue(queue, "guarantee", "cpu", rng.choice([None, 1000])),
    ]
    return rng.choice(made)


def _of_group(rng: Random, groups: list[Any]) -> Edit:
    key = rng.choice(groups)
    made: list[Edit] = [
        CopyGroup(key, rng.randint(1, 2)),
        SetPriority(key, rng.randint(0, 3)),
        SetRequests(key, {"cpu": rng.choice([500, 1000, 2000])}),
        Tolerate(key, Toleration("kept", "Exists")),
        RemoveGroup(key),
    ]
    edit = rng.choice(made)
    if isinstance(edit, RemoveGroup):
        groups.remove(key)
    return edit


def sizing(snapshot: Snapshot, seed: int) -> list[Edit]:
    """Return an edit of the size of a group without roles, if there is one."""
    rng = Random(f"sizes {seed}")
    plain = [
        g.key
        for g in snapshot.groups
        if not g.role_minimum
        and any(p.state in ("pending", "running") for p in snapshot.pods_by_group.get(g.key, ()))
    ]
    if not plain:
        return []
    key = rng.choice(plain)
    made: list[Edit] = [Resize(key, rng.randint(0, 5)), SetMinimum(key, rng.randint(0, 4))]
    return [rng.choice(made)]


def edited_document(snapshot: Snapshot, edits: Sequence[Edit]) -> Snapshot | None:
    """Make the edits on the JSON of the snapshot; None where one of them is not told here."""
    for edit in edits:
        doc: Doc = json.loads(write(snapshot))
        for name in ("nodes", "pods", "groups", "queues", "nominations", "budgets"):
            doc.setdefault(name, [])
        if not _made(doc, edit):
            return None
        for name, key in (("nodes", _name), ("groups", _key), ("pods", _key)):
            doc[name].sort(key=key)
        snapshot = read(json.dumps(doc).encode())
    return snapshot


def _name(of: Doc) -> str:
    return str(of["name"])


def _key(of: Doc) -> str:
    return f"{of['namespace']}/{of['name']}"


def _made(doc: Doc, edit: Edit) -> bool:
    nodes = {n["name"]: n for n in doc["nodes"]}
    groups = {_key(g): g for g in doc["groups"]}
    queues = {q["name"]: q for q in doc["queues"]}
    if isinstance(edit, Cordon):
        nodes[edit.node]["unschedulable"] = True
    elif isinstance(edit, Uncordon):
        nodes[edit.node].pop("unschedulable", None)
    elif isinstance(edit, AddNodes):
        for n in range(edit.count):
            _add_node(doc, nodes[edit.like], f"{edit.like}-new-{n + 1}")
    elif isinstance(edit, SetWeight):
        queues[edit.queue]["weight"] = edit.weight
    elif isinstance(edit, SetQueuePriority):
        queues[edit.queue]["priority"] = edit.priority
    elif isinstance(edit, SetQueue):
        field = {"limit": "capability", "due": "deserved"}.get(edit.setting, edit.setting)
        amounts = queues[edit.queue].setdefault(field, {})
        amounts.pop(edit.resource, None)
        if edit.amount is not None:
            amounts[edit.resource] = edit.amount
    elif isinstance(edit, SetPriority):
        groups[edit.group]["priority"] = edit.priority
        for p in doc["pods"]:
            if p.get("group") == edit.group and p["state"] in ("pending", "gated", "running"):
                p["priority"] = edit.priority
    elif isinstance(edit, Drain) and not doc["budgets"]:
        nodes[edit.node]["unschedulable"] = True
        _empty(doc, edit.node)
    elif isinstance(edit, RemoveNode) and not doc["budgets"]:
        doc["nodes"] = [n for n in doc["nodes"] if n["name"] != edit.node]
        doc["pods"] = [p for p in doc["pods"] if p.get("group") or p.get("node") != edit.node]
        _empty(doc, edit.node)
    elif isinstance(edit, Wait) and not doc["budgets"]:
        for key in groups:
            if _ends(doc, key, doc["takenAtS"] + edit.seconds):
                _remove(doc, key)
    else:
        return False
    return True


def _ends(doc: Doc, group: str, by_s: int) -> bool:
    """Say whether all that is left of the group runs, and is known to end by then."""
    states = ("pending", "gated", "running")
    left = [p for p in doc["pods"] if p.get("group") == group and p["state"] in states]
    if not left or not all(p["state"] == "running" and p.get("end") for p in left):
        return False
    ends = [p["end"] for p in left]
    last = max(e["atS"] for e in ends)
    word = max(e["by"] for e in ends if e["atS"] == last)
    late = word == "runtime" and last <= doc["takenAtS"]
    return last <= by_s and not late


def _remove(doc: Doc, group: str) -> None:
    gone = {_key(p) for p in doc["pods"] if p.get("group") == group}
    doc["pods"] = [p for p in doc["pods"] if p.get("group") != group]
    doc["groups"] = [g for g in doc["groups"] if _key(g) != group]
    doc["nominations"] = [of for of in doc["nominations"] if of[0] not in gone]


def _add_node(doc: Doc, like: Doc, name: str) -> None:
    if any(n["name"] == name for n in doc["nodes"]):
        return _add_node(doc, like, name[:-1] + str(int(name[-1]) + 1))
    new = json.loads(json.dumps(like))
    new["name"] = name
    new.get("labels", {}).update({"kubernetes.io/hostname": name})
    new["createdS"] = doc["takenAtS"]
    for key in ("unschedulable", "ready"):
        new.pop(key, None)
    doc["nodes"].append(new)
    return None


def _empty(doc: Doc, node: str) -> None:
    lost = set()
    for p in doc["pods"]:
        if p.get("nominated") == node:
            del p["nominated"]
        if p.get("node") == node and p.get("group") and p["state"] == "running":
            lost.add(p["group"])
            for key in ("node", "nominated", "startedS", "protectedUntilS", "uid", "end"):
                p.pop(key, None)
            p["state"], p["createdS"] = "pending", doc["takenAtS"]
    doc["nominations"] = [of for of in doc["nominations"] if of[1] != node]
    for g in doc["groups"]:
        if _key(g) in lost and g.get("brokenSinceS") is None:
            g["brokenSinceS"] = doc["takenAtS"]
