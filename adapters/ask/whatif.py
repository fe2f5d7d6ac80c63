"""What if: the cluster as it is and as it would be, both planned, and the difference.

Both are planned deterministically and by one seed, so that no difference is noise of the search.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ...models import Config, Plan, Snapshot, SolverRow
from ...models.edit import edited
from ...models.edits import Edit
from ...models.snapshot import API_VERSION
from ...models.value import Value, to_data
from ...solver.entry import plan
from ...solver.process import SolverProcess
from .difference import Difference, difference

KIND = "WhatIf"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Two clusters with their plans, and what is different in the second."""

    edits: tuple[Edit, ...]
    settings: tuple[str, ...]
    """Settings that are different, as they were written."""
    base: tuple[Snapshot, Plan]
    changed: tuple[Snapshot, Plan]
    difference: Difference


def repeatable(config: Config) -> Config:
    """Return the settings with limits that no clock decides."""
    return replace(config, deterministic=True)


def whatif(
    snapshot: Snapshot,
    config: Config,
    edits: Sequence[Edit],
    *,
    changed_config: Config | None = None,
    settings: Sequence[str] = (),
    process: SolverProcess | None = None,
    known: Plan | None = None,
) -> WhatIf:
    """Plan a cluster as it is and after edits.

    ``changed_config`` are the settings of the second plan, where they differ; ``known`` is the
    first plan, where it was made before.

    Raises
    ------
    InputError
        If an edit names what there is not, or a number that cannot be.
    """
    other = edited(snapshot, edits)
    base = known if known is not None else plan(snapshot, repeatable(config), process=process)
    new_config = config if changed_config is None else replace(changed_config, seed=config.seed)
    new = plan(other, repeatable(new_config), process=process)
    before, after = (snapshot, base), (other, new)
    return WhatIf(tuple(edits), tuple(settings), before, after, difference(before, after))


class Side(Value, frozen=True, omit_defaults=False):
    """One of two plans, in short; its digests say which."""

    snapshot: str
    config: str
    plan: str
    starts: int
    promised: int
    evicted: int
    held: int
    """How many groups."""
    solver: SolverRow

    @classmethod
    def of(cls, made: Plan) -> "Side":
        return cls(
            made.snapshot, made.config, made.digest, len(made.binds), len(made.nominations),
            len(made.evictions), len(made.held), made.solver,
        )  # fmt: skip


def to_document(answer: WhatIf) -> dict[str, Any]:
    """Return the answer as plain data."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "edits": [{**to_data(e), "says": str(e)} for e in answer.edits],
        "settings": list(answer.settings),
        "base": to_data(Side.of(answer.base[1])),
        "changed": to_data(Side.of(answer.changed[1])),
        **to_data(answer.difference),
    }
