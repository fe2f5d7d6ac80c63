"""The proxy by which tests let the API server misbehave."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import urllib3

from cluster.between import Proxy
from cluster.client import ApiError, Client
from cluster.objects import node, pod
from cluster.plane import ControlPlane
from cluster.rules import Hold, Lose, Refuse, Request
from cluster.waiting import DEADLINE_S, until


def is_bind_of(name: str) -> Refuse:
    return Refuse(lambda request: request.is_bind and request.pod == name, 409, times=1)


def test_requests_and_answers_pass_unchanged(plane: ControlPlane, proxy: Proxy) -> None:
    with plane.client(proxy.access) as through, plane.client() as direct:
        through.create_all(pod(f"p{i}") for i in range(30))

        assert through.find_all("pods") == direct.find_all("pods")
        with pytest.raises(ApiError, match='pods "none" not found'):
            through.read("pods", "none")

    assert sum(r.writes for r in proxy.seen) == 30


def test_a_refused_request_does_not_reach_the_server(
    plane: ControlPlane, proxy: Proxy, client: Client
) -> None:
    client.create_all([node("n1"), pod("a"), pod("b")])
    rule = proxy.add(is_bind_of("a"))

    with plane.client(proxy.access) as through:
        through.bind("b", "n1")
        with pytest.raises(ApiError) as refused:
            through.bind("a", "n1")
        assert refused.value.status == 409
        assert "nodeName" not in client.read("pods", "a")["spec"]
        through.bind("a", "n1")

    assert client.read("pods", "a")["spec"]["nodeName"] == "n1"
    assert [r.pod for r in rule.met] == ["a"]


def test_a_held_request_goes_on_when_it_is_released(
    plane: ControlPlane, proxy: Proxy, client: Client
) -> None:
    client.create_all([node("n1"), pod("a")])
    rule = proxy.add(Hold(lambda request: request.is_bind))

    with plane.client(proxy.access) as through, ThreadPoolExecutor(1) as pool:
        binding = pool.submit(through.bind, "a", "n1")
        until(lambda: rule.met, "the bind is held")
        assert "nodeName" not in client.read("pods", "a")["spec"]
        proxy.drop(rule)
        binding.result(DEADLINE_S)

    assert client.read("pods", "a")["spec"]["nodeName"] == "n1"


def test_a_lost_answer_is_one_to_a_request_that_was_carried_out(
    plane: ControlPlane, proxy: Proxy, client: Client
) -> None:
    client.create_all([node("n1"), pod("a")])
    proxy.add(Lose(lambda request: request.is_bind, times=1))

    with plane.client(proxy.access) as through, pytest.raises(urllib3.exceptions.ProtocolError):
        through.bind("a", "n1")

    assert client.read("pods", "a")["spec"]["nodeName"] == "n1"


def test_a_watch_tells_of_changes_until_it_is_cut(
    plane: ControlPlane, proxy: Proxy, client: Client
) -> None:
    version = client.get(client.path("nodes"))["metadata"]["resourceVersion"]

    with plane.client(proxy.access) as through:
        changes = through.watch("nodes", version)
        client.create(node("n1"))
        assert next(changes)["object"]["metadata"]["name"] == "n1"
        proxy.cut()
        with pytest.raises(urllib3.exceptions.ProtocolError):
            for _ in changes:
                pass


@pytest.mark.parametrize(
    ("method", "path", "is_eviction"),
    [
        ("POST", "/api/v1/namespaces/default/pods/p/eviction", True),
        ("POST", "/api/v1/namespaces/default/pods/p/eviction?dryRun=All", False),
        ("POST", "/api/v1/namespaces/default/pods/p/binding", False),
    ],
    ids=["meant", "tried", "a bind"],
)
def test_evictions_that_are_meant_are_told_from_trials(
    method: str, path: str, is_eviction: bool
) -> None:
    request = Request(method, path)

    assert request.is_eviction is is_eviction
    assert request.pod == "p"
