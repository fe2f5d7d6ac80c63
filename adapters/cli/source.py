"""Where the cluster of a command comes from: files, an API server, or a running scheduler."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..inputs import Asked, Case

DEFAULT = "-default"
"""Stands for ``--kubeconfig`` without a file: the pod's service account, else kubectl's own."""
TOKEN = "APPORTION_TOKEN"


@dataclass(frozen=True, slots=True)
class Source:
    """What the options say; exactly one of files, an API server and a running scheduler."""

    files: Sequence[str] = ()
    kubeconfig: str | None = None
    context: str | None = None
    live: str | None = None
    token_file: str | None = None

    def checked(self, missing: str) -> "Source":
        """Return it, if it names one cluster.

        Raises
        ------
        InputError
            If it names none, which ``missing`` says, or several.
        """
        from ...models import InputError

        named = self._named
        if not named:
            raise InputError(missing)
        if len(named) > 1:
            raise InputError(
                f"{' and '.join(named)} name different clusters; leave one of them out"
            )
        if self.token_file is not None and self.live is None:
            raise InputError("--token-file goes with --live")
        return self

    @property
    def is_named(self) -> bool:
        return bool(self._named)

    @property
    def _named(self) -> list[str]:
        server = self.kubeconfig is not None or self.context is not None
        options = (
            (f"files ({', '.join(self.files)})", bool(self.files)),
            ("--kubeconfig" if self.kubeconfig is not None else "--context", server),
            ("--live", self.live is not None),
        )
        return [name for name, given in options if given]

    @property
    def said(self) -> str:
        """The cluster in a word, for people."""
        if self.files:
            return ", ".join(self.files)
        return self.live if self.live is not None else "the cluster"

    def read(self, asked: "Asked") -> "Case":
        """Read the cluster.

        Raises
        ------
        InputError
            If it cannot be read.
        """
        from ..inputs import read_case

        if self.files:
            return read_case(self.files, asked, sys.stdin)
        if self.live is not None:
            return self._of_scheduler(self.live, asked)
        return self._of_server(asked)

    def _of_server(self, asked: "Asked") -> "Case":
        import asyncio
        import time

        from ...models import Config
        from ..inputs import Case, read_options
        from ..live import reading

        file = None if self.kubeconfig == DEFAULT else self.kubeconfig
        mirror = asyncio.run(reading.mirror_of(file, self.context, read_options(asked)))
        now_s = asked.now_s if asked.now_s is not None else int(time.time())
        return Case(mirror.snapshot(now_s), Config(), title=self.said, from_objects=False)

    def _of_scheduler(self, url: str, asked: "Asked") -> "Case":
        import asyncio

        from ..inputs import case_of_snapshot
        from ..live.pages import debug_snapshot, page_of

        data = asyncio.run(debug_snapshot(url, self._token()))
        return case_of_snapshot(data, f"--live {page_of(url)}", asked)

    def _token(self) -> str:
        from pathlib import Path

        from ...models import InputError

        if self.token_file is None:
            return os.environ.get(TOKEN, "").strip()
        try:
            token = Path(self.token_file).read_text().strip()
        except (OSError, UnicodeDecodeError) as e:
            said = getattr(e, "strerror", None) or e
            raise InputError(f"--token-file {self.token_file}: cannot be read: {said}") from e
        if not token or not token.isascii() or not token.isprintable():
            raise InputError(f"--token-file {self.token_file}: holds no token, one line of ASCII")
        return token
