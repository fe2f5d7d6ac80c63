"""What tests do to the control plane: kill, pause and restart parts of it, forget history."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import urllib3

from cluster.client import ApiError, Client
from cluster.objects import node
from cluster.part import Part
from cluster.plane import ControlPlane
from cluster.waiting import DEADLINE_S, PlaneError, until


def test_a_killed_api_server_comes_back_with_its_data(plane: ControlPlane, client: Client) -> None:
    client.create(node("n1"))

    plane.kill("kube-apiserver")
    with pytest.raises(urllib3.exceptions.HTTPError):
        client.find_all("nodes")
    plane.restart("kube-apiserver")

    assert [n["metadata"]["name"] for n in client.find_all("nodes")] == ["n1"]


def test_while_etcd_is_paused_writes_wait_and_nothing_is_lost(
    plane: ControlPlane, client: Client
) -> None:
    client.create(node("n1"))

    plane.pause("etcd")
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        client.request("POST", client.path("nodes"), node("n2"), timeout_s=1)
    plane.resume("etcd")

    # The write was not refused: it is carried out, or it may be repeated.
    until(lambda: plane.is_ready(), "the API server is ready again")
    try:
        client.create(node("n2"))
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
    assert {n["metadata"]["name"] for n in client.find_all("nodes")} == {"n1", "n2"}


def test_a_watch_from_before_what_was_forgotten_is_answered_with_410(
    plane: ControlPlane, client: Client
) -> None:
    old = client.get(client.path("nodes"))["metadata"]["resourceVersion"]
    client.create(node("n1"))
    assert next(client.watch("nodes", old))["type"] == "ADDED"

    forgotten = plane.forget_history()
    plane.restart("kube-apiserver")

    assert forgotten > int(old)
    first = until(lambda: first_answer(client, old), "an answer")
    assert first == 410


def first_answer(client: Client, version: str) -> int:
    """Return the code that a watch from the version is refused with, at once or as an event."""
    try:
        for change in client.watch("nodes", version, timeout_s=2):
            return int(change["object"].get("code", 0)) if change["type"] == "ERROR" else 0
    except ApiError as error:
        return error.status
    return 0


def test_a_list_that_is_continued_too_late_is_answered_with_410(
    plane: ControlPlane, client: Client
) -> None:
    client.create_all(node(f"n{i}") for i in range(3))
    page = client.get(client.path("nodes") + "?limit=1")
    client.create(node("late"))

    plane.forget_history()
    plane.restart("kube-apiserver")
    with pytest.raises(ApiError) as refused:
        client.get(client.path("nodes") + f"?limit=1&continue={page['metadata']['continue']}")

    assert refused.value.status == 410


def test_what_a_test_has_broken_is_mended_for_the_next(plane: ControlPlane) -> None:
    plane.kill("kube-apiserver")
    plane.pause("etcd")

    plane.heal()

    assert plane.is_ready()


def test_nothing_outlives_the_process_that_started_it(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys\n"
        "from cluster.part import Part\n"
        "part = Part('sleeper', ['/bin/sh', '-c', 'sleep 600'], pathlib.Path(sys.argv[1]))\n"
        "part.start()\n"
        "print(part.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "log")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not ended(pid)
        parent.send_signal(signal.SIGKILL)

    until(lambda: ended(pid), "the part has ended with its parent")


def ended(pid: int) -> bool:
    """Whether there is no such process; one that nobody has buried yet counts as none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_a_part_that_ends_at_once_is_reported_with_its_log(tmp_path: Path) -> None:
    part = Part("quitter", ["/bin/sh", "-c", "echo no such flag; exit 3"], tmp_path / "log")

    part.start()

    assert part.wait(DEADLINE_S) == 3
    assert part.exit_code == 3
    assert "no such flag" in part.tail()


def test_a_part_that_does_not_end_is_killed(tmp_path: Path) -> None:
    deaf = "trap '' TERM; echo up; while :; do sleep 1; done"
    part = Part("deaf", ["/bin/sh", "-c", deaf], tmp_path / "log")
    part.start()
    until(lambda: "up" in part.tail(), "it runs")

    with pytest.raises(PlaneError, match=r"deaf still runs after 0\.1 s"):
        part.wait(0.1)
    part.stop(grace_s=0.1)

    assert part.exit_code == -signal.SIGKILL
