"""What the scheduler's account did, from the API server's audit log; which rights nobody used.

`python -m cluster.audit FOLDER` compares the logs of a whole run of the tests with the rights that
the manifest gives, and fails where one is left over.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from apportion.adapters.live.rights import (
    FOR_SHARES,
    IN_OWN_NAMESPACE,
    IN_RESERVATIONS,
    Right,
    everywhere,
)

ACCOUNT = "system:serviceaccount:apportion-system:apportion"
FOLDER = "APPORTION_AUDIT"
"""Names the folder for the logs, in the environment; without it nothing is logged."""
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [ACCOUNT]}, {"level": "None"}],
}
Use = tuple[str, str, str]
"""Verb, API group, resource with its subresource."""
UNSEEN: dict[Use, str] = {
    ("create", "", "configmaps"): "for pods as KAI's admission leaves them; on a fake server only",
    ("patch", "", "configmaps"): "likewise",
    ("patch", "resource.k8s.io", "resourceclaims/binding"):
        "no request names it: the server asks for it when devices are written into a status",
    ("get", "", "persistentvolumes"):
        "a volume is taken back from a claim that is not bound for minutes; on a fake server only",
}  # fmt: skip
"""Rights whose use no log of these tests can show, with the reason."""
RIGHTS = (*everywhere(), *IN_OWN_NAMESPACE, *FOR_SHARES, *IN_RESERVATIONS)


class _What(msgspec.Struct, rename="camel"):
    resource: str = ""
    subresource: str = ""
    api_group: str = ""


class _Answer(msgspec.Struct):
    code: int = 0


class _Event(msgspec.Struct, rename="camel"):
    verb: str
    object_ref: _What | None = None
    response_status: _Answer | None = None


def flags(plane: Path) -> list[str]:
    """Return words for an API server that make it log, if a folder for that is named."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return []
    Path(folder).mkdir(parents=True, exist_ok=True)
    policy = plane / "audit.json"
    policy.write_bytes(msgspec.json.encode(POLICY))
    log = Path(folder).resolve() / f"{os.getpid()}.log"
    return [f"--audit-policy-file={policy}", f"--audit-log-path={log}"]


def used(lines: Iterable[bytes]) -> set[Use]:
    """Return what was asked for and allowed."""
    out = set()
    for line in lines:
        event = msgspec.json.decode(line, type=_Event)
        what, answer = event.object_ref, event.response_status
        if what is None or (answer is not None and answer.code in (401, 403)):
            continue
        name = f"{what.resource}/{what.subresource}" if what.subresource else what.resource
        out.add((event.verb, what.api_group, name))
    return out


def single(rights: Iterable[Right]) -> set[Use]:
    """Return rights one by one."""
    return {(v, r.group, name) for r in rights for name in r.resources for v in r.verbs}


def main(folder: str) -> int:
    """Compare, and say what is left over."""
    logs = sorted(Path(folder).glob("*.log"))
    lines = [line for log in logs for line in log.read_bytes().splitlines() if line]
    if not lines:
        print(f"rights: nothing was logged in {folder}")
        return 0
    given = single(RIGHTS) - set(UNSEEN)
    # Which kinds are there to be listed is up to the cluster that the tests have.
    given = {use for use in given if use[0] not in ("list", "watch")}
    left = sorted(given - used(lines))
    for verb, group, name in left:
        print(f"rights: no test used {verb} {name}{f'.{group}' if group else ''}")
    print(f"rights: {len(given) - len(left)} of {len(given)} to write were used")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
