"""A distribution with a rule, made in a folder or as a wheel: what an author would publish."""

import base64
import hashlib
import zipfile
from pathlib import Path

NO_FRIDAYS = '''
"""No fridays: nothing starts on one day of the week."""

from dataclasses import dataclass

from apportion.models import Reason, Violation

DAY_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class NoFridays:
    """No group starts on the day (0 is Monday) on which the snapshot was taken, if it is that."""

    name: str = "no-fridays"
    day: int = 4

    def __post_init__(self):
        if not 0 <= self.day <= 6:
            raise ValueError(f"day must be 0 to 6, got {self.day}")

    def _is_today(self, outcome):
        # 1 January 1970 was a Thursday.
        return (outcome.scene.snapshot.taken_at_s // DAY_S + 3) % 7 == self.day

    def hold(self, outcome, group):
        if self._is_today(outcome):
            yield Reason(self.name, f"group {group}", f"nothing starts on day {self.day}")

    def check(self, outcome):
        for group in sorted(outcome.started) if self._is_today(outcome) else ():
            yield Violation(self.name, f"group {group}", "starts on a Friday")

    def constrain(self, board):
        """Held groups never reach the board."""
'''

NORTHERN = '''
"""Northern: pods rather go to nodes that are said to be in the north."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Northern:
    """Pods on nodes with the label side=north."""

    name: str = "northern"
    unit: str = "pods"
    sense: str = "max"

    def cost(self, board):
        nodes = board.scene.nodes
        for shape in board.shapes:
            for cls, var in board.cells(shape):
                if nodes[cls.nodes[0]].labels.get("side") == "north":
                    yield 1, var

    def measure(self, outcome):
        nodes = outcome.scene.nodes
        return sum(nodes[i].labels.get("side") == "north" for _, i in outcome.new_pods)
'''


def metadata(name: str) -> str:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"


def entry_points(**rules: str) -> str:
    lines = [f"{k.replace('_', '-')} = {v}" for k, v in rules.items()]
    return "\n".join(["[apportion.rules]", *lines, ""])


def write_package(site: Path, name: str, text: str | None, **rules: str) -> None:
    """Write an installed distribution with one module, and rules under ``apportion.rules``."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(metadata(name))
    (info / "entry_points.txt").write_text(entry_points(**rules))
    if text is not None:
        (site / f"{name}.py").write_text(text)


WHEEL = """\
Wheel-Version: 1.0
Generator: hand
Root-Is-Purelib: true
Tag: py3-none-any
"""


def wheel(folder: Path) -> Path:
    """Write a wheel with the rule; return its path."""
    info = "quiet_days-1.0.dist-info"
    files = {
        "quiet_days.py": NO_FRIDAYS,
        f"{info}/METADATA": metadata("quiet-days"),
        f"{info}/WHEEL": WHEEL,
        f"{info}/entry_points.txt": entry_points(no_fridays="quiet_days:NoFridays"),
    }
    record = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record.append(f"{name},sha256={digest.decode()},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    path = folder / "quiet_days-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path
