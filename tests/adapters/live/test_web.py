"""The pages of a live scheduler, over real HTTP on the loopback interface."""

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from apportion.adapters.live.access import LostError
from apportion.adapters.live.metrics import Metrics
from apportion.adapters.live.web import Web
from apportion.models import InputError
from apportion.models.plan import from_document
from apportion.models.snapshot import read
from apportion.models.value import from_json
from cluster.ports import claim
from cycle_reports import busy_cluster, report_of

Run = Callable[[Any], Any]
TOKEN = {"Authorization": "Bearer good"}


class Tokens:
    """Stands for the cluster that knows tokens."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: Exception | None = None

    async def may_read(self, token: str) -> bool:
        self.asked.append(token)
        if self.error is not None:
            raise self.error
        return token == "good"


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def page_of(tokens: Tokens, metrics: Metrics | None = None, port: int = 0) -> Web:
    """Return the pages of a loop that is alive and has listed everything."""
    return Web(metrics or Metrics(), tokens.may_read, time.monotonic, lambda: "", port=port)


class Client:
    """Asks the pages."""

    def __init__(self, page: Web, http: aiohttp.ClientSession) -> None:
        self.http, self.url, self.port = http, f"http://127.0.0.1:{page.port}", page.port

    async def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes, Any]:
        async with self.http.get(self.url + path, headers=headers) as answer:
            return answer.status, await answer.read(), answer.headers


@asynccontextmanager
async def serving(page: Web) -> AsyncIterator[Client]:
    await page.start()
    try:
        async with aiohttp.ClientSession() as http:
            yield Client(page, http)
    finally:
        await page.stop()


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.mark.parametrize(
    ("silent_s", "want_status", "want_said"),
    [(0, 200, b"ok\n"), (30, 200, b"ok\n"), (31, 503, b"the loop has said nothing for 31 s\n")],
    ids=["just beaten", "at the limit", "silent"],
)
def test_health_is_a_loop_that_beats(
    run: Run, tokens: Tokens, silent_s: float, want_status: int, want_said: bytes
) -> None:
    clock = Clock()
    clock.now_s = 1000.0 + silent_s
    page = Web(Metrics(), tokens.may_read, lambda: 1000.0, lambda: "", silence_s=30, clock=clock)

    async def ask() -> None:
        async with serving(page) as client:
            status, said, _ = await client.get("/healthz")
            assert (status, said) == (want_status, want_said)

    run(ask())


def test_ready_is_a_cluster_that_was_listed(run: Run, tokens: Tokens) -> None:
    lacking = ["pods: 403 Forbidden"]
    page = Web(Metrics(), tokens.may_read, time.monotonic, lambda: "".join(lacking))

    async def ask() -> None:
        async with serving(page) as client:
            status, said, _ = await client.get("/readyz")
            assert (status, said) == (503, b"pods: 403 Forbidden\n")
            lacking.clear()
            assert (await client.get("/readyz"))[0] == 200

    run(ask())


def test_metrics_are_those_of_the_instance(run: Run, tokens: Tokens) -> None:
    metrics = Metrics()
    metrics.cycle(report_of(*busy_cluster()))

    async def ask() -> None:
        async with serving(page_of(tokens, metrics)) as client:
            status, body, headers = await client.get("/metrics")
            assert status == 200
            assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"\napportion_binds_total 1.0\n" in body

    run(ask())


def test_the_last_cycle_comes_out_as_the_commands_read_it(run: Run, tokens: Tokens) -> None:
    page = page_of(tokens)
    old, new = report_of(), report_of(*busy_cluster(), number=2)
    page.cycle(old)
    page.cycle(new)

    async def ask() -> None:
        async with serving(page) as client:
            status, body, headers = await client.get("/debug/snapshot", TOKEN)
            assert (status, headers["Content-Type"]) == (200, "application/gzip")
            assert read(body).digest == new.snapshot.digest
            status, body, _ = await client.get("/debug/plan", TOKEN)
            assert from_document(from_json(gzip.decompress(body), dict[str, Any])) == new.plan

    run(ask())


@pytest.mark.parametrize(
    ("headers", "want_status", "want_asked"),
    [
        ({}, 401, []),
        ({"Authorization": "Basic good"}, 401, []),
        ({"Authorization": "Bearer "}, 401, []),
        ({"Authorization": f"Bearer {'x' * 8000}{'x' * 9000}"}, 400, []),
        ({"Authorization": "Bearer bad"}, 403, ["bad"]),
        ({"Authorization": "bearer good"}, 200, ["good"]),
    ],
    ids=["none", "no bearer", "empty", "endless", "without the right", "with it"],
)
@pytest.mark.parametrize("path", ["/debug/snapshot", "/debug/plan"])
def test_the_last_cycle_is_for_tokens_with_the_right(
    run: Run,
    tokens: Tokens,
    path: str,
    headers: dict[str, str],
    want_status: int,
    want_asked: list[str],
) -> None:
    page = page_of(tokens)
    page.cycle(report_of())

    async def ask() -> None:
        async with serving(page) as client:
            status, body, _ = await client.get(path, headers)
            assert status == want_status
            assert (b"good" in body, b"bad" in body) == (False, False)

    run(ask())
    assert tokens.asked == want_asked


def test_a_cluster_that_cannot_be_asked_lets_nobody_in(run: Run, tokens: Tokens) -> None:
    page = page_of(tokens)
    page.cycle(report_of())
    tokens.error = LostError("POST /apis/authentication.k8s.io/v1/tokenreviews: timeout")

    async def ask() -> None:
        async with serving(page) as client:
            status, said, _ = await client.get("/debug/snapshot", TOKEN)
            assert status == 503
            assert b"could not be asked about the token" in said

    run(ask())


def test_before_the_first_cycle_there_is_nothing_to_show(run: Run, tokens: Tokens) -> None:
    async def ask() -> None:
        async with serving(page_of(tokens)) as client:
            assert (await client.get("/debug/snapshot", TOKEN))[0] == 404

    run(ask())


def test_nothing_else_is_served_or_changed(run: Run, tokens: Tokens) -> None:
    async def ask() -> None:
        async with serving(page_of(tokens)) as client:
            assert (await client.get("/"))[0] == 404
            assert (await client.get("/debug"))[0] == 404
            async with client.http.post(f"{client.url}/metrics") as answer:
                assert answer.status == 405

    run(ask())


def test_an_address_in_use_is_said(run: Run, tokens: Tokens) -> None:
    async def ask() -> None:
        async with serving(page_of(tokens)) as client:
            taken = client.port
            with pytest.raises(InputError, match=rf"127.0.0.1:{taken} \(--listen\): .*in use"):
                await page_of(tokens, port=taken).start()

    run(ask())


def test_stopping_frees_the_port_and_leaves_nothing_running(run: Run, tokens: Tokens) -> None:
    async def ask(port: int) -> None:
        before = asyncio.all_tasks()
        page = page_of(tokens, port=port)
        async with serving(page):
            pass
        await page.stop()
        again = page_of(tokens, port=port)
        async with serving(again) as client:
            assert (await client.get("/healthz"))[0] == 200
        assert asyncio.all_tasks() == before

    with claim() as claimed:  # or another process could have it in between
        run(ask(claimed.getsockname()[1]))
