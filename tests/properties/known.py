"""Clusters that show a known defect: each is expected to fail until the defect is gone."""

_SEEDS: dict[str, tuple[int, ...]] = {
    "what could run is asked of a cluster without those who have begun a device in parts; with "
    "overdrawn counters only they make a further part possible": (3_002_192,),
}
"""What is wrong, and the seeds of clusters that show it."""

KNOWN = {seed: why for why, seeds in _SEEDS.items() for seed in seeds}
"""Seed to what is wrong."""
