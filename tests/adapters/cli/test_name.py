"""Long names in columns: nothing is lost, and lines end after a mark where there is one."""

import io

import pytest
from rich.console import Console
from rich.table import Table

from apportion.adapters.cli.name import Name, folded


@pytest.mark.parametrize(
    ("name", "width", "want"),
    [
        ("team/train", 10, ["team/train"]),
        ("team/train", 9, ["team/", "train"]),
        ("models/pretrain-mixture-0", 18, ["models/pretrain-", "mixture-0"]),
        ("n1.eu-west.example", 8, ["n1.eu-", "west.", "example"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("a-" * 3, 2, ["a-", "a-", "a-"]),
        ("", 5, [""]),
    ],
)
def test_a_line_ends_after_a_mark(name: str, width: int, want: list[str]) -> None:
    assert folded(name, width).split("\n") == want


def test_a_narrow_column_shows_all_of_it() -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column(max_width=12, overflow="fold")
    table.add_row(Name("research/fine-tuning-7"))
    out = io.StringIO()

    Console(file=out, width=40).print(table)

    assert [line.strip() for line in out.getvalue().splitlines() if line.strip()] == [
        "research/", "fine-tuning-", "7"
    ]  # fmt: skip
