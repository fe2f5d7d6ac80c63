"""``apportion run``: schedule a live cluster."""

import dataclasses
import gc
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    Budget,
    ConfigFile,
    Context,
    Kubeconfig,
    LeaseNamed,
    LeaseNamespace,
    QueuesFromOption,
    SchedulerNames,
    Seed,
    TopologyLabels,
    asked,
    chosen,
)

if TYPE_CHECKING:
    from ...models import LabelSelector
    from ..live.logs import LogFormat

LIVE_BUDGET_MS, LIVE_POLISH_MS = 1000, 100
"""Others wait while a plan is made: a live scheduler takes less time for each by default."""
EXAMPLES = """
\b
Examples:
  apportion run --dry-run
  apportion run --kubeconfig admin.conf --scheduler-name apportion
  apportion run --config apportion.yaml --log-format json
"""


def run(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    scheduler_name: SchedulerNames = None,
    config: ConfigFile = None,
    budget: Budget = None,
    seed: Seed = None,
    queues_from: QueuesFromOption = None,
    topology_labels: TopologyLabels = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard", metavar="SELECTOR", help="Use the nodes with these labels only: pool=a."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan and log; write nothing to the cluster.")
    ] = False,
    leader_elect: Annotated[
        bool,
        typer.Option(
            "--leader-elect/--no-leader-elect",
            help="Let one replica of several write, by a Lease.",
        ),
    ] = True,
    lease_namespace: LeaseNamespace = "apportion-system",
    lease_name: LeaseNamed = "apportion",
    period: Annotated[
        str,
        typer.Option(
            "--period", metavar="TIME", help="While changes go on, a cycle at least this often."
        ),
    ] = "1s",
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen", metavar="HOST:PORT", help="Serve /healthz, /readyz, /metrics and /debug."
        ),
    ] = None,
    reservation_image: Annotated[
        str | None,
        typer.Option(
            "--reservation-image", metavar="IMAGE", help="Share GPUs by pods that reserve them."
        ),
    ] = None,
    reservation_namespace: Annotated[
        str,
        typer.Option("--reservation-namespace", metavar="NAME", help="Where these pods are made."),
    ] = "kai-resource-reservation",
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="DIR", help="Keep the last cycles there, for replay."),
    ] = None,
    record_cycles: Annotated[
        int,
        typer.Option("--record-cycles", metavar="N", min=1, max=100_000, help="How many of them."),
    ] = 100,
    advise: Annotated[
        int,
        typer.Option(
            "--advise",
            metavar="N",
            min=0,
            max=100,
            help="Held groups of which it is tried at once what would start them; 0: none.",
        ),
    ] = 3,
    log_format: Annotated[
        str, typer.Option("--log-format", metavar="text|json", help="One line for each event.")
    ] = "text",
) -> int:
    """Schedule a live cluster.

    Watches the cluster, plans whenever something has changed, binds what starts, evicts who makes
    room, and says of the rest why it waits. Ends on SIGTERM, after what it has begun.
    """
    picked = chosen(config, budget, seed, False, topology_labels)
    reading = asked(scheduler_name, queues_from, None, picked)
    gc.disable()  # what is loaded stays: a tenth of the time would go into looking for garbage
    from msgspec.structs import replace

    from ...models import Config, InputError
    from ..inputs import read_options
    from ..live import logs
    from ..live.lease import LeaseName
    from ..live.pace import Pace
    from ..live.service import Options, identity, run_until_signalled, serve
    from ..live.settings import SettingsFile
    from ..live.steps import Options as Reservations
    from ..recording import Recorder

    gc.enable()
    logs.set_up(_format(log_format))
    changes = picked.changes

    def over(settings: Config) -> Config:
        if settings.moves:
            raise InputError(
                f"{config}: moves: apportion run does not restart running pods elsewhere, as a pod "
                "that comes back under another name may find its place taken; leave the setting out"
            )
        return replace(settings, **changes)

    settings = SettingsFile(
        config, over, Config(budget_ms=LIVE_BUDGET_MS, polish_ms=LIVE_POLISH_MS)
    )
    options = Options(
        dataclasses.replace(
            read_options(reading), shard=_shard(shard) if shard is not None else None
        ),
        kubeconfig,
        context,
        dry_run,
        LeaseName(lease_namespace, lease_name, identity()) if leader_elect else None,
        Pace(period_s=_seconds(period)),
        _address(listen) if listen is not None else None,
        Reservations(reservation_image or "", reservation_namespace),
        Recorder(record, record_cycles) if record is not None else None,
        advise,
    )
    run_until_signalled(lambda stop: serve(options, settings, stop))
    return 0


def _format(text: str) -> "LogFormat":
    from ...models import InputError

    if text == "json":
        return "json"
    if text == "text":
        return "text"
    raise InputError(f"--log-format: must be text or json, got {text[:40]!r}")


def _shard(text: str) -> "LabelSelector":
    from ...models import InputError
    from ..kubernetes.selector_text import selector_of

    try:
        return selector_of(text)
    except ValueError as e:
        raise InputError(f"--shard: {e}") from e


def _address(text: str) -> tuple[str, int]:
    from ...models import InputError

    host, colon, port = text.rpartition(":")
    digits = port.isascii() and port.isdigit() and len(port) <= 5
    if not colon or not digits or int(port) > 65535:
        raise InputError(f"--listen: {text[:60]!r} is no address; write HOST:PORT, as 0.0.0.0:8080")
    return host.strip("[]") or "0.0.0.0", int(port)


def _seconds(text: str) -> float:
    from ...models import InputError
    from ..durations import duration_ms

    try:
        ms = duration_ms(text)
    except ValueError as e:
        raise InputError(f"--period: {e}") from e
    if not 50 <= ms <= 600_000:
        raise InputError(f"--period: must be between 50ms and 10m, got {text}")
    return ms / 1000.0
