"""Questions about a live cluster: an API server in memory, and the pages of a scheduler."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

import kubernetes_objects as k8s
from apportion.adapters.live import reading
from apportion.adapters.live.access import Api
from apportion.adapters.live.feed import Feed
from apportion.adapters.live.metrics import Metrics
from apportion.adapters.live.mirror import Mirror
from apportion.adapters.live.pages import page_of
from apportion.adapters.live.web import Web
from apportion.models import InputError, Snapshot
from apportion.models.snapshot import read, write
from cycle_reports import planned_on, report_of
from fakes.api_server import FakeApiServer

NODES = [k8s.node("n1", cpu="8", pods="110"), k8s.node("n2", cpu="8", pods="110")]
PODS = [
    k8s.pod("fits", {"cpu": "2"}),
    k8s.pod("huge", {"cpu": "20"}),
    k8s.pod("runs", {"cpu": "1"}, nodeName="n1"),
]
NOON = ("--now", k8s.NOON)
PATIENCE_S = 60
"""What takes a moment takes so long at most on a machine that is busy with other things."""
QUESTIONS = [
    ("plan", "--deterministic"),
    ("explain", "huge", "--no-changes"),
    ("whatif", "--drain", "n1"),
    ("capacity", "fits", "--like", "n1", "--nodes", "1"),
    ("drain", "n1"),
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeApiServer:
    """Return an API server in memory; every kubeconfig leads to it."""
    fake = FakeApiServer()
    fake.asked_for: list[tuple[str | None, str | None]] = []  # type: ignore[attr-defined,misc]
    fake.put("nodes", *NODES)
    fake.put("pods", *PODS)

    @asynccontextmanager
    async def opened(
        kubeconfig: str | None = None, context: str | None = None
    ) -> AsyncIterator[FakeApiServer]:
        fake.asked_for.append((kubeconfig, context))  # type: ignore[attr-defined]
        yield fake

    monkeypatch.setattr(reading, "opened", opened)
    return fake


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the same objects as a file."""
    path = tmp_path / "objects.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": NODES + PODS}))
    return path


class Hasty(Feed):
    """A feed for which nobody has patience any more once it has met trouble."""

    def __init__(self, api: Api, mirror: Mirror) -> None:
        super().__init__(api, mirror)
        self.synced = Never(lambda: bool(self.troubles))


class Never(asyncio.Event):
    """What does not come; who waits for it has waited for too long as soon as ``is_over``."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        super().__init__()
        self._is_over = is_over

    async def wait(self) -> Literal[True]:
        while not self._is_over():
            await asyncio.sleep(0)
        raise TimeoutError


class Scheduler:
    """The pages of a scheduler, served by a thread of their own; the token is ``good``."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.web = Web(Metrics(), self._may_read, time.monotonic, lambda: "")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._do(self.web.start())

    async def _may_read(self, token: str) -> bool:
        self.asked.append(token)
        return token == "good"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.web.port}"

    def stop(self) -> None:
        self._do(self.web.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def _do(self, what: Any) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(PATIENCE_S)


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scheduler]:
    monkeypatch.setenv("APPORTION_TOKEN", "good")
    made = Scheduler()
    yield made
    made.stop()


def seen() -> Snapshot:
    return planned_on(*NODES, *PODS)[0]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q[0])
def test_a_live_cluster_is_asked_as_its_objects_in_a_file_are(
    cli: Any, server: FakeApiServer, file: Path, question: tuple[str, ...]
) -> None:
    want = cli(*question, "-f", file, *NOON, "-o", "json")

    result = cli(*question, "--kubeconfig", "admin.conf", "--context", "a", *NOON, "-o", "json")

    assert result.code == 0, result.err
    assert json.loads(result.out) == json.loads(want.out)
    assert server.asked_for == [("admin.conf", "a")]  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [("--kubeconfig",), ("--kubeconfig", "--no-changes")])
def test_a_kubeconfig_without_a_name_is_the_default_one(
    cli: Any, server: FakeApiServer, words: tuple[str, ...]
) -> None:
    result = cli("explain", "runs", *words)

    assert result.code == 0, result.err
    assert server.asked_for == [(None, None)]  # type: ignore[attr-defined]


def test_a_context_is_of_the_default_kubeconfig(cli: Any, server: FakeApiServer) -> None:
    result = cli("explain", "runs", "--context", "blue")

    assert result.code == 0, result.err
    assert server.asked_for == [(None, "blue")]  # type: ignore[attr-defined]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q[0])
def test_a_scheduler_is_asked_as_the_snapshot_that_it_shows(
    cli: Any, scheduler: Scheduler, tmp_path: Path, question: tuple[str, ...]
) -> None:
    scheduler.web.cycle(report_of(*NODES, *PODS))
    (tmp_path / "seen.json").write_bytes(write(seen()))
    want = cli(*question, "-f", tmp_path / "seen.json", "-o", "json")

    result = cli(*question, "--live", scheduler.url, "-o", "json")

    assert result.code == 0, result.err
    assert json.loads(result.out) == json.loads(want.out)
    assert scheduler.asked == ["good"]


def test_a_token_comes_from_a_file_before_it_comes_from_the_variable(
    cli: Any, scheduler: Scheduler, tmp_path: Path
) -> None:
    scheduler.web.cycle(report_of(*NODES, *PODS))
    (tmp_path / "token").write_text("bad\n")

    result = cli("explain", "huge", "--live", scheduler.url, "--token-file", tmp_path / "token")

    assert result.code == 2
    assert "answers 403: this token may not get /debug/snapshot" in result.err
    assert scheduler.asked == ["bad"]


def test_without_a_token_it_is_said_that_one_is_needed(
    cli: Any, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("APPORTION_TOKEN")

    result = cli("explain", "huge", "--live", scheduler.url)

    assert result.code == 2
    assert "a token is needed: --token-file FILE, or the variable APPORTION_TOKEN" in result.err


def test_a_scheduler_that_has_seen_nothing_yet_says_so(cli: Any, scheduler: Scheduler) -> None:
    result = cli("explain", "huge", "--live", scheduler.url)

    assert result.code == 2
    assert "answers 404: there was no cycle yet" in result.err


def test_nobody_there_is_an_error_that_names_the_address(cli: Any, scheduler: Scheduler) -> None:
    url = scheduler.url
    scheduler._do(scheduler.web.stop())

    result = cli("explain", "huge", "--live", url)

    assert result.code == 2
    assert f"--live {url}/debug/snapshot: cannot be reached: Connect call failed" in result.err


def test_a_cluster_that_may_not_be_read_is_an_error(
    cli: Any, server: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apportion.adapters.live.access import RefusedError

    monkeypatch.setattr(reading, "Feed", Hasty)
    server.faults.append(lambda *_: RefusedError(403, "Forbidden", "pods is forbidden"))

    result = cli("explain", "huge", "--kubeconfig")

    assert result.code == 2
    assert "pods is forbidden" in result.err


@pytest.mark.parametrize("command", [q[0] for q in QUESTIONS])
def test_exactly_one_cluster_is_named(cli: Any, command: str) -> None:
    subject = {"explain": ["huge"], "capacity": ["huge"], "drain": ["n1"]}.get(command, [])

    none = cli(command, *subject)
    two = cli(command, *subject, "-f", "examples/small", "--live", "http://127.0.0.1:1")
    both = cli(command, *subject, "--kubeconfig", "x", "--live", "http://127.0.0.1:1")

    assert none.code == two.code == both.code == 2
    assert "--kubeconfig" in none.err
    assert "--live" in none.err
    assert "files (examples/small) and --live name different clusters" in two.err
    assert "--kubeconfig and --live name different clusters" in both.err


def test_files_of_a_plan_are_given_either_way(cli: Any) -> None:
    want = cli("plan", "examples/small", "--deterministic", "-o", "json")

    result = cli("plan", "-f", "examples/small", "--deterministic", "-o", "json")

    assert result.out == want.out


def test_a_token_without_a_scheduler_is_an_error(cli: Any) -> None:
    result = cli("explain", "huge", "-f", "examples/small", "--token-file", "x")

    assert result.code == 2
    assert "--token-file goes with --live" in result.err


def test_a_snapshot_is_saved_from_either(
    cli: Any, server: FakeApiServer, scheduler: Scheduler, tmp_path: Path
) -> None:
    scheduler.web.cycle(report_of(*NODES, *PODS))

    assert cli("snapshot", "--out", tmp_path / "a.json").code == 0
    assert cli("snapshot", "--live", scheduler.url, "--out", tmp_path / "b.json").code == 0

    a, b = (read((tmp_path / name).read_bytes()) for name in ("a.json", "b.json"))
    assert b == seen()
    assert (a.nodes, a.queues) == (b.nodes, b.queues)
    assert [p.key for p in a.pods] == [p.key for p in b.pods]


def test_what_is_submitted_is_read_beside_a_live_cluster(
    cli: Any, server: FakeApiServer, tmp_path: Path
) -> None:
    (tmp_path / "more.json").write_text(json.dumps(k8s.pod("more", {"cpu": "1"})))

    result = cli("whatif", "--kubeconfig", "--submit", tmp_path / "more.json", "-o", "json")

    assert result.code == 0, result.err
    assert json.loads(result.out)["startsMore"] == ["default/more"]


@pytest.mark.parametrize(
    ("url", "want"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/debug/snapshot"),
        ("http://example.com:1/", "http://example.com:1/debug/snapshot"),
        ("https://example.com/x/debug/snapshot?y=1", "https://example.com/x/debug/snapshot"),
        ("http://[::1]:80", "http://[::1]:80/debug/snapshot"),
    ],
)
def test_an_address_is_of_the_page_or_of_the_scheduler(url: str, want: str) -> None:
    assert page_of(url) == want


@pytest.mark.parametrize(
    "url", ["", "ftp://a", "file:///etc/passwd", "http://", "example.com:b", "u:p@example.com"]
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InputError, match="--live"):
        page_of(url)
