"""Groups: which pods belong together, and what the group is once its pods are known."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from ...models import Amounts, Group, Pod, PodState
from ..paths import below
from .drafts import FINISHED, Draft, replica_of
from .ends import end_of
from .faults import Ledger
from .group_topology import Placement, placement_of
from .membership import Dialect, Reference, references
from .meta import Thing
from .options import ReadOptions
from .owned import count, owned_groups, set_minimum
from .owners import MIN_MEMBER, Owners
from .pods import Candidate, go_bool, is_preemptable, pod_of, role_of, user_of
from .queue_names import QueueNames
from .schedulers import scheduler_asked_by
from .times import seconds_of
from .volcano_jobs import drop_default_roles
from .world import World

_KAI_NON_PREEMPTIBLE = 100
_GANG_GROUPS = "gang.scheduling.koordinator.sh/groups"
_KAI_LABEL = "kai.scheduler/preemptibility"
_VOLCANO = "volcano"
"""What Volcano's scheduler is called by default."""
_STALE = "kai.scheduler/stale-podgroup-timestamp"
_COUNTED_KEYS = ("count/", "requests.")


@dataclass(slots=True)
class Members:
    """A group on the way to be built: its draft and the pods that named it."""

    draft: Draft
    pods: list[Candidate] = field(default_factory=list)


class Grouping:
    """Puts pods into groups."""

    def __init__(
        self,
        drafts: Iterable[Draft],
        aliases: Mapping[tuple[str, str], Draft],
        owners: Owners,
        ledger: Ledger,
        options: ReadOptions,
    ) -> None:
        self._options = options
        self._owners = owners
        self._ledger = ledger
        self._aliases = aliases
        self._declared: dict[tuple[Dialect, str, str], Draft] = {}
        self._groups: dict[str, Members] = {}
        self._foreign: set[str] = set()
        for draft in sorted(drafts, key=lambda d: (d.dialect or 0, d.key)):
            self._declare(draft)

    def _declare(self, draft: Draft) -> None:
        dialect = draft.dialect or Dialect.VOLCANO
        self._declared[dialect, draft.namespace, draft.name] = draft
        first = self._groups.setdefault(draft.key, Members(draft)).draft
        if first is not draft:
            self._ledger.warn(
                draft.title,
                "metadata.name",
                f"the {_told(first)} of the same name takes precedence over the {_told(draft)}",
            )

    def place(self, candidates: Iterable[Candidate]) -> list[Members]:
        """Return the groups that are ours; foreign pods only mark the groups they are in."""
        plain: list[Candidate] = []
        for c in sorted(candidates, key=lambda c: c.thing.key):
            refs = list(references(c.thing))
            if not refs:
                plain.append(c)
                continue
            draft = self._named(c.thing.namespace, refs, c.ours)
            if c.ours and draft is not None:
                self._groups.setdefault(draft.key, Members(draft)).pods.append(c)
            elif draft is not None:
                self._foreign.add(draft.key)
        self._place_plain([c for c in plain if c.ours])
        return [m for key, m in sorted(self._groups.items()) if self._is_ours(key, m)]

    def _named(self, namespace: str, refs: list[Reference], ours: bool) -> Draft | None:
        """Return the first group that exists; for our pods the first named one is made up else."""
        for ref in refs:
            draft = self._declared.get((ref.dialect, namespace, ref.name))
            if draft is None and ref.dialect is Dialect.VOLCANO:
                draft = self._aliases.get((namespace, ref.name))
            if draft is None and ref.template:
                draft = self._replica(namespace, ref)
            if draft is None and ref.minimum is not None and ours:
                draft = self._light(namespace, ref)
            if draft is not None:
                return self._groups.setdefault(draft.key, Members(draft)).draft
        return self._missing(namespace, refs[0]) if ours else None

    def _replica(self, namespace: str, ref: Reference) -> Draft | None:
        template = self._declared.get((ref.dialect, namespace, ref.template or ""))
        if template is None:
            return None
        draft = replica_of(template, ref.name)
        self._declared[ref.dialect, namespace, ref.name] = draft
        return draft

    def _light(self, namespace: str, ref: Reference) -> Draft:
        """Return the group that labels alone declare; the largest minimum of its pods counts."""
        draft = self._groups.setdefault(
            f"{namespace}/{ref.name}", Members(Draft(namespace, ref.name, "Pod", ref.dialect))
        ).draft
        minimum = count(ref.minimum or "")
        if minimum is None and not draft.hold:
            wrong = f"{ref.said_by} {ref.minimum!r} is no whole number; correct it"
            draft.held("gang", wrong)
        elif minimum is not None and draft.thing is None:
            draft.minimum = max(draft.minimum, minimum)
        return draft

    def _missing(self, namespace: str, ref: Reference) -> Draft:
        key = f"{namespace}/{ref.name}"
        if key in self._groups:
            return self._groups[key].draft
        draft = Draft(namespace, ref.name, "PodGroup", ref.dialect)
        message = f"{draft.title} not found; create it, or take its name off the pods"
        if self._ledger.refused(draft.title):
            message = f"{draft.title} is in the input, but was rejected; correct it"
        draft.held("gang", message)
        self._groups[key] = Members(draft)
        return draft

    def _place_plain(self, pods: list[Candidate]) -> None:
        """Put pods without a group into their owner's, else each into one of its own."""
        owned, singles = owned_groups(pods, self._owners, self._free, self._ledger)
        for draft, members in owned:
            self._groups[draft.key] = Members(draft, members)
        for c in singles:
            if c.finished:
                self._ledger.counted["Pod (finished)"] += 1
                continue
            thing = c.thing
            draft = Draft(
                thing.namespace,
                self._free(thing.namespace, "Pod", thing.name),
                "Pod",
                created_s=thing.created_s,
                implicit=True,
                preemptable=None if is_preemptable(thing) else False,
            )
            if MIN_MEMBER in thing.annotations:
                set_minimum(draft, thing.annotations[MIN_MEMBER], self._ledger)
            self._groups[draft.key] = Members(draft, [c])

    def _free(self, namespace: str, kind: str, name: str) -> str:
        """Return a group name that no other group has; ``/`` is in no object's name."""
        while f"{namespace}/{name}" in self._groups:
            name = f"{kind}/{name}"
        return name

    def _is_ours(self, key: str, members: Members) -> bool:
        """Say whether the group is ours: its pods say so, with none yet its owner."""
        draft = members.draft
        if members.pods:
            return True
        if key in self._foreign:
            self._ledger.counted[f"{draft.source} (foreign)"] += 1
            return False
        if draft.dialect is Dialect.VOLCANO and draft.phase not in FINISHED:
            if self._is_asked_of_us(draft):
                return True
            self._ledger.counted[f"{draft.source} (foreign)"] += 1
            return False
        self._ledger.counted[f"{draft.source} (without pods)"] += 1
        return False

    def _is_asked_of_us(self, draft: Draft) -> bool:
        """Say whether a Volcano group without pods is to be let in by us.

        In a running cluster a group for which nobody speaks is left to Volcano: a group must not
        have two schedulers.
        """
        names = self._options.scheduler_names
        asked = scheduler_asked_by(self._owners.of(draft.namespace, draft.owner))
        if asked is None:
            return not self._options.live or _VOLCANO in names
        return asked in names


def _told(draft: Draft) -> str:
    group = draft.thing.group if draft.thing is not None else ""
    return f"{draft.source} of {group}" if group else draft.source


def build(
    members: Iterable[Members], names: QueueNames, owners: Owners, world: World
) -> tuple[list[Group], list[Pod]]:
    """Return the groups and their pods."""
    groups: list[Group] = []
    pods: list[Pod] = []
    for m in members:
        placed = placement_of(m.draft, m.pods, owners, world)
        group = _group(m, names, owners, world, placed)
        groups.append(group)
        made = (
            pod_of(
                c, group.key, world, placed.subgroups_of.get(c.thing.key, ()),
                placed.roles.get(c.thing.key),
                end_of(c, m.draft.thing, owners, world) if c.state is PodState.RUNNING else None,
            )
            for c in m.pods
        )  # fmt: skip
        nodes, queue = world.queue_nodes, group.queue
        if queue in nodes.places:
            made = (replace(p, spec=nodes.narrowed(p.spec, queue)) for p in made)
        pods.extend(made)
    return groups, pods


def _group(m: Members, names: QueueNames, owners: Owners, world: World, placed: Placement) -> Group:
    draft, things = m.draft, [c.thing for c in m.pods]
    _settle_roles(draft, things)
    askers = ([draft.thing] if draft.thing is not None else []) + things
    if not draft.thing and things:
        askers += owners.chain(things[0])
    priority, may_preempt = _priority(m, askers, world)
    _warn_of_gang_groups(draft, askers, world)
    waiting = draft.dialect is Dialect.VOLCANO and not m.pods
    asked = draft.min_resources
    return Group(
        namespace=draft.namespace,
        name=draft.name,
        queue=names.chosen(draft.queue, askers, draft.namespace),
        minimum=draft.minimum,
        role_minimum=dict(
            sorted((draft.roles if placed.minima is None else placed.minima).items())
        ),
        choices=draft.choices + placed.choices,
        priority=priority,
        preemptable=_preemptable(draft, things, askers, priority),
        may_preempt=may_preempt,
        created_s=_created(draft, things, world),
        min_resources=None
        if asked is None
        else Amounts({r: v for r, v in asked.items() if not r.startswith(_COUNTED_KEYS)}),
        min_limits=Amounts(draft.min_limits) if draft.min_limits else None,
        admitted=waiting and draft.phase == "Inqueue",
        asks_admission=waiting and draft.phase in ("", "Pending") and asked is not None,
        implicit=draft.implicit,
        broken_since_s=_broken_since(draft),
        source=draft.source,
        user=_user(draft, things),
        topology=placed.whole,
        subgroups=placed.subgroups,
        hold=tuple(sorted({*draft.hold, *placed.hold, *names.stop(askers)})),
    )


def _warn_of_gang_groups(draft: Draft, askers: list[Thing], world: World) -> None:
    """Say that gangs which name each other are not started together."""
    asker = next((t for t in askers if t.annotations.get(_GANG_GROUPS)), None)
    if asker is not None and asker.annotations[_GANG_GROUPS].count(",") > 0:
        said = "names several gangs, which are not started together here; make one gang of them"
        world.ledger.warn_once(draft.title, below("metadata.annotations", _GANG_GROUPS), said)


def _settle_roles(draft: Draft, things: list[Thing]) -> None:
    if not draft.roles:
        return
    by_role: dict[str, int] = {}
    for thing in things:
        role = role_of(thing)
        by_role[role] = by_role.get(role, 0) + 1
    drop_default_roles(draft, by_role)


def _priority(m: Members, askers: list[Thing], world: World) -> tuple[int, bool]:
    """Return the group's priority, and whether it may evict others."""
    draft, alive = m.draft, [c for c in m.pods if not c.finished] or m.pods
    may = all(c.priority.may_preempt for c in alive)
    if world.options.queues_from == "kueue":
        of_kueue = world.priorities.of_workload(askers)
        if of_kueue is not None:
            return of_kueue, may
    if draft.priority_class:
        named = world.priorities.named(draft.priority_class, draft.title)
        if named is not None:
            value = named.value if draft.priority is None else draft.priority
            return value, may and named.may_preempt
    if draft.priority is not None:
        return draft.priority, may
    if alive:
        return max(c.priority.value for c in alive), may
    return world.priorities.default.value, world.priorities.default.may_preempt


def _preemptable(draft: Draft, things: list[Thing], askers: list[Thing], priority: int) -> bool:
    if draft.preemptable is not None:
        return draft.preemptable
    if draft.dialect is Dialect.KAI:
        said = {t.labels.get(_KAI_LABEL) for t in things}
        if "non-preemptible" in said:
            return False
        return "preemptible" in said or priority < _KAI_NON_PREEMPTIBLE
    written = draft.thing.note("volcano.sh/preemptable") if draft.thing is not None else None
    if written is not None:
        return go_bool(written) is not False
    # KAI makes its PodGroups of what the workload says, else its pods.
    word = next((v for t in askers if (v := t.note(_KAI_LABEL))), None)
    return word not in ("non-preemptible", "semi-preemptible")


def _created(draft: Draft, things: list[Thing], world: World) -> int:
    if draft.created_s is not None:
        return draft.created_s
    known = [t.created_s for t in things if t.created_s is not None]
    return min(known, default=world.taken_at_s)


def _broken_since(draft: Draft) -> int | None:
    written = draft.thing.annotations.get(_STALE) if draft.thing is not None else None
    try:
        return seconds_of(written) if written else None
    except ValueError:
        return None


def _user(draft: Draft, things: list[Thing]) -> str:
    askers = ([draft.thing] if draft.thing is not None else []) + things
    return next((u for t in askers if (u := user_of(t.labels, t.annotations))), "")


def foreign_pods(candidates: Iterable[Candidate], world: World) -> list[Pod]:
    """Return the foreign pods that hold or were promised a node; count the others."""
    out: list[Pod] = []
    for c in candidates:
        if c.ours:
            continue
        status = c.thing.body.status
        promised = status is not None and status.nominated_node_name
        if c.finished:
            world.ledger.counted["Pod (finished)"] += 1
        elif c.waits and not promised:
            world.ledger.counted["Pod (foreign, pending)"] += 1
        else:
            out.append(pod_of(c, None, world))
    return out
