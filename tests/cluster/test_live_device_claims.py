"""Device claims on a real API server: what it takes for an allocation, and what kubelets read."""

import pytest

from cluster.between import Proxy
from cluster.client import Client, Data
from cluster.objects import node, pod
from cluster.rules import Hold, Lose, Refuse, Request, is_bind
from cluster.scheduler import Schedulers
from cluster.waiting import until

pytestmark = pytest.mark.usefixtures("kwok", "controllers")
API = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"
CONFIG = {"opaque": {"driver": DRIVER, "parameters": {"mode": "fast"}}}
REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu"}}


def device_class(**more: str) -> Data:
    cel = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    return {
        "apiVersion": API, "kind": "DeviceClass", "metadata": {"name": "gpu"},
        "spec": {"selectors": [cel], "config": [CONFIG], **more},
    }  # fmt: skip


def pool(on: str, *devices: str) -> Data:
    spec = {
        "driver": DRIVER, "nodeName": on, "devices": [{"name": d} for d in devices],
        "pool": {"name": on, "generation": 1, "resourceSliceCount": 1},
    }  # fmt: skip
    return {
        "apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": f"{on}-gpus"},
        "spec": spec,
    }  # fmt: skip


def claim(name: str) -> Data:
    meta = {"name": name, "namespace": "default"}
    spec = {"devices": {"requests": [REQUEST]}}
    return {"apiVersion": API, "kind": "ResourceClaim", "metadata": meta, "spec": spec}


def template() -> Data:
    made = claim("t")
    return {**made, "kind": "ResourceClaimTemplate", "spec": {"spec": made["spec"]}}


def uses(name: str, **which: str) -> Data:
    return pod(name, resourceClaims=[{"name": "gpu", **which}])


def node_of(client: Client, name: str) -> str:
    return str(client.read("pods", name)["spec"].get("nodeName", ""))


def bound(client: Client, *names: str) -> None:
    until(lambda: all(node_of(client, n) for n in names), f"{names} are bound")


@pytest.fixture
def devices(client: Client) -> None:
    """Two nodes, the second of which has two devices."""
    client.create(node("n1"))
    client.create(node("n2"))
    client.create(device_class())
    client.create(pool("n2", "a", "b"))


@pytest.mark.usefixtures("devices")
def test_claims_of_a_template_get_a_device_each(client: Client, schedulers: Schedulers) -> None:
    client.create(template())
    schedulers.start()

    client.create(uses("p", resourceClaimTemplateName="t"))
    client.create(uses("q", resourceClaimTemplateName="t"))

    bound(client, "p", "q")
    made = client.find_all("resourceclaims", "default")
    given = [c["status"]["allocation"] for c in made]
    assert sorted(g["devices"]["results"][0]["device"] for g in given) == ["a", "b"]
    assert all(
        g["devices"]["config"] == [{**CONFIG, "source": "FromClass", "requests": ["r"]}]
        for g in given
    )
    fields = [g["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0] for g in given]
    assert [f["values"] for f in fields] == [["n2"], ["n2"]]
    uids = {client.read("pods", n)["metadata"]["uid"] for n in ("p", "q")}
    assert {c["status"]["reservedFor"][0]["uid"] for c in made} == uids


@pytest.mark.usefixtures("devices")
def test_a_shared_claim_is_reserved_for_each_of_its_pods(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(claim("c"))
    schedulers.start()

    client.create(uses("p", resourceClaimName="c"))
    bound(client, "p")
    client.create(uses("q", resourceClaimName="c"))
    bound(client, "q")

    assert (node_of(client, "p"), node_of(client, "q")) == ("n2", "n2")
    names = {r["name"] for r in client.read("resourceclaims", "c")["status"]["reservedFor"]}
    assert names == {"p", "q"}


@pytest.mark.usefixtures("devices")
def test_a_third_pod_waits_until_a_device_is_free(client: Client, schedulers: Schedulers) -> None:
    client.create(template())
    schedulers.start()
    for name in ("p", "q"):
        client.create(uses(name, resourceClaimTemplateName="t"))
    bound(client, "p", "q")

    client.create(uses("r", resourceClaimTemplateName="t"))
    client.delete("pods", "p")

    bound(client, "r")
    there = {c["metadata"]["ownerReferences"][0]["name"] for c in client.find_all("resourceclaims")}
    assert there >= {"q", "r"}


def given(client: Client) -> dict[str, str]:
    """Return the device of each pod, by the claims that are reserved for it."""
    return {
        r["name"]: c["status"]["allocation"]["devices"]["results"][0]["device"]
        for c in client.find_all("resourceclaims", "default")
        for r in c.get("status", {}).get("reservedFor", [])
    }


def is_of_claims(request: Request) -> bool:
    return request.writes and "/resourceclaims/" in request.path


@pytest.mark.usefixtures("devices")
def test_writes_that_are_refused_or_whose_answers_are_lost_are_made_again(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create(template())
    burst = proxy.add(Refuse(is_of_claims, 500, times=3))
    lost = proxy.add(Lose(is_of_claims, times=3))
    schedulers.start(through=proxy)

    for name in ("p", "q"):
        client.create(uses(name, resourceClaimTemplateName="t"))

    until(lambda: all(node_of(client, n) for n in ("p", "q")), "both are bound")
    assert (len(burst.met), len(lost.met)) == (3, 3)
    assert sorted(given(client)) == ["p", "q"]
    assert sorted(given(client).values()) == ["a", "b"]


@pytest.mark.usefixtures("devices")
def test_the_next_replica_binds_what_one_had_prepared_when_it_was_killed(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create(template())
    held = proxy.add(Hold(lambda r: r.is_bind))
    one = schedulers.start(through=proxy)
    client.create(uses("p", resourceClaimTemplateName="t"))
    until(lambda: held.met, "the bind is on its way")
    before = given(client)

    one.kill()
    held.discard()
    proxy.drop(held)
    schedulers.start()

    bound(client, "p")
    assert before
    assert given(client) == before


def test_devices_serve_an_extended_resource_of_their_class(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create(node("n1"))
    client.create(device_class(extendedResourceName="example.com/gpu"))
    client.create(pool("n1", "a"))
    asks = pod("p")
    asks["spec"]["containers"][0]["resources"]["limits"] = {"example.com/gpu": "1"}
    asks["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1"
    refusal = proxy.add(Refuse(is_bind, 403, times=1))
    schedulers.start(through=proxy)

    client.create(asks)

    bound(client, "p")
    assert refusal.met
    made = [r for r in proxy.seen if r.method == "POST" and r.path.endswith("/resourceclaims")]
    assert len(made) == 2, "the claim of what was refused is taken back"
    assert given(client) == {"p": "a"}
    [claim] = client.find_all("resourceclaims", "default")
    told = client.read("pods", "p")["status"]["extendedResourceClaimStatus"]
    assert told["resourceClaimName"] == claim["metadata"]["name"]
    assert [m["resourceName"] for m in told["requestMappings"]] == ["example.com/gpu"]
