"""Documents come out of files, folders and pipes; junk is refused in one sentence."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from apportion.adapters.files import documents, documents_of
from apportion.models import InputError


def values(data: str | bytes) -> list[Any]:
    raw = data.encode() if isinstance(data, str) else data
    return [d.data for d in documents_of(raw, "f")]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a: 1\n---\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="empty documents"),
        pytest.param('{"a": 1}', [{"a": 1}], id="one JSON object"),
        pytest.param('{"a": 1}\n{"b": 2}', [{"a": 1}, {"b": 2}], id="JSON objects in a row"),
        pytest.param('[{"a": 1}, null]', [{"a": 1}], id="a JSON array"),
        pytest.param("kind: List\nitems:\n- a: 1\n- null\n", [{"a": 1}], id="a YAML list"),
        pytest.param('{"kind": "List", "items": [{"a": 1}]}', [{"a": 1}], id="a JSON list"),
        pytest.param(
            '{"kind": "List", "items": [{"kind": "List", "items": [{"a": 1}]}]}',
            [{"a": 1}],
            id="a list in a list",
        ),
        pytest.param(
            '{"kind": "PodList", "apiVersion": "v1", "items": [{"a": 1}]}',
            [{"apiVersion": "v1", "kind": "Pod", "a": 1}],
            id="a typed list gives its type",
        ),
        pytest.param("kind: List\nitems: null\n", [], id="a list of nothing"),
        pytest.param("# only words\n", [], id="comments alone"),
        pytest.param("{a: 1, b: [x]}", [{"a": 1, "b": ["x"]}], id="YAML in braces"),
        pytest.param("\ufeffa: 1", [{"a": 1}], id="a byte order mark"),
        pytest.param("a: 1".encode("utf-16"), [{"a": 1}], id="what PowerShell writes"),
        pytest.param(gzip.compress(b"a: 1"), [{"a": 1}], id="gzip by its first bytes"),
        pytest.param("x: &x {a: 1}\ny: {<<: *x, b: 2}", [{"x": {"a": 1}, "y": {"a": 1, "b": 2}}],
                     id="a merge key"),
        pytest.param("when: 2026-01-05T12:00:00Z", [{"when": "2026-01-05T12:00:00Z"}],
                     id="a timestamp stays text"),
        pytest.param("at: 12:30:00", [{"at": "12:30:00"}], id="a time of day stays text"),
        pytest.param("1: a\non: b", [{"1": "a", "on": "b"}], id="keys are text"),
        pytest.param("a: [0, -7, +3, 0x1F, 017, 1_000, 0.5, .inf, on, ~, '1']",
                     [{"a": [0, -7, 3, 31, 15, 1000, 0.5, float("inf"), True, None, "1"]}],
                     id="scalars of YAML 1.1"),
    ],
)  # fmt: skip
def test_documents_of_reads(text: str | bytes, want: list[Any]) -> None:
    assert values(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("hello world", "only text", id="prose"),
        pytest.param("a: b: c", "line 1, column 5", id="broken YAML"),
        pytest.param('{"a": ', "neither YAML nor JSON", id="broken JSON"),
        pytest.param(b"\xff\xd8\x00\x81", "byte 0", id="a picture"),
        pytest.param("a: \x01", "neither YAML nor JSON", id="control characters"),
        pytest.param(b"\x1f\x8b\x08damaged", "damaged", id="broken gzip"),
        pytest.param("{{ .Values.x }}", "rendered", id="a template"),
        pytest.param("a: !Ref b", "the tag !Ref", id="a foreign tag"),
        pytest.param("a: !!python/object:os.system b", "the tag", id="a dangerous tag"),
        pytest.param("a: &a\n  b: *a", "contains itself", id="an endless alias"),
        pytest.param("- " * 300 + "a: 1", "levels of nesting", id="deep YAML"),
        pytest.param("[" * 3000, "neither YAML nor JSON", id="deep JSON"),
        pytest.param('{"a": "\\ud800"}', "neither YAML nor JSON", id="half a character"),
    ],
)
def test_documents_of_refuses(text: str | bytes, want: str) -> None:
    with pytest.raises(InputError, match=want) as e:
        values(text)

    assert "\n" not in str(e.value)


def test_aliases_that_expand_without_bound_are_refused() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]" for i in range(1, 12)]

    with pytest.raises(InputError, match="aliases that expand"):
        values("\n".join(rows))


def test_a_key_written_twice_is_reported_with_its_path_in_its_object() -> None:
    text = b"kind: List\nitems:\n- a: 1\n- b:\n    c: 1\n    c: 2\n"

    first, second = documents_of(text, "f")

    assert first.faults == ()
    assert [path for path, _ in second.faults] == ["b.c"]
    assert second.data == {"b": {"c": 1}}


def test_sources_are_read_in_order_and_folders_sorted_with_all_below(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("n: 2")
    (tmp_path / "a.json").write_text(json.dumps({"n": 1}))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.yml.gz").write_bytes(gzip.compress(b"n: 3"))
    (tmp_path / "notes.txt").write_text("not read")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.yaml").write_text("n: 9")
    extra = tmp_path / "notes"
    extra.write_text("n: 4\n---\nn: 5")

    found = list(documents([tmp_path, "-", str(extra)], io.StringIO("n: 0")))

    assert [d.data["n"] for d in found] == [1, 2, 3, 0, 4, 5]
    assert [d.index for d in found] == [0, 0, 0, 0, 0, 1]
    assert found[3].source == "standard input"


def test_missing_empty_and_unreadable_sources_are_refused(tmp_path: Path) -> None:
    for sources, stdin, want in (
        ([tmp_path / "gone.yaml"], None, "no such file"),
        ([tmp_path], None, "has no file"),
        (["-"], io.BytesIO(b" "), "empty"),
        (["-", "-"], io.BytesIO(b"a: 1"), "once only"),
    ):
        with pytest.raises(InputError, match=want):
            list(documents(sources, stdin))
