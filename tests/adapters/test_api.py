"""``import apportion``: the library does what the commands do, and its examples run."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import apportion
from apportion.adapters import api
from apportion.models import Config, GroupKey, InputError
from apportion.models.edits import AddNodes, Drain

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> apportion.Cluster:
    monkeypatch.chdir(ROOT)
    return apportion.load("examples/small").with_settings(deterministic=True)


def test_notebooks_complete_the_public_names() -> None:
    listed = {n for n in dir(apportion) if not n.startswith("__")}

    assert listed == set(apportion.__all__) - {"__version__"}


def test_a_plan_is_that_of_the_command(small: apportion.Cluster) -> None:
    made = apportion.plan(small)

    assert {b.group for b in made.binds} >= {"default/web-0", "default/web-1"}
    assert made.solver.order_proven
    assert apportion.records(made.held)[0]["group"] == "batch/more"


def test_an_explanation_is_that_of_the_command(small: apportion.Cluster) -> None:
    found = apportion.explain(small, "huge", changes=False)

    assert found.held_by == "rules"
    assert {m.rule for m in found.conflict} == {"gang", "capacity"}
    with pytest.raises(InputError, match="there is no group nobody"):
        apportion.explain(small, "nobody")


def test_what_if_takes_edits_as_values(small: apportion.Cluster) -> None:
    answer = apportion.whatif(small, AddNodes("gpu-a"), Drain("cpu-a"))

    assert GroupKey("batch/more") in answer.difference.starts_more
    assert [str(e) for e in answer.edits] == ["add 1 node like gpu-a", "drain node cpu-a"]


def test_what_if_takes_other_settings(small: apportion.Cluster) -> None:
    answer = apportion.whatif(small, config=Config(evictions="none"))

    assert answer.base[1].evictions
    assert not answer.changed[1].evictions


def test_settings_come_from_a_file_and_by_name(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "apiVersion: apportion.dev/v1alpha1\nkind: Configuration\nseed: 7\n"
    )

    read = apportion.load(ROOT / "examples/small", config=tmp_path / "c.yaml")

    assert read.config.seed == 7
    assert read.with_settings(seed=8).config.seed == 8


@pytest.mark.slow
def test_examples_of_docstrings_and_of_the_page_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    result = doctest.testmod(api)
    page = doctest.testfile(str(ROOT / "docs" / "library.md"), module_relative=False)

    assert (result.attempted >= 4, page.attempted >= 10) == (True, True)
    assert (result.failed, page.failed) == (0, 0)


def test_the_package_itself_loads_nothing() -> None:
    heavy = ("numpy", "apportion.adapters")
    code = f"import apportion, sys; print(*(m in sys.modules for m in {heavy}))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = apportion.nothing
