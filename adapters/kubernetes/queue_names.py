"""Which queue a pod or group asks for: its own word, its namespace's, else ``default``."""

from collections.abc import Collection, Iterable

from ...models import Queue, QueueName, Reason
from .meta import Thing
from .options import QueuesFrom
from .world import QUEUE_ANNOTATION, World

DEFAULT = QueueName("default")
_NOTES = (QUEUE_ANNOTATION, "volcano.sh/queue-name")
_KAI_LABELS = ("kai.scheduler/queue", "runai/queue")
_KUEUE_LOCAL = ("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/local-queue-name")
_KUEUE_CLUSTER = "kueue.x-k8s.io/cluster-queue-name"
KOORDINATOR_NAME = "quota.scheduling.koordinator.sh/name"


class QueueNames:
    """Answers for pods, groups and namespaces."""

    def __init__(
        self,
        world: World,
        elastic: Iterable[Thing],
        local: Iterable[tuple[str, str, str]],
        queues_from: QueuesFrom,
        stopped: Collection[tuple[str, str]] = (),
    ) -> None:
        """``local`` are Kueue's LocalQueues: (namespace, name, ClusterQueue).

        ``stopped`` are those of them, by namespace and name, that let nothing start.
        """
        self._world = world
        self._kueue = queues_from == "kueue"
        self._stopped = frozenset(stopped)
        self._local = {(namespace, name): queue for namespace, name, queue in local}
        self._elastic_by_name: dict[str, str] = {}
        self._elastic_by_namespace: dict[str, str] = {}
        for quota in sorted(elastic, key=lambda t: t.key):
            name = quota.labels.get(KOORDINATOR_NAME) or quota.name
            self._elastic_by_name.setdefault(name, quota.key)
            self._elastic_by_namespace.setdefault(quota.namespace, quota.key)

    def said_by(self, thing: Thing) -> str | None:
        """Return the queue that the object itself names."""
        if self._kueue and (queue := self._said_to_kueue(thing)):
            return queue
        if queue := thing.note(*_NOTES):
            return queue
        for label in _KAI_LABELS:
            if thing.labels.get(label):
                return thing.labels[label]
        quota = thing.labels.get(KOORDINATOR_NAME)
        return self._elastic_by_name.get(quota, quota) if quota else None

    def _said_to_kueue(self, thing: Thing) -> str | None:
        if thing.labels.get(_KUEUE_CLUSTER):
            return thing.labels[_KUEUE_CLUSTER]
        for label in _KUEUE_LOCAL:
            local = thing.labels.get(label)
            if local:
                return self._local.get((thing.namespace, local), local)
        return None

    def stop(self, things: Iterable[Thing]) -> tuple[Reason, ...]:
        """Return why nothing that these objects speak for may start: its LocalQueue is stopped."""
        for thing in things if self._stopped else ():
            if self._said_to_kueue(thing) is None:
                continue
            local = next((n for label in _KUEUE_LOCAL if (n := thing.labels.get(label))), "")
            if thing.labels.get(_KUEUE_CLUSTER) or (thing.namespace, local) not in self._stopped:
                return ()
            title = f"LocalQueue {thing.namespace}/{local}"
            return (Reason("queue", title, f"{title} is stopped (spec.stopPolicy)"),)
        return ()

    def of_namespace(self, namespace: str) -> str:
        """Return the queue of what names none itself."""
        declared = self._world.namespaces.get(namespace)
        if declared is not None and declared.queue:
            return declared.queue
        return self._elastic_by_namespace.get(namespace, DEFAULT)

    def chosen(self, written: str, things: Iterable[Thing], namespace: str) -> QueueName:
        """Return the queue of a group: as its object says, else its pods, else its namespace."""
        if self._kueue:
            for thing in things:
                if queue := self._said_to_kueue(thing):
                    return QueueName(queue)
        if written:
            return QueueName(written)
        for thing in things:
            if queue := self.said_by(thing):
                return QueueName(queue)
        return QueueName(self.of_namespace(namespace))


def default_queue() -> Queue:
    """Return the queue that exists even when no object says so."""
    return Queue(DEFAULT)
