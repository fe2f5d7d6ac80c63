"""Pseudonyms sort as the names do, in each of the orders that a plan looks at."""

import re
from random import Random

import pytest

from apportion.adapters.masking.pseudonyms import Words, pseudonyms
from apportion.models import PodSpec, PodState
from apportion.models.pod import Pod
from apportion.policies.members import rank

STAY = ("default", "kube-system", "root", "kai-scheduler", "true", "default-scheduler")
NEAR = ("default", "kube", "default-x", "default.z-1", "kube-systems", "default-scheduler-1")
PADDED = re.compile(r"(?<![0-9])0[0-9]")


def some_names(rng: Random) -> set[str]:
    letters = rng.choice(["ab-", "ab-1", "a-.12", "ab-09.", "abz_A-1", "abdefkrz-"])
    first = [c for c in letters if c.isalnum()]
    return {
        rng.choice(first) + "".join(rng.choices(letters, k=rng.randrange(7)))
        for _ in range(rng.randrange(1, 40))
    } | set(rng.sample(NEAR, 2))


@pytest.mark.parametrize("seed", range(300))
def test_every_order_is_kept(seed: int) -> None:
    rng = Random(seed)
    names = some_names(rng)
    stay = frozenset(rng.sample(STAY, rng.randrange(4)))
    members = {n for n in names if rng.random() < 0.4} if rng.randrange(2) else set()

    made = pseudonyms(names, "q", Words(stay), members)

    of = {**{w: w for w in stay}, **made}
    assert len(set(of.values())) == len(of)
    assert sorted(of, key=of.__getitem__) == sorted(of)
    assert sorted(of, key=lambda n: of[n] + "/") == sorted(of, key=lambda n: n + "/")
    counted = [n for n in members if not PADDED.search(n)]
    assert sorted(counted, key=lambda n: by_rank(of[n])) == sorted(counted, key=by_rank)


def by_rank(name: str) -> tuple[object, ...]:
    return rank(Pod("x", name, PodSpec(), PodState.PENDING))


def test_names_are_gone_and_words_that_stay_are_not() -> None:
    made = pseudonyms({"default", "team", "team-a", "kube"}, "q", Words(frozenset({"default"})))

    assert made["default"] == "default"
    assert made["team-a"].startswith(made["team"] + "-")
    assert not {"team", "kube"} & set(made.values())
    assert all("e" not in m for n, m in made.items() if n != "default")


def test_numbers_stay_where_members_are_counted_by_them_and_nowhere_else() -> None:
    names = {"train-9", "train-10", "node-9", "node-10", "alone-7"}

    made = pseudonyms(names, "q", members={"train-9", "train-10"})

    assert made["train-9"].endswith("9")
    assert made["train-10"].endswith("10")
    assert not any(c.isdigit() for n in ("node-9", "node-10", "alone-7") for c in made[n])


def test_a_thousand_names_get_pseudonyms_of_one_length() -> None:
    made = pseudonyms({f"n{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(676)}, "q")

    assert len({len(m) for m in made.values()}) == 1


def test_word_whose_number_is_kept_is_not_found_in_its_pseudonym() -> None:
    names = [f"{letter}{n}" for letter in "bcdfgh" for n in (1, 817)]

    found = pseudonyms(names, "q", members=names)

    assert [n for n, p in found.items() if n in p] == []
    assert sorted(names) == sorted(names, key=lambda n: found[n])
