"""The adviser asks in the background, a few groups at a time, and rests in between."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from apportion.adapters.ask.brief import Brief
from apportion.adapters.ask.brief_child import Question
from apportion.adapters.live import adviser as module
from apportion.adapters.live.advice import AGAIN_S
from apportion.adapters.live.adviser import MEMORY_MIB, REST, Adviser, Means, by_child
from apportion.adapters.live.carry import Carried
from apportion.adapters.live.loop import Cycle
from apportion.adapters.live.verdicts import Verdict, verdicts_of
from apportion.models import GroupKey, Snapshot
from kubernetes_objects import Data, in_group, node, pod, pod_group, snapshot

from .worlds import GREEDY, planned

G = GroupKey("default/g")


def gang(name: str, n: int) -> list[Data]:
    pods = [pod(f"{name}{i}", {"cpu": "1"}, annotations=in_group(name)) for i in range(n)]
    return [pod_group(name, minMember=n), *pods]


class Bench:
    """A cluster with groups that wait, and an adviser whose answers the test gives."""

    def __init__(self, *objects: Data, says: dict[str, str | Exception] | None = None) -> None:
        self.seen = snapshot(node("n"), *objects)
        self.says = says or {}
        self.now_s = 0.0
        self.slept: list[float] = []
        self.news = 0
        self.counted: list[str] = []
        self.questions: list[Question] = []
        means = Means(lambda: self.now_s, self.sleep, self.answer)
        self.adviser = Adviser(2, self.tell, self.counted.append, means)

    def tell(self) -> None:
        self.news += 1

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds
        await asyncio.sleep(0)

    async def answer(self, question: Question, seen: Snapshot) -> AsyncGenerator[Brief]:
        self.questions.append(question)
        assert seen is self.seen
        for group in question.groups:
            self.now_s += 2.0
            says = self.says.get(group, "")
            if isinstance(says, Exception):
                raise says
            yield Brief(group, says)

    def cycle(self) -> list[Verdict]:
        plan = planned(self.seen)
        cycle = Cycle(1, self.seen, GREEDY, plan, Carried(), {}, 0)
        return list(self.adviser.over(cycle, verdicts_of(plan, self.seen)).values())

    def once(self) -> float | None:
        self.now_s += 1.0
        return asyncio.run(self.adviser.once())


def test_an_answer_is_news_and_stands_in_the_next_verdict() -> None:
    bench = Bench(*gang("g", 9), says={G: "with 1 more node like n"})
    (before,) = bench.cycle()
    took_s = bench.once()
    (after,) = bench.cycle()

    assert (before.advice, after.advice) == ("", "with 1 more node like n")
    assert after.message == f"{before.message}; would start with 1 more node like n"
    assert (bench.news, bench.counted, took_s) == (1, ["found"], 2.0)


def test_where_nothing_was_found_nothing_is_told() -> None:
    bench = Bench(*gang("g", 9))
    bench.cycle()
    bench.once()

    assert (bench.news, bench.counted) == (0, ["none"])
    assert bench.once() is None


@pytest.mark.parametrize("error", [OSError("no process"), TimeoutError(), ValueError("nonsense")])
def test_without_an_answer_the_adviser_goes_on(error: Exception, caplog: Any) -> None:
    bench = Bench(*gang("g", 9), says={G: error})
    bench.cycle()
    bench.once()

    assert (bench.news, bench.counted) == (0, ["late"])
    assert [r.message for r in caplog.records] == ["no advice"]
    assert bench.once() is None


def test_who_came_after_others_that_took_the_time_is_asked_about_again_soon() -> None:
    bench = Bench(*gang("a", 9), *gang("b", 9), says={"default/b": TimeoutError()})
    bench.cycle()
    bench.once()
    at_once = bench.once()
    bench.now_s += AGAIN_S
    bench.once()

    assert at_once is None
    assert [q.groups for q in bench.questions] == [("default/a", "default/b"), ("default/b",)]
    assert bench.counted == ["none", "late", "late"]


def test_the_solver_of_a_question_gets_little_memory() -> None:
    bench = Bench(*gang("g", 9))
    bench.cycle()
    bench.once()

    assert bench.questions[0].config.memory_limit_mib == MEMORY_MIB < GREEDY.memory_limit_mib


def test_of_a_large_cluster_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PODS", 8)
    bench = Bench(*gang("g", 9), says={G: "with 1 more node"})
    (verdict,) = bench.cycle()

    assert bench.once() is None
    assert (bench.questions, verdict.advice) == ([], "")


def test_what_was_known_of_it_when_it_was_small_is_told_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(*gang("g", 9), says={G: "with 1 more node"})
    bench.cycle()
    bench.once()
    (before,) = bench.cycle()

    monkeypatch.setattr(module, "MOST_PODS", 8)
    (after,) = bench.cycle()

    assert (before.advice, after.advice) == ("with 1 more node", "")


def test_it_rests_after_each_question_and_asks_until_all_are_known() -> None:
    bench = Bench(*(one for name in "abc" for one in gang(name, 9)))
    bench.cycle()

    async def until_known() -> None:
        running = asyncio.create_task(bench.adviser.run())
        async with asyncio.timeout(60):
            while len(bench.counted) < 3 or len(bench.slept) < 3:
                await asyncio.sleep(0)
        running.cancel()

    asyncio.run(until_known())

    assert [len(q.groups) for q in bench.questions] == [2, 1]
    assert bench.slept == [1.0, REST * 4.0, REST * 2.0]


def test_a_process_answers() -> None:
    seen = snapshot(node("n"), *gang("g", 9))

    async def answers() -> list[Brief]:
        return [b async for b in by_child(Question(GREEDY, (G,), 60.0), seen)]

    (brief,) = asyncio.run(answers())

    assert (brief.group, brief.says) == (G, "with 1 more node like n")


def test_a_process_that_nobody_listens_to_is_ended() -> None:
    script = """echo "{\\"group\\": \\"$$\\"}"; cat > /dev/null; sleep 600"""

    async def first() -> Brief:
        answers = by_child(Question(GREEDY, (G,), 60.0), snapshot(), ("/bin/sh", "-c", script))
        async with aclosing(answers):
            return await anext(answers)

    brief = asyncio.run(first())

    with pytest.raises(ProcessLookupError):
        os.kill(int(brief.group), 0)
