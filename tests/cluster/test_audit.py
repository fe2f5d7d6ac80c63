"""What an audit log says was used."""

import json
from pathlib import Path

import pytest

from cluster.audit import ACCOUNT, FOLDER, RIGHTS, UNSEEN, flags, main, single, used

EVERYTHING = "rights-used.log"


def line(verb: str, resource: str, *, group: str = "", below: str = "", code: int = 200) -> bytes:
    what = {"resource": resource, "apiGroup": group, "subresource": below}
    status = {"code": code}
    return json.dumps({"verb": verb, "objectRef": what, "responseStatus": status}).encode()


def test_uses_are_told_by_verb_group_and_subresource() -> None:
    lines = [
        line("create", "pods", below="binding", code=201),
        line("patch", "queues", group="scheduling.volcano.sh", below="status"),
        line("create", "pods", below="eviction", code=429),
        line("delete", "pods", code=403),
        json.dumps({"verb": "get", "requestURI": "/apis"}).encode(),
    ]

    assert used(lines) == {
        ("create", "", "pods/binding"),
        ("patch", "scheduling.volcano.sh", "queues/status"),
        ("create", "", "pods/eviction"),
    }


def logged(folder: Path, uses: set[tuple[str, str, str]]) -> str:
    parts = ((verb, *name.partition("/"), group) for verb, group, name in sorted(uses))
    lines = [line(v, name, group=g, below=below) for v, name, _, below, g in parts]
    (folder / EVERYTHING).write_bytes(b"\n".join(lines) + b"\n")
    return str(folder)


def test_a_right_that_nobody_used_fails_the_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = single(RIGHTS)

    assert main(logged(tmp_path, everything)) == 0
    assert main(logged(tmp_path, everything - {("create", "", "pods/binding")})) == 1
    assert "no test used create pods/binding\n" in capsys.readouterr().out


def test_without_a_folder_nothing_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    assert flags(tmp_path) == []

    monkeypatch.setenv(FOLDER, str(tmp_path / "logs"))
    policy, log = flags(tmp_path)

    assert ACCOUNT in Path(policy.partition("=")[2]).read_text()
    assert Path(log.partition("=")[2]).parent == tmp_path / "logs"


def test_what_cannot_be_seen_is_a_right_all_the_same() -> None:
    assert set(UNSEEN) <= single(RIGHTS)
    assert all(UNSEEN.values())
