"""A change: edits that start a held group; told only after a plan of the copy has shown it."""

from collections.abc import Iterable
from typing import Any, Final

from ...models.edits import Edit
from ...models.value import Value, to_data


class Change(Value, frozen=True, omit_defaults=False):
    """A change that starts the group; it was made on a copy, and the copy planned."""

    kind: str
    edits: tuple[Edit, ...]
    says: str
    starts: bool
    """True: at once; False: once others have left their places."""
    evicts: int
    """How many pods that plan evicts."""
    smallest: bool
    """Proven smallest within its kind."""


class Revised(Change, frozen=True):
    """Takes the place of the change before: a smaller one, or the same, proven smallest."""


def to_rows(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return the changes as plain data."""
    return [
        {
            "kind": c.kind, "says": c.says, "starts": c.starts, "evicts": c.evicts,
            "smallest": c.smallest,
            "edits": [{**to_data(e), "says": str(e)} for e in c.edits],
        }
        for c in changes
    ]  # fmt: skip


Turn = Change | None
"""A change, or the turn of another kind: one that seemed possible does not do."""
OUT: Final = object()
"""Nothing of the kind is left to be tried."""
