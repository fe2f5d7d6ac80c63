"""Leader election by a Lease: one replica writes at a time, and knows for how long it may.

A holder stops writing before its lease could be taken by another: what it may rely on is its own
clock since the last renewal that the server confirmed, never the times in the object. A follower
takes over when it has watched the object stand still for as long as the lease lasts. On a clean
end the lease is handed back, so that a successor need not wait.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from ..kubernetes.times import stamp
from .access import Api, LostError, RefusedError

LASTS_S = 15
RENEW_S = 2.0
TRIES = 3
"""So often it is tried to hand the lease back while a renewal that was under way arrives."""
NOTE = "apportion.dev/last-cycle"
"""Annotation of the Lease: what the holder did last, as JSON; ``apportion status`` shows it."""
MARGIN_S = 5.0
"""Writing ends so long before the lease does: longer than any request that was begun may take."""


@dataclass(frozen=True, slots=True)
class LeaseName:
    """Which Lease, and who we are in it."""

    namespace: str
    name: str
    identity: str

    @property
    def path(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"


class Lease:
    """The lease as this replica sees it."""

    def __init__(
        self,
        api: Api,
        name: LeaseName,
        now_s: Callable[[], float],
        wall_s: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        lasts_s: int = LASTS_S,
        note: Callable[[], str] = lambda: "",
    ) -> None:
        self._api = api
        self._name = name
        self._now_s = now_s
        self._wall_s = wall_s
        self._sleep = sleep
        self._lasts_s = lasts_s
        self._note = note
        self._until_s: float | None = None
        self._seen: tuple[str, str] | None = None
        self._seen_s = 0.0
        self._is_over = False
        self.holder = ""
        """Who held it when it was last looked at."""
        self.gained = asyncio.Event()

    @property
    def is_held(self) -> bool:
        """Whether this replica may write now."""
        return self._until_s is not None and self._now_s() < self._until_s

    async def run(self) -> None:
        """Renew or wait for the lease, until cancelled."""
        while True:
            await self.step()
            await self._sleep(RENEW_S)

    async def step(self) -> None:
        """Look once: renew what we hold, take what is free; errors of the server change nothing."""
        if self._is_over:
            return
        asked_s = self._now_s()
        try:
            held = await self._acquire()
        except (LostError, RefusedError, msgspec.DecodeError):
            held = None
        if held:
            self._until_s = asked_s + self._lasts_s - MARGIN_S
            self.gained.set()
        elif held is False or not self.is_held:
            self._until_s = None
            self.gained.clear()

    async def release(self) -> None:
        """Hand the lease back, if it is ours, and take it no more."""
        self._is_over = True
        self._until_s = None
        self.gained.clear()
        if self.holder != self._name.identity:
            return
        for _ in range(TRIES):
            try:
                await self._hand_back()
            except RefusedError as e:
                if e.status == 409:
                    continue
            except (LostError, msgspec.DecodeError):
                pass
            return  # what was not handed back runs out by itself

    async def _hand_back(self) -> None:
        lease = await self._read()
        spec = {} if lease is None else lease.get("spec") or {}
        if lease is not None and spec.get("holderIdentity") == self._name.identity:
            lease["spec"] = {**spec, "holderIdentity": "", "leaseDurationSeconds": 1}
            await self._put(lease)

    async def _acquire(self) -> bool:
        """Return whether the lease is ours now."""
        lease = await self._read()
        me = self._name.identity
        if lease is None:
            spec = self._spec(None, 0)
            body = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"namespace": self._name.namespace, "name": self._name.name},
                "spec": spec,
            }
            await self._api.send("POST", self._name.path, body)
            self.holder = me
            return True
        spec = lease.get("spec") or {}
        self.holder = str(spec.get("holderIdentity") or "")
        state = (self.holder, str(spec.get("renewTime")))
        if state != self._seen:
            self._seen, self._seen_s = state, self._now_s()
        lasts_s = float(spec.get("leaseDurationSeconds") or self._lasts_s)
        taken = self.holder not in ("", me)
        if self._is_over or (taken and self._now_s() - self._seen_s < lasts_s):
            return False
        changes = int(spec.get("leaseTransitions") or 0)
        same = self.holder == me
        lease["spec"] = self._spec(spec if same else None, changes if same else changes + 1)
        if note := self._note():
            notes = lease["metadata"].get("annotations") or {}
            lease["metadata"]["annotations"] = {**notes, NOTE: note}
        await self._put(lease)
        self.holder = me
        return True

    def _spec(self, before: dict[str, Any] | None, changes: int) -> dict[str, Any]:
        moment = stamp(self._wall_s(), fine=True)
        return {
            "holderIdentity": self._name.identity,
            "leaseDurationSeconds": self._lasts_s,
            "acquireTime": (before or {}).get("acquireTime") or moment,
            "renewTime": moment,
            "leaseTransitions": changes,
        }

    async def _read(self) -> dict[str, Any] | None:
        try:
            body = await self._api.get(f"{self._name.path}/{self._name.name}")
        except RefusedError as e:
            if e.status == 404:
                return None
            raise
        return msgspec.json.decode(body, type=dict[str, Any])

    async def _put(self, lease: dict[str, Any]) -> None:
        await self._api.send("PUT", f"{self._name.path}/{self._name.name}", lease)
