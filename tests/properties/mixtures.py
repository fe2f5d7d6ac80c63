"""Random clusters in which shares, slices, claims, cells, levels, volumes and rights meet."""

from random import Random

from msgspec.structs import replace

from apportion.models import Config, Snapshot
from oracle import worlds
from oracle.mixed import mixed
from properties.clusters import SMALL, Size, cluster
from properties.configs import config

MIDDLE = Size(nodes=5, queues=5, groups=8, pods=20, foreign=2, members=6)


def mixture(seed: int) -> tuple[Snapshot, Config]:
    """Return a cluster of some size, under any settings."""
    base = cluster(seed, MIDDLE)
    return mixed(base, Random(f"mixture {seed}")), _with_geometry(seed, config(seed))


def small_mixture(seed: int) -> tuple[Snapshot, Config]:
    """Return a cluster that the brute force can go through, under settings that it follows."""
    rng = Random(f"small mixture {seed}")
    if seed % 3 == 0:
        return mixed(cluster(seed, SMALL), rng), config(seed, judged=True)
    settings = replace(worlds.settings(seed), deterministic=True)
    return mixed(worlds.world(seed, "small" if seed % 3 == 1 else "tiny"), rng), settings


def _with_geometry(seed: int, settings: Config) -> Config:
    """Let one in four be told how idle devices could be cut."""
    return settings if seed % 4 else replace(settings, options={"devices": {"new_geometry": True}})
