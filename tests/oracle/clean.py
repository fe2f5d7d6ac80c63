"""A plan to which nobody rightly objects: follow the objections, and search if that fails."""

from apportion.models import Config, Snapshot
from oracle.envy import each_objection
from oracle.search import STEPS, Found, plans


def clean_plan(snapshot: Snapshot, config: Config, limit: int = STEPS) -> Found | None:
    """Return a legal plan without counting objections, or None if there is none.

    Raises
    ------
    Oversize
        If the enumeration takes more than ``limit`` steps.
    """
    start = next(plans(snapshot, config, limit), None)
    if start is None:
        return None
    found = follow(snapshot, config, start)
    if found is not None:
        return found
    for plan in plans(snapshot, config, limit):
        if next(each_objection(snapshot, config, *plan), None) is None:
            return plan
    return None


def follow(snapshot: Snapshot, config: Config, plan: Found) -> Found | None:
    """Go from plan to plan by the first objection of the lowest item; None: in a circle."""
    seen = set()
    while True:
        places, evicted = plan
        mark = (tuple(sorted(places.items())), evicted)
        if mark in seen:
            return None
        seen.add(mark)
        o = next(each_objection(snapshot, config, places, evicted), None)
        if o is None:
            return plan
        if not o.places and not o.evicted:
            return None
        plan = dict(o.places), o.evicted
