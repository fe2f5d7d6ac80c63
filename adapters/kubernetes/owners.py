"""Workloads that own pods: how many they ask for, and the group that their annotation makes."""

from collections.abc import Iterable

from .body_rare import Workload
from .meta import Owner, Thing

MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
KAI_MIN_MEMBER = "kai.scheduler/batch-min-member"
_MINIMA = (MIN_MEMBER, KAI_MIN_MEMBER)
OWNER_KINDS = (
    ("", "ReplicationController"),
    ("apps", "ReplicaSet"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("batch.volcano.sh", "Job"),
    ("jobset.x-k8s.io", "JobSet"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    ("kubeflow.org", "PyTorchJob"),
    ("kubeflow.org", "TFJob"),
    ("kubeflow.org", "PaddleJob"),
    ("kubeflow.org", "XGBoostJob"),
    ("kubeflow.org", "JAXJob"),
    ("kubeflow.org", "MPIJob"),
    ("trainer.kubeflow.org", "TrainJob"),
    ("ray.io", "RayCluster"),
    ("ray.io", "RayJob"),
    ("ray.io", "RayService"),
)
"""Kinds that are read and own pods, or what owns pods, by API group."""
_ONE_POD_KINDS = ("ReplicaSet", "ReplicationController", "Deployment", "StatefulSet", "Job")


def written_minimum(thing: Thing) -> str:
    """Return the minimum that the object is annotated with, Volcano's word first; "" for none."""
    return next((n for key in _MINIMA if (n := thing.annotations.get(key))), "")


class Owners:
    """The controllers of the input, by namespace, kind and name."""

    def __init__(self, things: Iterable[Thing]) -> None:
        self.things = list(things)
        things = self.things
        self._things = {(t.namespace, t.kind, t.name): t for t in things}
        self._exactly = {(t.namespace, t.group, t.kind, t.name): t for t in things}

    def of(self, namespace: str, owner: Owner | None) -> Thing | None:
        """Return the owner's object, if it is in the input.

        Jobs of two API groups may share a name; a reference without a group means either.
        """
        if owner is None:
            return None
        if owner.api_group:
            return self._exactly.get((namespace, owner.api_group, owner.kind, owner.name))
        return self._things.get((namespace, owner.kind, owner.name))

    def named(self, namespace: str, kind: str, name: str) -> Thing | None:
        """Return the object of that kind and name, of whichever API group."""
        return self._things.get((namespace, kind, name))

    def chain(self, thing: Thing) -> list[Thing]:
        """Return the object's controller, that one's controller, and so on, as far as known."""
        out: list[Thing] = []
        above = self.of(thing.namespace, thing.owner)
        while above is not None and above not in out and len(out) < 8:
            out.append(above)
            above = self.of(thing.namespace, above.owner)
        return out

    def minimum(self, thing: Thing) -> str:
        """Return the minimum written on the object, else on the nearest controller; "" for none."""
        return next((n for t in (thing, *self.chain(thing)) if (n := written_minimum(t))), "")

    def scale(self, thing: Thing) -> tuple[str, int | None] | None:
        """Return which controller sets the number of pods, and the number if it is known.

        A Deployment speaks for its ReplicaSets, as in the disruption controller.
        """
        if thing.owner is None:
            return None
        chain = self.chain(thing)
        if not chain:
            return f"{thing.owner.kind}/{thing.owner.name}", None
        top = chain[-1] if chain[-1].kind == "Deployment" else chain[0]
        spec = top.body.spec if isinstance(top.body, Workload) else None
        if top.kind not in _ONE_POD_KINDS or not isinstance(top.body, Workload):
            return f"{top.kind}/{top.name}", None
        asked = None if spec is None else spec.parallelism if top.kind == "Job" else spec.replicas
        return f"{top.kind}/{top.name}", 1 if asked is None else asked
