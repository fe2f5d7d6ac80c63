"""Questions of people about a real cluster: asked of its API server, and of a running scheduler."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import urllib3

from apportion.models import Snapshot
from apportion.models.snapshot import read
from cluster.authorizing import RBAC
from cluster.client import Client
from cluster.installing import NAMESPACE, account
from cluster.objects import gang, node
from cluster.plane import ControlPlane
from cluster.scheduler import Schedulers
from cluster.waiting import until

pytestmark = pytest.mark.usefixtures("kwok", "volcano")


def run(*words: str, hashes: str = "random") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    env["PYTHONHASHSEED"] = hashes
    command = [sys.executable, "-m", "apportion", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def asked(*words: str) -> dict[str, Any]:
    """Ask as people do, by the command line; return the answer."""
    done = run(*words, "--output", "json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def looking(client: Client) -> str:
    """Make a role that may list and watch what the scheduler may, and nothing else; return it."""
    rules = client.read(f"ClusterRole.{RBAC}", "apportion")["rules"]
    verbs = {"list", "watch"}
    only = [{**r, "verbs": sorted(verbs & {*r["verbs"]})} for r in rules]
    client.create(
        {
            "apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "looking"},
            "rules": [r for r in only if r["verbs"]],
        }
    )  # fmt: skip
    return "looking"


def has_all(seen: Snapshot) -> bool:
    """Say whether the whole gang was seen, and a node that takes pods."""
    return len(seen.pods) == 3 and [n.takes_pods for n in seen.nodes] == [True]


def lacks_room(answer: dict[str, Any]) -> list[str]:
    return [m["rule"] for m in answer["conflict"]]


@pytest.mark.usefixtures("installed")
def test_a_cluster_is_asked_with_rights_to_look_only(
    plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    account(client, "looker", looking(client))
    client.create_all([node("n1", 2), *gang("g", 3)])
    config = plane.access_of(NAMESPACE, "looker").write_kubeconfig(tmp_path / "looker")
    there = ("--kubeconfig", str(config))

    def is_there() -> bool:
        """Say whether the authorizer has heard of the binding, and the node is ready."""
        seen = run("snapshot", *there, "--out", str(tmp_path / "seen.json"))
        return seen.returncode == 0 and has_all(read((tmp_path / "seen.json").read_bytes()))

    until(is_there, "the cluster may be read, with the gang and its node", 120)
    why = asked("explain", "g", "--no-changes", *there)
    more = asked("whatif", "--add-nodes", "1", "--like", "n1", *there)

    assert (why["group"], why["heldBy"]) == ("default/g", "rules")
    assert lacks_room(why) == ["gang", "capacity"]
    assert more["startsMore"] == ["default/g"]
    assert (more["base"]["starts"], more["changed"]["starts"]) == (0, 3)


def shown(client: Client, schedulers: Schedulers, folder: Path) -> tuple[str, ...]:
    """Run a scheduler until it shows that it has seen a gang wait; return where that is."""
    account(client, "reader", "apportion-debug")
    client.create_all([node("n1", 2), *gang("g", 3)])
    (listening,) = schedulers.start("--listen=127.0.0.1:0").wait_for("listening")
    url = f"http://127.0.0.1:{listening['port']}"
    token = client.token_of(NAMESPACE, "reader")
    (folder / "token").write_text(token)

    def saw() -> bool:
        """Say whether the last cycle saw the whole gang on its node, and the reader may know."""
        headers = {"Authorization": f"Bearer {token}"}
        page = urllib3.request("GET", f"{url}/debug/snapshot", headers=headers)
        return page.status == 200 and has_all(read(page.data))

    until(saw, "the scheduler shows that it has seen the gang", 60)
    return "--live", url, "--token-file", str(folder / "token")


def test_a_running_scheduler_is_asked_what_it_saw_last(
    client: Client, schedulers: Schedulers, tmp_path: Path
) -> None:
    there = shown(client, schedulers, tmp_path)

    why = asked("explain", "g", "--no-changes", *there)
    more = asked("whatif", "--add-nodes", "1", "--like", "n1", *there)

    assert (why["group"], why["heldBy"]) == ("default/g", "rules")
    assert lacks_room(why) == ["gang", "capacity"]
    assert more["startsMore"] == ["default/g"]
    assert (more["base"]["starts"], more["changed"]["starts"]) == (0, 3)


def test_what_a_scheduler_saw_is_masked_planned_and_translated_back(
    client: Client, schedulers: Schedulers, tmp_path: Path
) -> None:
    seen, masked, key, answer = (str(tmp_path / f"{n}.json") for n in ("seen", "masked", "k", "a"))
    there = shown(client, schedulers, tmp_path)

    assert run("snapshot", *there, "--out", seen).returncode == 0
    words = ("snapshot", "-f", seen, "--mask", "--mask-key", key, "--out", masked)
    assert run(*words).returncode == 0
    planning = ("plan", masked, "--deterministic", "--output", "json")
    first, second = (run(*planning, hashes=h) for h in ("1", "2"))
    Path(answer).write_text(first.stdout)
    back = json.loads(run("unmask", answer, "--mask-key", key).stdout)
    want = asked("plan", seen, "--deterministic")

    assert '"n1"' not in Path(masked).read_text()
    assert first.stdout == second.stdout
    assert [h["group"] for h in back["held"]] == ["default/g"]
    assert {k for k in want if back[k] != want[k]} == {"snapshot", "digest"}
