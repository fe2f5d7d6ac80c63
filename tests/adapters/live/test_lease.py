"""Who may write, and until when."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from apportion.adapters.live.access import LostError, RefusedError
from apportion.adapters.live.lease import LASTS_S, MARGIN_S, Lease, LeaseName


class LeaseServer:
    """Keeps one Lease, with optimistic locking."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.down = False

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        self._up()
        if self.lease is None:
            raise RefusedError(404, "NotFound")
        return json.dumps(self.lease).encode()

    async def send(self, method: str, path: str, body: Any = None, **_: Any) -> bytes:
        self._up()
        if method == "POST" and self.lease is not None:
            raise RefusedError(409, "AlreadyExists")
        if method == "PUT" and body["metadata"].get("resourceVersion") != str(self.version):
            raise RefusedError(409, "Conflict")
        self.version += 1
        meta = {**body["metadata"], "resourceVersion": str(self.version)}
        self.lease = {**body, "metadata": meta}
        return b"{}"

    async def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        raise NotImplementedError
        yield b""

    def _up(self) -> None:
        if self.down:
            raise LostError("down")


class Clock:
    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def lease(server: LeaseServer, clock: Clock, who: str) -> Lease:
    return Lease(server, LeaseName("ns", "apportion", who), clock, lambda: clock.s + 1e9)


def step(*leases: Lease) -> None:
    for one in leases:
        asyncio.run(one.step())


def test_the_first_takes_the_lease_and_the_second_waits() -> None:
    server, clock = LeaseServer(), Clock()
    a, b = lease(server, clock, "a"), lease(server, clock, "b")

    step(a, b)

    assert (a.is_held, b.is_held) == (True, False)
    assert b.holder == "a"


def test_a_holder_that_renews_keeps_it() -> None:
    server, clock = LeaseServer(), Clock()
    a, b = lease(server, clock, "a"), lease(server, clock, "b")

    for _ in range(20):
        step(a, b)
        clock.s += 2

    assert (a.is_held, b.is_held) == (True, False)


def test_a_holder_stops_writing_well_before_another_may_take_over() -> None:
    server, clock = LeaseServer(), Clock()
    a, b = lease(server, clock, "a"), lease(server, clock, "b")
    step(a, b)

    clock.s += LASTS_S - MARGIN_S
    step(b)

    assert not a.is_held
    assert not b.is_held
    clock.s += MARGIN_S
    step(b)
    assert b.is_held
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 1


def test_a_server_that_is_down_leaves_the_holder_what_is_left_of_its_time() -> None:
    server, clock = LeaseServer(), Clock()
    a = lease(server, clock, "a")
    step(a)
    server.down = True

    clock.s += 2
    step(a)
    assert a.is_held

    clock.s += LASTS_S
    step(a)
    assert not a.is_held
    assert not a.gained.is_set()


def test_a_holder_that_was_overtaken_learns_of_it_and_does_not_take_it_back() -> None:
    server, clock = LeaseServer(), Clock()
    a, b = lease(server, clock, "a"), lease(server, clock, "b")
    step(a, b)
    clock.s += LASTS_S
    step(b)

    step(a)

    assert (a.is_held, b.is_held) == (False, True)


def test_a_lease_that_is_handed_back_is_taken_at_once() -> None:
    server, clock = LeaseServer(), Clock()
    a, b = lease(server, clock, "a"), lease(server, clock, "b")
    step(a, b)

    asyncio.run(a.release())
    step(b)

    assert (a.is_held, b.is_held) == (False, True)


class Crossed(LeaseServer):
    """Answers a moment after it has read; once, another write comes in between."""

    is_crossed = False

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        read = await super().get(path, params)
        await asyncio.sleep(0)
        if self.is_crossed and self.lease is not None:
            self.is_crossed = False
            await self.send("PUT", path, self.lease)
        return read


def test_a_renewal_that_is_under_way_does_not_take_back_what_is_handed_back() -> None:
    server, clock = Crossed(), Clock()
    a, b = lease(server, clock, "a"), lease(server, clock, "b")
    step(a, b)

    async def release() -> None:
        renewing = asyncio.create_task(a.step())
        await asyncio.sleep(0)
        await a.release()
        await renewing
        await a.step()

    asyncio.run(release())
    step(b)

    assert (a.is_held, b.is_held) == (False, True)


def test_a_lease_is_handed_back_though_a_renewal_has_come_in_between() -> None:
    server, clock = Crossed(), Clock()
    a, b = lease(server, clock, "a"), lease(server, clock, "b")
    step(a, b)
    server.is_crossed = True

    asyncio.run(a.release())
    step(b)

    assert not server.is_crossed
    assert (a.is_held, b.is_held) == (False, True)


def test_what_another_holds_is_left_to_it() -> None:
    server, clock = LeaseServer(), Clock()
    a, b = lease(server, clock, "a"), lease(server, clock, "b")
    step(a, b)

    asyncio.run(b.release())

    assert server.lease is not None
    assert server.lease["spec"]["holderIdentity"] == "a"


def test_clocks_that_disagree_change_nothing() -> None:
    """What counts is how long the object has stood still, not the times in it."""
    server, clock = LeaseServer(), Clock()
    a = lease(server, clock, "a")
    b = Lease(server, LeaseName("ns", "apportion", "b"), clock, lambda: 5e9)
    step(a)

    clock.s += 2
    step(b)

    assert not b.is_held
