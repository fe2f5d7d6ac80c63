"""Hand-made worlds in few words: whole cores and devices, pods named after their group."""

from collections.abc import Mapping, Sequence
from typing import Any

from apportion.models import (
    Amounts,
    Budget,
    Group,
    GroupKey,
    LabelSelector,
    Node,
    NodeName,
    Pod,
    PodKey,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    Requirement,
    Snapshot,
    snapshot_of,
)

NOW = 10_000
GPU = "nvidia.com/gpu"


def cores(n: int, gpus: int = 0) -> dict[str, int]:
    return {"cpu": n * 1000, GPU: gpus * 1000}


def node(name: str, cpu: int, gpus: int = 0, pods: int = 20, **rest: Any) -> Node:
    return Node(NodeName(name), Amounts({**cores(cpu, gpus), "pods": pods}), **rest)


def queue(name: str, due: int | None = None, parent: str | None = None, **rest: Any) -> Queue:
    deserved = {} if due is None else {"cpu": due * 1000}
    above = None if parent is None else QueueName(parent)
    return Queue(QueueName(name), above, **{"deserved": deserved, **rest})


class Members:
    """A group and its pods: ``on`` says where members run; ``waiting`` more are pending."""

    def __init__(
        self,
        name: str,
        queue: str,
        cpu: int = 1,
        on: Sequence[str] = (),
        waiting: int = 0,
        roles: Sequence[str] = (),
        gpus: int = 0,
        spec: Mapping[str, Any] | None = None,
        pod: Mapping[str, Any] | None = None,
        namespace: str = "x",
        **rest: Any,
    ) -> None:
        fields = {"created_s": NOW - 100, **rest}
        self.group = Group(namespace, name, QueueName(queue), **fields)
        requests = Amounts(cores(cpu, gpus))
        n = len(on) + waiting
        self.pods = [
            Pod(
                namespace,
                f"{name}{i}",
                PodSpec(requests, **(spec or {})),
                PodState.RUNNING if i < len(on) else PodState.PENDING,
                GroupKey(f"{namespace}/{name}"),
                (*roles, *[""] * n)[i],
                node=NodeName(on[i]) if i < len(on) else None,
                **{
                    "labels": {"app": name},
                    "priority": self.group.priority,
                    "created_s": self.group.created_s,
                    "started_s": NOW - 50 if i < len(on) else None,
                    **(pod or {}),
                },
            )
            for i in range(n)
        ]


def foreign(name: str, cpu: int, on: str, state: PodState = PodState.RUNNING, **rest: Any) -> Pod:
    return Pod("sys", name, PodSpec(Amounts(cores(cpu)), **rest), state, node=NodeName(on))


def only(app: str) -> LabelSelector:
    return LabelSelector((Requirement("app", "In", (app,)),))


def budget(app: str, allowed: int) -> Budget:
    return Budget("x", app, only(app), allowed)


def snapshot(
    *parts: Node | Queue | Members | Pod | Budget, nominations: Mapping[str, str] | None = None
) -> Snapshot:
    return snapshot_of(
        nominations=tuple((PodKey(f"x/{p}"), n) for p, n in (nominations or {}).items()),
        taken_at_s=NOW,
        nodes=tuple(p for p in parts if isinstance(p, Node)),
        queues=tuple(p for p in parts if isinstance(p, Queue)),
        groups=tuple(p.group for p in parts if isinstance(p, Members)),
        budgets=tuple(p for p in parts if isinstance(p, Budget)),
        pods=(
            *(p for p in parts if isinstance(p, Pod)),
            *(pod for p in parts if isinstance(p, Members) for pod in p.pods),
        ),
    )
