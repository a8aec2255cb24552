"""Any number of events, without a spool."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Iterator, List

import pytest

from event_anchoring import (
    AnchoringError,
    AsyncClient,
    Client,
    EventInput,
    InvalidInput,
    LocalKey,
    OutcomeUnknown,
    Request,
    Response,
    RetryPolicy,
    TransportFailure,
    Unauthorized,
    models,
)

from .fakes import answer
from .service import ORIGIN, AsyncService, Service, problem

ONCE = RetryPolicy(attempts_max=1)


def events(count: int) -> Iterator[EventInput]:
    return (EventInput(at.to_bytes(32, "big")) for at in range(count))


def number_of(result: models.BatchItem) -> int:
    assert isinstance(result.anchor, models.EventAnchor)
    return int(result.anchor.event_hash, 16)


def run(is_async: bool, service: Any, given: Any, **options: Any) -> List[Any]:
    """The hashes of the results; the error, if there is one, is the last."""
    found: List[Any] = []

    async def run_async() -> None:
        transport = AsyncService(service)
        async with AsyncClient("https://n", "key", origin_fingerprint=ORIGIN, transport=transport, retry=ONCE) as used:
            async for result in used.create_many(given, **options):
                found.append(number_of(result))

    def run_sync() -> None:
        with Client("https://n", "key", origin_fingerprint=ORIGIN, transport=service, retry=ONCE) as used:
            found.extend(number_of(result) for result in used.create_many(given, **options))

    try:
        if is_async:
            asyncio.run(run_async())
        else:
            run_sync()
    except AnchoringError as error:
        found.append(error)
    return found


@pytest.mark.parametrize("is_async", [False, True])
def test_results_come_in_their_order(is_async: bool) -> None:
    service = Service()
    progress: List[int] = []
    assert run(is_async, service, events(2_300), on_progress=progress.append) == list(range(2_300))
    assert progress == [1_000, 2_000, 2_300]
    assert sorted(len(batch) for batch in service.batches) == [300, 1_000, 1_000]
    assert run(is_async, service, []) == []


@pytest.mark.parametrize("is_async", [False, True])
def test_an_error_names_what_may_be_recorded(is_async: bool) -> None:
    class Failing(Service):
        def send(self, endpoint: str, request: Request) -> Response:
            first = json.loads(request.body or b"")["events"][0]["event_hash"]
            response = super().send(endpoint, request)
            if int(first, 16) == 1_000:
                raise TransportFailure("reset", was_sent=True)
            return response

    service = Failing()
    found = run(is_async, service, events(3_500), concurrency=2)
    error = found.pop()
    assert isinstance(error, OutcomeUnknown)
    assert found == list(range(1_000))
    # Only the first batch was answered: the error names the events of the second, and of any batch sent beside it.
    unsaid = [own_id for own_id, anchor in service.anchors.items() if int(anchor["event_hash"], 16) >= 1_000]
    assert sorted(str(own_id) for own_id in error.client_event_ids) == sorted(unsaid)


@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_refused_as_a_whole_is_the_same_error(is_async: bool) -> None:
    service = Service(faults=[lambda _: answer(problem("unauthorized", 401), 401)] * 9)
    (error,) = run(is_async, service, events(5))
    assert isinstance(error, Unauthorized)
    (error,) = run(is_async, Service(), events(5), concurrency=17)
    assert isinstance(error, InvalidInput)


def test_signed_events_go_in_smaller_batches() -> None:
    service = Service()
    with LocalKey("61" * 32) as key:
        given = [EventInput(at.to_bytes(32, "big"), actor=key) for at in range(300)]
        assert run(False, service, given) == list(range(300))
    assert sorted(len(batch) for batch in service.batches) == [44, 256]
