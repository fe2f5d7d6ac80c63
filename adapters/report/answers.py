"""Answers as pages: the plan that they are about, with the answer before all else."""

from ...models import Config, Plan, Snapshot
from ..ask.explain import Explanation
from ..ask.whatif import WhatIf, repeatable
from .difference import difference_section
from .page import Report, written
from .why import why_section


def why_page(
    found: Explanation,
    made: Plan,
    snapshot: Snapshot,
    config: Config,
    subject: str,
    *,
    tried: bool = True,
) -> str:
    """Return why a group waits, above the plan in which it does; ``tried``: changes were."""
    waits = f"Why {found.group} waits"
    heading = waits if found.held_by else f"{found.group} does not wait"
    report = Report(made, snapshot, config, subject, heading=heading)
    return written(report, first=[why_section(found, tried=tried)])


def whatif_page(answer: WhatIf, config: Config, subject: str) -> str:
    """Return the difference, above the plan of the changed cluster; ``config`` are its settings."""
    snapshot, made = answer.changed
    report = Report(made, snapshot, repeatable(config), subject, heading="What if")
    return written(report, first=[difference_section(answer)])
