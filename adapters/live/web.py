"""The pages that a live scheduler serves: health, readiness, metrics, and the last cycle.

``/healthz`` and ``/readyz`` answer 200 or 503 with a sentence, ``/metrics`` is for Prometheus.
``/debug/snapshot`` and ``/debug/plan`` give the last cycle as gzipped JSON, as the commands read
it; they say what runs in the cluster, so whoever asks shows a token that may read them.
"""

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from ...models import Plan, Snapshot
from ...models.plan import named, to_document
from ...models.snapshot import write
from ...models.value import to_json
from ..listening import Listener
from .access import LostError, RefusedError
from .metrics import Metrics
from .report import CycleReport

MayRead = Callable[[str], Awaitable[bool]]
"""Whether the bearer of a token may read the debug pages; asks the cluster."""
SILENCE_S = 60.0
"""How long the loop may say nothing before it is taken for dead."""
STOP_S = 2.0
"""How long answers that are under way may take when the pages close."""
LARGEST_TOKEN = 16 << 10
"""Characters; a longer one is not asked about."""


class Web:
    """A small HTTP server beside the loop. Start it once, and stop it before the event loop ends.

    Parameters
    ----------
    beaten_s
        When the loop last showed that it is alive, on ``clock``.
    lacking
        Why not everything was listed once; empty when it was.
    host, port
        Where to listen; port 0 is any free one, then in :attr:`port`.
    silence_s
        After how many seconds without a beat ``/healthz`` fails.
    clock
        Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        metrics: Metrics,
        may_read: MayRead,
        beaten_s: Callable[[], float],
        lacking: Callable[[], str],
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        silence_s: float = SILENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics, self._may_read = metrics, may_read
        self._beaten_s, self._lacking = beaten_s, lacking
        self._silence_s, self._clock = silence_s, clock
        self._last: tuple[Snapshot, Plan] | None = None
        self._one_at_a_time = asyncio.Lock()
        app = web.Application()
        app.add_routes(
            [
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
                web.get("/metrics", self._serve_metrics),
                web.get("/debug/snapshot", self._debug_snapshot),
                web.get("/debug/plan", self._debug_plan),
            ]
        )
        self._listener = Listener(app, host, port, "--listen", STOP_S)

    @property
    def host(self) -> str:
        return self._listener.host

    @property
    def port(self) -> int:
        return self._listener.port

    async def start(self) -> None:
        """Listen.

        Raises
        ------
        InputError
            If the address cannot be listened on.
        """
        await self._listener.start()

    async def stop(self) -> None:
        """Stop listening, and let answers that are under way end; may be called again."""
        await self._listener.stop()

    def cycle(self, report: CycleReport) -> None:
        """Show this cycle from now on."""
        self._last = (report.snapshot, report.plan)

    async def _healthz(self, _: web.Request) -> web.Response:
        silent_s = self._clock() - self._beaten_s()
        if silent_s > self._silence_s:
            return _text(503, f"the loop has said nothing for {silent_s:.0f} s")
        return _text(200, "ok")

    async def _readyz(self, _: web.Request) -> web.Response:
        said = self._lacking()
        return _text(503, said) if said else _text(200, "ok")

    async def _serve_metrics(self, _: web.Request) -> web.Response:
        # In a thread: the gauges take one pass over all pods.
        body = await asyncio.to_thread(self._metrics.text)
        return web.Response(body=body, headers={"Content-Type": self._metrics.content_type})

    async def _debug_snapshot(self, request: web.Request) -> web.Response:
        return await self._debug(request, "snapshot", lambda snapshot, _: write(snapshot))

    async def _debug_plan(self, request: web.Request) -> web.Response:
        def written(snapshot: Snapshot, plan: Plan) -> bytes:
            return to_json(to_document(named(plan, snapshot)))

        return await self._debug(request, "plan", written)

    async def _debug(
        self, request: web.Request, name: str, written: Callable[[Snapshot, Plan], bytes]
    ) -> web.Response:
        if (no := await self._refusal(request)) is not None:
            return no
        if self._last is None:
            return _text(404, "there was no cycle yet")
        snapshot, plan = self._last
        async with self._one_at_a_time:
            plain = await asyncio.to_thread(written, snapshot, plan)
            body = await asyncio.to_thread(gzip.compress, plain, 6, mtime=0)
        file = f'attachment; filename="{name}.json.gz"'
        return web.Response(
            body=body, content_type="application/gzip", headers={"Content-Disposition": file}
        )

    async def _refusal(self, request: web.Request) -> web.Response | None:
        """Return why whoever asks does not get it; None: they do."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > LARGEST_TOKEN:
            said = "a token is needed: Authorization: Bearer TOKEN; docs/security.md says which"
            return _text(401, said, {"WWW-Authenticate": "Bearer"})
        try:
            if await self._may_read(token):
                return None
        except (RefusedError, LostError) as e:
            return _text(503, f"the API server could not be asked about the token: {e}")
        return _text(403, "this token may not get /debug/snapshot; docs/security.md says what may")


def _text(status: int, said: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=said + "\n", headers=headers)
