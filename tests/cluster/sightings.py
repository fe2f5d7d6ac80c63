"""What a live scheduler saw, now and then: taken without waiting, masked and planned afterwards.

Two machines that differ in all that a plan must not depend on plan the masked snapshot alike; under
the names of the cluster it is the plan of the original; and no name of the cluster is in the file.
"""

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from apportion.models import Snapshot
from apportion.models.snapshot import read
from cluster.client import Client
from cluster.installing import NAMESPACE, account
from cluster.scheduler import Scheduler, Schedulers
from leaks import left, names_of
from masked_plans import DIGESTS

LISTEN = ("--listen", "127.0.0.1:0")
"""Words of a scheduler that shows what it saw."""
READER = "sightings"
PATIENCE_S = 10.0
"""Who does not answer by then is busy with its troubles; it is asked again later."""
_ON_CPUS = """
import os, runpy, sys
cpus = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, cpus[:int(sys.argv.pop(1))])
runpy.run_module("apportion", run_name="__main__", alter_sys=True)
"""


class Sightings:
    """Asks the scheduler of the moment for its last snapshot, every so often, in a thread."""

    def __init__(self, client: Client, schedulers: Schedulers, every_s: float) -> None:
        account(client, READER, "apportion-debug")
        self._schedulers = schedulers
        self._headers = {"Authorization": f"Bearer {client.token_of(NAMESPACE, READER)}"}
        self._every_s = every_s
        self._asked_s = time.monotonic()
        self._ports: dict[str, int] = {}
        self._thread = ThreadPoolExecutor(1)
        self._asking: Future[bool] | None = None
        self.taken: list[bytes] = []
        """Snapshots, gzipped as they came."""

    def look(self) -> None:
        """Begin to take a snapshot, if it is time for one; nobody waits for it."""
        if time.monotonic() > self._asked_s + self._every_s and self._is_free():
            self._asked_s = time.monotonic()
            self._asking = self._thread.submit(self.take)

    def _is_free(self) -> bool:
        if self._asking is None or not self._asking.done():
            return self._asking is None
        self._asking.result()  # what went wrong there is told here
        return True

    def end(self) -> None:
        """Take no more; what is being asked for is waited for."""
        self._thread.shutdown()
        self._is_free()

    def take(self) -> bool:
        """Take a snapshot now; say whether there was one."""
        port = self._port(self._schedulers.started[-1])
        if port is None:
            return False
        url = f"http://127.0.0.1:{port}/debug/snapshot"
        try:
            page = urllib3.request(
                "GET", url, headers=self._headers, timeout=PATIENCE_S, retries=False
            )
        except urllib3.exceptions.HTTPError:
            return False
        if page.status == 200:
            self.taken.append(page.data)
        return page.status == 200

    @property
    def fullest(self) -> bytes:
        """The one of most pods."""
        return max(self.taken, key=lambda data: len(read(data).pods))

    def _port(self, one: Scheduler) -> int | None:
        """Return where the scheduler listens; the log is read once for each."""
        if one.name not in self._ports:
            for said in one.events("listening"):
                self._ports[one.name] = said["port"]
        return self._ports.get(one.name)


@dataclass(frozen=True, slots=True)
class Machine:
    """What two machines differ in: seeds of hashes, processors, language, time zone, folders."""

    folder: Path
    cpus: int
    words: Mapping[str, str]

    def run(self, *words: str) -> str:
        """Run a command as people do, and return what it prints."""
        self.folder.mkdir(parents=True, exist_ok=True)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        env |= {**self.words, "HOME": str(self.folder)}
        done = subprocess.run(
            [sys.executable, "-c", _ON_CPUS, str(self.cpus), *words],
            env=env, cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        return done.stdout


def machines(folder: Path) -> tuple[Machine, Machine]:
    """Return two that have nothing in common but the program."""
    return (
        Machine(folder / "one", 1, {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}),
        Machine(
            folder / "two" / "deeper", 1024,
            {"PYTHONHASHSEED": "2", "TZ": "Asia/Kolkata", "LC_ALL": "tr_TR.UTF-8"},
        ),
    )  # fmt: skip


def masked_amiss(seen: bytes, settings: Path, folder: Path) -> list[str]:
    """Return what is wrong about masking a snapshot and planning it on two machines."""
    folder.mkdir(parents=True)
    original = folder / "seen.json.gz"
    original.write_bytes(seen)
    planning = ("--deterministic", "--config", str(settings), "--output", "json")
    files, plans = [], []
    one, two = machines(folder)
    for machine in (one, two):
        masked, key = machine.folder / "masked.json.gz", machine.folder / "key.json"
        machine.run("snapshot", "-f", str(original), "--mask", "--mask-key", str(key),
                    "--out", str(masked))  # fmt: skip
        files.append(gzip.decompress(masked.read_bytes()))
        plans.append(machine.run("plan", str(masked), *planning))
    (folder / "plan.json").write_text(plans[0])
    key = one.folder / "key.json"
    told = _told(one.run("unmask", str(folder / "plan.json"), "--mask-key", str(key)))
    want = _told(two.run("plan", str(original), *planning))
    return [*apart(files, plans), *other(told, want), *names_left(files[0], read(seen))]


def apart(files: list[bytes], plans: list[str]) -> list[str]:
    """Return what of the machines' files and plans is not the same."""
    digests = {json.loads(p)["digest"] for p in plans}
    found = [f"the plans have the digests {sorted(digests)}"] if len(digests) > 1 else []
    if len({*files}) > 1:
        found.append("the masked files differ")
    if len({*plans}) > 1 and not found:
        found.append("the plans differ in what has no part in their digests")
    return found


def other(told: Mapping[str, Any], want: Mapping[str, Any]) -> list[str]:
    """Return what is told otherwise than it should be."""
    keys = sorted({*told, *want})
    return [f"{k}: {told.get(k)}, not {want.get(k)}" for k in keys if told.get(k) != want.get(k)]


def names_left(masked: bytes, snapshot: Snapshot) -> list[str]:
    """Return the names of the cluster that are found in the file, each in a sentence."""
    return [f"{name} is in the masked file" for name in left(masked, names_of(snapshot), snapshot)]


def _told(plan: str) -> dict[str, Any]:
    return {k: v for k, v in json.loads(plan).items() if k not in DIGESTS}
