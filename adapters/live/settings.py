"""The settings file of a running scheduler: read again when it changes; a bad one is not used.

A ConfigMap that is mounted as a folder changes by a link that is set anew, so that what is compared
is the content, not the times of the file.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from ...models import Config, InputError
from ...policies.registry import rules_for
from ..configuration import changed, changes_in
from .logs import event

LOOK_S = 2.0


class SettingsFile:
    """The settings as the file said last when it could be used.

    Raises
    ------
    InputError
        On construction, if the file cannot be used.
    """

    def __init__(
        self,
        path: str | None,
        over: Callable[[Config], Config] = lambda c: c,
        base: Config | None = None,
    ) -> None:
        self._path = path
        self._over = over
        self._base = base if base is not None else Config()
        self._content = b""
        self.trouble = ""
        """What is wrong with the file as it is now; empty while it is in use."""
        self.config = over(self._base)
        if path is not None:
            self._content = _content(path)
            self.config = self._read()

    def current(self) -> Config:
        """Return the settings in use."""
        return self.config

    def look(self) -> bool:
        """Read the file again if its content has changed; say whether new settings are in use."""
        if self._path is None:
            return False
        try:
            content = _content(self._path)
            if content == self._content:
                return False
            self._content = content
            self.config = self._read()
        except InputError as e:
            if str(e) != self.trouble:
                self.trouble = str(e)
                event("settings not used, the old ones stay", logging.ERROR, why=self.trouble)
            return False
        self.trouble = ""
        event("settings changed", file=self._path)
        return True

    async def run(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Look again and again, until cancelled."""
        while True:
            await sleep(LOOK_S)
            self.look()

    def _read(self) -> Config:
        assert self._path is not None
        changes, warnings = changes_in(self._path)
        for w in warnings:
            event("setting passed over", logging.WARNING, path=w.path, why=w.message)
        config = self._over(changed(self._base, dict(changes)))
        rules_for(config)
        return config


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as e:
        raise InputError(f"{path}: cannot be read: {e.strerror or e}") from e
