"""When a request is sent again, to whom, after how long, and what it is called when it is not."""

from __future__ import annotations

from email.utils import formatdate
from time import time
from typing import Any, List, Tuple

import pytest

from event_anchoring import (
    ApiProblem,
    Client,
    Conflict,
    ConnectionFailed,
    Forbidden,
    InvalidInput,
    LocalKey,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    RetryPolicy,
    TimedOut,
    TransportFailure,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    Unprocessable,
)

from .fakes import FakeTransport, answer, lost, problem, timed_out, unreachable
from .ledger import recorded
from .test_client import CLAIM, HEALTH, ID, ORIGIN

KEY = "secret-key-of-the-test"
ENDPOINTS = ["https://a", "https://b", "https://c"]


class Clock:
    """A clock that stands still but for what was slept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.slept: List[float] = []
        monkeypatch.setattr("event_anchoring.synchronous.base.time.sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def client(clock: Clock, *script: Any, chance: float = 1.0, **policy: Any) -> Tuple[Client, FakeTransport]:
    transport = FakeTransport(list(script))
    used = Client(ENDPOINTS, KEY, origin_fingerprint=ORIGIN, retry=RetryPolicy(**policy), transport=transport)
    used._session.clock = lambda: clock.now
    used._session.chance = lambda: chance
    return used, transport


def asked(transport: FakeTransport) -> List[str]:
    return [endpoint for endpoint, _ in transport.sent]


def test_every_try_is_logged_without_key_and_body(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    used, transport = client(clock, lost(), unreachable(), timed_out(), problem("no_leader", 503), recorded)
    with caplog.at_level("DEBUG", logger="event_anchoring"):
        used.create_event_anchor("ab" * 32, client_event_id="order-4711")
    request_id = dict(transport.sent[0][1].headers)["X-Request-Id"]
    said = f"in 0 ms, request {request_id}"
    assert [record.getMessage() for record in caplog.records] == [
        f"POST /v1/event-anchors, try 1, at https://a: lost {said}",
        f"POST /v1/event-anchors, try 2, at https://b: no connection {said}",
        f"POST /v1/event-anchors, try 3, at https://c: no answer in time {said}",
        f"POST /v1/event-anchors, try 4, at https://a: 503 {said}",
        f"POST /v1/event-anchors, try 5, at https://b: 202 {said}",
    ]
    assert {(record.name, record.levelname) for record in caplog.records} == {("event_anchoring", "DEBUG")}
    everything = " ".join(str(value) for record in caplog.records for value in vars(record).values())
    assert KEY in dict(transport.sent[0][1].headers)["Authorization"]
    assert KEY not in everything
    assert "ab" * 32 not in everything
    assert "order-4711" not in everything


def test_nothing_is_logged_unless_it_is_asked_for(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    used, _ = client(clock, unreachable(), recorded)
    with caplog.at_level("INFO", logger="event_anchoring"):
        used.create_event_anchor("ab" * 32)
    assert caplog.records == []


DOUBTS = [lost, timed_out, *(lambda status=status: problem("internal_error", status) for status in (500, 502, 504))]


@pytest.mark.parametrize("failure", [unreachable, *DOUBTS, lambda: problem("no_leader", 503)])
def test_a_read_fails_over(clock: Clock, failure: Any) -> None:
    used, transport = client(clock, failure(), failure(), answer(HEALTH))
    assert used.healthz().origin_fingerprint == ORIGIN
    assert asked(transport) == ENDPOINTS
    used.healthz()
    assert asked(transport)[-1] == "https://c"


@pytest.mark.parametrize("failure", [unreachable, *DOUBTS, lambda: problem("overloaded", 503)])
def test_an_event_with_an_id_is_sent_again_with_the_same(clock: Clock, failure: Any) -> None:
    used, transport = client(clock, failure(), failure(), recorded)
    used.create_event_anchor(ID)
    first, second, third = transport.bodies()
    assert first == second == third
    assert first["client_event_id"]
    assert len({dict(request.headers)["X-Request-Id"] for _, request in transport.sent}) == 1


@pytest.mark.parametrize("failure", DOUBTS)
def test_an_event_without_an_id_is_not_sent_again(clock: Clock, failure: Any) -> None:
    used, transport = client(clock, failure(), recorded)
    with pytest.raises(OutcomeUnknown, match="no client_event_id") as caught:
        used.create_event_anchor(ID, client_event_id=None)
    assert caught.value.client_event_id is None
    assert len(transport.sent) == 1


@pytest.mark.parametrize("code", ["overloaded", "no_leader", "unavailable"])
def test_an_event_without_an_id_is_not_sent_again_after_503(clock: Clock, code: str) -> None:
    used, transport = client(clock, problem(code, 503), recorded)
    with pytest.raises(Unavailable) as caught:
        used.create_event_anchor(ID, client_event_id=None)
    assert caught.value.code == code
    assert len(transport.sent) == 1


@pytest.mark.parametrize("failure", [unreachable, lambda: problem("rate_limited", 429)])
def test_what_was_not_taken_is_sent_again_even_so(clock: Clock, failure: Any) -> None:
    used, transport = client(clock, failure(), recorded)
    used.create_event_anchor(ID, client_event_id=None)
    assert len(transport.sent) == 2


def test_claims_are_known_by_their_content(clock: Clock) -> None:
    used, transport = client(clock, lost(), recorded)
    with LocalKey("61" * 32) as subject, LocalKey("62" * 32) as issuer:
        used.create_claim_anchor(**CLAIM, subject=subject, issuer=issuer)
    first, second = transport.bodies()
    assert first == second


def test_an_unknown_outcome_names_the_id_to_ask_with(clock: Clock) -> None:
    used, transport = client(clock, timed_out(), attempts_max=3)
    with pytest.raises(OutcomeUnknown) as caught:
        used.create_event_anchor(ID)
    assert len(transport.sent) == 3
    assert caught.value.code == "outcome_unknown"
    assert caught.value.client_event_id == transport.bodies()[0]["client_event_id"]
    assert repr(caught.value.client_event_id) in str(caught.value)
    assert "same client_event_id" in str(caught.value)
    assert caught.value.request_id == dict(transport.sent[0][1].headers)["X-Request-Id"]


def test_a_doubt_is_not_forgotten_by_what_came_after(clock: Clock) -> None:
    used, _ = client(clock, lost(), unreachable(), attempts_max=4)
    with pytest.raises(OutcomeUnknown):
        used.create_event_anchor(ID)
    used, _ = client(clock, lost(), problem("overloaded", 503), attempts_max=4)
    with pytest.raises(OutcomeUnknown):
        used.create_event_anchor(ID)


@pytest.mark.parametrize("status", [302, 401, 403, 408, 429])
def test_a_refusal_that_has_not_looked_does_not_end_a_doubt(clock: Clock, status: int) -> None:
    used, _ = client(clock, lost(), problem("rate_limited", status), attempts_max=2)
    with pytest.raises(OutcomeUnknown) as caught:
        used.create_event_anchor(ID)
    assert caught.value.client_event_id


@pytest.mark.parametrize("status", [400, 404, 409, 422])
def test_a_refusal_by_the_ledger_ends_a_doubt(clock: Clock, status: int) -> None:
    used, _ = client(clock, lost(), problem("claim_conflict", status))
    with pytest.raises(ApiProblem):
        used.create_event_anchor(ID)


@pytest.mark.parametrize("failure", [None, 204])
def test_what_is_no_answer_is_asked_for_once(clock: Clock, failure: Any) -> None:
    too_large = TransportFailure("too large", was_sent=True, is_final=True)
    used, transport = client(clock, too_large if failure is None else answer(b"", failure))
    with pytest.raises(UnexpectedAnswer):
        used.healthz()
    with pytest.raises(OutcomeUnknown):
        used.create_event_anchor(ID)
    assert len(transport.sent) == 2


def test_nothing_reached_is_no_doubt(clock: Clock) -> None:
    used, transport = client(clock, unreachable(), attempts_max=4)
    with pytest.raises(ConnectionFailed) as caught:
        used.create_event_anchor(ID)
    assert caught.value.code == "connection_failed"
    assert asked(transport) == ["https://a", "https://b", "https://c", "https://a"]


def test_reads_time_out(clock: Clock) -> None:
    used, _ = client(clock, timed_out(), attempts_max=2)
    with pytest.raises(TimedOut) as caught:
        used.healthz()
    assert caught.value.code == "timeout"
    used, _ = client(clock, lost(), attempts_max=2)
    with pytest.raises(ConnectionFailed):
        used.healthz()


REFUSALS = [
    (400, "invalid_request", ApiProblem),
    (401, "api_key_invalid", Unauthorized),
    (403, "scope_missing", Forbidden),
    (404, "anchor_not_found", NotFound),
    (405, "method_not_allowed", ApiProblem),
    (408, "request_timeout", ApiProblem),
    (409, "claim_conflict", Conflict),
    (410, "client_event_id_erased", NotFound),
    (413, "body_too_large", ApiProblem),
    (415, "media_type_unsupported", ApiProblem),
    (422, "signature_invalid", Unprocessable),
    (431, "headers_too_large", ApiProblem),
]


@pytest.mark.parametrize(("status", "code", "of_class"), REFUSALS)
def test_other_refusals_are_final(clock: Clock, status: int, code: str, of_class: Any) -> None:
    used, transport = client(clock, problem(code, status), recorded)
    with pytest.raises(of_class) as caught:
        used.create_event_anchor(ID)
    assert type(caught.value) is of_class
    assert (caught.value.code, caught.value.status) == (code, status)
    assert caught.value.request_id == "from-the-service"
    assert len(transport.sent) == 1
    assert clock.slept == []


def test_pointers_of_a_refusal(clock: Clock) -> None:
    body = {"code": "invalid_request", "status": 400, "title": "t", "detail": "d", "errors": [{"pointer": "/a"}, {}, 3]}
    used, _ = client(clock, answer(body, 400))
    with pytest.raises(ApiProblem) as caught:
        used.healthz()
    assert caught.value.pointers == ("/a",)
    assert caught.value.title == "t"


def test_delays_double_and_stop(clock: Clock) -> None:
    used, _ = client(clock, unreachable(), attempts_max=6, backoff_s=1, backoff_max_s=5, total_s=100)
    with pytest.raises(ConnectionFailed):
        used.healthz()
    assert clock.slept == [1, 2, 4, 5, 5]


def test_jitter_has_a_floor(clock: Clock) -> None:
    used, _ = client(clock, unreachable(), chance=0.0, attempts_max=4, backoff_s=1, backoff_max_s=5, total_s=100)
    with pytest.raises(ConnectionFailed):
        used.healthz()
    assert clock.slept == [0.5, 1, 2]


def test_retry_after_is_honoured_and_stays_on_the_node_that_limits(clock: Clock) -> None:
    used, transport = client(clock, problem("rate_limited", 429, retry_after="7"), answer(HEALTH))
    used.healthz()
    assert clock.slept == [7.0]
    assert asked(transport) == ["https://a", "https://a"]


def test_retry_after_may_be_a_date(clock: Clock) -> None:
    at = formatdate(time() + 20, usegmt=True)
    used, _ = client(clock, problem("overloaded", 503, retry_after=at), answer(HEALTH))
    used.healthz()
    (slept,) = clock.slept
    assert 15 < slept <= 20


@pytest.mark.parametrize("value", ["", "soon", "-5", "1e9", "٣", "Wed, 99 Foo 2026 00:00:00 GMT", "1.5"])
def test_retry_after_that_says_nothing(clock: Clock, value: str) -> None:
    used, _ = client(clock, problem("overloaded", 503, retry_after=value), answer(HEALTH))
    used.healthz()
    assert clock.slept == [0.1]


def test_retry_after_beyond_the_budget_is_reported_at_once(clock: Clock) -> None:
    used, transport = client(clock, problem("rate_limited", 429, retry_after="99999"), total_s=30)
    with pytest.raises(RateLimited) as caught:
        used.healthz()
    assert caught.value.retry_after == 99999
    assert len(transport.sent) == 1
    assert clock.slept == []


def test_the_budget_of_time(clock: Clock) -> None:
    used, transport = client(clock, unreachable(), attempts_max=1000, backoff_s=1, backoff_max_s=1, total_s=10)
    with pytest.raises(ConnectionFailed):
        used.healthz()
    assert clock.now <= 10
    assert len(transport.sent) == 11


def test_one_attempt_is_no_retry(clock: Clock) -> None:
    used, transport = client(clock, problem("no_leader", 503), attempts_max=1)
    with pytest.raises(Unavailable):
        used.healthz()
    assert len(transport.sent) == 1


@pytest.mark.parametrize("policy", [{"attempts_max": 0}, {"total_s": -1}, {"backoff_s": -0.1}])
def test_policies_that_make_no_sense(policy: Any) -> None:
    with pytest.raises(InvalidInput):
        RetryPolicy(**policy)
