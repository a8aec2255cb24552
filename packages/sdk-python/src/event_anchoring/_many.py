"""Any number of events, as batches of which some are under way at once."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import AsyncIterator, Awaitable, Callable, Deque, Iterable, Iterator, List, Optional, Sequence, Tuple

from . import _inputs as inputs
from ._options import EventInput, drawn
from .errors import AnchoringError, OutcomeUnknown
from .models import CreatedBatch

BATCH_EVENTS_MAX = 1_000
#: Of events that carry a signature a batch takes fewer.
_SIGNED_MAX = 256
_CONCURRENCY_MAX = 16

ManyEvents = Iterable[EventInput]
OnProgress = Optional[Callable[[int], None]]
Batch = List[EventInput]
#: A batch that was sent, and its error, or None if it was answered.
Ended = Tuple[Batch, Optional[BaseException]]


def _batches(events: ManyEvents) -> Iterator[Batch]:
    """Their ids are drawn before anything is sent, so that an error can name them."""
    batch: Batch = []
    signed = 0
    for event in events:
        is_signed = event.actor is not None or event.actor_public_key is not None
        if len(batch) == BATCH_EVENTS_MAX or (is_signed and signed == _SIGNED_MAX):
            yield batch
            batch, signed = [], 0
        batch.append(replace(event, client_event_id=drawn(event.client_event_id)))
        signed += is_signed
    if batch:
        yield batch


def _told(error: AnchoringError, ended: Sequence[Ended]) -> AnchoringError:
    """The error of a batch, with the ids of all that may be recorded and of which nothing was said."""
    ids: List[Optional[str]] = []
    for batch, fault in ended:
        if fault is None or isinstance(fault, OutcomeUnknown):
            ids += [drawn(event.client_event_id) for event in batch]
    if not ids:
        return error
    message = f"of {len(ids)} events it is not known whether they are recorded ({error}); ask again with their ids"
    return OutcomeUnknown(
        message, client_event_ids=tuple(ids), request_id=error.request_id, retry_after=error.retry_after
    )


async def ask_many_later(
    ask: Callable[[Sequence[EventInput]], Awaitable[CreatedBatch]], events: ManyEvents, concurrency: int
) -> AsyncIterator[CreatedBatch]:
    """What is answered to each batch, in their order."""
    inputs.integer("concurrency", concurrency, _CONCURRENCY_MAX, 1)
    batches = _batches(events)
    under_way: Deque[Tuple[Batch, asyncio.Future[CreatedBatch]]] = deque()
    try:
        while True:
            while len(under_way) < concurrency:
                batch = next(batches, None)
                if batch is None:
                    break
                under_way.append((batch, asyncio.ensure_future(ask(batch))))
            if not under_way:
                return
            try:
                answer = await under_way[0][1]
            except AnchoringError as error:
                await asyncio.wait([future for _, future in under_way])
                raise _told(error, [(batch, future.exception()) for batch, future in under_way]) from error
            under_way.popleft()
            yield answer
    finally:
        for _, future in under_way:
            future.cancel()


def ask_many_now(
    ask: Callable[[Sequence[EventInput]], CreatedBatch], events: ManyEvents, concurrency: int
) -> Iterator[CreatedBatch]:
    """The same with threads."""
    inputs.integer("concurrency", concurrency, _CONCURRENCY_MAX, 1)
    batches = _batches(events)
    under_way: Deque[Tuple[Batch, Future[CreatedBatch]]] = deque()
    with ThreadPoolExecutor(concurrency, "event-anchoring-many") as threads:
        while True:
            while len(under_way) < concurrency:
                batch = next(batches, None)
                if batch is None:
                    break
                under_way.append((batch, threads.submit(ask, batch)))
            if not under_way:
                return
            try:
                answer = under_way[0][1].result()
            except AnchoringError as error:
                wait([future for _, future in under_way])
                raise _told(error, [(batch, future.exception()) for batch, future in under_way]) from error
            under_way.popleft()
            yield answer
