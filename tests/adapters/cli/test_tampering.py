"""A plan that is tampered with is refused, each way with the name of the right rule."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apportion.models.plan import from_document

Data = dict[str, Any]
GPU = "nvidia.com/gpu"
WORLD = Path(__file__).with_name("tampered.yaml")


@pytest.fixture(scope="module")
def _plans() -> dict[str, str]:
    return {}


@pytest.fixture
def plan(cli: Any, _plans: dict[str, str]) -> Data:
    """Return the plan of the world, made once."""
    if not _plans:
        result = cli("plan", WORLD, "--deterministic", "-o", "json")
        assert result.code == 0, result.err
        _plans["it"] = result.out
    made: Data = json.loads(_plans["it"])
    return made


def the(rows: list[Data], **wanted: str) -> Data:
    found = [r for r in rows if all(r[k].startswith(v) for k, v in wanted.items())]
    assert found, wanted
    return found[0]


def bind(plan: Data, pod: str, node: str) -> None:
    group = pod.rsplit("-", 1)[0]
    plan["binds"].append({"pod": f"default/{pod}", "group": f"default/{group}", "node": node})
    for h in plan["held"]:
        h["pods"] = [p for p in h["pods"] if p != f"default/{pod}"]
    plan["held"] = [h for h in plan["held"] if h["pods"] or h["group"] != f"default/{group}"]


def move(plan: Data, node: str, *pods: str) -> None:
    for pod in pods:
        the(plan["binds"], pod=f"default/{pod}")["node"] = node


def evict(plan: Data, pod: str, node: str, winner: str = "gang") -> None:
    plan["evictions"].append(
        {"pod": f"default/{pod}", "group": f"default/{pod.rsplit('-', 1)[0]}", "node": node,
         "for": [f"default/{winner}"], "reason": "", "cost": {}}
    )  # fmt: skip


def drop(plan: Data, part: str, **wanted: str) -> None:
    plan[part].remove(the(plan[part], **wanted))


def edit(rows: list[Data], value: Any, key: str, **wanted: str) -> None:
    the(rows, **wanted)[key] = value


def let_in(plan: Data, group: str, cpu: int) -> None:
    plan["held"] = [h for h in plan["held"] if h["group"] != f"default/{group}"]
    plan["admissions"].append({"group": f"default/{group}", "reserved": {"cpu": 1000 * cpu}})


def shift_all(plan: Data) -> None:
    """Bind what was promised, although the evicted pods are still there."""
    plan["binds"] += plan["nominations"]
    plan["nominations"] = []


TAMPERINGS: list[tuple[str, Callable[[Data], object], str]] = [
    ("more on a node than it has", lambda p: move(p, "small", "web-a-0", "big-0"),
     "capacity"),
    ("bound while the victims are there", shift_all, "capacity"),
    ("one member of a gang is left out", lambda p: drop(p, "nominations", group="default/gang"),
     "gang"),
    ("onto a taint that is not tolerated", lambda p: move(p, "tainted", "big-0"), "taints"),
    ("onto a cordoned node", lambda p: move(p, "cordoned", "big-0"), "node-state"),
    ("against the node selector", lambda p: move(p, "small", "picky-0"), "node-affinity"),
    ("two of one host port", lambda p: move(p, "n0", "port-b-0", "port-a-0"),
     "host-ports"),
    ("two that repel each other", lambda p: move(p, "n0", "web-a-0", "web-b-0"),
     "pod-affinity"),
    ("both of a spread kind in a zone", lambda p: move(p, "n0", "api-a-0", "api-b-0"),
     "topology-spread"),
    ("above a queue's limit", lambda p: bind(p, "capped-3", "n1"), "quota"),
    ("in a closed queue", lambda p: bind(p, "shut-0", "n1"), "queue"),
    ("not preemptable, yet evicted", lambda p: evict(p, "fixed-0", "n1"), "preemption"),
    ("a victim too many", lambda p: evict(p, "mild-0", "n1", "picky"), "preemption"),
    ("evicted for somebody without a right",
     lambda p: edit(p["evictions"], ["default/picky"], "for", group="default/borrow"),
     "preemption"),
    ("evictions for nobody", lambda p: p.update(nominations=[]), "preemption"),
    ("against a disruption budget", lambda p: evict(p, "guarded-0", "n1"), "budget"),
    ("a pod that does not exist", lambda p: bind(p, "ghost-0", "n1"), "plan"),
    ("a node that does not exist", lambda p: move(p, "n9", "big-0"), "plan"),
    ("a pod twice", lambda p: p["binds"].append(the(p["binds"], pod="default/big-0")), "plan"),
    ("bound and promised at once",
     lambda p: p["nominations"].append(the(p["binds"], pod="default/big-0")), "plan"),
    ("somebody else's pod", lambda p: bind(p, "foreign-0", "n1"), "plan"),
    ("somebody else's pod evicted", lambda p: evict(p, "daemon-0", "n0"), "plan"),
    ("evicted twice", lambda p: p["evictions"].append(p["evictions"][0]), "plan"),
    ("started and evicted at once", lambda p: evict(p, "big-0", "n0"), "plan"),
    ("under another group's name",
     lambda p: edit(p["binds"], "default/gang", "group", pod="default/big-0"), "plan"),
    ("evicted from another node", lambda p: edit(p["evictions"], "small", "node", pod="default"),
     "plan"),
    ("a running pod started again", lambda p: bind(p, "mild-0", "n0"), "plan"),
    ("a group that waits is not mentioned", lambda p: drop(p, "held", group="default/shut"),
     "plan"),
    ("a group that starts is held",
     lambda p: p["held"].append({"group": "default/big", "pods": ["default/big-0"], "reasons": []}),
     "plan"),
    ("a group let in that did not ask",
     lambda p: p["admissions"].append({"group": "default/shut", "reserved": {}}), "plan"),
    ("more groups let in than the limit bears", lambda p: let_in(p, "late", 3), "admission"),
    ("a group let in with less than it asks for",
     lambda p: edit(p["admissions"], {"cpu": 1}, "reserved", group="default/early"), "plan"),
    ("a group let in twice", lambda p: let_in(p, "early", 2), "plan"),
    ("a group that asks is passed over", lambda p: p.update(admissions=[]), "plan"),
    ("made for another cluster", lambda p: p.update(snapshot="sha256:" + "0" * 64), "plan"),
    ("a tier that says more", lambda p: edit(p["objective"], 0, "value", name="victims"),
     "objective"),
    ("a bound that is passed", lambda p: edit(p["objective"], 10**6, "bound", name="victims"),
     "objective"),
    ("a bound of work that is passed", lambda p: edit(p["objective"], 1, "bound", name="entitled"),
     "objective"),
    ("a gap that is wrong", lambda p: edit(p["objective"], 0.25, "gap", name="entitled"),
     "objective"),
    ("a tier that does not exist", lambda p: edit(p["objective"], "glory", "name", name="victims"),
     "objective"),
    ("a queue that says less", lambda p: edit(p["queues"], {}, "allocated", name="research"),
     "queues"),
    ("a queue with another due", lambda p: edit(p["queues"], {GPU: 1}, "deserved", name="batch"),
     "queues"),
    ("a queue with another share", lambda p: edit(p["queues"], 0.01, "dominantShare", name="batch"),
     "queues"),
    ("a queue left out", lambda p: drop(p, "queues", name="batch"), "queues"),
]  # fmt: skip


def rules_named(text: str) -> set[str]:
    return {line.split(":")[0] for line in text.splitlines()[:-1]}


def test_untampered_plan_passes(cli: Any, plan: Data, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))

    result = cli("check", "--plan", path, "--in", WORLD, "--order", "--deterministic")

    assert result.code == 0, result.out
    assert {"default/gang"} == {n["group"] for n in plan["nominations"]}


@pytest.mark.parametrize(
    ("tamper", "rule"), [pytest.param(t, r, id=name) for name, t, r in TAMPERINGS]
)
def test_tampered_plan_is_refused_by_the_right_rule(
    cli: Any, plan: Data, tamper: Callable[[Data], object], rule: str, tmp_path: Path
) -> None:
    bad = copy.deepcopy(plan)
    tamper(bad)
    bad["digest"] = from_document(bad).digest
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(bad))

    result = cli("check", "--plan", path, "--in", WORLD, "--deterministic")

    assert result.code == 1
    assert rule in rules_named(result.out), result.out


def test_a_group_that_could_be_let_in_is_missed_by_the_order_list(
    cli: Any, plan: Data, tmp_path: Path
) -> None:
    bad = {k: plan[k] for k in ("binds", "nominations", "evictions")}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"apiVersion": plan["apiVersion"], "kind": "Plan", **bad}))

    rules = cli("check", "--plan", path, "--in", WORLD, "--deterministic")
    order = cli("check", "--plan", path, "--in", WORLD, "--deterministic", "--order")

    assert rules.code == 0, rules.out
    assert order.out.splitlines()[0] == (
        "order: group default/early: could be let in beside the plan and is not"
    )


def test_content_that_does_not_match_its_digest_is_refused(
    cli: Any, plan: Data, tmp_path: Path
) -> None:
    plan["solver"]["seed"] = 99
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))

    result = cli("check", "--plan", path, "--in", WORLD, "--deterministic")

    assert result.code == 1
    assert rules_named(result.out) == {"plan"}
    assert "plan: digest: does not match the content" in result.out
