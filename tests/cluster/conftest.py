"""Fixtures of the tests on a real control plane: one for each worker, emptied for each test."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import yaml

from apportion.adapters.crds import definition
from cluster import audit
from cluster.access import Access
from cluster.between import Proxy
from cluster.binaries import binaries
from cluster.cleaning import STAYS, clean, paths
from cluster.client import ApiError, Client, Data
from cluster.installing import install
from cluster.manifests import apply_all, wait_established
from cluster.objects import node
from cluster.plane import ControlPlane
from cluster.scheduler import Schedulers
from cluster.waiting import PlaneError, until

USUAL = ("kube-controller-manager", "kwok")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the control plane, and move it to the end: the quick tests speak first."""
    for item in items:
        if needs_plane(item):
            item.add_marker(pytest.mark.cluster)
    items.sort(key=needs_plane)


def needs_plane(item: pytest.Item) -> bool:
    return "started" in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the ends of the parts' logs to the report of a failed test."""
    report = yield
    given = getattr(item, "funcargs", {})
    for part in (given.get("plane"), given.get("schedulers")):
        if report.failed and isinstance(part, ControlPlane | Schedulers):
            report.sections.extend((f"log of {name}", end) for name, end in part.tails().items())
    return report


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One control plane for all tests of a worker, with controllers and pretend nodes."""
    missing = binaries().missing()
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} here: see `make control-plane`")
    folder = tmp_path_factory.mktemp("plane")
    plane = ControlPlane(folder, flags={"kube-apiserver": audit.flags(folder)})
    others = [name for name in USUAL if not binaries().missing((name,))]
    plane.start(*others)
    yield plane
    plane.stop()


@pytest.fixture(scope="session")
def initial(started: ControlPlane) -> dict[str, str]:
    """What is in a cluster that nobody has used: paths by uid."""
    with started.client() as client:
        return paths(client)


@pytest.fixture
def plane(started: ControlPlane, initial: dict[str, str]) -> ControlPlane:
    """The control plane, whole and empty. What a test kills or leaves is mended for the next."""
    started.heal()
    with started.client() as client:
        clean(client, initial)
    return started


@pytest.fixture
def client(plane: ControlPlane) -> Iterator[Client]:
    """The administrator's client of an empty cluster."""
    with plane.client() as client:
        yield client


@pytest.fixture
def kwok(plane: ControlPlane) -> None:
    """Pods that are bound run, and deleted ones go: the test needs kwok."""
    need(plane, "kwok")


@pytest.fixture
def controllers(plane: ControlPlane) -> None:
    """Budgets have a status, owners and jobs are looked after: the test needs the manager."""
    need(plane, "kube-controller-manager")


@pytest.fixture
def four(client: Client) -> None:
    """Four nodes of 8 GPUs, n0 to n3."""
    client.create_all(node(f"n{i}", 8) for i in range(4))


@pytest.fixture
def volcano(client: Client) -> None:
    """Volcano's kinds are defined: PodGroups and Queues can be created."""
    things = [yaml.safe_load(definition(name)) for name in ("podgroup", "queue")]
    if not all(is_defined(client, thing) for thing in things):
        undefine(client)
        apply_all(client, things)
    for thing in things:  # a server that was restarted has to find them again
        wait_established(client, thing["metadata"]["name"])


@pytest.fixture
def without_volcano(client: Client) -> None:
    """None of Volcano's kinds is defined, as on a cluster that has never seen it."""
    undefine(client)


def is_defined(client: Client, thing: Data) -> bool:
    """Whether the cluster has this definition, and not another one of that name."""
    found = client.find("customresourcedefinitions", thing["metadata"]["name"])
    if found is None or "deletionTimestamp" in found["metadata"]:
        return False
    there, wanted = ([v["name"] for v in d["spec"]["versions"]] for d in (found, thing))
    return there == wanted


def undefine(client: Client) -> None:
    """Delete the definitions that cleaning leaves, and wait until their kinds are gone."""

    def left() -> list[str]:
        return [
            d["metadata"]["name"]
            for d in client.find_all("customresourcedefinitions")
            if d["metadata"]["name"].endswith(STAYS)
        ]

    for name in left():
        try:
            client.delete("customresourcedefinitions", name)
        except ApiError as error:
            if error.status != 404:  # it was on its way out
                raise
    until(lambda: not left(), "Volcano's definitions are gone")
    until(
        lambda: not any(k.group.endswith(STAYS) for k in client.kinds()),
        "Volcano's kinds are served no longer",
    )


@pytest.fixture
def installed(plane: ControlPlane, client: Client) -> Access:
    """The manifest is applied, but for what would run; the access of its ServiceAccount."""
    return install(plane, client, definitions=False)


@pytest.fixture
def schedulers(installed: Access, tmp_path: Path) -> Iterator[Schedulers]:
    """Starts the scheduler under test, or several, with the rights that are installed."""
    some = Schedulers(tmp_path, installed)
    yield some
    some.stop()


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[Proxy]:
    """Stands between a scheduler and the API server, for tests in which the server misbehaves."""
    with Proxy(plane.admin) as proxy:
        yield proxy


@pytest.fixture
def neighbour(plane: ControlPlane) -> Iterator[None]:
    """kube-scheduler beside the scheduler under test, for this test only."""
    try:
        plane.add("kube-scheduler")
    except PlaneError as error:
        pytest.skip(str(error))
    yield
    plane.remove("kube-scheduler")


def need(plane: ControlPlane, name: str) -> None:
    """Skip the test where the machine has not got this part."""
    if name not in plane.parts:
        pytest.skip(f"no {name} here: see `make control-plane`")
