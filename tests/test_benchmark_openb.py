"""The openb benchmark: FGD one by one, the count of what was placed, and a run on a made-up list.

The published list is the user's own copy: APPORTION_OPENB names the folder with its nodes and pods
(openb_node_list_gpu_node.csv, openb_pod_list_default.csv), and with arrivals.csv and ranks.csv of a
published run.
"""

import os
from pathlib import Path
from random import Random

import pytest
from benchmarks import openb
from benchmarks.fgd import Machine, OneByOne, Spec
from benchmarks.openb import Placed, Trace, counted, main

DATA = os.environ.get("APPORTION_OPENB", "")


def world(machines: list[Machine], pods: list[Spec]) -> OneByOne:
    return OneByOne(machines, pods, list(range(len(machines))))


def test_fgd_puts_a_share_where_it_spoils_least() -> None:
    share: Spec = (1000, 1, 1, 400, ())
    whole: Spec = (1000, 1, 1, 1000, ())
    at = world([Machine("a", 9000, 9, 2, ""), Machine("b", 9000, 9, 2, "")], [share, whole])

    assert at.place(share) == (0, (0,))
    # On the device that is cut already, not on one that a whole pod could use.
    assert at.place(share) == (0, (0,))
    assert at.place(whole) == (0, (1,))
    assert at.used == 1800


def test_fgd_refuses_what_fits_nowhere_and_ties_go_to_the_first_rank() -> None:
    one: Spec = (1000, 1, 1, 1000, ("T4",))
    machines = [Machine("a", 9000, 9, 1, "T4"), Machine("b", 9000, 9, 1, "T4"),
                Machine("c", 9000, 9, 1, "G2")]  # fmt: skip
    at = OneByOne(machines, [one], [2, 1, 0])

    assert [at.place(one), at.place(one), at.place(one)] == [(1, (0,)), (0, (0,)), None]


def lists(folder: Path, machines: int = 12, pods: int = 120) -> list[str]:
    rng = Random(5)
    kinds = ["3000,4096,1,810", "9000,16384,1,1000", "6000,8192,1,470", "2000,4096,1,190",
             "12000,32768,0,0", "40000,65536,4,1000"]  # fmt: skip
    rows = [f"n{i:03d},{rng.choice((48000, 64000))},262144,4,T4" for i in range(machines)]
    (folder / "n.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\n" + "\n".join(rows))
    rows = [f"p{i:03d},{rng.choice(kinds)}," for i in range(pods)]
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    (folder / "p.csv").write_text(header + "\n".join(rows))
    return ["--nodes", str(folder / "n.csv"), "--pods", str(folder / "p.csv"), "--seconds", "2"]


def test_a_made_up_list_is_run_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*lists(tmp_path), "--parts", "offline,list,batches-20", "--workers", "1"])

    out = capsys.readouterr().out
    assert code == 0
    assert out.count("the checker has no objection") == 3
    assert out.count("no placement reaches more than") == 2
    for part in out.split("arrivals\n")[1:]:
        ours, theirs = (
            float(line.split(":")[1].split("%")[0]) for line in part.splitlines()[1::-1]
        )
        assert ours >= theirs - 1


def test_what_is_placed_wrongly_is_found(tmp_path: Path) -> None:
    seen: list[Trace] = []

    def keep(trace: Trace, *_: object) -> bool:
        seen.append(trace)
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openb, "compare", keep)
        main(lists(tmp_path))
    trace = seen[0]
    shares = [i for i, p in enumerate(trace.arrivals) if trace.specs[p][3] == 810]
    good: Placed = [(shares[0], 0, (0,)), (shares[1], 0, (1,))]
    twice: Placed = [(shares[0], 0, (0,)), (shares[1], 0, (0,))]
    two: Placed = [(shares[0], 0, (0, 1))]

    assert counted(trace, trace.arrivals, good) == 1620
    for bad, message in (
        (twice, "cut into more than there is"),
        (two, "another number of GPUs"),
        ([good[0], good[0]], "placed twice"),
    ):
        with pytest.raises(AssertionError, match=message):
            counted(trace, trace.arrivals, bad)


def test_lists_that_are_not_there_are_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--nodes", str(tmp_path / "absent.csv"), "--pods", str(tmp_path / "absent.csv")])

    assert code == 2
    assert "give your own copy" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="APPORTION_OPENB names no folder with the published lists")
def test_fgd_repeats_the_published_run(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(DATA)
    args = ["--nodes", "openb_node_list_gpu_node.csv", "--pods", "openb_pod_list_default.csv",
            "--arrivals", "arrivals.csv", "--ranks", "ranks.csv"]  # fmt: skip
    files = [a if a.startswith("--") else str(folder / a) for a in args]

    assert main([*files, "--parts", "offline,batches-1000"]) == 0

    out = capsys.readouterr().out
    assert "FGD one by one: 95.144 % of 6212 GPUs, 7965 of 8316 pods" in out
    assert "FGD one by one: 95.290 % of 6212 GPUs, 8334 of 10866 pods" in out
    ours = [float(line.split(":")[1].split("%")[0]) for line in out.splitlines()
            if line.startswith("  Apportion:")]  # fmt: skip
    assert ours[0] >= 96.65
    assert ours[1] >= 95.9
