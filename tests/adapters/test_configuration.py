"""The configuration file: every setting, every mistake, and Volcano's scheduler.conf."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion.adapters.configuration import changed, changes_in, read_configuration
from apportion.adapters.durations import duration_ms, show_ms
from apportion.models import Config, InputError, QueueShare, TierSettings

HEAD = {"apiVersion": "apportion.dev/v1alpha1", "kind": "Configuration"}


def read(tmp_path: Path, data: Any) -> Any:
    path = tmp_path / "c.yaml"
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data))
    return read_configuration(path)


def warned(tmp_path: Path, data: Any) -> dict[str, str]:
    return {w.path: w.message for w in read(tmp_path, data)[1]}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("500ms", 500),
        ("2s", 2000),
        ("1m30s", 90_000),
        ("1.5s", 1500),
        ("0.001s", 1),
        ("1h", 3600_000),
    ],
)
def test_duration_is_read_in_milliseconds(text: str, want: int) -> None:
    assert duration_ms(text) == want
    assert duration_ms(show_ms(want)) == want


@pytest.mark.parametrize("text", ["", "5", "s", "1 s", "-1s", "1d", "1s2", "9999999h", "１s"])
def test_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|longer"):
        duration_ms(text)


def test_every_setting_reaches_the_config(tmp_path: Path) -> None:
    config, warnings = read(
        tmp_path,
        {
            **HEAD, "metadata": {"name": "ours"}, "budget": "2s", "seed": 3, "deterministic": True,
            "evictions": "queue", "engine": "greedy", "workers": 1, "memoryLimit": "2Gi",
            "off": ["taints"], "options": {"gang": {}},
            "tiers": {"slices": 4, "packing": "fragmentation"},
            "queues": {
                "q": {
                    "within": "users", "capability": {"cpu": "50%"}, "deserved": {"cpu": "25%"},
                    "guarantee": {"cpu": "0%"}, "namespaces": ["a"],
                }
            },
            "literalDeserved": True, "priorityEverywhere": True, "grace": "90s", "polish": "250ms",
            "readyWithin": "15m", "unready": "release",
            "overcommit": "150%",
        },
    )  # fmt: skip

    assert warnings == ()
    assert config == Config(
        budget_ms=2000, seed=3, deterministic=True, evictions="queue", engine="greedy",
        workers=1, memory_limit_mib=2048, off=("taints",), options={"gang": {}},
        tiers=TierSettings(slices=4, packing="fragmentation"),
        queues={
            "q": QueueShare(
                within="users", capability_percent={"cpu": 50}, deserved_percent={"cpu": 25},
                guarantee_percent={"cpu": 0}, namespaces=("a",),
            )
        },
        literal_deserved=True, priority_everywhere=True, grace_s=90, polish_ms=250,
        ready_within_s=900, unready="release", overcommit_percent=150,
    )  # fmt: skip


def test_what_is_left_out_keeps_its_default(tmp_path: Path) -> None:
    assert read(tmp_path, HEAD) == (Config(), ())


def test_settings_are_laid_over_each_other(tmp_path: Path) -> None:
    base = Config(off=("taints",), queues={"a": QueueShare(within="users")}, seed=9)
    (tmp_path / "c.yaml").write_text(
        yaml.safe_dump({**HEAD, "off": ["host-ports"], "queues": {"b": {}}, "tiers": {"slices": 2}})
    )

    config = changed(base, changes_in(tmp_path / "c.yaml")[0])

    assert config.off == ("host-ports", "taints")
    assert set(config.queues) == {"a", "b"}
    assert (config.seed, config.tiers) == (9, TierSettings(slices=2))


@pytest.mark.parametrize(
    ("data", "path", "says"),
    [
        ({"budget": "0ms"}, "budget", "at least 1ms"),
        ({"budget": 5}, "budget", "quotes"),
        ({"seed": -1}, "seed", "0"),
        ({"deterministic": "yes"}, "deterministic", "true or false"),
        ({"evictions": "some"}, "evictions", "queue"),
        ({"engine": "quantum"}, "engine", "greedy"),
        ({"workers": 0}, "workers", "1"),
        ({"memoryLimit": "1Mi"}, "memoryLimit", "512Mi"),
        ({"memoryLimit": "1GB"}, "memoryLimit", "suffix"),
        ({"off": "taints"}, "off", "a list"),
        ({"options": {"gang": 1}}, "options.gang", "a mapping"),
        ({"tiers": {"slices": 65}}, "tiers.slices", "64"),
        ({"tiers": {"packing": "loose"}}, "tiers.packing", "binpack"),
        ({"queues": {"q": {"within": "teams"}}}, "queues.q.within", "namespaces"),
        ({"queues": {"q": {"capability": {"cpu": "101%"}}}}, "queues.q.capability.cpu", "100%"),
        ({"queues": {"q": {"deserved": {"cpu": "half"}}}}, "queues.q.deserved.cpu", "50%"),
        ({"queues": {"q": {"weight": 1}}}, "queues.q.weight", "no such key"),
        ({"grace": "soon"}, "grace", "duration"),
        ({"overcommit": "90%"}, "overcommit", "100%"),
        ({"colour": "red"}, "colour", "no such key"),
        ({"budgett": "3s"}, "budgett", "no such key here; did you mean budget?"),
        ({"tiers": {"packin": "spread"}}, "tiers.packin", "did you mean packing?"),
        ({"queues": {"q": {"withn": "teams"}}}, "queues.q.withn", "did you mean within?"),
        ({"apiVersion": "apportion.dev/v9"}, "apiVersion", "v1alpha1"),
    ],
)
def test_mistake_is_refused_with_its_path(
    tmp_path: Path, data: dict[str, Any], path: str, says: str
) -> None:
    with pytest.raises(InputError) as e:
        read(tmp_path, {**HEAD, **data})

    assert f" {path}: " in str(e.value)
    assert says in str(e.value)


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as e:
        read(tmp_path, {**HEAD, "seed": -1, "budget": "x", "tiers": {"slices": 0}, "b": 1})

    for path in ("seed", "budget", "tiers.slices", "b"):
        assert f" {path}: " in str(e.value)


@pytest.mark.parametrize(
    "text",
    ["", "a: 1", "[1, 2]", "kind: Pod", "kind: ConfigMap", "{kind: ConfigMap, data: {x: y}}",
     "{kind: ConfigMap, data: {volcano-scheduler.conf: 'a: ['}}",
     "{kind: ConfigMap, data: {volcano-scheduler.conf: text}}", "actions: 1", "tiers: 1",
     "tiers: [1]", "tiers: [{plugins: [1]}]", "tiers: [{plugins: [{}]}]",
     "tiers: [{plugins: [{name: gang, arguments: 1}]}]",
     "tiers: [{plugins: [{name: overcommit, arguments: {overcommit-factor: much}}]}]",
     "tiers: [{plugins: [{name: predicates, arguments: {predicate.NodePortsEnable: maybe}}]}]",
     "a: 1\n---\nb: 2"],
)  # fmt: skip
def test_what_is_no_configuration_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as e:
        read(tmp_path, text)

    assert "\n" not in str(e.value)


# Volcano's


EVERY_ACTION = "enqueue, allocate, backfill, preempt, reclaim"


def plugins(*given: Any, actions: str | None = EVERY_ACTION) -> Any:
    listed = [{"name": p} if isinstance(p, str) else p for p in given]
    both = [{"name": "priority"}, {"name": "gang"}, {"name": "overcommit"}]
    return {"actions": actions, "tiers": [{"plugins": [*both, *listed]}]}


def test_volcanos_default_file_has_a_counterpart_but_for_what_is_said(tmp_path: Path) -> None:
    conf = plugins(
        "conformance", "drf", "predicates", "nodeorder", actions="enqueue, allocate, backfill"
    )

    config, _ = read(tmp_path, conf)

    assert config == Config(evictions="none", tiers=TierSettings(packing="spread"))
    assert warned(tmp_path, conf) == {}


@pytest.mark.parametrize(
    ("actions", "want"),
    [
        (None, "none"),
        ("", "none"),
        ("enqueue, allocate, backfill", "none"),
        ("enqueue, allocate, preempt, backfill", "queue"),
        ("allocate, gangpreempt", "queue"),
        ("allocate, reclaim", "all"),
        ("allocate, gangreclaim", "all"),
        ("enqueue, allocate, backfill, reclaim, preempt", "all"),
        ("allocate, gangreclaim, gangpreempt", "all"),
    ],
)
def test_volcanos_actions_say_whose_work_makes_room(
    tmp_path: Path, actions: str | None, want: str
) -> None:
    assert read(tmp_path, plugins(actions=actions))[0].evictions == want


def test_config_map_is_read_as_the_file_in_it(tmp_path: Path) -> None:
    inner = yaml.safe_dump(plugins("capacity", "binpack"))
    outer = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"volcano-scheduler.conf": inner}}

    assert read(tmp_path, outer) == read(tmp_path, inner)


def plugin(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": {k.replace("__", "."): v for k, v in arguments.items()}}


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(["capacity"], Config(literal_deserved=True), id="capacity"),
        pytest.param(["binpack"], Config(tiers=TierSettings(packing="binpack")), id="binpack"),
        pytest.param(["nodeorder"], Config(tiers=TierSettings(packing="spread")), id="spread"),
        pytest.param(["nodeorder", "binpack"], Config(), id="a draw"),
        pytest.param(
            [plugin("nodeorder", leastrequested__weight=0, mostrequested__weight="2")],
            Config(tiers=TierSettings(packing="binpack")), id="most requested",
        ),
        pytest.param(
            [plugin("binpack", binpack__weight=10), "nodeorder"], Config(), id="heavy binpack"
        ),
        pytest.param(
            [plugin("overcommit", **{"overcommit-factor": 1.5})], Config(overcommit_percent=150),
            id="overcommit",
        ),
        pytest.param(
            [plugin("overcommit", **{"overcommit-factor": "0.5"})], Config(), id="too little"
        ),
        pytest.param(
            [plugin("predicates", predicate__NodePortsEnable="false",
                    predicate__TaintTolerationEnable=False, predicate__NodeAffinityEnable=True)],
            Config(off=("host-ports", "taints")), id="predicates",
        ),
    ],
)  # fmt: skip
def test_volcanos_plugin_becomes_our_setting(
    tmp_path: Path, given: list[Any], want: Config
) -> None:
    config, _ = read(tmp_path, plugins(*given))

    assert config == want
    assert warned(tmp_path, plugins(*given)) == {}


@pytest.mark.parametrize("name", ["drf", "capacity"])
def test_a_hierarchy_is_read_from_the_queues_themselves(tmp_path: Path, name: str) -> None:
    assert warned(tmp_path, plugins({"name": name, "enableHierarchy": True})) == {}


@pytest.mark.parametrize(
    ("conf", "path", "says"),
    [
        (plugins(actions="allocate, shuffle, preempt, reclaim"), "actions", "shuffle"),
        (plugins(actions="allocate, gangreclaim"), "actions", "no action that preempts"),
        (plugins("sla"), "tiers[0].plugins[3]", "sla"),
        (plugins("proportion"), "tiers[0].plugins[3]", "weights"),
        (plugins("something-new"), "tiers[0].plugins[3]", "something-new"),
        (plugins(plugin("binpack", binpack__cpu=5)),
         'tiers[0].plugins[3].arguments["binpack.cpu"]', "binpack"),
        (plugins(plugin("predicates", predicate__DynamicResourceAllocationEnable=True)),
         'tiers[0].plugins[3].arguments["predicate.DynamicResourceAllocationEnable"]',
         "predicates"),
        (plugins({"name": "conformance", "enablePreemptable": False}),
         "tiers[0].plugins[3].enablePreemptable", "false"),
        ({**plugins(), "configurations": []}, "configurations", "counterpart"),
        ({"actions": "enqueue, preempt, reclaim", "tiers": [{"plugins": [{"name": "gang"}]}]},
         "tiers", "overcommit"),
    ],
)  # fmt: skip
def test_what_has_no_counterpart_is_named_with_its_path(
    tmp_path: Path, conf: Any, path: str, says: str
) -> None:
    found = warned(tmp_path, conf)

    assert says in found[path]
    assert all(w.object == "Configuration" for w in read(tmp_path, conf)[1])


def test_flags_of_volcanos_own_chart_draw_no_warning(tmp_path: Path) -> None:
    conf = {
        "actions": "enqueue, allocate, backfill, preempt, reclaim",
        "tiers": [
            {"plugins": [{"name": "priority"}, {"name": "gang", "enablePreemptable": False}]},
            {"plugins": [{"name": "overcommit"}, {"name": "drf", "enablePreemptable": False}]},
        ],
    }

    assert warned(tmp_path, conf) == {}
