"""Names that try to be more than names, and a page made of nothing else."""

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
    Topology,
    Warned,
    snapshot_of,
)

CONFIG = Config()
HOSTILE = (
    "<script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>", "</title></style></svg>",
    "&lt;b&gt;", "<!--", "]]>", "\u202egnp.exe", "\u2066x\u2069", "job 🧪👩\u200d🔬", "שלום",
    "a\x00b\x1b[31m", "javascript:alert(1)", "{{7*7}}", "x" * 300, "  ", "\u2028", "`${x}`",
)  # fmt: skip


def document_of(word: str) -> str:
    """Return a page in which every name that a cluster can choose is the word."""
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
    return written(Report(made, snapshot, CONFIG, word, changes={group: [word]}))
