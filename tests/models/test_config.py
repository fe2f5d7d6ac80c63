"""Settings: every default is pinned, and the digest names what was set."""

import pytest
from msgspec.structs import asdict

from apportion.models import Config, QueueShare, TierSettings
from apportion.models.value import from_json, to_json


def test_defaults_of_a_cycle_are_these() -> None:
    assert asdict(Config()) == {
        "budget_ms": 5000,
        "seed": 1,
        "deterministic": False,
        "evictions": "all",
        "engine": "auto",
        "workers": 2,
        "memory_limit_mib": 4096,
        "moves": 0,
        "off": (),
        "options": {},
        "tiers": TierSettings(),
        "queues": {},
        "literal_deserved": False,
        "priority_everywhere": False,
        "topology_labels": (),
        "polish_ms": None,
        "grace_s": 60,
        "ready_within_s": 0,
        "unready": "report",
        "overcommit_percent": 120,
    }
    assert asdict(TierSettings()) == {"slices": 8, "packing": "binpack", "mix": ()}
    assert asdict(QueueShare()) == {
        "within": "groups",
        "capability_percent": {},
        "deserved_percent": {},
        "guarantee_percent": {},
        "namespaces": None,
    }


@pytest.mark.parametrize(
    "other",
    [
        Config(seed=2),
        Config(deterministic=True),
        Config(queues={"q": QueueShare(within="users")}),
        Config(options={"gang": {"x": 1}}),
    ],
)
def test_digest_tells_settings_apart(other: Config) -> None:
    assert other.digest != Config().digest
    assert other.digest == from_json(to_json(other), Config).digest


def test_order_of_queues_plays_no_part_in_the_digest() -> None:
    a, b = QueueShare(within="users"), QueueShare(namespaces=("x",))

    assert Config(queues={"a": a, "b": b}).digest == Config(queues={"b": b, "a": a}).digest
