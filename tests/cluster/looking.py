"""Questions that tests of the live scheduler ask the cluster."""

from collections.abc import Iterable

from cluster.client import Client, Data
from cluster.waiting import DEADLINE_S, until

EVENT = "Event.events.k8s.io"


def nodes_of(client: Client) -> dict[str, str]:
    """Return the node of each pod that has one."""
    pods = client.find_all("pods")
    return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods if p["spec"].get("nodeName")}


def wait_placed(client: Client, *names: str, deadline_s: float = DEADLINE_S) -> dict[str, str]:
    """Wait until all these pods have nodes; return the nodes of all pods."""
    wanted = set(names)
    until(lambda: wanted <= nodes_of(client).keys(), f"{names} have nodes", deadline_s)
    return nodes_of(client)


def wait_running(client: Client, *names: str, deadline_s: float = DEADLINE_S) -> None:
    """Wait until these pods run."""

    def run() -> bool:
        found = {p["metadata"]["name"]: p["status"].get("phase") for p in client.find_all("pods")}
        return all(found.get(name) == "Running" for name in names)

    until(run, f"{names} run", deadline_s)


def wait_gone(client: Client, *names: str, deadline_s: float = DEADLINE_S) -> None:
    """Wait until none of these pods is there."""

    def are_gone() -> bool:
        return not {p["metadata"]["name"] for p in client.find_all("pods")} & set(names)

    until(are_gone, f"{names} are gone", deadline_s)


def events_about(client: Client, kind: str, name: str) -> list[Data]:
    """Return the events about an object.

    There are events about nothing that has a name, as an API server tells some when it has started.
    """
    about = {"kind": kind, "name": name}
    return [e for e in client.find_all(EVENT) if about.items() <= e.get("regarding", {}).items()]


def names_of(things: Iterable[Data], kind: str = "Pod") -> list[str]:
    """Return the names of those of the things that are of a kind."""
    return [thing["metadata"]["name"] for thing in things if thing["kind"] == kind]
