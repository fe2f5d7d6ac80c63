"""Write what follows from the program: definitions, rules of roles, dashboards.

``make generate`` runs it; a test fails while a file is not what it would write.
"""

from pathlib import Path

from apportion.adapters.crds import NAMES, definition
from apportion.adapters.live.rights import IN_OWN_NAMESPACE, everywhere, rules

from .dashboards import DASHBOARDS, written

HERE = Path(__file__).resolve().parent
BEGIN, END = "# make generate writes from here", "# to here"
RULES = {"ClusterRole": everywhere(), "Role": IN_OWN_NAMESPACE}


def generated() -> dict[Path, str]:
    """Return what each generated file has to be."""
    chart = HERE / "chart"
    crds = {chart / "crds" / f"{name}.yaml": definition(name) for name in NAMES}
    files = {
        chart / "files" / f"{kind.lower()}-rules.yaml": rules(rights)
        for kind, rights in RULES.items()
    }
    pages = {chart / "dashboards" / f"{d.name}.json": written(d) for d in DASHBOARDS}
    plain = HERE / "apportion.yaml"
    return crds | files | pages | {plain: with_rules(plain.read_text())}


def with_rules(manifest: str) -> str:
    """Return the manifest with the rules of its roles, in the order of RULES, written anew."""
    head, *rest = manifest.split(f"{BEGIN}\n")
    if len(rest) != len(RULES):
        raise ValueError(f"a manifest needs the line {BEGIN!r} {len(RULES)} times")
    out = head
    for part, rights in zip(rest, RULES.values(), strict=True):
        _, _, after = part.partition(f"  {END}\n")
        body = "".join(f"  {line}\n" for line in rules(rights).splitlines())
        out += f"{BEGIN}\n{body}  {END}\n{after}"
    return out


def main() -> None:
    """Write what has changed, and name it."""
    for path, text in generated().items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {path.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
