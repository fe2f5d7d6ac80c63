"""Evictions: a set of victims goes whole or not at all, as far as the server lets us say so.

Every victim of a set is tried with ``dryRun=All`` first; one refusal, and nobody of the set is
evicted. A later 429 (a budget that changed in between) stops the set where it is, and the next
cycle plans with what is left.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...models import Eviction, GroupKey, Pod, PodKey, Snapshot
from .access import Api, LostError, RefusedError


@dataclass(frozen=True, slots=True)
class Refusal:
    """What kept a victim from being evicted, and for whom it should have gone."""

    pod: PodKey
    beneficiaries: frozenset[GroupKey]
    why: str
    retry_after_s: float = 0.0


@dataclass(slots=True)
class Evicted:
    """What became of the evictions of a plan."""

    pods: dict[PodKey, str] = field(default_factory=dict)
    """Uid of each pod whose eviction the server accepted, or that is gone already."""
    refusals: list[Refusal] = field(default_factory=list)
    spared: set[GroupKey] = field(default_factory=set)
    """Groups for which nothing was evicted, since a victim was refused."""


def victim_sets(evictions: Iterable[Eviction]) -> list[list[Eviction]]:
    """Return the evictions in sets that belong together: by group, and by who benefits."""
    sets: list[tuple[set[str], list[Eviction]]] = []
    for e in evictions:
        names = {f"victim {e.group}", *(f"for {g}" for g in e.beneficiaries)}
        touched = [s for s in sets if s[0] & names]
        merged = [x for s in touched for x in s[1]]
        sets = [s for s in sets if not s[0] & names]
        sets.append((names.union(*(s[0] for s in touched)), [*merged, e]))
    return [s[1] for s in sets]


async def evict(api: Api, sets: Sequence[Sequence[Eviction]], snapshot: Snapshot) -> Evicted:
    """Evict the sets; those that share no victim and no beneficiary do not wait for each other."""
    done = Evicted()
    await asyncio.gather(*(_evict_set(api, one, snapshot, done) for one in sets))
    return done


async def _evict_set(
    api: Api, victims: Sequence[Eviction], snapshot: Snapshot, done: Evicted
) -> None:
    pods = [snapshot.pods_by_key[e.pod] for e in victims]
    beneficiaries = frozenset(g for e in victims for g in e.beneficiaries)
    tried = await asyncio.gather(*(_ask(api, p, dry=True) for p in pods))
    refused = [(p, no) for p, no in zip(pods, tried, strict=True) if no is not None]
    if refused:
        done.spared |= beneficiaries
        done.refusals += [Refusal(p.key, beneficiaries, *no) for p, no in refused[:1]]
        return
    stopped = False

    async def one(pod: Pod) -> None:
        nonlocal stopped
        if stopped:
            return
        no = await _ask(api, pod, dry=False)
        if no is None:
            done.pods[pod.key] = pod.uid
        elif not stopped:
            stopped = True
            done.spared.update(beneficiaries)
            done.refusals.append(Refusal(pod.key, beneficiaries, *no))

    await asyncio.gather(*(one(p) for p in pods))


async def _ask(api: Api, pod: Pod, dry: bool) -> tuple[str, float] | None:
    """Return None where the eviction is accepted or nothing is there to evict, else why not."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": pod.namespace, "name": pod.name},
        "deleteOptions": {"preconditions": {"uid": pod.uid}} if pod.uid else {},
    }
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
    try:
        await api.send("POST", path, body, params={"dryRun": "All"} if dry else None)
    except RefusedError as e:
        if e.status == 404 or (e.status == 409 and "uid" in e.message.lower()):
            return None
        return f"evicting pod {pod.key}: {e}", e.retry_after_s or 0.0
    except LostError as e:
        return f"evicting pod {pod.key}: {e}", 0.0
    return None
