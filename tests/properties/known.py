"""Clusters that show a known defect: each is expected to fail until the defect is gone."""

SPREAD = "packing spread shares the name of a variable with the rights of victims"
EMPTIED = "the hint says that a group with minimum 0 goes whole where its members go one by one"
UNLIMITED = "claims in queues keep to limits although the rule quota is off"
REASONS = "reasons of held groups follow the order in which a queue's dues are given"
BUDGET = "a budget is spent on a group to be given up that the plan completes"
OUT_AT = "rows let less of a victim be out at an inner queue than the checker"
REST = "with priority_everywhere, what starts by priority is evicted by right one cycle later"

_SEEDS = {
    SPREAD: (
        100220, 100229, 100257, 100333, 100345, 100376, 100381, 100570, 100647, 100660, 100775,
        100842, 100960, 100988, 200017, 200021, 200049, 200057, 200105, 200115, 200142, 200163,
        300020, 300060, 300097, 300190, 700033, 700040, 700047, 700152, 700197,
    ),
    UNLIMITED: (100789, 201538),
    BUDGET: (104190, 404129),
    OUT_AT: (201729,),
    REST: (701793,),
    EMPTIED: (200098, 200121, 200176, 300255),
    REASONS: (500031, 500040, 500077),
}  # fmt: skip

KNOWN = {seed: why for why, seeds in _SEEDS.items() for seed in seeds}
"""Seed to what is wrong."""
