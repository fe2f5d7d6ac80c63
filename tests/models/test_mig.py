"""Which slices a GPU can be cut into: profiles, starts, and what goes together."""

from itertools import combinations

import pytest

from apportion.models.mig import MODELS, Model, cut, cuts, model_of

A100 = MODELS[0]


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("NVIDIA-A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA-A100-PCIE-80GB", "A100 80GB"),
        ("NVIDIA-A30", "A30"),
        ("NVIDIA-H100-80GB-HBM3", "H100 80GB"),
        ("NVIDIA-H100-PCIe", "H100 80GB"),
        ("NVIDIA-H200", "H200"),
        ("NVIDIA-B200", "B200"),
        ("NVIDIA-H100-NVL", None),
        ("NVIDIA-GB200", None),
        ("Tesla-T4", None),
        ("", None),
    ],
)
def test_models_are_known_by_their_product(product: str, name: str | None) -> None:
    found = model_of(product)

    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ("7g.40gb", True),
        ("4g.20gb 3g.20gb", True),
        ("4g.20gb 2g.10gb 1g.5gb", True),
        ("3g.20gb 3g.20gb", True),
        ("2g.10gb 2g.10gb 2g.10gb 1g.5gb", True),
        (" ".join(["1g.5gb"] * 7), True),
        ("1g.10gb 1g.10gb 1g.10gb 1g.10gb", True),
        ("1g.5gb.me 2g.10gb 4g.20gb", True),
        ("3g.20gb 3g.20gb 1g.5gb", False),
        ("4g.20gb 4g.20gb", False),
        (" ".join(["1g.5gb"] * 8), False),
        ("2g.10gb 2g.10gb 2g.10gb 1g.10gb 1g.5gb", False),
        ("1g.5gb.me 1g.5gb.me", False),
        ("7g.40gb 1g.5gb", False),
        ("1g.6gb", False),
    ],
)
def test_what_goes_together_on_one_device(wanted: str, fits: bool) -> None:
    assert (cut(A100, tuple(wanted.split()), 1) is not None) == fits


def test_as_few_devices_as_can_be_are_cut() -> None:
    made = cut(A100, ("3g.20gb", "3g.20gb", "1g.5gb", "2g.10gb", "4g.20gb"), 4)

    assert made is not None
    assert len(made) == 2
    assert sorted(name for device in made for name, _ in device) == [
        "1g.5gb", "2g.10gb", "3g.20gb", "3g.20gb", "4g.20gb",
    ]  # fmt: skip
    assert cut(A100, ("7g.40gb",) * 3, 2) is None


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_every_cut_is_legal(model: Model) -> None:
    profiles = {p.name: p for p in model.profiles}

    for names, slices in cuts(model).items():
        assert sorted(name for name, _ in slices) == sorted(names)
        assert sum(profiles[name].compute for name in names) <= model.compute
        assert sum(name.endswith(".me") for name in names) <= 1
        for name, start in slices:
            assert start in profiles[name].starts
        for (a, s), (b, t) in combinations(slices, 2):
            assert s + profiles[a].memory <= t or t + profiles[b].memory <= s
