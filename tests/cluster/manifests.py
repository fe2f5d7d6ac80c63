"""Apply manifests to a control plane: definitions first, and wait until they are served."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from cluster.client import Client, Data
from cluster.waiting import DEADLINE_S, until

FIRST = ("CustomResourceDefinition", "Namespace", "ServiceAccount", "PriorityClass")
"""Kinds that others need to be there."""


def documents(paths: Iterable[Path]) -> Iterator[Data]:
    """Give the objects in YAML files, and in all YAML files of folders, in the order of names."""
    for path in paths:
        files = sorted(path.glob("**/*.y*ml")) if path.is_dir() else [path]
        for file in files:
            for thing in yaml.safe_load_all(file.read_text()):
                if thing:
                    yield from thing["items"] if thing["kind"] == "List" else [thing]


def apply_all(client: Client, things: Iterable[Mapping[str, Any]]) -> None:
    """Apply objects, those first that others need; definitions are established when they follow."""
    ordered = sorted(things, key=lambda thing: _rank(thing["kind"]))
    definitions = [t for t in ordered if t["kind"] == FIRST[0]]
    for thing in definitions:
        client.apply(thing)
    for thing in definitions:
        wait_established(client, thing["metadata"]["name"])
    for thing in ordered[len(definitions) :]:
        client.apply(thing)


def apply_files(client: Client, *paths: Path) -> None:
    """Apply what is in these YAML files and folders."""
    apply_all(client, documents(paths))


def wait_established(client: Client, name: str, deadline_s: float = DEADLINE_S) -> None:
    """Wait until the definition's objects can be created."""

    def is_served() -> bool:
        found = client.read("customresourcedefinitions", name)
        conditions = found.get("status", {}).get("conditions") or ()
        states = {c["type"]: c["status"] for c in conditions}
        if states.get("NamesAccepted") == "False":
            raise ValueError(f"definition {name} is refused: {conditions}")
        if states.get("Established") != "True":
            return False
        # Discovery follows a moment later, and the store of the kind with the first that asks.
        plural, _, group = name.partition(".")
        served = next((k for k in client.kinds() if (k.group, k.plural) == (group, plural)), None)
        return served is not None and "items" in client.get(f"{served.path()}?limit=1")

    until(is_served, f"definition {name} is established and served", deadline_s)


def _rank(kind: str) -> int:
    return FIRST.index(kind) if kind in FIRST else len(FIRST)
