"""Names that try to be more than names, and pages made of nothing else."""

from collections.abc import Mapping

from apportion.adapters.ask.capacity import Capacity, Fit, PerNode
from apportion.adapters.ask.change import Change
from apportion.adapters.ask.conflict_words import Holder, Member
from apportion.adapters.ask.difference import (
    Difference,
    GroupChange,
    GroupState,
    QueueChange,
    UseChange,
)
from apportion.adapters.ask.drain import Blocker, Draining, Emptied, Kept
from apportion.adapters.ask.explain import Explanation
from apportion.adapters.ask.rivals import Order, Rival
from apportion.adapters.ask.whatif import WhatIf
from apportion.adapters.report.answers import whatif_page, why_page
from apportion.adapters.report.capacity import capacity_page
from apportion.adapters.report.draining import draining_page
from apportion.adapters.report.page import Report, written
from apportion.models import (
    Amounts,
    Bind,
    Config,
    Group,
    GroupKey,
    Held,
    Level,
    Node,
    NodeName,
    Plan,
    Pod,
    PodKey,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    QueueRow,
    Reason,
    Snapshot,
    Topology,
    Warned,
    snapshot_of,
)
from apportion.models.edits import Drain, RemoveGroup

CONFIG = Config()
HOSTILE = (
    "<script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>", "</title></style></svg>",
    "&lt;b&gt;", "<!--", "]]>", "\u202egnp.exe", "\u2066x\u2069", "job 🧪👩\u200d🔬", "שלום",
    "a\x00b\x1b[31m", "javascript:alert(1)", "{{7*7}}", "x" * 300, "  ", "\u2028", "`${x}`",
)  # fmt: skip


def document_of(word: str) -> str:
    """Return the page of a plan in which every name that a cluster can choose is the word."""
    snapshot, made = _planned(word)
    group = GroupKey(f"{word}/{word}")
    return written(Report(made, snapshot, CONFIG, word, changes={group: [word]}))


def answers_of(word: str) -> Mapping[str, str]:
    """Return the pages of answers about such a cluster, by command."""
    snapshot, made = _planned(word)
    group, pod = GroupKey(f"{word}/{word}"), PodKey(f"{word}/{word}")
    change = Change(word, (Drain(word),), word, True, 3, True)
    why = Explanation(
        group, word, GroupState("waits", waiting=1), "order", (Reason(word, word, word),),
        (Member(word, word, word, "cpu", (Holder(word, 1),)),), True,
        Order("entitled", (Rival(group, word, "running", 1, "due", word),), word), (change,),
    )  # fmt: skip
    stands = GroupChange(group, word, GroupState(), GroupState("starts", starting=1), (pod,),
                         (Reason(word, word, word),))  # fmt: skip
    amounts = Amounts({f"example.com/{word}": 1000})
    difference = Difference(
        (stands,), (group,), (), (group,),
        queues=(QueueChange(word, Amounts(), amounts, 0.0, 0.5),),
        use=(UseChange(f"example.com/{word}", 0, 1, 2, 2, 2, 1, 2, 1),),
    )  # fmt: skip
    both = (snapshot, made)
    answer = WhatIf((Drain(word), RemoveGroup(group)), (word,), both, both, difference)
    fits = Capacity(group, Fit(1, 2, True), (PerNode(word, 2, Fit(3, 4, False)),))
    drained = Draining(
        (Emptied(NodeName(word), 3, 1, 1, (pod,)),),
        (Kept(NodeName(word), (Blocker(pod, word),)),),
    )  # fmt: skip
    return {
        "explain": why_page(why, made, snapshot, CONFIG, word),
        "whatif": whatif_page(answer, CONFIG, word),
        "capacity": capacity_page(fits, word),
        "drain": draining_page(drained, word),
    }


def _planned(word: str) -> tuple[Snapshot, Plan]:
    queue, group = QueueName(word), GroupKey(f"{word}/{word}")
    node, pod = NodeName(word), PodKey(f"{word}/{word}")
    spec = PodSpec(Amounts({f"example.com/{word}": 1000, "cpu": 1000}))
    snapshot = snapshot_of(
        nodes=[
            Node(node, Amounts({f"example.com/{word}": 2000, "cpu": 4000, "pods": 10})),
            Node(NodeName(f"{word}2"), unschedulable=True), Node(NodeName(f"{word}3")),
        ],
        queues=[Queue(queue)], groups=[Group(word, word, queue, source=word, user=word)],
        pods=[Pod(word, word, spec, PodState.PENDING, group)], scheduler_names=(word,),
        topologies=[Topology(word, (Level(word, {word: (word,), f"{word}2": (f"{word}2",)}),))],
        counted={word: 3},
    )  # fmt: skip
    made = Plan(
        snapshot="", config="", binds=(Bind(pod, group, node),),
        held=(Held(group, (pod,), (Reason(word, word, word),)),),
        warnings=(Warned(word, word, word),),
        queues=(QueueRow(word, Amounts({"cpu": 1000}), {}, Amounts(), 0.5),),
    )  # fmt: skip
    return snapshot, made
