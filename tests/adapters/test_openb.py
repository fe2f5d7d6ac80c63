"""The openb lists at the door: what is read, what is rejected, and a plan of them."""

import json
from pathlib import Path

import pytest

from apportion.adapters.cli.app import run
from apportion.adapters.openb import read_openb
from apportion.models import InputError, Snapshot

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
n0,32000,65536,2,T4
n1,96000,262144,8,G2
n2,32000,65536,0,
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
whole,4000,8192,1,1000,,LS,Running,7,9,7
share,2000,4096,1,460,T4|P100,BE,Failed,5,9,6
none,1000,1024,0,0,,LS,Pending,9,,
eight,64000,131072,8,1000,G2,LS,Running,1,9,2
"""


def read(tmp_path: Path, nodes: str = NODES, pods: str = PODS) -> Snapshot:
    (tmp_path / "nodes.csv").write_text(nodes, encoding="utf-8")
    (tmp_path / "pods.csv").write_text(pods, encoding="utf-8")
    return read_openb(str(tmp_path / "nodes.csv"), str(tmp_path / "pods.csv"))


def test_both_lists_are_read(tmp_path: Path) -> None:
    snapshot = read(tmp_path)

    pods = {p.name: p for p in snapshot.pods}
    assert not snapshot.rejected
    assert [(n.name, len(n.devices), n.hands_out) for n in snapshot.nodes] == [
        ("n0", 2, ("whole", "reservation")), ("n1", 8, ("whole", "reservation")), ("n2", 0, ()),
    ]  # fmt: skip
    assert snapshot.nodes[0].allocatable["memory"] == 65536 << 20
    assert pods["whole"].spec.share is None
    assert pods["whole"].spec.requests["nvidia.com/gpu"] == 1000
    share = pods["share"].spec.share
    assert share is not None
    assert (share.devices, share.memory_ppm) == (1, 460_000)
    assert pods["share"].spec.requests["nvidia.com/gpu"] == 460
    terms = pods["share"].spec.node_affinity
    assert terms is not None
    assert [n.name for n in snapshot.nodes if terms[0].matches(n.labels, n.name)] == ["n0"]
    assert pods["none"].spec.requests["nvidia.com/gpu"] == 0
    assert pods["whole"].created_s == 7


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ("x,1000,1024,1,0,,,,,,", "gpu_milli", "is 0 for a pod with GPUs; write 1 to 1000"),
        ("x,1000,1024,1,1001,,,,,,", "gpu_milli", "'1001' is no whole number from 0 to 1000"),
        ("x,many,1024,0,0,,,,,,", "cpu_milli", "'many' is no whole number"),
        ("x,-1,1024,0,0,,,,,,", "cpu_milli", "'-1' is no whole number"),
        ("x,1000,,0,0,,,,,,", "memory_mib", "'' is no whole number"),
        ("x,1000,1024,65,1000,,,,,,", "num_gpu", "'65' is no whole number from 0 to 64"),
        (",1000,1024,0,0,,,,,,", "name", "is no name"),
        ("whole,1000,1024,0,0,,,,,,", "name", "is in the list already"),
        ("x,1000,1024,0,0,,,,,,,more", "name", "more fields than the header"),
        ("x", "num_gpu", "'' is no whole number"),
        ("x,1000,1024,0,0,,,,soon,,", "creation_time", "'soon' is no whole number"),
    ],
)
def test_a_bad_row_is_listed_and_left_out(
    tmp_path: Path, row: str, column: str, message: str
) -> None:
    snapshot = read(tmp_path, pods=PODS + row + "\n")

    assert len(snapshot.pods) == 4
    (bad,) = snapshot.rejected
    assert bad.object.startswith("pods.csv line 6")
    assert bad.path == column
    assert message in bad.message


@pytest.mark.parametrize(
    ("nodes", "pods", "message"),
    [
        ("sn,cpu_milli\nn0,1\n", PODS, "has no column memory_mib"),
        (NODES, "name\nx\n", "has no column cpu_milli"),
        (NODES, "", "has no column name"),
        (NODES, PODS.splitlines()[0] + "\n", "not one row can be used"),
        (NODES.splitlines()[0] + "\nn0,many,1,1,T4\n", PODS, "the first: cpu_milli: 'many'"),
    ],
)
def test_a_list_that_cannot_be_used_is_said_in_one_sentence(
    tmp_path: Path, nodes: str, pods: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, nodes, pods)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    read(tmp_path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_openb(str(tmp_path / "absent.csv"), str(tmp_path / "pods.csv"))
    (tmp_path / "pods.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_openb(str(tmp_path / "nodes.csv"), str(tmp_path / "pods.csv"))


def test_the_lists_are_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, pods=PODS + "x,many,1,0,0,,,,,,\n")
    args = ["plan", "--trace", "openb", "--nodes", str(tmp_path / "nodes.csv")]

    code = run([*args, "--pods", str(tmp_path / "pods.csv"), "--deterministic", "-o", "json"])

    made = json.loads(capsys.readouterr().out)
    assert code == 0
    names = [b["pod"] for b in made["binds"]]
    assert sorted(names) == ["openb/eight", "openb/none", "openb/share", "openb/whole"]
    assert [r["path"] for r in made["rejected"]] == ["cpu_milli"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--trace", "openb"], "needs --nodes CSV and --pods CSV"),
        (["--nodes", "x"], "add --trace openb"),
        (["x", "--trace", "openb", "--nodes", "n", "--pods", "p"], "leave x out"),
        ([], "nothing to plan"),
    ],
)
def test_the_options_go_together(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *args]) == 2
    assert message in capsys.readouterr().err
