"""Where a pod may stand, judged by hand."""

from typing import Any

import pytest

from apportion.models import (
    Amounts,
    HostPort,
    PodKey,
    PodState,
    PodTerm,
    SpreadConstraint,
    Taint,
    Toleration,
)
from oracle.build import Members, foreign, node, only, queue, snapshot
from oracle.legality import violations
from oracle.verdicts import DEFAULT, broken


@pytest.mark.parametrize(
    ("name", "spec", "host", "want"),
    [
        ("plain", {}, {}, set()),
        ("selector", {"node_selector": (("disk", "ssd"),)}, {}, {"node selector or affinity"}),
        ("no affinity term", {"node_affinity": ()}, {}, {"node selector or affinity"}),
        ("taint", {}, {"taints": (Taint("k", "NoSchedule"),)}, {"taint"}),
        ("soft taint", {}, {"taints": (Taint("k", "PreferNoSchedule"),)}, set()),
        (
            "tolerated",
            {"tolerations": (Toleration("k", "Exists"),)},
            {"taints": (Taint("k", "NoExecute"),)},
            set(),
        ),
        ("cordoned", {}, {"unschedulable": True}, {"node takes no pods"}),
        ("not ready", {}, {"ready": False}, {"node takes no pods"}),
        ("too big", {}, {"allocatable": Amounts({"cpu": 500, "pods": 9})}, {"capacity"}),
        ("no slot", {}, {"allocatable": Amounts({"cpu": 5000})}, {"capacity"}),
    ],
)
def test_a_pod_may_stand_where_kube_scheduler_lets_it(
    name: str, spec: dict[str, Any], host: dict[str, Any], want: set[str]
) -> None:
    n = node("n1", 4)
    for key, value in host.items():
        n = type(n)(**{**{f: getattr(n, f) for f in n.__struct_fields__}, key: value})
    s = snapshot(n, queue("q"), Members("g", "q", waiting=1, spec=spec))

    assert broken(s, {"g0": "n1"}) == want, name


def test_company_is_judged_in_the_final_state() -> None:
    keep_off = PodTerm("host", only("g"), None)
    near = PodTerm("host", only("h"), None)
    s = snapshot(
        node("n1", 9, labels={"host": "n1"}),
        node("n2", 9, labels={"host": "n2"}),
        queue("q"),
        Members("g", "q", waiting=2, minimum=2, spec={"host_ports": (HostPort(80),)}),
        Members("h", "q", on=["n1"], waiting=1, spec={"anti_affinity": (keep_off,)}),
        Members("i", "q", waiting=1, spec={"affinity": (near,)}),
        Members(
            "j", "q", waiting=2, spec={"spread": (SpreadConstraint(1, "host", True, only("j")),)}
        ),
    )

    assert broken(s, {"g0": "n2", "g1": "n2"}) == {"host port or anti-affinity"}
    assert broken(s, {"g0": "n1", "g1": "n2"}) == {"host port or anti-affinity"}
    assert broken(s, {"i0": "n2"}) == {"affinity"}
    assert broken(s, {"i0": "n2", "h1": "n2"}) == set()
    assert broken(s, {"j0": "n2", "j1": "n2"}) == {"spread"}
    assert broken(s, {"j0": "n2", "j1": "n1"}) == set()


def test_terminating_pods_are_gone_and_foreign_pods_are_not() -> None:
    waiting = Members("g", "q", cpu=2, waiting=1)
    leaving = snapshot(
        node("n1", 2), queue("q"), waiting, foreign("f", 1, "n1", PodState.TERMINATING)
    )
    staying = snapshot(node("n1", 2), queue("q"), waiting, foreign("f", 1, "n1"))

    assert broken(leaving, {"g0": "n1"}) == set()
    assert broken(staying, {"g0": "n1"}) == {"capacity"}
    assert violations(staying, DEFAULT, {}, [PodKey("sys/f")])
