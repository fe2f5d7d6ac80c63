"""Random work and random faults: nothing is ever wrong on the cluster, and nobody waits in vain.

`make soak-live` goes on for twenty minutes; `APPORTION_SOAK_S` says otherwise, and
`APPORTION_SOAK_SEED` begins another series.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster.between import Proxy
from cluster.client import Client
from cluster.in_vain import InVain
from cluster.judge import Judge
from cluster.looking import nodes_of
from cluster.plane import ControlPlane
from cluster.scheduler import Schedulers
from cluster.sightings import LISTEN, Sightings, masked_amiss
from cluster.turmoil import Turmoil
from cluster.waiting import until

SHORT_S = 20
GRACE_S = 5
"""A broken gang is given up after so long; tests do not wait for the usual minute."""
PATIENCE_S = GRACE_S + 55.0
WAIT_S = 60.0
"""So long may a group wait that could start, but for the time in which something is restarted."""
LOOK_S = 3.0
"""So often it is asked who could start."""
TROUBLE_S = 4.0
"""So long after one fault comes the next."""
SIGHTING_S = 4.0
"""So long after one snapshot of the scheduler comes the next; in a long soak a twentieth of it."""
QUIET_S = 240.0
"""When nothing comes any more, all that is possible has been done by then, however busy others keep
the machine; mostly within seconds."""

pytestmark = pytest.mark.usefixtures("kwok", "controllers", "volcano")


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(SHORT_S, id="short"),
        pytest.param(int(os.environ.get("APPORTION_SOAK_S", "1200")), marks=pytest.mark.soak),
    ],
)
def test_nothing_is_wrong_during_a_turmoil_and_everything_done_after_it(
    plane: ControlPlane,
    client: Client,
    proxy: Proxy,
    schedulers: Schedulers,
    tmp_path: Path,
    seconds: int,
) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        f"apiVersion: apportion.dev/v1alpha1\nkind: Configuration\ngrace: {GRACE_S}s\n"
    )
    words = ("--config", str(settings), "--budget", "1s", *LISTEN)
    seed = int(os.environ.get("APPORTION_SOAK_SEED", "7"))
    turmoil = Turmoil(plane, client, proxy, schedulers, words, tmp_path / "clock", seed)

    def untroubled_s() -> float:
        return time.monotonic() - turmoil.troubled_s

    judge = Judge(client, PATIENCE_S, untroubled_s)
    in_vain = InVain(client, settings, WAIT_S, untroubled_s)
    sightings = Sightings(client, schedulers, max(SIGHTING_S, seconds / 20))
    turmoil.prepare()

    begun = asked = troubled = time.monotonic()
    turns = 0
    while time.monotonic() < begun + seconds and not judge.found:
        turns += 1
        turmoil.work()
        if time.monotonic() > troubled + TROUBLE_S:
            what = turmoil.trouble()
            troubled = time.monotonic()
            print(f"{troubled - begun:.0f} s: {what}", flush=True)
        turmoil.tried(judge.look)
        sightings.look()
        if time.monotonic() > asked + LOOK_S:
            asked = time.monotonic()
            turmoil.tried(lambda: judge.note(in_vain.look()))
    print(f"{turns} turns, {judge.looks} looks, {turmoil.done}")
    longest_s, who = in_vain.longest
    print(f"who could start has waited {longest_s:.1f} s at most ({who}); found: {judge.found}")
    assert judge.found == []
    turmoil.calm()

    def is_done() -> bool:
        judge.look()
        return possible(plane, settings) == []

    until(is_done, "all is done", QUIET_S)
    judge.look()
    sightings.end()
    if not sightings.taken:  # whenever it was asked, something else was wrong
        until(sightings.take, "the scheduler shows what it saw")
    # The short form is one of many tests: there one has to do.
    some = sightings.taken if seconds > SHORT_S else [sightings.fullest]
    print(f"{len(sightings.taken)} snapshots taken, {len(some)} are masked and planned")

    assert judge.found == []
    assert [masked_amiss(s, settings, tmp_path / f"seen-{i}") for i, s in enumerate(some)] == [
        [] for _ in some
    ]
    assert nodes_of(client)
    assert all(s.exit_code in (None, -9, 0) for s in schedulers.started)


def possible(plane: ControlPlane, settings: Path) -> list[str]:
    """Return the pods that a fresh plan for the cluster as it is would start."""
    words = [sys.executable, "-m", "apportion"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    seen = settings.with_name("seen.json")
    for command in (
        [*words, "snapshot", "--kubeconfig", str(plane.kubeconfig), "--out", str(seen)],
        [*words, "plan", str(seen), "--config", str(settings), "--output", "json"],
    ):
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
    return [bind["pod"] for bind in json.loads(done.stdout)["binds"]]
