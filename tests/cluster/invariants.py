"""What must hold on a cluster whatever happened, judged by what the API server says alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal

from cluster.client import Client, Data

GROUP = "scheduling.k8s.io/group-name"
GROUPS = "podgroups.scheduling.volcano.sh"
ENDED = ("Succeeded", "Failed")

UNITS = {
    "": Decimal(1), "m": Decimal("0.001"), "k": Decimal(10**3), "M": Decimal(10**6),
    "G": Decimal(10**9), "T": Decimal(10**12), "Ki": Decimal(2**10), "Mi": Decimal(2**20),
    "Gi": Decimal(2**30), "Ti": Decimal(2**40),
}  # fmt: skip


def faults(client: Client) -> list[str]:
    """Return every breach at this moment, gangs whose binds are on their way included."""
    pods, nodes = client.find_all("pods"), client.find_all("nodes")
    return [*overfull(nodes, pods), *lost(nodes, pods), *partial(client)]


def overfull(nodes: Iterable[Data], pods: Iterable[Data]) -> list[str]:
    """Return nodes whose pods ask for more than there is."""
    used: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for pod in pods:
        if node := holds(pod):
            for resource, amount in requests(pod).items():
                used[node][resource] += amount
    return [
        f"node {node['metadata']['name']}: {used_of[resource]} of {allowed} {resource}"
        for node in nodes
        for used_of in [used[node["metadata"]["name"]]]
        for resource, allowed in amounts(node["status"]["allocatable"]).items()
        if used_of[resource] > allowed
    ]


def lost(nodes: Iterable[Data], pods: Iterable[Data]) -> list[str]:
    """Return pods on nodes that do not exist."""
    names = {node["metadata"]["name"] for node in nodes}
    return [
        f"pod {pod['metadata']['name']} is on node {node}, which is not there"
        for pod in pods
        if (node := holds(pod)) and node not in names
    ]


def partial(client: Client) -> list[str]:
    """Return gangs of which some pods have a node, but fewer than they need."""
    return partial_of(client.find_all(GROUPS), client.find_all("pods"))


def partial_of(groups: Iterable[Data], pods: Iterable[Data]) -> list[str]:
    """Say the same of what was read before."""
    placed: dict[tuple[str, str], int] = defaultdict(int)
    for pod in pods:
        meta = pod["metadata"]
        group = (meta.get("annotations") or {}).get(GROUP)
        if group and pod["spec"].get("nodeName") and not leaves(pod):
            placed[meta["namespace"], group] += 1
    found = []
    for one in groups:
        name, minimum = one["metadata"]["name"], one["spec"].get("minMember", 1)
        count = placed[one["metadata"]["namespace"], name]
        if 0 < count < minimum:
            found.append(f"gang {name}: {count} of {minimum} have a node")
    return found


def holds(pod: Data) -> str:
    """Return the node on which the pod takes room; empty if none."""
    has_ended = pod.get("status", {}).get("phase") in ENDED
    return "" if has_ended else str(pod["spec"].get("nodeName") or "")


def leaves(pod: Data) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def requests(pod: Data) -> Mapping[str, Decimal]:
    """Return what the pod's containers ask for; one pod."""
    total: dict[str, Decimal] = defaultdict(Decimal, pods=Decimal(1))
    for container in pod["spec"]["containers"]:
        resources = container.get("resources") or {}
        asked = {**resources.get("limits", {}), **resources.get("requests", {})}
        for resource, amount in amounts(asked).items():
            total[resource] += amount
    return total


def amounts(texts: Mapping[str, str]) -> dict[str, Decimal]:
    """Read quantities, exactly."""
    return {resource: amount(text) for resource, text in texts.items()}


def amount(text: str) -> Decimal:
    number = text.rstrip("mkMGTi")
    return Decimal(number) * UNITS[text[len(number) :]]
