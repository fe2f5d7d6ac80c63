"""``apportion whatif``: plan a cluster as it is and as it would be, and show the difference."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .documents import Form, write, write_page
from .world import Asking, World, of_a_world, opened

if TYPE_CHECKING:
    from ...models import Config
    from ...models.edits import Edit
    from ..inputs import Asked

EXAMPLES = """
\b
Examples:
  apportion whatif -f examples/small --add-nodes 1 --like gpu-a
  apportion whatif -f examples/small --drain gpu-b --output json
  apportion whatif -f examples/small --set-queue lab.limit.cpu=8 --set tiers.packing=spread
"""
Texts = list[str] | None


def _texts(option: str, metavar: str, said: str) -> typer.models.OptionInfo:
    made: typer.models.OptionInfo = typer.Option(option, metavar=metavar, help=said)
    return made


@of_a_world
def whatif(
    asking: Asking,
    add_nodes: Annotated[
        list[int] | None,
        typer.Option("--add-nodes", metavar="N", min=1, help="Add N nodes; --like says which."),
    ] = None,
    like: Annotated[
        Texts, _texts("--like", "NODE", "The node that those of --add-nodes are like.")
    ] = None,
    node_label: Annotated[
        Texts, _texts("--node-label", "KEY=VALUE", "A label of the added nodes.")
    ] = None,
    remove_node: Annotated[Texts, _texts("--remove-node", "NODE", "The node is gone.")] = None,
    drain: Annotated[
        Texts, _texts("--drain", "NODE", "Cordon the node; its pods come back pending.")
    ] = None,
    cordon: Annotated[Texts, _texts("--cordon", "NODE", "The node takes no new pods.")] = None,
    uncordon: Annotated[Texts, _texts("--uncordon", "NODE", "It takes pods again.")] = None,
    submit: Annotated[
        Texts, _texts("--submit", "FILE", "Submit what is in the file as well.")
    ] = None,
    copy: Annotated[
        Texts, _texts("--copy", "GROUP[=N]", "Submit N groups (1) like this one.")
    ] = None,
    remove: Annotated[
        Texts, _texts("--remove", "GROUP", "The group and its pods are gone.")
    ] = None,
    wait: Annotated[
        Texts, _texts("--wait", "TIME", "What is known to end by then has ended: 2h10m.")
    ] = None,
    set_priority: Annotated[Texts, _texts("--set-priority", "GROUP=N", "Another priority.")] = None,
    resize: Annotated[Texts, _texts("--resize", "GROUP[:ROLE]=N", "So many members.")] = None,
    set_minimum: Annotated[
        Texts, _texts("--set-minimum", "GROUP=N", "Start with so many members at least.")
    ] = None,
    set_requests: Annotated[
        Texts,
        _texts("--set-requests", "GROUP:RESOURCE=AMOUNT", "What each waiting pod asks for."),
    ] = None,
    set_queue: Annotated[
        Texts,
        _texts(
            "--set-queue",
            "NAME.limit.RESOURCE=AMOUNT",
            "Limit, due or guarantee of a queue; or NAME.weight=N, NAME.priority=N.",
        ),
    ] = None,
    relax: Annotated[
        Texts, _texts("--relax", "GROUP[=LEVEL]", "Require this topology level, or none.")
    ] = None,
    tolerate: Annotated[
        Texts, _texts("--tolerate", "GROUP=KEY[=VALUE]:EFFECT", "One more toleration.")
    ] = None,
    drop_selector: Annotated[
        Texts,
        _texts("--drop-selector", "GROUP[=LABEL]", "Without this node selector, or affinity."),
    ] = None,
    set_: Annotated[
        Texts, _texts("--set", "SETTING=VALUE", "Another setting: tiers.packing=spread.")
    ] = None,
    output: Annotated[
        Form, typer.Option("--output", "-o", help="A page to read, or data.")
    ] = Form.TABLE,
    snapshot_out: Annotated[
        str | None,
        typer.Option("--snapshot-out", metavar="FILE", help="Write the changed cluster."),
    ] = None,
) -> int:
    """Plan a cluster as it is and as it would be, and show what differs.

    Who starts, who is displaced, who waits less or more, what queues use, and how what is idle
    lies. Both plans are made as with --deterministic and by the same seed. Every option that
    changes something may be repeated.
    """
    nodes = {
        "remove_node": remove_node, "drain": drain, "cordon": cordon, "uncordon": uncordon
    }  # fmt: skip
    groups = {
        "--set-queue": set_queue, "--remove": remove, "--wait": wait, "--copy": copy,
        "--set-priority": set_priority, "--set-requests": set_requests, "--resize": resize,
        "--set-minimum": set_minimum, "--relax": relax, "--tolerate": tolerate,
        "--drop-selector": drop_selector,
    }  # fmt: skip
    added = _added(add_nodes or (), like or (), node_label or ())
    with opened(asking, "planning the cluster as it is, and changed") as world:
        from ...models import InputError
        from ..ask.edit_words import edits_of
        from ..ask.whatif import to_document
        from ..ask.whatif import whatif as compare

        snapshot = world.case.snapshot
        edits: list[Edit] = [*added, *_nodes(nodes), *_submitted(submit, world)]
        edits += edits_of(snapshot, [(k, v or ()) for k, v in groups.items()])
        changed = _settings(world.config, set_ or ())
        if not edits and changed is None:
            raise InputError("nothing is changed; say what, for example: --drain NODE")
        answer = compare(
            snapshot, world.config, edits, changed_config=changed, settings=set_ or (),
            process=world.process,
        )  # fmt: skip
        if snapshot_out is not None:
            from ...models.snapshot import write as as_bytes
            from ..plan_file import save

            save(snapshot_out, as_bytes(answer.changed[0]))
        if output is Form.TABLE:
            from .whatif_page import show

            show(answer)
        elif output is Form.HTML:
            from ..report.answers import whatif_page

            after = world.config if changed is None else changed
            write_page(whatif_page(answer, after, world.source.said), sys.stdout)
        else:
            write(to_document(answer), output, sys.stdout)
    return 0


def _added(counts: Sequence[int], models: Sequence[str], labels: Sequence[str]) -> "list[Edit]":
    from ...models import InputError
    from ...models.edits import AddNodes

    if len(counts) != len(models):
        raise InputError("--add-nodes N goes with --like NODE, each as often as the other")
    if labels and not counts:
        raise InputError("--node-label is about added nodes; add --add-nodes N --like NODE")
    own: dict[str, str] = {}
    for text in labels:
        key, equal, value = text.partition("=")
        if not equal or not key:
            raise InputError(f"--node-label: {text!r}: write KEY=VALUE")
        own[key] = value
    return [AddNodes(name, n, own) for n, name in zip(counts, models, strict=True)]


def _nodes(written: Mapping[str, Sequence[str] | None]) -> "list[Edit]":
    from ...models.edits import Cordon, Drain, RemoveNode, Uncordon

    kinds: dict[str, Callable[[str], Edit]] = {
        "uncordon": Uncordon,
        "cordon": Cordon,
        "drain": Drain,
        "remove_node": RemoveNode,
    }
    return [kind(name) for key, kind in kinds.items() for name in written[key] or ()]


def _submitted(submit: Sequence[str] | None, world: World) -> "list[Edit]":
    """Read what is submitted, beside the objects of the cluster if there are some.

    Then priority classes and claims of the cluster are known; otherwise the file has to have them.
    """
    from ...models import InputError
    from ..inputs import read_case
    from ..questions import brought

    if not submit:
        return []
    files = list(world.source.files) if world.case.from_objects else []
    if "-" in files:
        raise InputError("--submit reads the cluster once more; give it in files, not as '-'")
    new = brought(read_case([*files, *submit], _as_in(world)).snapshot, world.case.snapshot)
    if new is None:
        alone = read_case(submit, _as_in(world)).snapshot
        said = [
            w.message for w in alone.warnings if w.path in ("spec.schedulerName", "spec.suspend")
        ]
        raise InputError("; ".join([f"there is no new group in {', '.join(submit)}", *said]))
    return [new]


def _as_in(world: World) -> "Asked":
    """Return how files beside the cluster are read: their pods are planned as its own are."""
    import dataclasses

    if world.case.from_objects:
        return world.reading
    snapshot = world.case.snapshot
    return dataclasses.replace(
        world.reading, scheduler_names=snapshot.scheduler_names, now_s=snapshot.taken_at_s
    )


def _settings(config: "Config", written: Sequence[str]) -> "Config | None":
    """Return the settings with those of ``--set`` over them; None: nothing is set."""
    if not written:
        return None
    from ...policies.registry import rules_for
    from ..ask.settings_words import changes_of
    from ..configuration import changed

    made = changed(config, changes_of(written))
    rules_for(made)
    return made
