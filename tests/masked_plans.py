"""The plan of a masked snapshot beside the plan of the original, both made deterministically."""

import json
from typing import Any

from msgspec.structs import replace

from apportion.adapters.masking.key_file import Unmasking
from apportion.adapters.masking.mask import Mask
from apportion.models import Config, Plan, Snapshot
from apportion.models.plan import to_document
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess

DIGESTS = ("snapshot", "config", "digest")


def plans_apart(snapshot: Snapshot, config: Config, solver: SolverProcess) -> list[str]:
    """Return what of the masked plan, translated back, is not as in the original plan.

    All of it is compared but the digests: every name, number, sentence, and their order.
    """
    settings = replace(config, deterministic=True)
    mask = Mask([snapshot])
    original = plan(snapshot, settings, process=solver)
    masked = plan(mask.of(snapshot), mask.of_settings(settings), process=solver)

    want = _data(original)
    seen = Unmasking(mask.key_of_all).document(_data(masked))
    return [f"{k}: {seen[k]}, not {want[k]}" for k in want if seen.get(k) != want[k]]


def _data(made: Plan) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(to_document(made)))
    return {k: v for k, v in document.items() if k not in DIGESTS}
