"""What tests in other languages ask of this SDK: one JSON object a line on stdin, one answer a line on stdout.

`{"op": …, …}` is answered by `{"ok": {…}}` or by `{"error": {"code": …, "field": …}}`. Inputs are those of
`test/vectors/prepare.json`. Private: it may change with the tests.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Callable, Dict, Mapping

from ._bundle_text import read_bundle
from .bundle import inspect_bundle
from .ed25519 import verify_signature
from .errors import AnchoringError, CanaryFailed, InvalidInput, VerificationError
from .prepare import (
    Payload,
    prepare_claim_anchor,
    prepare_event_anchor,
    prepare_grant_anchor,
    prepare_revocation,
)
from .proof import read_receipt
from .receipt import inspect_receipt, verify_checkpoint
from .signing import LocalKey
from .trust_root import verify_trust_root

Answer = Dict[str, Any]


def _payload(payload: Payload) -> Answer:
    return {f"{payload.role}_payload": payload.hex, f"{payload.role}_digest": payload.digest.hex()}


def _given(request: Mapping[str, Any], *required: str) -> Dict[str, Any]:
    return {**dict.fromkeys(required), **request["input"]}


def _claim(request: Mapping[str, Any]) -> Answer:
    required = ("origin_fingerprint", "entity_fingerprint", "attribute_type", "attribute_hash")
    prepared = prepare_claim_anchor(**_given(request, *required, "subject_public_key", "issuer_public_key"))
    answer = _payload(prepared.subject_payload)
    first, second = request.get("subject_signature"), request.get("issuer_signature")
    if first is not None:
        answer.update(_payload(prepared.issuer_payload(first)))
    if first is not None and second is not None:
        answer["request"] = prepared.request(first, second)
    return answer


def _grant(request: Mapping[str, Any]) -> Answer:
    required = ("origin_fingerprint", "grantor_claim_ref", "grantee_claim_ref", "scope_hash", "delegation_depth")
    prepared = prepare_grant_anchor(**_given(request, *required, "grantor_public_key", "witness_public_key"))
    answer = _payload(prepared.grantor_payload)
    first, second = request.get("grantor_signature"), request.get("witness_signature")
    if first is not None:
        answer.update(_payload(prepared.witness_payload(first)))
    if first is not None and second is not None:
        answer["request"] = prepared.request(first, second)
    return answer


def _event(request: Mapping[str, Any]) -> Answer:
    prepared = prepare_event_anchor(**_given(request, "origin_fingerprint", "event_hash"))
    if prepared.actor_public_key is None:
        return {"request": prepared.request()}
    signature = request.get("actor_signature")
    made = {} if signature is None else {"request": prepared.request(signature)}
    return {**_payload(prepared.actor_payload), **made}


def _revocation(request: Mapping[str, Any]) -> Answer:
    prepared = prepare_revocation(**_given(request, "target_origin_fingerprint", "target_anchor_id"))
    if prepared.revoker_public_key is None:
        return {"request": prepared.request()}
    signature = request.get("revoker_signature")
    made = {} if signature is None else {"request": prepared.request(signature)}
    return {**_payload(prepared.revoker_payload), **made}


def _sign(request: Mapping[str, Any]) -> Answer:
    with LocalKey(request["seed"]) as key:
        return {"public_key": key.public_key.hex(), "signature": key.sign(bytes.fromhex(request["payload"])).hex()}


def _verify_signature(request: Mapping[str, Any]) -> Answer:
    key, payload, signature = (bytes.fromhex(request[name]) for name in ("public_key", "payload", "signature"))
    return {"valid": verify_signature(key, payload, signature)}


def _verify_trust_root(request: Mapping[str, Any]) -> Answer:
    newest = verify_trust_root(request["trust_roots"], request["pinned_root_thk"]).newest
    return {"verdict": "valid", "version": newest.version, "root_thk": newest.root_thk.hex()}


def _verify_checkpoint(request: Mapping[str, Any]) -> Answer:
    chain = verify_trust_root(request["trust_roots"], request["pinned_root_thk"])
    try:
        found = verify_checkpoint(request["checkpoint"], chain)
    except CanaryFailed:
        raise
    except VerificationError as error:
        return {"verdict": "invalid", "code": error.code}
    cosigners = [line for line in found.verified if line.time_s is not None]
    return {
        "verdict": "valid",
        "code": None,
        "origin_fingerprint": found.origin_fingerprint.hex(),
        "tree_size": found.checkpoint.tree_size,
        "root_hash": found.checkpoint.root_hash.hex(),
        "superseded_trust_root": found.superseded_trust_root,
        "origin_lost": found.origin_status == "lost",
        "cosigners": [{"name": line.vkey.name, "time": line.time_s} for line in cosigners],
        "witnesses": [{"name": each.name, "witnessed_at": each.witnessed_at} for each in found.witnesses],
        "witnesses_needed": found.witnesses_needed,
        "witnessed": found.witnessed,
    }


def _verify_receipt(request: Mapping[str, Any]) -> Answer:
    chain = verify_trust_root(request["trust_roots"], request["pinned_root_thk"])
    receipt = read_receipt(request["receipt"])
    expect = dict(request.get("expect") or {})
    if expect.get("payload") is not None:
        expect["payload"] = bytes.fromhex(expect["payload"])
    found = inspect_receipt(receipt, chain, require_witnessed=request.get("require_witnessed") is True, **expect)
    failure = found.failure
    return {
        "verdict": "valid" if failure is None else "invalid",
        "step": None if failure is None else failure.step,
        "code": None if failure is None else failure.code,
        "superseded_trust_root": found.superseded_trust_root,
        "origin_lost": found.origin_lost,
        "witnesses": [{"name": each.name, "witnessed_at": each.witnessed_at} for each in found.witnesses],
        "witnessed": found.witnessed,
    }


def _verify_bundle(request: Mapping[str, Any]) -> Answer:
    given = request["bundle"]
    bundle = read_bundle(given if isinstance(given, str) else json.dumps(given))
    expect = dict(request.get("expect") or {})
    seen = request.get("highest_seen")
    if seen is not None:
        expect["highest_seen"] = (seen["version"], seen["root_thk"])
    is_witnessed_required = request.get("require_witnessed") is True
    pin, documents = request["pinned_root_thk"], request.get("trust_roots")
    trust_root = pin if documents is None else verify_trust_root(documents, pin)
    found = inspect_bundle(bundle, trust_root, require_witnessed=is_witnessed_required, **expect)
    return {
        "outcome": found.outcome,
        "actor_proven": found.actor_proven,
        "authorised_at_action": found.authorised_at_action,
        "authorised_now": found.authorised_now,
        "witnessed": found.witnessed,
        "fails": next((check.code for check in found.checks if check.result == "fail"), None),
        "not_checked": [check.code for check in found.checks if check.result == "not_checked"],
    }


_OPERATIONS: Dict[str, Callable[[Mapping[str, Any]], Answer]] = {
    "prepare_claim": _claim,
    "prepare_grant": _grant,
    "prepare_event": _event,
    "prepare_revocation": _revocation,
    "sign": _sign,
    "verify_signature": _verify_signature,
    "verify_trust_root": _verify_trust_root,
    "verify_checkpoint": _verify_checkpoint,
    "verify_receipt": _verify_receipt,
    "verify_bundle": _verify_bundle,
}


def answer_of(line: str) -> Answer:
    """The answer to one line."""
    request = json.loads(line)
    try:
        return {"ok": _OPERATIONS[request["op"]](request)}
    except InvalidInput as error:
        return {"error": {"code": error.code, "field": error.field}}
    except AnchoringError as error:
        return {"error": {"code": error.code}}


def main() -> int:
    """Answers until stdin ends."""
    for line in sys.stdin:
        if line.strip():
            sys.stdout.write(json.dumps(answer_of(line)) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
