"""What a group and its subgroups ask of topologies, once its pods are known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...models import Reason, Subgroup, TopologyRequest
from .drafts import Draft
from .meta import Thing
from .nearness import Nearness, noted, pod_set
from .owners import Owners
from .pods import Candidate, role_of
from .world import World


@dataclass(slots=True)
class Placement:
    """Requests in levels of topologies, and who is in which subgroup."""

    whole: TopologyRequest | None = None
    subgroups: tuple[Subgroup, ...] = ()
    subgroups_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Subgroups by pod key."""
    hold: list[Reason] = field(default_factory=list)


def placement_of(
    draft: Draft, pods: Sequence[Candidate], owners: Owners, world: World
) -> Placement:
    """Return what the group asks for: its object first, else annotations of owners or pods."""
    out = Placement()
    things = [c.thing for c in pods if not c.finished]
    near = draft.near
    if near is None:
        near = _noted(draft, things, owners, world)
    if near is not None:
        out.whole = _resolved(near, draft, world, out)
    requests: dict[str, TopologyRequest] = {}
    for thing in things:
        names = []
        for name, wish in _parts(draft, thing):
            if name not in requests:
                request = _resolved(wish, draft, world, out)
                if request is None:
                    continue
                requests[name] = request
            names.append(name)
        if names:
            out.subgroups_of[thing.key] = tuple(dict.fromkeys(names))
    out.subgroups = tuple(Subgroup(name, request) for name, request in sorted(requests.items()))
    return out


def _parts(draft: Draft, thing: Thing) -> Iterable[tuple[str, Nearness]]:
    """Yield the subgroups that the pod is in, with what they ask for."""
    in_policy = False
    for split in draft.splits:
        if split.policy and in_policy:
            continue
        name = split.of(thing)
        if name is None:
            continue
        in_policy = in_policy or split.policy
        if split.near is not None:
            yield name, split.near
    if (found := pod_set(thing, role_of(thing))) is not None:
        yield found


def _noted(draft: Draft, things: Sequence[Thing], owners: Owners, world: World) -> Nearness | None:
    askers = ([draft.thing] if draft.thing is not None else []) + list(things[:1])
    if things:
        askers += owners.chain(things[0])
    ledger = world.ledger
    return next((n for t in askers if (n := noted(t, ledger)) is not None), None)


def _resolved(near: Nearness, draft: Draft, world: World, out: Placement) -> TopologyRequest | None:
    request, reason = world.topologies.resolve(near, draft.title)
    if reason is not None and reason not in out.hold:
        out.hold.append(reason)
    return request
