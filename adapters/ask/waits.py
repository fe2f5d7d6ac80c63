"""Waiting until running groups end, where that is known: how long, and for whom, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...models import End, EndBy, GroupKey, Snapshot
from ...models.edit_wait import known_ends
from ...models.edits import Edit, Wait
from ...models.end import span

if TYPE_CHECKING:
    from .change import Change

_BY = {
    EndBy.DEADLINE: "by its deadline",
    EndBy.MAX_EXEC_TIME: "by its maximum execution time",
    EndBy.RUNTIME: "as its annotation says",
}


@dataclass(frozen=True, slots=True)
class Waits:
    """The moments at which running groups are known to end, the next one first."""

    now_s: int
    ends: Mapping[GroupKey, End]
    moments: Sequence[int]
    """Seconds since 1970, each once; what should have ended already ends at any moment."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Waits":
        ends, now_s = known_ends(snapshot), snapshot.taken_at_s
        return cls(now_s, ends, sorted({max(now_s, e.at_s) for e in ends.values()}))

    def until(self, n: int) -> list[Edit]:
        """Return the edit that waits for the first n moments."""
        return [Wait(self.moments[n - 1] - self.now_s)]

    def told(self, change: "Change") -> "Change":
        """Return the change in words that name who ends."""
        (edit,) = change.edits
        assert isinstance(edit, Wait)
        return replace(change, says=self.says(edit))

    def says(self, edit: Wait) -> str:
        """Tell the wait by the group that ends last: ``wait until group a/b ends, in ...``."""
        key, others = self._last(edit)
        more = f"; {others} other group{'s end' if others > 1 else ' ends'} before it"
        return f"wait until group {key} ends, {self._when(edit)}{more if others else ''}"

    def says_briefly(self, edit: Wait) -> str:
        """Tell the same so that it stays true: by a moment, not by how long it takes."""
        key, _ = self._last(edit)
        moment = datetime.fromtimestamp(self.now_s + edit.seconds, UTC)
        by = _BY[self.ends[key].by]
        return f"when group {key} ends {by}, {moment:%Y-%m-%d %H:%M:%S} UTC"

    def _when(self, edit: Wait) -> str:
        by = _BY[self._ended(edit)[self._last(edit)[0]].by]
        if not edit.seconds:
            return f"at any moment, {by}"
        if all(e.is_certain for e in self._ended(edit).values()):
            return f"in {span(edit.seconds)} at the latest, {by}"
        return f"in about {span(edit.seconds)}, {by}"

    def _last(self, edit: Wait) -> tuple[GroupKey, int]:
        """Return the group that ends last, and how many others end by then."""
        ended = self._ended(edit)
        return max(ended, key=lambda k: (ended[k].at_s, k)), len(ended) - 1

    def _ended(self, edit: Wait) -> Mapping[GroupKey, End]:
        until_s = self.now_s + edit.seconds
        return {k: e for k, e in self.ends.items() if e.at_s <= until_s}
