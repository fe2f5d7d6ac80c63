"""Clusters that show a known defect: each is expected to fail until the defect is gone."""

BUDGET = "a budget is spent on a group to be given up that the plan completes"
OUT_AT = "rows let less of a victim be out at an inner queue than the checker"
REST = "with priority_everywhere, what starts by priority is evicted by right one cycle later"

_SEEDS = {
    BUDGET: (104190, 404129),
    OUT_AT: (201729,),
    REST: (701793,),
}  # fmt: skip

KNOWN = {seed: why for why, seeds in _SEEDS.items() for seed in seeds}
"""Seed to what is wrong."""
