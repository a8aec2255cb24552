"""A claim whose two parties sign elsewhere: the bytes go out, signatures come back."""

from __future__ import annotations

from secrets import token_bytes
from typing import Callable

from cluster import find_service

from event_anchoring import Client, LocalKey, Payload


def an_hsm() -> tuple[bytes, Callable[[Payload], bytes]]:
    """Stands for a device: its public key, and what it does when it is asked to sign."""
    key = LocalKey.generate()

    def sign(payload: Payload) -> bytes:
        print(f"{payload.role} signs {len(payload.payload)} bytes, SHA-256 {payload.digest.hex()}")
        return key.sign(payload.payload)

    return key.public_key, sign


def main() -> str:
    """Returns the anchor id of the claim."""
    service = find_service()
    subject_public_key, ask_subject = an_hsm()
    issuer_public_key, ask_issuer = an_hsm()
    with Client(service.endpoints, service.api_key) as client:
        prepared = client.prepare_claim_anchor(
            entity_fingerprint=token_bytes(32),
            attribute_type="0x1001",
            attribute_hash=token_bytes(32),
            subject_public_key=subject_public_key,
            issuer_public_key=issuer_public_key,
        )
        # The issuer signs the subject's signature as well: there is nothing to sign before that exists.
        subject_signature = ask_subject(prepared.subject_payload)
        issuer_signature = ask_issuer(prepared.issuer_payload(subject_signature))
        created = client.create_claim_anchor(
            **prepared.fields, subject_signature=subject_signature, issuer_signature=issuer_signature
        )
    print("recorded as", created.anchor.anchor_id)
    return created.anchor.anchor_id


if __name__ == "__main__":
    main()
