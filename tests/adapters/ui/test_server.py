"""The local page: whom it answers, what it answers, and that nothing in a question is markup."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import aiohttp
import pytest

from apportion.adapters.ask.whatif import repeatable
from apportion.adapters.inputs import Asked, read_case
from apportion.adapters.ui.question import MOST, MOST_ADDED, OPTIONS, answered, split
from apportion.adapters.ui.server import HOST, Pages, Server
from apportion.models import Config, InputError, Snapshot
from apportion.solver.entry import plan
from reports import Element, parsed

ROOT = Path(__file__).resolve().parents[3]
CONFIG = repeatable(Config(engine="greedy"))
TOKEN = "a-token"
PATIENCE_S = 60


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return read_case([str(ROOT / "examples" / "small")], Asked()).snapshot


@pytest.fixture(scope="module")
def pages(snapshot: Snapshot) -> Pages:
    return Pages(snapshot, CONFIG, plan(snapshot, CONFIG), "examples/small")


def asked(
    pages: Pages, path: str = f"/{TOKEN}/", method: str = "GET", **headers: str
) -> tuple[int, str, Mapping[str, str]]:
    """Return status, text and headers of an answer of a server of our own."""

    async def run() -> tuple[int, str, Mapping[str, str]]:
        server = Server(pages, token=TOKEN)
        await server.start()
        own = {k.replace("_", "-"): v.replace("PORT", str(server.port)) for k, v in headers.items()}
        try:
            async with (
                aiohttp.ClientSession() as client,
                client.request(method, f"http://{HOST}:{server.port}{path}", headers=own) as answer,
            ):
                return answer.status, await answer.text(), dict(answer.headers)
        finally:
            await server.stop()

    return asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def question(pages: Pages, *changes: str) -> tuple[int, Element]:
    status, document = pages.page(changes)
    return status, parsed(document)


def test_whoever_has_the_address_gets_the_page(pages: Pages) -> None:
    status, text, headers = asked(pages)

    assert status == 200
    assert "Plan of examples/small" in parsed(text).all("h1")[0].text
    assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"


@pytest.mark.parametrize(
    ("path", "headers", "want"),
    [
        ("/", {}, 404),
        ("/another/", {}, 403),
        ("/%E2%98%83/", {}, 403),
        (f"/{TOKEN}/", {"Host": "example.com:PORT"}, 403),
        (f"/{TOKEN}/", {"Host": "127.0.0.1:1"}, 403),
        (f"/{TOKEN}/", {"Origin": "http://example.com"}, 403),
        (f"/{TOKEN}/", {"Origin": "null"}, 403),
        (f"/{TOKEN}/", {"Sec_Fetch_Site": "cross-site"}, 403),
        (f"/{TOKEN}/", {"Sec_Fetch_Site": "same-site"}, 403),
        (f"/{TOKEN}/", {"Host": "localhost:PORT", "Origin": "http://localhost:PORT"}, 200),
    ],
    ids=["no token", "another", "a snowman", "rebound name", "another port", "another site",
         "a sandbox", "cross-site", "same-site", "by the name localhost"],
)  # fmt: skip
def test_others_are_refused(pages: Pages, path: str, headers: dict[str, str], want: int) -> None:
    status, text, _ = asked(pages, path, **headers)

    assert status == want
    assert ("examples/small" in text) is (want == 200)


def test_nothing_can_be_posted(pages: Pages) -> None:
    assert asked(pages, method="POST")[0] == 405


def test_it_listens_on_the_loopback_interface_alone(pages: Pages) -> None:
    async def run() -> Sequence[str]:
        server = Server(pages)
        await server.start()
        runner = server._listener._runner
        assert runner is not None
        hosts = [address[0] for address in runner.addresses]
        await server.stop()
        return hosts

    assert asyncio.run(run()) == ["127.0.0.1"]


def test_a_port_that_is_taken_is_said(pages: Pages) -> None:
    async def run() -> None:
        first = Server(pages)
        await first.start()
        try:
            await Server(pages, first.port).start()
        finally:
            await first.stop()

    with pytest.raises(InputError, match=r"cannot listen on 127\.0\.0\.1:\d+ \(--port\): "):
        asyncio.run(run())


def test_tokens_are_long_and_never_the_same(pages: Pages) -> None:
    tokens = {Server(pages).token for _ in range(20)}

    assert len(tokens) == 20
    assert min(map(len, tokens)) >= 32


def test_a_question_shows_the_changed_plan_and_the_difference(pages: Pages) -> None:
    status, text, _ = asked(pages, f"/{TOKEN}/?option=--drain&value=gpu-b")
    page = parsed(text)

    assert status == 200
    assert "drain node gpu-b" in page.find("difference").text
    assert "cordoned" in page.find("map").text
    [tick] = [e for e in page.all("input") if e.attributes.get("type") == "checkbox"]
    assert tick.attributes["value"] == "--drain gpu-b"


def test_changes_add_up(pages: Pages) -> None:
    _, page = question(pages, "--add-nodes gpu-a=2", "--set-queue lab.limit.cpu=8")

    said = page.find("difference").text
    assert "add 2 nodes like gpu-a" in said
    assert "set the limit of queue lab to 8 cpu" in said
    assert "6 nodes" in page.all("header")[0].text


def test_a_setting_can_be_changed(pages: Pages) -> None:
    _, page = question(pages, "--set tiers.packing=spread")

    assert "set tiers.packing=spread" in page.find("difference").text


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ("--drain nowhere", "nowhere"),
        ("--submit /etc/passwd", "'--submit' is no change"),
        ("rm -rf", "'rm' is no change"),
        ("--drain", "--drain: write NODE"),
        ("--add-nodes gpu-a=0", f"N from 1 to {MOST_ADDED}"),
        ("--add-nodes gpu-a=999999999999", f"N from 1 to {MOST_ADDED}"),
        ("--copy lab/notes=1000000", "are the most here"),
        ("--resize lab/notes=1000000", "are the most here"),
        ("--set budget=soon", "--set"),
        ("--drain <script>alert(1)</script>", "<script>alert(1)</script>"),
    ],
)
def test_what_cannot_be_asked_is_said_above_the_plan_as_it_is(
    pages: Pages, change: str, want: str
) -> None:
    status, page = question(pages, change)

    [alert] = [e for e in page.walk() if e.attributes.get("role") == "alert"]
    assert status == 400
    assert want in alert.text
    assert len(page.all("script")) == 1
    assert not [e for e in page.walk() if e.attributes.get("id") == "difference"]


@pytest.mark.slow
def test_a_group_that_waits_is_explained_with_what_would_start_it(pages: Pages) -> None:
    status, text, _ = asked(pages, f"/{TOKEN}/?why=lab/notes")
    because = parsed(text).find("because")

    assert status == 200
    assert "Why lab/notes waits" in because.text
    assert "queue lab" in because.text
    [changes] = [t for t in because.all("table") if "Would start it" in t.text]
    assert changes.rows()


def test_the_group_that_was_asked_about_stays_chosen(pages: Pages) -> None:
    _, text, _ = asked(pages, f"/{TOKEN}/?why=lab/notes")

    chosen = [o for o in parsed(text).all("option") if "selected" in o.attributes]
    assert [o.attributes["value"] for o in chosen] == ["lab/notes"]


@pytest.mark.slow
def test_it_is_explained_in_the_cluster_that_is_shown(pages: Pages) -> None:
    there, _ = pages.page(["--copy lab/notes"], "lab/notes-copy-1")
    gone, document = pages.page(["--remove lab/notes"], "lab/notes")

    assert (there, gone) == (200, 400)
    assert "remove group lab/notes" in parsed(document).find("difference").text


def test_an_unknown_group_is_said(pages: Pages) -> None:
    status, document = pages.page([], "<b>nobody</b>")

    assert status == 400
    [alert] = [e for e in parsed(document).walk() if e.attributes.get("role") == "alert"]
    assert "<b>nobody</b>" in alert.text


def test_too_much_at_once_is_refused(snapshot: Snapshot, pages: Pages) -> None:
    with pytest.raises(InputError, match="21 changes are too many"):
        answered(snapshot, CONFIG, ["--drain gpu-a"] * (MOST + 1), pages.base, None)
    with pytest.raises(InputError, match="--drain: write NODE"):
        split("--drain " + "x" * 1000)


def test_every_change_of_the_form_is_one_that_can_be_read(pages: Pages) -> None:
    _, page = question(pages)

    shown = {e.attributes["value"] for e in page.find("option").all("option")}
    assert shown == set(OPTIONS)
    assert all(split(f"{option} x") == (option, "x") for option in shown)
