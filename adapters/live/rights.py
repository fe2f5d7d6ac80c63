"""What the live scheduler may do in a cluster: the one list, from which the manifests are made.

Reading follows from the kinds that are read. Writing is spelled out, each right with its reason;
``make generate`` writes it into the roles under deploy/.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ..kubernetes.kinds import KUEUE_READERS, READERS

CORE = ""


@dataclass(frozen=True, slots=True)
class Right:
    """Verbs on resources of one API group."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    why: str


def plural(kind: str) -> str:
    """Return how a kind is called in paths; holds for every kind that is read."""
    name = kind.lower()
    if name.endswith("y") and name[-2] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "ch")) else f"{name}s"


def reading() -> Iterable[Right]:
    """Give what is listed and watched: every kind that the door knows, by API group."""
    by_group: dict[str, list[str]] = {}
    for group, kind in (*READERS, *KUEUE_READERS):
        by_group.setdefault(group, []).append(plural(kind))
    for group, resources in sorted(by_group.items()):
        yield Right(group, tuple(sorted(resources)), ("list", "watch"), "what a cycle knows")


WRITING = (
    Right(CORE, ("pods",), ("get",), "whether a bind whose answer was lost has been made"),
    Right(CORE, ("pods/binding",), ("create",), "starting pods"),
    Right(CORE, ("pods/eviction",), ("create",), "making room"),
    Right(CORE, ("pods/status",), ("patch",), "nominated nodes, conditions"),
    Right(CORE, ("persistentvolumeclaims",), ("get", "patch"), "where a volume is to be made"),
    Right(CORE, ("persistentvolumes",), ("get", "patch"), "which local volume a claim gets"),
    Right(
        "resource.k8s.io", ("resourceclaims",), ("create", "delete", "get", "patch"),
        "a claim in use stays; devices for extended resources are claimed",
    ),
    Right(
        "resource.k8s.io", ("resourceclaims/status", "resourceclaims/binding"), ("patch",),
        "which devices a claim gets, and for whom; from Kubernetes 1.36 by the latter",
    ),
    Right("resource.k8s.io", ("deviceclasses",), ("get",), "how a class configures devices"),
    Right("events.k8s.io", ("events",), ("create",), "why pods start, wait or leave"),
    Right(
        "scheduling.volcano.sh", ("podgroups", "podgroups/status"), ("patch",),
        "phases and conditions; Volcano's definition has no status of its own",
    ),
    Right("scheduling.volcano.sh", ("queues",), ("create",), "the queue default"),
    Right("scheduling.volcano.sh", ("queues/status",), ("patch",), "states, counts, allocated"),
    Right("authentication.k8s.io", ("tokenreviews",), ("create",), "who asks for a debug page"),
    Right("authorization.k8s.io", ("subjectaccessreviews",), ("create",), "whether they may"),
)  # fmt: skip
"""In all namespaces, beside reading."""

FOR_SHARES = (
    Right(CORE, ("pods",), ("patch",), "which devices a share gets"),
    Right(CORE, ("nodes",), ("get", "patch"), "HAMi's lock: its plug-in serves one pod at a time"),
    Right(CORE, ("configmaps",), ("create", "patch"), "what KAI's admission has pods read"),
)  # fmt: skip
"""In all namespaces, where shares of devices are handed over."""

IN_RESERVATIONS = (
    Right(CORE, ("pods",), ("create", "delete"), "pods that reserve shared devices"),
)
"""In the namespace of the reservation pods only."""

IN_OWN_NAMESPACE = (
    Right("coordination.k8s.io", ("leases",), ("get", "create", "update"), "one replica leads"),
)
"""In the namespace of the Lease only."""


def everywhere() -> tuple[Right, ...]:
    """Return the rights in all namespaces."""
    return (*reading(), *WRITING)


def rules(rights: Iterable[Right]) -> str:
    """Return rights as the rules of a role, in YAML, with their reasons."""
    out, said = "", ""
    for right in rights:
        if right.why != said:
            out += f"# {right.why}\n"
            said = right.why
        out += (
            f'- apiGroups: ["{right.group}"]\n'
            f"  resources: [{', '.join(right.resources)}]\n"
            f"  verbs: [{', '.join(right.verbs)}]\n"
        )
    return out
