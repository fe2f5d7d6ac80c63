"""Condition PodScheduled of pods that wait: written when the reason changes, not each cycle.

The words of a message change from cycle to cycle: as long as the same rules speak against the pod,
it is written again after a while only; a change that would start it is added at once, the first
time that one is known. Pods with scheduling gates have this condition from the API
server already.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ...models import PodKey, Snapshot
from ..kubernetes.times import stamp
from .verdicts import Verdict
from .write import STRATEGIC, Write

REFRESH_S = 60
"""A message that has changed while the reason has not is written again after this long."""
MOST = 500
"""Conditions that are written in one cycle; the rest follows in the next ones."""


@dataclass(frozen=True, slots=True)
class _Told:
    uid: str
    key: tuple[str, tuple[tuple[str, str], ...]]
    message: str
    at_s: int
    advised: bool
    """Whether it was ever told, for this key, what would start it."""


@dataclass(slots=True)
class PodConditions:
    """What each pod was told last; nothing of it outlives the process.

    Whoever starts anew takes a pod that bears the right reason as told, so that a restart does not
    write to every pod that waits.
    """

    _told: dict[PodKey, _Told] = field(default_factory=dict)

    def due(
        self,
        verdicts: Iterable[Verdict],
        snapshot: Snapshot,
        reason_of: Callable[[PodKey], str | None],
    ) -> list[tuple[PodKey, Write]]:
        """Return the conditions to be written now, at most ``MOST``, and take them as told.

        ``reason_of`` says which reason the pod's condition bears; None: it has no such condition.
        """
        out: list[tuple[PodKey, Write]] = []
        waiting: dict[PodKey, _Told] = {}
        now_s = snapshot.taken_at_s
        for v in verdicts:
            key = v.key
            for pod_key in v.pods:
                pod = snapshot.pods_by_key[pod_key]
                told = self._told.get(pod_key)
                same = told is not None and told.uid == pod.uid and told.key == key
                was = same and told is not None and told.advised
                wanted = _Told(pod.uid, key, v.message, now_s, was or bool(v.advice))
                if same and told is not None and _is_enough(told, wanted):
                    waiting[pod_key] = told
                    continue
                reason = reason_of(pod_key)
                if told is None and reason == v.reason and not v.advice:
                    waiting[pod_key] = wanted
                elif len(out) < MOST:
                    waiting[pod_key] = wanted
                    since_s = None if reason is not None else now_s
                    out.append((pod_key, _write(pod_key, pod.uid, v, since_s)))
                elif told is not None:
                    waiting[pod_key] = told
        self._told = waiting
        return out

    def forget(self, pod: PodKey) -> None:
        """Take the pod as not told: what was written to it did not arrive."""
        self._told.pop(pod, None)


def _is_enough(told: _Told, wanted: _Told) -> bool:
    """Say whether what was told is near enough to what is so."""
    if wanted.advised and not told.advised:
        return False
    return told.message == wanted.message or wanted.at_s - told.at_s < REFRESH_S


def _write(key: PodKey, uid: str, verdict: Verdict, since_s: int | None) -> Write:
    """Return the request; without ``since_s`` the time of the condition stays as it is."""
    namespace, _, name = key.partition("/")
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": verdict.reason,
        "message": verdict.message,
    }
    if since_s is not None:
        condition["lastTransitionTime"] = stamp(since_s)
    return Write(
        "PATCH",
        f"/api/v1/namespaces/{namespace}/pods/{name}/status",
        {"metadata": {"uid": uid}, "status": {"conditions": [condition]}},
        f"Pod {key}",
        STRATEGIC,
    )
