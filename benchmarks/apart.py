"""Apart: each instance is planned in a process of its own, so that its memory is its own.

``python -m benchmarks.apart SUBJECT INSTANCE RUNS`` is that process: it makes the cluster, then
plans it so many times with a solver process that is ready, the plain pass beside each time.
"""

import contextlib
import gc
import json
import os
import selectors
import subprocess
import sys
import time
from typing import Any

from apportion.models import Plan, PodKey

from .machine import Watch
from .subjects import SUBJECTS, Instance, Row

READY = "ready"


def measured(subject: str, instance: Instance, runs: int) -> Row:
    """Plan the instance in a process of its own; follow its memory; give up past its limit."""
    command = [sys.executable, "-m", "benchmarks.apart", subject, instance.name, str(runs)]
    row = Row(instance.name, wanted=instance.wanted)
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(os.environ)) as process:
        watch = Watch(process.pid)
        try:
            said = _follow(process, watch, time.monotonic() + instance.limit_s * (1 + runs))
        finally:
            process.kill()
            row.memory_mib = watch.stop() or None
    if said is None:
        row.note = f"given up: a run took more than {instance.limit_s:g} s"
        return row
    for key, value in said.items():
        setattr(row, key, value)
    return row


def _follow(
    process: "subprocess.Popen[bytes]", watch: Watch, deadline: float
) -> dict[str, Any] | None:
    """Read what the process says until it has said the figures; None where it is late or dies."""
    assert process.stdout is not None
    said = b""
    with selectors.DefaultSelector() as wait:
        wait.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not wait.select(left):
                return None
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                return None
            said += data
            *lines, said = said.split(b"\n")
            for line in lines:
                if line == READY.encode():
                    watch.start()
                    continue
                found: dict[str, Any] = json.loads(line)
                if "seconds" in found:
                    return found
                if found["took"] > found["limit"]:
                    return None
    return None


def figures(instance: Instance, runs: int) -> dict[str, Any]:
    """Plan the instance so many times."""
    from apportion.adapters.plan_check import scene_of, violations_of
    from apportion.solver.entry import plan
    from apportion.solver.process import SolverProcess

    from .first_fit import first_fit

    snapshot = instance.make()
    gc.collect()
    print(READY, flush=True)
    seconds: list[float] = []
    cpu: list[float] = []
    plain: list[float] = []
    made, passed = Plan("", ""), dict[PodKey, str]()
    for _ in range(runs):
        t = time.perf_counter()
        passed = first_fit(snapshot)
        plain.append(time.perf_counter() - t)
        with SolverProcess(instance.config.memory_limit_mib) as process:
            process.wait()
            t, used = time.perf_counter(), time.process_time()
            made = plan(snapshot, instance.config, process=process)
            seconds.append(time.perf_counter() - t)
            cpu.append(time.process_time() - used)
        took = {"took": seconds[-1], "limit": instance.limit_s}
        print(json.dumps(took), flush=True)
    wrong = [str(w) for w in violations_of(made, scene_of(snapshot, instance.config))]
    gaps = [t.gap for t in made.objective if t.name in ("repair", "entitled", "surplus")]
    return {
        "nodes": len(snapshot.nodes),
        "pods": len(snapshot.pods),
        "waiting": sum(p.state == "pending" for p in snapshot.pods),
        "seconds": seconds,
        "cpu": cpu,
        "plain": plain,
        "started": len(made.binds) + len(made.nominations),
        "started_plain": len(passed),
        "evicted": len(made.evictions),
        "gap": None if None in gaps else max((g for g in gaps if g is not None), default=0.0),
        "engine": made.solver.engine,
        "note": "; ".join([*([made.solver.detail] if made.solver.detail else []), _judged(wrong)]),
        "more": {
            "tiers": [
                {"name": t.name, "value": str(t.value), "bound": None if t.bound is None
                 else str(t.bound), "gap": t.gap}
                for t in made.objective
            ],
            "violations": wrong,
            "orderProven": made.solver.order_proven,
            "held": len(made.held),
        },
    }  # fmt: skip


def _judged(wrong: list[str]) -> str:
    return "passes the checker" if not wrong else f"ILLEGAL: {len(wrong)} violations, {wrong[0]}"


def main(argv: list[str]) -> int:
    """Serve one instance."""
    from . import catalogue

    catalogue.load()
    subject, name, runs = argv
    instance = next(i for i in SUBJECTS[subject].instances if i.name == name)
    out = figures(instance, int(runs))
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(out), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
