"""What a group and its subgroups ask of topologies, once its pods are known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...models import Choice, Reason, Subgroup, TopologyRequest
from .drafts import Draft
from .meta import Thing
from .nearness import Nearness, Split, noted, pod_set
from .owners import Owners
from .pods import Candidate, role_of
from .slices import sliced
from .world import World


@dataclass(slots=True)
class Placement:
    """Requests in levels of topologies, and who is in which subgroup."""

    whole: TopologyRequest | None = None
    subgroups: tuple[Subgroup, ...] = ()
    subgroups_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Subgroups by pod key."""
    roles: dict[str, str] = field(default_factory=dict)
    """Roles by pod key, where subgroups with minima stand for roles."""
    minima: dict[str, int] | None = None
    """Minima of those that are needed in any case."""
    choices: tuple[Choice, ...] = ()
    """Of which of those some are needed, whichever they are."""
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
    slices = sliced(things, world.ledger)
    for thing in things:
        names = []
        parts = [*_parts(draft, thing), *slices.get(thing.key, ())]
        for name, wish in parts:
            if name not in requests:
                request = _resolved(wish, draft, world, out)
                if request is None:
                    continue
                requests[name] = request
            names.append(name)
        if names:
            out.subgroups_of[thing.key] = tuple(dict.fromkeys(names))
    _minima(draft, [c.thing for c in pods], world, out)
    out.subgroups = tuple(Subgroup(name, request) for name, request in sorted(requests.items()))
    return out


def _minima(draft: Draft, things: Sequence[Thing], world: World, out: Placement) -> None:
    """Let subgroups of which the group needs some, or all, be roles with a minimum each."""
    needed = [s for s in draft.splits if s.policy and s.least and s.size * s.least > 0]
    if not needed or draft.minimum >= len(things):
        return
    roles: dict[str, str] = {}
    minima: dict[str, int] = {}
    some: list[tuple[Split, list[str]]] = []
    for split in needed:
        members = {t.key: name for t in things if (name := _policy_of(draft, split, t))}
        roles |= members
        names = sorted(set(members.values()))
        if split.least < len(names):
            some.append((split, names))
            continue
        lacking = [f"{split.name} {i}" for i in range(len(names), split.least)]
        minima |= dict.fromkeys((*names, *lacking), split.size)
    tasks: dict[str, str] = {}
    """The role of each subgroup, where the tasks of minTaskMember are roles."""
    if draft.roles:
        of_role: dict[str, set[str]] = {}
        for t in things:
            of_role.setdefault(role_of(t), set()).add(roles.get(t.key, ""))
        if any(len(s) > 1 for s in of_role.values()) or len(of_role) != len(
            {r for s in of_role.values() for r in s}
        ):
            _warn_of_gang(draft, needed[0], world, "cuts across the tasks of minTaskMember")
            return
        tasks = {name: role for role, (name,) in ((r, tuple(s)) for r, s in of_role.items())}
        for name in minima.keys() & tasks.keys():
            draft.roles[tasks[name]] = max(draft.roles.get(tasks[name], 0), minima[name])
    else:
        out.roles, out.minima = roles, minima
    out.choices = tuple(
        Choice(split.least, {tasks.get(name, name): split.size for name in names})
        for split, names in some
    )


def _policy_of(draft: Draft, wanted: Split, thing: Thing) -> str | None:
    """Return the subgroup of the policy that the pod is in, if no policy before takes it."""
    for split in draft.splits:
        if split.policy and (name := split.of(thing)) is not None:
            return name if split is wanted else None
    return None


def _warn_of_gang(draft: Draft, split: Split, world: World, why: str) -> None:
    world.ledger.warn(
        draft.title, f"{split.path}.minSubGroups",
        f"{why}: that is not used yet, the group's own minimum counts",
    )  # fmt: skip


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
