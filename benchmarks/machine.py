"""Machine: what the figures come from, and how much memory a process and its children take."""

import os
import platform
import threading
from pathlib import Path
from typing import Any

MIB = 1024


def machine() -> dict[str, Any]:
    """Return what has to be known of the machine to read the figures."""
    return {
        "processor": _first("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "memory_mib": _number("/proc/meminfo", "MemTotal") // MIB,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def pss_mib(pid: int) -> float:
    """Return the proportional memory of a process and everything below it; 0 where it is gone."""
    own = _number(f"/proc/{pid}/smaps_rollup", "Pss") / MIB
    return own + sum(pss_mib(c) for c in _children(pid))


class Watch:
    """Follows the memory of a process with its children from outside, and keeps the peak."""

    def __init__(self, pid: int, every_s: float = 0.1) -> None:
        self.peak_mib = 0.0
        self.seen_mib: list[float] = []
        """Everything that was seen, in its order."""
        self._pid = pid
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> float:
        """Stop following; return the peak."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        return self.peak_mib

    def _follow(self) -> None:
        while not self._over.is_set():
            self.seen_mib.append(pss_mib(self._pid))
            self.peak_mib = max(self.peak_mib, self.seen_mib[-1])
            self._over.wait(self._every_s)


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(c) for t in tasks for c in (t / "children").read_text().split()]
    except OSError:
        return []


def _first(path: str, name: str) -> str:
    """Return what a file of ``name: value`` lines says first; "" where it says nothing."""
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if key.strip() == name:
                    return value.strip()
    except OSError:
        pass
    return ""


def _number(path: str, name: str) -> int:
    words = _first(path, name).split()
    return int(words[0]) if words else 0
