"""All claims and grants of an entity, ended or not, page by page."""

from __future__ import annotations

from typing import Dict, Optional, Type, TypeVar, Union

from .. import _inputs as inputs
from .. import models
from .._calls import Query, get
from .._exchange import Operation, Session
from .._held import hold_content
from .._inputs import Bytes32
from ..errors import InvalidInput

HistoryT = TypeVar("HistoryT", models.ClaimHistory, models.GrantHistory)


def page_query(cursor: Optional[str], limit: Optional[int]) -> Query:
    """Where a page of a list begins, and how long it is. Raises InvalidInput."""
    return (
        ("cursor", None if cursor is None else inputs.cursor(cursor)),
        ("limit", None if limit is None else inputs.integer("limit", limit, minimum=1)),
    )


def _history(
    session: Session, of_class: Type[HistoryT], path: str, asked: Dict[str, Union[str, int]], page: Query
) -> Operation[HistoryT]:
    return (yield from get(session, of_class, path, [*asked.items(), ("history", "true"), *page]))


def list_claims(
    session: Session,
    *,
    entity_fingerprint: Bytes32,
    attribute_type: Optional[Union[int, str]],
    cursor: Optional[str],
    limit: Optional[int],
) -> Operation[models.ClaimHistory]:
    """GET /v1/claim-anchors with history."""
    asked: Dict[str, Union[str, int]] = {"entity_fingerprint": inputs.path_id("entity_fingerprint", entity_fingerprint)}
    if attribute_type is not None:
        asked["attribute_type"] = inputs.attribute_type(attribute_type)
    page = page_query(cursor, limit)
    found = yield from _history(session, models.ClaimHistory, "/v1/claim-anchors", asked, page)
    for item in found.items:
        hold_content(item.anchor, asked)
    return found


def list_grants(
    session: Session,
    *,
    grantor_fingerprint: Optional[Bytes32],
    grantee_fingerprint: Optional[Bytes32],
    cursor: Optional[str],
    limit: Optional[int],
) -> Operation[models.GrantHistory]:
    """GET /v1/grant-anchors with history. A grant names claims: of whose entities they are, it does not say."""
    filters = (
        ("grantor_fingerprint", inputs.optional_hex("grantor_fingerprint", grantor_fingerprint)),
        ("grantee_fingerprint", inputs.optional_hex("grantee_fingerprint", grantee_fingerprint)),
    )
    asked: Dict[str, Union[str, int]] = {name: value for name, value in filters if value is not None}
    if not asked:
        raise InvalidInput("filter", "expected grantor_fingerprint, grantee_fingerprint or both")
    page = page_query(cursor, limit)
    return (yield from _history(session, models.GrantHistory, "/v1/grant-anchors", asked, page))
