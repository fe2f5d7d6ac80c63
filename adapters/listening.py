"""Listening on an address, for the pages that a command serves."""

import os

from aiohttp import web

from ..models import InputError


class Listener:
    """An application on an address. Start it once; stopping it twice does no harm.

    Port 0 is any free one, and ``port`` then the one that it has become; answers that are under way
    may take ``stop_s`` when it stops.
    """

    def __init__(
        self, app: web.Application, host: str, port: int, option: str, stop_s: float
    ) -> None:
        self.host, self.port = host, port
        self._app = app
        self._option = option
        self._stop_s = stop_s
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen.

        Raises
        ------
        InputError
            If the address cannot be listened on; names the option that it came from.
        """
        runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=self._stop_s)
        await runner.setup()
        try:
            await web.TCPSite(runner, self.host, self.port).start()
        except OSError as e:
            await runner.cleanup()
            why = os.strerror(e.errno) if e.errno else str(e)
            where = f"{self.host}:{self.port} ({self._option})"
            raise InputError(f"cannot listen on {where}: {why}") from e
        self._runner = runner
        self.port = runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening, and let answers that are under way end."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()
