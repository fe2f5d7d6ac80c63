"""The library: read a cluster, plan it, ask why and what if, from a script or a notebook.

>>> import apportion
>>> cluster = apportion.load("examples/small")
>>> made = apportion.plan(cluster)
>>> [h.group for h in made.held]
['batch/more', 'lab/notes', 'research/huge']
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..models import Config, Plan, Snapshot
from ..models.edits import Edit
from ..models.value import to_data
from ..solver.entry import plan as solve
from .ask.edit_words import group_key
from .ask.explain import Explanation
from .ask.explain import explain as why
from .ask.whatif import WhatIf, repeatable
from .ask.whatif import whatif as compare
from .configuration import changed, changes_in
from .inputs import Asked, read_case
from .kubernetes import QueuesFrom
from .kubernetes.times import seconds_of

__all__ = ["Cluster", "explain", "load", "plan", "records", "whatif"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as it was read, and the settings that it is planned by."""

    snapshot: Snapshot
    config: Config = field(default_factory=Config)

    def with_settings(self, **changes: Any) -> "Cluster":
        """Return the cluster with other settings, by the names of the fields of Config."""
        return replace(self, config=changed(self.config, changes))


def load(
    *sources: str | Path,
    config: str | Path | None = None,
    scheduler_names: Sequence[str] = (),
    queues_from: QueuesFrom | None = None,
    topology_labels: Sequence[str] = (),
    now: str | None = None,
) -> Cluster:
    """Read a cluster from files and folders: Kubernetes objects, a scenario, or a snapshot.

    Parameters
    ----------
    sources
        Files and folders; YAML or JSON, gzipped or not.
    config
        A configuration file, as for ``--config``.
    scheduler_names
        Whose pods are planned; by default those of ``apportion``.
    queues_from
        ``volcano`` (default) or ``kueue``.
    topology_labels
        Node labels that are levels of the network, the widest first.
    now
        The time that ages count from, RFC 3339; by default the newest in the input.

    Raises
    ------
    InputError
        If the input is unusable as a whole; bad objects are listed in ``snapshot.rejected``.
    """
    changes = {} if config is None else changes_in(config)[0]
    labels = tuple(topology_labels) or changed(Config(), changes).topology_labels
    now_s = None if now is None else seconds_of(now)
    asked = Asked(tuple(scheduler_names), queues_from, now_s, labels)
    case = read_case([str(s) for s in sources], asked)
    return Cluster(case.snapshot, changed(case.config, changes))


def plan(cluster: Cluster) -> Plan:
    """Plan one scheduling cycle, by the cluster's settings."""
    return solve(cluster.snapshot, cluster.config)


def explain(cluster: Cluster, group: str, *, changes: bool = True) -> Explanation:
    """Say why a group waits and what would start it, as ``apportion explain`` does.

    ``group`` is ``namespace/name``, a name that only one group has, or one of its pods.

    Raises
    ------
    InputError
        If there is no such group.
    """
    key = group_key(cluster.snapshot, group)
    return why(cluster.snapshot, cluster.config, key, changes=changes)


def whatif(cluster: Cluster, *edits: Edit, config: Config | None = None) -> WhatIf:
    """Plan the cluster as it is and after edits, as ``apportion whatif`` does.

    ``edits`` are values of :mod:`apportion.models.edits`; ``config``: settings of the second plan.

    Raises
    ------
    InputError
        If an edit names what there is not.
    """
    other = None if config is None else repeatable(config)
    return compare(cluster.snapshot, cluster.config, edits, changed_config=other)


def records(values: Iterable[object]) -> list[dict[str, Any]]:
    """Return values (binds, held groups, queue rows) as rows, such as pandas takes.

    >>> records(plan(load("examples/small")).queues)[0]["name"]
    'batch'
    """
    return [to_data(v) for v in values]
