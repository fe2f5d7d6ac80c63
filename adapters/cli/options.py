"""Options that several commands share, and what they mean."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ...models import Config, Warned
    from ..inputs import Asked

ConfigFile = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE",
        help="Settings: a Configuration, or Volcano's scheduler.conf.",
    ),
]  # fmt: skip
Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="TIME",
        help="Time for one plan: 500ms, 1s, 2m. [default: 5s]"),
]  # fmt: skip
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, max=2**31 - 1,
        help="Seed of random choices. [default: 1]"),
]  # fmt: skip
Deterministic = Annotated[
    bool,
    typer.Option("--deterministic", help="Limits that no clock decides: same input, same bytes."),
]
SchedulerNames = Annotated[
    list[str] | None,
    typer.Option(
        "--scheduler-name", metavar="NAME",
        help="Pods with this schedulerName are planned, all others stay. Repeatable. "
        "[default: apportion]",
    ),
]  # fmt: skip
Now = Annotated[
    str | None,
    typer.Option(
        "--now", metavar="TIME",
        help="The time that ages count from, RFC 3339. [default: the newest time in the input]",
    ),
]  # fmt: skip


class QueueSource(StrEnum):
    """Whose queues count."""

    VOLCANO = "volcano"
    KUEUE = "kueue"


QueuesFromOption = Annotated[
    QueueSource | None,
    typer.Option(
        "--queues-from",
        help="Queues are Volcano's (and KAI's, ElasticQuotas) or Kueue's. [default: volcano]",
    ),
]


TopologyLabels = Annotated[
    str | None,
    typer.Option(
        "--topology-labels", metavar="LABEL,...",
        help="Node labels that are levels of the network, the widest first: zone,block,rack.",
    ),
]  # fmt: skip


Moves = Annotated[
    int | None,
    typer.Option(
        "--moves", metavar="N", min=0, max=1000,
        help="Restart at most N running pods elsewhere, so that more starts. [default: 0]",
    ),
]  # fmt: skip


Kubeconfig = Annotated[
    str | None,
    typer.Option(
        "--kubeconfig", metavar="FILE",
        help="How to reach the cluster. [default: the pod's service account, else kubectl's]",
    ),
]  # fmt: skip
Context = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="A context of the kubeconfig.")
]
LeaseNamespace = Annotated[
    str, typer.Option("--lease-namespace", metavar="NAME", help="Where the Lease is.")
]
LeaseNamed = Annotated[
    str, typer.Option("--lease-name", metavar="NAME", help="What the Lease is called.")
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Settings of the command line: a configuration file, and options that come after it."""

    changes: dict[str, Any]
    file: dict[str, Any]
    warnings: "tuple[Warned, ...]"

    def over(self, config: "Config") -> "Config":
        """Return the configuration with the file's settings and then the options laid over it."""
        from ..configuration import changed

        return changed(changed(config, self.file), self.changes)


def chosen(
    config: str | None,
    budget: str | None,
    seed: int | None,
    deterministic: bool,
    topology_labels: str | None = None,
    moves: int | None = None,
) -> Chosen:
    """Read the configuration file and the options over it; an unknown rule is refused at once."""
    from ...models import Config
    from ...policies.registry import rules_for
    from ..configuration import changes_in

    file, warnings = changes_in(config) if config is not None else ({}, ())
    changes: dict[str, Any] = {}
    if budget is not None:
        changes["budget_ms"] = _budget(budget)
    if seed is not None:
        changes["seed"] = seed
    if deterministic:
        changes["deterministic"] = True
    if moves is not None:
        changes["moves"] = moves
    if topology_labels is not None:
        changes["topology_labels"] = _labels(topology_labels)
    out = Chosen(changes, dict(file), warnings)
    rules_for(out.over(Config()))
    return out


def _labels(text: str) -> tuple[str, ...]:
    from ...models import InputError

    labels = tuple(part.strip() for part in text.split(","))
    if not all(labels) or len(set(labels)) < len(labels):
        raise InputError(
            f"--topology-labels: {text[:60]!r} names a label twice or none; write node labels "
            "from the widest level to the narrowest, such as zone,block,rack"
        )
    return labels


def _budget(text: str) -> int:
    from ...models import InputError
    from ..durations import duration_ms

    try:
        ms = duration_ms(text)
    except ValueError as e:
        raise InputError(f"--budget: {e}") from e
    if ms < 1:
        raise InputError("--budget: must be at least 1ms")
    return ms


def asked(
    scheduler_names: list[str] | None,
    queues_from: QueueSource | None,
    now: str | None,
    picked: Chosen,
) -> "Asked":
    """Return what the options say about reading."""
    from ...models import Config, InputError
    from ..inputs import Asked
    from ..kubernetes import QueuesFrom
    from ..kubernetes.times import seconds_of

    now_s = None
    if now is not None:
        try:
            now_s = seconds_of(now)
        except ValueError as e:
            raise InputError(f"--now: {e}") from e
    if scheduler_names and not all(scheduler_names):
        raise InputError("--scheduler-name: must not be empty")
    source: QueuesFrom | None = None
    if queues_from is not None:
        source = "kueue" if queues_from is QueueSource.KUEUE else "volcano"
    names = tuple(dict.fromkeys(scheduler_names or ()))
    return Asked(names, source, now_s, picked.over(Config()).topology_labels)
