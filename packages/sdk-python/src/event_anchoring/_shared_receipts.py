"""Makes receipts whole that name their checkpoint by its place in the answer."""

from __future__ import annotations

from typing import List, Mapping, Sequence

from .errors import UnexpectedAnswer


def _members(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise UnexpectedAnswer(f"{what} is no object")
    return value


def _items(value: object, what: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise UnexpectedAnswer(f"{what} is no list")
    return value


def _whole_item(item: Mapping[str, object], named: Sequence[object]) -> Mapping[str, object]:
    shared = item.get("shared_receipt")
    if shared is None:
        return item
    own = dict(_members(shared, "a shared receipt"))
    place = own.pop("checkpoint", None)
    if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < len(named):
        raise UnexpectedAnswer("a shared receipt names no checkpoint of the answer")
    anchor = _members(item.get("anchor"), "an anchor with a receipt")
    checkpoint = _members(named[place], "a checkpoint")
    return {**item, "receipt": {"anchor_id": anchor.get("anchor_id"), **own, **checkpoint}}


def with_whole_receipts(answer: object) -> Mapping[str, object]:
    """The same answer to a batch with a whole receipt in each item that has one.

    Raises:
        UnexpectedAnswer: it is no such answer.
    """
    members = _members(answer, "the answer")
    named = _items(members.get("checkpoints", []), "checkpoints")
    items: List[object] = [
        _whole_item(_members(item, "a result"), named) for item in _items(members.get("results"), "results")
    ]
    return {**members, "results": items}
