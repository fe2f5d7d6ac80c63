"""The server: one page, on the loopback interface, for whoever knows its address.

The address has a random token in its path. Requests for another host are refused, so that no name
that leads here (DNS rebinding) helps; so are those that another site's page makes. Nothing here
changes anything: a question plans a copy.
"""

import asyncio
import concurrent.futures
import contextlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from ...models import Config, InputError, Plan, Snapshot
from ...solver.process import SolverProcess
from ..ask.edit_words import group_key
from ..ask.explain import Explanation, explain
from ..listening import Listener
from ..report.difference import difference_section
from ..report.elements import Html
from ..report.page import Report, written
from ..report.shell import Controls
from ..report.why import why_section
from .form import question_form, search_box
from .question import answered

HOST = "127.0.0.1"
STOP_S = 1.0
EXPLAIN_S = 60.0
"""How long changes are tried for one group."""
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
T = TypeVar("T")


class Pages:
    """The pages of one cluster: as it is, and as it would be."""

    def __init__(
        self,
        snapshot: Snapshot,
        config: Config,
        base: Plan,
        subject: str,
        process: SolverProcess | None = None,
    ) -> None:
        self.snapshot, self.config, self.base, self.subject = snapshot, config, base, subject
        self._process = process
        self._script = Path(__file__).with_name("search.js").read_text()

    def page(self, changes: Sequence[str], why: str = "") -> tuple[int, str]:
        """Return status and document of a question; one without changes shows the base.

        ``why`` names a group of the cluster that is shown, to be explained.
        """
        report = Report(self.base, self.snapshot, self.config, self.subject)
        more: list[Html] = []
        try:
            if changes:
                answer, config = answered(
                    self.snapshot, self.config, changes, self.base, self._process
                )
                snapshot, plan = answer.changed
                report = Report(plan, snapshot, config, self.subject)
                more.append(difference_section(answer))
            if why:
                more.insert(0, why_section(self._explained(report, why)))
        except InputError as e:
            return 400, self._written(report, changes, str(e), more, why)
        return 200, self._written(report, changes, "", more, why)

    def _explained(self, report: Report, why: str) -> Explanation:
        until = time.monotonic() + EXPLAIN_S
        return explain(
            report.snapshot, report.config, group_key(report.snapshot, why),
            process=self._process, stop=lambda: time.monotonic() > until, known=report.plan,
        )  # fmt: skip

    def _written(
        self,
        report: Report,
        changes: Sequence[str],
        problem: str,
        more: Sequence[Html],
        why: str,
    ) -> str:
        held = [h.group for h in report.plan.held]
        form = question_form(changes, self.snapshot, held, problem, why)
        return written(report, Controls(search_box(), (form, *more), self._script))


class Server:
    """Serves pages until :meth:`stop`; start it once."""

    def __init__(self, pages: Pages, port: int = 0, token: str | None = None) -> None:
        self.token = token if token is not None else secrets.token_urlsafe(24)
        self._pages = pages
        self._one_at_a_time = asyncio.Lock()
        app = web.Application()
        app.router.add_get("/{token}/", self._page)
        self._listener = Listener(app, HOST, port, "--port", STOP_S)

    @property
    def port(self) -> int:
        return self._listener.port

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/{self.token}/"

    async def start(self) -> None:
        """Listen on the loopback interface.

        Raises
        ------
        InputError
            If the port is taken.
        """
        await self._listener.start()

    async def stop(self) -> None:
        """Stop listening."""
        await self._listener.stop()

    async def _page(self, request: web.Request) -> web.Response:
        if not self._is_welcome(request):
            return web.Response(status=403, text="this page is not for you\n", headers=HEADERS)
        changes = [c for c in request.query.getall("edit", []) if c.strip()]
        if value := request.query.get("value", "").strip():
            changes.append(f"{request.query.get('option', '')} {value}")
        changes = list(dict.fromkeys(changes))
        why = request.query.get("why", "").strip()
        async with self._one_at_a_time:
            status, document = await _aside(lambda: self._pages.page(changes, why))
        return web.Response(
            status=status, text=document, content_type="text/html", charset="utf-8",
            headers=HEADERS,
        )  # fmt: skip

    def _is_welcome(self, request: web.Request) -> bool:
        hosts = (f"{HOST}:{self.port}", f"localhost:{self.port}")
        origin = request.headers.get("Origin")
        token = request.match_info["token"].encode(errors="replace")
        return (
            hmac.compare_digest(token, self.token.encode())
            and request.headers.get("Host") in hosts
            and origin in (None, *(f"http://{h}" for h in hosts))
            and request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        )


async def _aside(do: Callable[[], T]) -> T:
    """Do something long in a thread that does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        made: concurrent.futures.Future[T] = concurrent.futures.Future()
        try:
            made.set_result(do())
        except Exception as e:
            made.set_exception(e)
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(_hand_over, made, done)

    threading.Thread(target=run, daemon=True).start()
    return await done


def _hand_over(made: "concurrent.futures.Future[T]", done: "asyncio.Future[T]") -> None:
    if done.done():
        return
    if (error := made.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(made.result())
