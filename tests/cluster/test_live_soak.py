"""Random submits, deletes and drains, and faults among them: nothing is ever wrong on the cluster.

`make soak-live` goes on for twenty minutes; `APPORTION_SOAK_S` says otherwise.
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
from cluster.judge import Judge
from cluster.looking import nodes_of
from cluster.objects import node
from cluster.plane import ControlPlane
from cluster.scheduler import Schedulers
from cluster.turmoil import QUEUES, Turmoil
from cluster.waiting import until

GRACE_S = 5
"""A broken gang is given up after so long; tests do not wait for the usual minute."""
PATIENCE_S = GRACE_S + 25.0
QUIET_S = 60.0
"""When nothing comes any more, all that is possible has been done by then."""

pytestmark = pytest.mark.usefixtures("kwok", "controllers", "volcano")


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(20, id="short"),
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
    client.create_all(node(f"n{i}", 8) for i in range(8))
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        f"apiVersion: apportion.dev/v1alpha1\nkind: Configuration\ngrace: {GRACE_S}s\n"
    )
    turmoil = Turmoil(
        plane, client, proxy, schedulers, ("--config", str(settings), "--budget", "1s"), seed=7
    )
    judge = Judge(client, QUEUES, PATIENCE_S)
    turmoil.prepare()

    end = time.monotonic() + seconds
    turns = 0
    while time.monotonic() < end and not judge.found:
        turns += 1
        turmoil.work()
        if turns % 15 == 0:
            turmoil.trouble()
        judge.look()
    turmoil.calm()
    until(lambda: possible(plane, settings) == [], "all is done", QUIET_S)
    judge.look()

    print(f"{turns} turns, {judge.looks} looks, {turmoil.done}")
    assert judge.found == []
    assert nodes_of(client)
    assert all(s.exit_code in (None, -9) for s in schedulers.started)


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
