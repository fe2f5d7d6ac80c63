"""Strategies: settings of a cycle, mostly the defaults, each option at times."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from apportion.models import Config, QueueShare, TierSettings

OPTIONAL = ("host-ports", "pod-affinity", "topology-spread", "taints", "node-affinity", "quota")
"""Rules that may be turned off without harm to what other rules say."""
BUDGET_MS = 2000


@st.composite
def configs(draw: Callable[[st.SearchStrategy[Any]], Any], judged: bool = False) -> Config:
    """Return deterministic settings; ``judged``: only those that the brute force follows."""

    def chance(one_in: int) -> bool:
        return bool(draw(st.integers(0, one_in - 1)) == one_in - 1)

    within = st.sampled_from(("groups", "namespaces", "users"))
    percent = st.sampled_from((50, 25, 100, 0))
    shares: dict[str, QueueShare] = {}
    for n in range(4) if chance(4) else ():
        shares[f"q{n}"] = QueueShare(
            within=draw(within),
            capability_percent={"cpu": draw(percent)} if chance(6) else {},
            deserved_percent={"cpu": draw(percent)} if chance(6) else {},
            guarantee_percent={"cpu": draw(percent)} if chance(8) else {},
            namespaces=("a",) if chance(8) else None,
        )
    plain: dict[str, Any] = {}
    if not judged:
        plain["evictions"] = draw(st.sampled_from(("all", "all", "all", "queue", "none")))
        plain["engine"] = "greedy" if chance(12) else "auto"
        plain["off"] = (draw(st.sampled_from(OPTIONAL)),) if chance(8) else ()
    return Config(
        budget_ms=BUDGET_MS,
        seed=draw(st.integers(1, 3)),
        deterministic=True,
        tiers=TierSettings(
            slices=draw(st.sampled_from((8, 8, 1, 2, 16))),
            packing=draw(st.sampled_from(("binpack", "spread", "fragmentation"))),
        ),
        queues=shares,
        literal_deserved=chance(8),
        priority_everywhere=chance(8),
        grace_s=draw(st.sampled_from((60, 60, 0))),
        **plain,
    )
