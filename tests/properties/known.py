"""Clusters that show a known defect: each is expected to fail until the defect is gone."""

_SEEDS: dict[str, tuple[int, ...]] = {}
"""What is wrong, and the seeds of clusters that show it."""

KNOWN = {seed: why for why, seeds in _SEEDS.items() for seed in seeds}
"""Seed to what is wrong."""
