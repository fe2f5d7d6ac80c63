"""Clusters that show a known defect: each is expected to fail until the defect is gone."""

REORDERED = "at an inner queue rows keep the order that items have before victims are gone"
REST = "with priority_everywhere, what starts by priority is evicted by right one cycle later"

_SEEDS = {
    REORDERED: (303217,),
    REST: (701793,),
}  # fmt: skip

KNOWN = {seed: why for why, seeds in _SEEDS.items() for seed in seeds}
"""Seed to what is wrong."""
