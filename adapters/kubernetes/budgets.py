"""PodDisruptionBudgets and ResourceQuotas."""

from collections.abc import Iterable
from typing import Any

from ...models import Budget, Pod, ResourceQuota
from ...models.budget import disruptions_allowed, is_met
from ..paths import below
from . import body_rare as rare
from .body_pod import SelectorBody
from .faults import Faults, Ledger
from .meta import Thing
from .owners import Owners
from .resources import amounts
from .selectors import label_selector
from .shape import shaped

_PREFIXES = ("requests.", "limits.")
_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
_COUNTS = frozenset(
    (
        "pods",
        "services",
        "services.loadbalancers",
        "services.nodeports",
        "configmaps",
        "secrets",
        "resourcequotas",
        "replicationcontrollers",
        "persistentvolumeclaims",
    )
)


def budget_of(
    thing: Thing, pods: Iterable[tuple[Thing, Pod]], owners: Owners, ledger: Ledger
) -> Budget | None:
    """Return the budget; None if it is bad (then rejected).

    The status counts, unless the spec is newer; then it is computed from the pods, and from what
    their controllers ask for.
    """
    body: rare.Budget = thing.body
    spec, status = body.spec or rare.BudgetSpec(), body.status or rare.BudgetStatus()
    faults = Faults()
    selector = None
    if spec.selector is not None:
        shape, found = shaped(spec.selector, SelectorBody)
        faults.extend(found, under="spec.selector")
        selector = label_selector(shape, "spec.selector", faults)
    if spec.min_available is not None and spec.max_unavailable is not None:
        faults.add("spec", "minAvailable and maxUnavailable exclude each other; keep one")
    if faults:
        ledger.reject(thing.title, faults)
        return None
    at_least, at_least_percent = _split(spec.min_available)
    at_most, at_most_percent = _split(spec.max_unavailable)
    budget = Budget(
        namespace=thing.namespace,
        name=thing.name,
        selector=selector,
        allowed=0,
        min_available=at_least,
        min_available_percent=at_least_percent,
        max_unavailable=at_most,
        max_unavailable_percent=at_most_percent,
    )
    covered = [(t, p) for t, p in pods if budget.selects(p)]
    budget = _with(budget, expected=_expected(covered, owners))
    mine = [p for _, p in covered]
    allowed, healthy, desired = (
        status.disruptions_allowed, status.current_healthy, status.desired_healthy
    )  # fmt: skip
    behind = _is_behind(thing, status)
    if allowed is None or behind:
        allowed = disruptions_allowed(budget, mine)
    met = (
        is_met(budget, mine)
        if healthy is None or desired is None or behind
        else healthy >= desired > 0
    )
    return _with(budget, allowed=max(0, allowed), met=met, always_unready=_always(thing, ledger))


def _always(thing: Thing, ledger: Ledger) -> bool:
    """Say whether pods that are not ready may always go."""
    body: rare.Budget = thing.body
    policy = body.spec.unhealthy_pod_eviction_policy if body.spec is not None else None
    if policy not in (None, "IfHealthyBudget", "AlwaysAllow"):
        ledger.warn(
            thing.title, "spec.unhealthyPodEvictionPolicy",
            f"{policy[:40]!r} is neither AlwaysAllow nor IfHealthyBudget, which counts instead; "
            "write one of them",
        )  # fmt: skip
    return policy == "AlwaysAllow"


def _with(budget: Budget, **changed: Any) -> Budget:
    fields = {name: getattr(budget, name) for name in budget.__struct_fields__}
    return Budget(**{**fields, **changed})


def _split(value: int | str | None) -> tuple[int | None, int | None]:
    """Return (count, percent), one of which is None."""
    if isinstance(value, str):
        return None, int(value[:-1])
    return value, None


def _is_behind(thing: Thing, status: rare.BudgetStatus) -> bool:
    seen, now = status.observed_generation, thing.generation
    return seen is not None and now is not None and seen < now


def _expected(covered: list[tuple[Thing, Pod]], owners: Owners) -> int | None:
    """Return how many pods the controllers ask for; pods without a known one count as they are."""
    if not covered:
        return None
    asked: dict[str, int] = {}
    uncounted: dict[str, int] = {}
    for thing, _ in covered:
        scale = owners.scale(thing)
        if scale is not None and scale[1] is not None:
            asked[scale[0]] = scale[1]
        else:
            key = scale[0] if scale is not None else ""
            uncounted[key] = uncounted.get(key, 0) + 1
    return sum(asked.values()) + sum(uncounted.values()) if asked else None


def quota_of(thing: Thing, ledger: Ledger) -> ResourceQuota | None:
    """Return the quota in canonical units by quota key; None if it is bad (then rejected)."""
    body: rare.Quota = thing.body
    spec, status = body.spec or rare.QuotaSpec(), body.status or rare.QuotaStatus()
    faults = Faults()
    hard = _by_key(spec.hard, "spec.hard", faults)
    used = _by_key(status.used, "status.used", faults)
    if faults:
        ledger.reject(thing.title, faults)
        return None
    return ResourceQuota(
        namespace=thing.namespace,
        name=thing.name,
        hard=dict(sorted(hard.items())),
        used={key: used.get(key, 0) for key in sorted(hard)},
        scoped=bool(spec.scopes or spec.scope_selector),
    )


def _by_key(raw: dict[str, Any] | None, path: str, faults: Faults) -> dict[str, int]:
    out: dict[str, int] = {}
    for key, value in (raw or {}).items():
        if value is not None:
            one = Faults()
            out[key] = amounts({_resource_of(key): value}, "", one).get(_resource_of(key), 0)
            for _, message in one.found:
                faults.add(below(path, key), message)
    return out


def _resource_of(key: str) -> str:
    """Return the resource whose units the quota key is counted in."""
    if _STORAGE_CLASS in key:
        key = key.split(_STORAGE_CLASS, 1)[1]
    if key.startswith("count/") or key in _COUNTS:
        return "pods"
    for prefix in _PREFIXES:
        if key.startswith(prefix):
            return key.removeprefix(prefix)
    return key
