"""The feed against a server in memory: what it does when all is well, and when not."""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.live.access import LostError, RefusedError
from apportion.adapters.live.feed import Feed, Means, Pace
from apportion.adapters.live.mirror import Mirror
from apportion.models import PodKey
from fakes.api_server import FakeApiServer, Fault, event
from kubernetes_objects import node, pod, queue

POD, NODE, QUEUE = ("", "Pod"), ("", "Node"), ("scheduling.volcano.sh", "Queue")
PODS = "/api/v1/pods"
PACE = Pace()


class Bench:
    """A feed on a fake server; nobody sleeps, waits are written down."""

    def __init__(self, server: FakeApiServer, page: int = 1000) -> None:
        self.server = server
        self.mirror = Mirror(ReadOptions())
        self.waited: list[float] = []
        means = Means(self._sleep, lambda: 0.0, random.Random(1))
        self.feed = Feed(server, self.mirror, Pace(page=page), means)

    async def _sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        if seconds == PACE.discover_s:
            await self.discover.wait()
            self.discover.clear()
        await asyncio.sleep(0)

    async def __aenter__(self) -> "Bench":
        self.discover = asyncio.Event()
        """Set to let the feed look for kinds again."""
        self.task = asyncio.create_task(self.feed.run())
        return self

    async def __aexit__(self, *error: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def has(self, kind: tuple[str, str] = POD) -> set[str]:
        return {name for _, name in self.mirror.names(kind)}

    async def until(self, what: Callable[[], bool]) -> None:
        """Let the feed work until something holds; it has a thousand turns for that."""
        for _ in range(1000):
            if what():
                return
            await asyncio.sleep(0)
        raise AssertionError(f"it has {self.has()}, troubles {self.feed.troubles}")

    async def synced(self) -> None:
        await self.until(self.feed.synced.is_set)


def once(path: str, error: Exception, watch: bool | None = None, times: int = 1) -> Fault:
    """Return a fault of the first requests for a path, of watches only or of others only."""
    left = [times]

    def fault(server: FakeApiServer, at: str, params: Mapping[str, str]) -> Exception | None:
        if at != path or not left[0] or watch not in (None, "watch" in params):
            return None
        left[0] -= 1
        return error

    return fault


def filled(*plurals: str, pods: int = 3) -> FakeApiServer:
    server = FakeApiServer(*plurals)
    server.put("nodes", node("n"))
    server.put("pods", *(pod(f"p{i}") for i in range(pods)))
    return server


def test_what_is_there_is_listed_before_synced_is_set(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()

            assert (b.has(), b.has(NODE)) == ({"p0", "p1", "p2"}, {"n"})
            assert len(b.mirror.snapshot(0).pods) == 3
            assert b.feed.troubles == {}

    run(test())


def test_changes_are_followed_and_told(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()
            b.feed.changed.clear()
            b.server.put("pods", pod("p3"), pod("p1", nodeName="n"))
            b.server.delete("pods", "p0", "default")
            await b.until(lambda: b.has() == {"p1", "p2", "p3"})

            assert b.feed.changed.is_set()
            placed = {p.name: p.node for p in b.mirror.snapshot(0).pods}
            assert placed == {"p1": "n", "p2": None, "p3": None}

    run(test())


def test_an_event_that_changes_nothing_that_is_read_wakes_nobody(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()
            b.feed.changed.clear()
            before = b.mirror.version_of(PodKey("default/p1"))
            b.server.put("pods", {**pod("p1"), "unknown": {"deep": [1]}})
            await b.until(lambda: b.mirror.version_of(PodKey("default/p1")) != before)

            assert not b.feed.changed.is_set()

    run(test())


def test_a_long_list_comes_in_pages(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled(pods=25), page=10) as b:
            await b.synced()

            assert len(b.has()) == 25
            assert b.server.count("continue") == 2

    run(test())


def test_a_list_whose_pages_expire_is_begun_again(run: Any) -> None:
    async def test() -> None:
        server, left = filled(pods=25), [1]

        def expire(s: FakeApiServer, path: str, params: Mapping[str, str]) -> None:
            if "continue" in params and left[0]:
                left[0] -= 1
                s.delete("pods", "p0", "default")  # was on the page that was read
                s.compact()

        server.faults.append(expire)
        async with Bench(server, page=10) as b:
            await b.synced()

            assert b.has() == {f"p{i}" for i in range(1, 25)}

    run(test())


def test_a_list_whose_pages_always_expire_is_asked_for_in_one_piece(run: Any) -> None:
    async def test() -> None:
        server = filled(pods=25)

        def expire(s: FakeApiServer, path: str, params: Mapping[str, str]) -> None:
            if "continue" in params:
                s.compact()

        server.faults.append(expire)
        async with Bench(server, page=10) as b:
            await b.synced()

            assert len(b.has()) == 25

    run(test())


def test_a_watch_that_is_cut_goes_on_where_it_was(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()
            await b.until(lambda: b.server.count("watch") == 2)
            lists = b.server.count("limit")
            b.server.cut()
            b.server.put("pods", pod("p3"))
            b.server.delete("pods", "p0", "default")
            await b.until(lambda: b.has() == {"p1", "p2", "p3"})

            assert b.feed.relists == 0
            full = [p for path, p in b.server.asked if path == PODS and p.get("limit") == "1000"]
            assert (len(full), lists) == (1, 2)

    run(test())


def test_after_a_compaction_nothing_deleted_is_left(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()
            await b.until(lambda: b.server.count("watch") == 2)
            b.server.faults.append(once(PODS, LostError("connection refused"), times=4))
            b.server.cut()
            await asyncio.sleep(0)
            b.server.delete("pods", "p0", "default")
            b.server.put("pods", pod("p3"))
            b.server.compact()
            await b.until(lambda: b.has() == {"p1", "p2", "p3"})

            assert b.feed.restarts["pods"] >= 1
            assert b.feed.relists == b.feed.restarts.total()
            await b.until(lambda: not b.feed.troubles)

    run(test())


def test_after_a_backup_was_restored_what_is_there_counts(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled(pods=9)) as b:
            await b.synced()
            await b.until(lambda: b.server.count("watch") == 2)
            b.server.restore(1)
            b.server.put("nodes", node("n"))
            b.server.put("pods", pod("p0"), pod("older"))
            b.server.cut()
            await b.until(lambda: b.has() == {"p0", "older"})
            await b.until(lambda: not b.feed.troubles)

    run(test())


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}), id="expired"
        ),
        pytest.param(event("ERROR", {"kind": "Status", "code": 500}), id="internal error"),
        pytest.param(event("ERROR", {}), id="an error that says nothing"),
        pytest.param(b'{"type": "ADDED", "object": {"metad', id="a line cut in two"),
        pytest.param(b"[]", id="no event"),
        pytest.param(b'{"type": "ADDED", "object": 3}', id="no object"),
        pytest.param(event("TELEPATHY", {"metadata": {}}), id="an event of a later server"),
    ],
)
def test_a_strange_line_loses_nothing(run: Any, line: bytes) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()
            await b.until(lambda: b.server.count("watch") == 2)
            b.server.version += 1
            b.server.tell("pods", line)
            b.server.delete("pods", "p0", "default")
            b.server.put("pods", pod("p3"))
            await b.until(lambda: b.has() == {"p1", "p2", "p3"})
            await b.until(lambda: not b.feed.troubles)

    run(test())


def test_events_told_twice_or_late_do_not_bring_anything_back(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()
            await b.until(lambda: b.server.count("watch") == 2)
            b.server.put("pods", pod("p3"))
            late = pod("p3", meta={"resourceVersion": str(b.server.version)})
            b.server.delete("pods", "p3", "default")
            b.server.tell("pods", event("ADDED", late))
            b.server.put("pods", pod("p4"))
            await b.until(lambda: "p4" in b.has())

            assert b.has() == {"p0", "p1", "p2", "p4"}

    run(test())


def test_bookmarks_move_the_place_from_which_a_watch_goes_on(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()
            await b.until(lambda: b.server.count("watch") == 2)
            b.server.bookmark("pods")
            at = str(b.server.version)
            await asyncio.sleep(0)
            b.server.cut()

            def resumed() -> bool:
                return any(
                    path == PODS and "watch" in p and p["resourceVersion"] == at
                    for path, p in b.server.asked
                )

            await b.until(resumed)

    run(test())


def test_a_busy_server_is_asked_again_after_as_long_as_it_says(run: Any) -> None:
    async def test() -> None:
        server = filled()
        server.faults.append(once(PODS, RefusedError(429, "TooManyRequests", "", 7.0)))
        async with Bench(server) as b:
            await b.synced()

            assert 7.0 in b.waited

    run(test())


def test_waits_grow_and_stay_below_their_longest(run: Any) -> None:
    async def test() -> None:
        server = filled()
        server.faults.append(once(PODS, LostError("connection refused"), times=8))
        async with Bench(server) as b:
            await b.synced()

            waits = [w for w in b.waited if w != PACE.discover_s][:8]
            longest = [min(PACE.longest_wait_s, PACE.first_wait_s * 2**i) for i in range(8)]
            assert all(most / 2 <= w <= most for w, most in zip(waits, longest, strict=True))

    run(test())


def test_without_the_right_to_list_a_kind_it_is_not_synced_and_says_so(run: Any) -> None:
    async def test() -> None:
        server = filled("queues")
        path = "/apis/scheduling.volcano.sh/v1beta1/queues"
        server.faults.append(once(path, RefusedError(403, "Forbidden", "cannot list"), times=10**6))
        async with Bench(server) as b:
            await b.until(lambda: QUEUE in b.feed.troubles and len(b.has()) == 3)

            assert "cannot list" in b.feed.troubles[QUEUE]
            assert not b.feed.synced.is_set()

    run(test())


def test_a_kind_that_is_installed_later_is_found_and_read(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()
            b.server.plurals.add("queues")
            b.server.put("queues", queue("research"))
            b.discover.set()
            await b.until(lambda: b.has(QUEUE) == {"research"})

            assert b.feed.resources[QUEUE].path("", "research", "status") == (
                "/apis/scheduling.volcano.sh/v1beta1/queues/research/status"
            )

    run(test())


def test_a_kind_that_is_taken_away_takes_its_objects_along(run: Any) -> None:
    async def test() -> None:
        server = filled("queues")
        server.put("queues", queue("research"))
        async with Bench(server) as b:
            await b.synced()
            b.server.plurals.remove("queues")
            b.server.cut()
            await b.until(lambda: QUEUE not in b.feed.resources)

            assert b.has(QUEUE) == set()
            b.server.plurals.add("queues")
            b.discover.set()
            await b.until(lambda: b.has(QUEUE) == {"research"})

    run(test())


def test_a_server_that_starts_up_and_finds_nothing_takes_nothing_away(run: Any) -> None:
    async def test() -> None:
        async with Bench(filled()) as b:
            await b.synced()
            await b.until(lambda: b.server.count("watch") == 2)
            b.server.faults.append(once(PODS, RefusedError(404, "NotFound"), times=3))
            b.server.cut()
            b.server.put("pods", pod("p3"))
            await b.until(lambda: "p3" in b.has())

            assert b.has() == {"p0", "p1", "p2", "p3"}

    run(test())


def test_discovery_is_tried_until_it_answers(run: Any) -> None:
    async def test() -> None:
        server = filled()
        server.faults.append(once("/apis", LostError("connection refused"), times=3))
        async with Bench(server) as b:
            await b.synced()

            assert b.server.count("/apis") == 4

    run(test())
