"""One API server: requests as raw bytes, and what can go wrong in two kinds of error.

Configuration, credentials and TLS are those of the ``kubernetes`` package; bodies are not, since
its typed objects cost more than the cycle that reads them.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec

from ...models import InputError
from .write import Write

JSON = "application/json"
CONNECT_S = 5.0
ANSWER_S = 30.0
LONGEST_LINE_BYTES = 32 << 20
"""Of one event of a watch; etcd keeps objects below 1.5 MiB, a server may allow more."""
IN_FLIGHT = 64
"""Requests at once, watches not counted; API servers allow 200 that change something."""
_KEEP_S = 30.0
"""Credentials are asked for again this often: service account tokens change on disk."""
_RENEW_S = 5.0
"""Credentials that were refused are read anew at most this often."""


class RefusedError(Exception):
    """The server has said no.

    Attributes
    ----------
    status
        HTTP status, 400 to 599.
    reason
        As Kubernetes words it (``Conflict``, ``NotFound``, ``Expired``); empty if it says none.
    retry_after_s
        How long the server asks us to wait, if it does.
    """

    def __init__(
        self,
        status: int,
        reason: str = "",
        message: str = "",
        retry_after_s: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{status} {reason}: {message}" if message else f"{status} {reason}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_s = retry_after_s
        self.details = dict(details or {})

    @property
    def is_for_now(self) -> bool:
        """Whether the same request may succeed later: the server is busy or unwell."""
        return self.status in (408, 429) or self.status >= 500


class LostError(Exception):
    """There was no answer: the request may or may not have been carried out."""


class Api(Protocol):
    """What the live scheduler asks of a server; tests have one without a network."""

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes: ...

    def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]: ...

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> bytes: ...


async def write(api: Api, one: Write) -> bytes:
    """Send what a controller wants written."""
    content_type = JSON if one.method == "POST" else one.content_type
    return await api.send(one.method, one.path, one.body, content_type=content_type)


@dataclass(frozen=True, slots=True)
class Server:
    """Where the server is, and how to be known to it."""

    url: str
    tls: SSLContext | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    proxy: str | None = None
    tls_name: str | None = None


class Access:
    """A connection to an API server. Use ``async with opened(...)``."""

    def __init__(
        self,
        http: aiohttp.ClientSession,
        server: Callable[[bool], Awaitable[Server]],
    ) -> None:
        self._http = http
        self._server_of = server
        self._server: Server | None = None
        self._read_s = 0.0
        self._gate = asyncio.Semaphore(IN_FLIGHT)
        self.requests = 0
        """How many have been sent."""

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        """Return the body of an answer.

        Raises
        ------
        RefusedError
            If the server answers with an error.
        LostError
            If it does not answer.
        """
        return await self._ask("GET", path, None, params, {})

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> bytes:
        """Send a change; return the body of the answer. Raises as :meth:`get` does."""
        data = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        return await self._ask(method, path, data, params, {"Content-Type": content_type})

    async def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Yield the lines of a watch until the server ends it. Raises as :meth:`get` does."""
        asked = {"watch": "true", **params}
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_S, sock_read=_silence_s(asked)
        )
        async with self._answer("GET", path, None, asked, {}, timeout) as answer:
            pending = b""
            async for chunk in answer.content.iter_any():
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield line
                if len(pending) > LONGEST_LINE_BYTES:
                    raise LostError(f"GET {path}: an event of more than {LONGEST_LINE_BYTES} bytes")
            # What is left is half an event of a connection that broke off.

    async def _ask(
        self,
        method: str,
        path: str,
        data: bytes | None,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
    ) -> bytes:
        timeout = aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S)
        async with (
            self._gate,
            self._answer(method, path, data, params or {}, headers, timeout) as answer,
        ):
            return await answer.read()

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        data: bytes | None,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        what = f"{method} {path}"
        try:
            server = await self._known(renew=False)
            self.requests += 1
            async with self._http.request(
                method,
                server.url + path,
                data=data,
                params=params,
                headers={**server.headers, **headers},
                ssl=server.tls if server.tls is not None else True,
                proxy=server.proxy,
                server_hostname=server.tls_name,
                timeout=timeout,
            ) as answer:
                if answer.status >= 400:
                    body = await answer.read()
                    if answer.status == 401:
                        await self._known(renew=True)
                    raise refusal(answer.status, body, answer.headers.get("Retry-After"))
                yield answer
        except (aiohttp.ClientError, TimeoutError, OSError) as e:
            raise LostError(f"{what}: {e or type(e).__name__}") from e

    async def _known(self, renew: bool) -> Server:
        now = asyncio.get_running_loop().time()
        old_s = now - self._read_s
        if self._server is None or old_s > _KEEP_S or (renew and old_s > _RENEW_S):
            self._server, self._read_s = await self._server_of(renew), now
        return self._server


def refusal(status: int, body: bytes, retry_after: str | None = None) -> RefusedError:
    """Read an error's body, a Status object or any text."""
    try:
        said = msgspec.json.decode(body)
    except msgspec.DecodeError:
        said = None
    if not isinstance(said, dict):
        said = {"message": body.decode(errors="replace")[:500]}
    details = said.get("details")
    details = details if isinstance(details, dict) else {}
    seconds = retry_after if retry_after is not None else details.get("retryAfterSeconds")
    try:
        wait_s = None if seconds is None else max(0.0, float(seconds))
    except (TypeError, ValueError):
        wait_s = None
    return RefusedError(
        status, str(said.get("reason") or ""), str(said.get("message") or ""), wait_s, details
    )


def _silence_s(params: Mapping[str, str]) -> float:
    """Return how long a watch may say nothing: bookmarks come once a minute, its end by itself."""
    return float(params.get("timeoutSeconds") or 300) + ANSWER_S


@asynccontextmanager
async def opened(
    kubeconfig: str | None = None, context: str | None = None
) -> AsyncIterator[Access]:
    """Open a connection.

    With neither argument: the service account of the pod we run in, else the default kubeconfig.

    Raises
    ------
    InputError
        If there is no configuration, or it cannot be read.
    """
    settings = await _settings(kubeconfig, context)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
    async with aiohttp.ClientSession(
        connector=connector, read_bufsize=1 << 20, auto_decompress=True
    ) as http:
        yield Access(http, settings)


def _have_a_home() -> None:
    """Name a home directory where the user has none, as in a container: the library asks for one.

    It does so as soon as it is imported, even where the configuration is that of a pod.
    """
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = "/"


def _look_for(kubeconfig: str | None) -> None:
    """Raise InputError where there is no such file; the library would log a line of its own."""
    of_environment = os.environ.get("KUBECONFIG")
    named = kubeconfig or of_environment or "~/.kube/config"
    if not any(Path(path).expanduser().exists() for path in named.split(os.pathsep) if path):
        given = "" if kubeconfig or not of_environment else "KUBECONFIG: "
        raise InputError(
            f"{given}{named}: no such file, so there is no configuration of a cluster; "
            "pass --kubeconfig FILE"
        )


def proxy_of_environment(url: str) -> str | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name for the server, if any.

    aiohttp can look for it, too, but does so before every request, with the file .netrc, in another
    thread: that was a quarter of the processor time of a bind.
    """
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


async def _settings(
    kubeconfig: str | None, context: str | None
) -> Callable[[bool], Awaitable[Server]]:
    _have_a_home()
    from kubernetes.aio import config as reading
    from kubernetes.aio.client import Configuration
    from kubernetes.aio.client.rest import RESTClientObject

    inside = kubeconfig is None and context is None and "KUBERNETES_SERVICE_HOST" in os.environ
    where = "the pod's service account" if inside else kubeconfig or "the default kubeconfig"
    known = Configuration()

    async def read() -> None:
        if not inside:
            _look_for(kubeconfig)
        try:
            if inside:
                reading.load_incluster_config(client_configuration=known)
            else:
                await reading.load_kube_config(
                    config_file=kubeconfig,
                    context=context,
                    client_configuration=known,
                    persist_config=False,
                )
        except (reading.ConfigException, OSError, ValueError, KeyError, TypeError) as e:
            said = "it is no text" if isinstance(e, UnicodeError) else str(e)
            raise InputError(
                f"{where}: no usable configuration of a cluster: {said}; pass --kubeconfig FILE"
            ) from e

    def tls() -> SSLContext | None:
        secure = str(known.host).startswith("https")
        return RESTClientObject(known).ssl_context if secure else None

    await read()
    context_of_tls = tls()

    async def server(renew: bool) -> Server:
        nonlocal context_of_tls
        if renew:
            await read()
            context_of_tls = tls()
        auth: Any = await known.auth_settings()
        return Server(
            str(known.host).rstrip("/"),
            context_of_tls,
            {str(a["key"]): str(a["value"]) for a in auth.values() if a.get("value")},
            known.proxy or proxy_of_environment(str(known.host)),
            known.tls_server_name or None,
        )

    return server
