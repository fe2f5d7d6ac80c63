"""The one list of rights: it follows what is read, and says nothing twice."""

import yaml

from apportion.adapters.kubernetes.kinds import KUEUE_READERS, READERS
from apportion.adapters.live.rights import (
    IN_OWN_NAMESPACE,
    WRITING,
    Right,
    everywhere,
    plural,
    reading,
    rules,
)

READ_ONLY = {"get", "list", "watch"}


def test_every_kind_that_is_read_may_be_listed_and_watched() -> None:
    may = {(right.group, r) for right in reading() for r in right.resources}

    assert may == {(group, plural(kind)) for group, kind in (*READERS, *KUEUE_READERS)}
    assert {right.verbs for right in reading()} == {("list", "watch")}


def test_plurals_are_those_of_paths() -> None:
    kinds = ("Pod", "PriorityClass", "CSIStorageCapacity", "ResourceQuota", "Numatopology", "Queue")

    assert [plural(k) for k in kinds] == [
        "pods", "priorityclasses", "csistoragecapacities", "resourcequotas", "numatopologies",
        "queues",
    ]  # fmt: skip


def test_nothing_is_granted_twice_or_by_a_star() -> None:
    for rights in (everywhere(), IN_OWN_NAMESPACE):
        single = [(r.group, name, v) for r in rights for name in r.resources for v in r.verbs]

        assert len(single) == len(set(single))
        assert not any("*" in part for one in single for part in one)


def test_no_right_destroys_anything_but_claims_for_extended_resources() -> None:
    rights = (*everywhere(), *IN_OWN_NAMESPACE)
    single = {(name, v) for r in rights for name in r.resources for v in r.verbs}
    harmless = {*READ_ONLY, "create", "patch", "update"}

    assert {(name, v) for name, v in single if v not in harmless} == {("resourceclaims", "delete")}


def test_secrets_and_configmaps_are_nobodys_business() -> None:
    named = {name for r in (*everywhere(), *IN_OWN_NAMESPACE) for name in r.resources}

    assert named.isdisjoint({"secrets", "configmaps", "serviceaccounts", "clusterroles"})


def test_every_right_has_a_reason() -> None:
    assert all(right.why for right in (*everywhere(), *IN_OWN_NAMESPACE))


def test_rules_are_those_of_a_role() -> None:
    made = yaml.safe_load(rules((*WRITING, Right("", ("pods",), ("list", "watch"), "reading"))))

    assert made[-1] == {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}
    assert len(made) == len(WRITING) + 1
