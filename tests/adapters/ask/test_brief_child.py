"""The process that answers in brief: it answers a question, and does not outlive who asked it."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from apportion.adapters.ask.brief import Brief
from apportion.adapters.ask.brief_child import Question, answer
from apportion.models import Config, GroupKey
from apportion.models.snapshot import write
from apportion.models.value import from_json, to_json
from kubernetes_objects import in_group, node, pod, pod_group, snapshot

G = GroupKey("default/g")
GREEDY = Config(engine="greedy", deterministic=True)
PARENT = """
import os, subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-m", "apportion.adapters.ask.brief_child", str(os.getpid())],
    stdin=int(sys.argv[1]), start_new_session=True,
)
print(child.pid, flush=True)
child.wait()
"""


def test_a_question_is_a_line_and_a_snapshot_and_each_answer_a_line() -> None:
    pods = [pod(f"p{i}", {"cpu": "1"}, annotations=in_group("g")) for i in range(9)]
    seen = snapshot(node("n"), pod_group("g", minMember=9), *pods)
    question = to_json(Question(GREEDY, (G,), 1e9))
    out = io.BytesIO()

    answer(io.BytesIO(question + b"\n" + write(seen)), out)

    (line,) = out.getvalue().splitlines()
    assert from_json(line, Brief).says == "with 1 more node like n"


def test_without_time_nothing_is_answered() -> None:
    seen = snapshot(node("n"), pod_group("g", minMember=9))
    out = io.BytesIO()

    answer(io.BytesIO(to_json(Question(GREEDY, (G,), 0.0)) + b"\n" + write(seen)), out)

    assert out.getvalue() == b""


def test_it_ends_with_whoever_has_started_it() -> None:
    source, kept = os.pipe()  # so that its question does not end when its parent does
    command = [sys.executable, "-c", PARENT, str(source)]
    with subprocess.Popen(command, pass_fds=[source], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)

    until_s = time.monotonic() + 60
    while is_there(pid) and time.monotonic() < until_s:
        time.sleep(0.02)
    os.close(source)
    os.close(kept)

    assert not is_there(pid)


def is_there(pid: int) -> bool:
    """Say whether the process runs; one that is dead and not buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
