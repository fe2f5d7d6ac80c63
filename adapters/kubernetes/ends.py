"""When running pods end: by a deadline of their Job or their own, by Kueue's, or as they say."""

from ...models import End, EndBy
from ..paths import below
from .body_gangs import RayJobSpec, TrainingSpec
from .body_pod import PodStatusBody
from .body_rare import ScaleSpec, ScaleStatus
from .faults import Faults
from .meta import Thing, moment
from .owners import Owners
from .pods import Candidate, started_s
from .times import duration_s
from .world import World

MAX_EXEC_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
"""Kueue counts it from the admission, so from the start of pods it is too long, if anything."""
RUNTIME = "apportion.dev/runtime"


def end_of(c: Candidate, declared: Thing | None, owners: Owners, world: World) -> End | None:
    """Return when a pod that runs ends, the earliest where several things say it.

    ``declared``: the object of its group. What is no time is warned of, and counts for nothing.
    """
    chain = owners.chain(c.thing)
    status: PodStatusBody = c.thing.body.status or PodStatusBody()
    begun_s = moment(status.start_time, "", Faults())
    found = (
        _deadline(c, chain, begun_s),
        _by_kueue(chain[-1] if chain else c.thing, begun_s, world),
        _as_it_says(c, chain, declared, world),
    )
    return min((e for e in found if e is not None), default=None, key=lambda e: (e.at_s, e.by))


def _deadline(c: Candidate, chain: list[Thing], begun_s: int | None) -> End | None:
    """Return the end by a deadline.

    A pod that its controller would bring back does not end by its own, nor does a Job that is a
    part of something larger.
    """
    limit_s = c.body.active_deadline_seconds if c.thing.owner is None else None
    for above in chain:
        if (allowed_s := _allowed_s(above)) is not None:
            limit_s = allowed_s
            begun_s = moment((above.body.status or ScaleStatus()).start_time, "", Faults())
            break
    if limit_s is None or begun_s is None:
        return None
    return End(begun_s + limit_s, EndBy.DEADLINE)


def _allowed_s(workload: Thing) -> int | None:
    """Return how long after its start all pods of the workload are gone; None: nothing says it."""
    match getattr(workload.body, "spec", None):
        case ScaleSpec() as scale if _stands_alone(workload):
            return scale.active_deadline_seconds
        case TrainingSpec(run_policy=policy) if policy is not None:
            return policy.active_deadline_seconds
        case RayJobSpec(active_deadline_seconds=limit_s) as job if limit_s is not None:
            # A cluster that the job does not shut down, or did not make, stays.
            if job.shutdown_after_job_finishes and not job.cluster_selector:
                return limit_s + (job.ttl_seconds_after_finished or 0)
    return None


def _stands_alone(thing: Thing) -> bool:
    above = thing.owner
    return thing.kind == "Job" and (above is None or above.kind == "CronJob")


def _by_kueue(whole: Thing, begun_s: int | None, world: World) -> End | None:
    """Return the end that Kueue sees to: of the workload, or of a pod that is one itself."""
    written = whole.labels.get(MAX_EXEC_TIME)
    if written is None or begun_s is None or (whole.kind == "Pod" and whole.owner is not None):
        return None
    if not (written.isascii() and written.isdigit() and len(written) <= 10):
        said = f"{written[:40]!r} is no whole number of seconds; it counts for nothing"
        world.ledger.warn(whole.title, below("metadata.labels", MAX_EXEC_TIME), said)
        return None
    return End(begun_s + int(written), EndBy.MAX_EXEC_TIME)


def _as_it_says(
    c: Candidate, chain: list[Thing], declared: Thing | None, world: World
) -> End | None:
    askers = [c.thing, *chain, *([declared] if declared is not None else [])]
    asker = next((t for t in askers if t.annotations.get(RUNTIME)), None)
    begun_s = started_s(c.thing)
    if asker is None or begun_s is None:
        return None
    try:
        return End(begun_s + duration_s(asker.annotations[RUNTIME]), EndBy.RUNTIME)
    except ValueError as e:
        said = f"{e}; it counts for nothing"
        world.ledger.warn(asker.title, below("metadata.annotations", RUNTIME), said)
        return None
