"""What becomes of a group that waits, as one reason and one message for people and autoscalers.

A pod whose condition PodScheduled is False for the reason ``Unschedulable`` makes cluster
autoscalers add nodes (they look for that word alone). So only what more nodes would cure is called
so; everything else has a word of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ...models import GroupKey, Plan, PodKey, PodState, Reason, Snapshot

UNSCHEDULABLE = "Unschedulable"
QUEUE_LIMIT = "QueueLimit"
GANG_NOT_READY = "GangNotReady"
NOT_READY = "NotReady"
WAITS_FOR_ROOM = "WaitsForRoom"
WORDS: Mapping[str, str] = {
    UNSCHEDULABLE: "the cluster has no room for it; more nodes would help",
    QUEUE_LIMIT: "its queue, or a quota, has reached its limit, or is not open",
    GANG_NOT_READY: "pods that it needs do not exist yet, or wait for scheduling gates",
    NOT_READY: "a volume, a claim, or something else that it names is not there",
    WAITS_FOR_ROOM: "it is promised a place, once pods that leave are gone from it",
}
"""Every reason, and what it means."""

_CURED_BY_NODES = frozenset(("capacity", "topology", "order", "preemption"))
_WORD_OF_RULE = {
    "quota": QUEUE_LIMIT,
    "queue": QUEUE_LIMIT,
    "admission": QUEUE_LIMIT,
    "storage-quota": QUEUE_LIMIT,
    "gang": GANG_NOT_READY,
    "gates": GANG_NOT_READY,
}
MOST_BYTES = 1024
"""Of a message: what the note of an event may have."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a group, or some of its pods, do not run yet."""

    group: GroupKey
    reason: str
    """One of ``WORDS``."""
    message: str
    pods: tuple[PodKey, ...]
    """Pending pods that it is said of; those with scheduling gates say it themselves."""
    causes: tuple[tuple[str, str], ...] = ()
    """Rules that speak against it, and about what."""
    advice: str = ""
    """What would start it, as the message says at its end; "" where that is not known."""

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What tells it from other verdicts; the words of the message change with each cycle."""
        return self.reason, self.causes


def verdicts_of(plan: Plan, snapshot: Snapshot) -> dict[GroupKey, Verdict]:
    """Return the verdict on every group that is held, or promised places for all that waits."""
    out: dict[GroupKey, Verdict] = {}
    for group, counts in _promised(plan).items():
        pods = tuple(sorted(n.pod for n in plan.nominations if n.group == group))
        where = ", ".join(f"{node} ×{n}" if n > 1 else node for node, n in sorted(counts.items()))
        said = f"promised {where}, once the pods that leave are gone from there"
        out[group] = Verdict(group, WAITS_FOR_ROOM, cut(said), pods)
    known = snapshot.pods_by_key
    for held in plan.held:
        pods = tuple(k for k in held.pods if k in known and known[k].state is PodState.PENDING)
        causes = tuple(sorted({(r.rule, r.about) for r in held.reasons}))
        out[held.group] = Verdict(
            held.group, word_of(held.reasons), message_of(held.reasons), pods, causes
        )
    return out


def advised(verdict: Verdict, says: str) -> Verdict:
    """Return the verdict with a change that starts the group at the end of its message."""
    said = cut(f"; would start {says}", MOST_BYTES // 2)
    message = cut(verdict.message, MOST_BYTES - len(said.encode())) + said
    return replace(verdict, message=message, advice=says)


def _promised(plan: Plan) -> Mapping[GroupKey, Counter[str]]:
    out: dict[GroupKey, Counter[str]] = defaultdict(Counter)
    for n in plan.nominations:
        out[n.group][n.node] += 1
    return out


def word_of(reasons: Iterable[Reason]) -> str:
    """Return the reason in a word: of several what no node would cure."""
    others = [r.rule for r in reasons if r.rule not in _CURED_BY_NODES]
    return _WORD_OF_RULE.get(others[0], NOT_READY) if others else UNSCHEDULABLE


def message_of(reasons: Iterable[Reason]) -> str:
    """Return the reasons as one message, at most ``MOST_BYTES`` long."""
    return cut("; ".join(dict.fromkeys(r.message for r in reasons)))


def cut(text: str, most: int = MOST_BYTES) -> str:
    """Return the text, or its beginning, in at most so many bytes of UTF-8."""
    raw = text.encode()
    if len(raw) <= most:
        return text
    return raw[: most - 3].decode(errors="ignore") + "..."
