"""What sharing devices takes besides: rights of their own, and no more than the steps use."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion.adapters.live.rights import (
    FOR_SHARES,
    IN_RESERVATIONS,
    Right,
    everywhere,
)
from apportion.adapters.live.steps import Options

ROOT = Path(__file__).resolve().parents[2]
Data = dict[str, Any]


@pytest.fixture(scope="module")
def shares() -> dict[tuple[str, str], Data]:
    things = yaml.safe_load_all((ROOT / "deploy" / "shares.yaml").read_text())
    return {(t["kind"], t["metadata"]["name"]): t for t in things}


@pytest.mark.parametrize(
    ("kind", "name", "rights"),
    [
        ("ClusterRole", "apportion-shares", FOR_SHARES),
        ("Role", "apportion-reservations", IN_RESERVATIONS),
    ],
)
def test_roles_grant_what_the_program_needs(
    shares: dict[tuple[str, str], Data], kind: str, name: str, rights: tuple[Right, ...]
) -> None:
    want = [
        {"apiGroups": [r.group], "resources": list(r.resources), "verbs": list(r.verbs)}
        for r in rights
    ]

    assert shares[kind, name]["rules"] == want


def test_bindings_join_the_account_of_the_manifest_to_its_roles(
    shares: dict[tuple[str, str], Data], plain: dict[tuple[str, str], Data]
) -> None:
    account = plain["ServiceAccount", "apportion"]["metadata"]
    for kind, name in (
        ("ClusterRoleBinding", "apportion-shares"), ("RoleBinding", "apportion-reservations"),
    ):  # fmt: skip
        (subject,) = shares[kind, name]["subjects"]

        assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])
        assert (shares[kind, name]["roleRef"]["kind"], name) in shares


def test_reservation_pods_are_where_the_program_makes_them(
    shares: dict[tuple[str, str], Data],
) -> None:
    options = Options()

    assert ("Namespace", options.namespace) in shares
    account = shares["ServiceAccount", options.service_account]["metadata"]
    assert account["namespace"] == options.namespace


def test_no_right_for_shares_is_one_that_everybody_has_already() -> None:
    always = {(r.group, name, v) for r in everywhere() for name in r.resources for v in r.verbs}
    more = {(r.group, name, v) for r in FOR_SHARES for name in r.resources for v in r.verbs}

    assert not always & more
