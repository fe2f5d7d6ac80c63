"""Random clusters in which groups need some of their parts, whichever they are."""

from random import Random

from msgspec.structs import replace

from apportion.models import Choice, Group, Pod, Snapshot

PARTS = "pqrs"


def with_parts(base: Snapshot, rng: Random) -> Snapshot:
    """Return the cluster with groups cut into parts, of which they need some."""
    pods = list(base.pods)
    return replace(
        base, groups=tuple(_cut(rng, g, pods) for g in base.groups), pods=tuple(pods)
    )  # fmt: skip


def _cut(rng: Random, g: Group, pods: list[Pod]) -> Group:
    mine = [i for i, p in enumerate(pods) if p.group == g.key]
    if len(mine) < 2 or g.role_minimum or rng.random() < 0.3:
        return g
    parts = PARTS[: rng.randint(2, min(4, len(mine)))]
    for n, i in enumerate(mine):
        pods[i] = replace(pods[i], role=parts[n % len(parts)])
    size = 1 if len(mine) < 2 * len(parts) or rng.random() < 0.3 else 2
    even = rng.random() < 0.7
    roles = {p: size if even else rng.choice((0, 1, 1, 2)) for p in parts}
    needed: dict[str, int] = {}
    inner: tuple[Choice, ...] = ()
    if len(parts) > 2 and rng.random() < 0.25:
        needed = {parts[0]: roles.pop(parts[0])}
    if len(roles) > 2 and rng.random() < 0.3:
        below = {p: roles.pop(p) for p in list(roles)[:2]}
        inner = (Choice(rng.choice((1, 2)), below),)
    least = rng.randint(1, max(1, len(roles) + len(inner) - 1))
    minimum = 1 if rng.random() < 0.7 else g.minimum
    return replace(
        g, minimum=minimum, role_minimum=needed, choices=(Choice(least, roles, inner),)
    )  # fmt: skip
