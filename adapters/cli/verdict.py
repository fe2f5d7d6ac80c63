"""The verdict of an explanation in a sentence, as every page of it begins."""

from ..ask.explain import By, Explanation

_HELD: dict[By, str] = {
    "hold": "something about it or its queue keeps it from starting, whatever is free",
    "rules": "it could not start if it came first and all that may be evicted were gone",
    "order": "it could start alone, but other work has the better claim",
}
_ROOM = "there is room for it, which this plan did not find in the time it had"
_STATES = {"runs": "runs", "starts": "starts now", "promised": "is promised a place"}


def verdict_of(found: Explanation) -> str:
    """Return why the group waits, or what becomes of it where it does not."""
    if not found.held_by:
        return _STATES.get(found.state.state, "has nothing that waits")
    return _ROOM if has_room(found) else _HELD[found.held_by]


def no_change_says(found: Explanation, *, tried: bool) -> str:
    """Return a sentence where changes were tried and none starts the group, else nothing."""
    if not tried or found.changes or not found.held_by or not found.state.waiting:
        return ""
    if has_room(found):
        return ""
    rest = "" if found.left_out else "; several at once were not tried"
    return f"No single change that was tried would start it{rest}."


def has_room(found: Explanation) -> bool:
    """Say whether nothing stands before the group, though the plan lets it wait."""
    return found.order is not None and found.order.room
