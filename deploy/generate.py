"""Write what follows from the program: definitions, rules of roles, dashboards.

``make generate`` runs it; a test fails while a file is not what it would write.
"""

from pathlib import Path

from apportion.adapters.crds import NAMES, definition
from apportion.adapters.live.rights import (
    FOR_SHARES,
    IN_OWN_NAMESPACE,
    IN_RESERVATIONS,
    WRITING,
    Right,
    everywhere,
    rules,
)

from .dashboards import DASHBOARDS, written

HERE = Path(__file__).resolve().parent
BEGIN, END = "# make generate writes from here", "# to here"
TABLE_BEGIN, TABLE_END = "<!-- make generate writes from here -->", "<!-- to here -->"
RULES = {"clusterrole": everywhere(), "role": IN_OWN_NAMESPACE}
SHARES = {"shares-clusterrole": FOR_SHARES, "shares-role": IN_RESERVATIONS}


def generated() -> dict[Path, str]:
    """Return what each generated file has to be."""
    chart = HERE / "chart"
    crds = {chart / "crds" / f"{name}.yaml": definition(name) for name in NAMES}
    files = {
        chart / "files" / f"{role}-rules.yaml": rules(rights)
        for role, rights in (RULES | SHARES).items()
    }
    pages = {chart / "dashboards" / f"{d.name}.json": written(d) for d in DASHBOARDS}
    plain, told = HERE / "apportion.yaml", HERE.parent / "docs" / "security.md"
    shares = HERE / "shares.yaml"
    texts = {
        plain: with_rules(plain.read_text(), *RULES.values()),
        shares: with_rules(shares.read_text(), *SHARES.values()),
        told: with_table(told.read_text()),
    }
    return crds | files | pages | texts


def with_rules(manifest: str, *roles: tuple[Right, ...]) -> str:
    """Return the manifest with the rules of its roles, in this order, written anew."""
    head, *rest = manifest.split(f"{BEGIN}\n")
    if len(rest) != len(roles):
        raise ValueError(f"a manifest needs the line {BEGIN!r} {len(roles)} times")
    out = head
    for part, rights in zip(rest, roles, strict=True):
        _, _, after = part.partition(f"  {END}\n")
        body = "".join(f"  {line}\n" for line in rules(rights).splitlines())
        out += f"{BEGIN}\n{body}  {END}\n{after}"
    return out


def with_table(page: str) -> str:
    """Return the page with the table of what may be written."""
    head, begin, rest = page.partition(f"{TABLE_BEGIN}\n\n")
    _, end, tail = rest.partition(f"\n{TABLE_END}")
    if not (begin and end):
        raise ValueError(f"the page needs the lines {TABLE_BEGIN!r} and {TABLE_END!r}")
    rows = ["| what | verbs | why |", "|---|---|---|"]
    for right in WRITING:
        names = ", ".join(f"`{name}`" for name in right.resources)
        of = f" of {right.group}" if right.group else ""
        rows.append(f"| {names}{of} | {', '.join(right.verbs)} | {right.why} |")
    return "\n".join((head + begin.rstrip("\n"), "", *rows, end.lstrip("\n") + tail))


def main() -> None:
    """Write what has changed, and name it."""
    for path, text in generated().items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {path.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
