"""The solver process seen from here: started early, asked with a deadline, killed when late."""

import os
import pickle
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .child import HEAD, send
from .linear import Goal, Linear

Floor = tuple[tuple[int, ...], tuple[int, ...], int]
"""Σ coefs · vars ≥ bound, added to one solve."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The optimum of a model with whole numbers let go."""

    value: float
    values: tuple[float, ...]
    reduced: tuple[float, ...]
    """By variable, what one unit more would change the value by."""


GRACE_S = 0.25
"""How far past its limit an answer is waited for."""
LATE_S = 5.0
"""How far past that the process may go on with it before it is killed: on a busy machine
it comes to its end a little later, which costs less than a process that starts anew."""
LATE = "the solver process is late with an answer"
NO_ANSWER = ("KILLED", "LATE")
"""Statuses of a reply where the process did not answer in time; there may be values even so."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the solver process answered: best values, and a bound that no solution passes."""

    status: str
    values: tuple[int, ...] | None = None
    bound: int | None = None
    detail: str = ""
    effort_s: float = field(default=0.0, compare=False)
    """Seconds of the solver's own time that it took, which no clock decides."""


def reply_of(message: object, model: Linear) -> Reply:
    """Read what the process said; ValueError where it is no answer about this model."""
    if not isinstance(message, dict) or not isinstance(message.get("status"), str):
        raise ValueError("an answer without a status")
    values, bound = message.get("values"), message.get("bound")
    if values is not None:
        whole = isinstance(values, list | tuple) and all(type(x) is int for x in values)
        if not whole or len(values) != len(model.lower):
            raise ValueError(f"values that are not {len(model.lower)} whole numbers")
        ranges = zip(values, model.lower, model.upper, strict=True)
        if any(not low <= x <= high for x, low, high in ranges):
            raise ValueError("values outside their ranges")
    if bound is not None and type(bound) is not int:
        raise ValueError("a bound that is no whole number")
    effort = message.get("effort", 0.0)
    if type(effort) is not float or not 0.0 <= effort < float("inf"):
        raise ValueError("an effort that is no number of seconds")
    return Reply(
        message["status"],
        None if values is None else tuple(values),
        None if bound is None else -bound,
        str(message.get("detail", "")),
        effort,
    )


class SolverProcess:
    """One child process with its own memory limit. Used from one thread."""

    def __init__(self, memory_mib: int = 4096) -> None:
        self._memory_mib = memory_mib
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._bytes = bytearray()
        self._model: Linear | None = None
        self._owed_until_s: float | None = None
        """There is an answer to come that nobody waits for; without it the process ends then."""
        self.failure = ""
        """Why the first of the processes since the last answer was given up."""

    def start(self) -> None:
        """Start the process, without waiting until it is ready."""
        if self._process is None:
            env = {**os.environ, "OMP_NUM_THREADS": "1"}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "apportion.solver.child", str(self._memory_mib)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=env,
            )
            self._ready = False
            self._model = None
            self._owed_until_s = None
            self._bytes.clear()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def is_late(self) -> bool:
        """Whether the process is still at a question whose time was over."""
        return self._owed_until_s is not None

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()
            self._process = None
            self._ready = False
            self._model = None
            self._owed_until_s = None

    def wait(self, limit_s: float | None = None) -> bool:
        """Wait until the process can take a model; say whether it can.

        One that is late for too long is killed: whoever asks next gets another one.
        """
        try:
            return self._is_ready(None if limit_s is None else time.monotonic() + limit_s)
        except (EOFError, OSError) as e:
            self.kill()  # it has died: whoever asks next gets another one
            self.failure = self.failure or f"the solver process died: {e}"
            return False

    def _is_ready(self, deadline: float | None) -> bool:
        """Start the process if there is none, and wait for its first word; it may have died."""
        self.start()
        if not self._ready:
            self._ready = self._read(deadline) is not None
        return self._ready and self._is_settled(deadline)

    def _is_settled(self, deadline: float | None) -> bool:
        """Take the answer that is still to come; say whether none is."""
        while (until_s := self._owed_until_s) is not None:
            message = self._read(until_s if deadline is None else min(deadline, until_s))
            if message is None:
                if time.monotonic() >= until_s:
                    self._gone("was killed past its limit", None)
                return False
            if not isinstance(message, dict) or message.get("status") != "STEP":
                self._owed_until_s = None
        return True

    def __enter__(self) -> "SolverProcess":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def solve(
        self,
        model: Linear,
        goal: Goal,
        floors: Sequence[Floor],
        hint: Sequence[int | None] | None,
        parameters: Mapping[str, Any],
        limit_s: float | None,
        fixed: Sequence[tuple[int, int]] = (),
    ) -> Reply:
        """Ask for the best solution; the best one streamed so far if the answer comes too late.

        ``limit_s`` is wall-clock time from now; None: until the process answers. ``fixed`` are
        variables with the values they keep; a solve with any gives no bound. Where the hint is
        None, the solver knows no value.
        """
        deadline = None if limit_s is None else time.monotonic() + limit_s
        best: tuple[int, ...] | None = None
        try:
            if not self._is_ready(deadline):
                if self._process is None:
                    return Reply("KILLED", None, None, self.failure)
                if self.is_late:
                    return Reply("LATE", None, None, LATE)
                return self._gone("did not start in time", best)
            if self._model is not model:
                self._write({"op": "model", "model": model})
                self._model = model
            left = None if deadline is None else max(0.001, deadline - time.monotonic())
            asked = dict(parameters)
            if left is not None:
                asked["max_time_in_seconds"] = left
            self._write(
                {
                    "op": "solve", "goal": (goal.vars, goal.coefs), "floors": list(floors),
                    "hint": None if hint is None else list(hint), "parameters": asked,
                    "stream": deadline is not None, "fixed": list(fixed),
                }
            )  # fmt: skip
            hard = None if deadline is None else deadline + GRACE_S
            while True:
                message = self._read(hard)
                if message is None:
                    self._owed_until_s = time.monotonic() + LATE_S
                    return Reply("LATE", best, None, LATE)
                reply = reply_of(message, model)
                best = best if reply.values is None else reply.values
                if reply.status != "STEP":
                    break
        except (BrokenPipeError, EOFError, OSError) as e:
            return self._gone(f"died: {e}", best)
        except (ValueError, TypeError, pickle.UnpicklingError) as e:
            return self._gone(f"talks nonsense: {e}", best)
        self.failure = ""
        # Where something was fixed, nothing is known of the model as it is.
        bound = None if fixed else reply.bound
        return Reply(reply.status, best, bound, reply.detail, reply.effort_s)

    def relax(self, model: Linear, goal: Goal, limit_s: float) -> Relaxed | None:
        """Solve the linear relaxation; None where that fails or takes too long."""
        deadline = time.monotonic() + limit_s
        try:
            if not self._is_ready(deadline):
                return None
            self._write(
                {
                    "op": "relax", "model": model, "goal": (goal.vars, goal.coefs),
                    "limit_s": limit_s,
                }
            )  # fmt: skip
            message = self._read(deadline + GRACE_S)
        except (BrokenPipeError, EOFError, OSError, pickle.UnpicklingError):
            self.kill()
            return None
        if message is None:
            self._owed_until_s = time.monotonic() + LATE_S
            return None
        if message.get("status") != "OPTIMAL":
            return None
        return Relaxed(message["value"], tuple(message["values"]), tuple(message["reduced"]))

    def _gone(self, why: str, best: tuple[int, ...] | None) -> Reply:
        """End the process; what the first one suffered from is told with what the next did."""
        self.kill()
        said = f"the solver process {why}"
        if self.failure:
            return Reply("KILLED", best, None, f"{self.failure}; the next one {why}")
        self.failure = said
        return Reply("KILLED", best, None, said)

    def _write(self, message: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        send(self._process.stdin, message)

    def _read(self, deadline: float | None) -> Any:
        """Read one message; None when the deadline passes first.

        Bytes are taken from the pipe itself: a buffered reader could hold a message that the
        wait for the pipe does not see.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while (message := self._take()) is None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([pipe], [], [], left)
            if not ready:
                return None
            data = os.read(pipe, 1 << 20)
            if not data:
                raise EOFError("no answer")
            self._bytes += data
        return message[0]

    def _take(self) -> tuple[Any] | None:
        """Take a whole message from what has been read, if there is one."""
        if len(self._bytes) < HEAD:
            return None
        size = int.from_bytes(self._bytes[:HEAD], "big")
        if len(self._bytes) < HEAD + size:
            return None
        message = pickle.loads(bytes(self._bytes[HEAD : HEAD + size]))
        del self._bytes[: HEAD + size]
        return (message,)
