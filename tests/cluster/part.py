"""One process of the control plane, or beside it: started, stopped, killed, paused."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cluster.waiting import DEADLINE_S, PlaneError, until

MORTAL = Path(__file__).with_name("mortal.py")


class Part:
    """A process with a log file, which does not outlive the Python process that started it.

    It leads a process group of its own: a Ctrl-C does not reach it, and signals sent from here
    reach its children, too. Start parts from the main thread, since the kernel kills them when
    the thread that started them ends.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.command = [str(word) for word in command]
        self.log = log
        self._env = {**os.environ, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; an error if it was never started."""
        if self._process is None:
            raise PlaneError(f"{self.name} has not been started")
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return None if self._process is None else self._process.poll()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it; its output is appended to the log."""
        if self.is_running:
            raise PlaneError(f"{self.name} runs already, as process {self.pid}")
        mortal = [sys.executable, "-I", "-S", str(MORTAL), str(os.getpid())]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*mortal, *self.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self._env, process_group=0,
            )  # fmt: skip

    def stop(self, grace_s: float = 5) -> None:
        """Ask it to end, and kill it when it has not ended in time."""
        if not self.is_running:
            return
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        try:
            self._wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it and its children at once, and wait until it is gone, ports and all."""
        if self._process is not None:
            below = descendants(self._process.pid)
            self.send(signal.SIGKILL)
            for pid in below:  # some lead groups of their own
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._wait(DEADLINE_S)

    def pause(self) -> None:
        """Stop its clock: it answers nothing, and keeps its connections."""
        self.send(signal.SIGSTOP)
        until(lambda: is_stopped(self.pid), f"every thread of {self.name} stands still")

    def resume(self) -> None:
        self.send(signal.SIGCONT)

    def send(self, number: int) -> None:
        """Send the signal to the process and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def wait(self, deadline_s: float) -> int:
        """Wait until it ends by itself; return the exit code."""
        try:
            return self._wait(deadline_s)
        except subprocess.TimeoutExpired as error:
            raise PlaneError(
                f"{self.name} still runs after {deadline_s} s\n{self.tail()}"
            ) from error

    def tail(self, lines: int = 20) -> str:
        """Return the end of its log."""
        try:
            text = self.log.read_text(errors="replace")
        except FileNotFoundError:
            return f"{self.name} has no log"
        return "\n".join([f"{self.name}, end of {self.log}:", *text.splitlines()[-lines:]])

    def _wait(self, deadline_s: float) -> int:
        assert self._process is not None
        return self._process.wait(deadline_s)


def children(pid: int) -> list[int]:
    """Return the processes that the process has started; none of one that is gone."""
    found: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def descendants(pid: int) -> list[int]:
    """Return the processes that the process has started, those that they have, and so on."""
    mine = children(pid)
    return mine + [below for child in mine for below in descendants(child)]


def is_stopped(pid: int) -> bool:
    """Whether no thread of the process runs on: each gets the signal when it is its turn."""
    try:
        stats = [(t / "stat").read_text() for t in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):  # one has just ended
        return False
    return all(stat.rpartition(")")[2].split()[0] in "TtZ" for stat in stats)
