"""What becomes of requests by rules, without a server."""

import time

from cluster.rules import Delay, Request

ANY = Request("GET", "/api/v1/pods")


def test_a_delayed_request_is_handed_on_later_and_others_are_not_held() -> None:
    rule = Delay(lambda request: True, 0.05, times=1)
    began = time.monotonic()

    assert rule.takes(ANY)
    assert rule.wait()
    assert time.monotonic() - began >= 0.05
    assert not rule.takes(ANY)


def test_a_delayed_request_goes_on_at_once_when_the_rule_is_dropped() -> None:
    rule = Delay(lambda request: True, 3600.0)

    rule.release()

    assert rule.wait()
