"""``apportion crds`` prints definitions, all or some."""

from typing import Any

import yaml


def kinds(text: str) -> list[str]:
    return [document["spec"]["names"]["kind"] for document in yaml.safe_load_all(text)]


def test_all_are_printed(cli: Any) -> None:
    result = cli("crds")

    assert result.code == 0
    assert kinds(result.out) == ["PodGroup", "Queue", "Job", "HyperNode", "Numatopology"]


def test_some_are_printed_in_the_order_asked_for_and_once(cli: Any) -> None:
    result = cli("crds", "--only", "queue, podgroup,queue")

    assert result.code == 0
    assert kinds(result.out) == ["Queue", "PodGroup"]


def test_an_unknown_name_is_said_with_those_that_are_known(cli: Any) -> None:
    result = cli("crds", "--only", "pods")

    assert result.code == 2
    assert "no definition 'pods'; there are podgroup, queue" in result.err
