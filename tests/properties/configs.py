"""Random settings of a cycle: mostly the defaults, each option at times."""

from random import Random
from typing import Any, get_args

from apportion.models import Config, QueueShare, TierSettings
from apportion.models.config import Within

OPTIONAL = ("host-ports", "pod-affinity", "topology-spread", "taints", "node-affinity", "quota")
"""Rules that may be turned off without harm to what other rules say."""
BUDGET_MS = 2000


def config(seed: int, judged: bool = False) -> Config:
    """Return deterministic settings; ``judged``: only those that the brute force follows."""

    rng = Random(f"config {seed}")

    def chance(one_in: int) -> bool:
        return rng.randrange(one_in) == 0

    percents = (50, 25, 100, 0)
    shares: dict[str, QueueShare] = {}
    for n in range(4) if chance(4) else ():
        shares[f"q{n}"] = QueueShare(
            within=rng.choice(get_args(Within)),
            capability_percent={"cpu": rng.choice(percents)} if chance(6) else {},
            deserved_percent={"cpu": rng.choice(percents)} if chance(6) else {},
            guarantee_percent={"cpu": rng.choice(percents)} if chance(8) else {},
            namespaces=("a",) if chance(8) else None,
        )
    plain: dict[str, Any] = {}
    if not judged:
        plain["evictions"] = rng.choice(("all", "all", "all", "queue", "none"))
        plain["engine"] = "greedy" if chance(12) else "auto"
        plain["off"] = (rng.choice(OPTIONAL),) if chance(8) else ()
    return Config(
        budget_ms=BUDGET_MS,
        seed=rng.randint(1, 3),
        deterministic=True,
        tiers=TierSettings(
            slices=rng.choice((8, 8, 1, 2, 16)),
            packing=rng.choice(("binpack", "spread", "fragmentation")),
        ),
        queues=shares,
        literal_deserved=chance(8),
        priority_everywhere=chance(8),
        grace_s=rng.choice((60, 60, 0)),
        **plain,
    )
