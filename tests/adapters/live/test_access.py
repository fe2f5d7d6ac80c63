"""Requests against a small server on loopback."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from apportion.adapters.live.access import (
    Access,
    LostError,
    RefusedError,
    opened,
    proxy_of_environment,
    refusal,
)
from apportion.models import InputError

STATUS = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}


def kubeconfig(folder: Path, url: str, token: str = "sesame") -> str:
    text = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {"token": token}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(text))
    return str(path)


Handler = Callable[[web.Request], Any]


async def asked(folder: Path, handler: Handler, ask: Callable[[Access], Any]) -> Any:
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handler)
    async with (
        TestServer(app) as server,
        opened(kubeconfig(folder, str(server.make_url("/")))) as a,
    ):
        return await ask(a)


def test_a_request_bears_the_token_and_its_parameters(tmp_path: Path, run: Any) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response([request.headers["Authorization"], dict(request.query)])

    body = run(asked(tmp_path, handler, lambda a: a.get("/api/v1/pods", {"limit": "5"})))

    assert json.loads(body) == ["Bearer sesame", {"limit": "5"}]


def test_a_body_is_sent_as_json_of_the_type_asked_for(tmp_path: Path, run: Any) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response([request.method, request.content_type, await request.json()])

    patch = "application/merge-patch+json"
    body = run(
        asked(tmp_path, handler, lambda a: a.send("PATCH", "/x", {"a": 1}, content_type=patch))
    )

    assert json.loads(body) == ["PATCH", patch, {"a": 1}]


def test_an_error_says_status_reason_and_how_long_to_wait(tmp_path: Path, run: Any) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(STATUS, status=409, headers={"Retry-After": "3"})

    with pytest.raises(RefusedError, match="the object has been modified") as e:
        run(asked(tmp_path, handler, lambda a: a.get("/x")))

    assert (e.value.status, e.value.reason, e.value.retry_after_s) == (409, "Conflict", 3.0)
    assert not e.value.is_for_now


@pytest.mark.parametrize(
    ("status", "body", "want"),
    [
        (429, b"", (True, "", None)),
        (500, b"\xff no json", (True, "", None)),
        (404, b'{"reason": "NotFound", "details": 7}', (False, "NotFound", None)),
        (429, b'{"details": {"retryAfterSeconds": 2}}', (True, "", 2.0)),
        (429, b'{"details": {"retryAfterSeconds": "soon"}}', (True, "", None)),
        (403, b"[1]", (False, "", None)),
    ],
)
def test_whatever_the_body_of_an_error_is_it_can_be_told(
    status: int, body: bytes, want: tuple[bool, str, float | None]
) -> None:
    told = refusal(status, body)

    assert (told.is_for_now, told.reason, told.retry_after_s) == want


def test_a_server_that_is_gone_is_lost_and_not_refused(tmp_path: Path, run: Any) -> None:
    async def ask() -> bytes:
        async with opened(kubeconfig(tmp_path, "http://127.0.0.1:9")) as a:
            return await a.get("/x")

    with pytest.raises(LostError, match="GET /x"):
        run(ask())


def test_a_watch_yields_whole_lines_however_they_are_cut(tmp_path: Path, run: Any) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.query["watch"] == "true"
        answer = web.StreamResponse()
        await answer.prepare(request)
        for piece in (b'{"n":', b' 1}\n{"n": 2}\n\n{"n"', b': 3}\n{"half'):
            await answer.write(piece)
        return answer

    async def ask(a: Access) -> list[Any]:
        return [json.loads(line) async for line in a.watch("/x", {"timeoutSeconds": "5"})]

    assert run(asked(tmp_path, handler, ask)) == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_a_watch_that_breaks_off_is_lost(tmp_path: Path, run: Any) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b'{"n": 1}\n')
        assert request.transport is not None
        request.transport.abort()
        return answer

    seen: list[bytes] = []

    async def ask(a: Access) -> None:
        async for line in a.watch("/x", {}):
            seen.append(line)

    with pytest.raises(LostError, match="GET /x"):
        run(asked(tmp_path, handler, ask))
    assert seen == [b'{"n": 1}']


@pytest.mark.parametrize(
    ("passed", "environment", "want"),
    [
        ("nothing", "", "nothing: no such file"),
        (None, "nothing", "KUBECONFIG: nothing: no such file"),
        (None, "nothing:neither", "KUBECONFIG: nothing:neither: no such file"),
        (None, "", "~/.kube/config: no such file"),
    ],
)
def test_a_configuration_that_is_missing_says_what_to_pass_and_nothing_else(
    passed: str | None,
    environment: str,
    want: str,
    tmp_path: Path,
    run: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", environment)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    async def ask() -> None:
        async with opened(passed):
            pass

    with pytest.raises(InputError, match="pass --kubeconfig FILE") as e:
        run(ask())
    assert str(e.value).startswith(want)
    assert not caplog.records, "a line of the library's would stand beside ours"


def test_a_configuration_that_is_no_text_is_told_in_words(tmp_path: Path, run: Any) -> None:
    file = tmp_path / "config"
    file.write_bytes(b"\xff\xfe\x00")

    async def ask() -> None:
        async with opened(str(file)):
            pass

    with pytest.raises(InputError, match="no usable configuration of a cluster: it is no text;"):
        run(ask())


def test_a_user_without_a_home_directory_is_told_the_same(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.setenv("HOME", "")  # so that it is as before when the test is over
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)

    async def ask() -> None:
        async with opened():
            pass

    with pytest.raises(InputError, match=r"~/\.kube/config: no such file"):
        run(ask())


def test_requests_go_through_the_proxy_of_the_environment(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def proxy(request: web.Request) -> web.Response:
        return web.Response(text=str(request.url))

    async def through() -> str:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", proxy)
        async with TestServer(app) as server:
            monkeypatch.setenv("http_proxy", str(server.make_url("/")))
            async with opened(kubeconfig(tmp_path, "http://cluster.example:8080")) as a:
                return (await a.get("/api/v1/pods")).decode()

    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)

    assert run(through()) == "http://cluster.example:8080/api/v1/pods"


@pytest.mark.parametrize(
    ("environment", "want"),
    [
        ({}, None),
        ({"https_proxy": "http://way.example:3128"}, "http://way.example:3128"),
        ({"http_proxy": "http://way.example:3128"}, None),
        ({"https_proxy": "http://way.example:3128", "no_proxy": ".example"}, None),
        (
            {"https_proxy": "http://way.example:3128", "no_proxy": "other"},
            "http://way.example:3128",
        ),
    ],
)
def test_the_environment_says_by_which_proxy_the_server_is_reached(
    environment: dict[str, str], want: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert proxy_of_environment("https://cluster.example:6443") == want
