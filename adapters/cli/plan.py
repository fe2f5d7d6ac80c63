"""``apportion plan``: read a cluster, plan one cycle, show the plan."""

import sys
from contextlib import ExitStack
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .documents import Form
from .documents import write as write_document
from .options import Deterministic
from .solving import keeping, solver_for
from .source import Source
from .world import Asking, of_a_world

if TYPE_CHECKING:
    from ...models import Config, GroupKey, Plan, Snapshot
    from ...solver.process import SolverProcess
    from ..report.timeline import Moment

MOST_EXPLAINED = 20
EXPLAIN_S = 60
"""How many groups ``--explain`` is about, and how long it may take for all of them."""
CYCLES = 30
"""Most cycles of ``--settle`` without a number."""


class Trace(StrEnum):
    """A public list of nodes and pods that can be planned."""

    OPENB = "openb"


class Output(StrEnum):
    """What a plan is printed as."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    HTML = "html"


EXAMPLES = """
\b
Examples:
  apportion plan examples/small
  kubectl get nodes,pods,podgroups,queues -A -o yaml | apportion plan -
  apportion plan examples/volcano --scheduler-name volcano --output json
  apportion plan examples/small --settle --budget 1s
  apportion plan examples/small --settle --output html > /tmp/plan.html
  apportion plan examples/small --snapshot-out /tmp/seen.json.gz
"""


@of_a_world
def plan(
    asking: Asking,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Files and folders; - is standard input."),
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A page to read here or in a browser, or data.")
    ] = Output.TABLE,
    deterministic: Deterministic = False,
    settle: Annotated[
        int | None,
        typer.Option(
            "--settle",
            metavar="[N]",
            min=1,
            max=10_000,
            help="Repeat cycles until nothing changes for five, at most N. [default: 30]",
        ),
    ] = None,
    trace: Annotated[
        Trace | None,
        typer.Option("--trace", help="Plan a public list, in place of FILE...: all its pods wait."),
    ] = None,
    nodes: Annotated[
        str | None, typer.Option("--nodes", metavar="CSV", help="The nodes of --trace.")
    ] = None,
    pods: Annotated[
        str | None, typer.Option("--pods", metavar="CSV", help="The pods of --trace.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="With --output html: try what would start those who wait."),
    ] = False,
    snapshot_out: Annotated[
        str | None,
        typer.Option(
            "--snapshot-out",
            metavar="FILE",
            help="Write what was planned as a snapshot (.json, .json.gz).",
        ),
    ] = None,
) -> int:
    """Plan one scheduling cycle and show it.

    What starts where, who makes room for whom, who waits and why.

    FILE... is any mix of Kubernetes objects (YAML or JSON, kind: List too, .gz too), Scenario
    documents and snapshots. Nothing is ever applied to a cluster.
    """
    source = replace(asking.source, files=(*(files or ()), *asking.source.files))
    lists = _lists(source, trace, nodes, pods)
    if explain and output is not Output.HTML:
        from ...models import InputError

        raise InputError("--explain goes with --output html; of one group, see apportion explain")
    picked, reading = asking.settled(deterministic or explain)
    from ...models import Config

    with ExitStack() as stack:
        process = solver_for(picked.over(Config()), stack)
        from msgspec.structs import replace as changed

        from ...models.snapshot import write
        from ..inputs import Case
        from ..plan_file import save
        from .terminal import progress

        subject = ", ".join(lists) if lists is not None else source.said
        with progress(f"reading {subject}"):
            if lists is None:
                case = source.read(reading)
            else:
                from ..openb import read_openb

                case = Case(read_openb(*lists), Config())
        settings = picked.over(case.config)
        if snapshot_out is not None:
            save(snapshot_out, write(case.snapshot))
        with keeping(case.snapshot):
            moments: list[Moment] = []
            made = _planned(case.snapshot, settings, settle, process, moments)
            made = changed(made, warnings=(*picked.warnings, *made.warnings))
            if output is Output.HTML:
                from ..report.page import Report, written

                changes = _explained(made, case.snapshot, settings, process) if explain else None
                page = Report(made, case.snapshot, settings, subject, moments, changes)
                sys.stdout.buffer.write(written(page).encode())
            else:
                _print(made, case.snapshot, output)
    return 0


def _lists(
    source: Source, trace: Trace | None, nodes: str | None, pods: str | None
) -> tuple[str, str] | None:
    """Return the files of the trace's nodes and pods; None where no trace is planned."""
    from ...models import InputError

    if trace is None:
        if nodes is not None or pods is not None:
            raise InputError("--nodes and --pods are the lists of a trace; add --trace openb")
        source.checked(
            "there is nothing to plan: FILE... is missing; name files, folders or -, or a live "
            "cluster with --kubeconfig or --live"
        )
        return None
    if source.is_named:
        raise InputError(f"--trace {trace.value} stands alone; leave {source.said} out")
    if nodes is None or pods is None:
        raise InputError(f"--trace {trace.value} needs --nodes CSV and --pods CSV")
    return nodes, pods


def _planned(
    snapshot: "Snapshot",
    config: "Config",
    most: int | None,
    process: "SolverProcess | None",
    moments: "list[Moment]",
) -> "Plan":
    """Return the plan; of a settled run, add what each cycle did to ``moments``."""
    from ...solver.entry import plan as solve
    from ..report.timeline import moment
    from ..settle import settle
    from .terminal import progress

    what = f"planning {len(snapshot.pods):,} pods on {len(snapshot.nodes):,} nodes"
    with progress(what) as line:
        if most is None:
            return solve(snapshot, config, process=process)

        def watch(cycle: int, made: "Plan", seen: "Snapshot") -> None:
            moments.append(moment(cycle, made, seen))
            line.what = f"{what}, cycle {cycle + 1}"

        return settle(snapshot, config, most, process, watch)


def _explained(
    made: "Plan", snapshot: "Snapshot", config: "Config", process: "SolverProcess | None"
) -> "dict[GroupKey, list[str]]":
    """Return what would start each of the first groups that wait; what time allows."""
    from time import monotonic

    from ..ask.explain import explain
    from ..report.why import sentences
    from .terminal import progress

    until = monotonic() + EXPLAIN_S
    out: dict[GroupKey, list[str]] = {}
    with progress("trying what would start those who wait"):
        for held in made.held[:MOST_EXPLAINED]:
            if monotonic() > until:
                break
            found = explain(
                snapshot, config, held.group, process=process, known=made,
                stop=lambda: monotonic() > until,
            )  # fmt: skip
            out[held.group] = sentences(found)
    return out


def _print(made: "Plan", snapshot: "Snapshot", output: Output) -> None:
    if output is Output.TABLE:
        from .page import show

        show(made, snapshot)
        return
    from ...models.plan import to_document

    write_document(to_document(made), Form(output.value), sys.stdout)
