"""Cycles: one cycle of large clusters and of clusters that are hard, with the plain pass beside."""

from functools import partial

from apportion.models import Config

from .edges import inside_their_due, near, onto_empty, reclaim
from .large import Large, large
from .subjects import Instance, plans

SECOND = Config(budget_ms=1000)
FIVE = Config(budget_ms=5000)
SHORT = Config(budget_ms=300)
"""What half a second leaves for the search: the plan is verified and made after it."""

plans(
    "big",
    "5,000 nodes 80 % full, 10,000 waiting pods, 50 queues in a tree; 1 s, and 5 s.",
    (
        Instance(
            "5,000 nodes, 1 s", partial(large, Large(5000, 10_000)), SECOND,
            "1.0 s, gap at most 1 %", short=False,
        ),
        Instance(
            "5,000 nodes, 5 s", partial(large, Large(5000, 10_000)), FIVE,
            "5.0 s, gap at most 0.5 %", short=False,
        ),
        Instance(
            "5,000 different nodes, 1 s", partial(large, Large(5000, 10_000, distinct=True)),
            SECOND, "2 s, gap at most 2 %", short=False,
        ),
    ),
)  # fmt: skip

plans(
    "growth",
    "Nodes with proportional pods, 80 % full, two waiting pods a node; budget 1 s.",
    tuple(
        Instance(
            f"{n:,} nodes", partial(large, Large(n, 2 * n)), SECOND,
            "slope at most 1.2 (log-log)", short=n <= 500,
        )
        for n in (250, 500, 1000, 2000, 5000, 10_000)
    ),
    against_size=True,
)  # fmt: skip

plans(
    "cannot run",
    "Nodes full of single-GPU pods inside their due; a gang of 10 pods of 8 GPUs has no right.",
    (
        Instance("50 nodes", partial(inside_their_due, 50), SECOND),
        Instance("500 nodes", inside_their_due, SECOND, "0.5 s, held for want of a right",
                 short=False),
    ),
)  # fmt: skip

plans(
    "reclaim",
    "Nodes of 8 GPUs full of single-GPU pods beyond their due: a gang takes half of the nodes.",
    (
        Instance("6 nodes, 3 x 8", partial(reclaim, 6, 3), SECOND),
        Instance("50 nodes, 25 x 8", partial(reclaim, 50, 25), SECOND),
        Instance("500 nodes, 250 x 8", reclaim, Config(budget_ms=1700), "2 s", short=False),
        Instance("1,000 nodes, 500 x 8", partial(reclaim, 1000, 500), Config(budget_ms=4500), "5 s",
                 short=False),
    ),
)  # fmt: skip

plans(
    "empty",
    "Pods onto empty nodes.",
    (
        Instance("400 single pods onto 50 nodes", partial(onto_empty, 50, 400), SECOND),
        Instance("4,000 single pods onto 500 nodes", onto_empty, SHORT, "0.5 s", short=False),
        Instance("gang of 64, preferred rack", partial(near, 64, 64), SECOND),
        Instance("gang of 512, preferred rack", near, SECOND, "0.5 s", short=False),
    ),
)  # fmt: skip

plans(
    "memory",
    "5,000 nodes, 50,000 running pods and 10,000 waiting, through one cycle.",
    (
        Instance(
            "5,000 nodes, 50,000 running", partial(large, Large(5000, 10_000, agents=6)),
            SECOND, "at most 1 GiB", short=False,
        ),
    ),
)  # fmt: skip
