"""What a group and its subgroups ask of topologies, once its pods are known."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...models import PodState, Reason, Subgroup, TopologyRequest
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
    """Minima of those."""
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
        parts = list(_parts(draft, thing))
        if thing.key in slices:
            parts.append(slices[thing.key])
        for name, wish in parts:
            if name not in requests:
                request = _resolved(wish, draft, world, out)
                if request is None:
                    continue
                requests[name] = request
            names.append(name)
        if names:
            out.subgroups_of[thing.key] = tuple(dict.fromkeys(names))
    running = {c.thing.key for c in pods if c.state is PodState.RUNNING}
    _minima(draft, [c.thing for c in pods], running, world, out)
    _choose(draft, [c.thing for c in pods], running, world)
    out.subgroups = tuple(Subgroup(name, request) for name, request in sorted(requests.items()))
    return out


def _minima(
    draft: Draft, things: Sequence[Thing], running: set[str], world: World, out: Placement
) -> None:
    """Let subgroups that the group needs be roles with a minimum each.

    That says it all where every subgroup of a policy is needed. Where the group needs some of many,
    those of which most runs, and then most is there, are the ones, and a warning names them.
    """
    needed = [s for s in draft.splits if s.policy and s.least and s.size * s.least > 0]
    if not needed or draft.minimum >= len(things):
        return
    roles: dict[str, str] = {}
    minima: dict[str, int] = {}
    for split in needed:
        members = {t.key: name for t in things if (name := _policy_of(draft, split, t))}
        names = sorted(set(members.values()))
        lacking = [f"{split.name} {i}" for i in range(len(names), split.least)]
        if split.least < len(names):
            names = _most_begun(members, running, split)
            said = ", ".join(names)
            world.ledger.warn(
                draft.title, f"{split.path}.minSubGroups",
                f"needs some of its subgroups, whichever they are; for this plan they are {said}",
            )  # fmt: skip
        roles |= {key: name for key, name in members.items() if name in names}
        minima |= dict.fromkeys((*names, *lacking), split.size)
    of_role: dict[str, set[str]] = {}
    for t in things:
        of_role.setdefault(role_of(t), set()).add(roles.get(t.key, ""))
    if draft.roles:
        if any(len(s) > 1 for s in of_role.values()) or len(of_role) != len(
            {r for s in of_role.values() for r in s}
        ):
            _warn_of_gang(draft, needed[0], world, "cuts across the tasks of minTaskMember")
            return
        for role, (name,) in ((r, tuple(s)) for r, s in of_role.items()):
            least = draft.roles.get(role, 0)
            if name and least < minima[name]:
                draft.roles[role] = minima[name]
        return
    out.roles, out.minima = roles, minima


def _choose(draft: Draft, things: Sequence[Thing], running: set[str], world: World) -> None:
    """Keep the minima of those of KAI's subgroups that the group needs, and say which they are."""
    if draft.tree is None:
        return
    there = Counter(role_of(t) for t in things)
    runs = Counter(role_of(t) for t in things if t.key in running)
    draft.roles, where = draft.tree.chosen(there, runs)
    if not draft.roles:
        draft.minimum = 0
    said = ", ".join(sorted(draft.roles))
    for path in where:
        world.ledger.warn(
            draft.title, path,
            f"needs some of its subgroups, whichever they are; for this plan it needs {said}",
        )  # fmt: skip


def _most_begun(members: Mapping[str, str], running: set[str], split: Split) -> list[str]:
    """Return as many subgroups as are needed: those that are nearest to their size."""
    there = Counter(members.values())
    begun = Counter(name for key, name in members.items() if key in running)
    size = split.size
    best = sorted(there, key=lambda n: (-min(begun[n], size), -min(there[n], size), n))
    return sorted(best[: split.least])


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
