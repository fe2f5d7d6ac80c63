"""The clock of the scheduler's machine jumps, and time that was measured before goes on."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.between import Proxy
from cluster.client import Client
from cluster.looking import nodes_of, wait_placed
from cluster.movable import move
from cluster.objects import gang, pod
from cluster.rules import Refuse, later_binds
from cluster.scheduler import Schedulers
from cluster.test_live_refused import with_replica_set
from cluster.waiting import until

pytestmark = pytest.mark.usefixtures("kwok", "controllers", "volcano", "four")

HOUR_S = 3600.0
GRACE_S = 8


def test_the_scheduler_lives_by_the_clock_that_was_moved(
    client: Client, schedulers: Schedulers, tmp_path: Path
) -> None:
    clock = tmp_path / "clock"
    move(clock, 24 * HOUR_S)
    one = schedulers.start(clock=clock)

    client.create(pod("p", 1))

    wait_placed(client, "p")
    told = datetime.fromisoformat(one.events("synced")[0]["time"])
    assert told - datetime.now(UTC) > timedelta(hours=23)


def test_a_gang_is_given_up_though_the_clock_has_gone_back_an_hour(
    client: Client, schedulers: Schedulers, proxy: Proxy, tmp_path: Path
) -> None:
    settings, clock = tmp_path / "settings.yaml", tmp_path / "clock"
    settings.write_text(
        f"apiVersion: apportion.dev/v1alpha1\nkind: Configuration\ngrace: {GRACE_S}s\n"
    )
    proxy.add(Refuse(later_binds(), 403))
    one = schedulers.start("--config", str(settings), through=proxy, clock=clock)
    client.create_all(with_replica_set(gang("g", 4, 8)))
    until(lambda: nodes_of(client), "one is bound, the others are refused")
    # The cycle after the binds has seen that the gang is broken, or the next one does.
    one.wait_for("cycle", len(one.events("cycle")) + 1)

    move(clock, -HOUR_S)

    until(lambda: any(r.is_eviction for r in proxy.seen), "the gang is given up")
