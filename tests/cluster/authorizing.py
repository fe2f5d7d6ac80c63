"""Wait until the API server's authorizer knows what was said about rights.

It looks roles and bindings up in copies of its own, one for each of four kinds, which hear of
changes a moment later, of those that a test before this one has made as well: a right may be there
that goes at once. Each copy hears of the changes of its kind in their order, so that whoever knows
what was made last knows all that was made and deleted before.
"""

import secrets

import msgspec

from cluster.client import Client, Data
from cluster.waiting import until

RBAC = "rbac.authorization.k8s.io"
THING = {"apiGroups": ["tests.apportion.dev"], "resources": ["things"]}
VERBS = {"": "get", "Cluster": "list"}
"""What the last role and the last role of the cluster allow, by what the kinds begin with."""


def wait_authorized(client: Client) -> None:
    """Wait until roles and bindings count as they are now, and no longer as they were."""
    name = f"tests-{secrets.token_hex(8)}"
    made = [client.create(thing) for thing in _last(name)]
    until(
        lambda: all(_may(client, name, verb) for verb in VERBS.values()),
        "the API server's authorizer has heard of the last role and binding",
    )
    for thing in made:
        kind = f"{thing['kind']}.{RBAC}"
        client.delete(kind, name, thing["metadata"].get("namespace"))


def _last(name: str) -> list[Data]:
    """Return a role and a binding of each sort, by which a user of that name has rights."""
    things: list[Data] = []
    for sort, verb in VERBS.items():
        meta = {"name": name, **({} if sort else {"namespace": "default"})}
        subject = {"apiGroup": RBAC, "kind": "User", "name": name}
        things += [
            {"kind": f"{sort}Role", "metadata": meta, "rules": [{**THING, "verbs": [verb]}]},
            {
                "kind": f"{sort}RoleBinding", "metadata": meta, "subjects": [subject],
                "roleRef": {"apiGroup": RBAC, "kind": f"{sort}Role", "name": name},
            },
        ]  # fmt: skip
    return [{"apiVersion": f"{RBAC}/v1", **thing} for thing in things]


def _may(client: Client, user: str, verb: str) -> bool:
    asked = {
        "verb": verb, "group": THING["apiGroups"][0], "resource": THING["resources"][0],
        "namespace": "default",
    }  # fmt: skip
    body = {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": asked},
    }  # fmt: skip
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    allowed: bool = msgspec.json.decode(client.request("POST", path, body))["status"]["allowed"]
    return allowed
