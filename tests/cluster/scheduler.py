"""The scheduler under test, as users start it: `apportion run` in a process of its own."""

import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.access import Access
from cluster.between import Proxy
from cluster.part import Part, children
from cluster.waiting import DEADLINE_S, PlaneError, until

NAME = "apportion"
MOVABLE = Path(__file__).with_name("movable.py")


class Scheduler(Part):
    """One replica. It logs a line of JSON for each event, which tests can read."""

    def __init__(
        self,
        folder: Path,
        access: Access,
        *words: str,
        name: str = NAME,
        elects: bool = False,
        clock: Path | None = None,
    ) -> None:
        """`words`: more of the command line; `name`: of log and kubeconfig; `elects`: by Lease.

        `clock`: a file that says by how many seconds the scheduler's wall clock is ahead.
        """
        folder.mkdir(parents=True, exist_ok=True)
        kubeconfig = access.write_kubeconfig(folder / f"{name}.kubeconfig")
        program = ["-m", "apportion"] if clock is None else [str(MOVABLE), str(clock)]
        command = [
            sys.executable, *program, "run", "--kubeconfig", str(kubeconfig),
            "--log-format", "json", *([] if elects else ["--no-leader-elect"]), *words,
        ]  # fmt: skip
        path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        super().__init__(name, command, folder / f"{name}.log", path)

    def events(self, name: str = "") -> list[dict[str, Any]]:
        """Return what it has logged so far, or the events of one name."""
        if not self.log.exists():
            return []
        text = self.log.read_text(errors="replace")  # the end may be half a letter
        lines = (line for line in text.splitlines() if line.startswith("{"))
        events = []
        for line in lines:
            try:
                events.append(json.loads(line))
            except json.JSONDecodeError:  # half a line: it is being written
                continue
        return [e for e in events if not name or e.get("event") == name]

    def kill_children(self) -> None:
        """Kill the solver's process, as the kernel does where memory is short."""
        for child in children(self.pid):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def wait_for(
        self, name: str, times: int = 1, deadline_s: float = DEADLINE_S
    ) -> list[dict[str, Any]]:
        """Wait until it has logged the event so often."""

        def has_come() -> list[dict[str, Any]]:
            events = self.events(name)
            if len(events) >= times:
                return events
            if not self.is_running:
                raise PlaneError(f"{self.name} has ended with {self.exit_code}\n{self.tail()}")
            return []

        return until(has_come, f"{self.name} logs {name} {times} times", deadline_s)


class Schedulers:
    """Starts replicas for one test, with the rights of `access`, and ends all of them with it."""

    def __init__(self, folder: Path, access: Access) -> None:
        self._folder = folder
        self._access = access
        self.started: list[Scheduler] = []

    def start(
        self,
        *words: str,
        through: Proxy | None = None,
        elects: bool = False,
        clock: Path | None = None,
    ) -> Scheduler:
        """Start one with more words on its command line, and wait until it knows the cluster."""
        access = self._access
        if through is not None:
            access = replace(access, url=through.access.url)
        name = f"{NAME}-{len(self.started)}"
        one = Scheduler(self._folder, access, *words, name=name, elects=elects, clock=clock)
        self.started.append(one)
        one.start()
        one.wait_for("synced")
        return one

    def stop(self) -> None:
        for one in self.started:
            one.kill()

    def tails(self) -> dict[str, str]:
        """Return the end of the log of each."""
        return {one.name: one.tail(40) for one in self.started}
