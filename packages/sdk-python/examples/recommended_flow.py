"""Registration, delegation, an act under it, its trace, and the end of the delegation.

Keys are made here to keep the example short. In earnest each party holds its own, and split_signing.py shows how they
sign without handing it out.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from secrets import token_bytes
from typing import Tuple

from cluster import find_service

from event_anchoring import AsyncClient, LocalKey, verify_trust_root

DEPLOYER, AGENT = 0x1001, 0x1002


async def main() -> Tuple[str, str]:
    """Returns the ids of the act before and of the act after the revocation."""
    service = find_service()
    issuer, deployer, agent, witness = (LocalKey.generate() for _ in range(4))
    async with AsyncClient(service.endpoints, service.api_key) as asking:
        chain = verify_trust_root((await asking.trust_root()).documents, service.root_thk)
    # With a trust root every receipt is verified before an answer is returned.
    async with AsyncClient(service.endpoints, service.api_key, trust_root=chain) as client:
        # Who there is.
        of_deployer, of_agent = [
            await client.create_claim_anchor(
                entity_fingerprint=sha256(subject.public_key).digest(),
                attribute_type=attribute_type,
                attribute_hash=token_bytes(32),
                subject=subject,
                issuer=issuer,
            )
            for subject, attribute_type in ((deployer, DEPLOYER), (agent, AGENT))
        ]
        # Who may do what on whose behalf.
        grant = await client.create_grant_anchor(
            grantor_claim_ref=of_deployer.anchor.anchor_id,
            grantee_claim_ref=of_agent.anchor.anchor_id,
            scope_hash=sha256(b"may order up to 100 EUR").digest(),
            delegation_depth=0,
            grantor=deployer,
            witness=witness,
        )
        verified = await client.verify_grant_anchor(grant.anchor.anchor_id)
        print("the delegation is", "good" if verified.valid else "not good")
        # What was done.
        act = await order(client, agent, of_agent.anchor.anchor_id, grant.anchor.anchor_id)
        trace = await client.trace(act, trusted_roots=[of_deployer.anchor.anchor_id])
        print("at the time of the act:", trace.authorised_at_action, "- signed:", trace.actor.actor_signature)
        # The end of it. What was done before stays authorised.
        await client.revoke_grant_anchor(grant.anchor.anchor_id, revoker=deployer, reason="privilege_withdrawn")
        late = await order(client, agent, of_agent.anchor.anchor_id, grant.anchor.anchor_id)
        for anchor_id in (act, late):
            trace = await client.trace(anchor_id)
            print(anchor_id[:8], "at action:", trace.authorised_at_action, "now:", trace.authorised_now)
    return act, late


async def order(client: AsyncClient, agent: LocalKey, iris_ref: str, grant_ref: str) -> str:
    """An act of the agent, signed by it."""
    event_hash = sha256(b"order " + token_bytes(8)).digest()
    created = await client.create_event_anchor(
        event_hash,
        semantic_anchor={"iris_ref": iris_ref, "grant_ref": grant_ref, "event_data_hash": event_hash},
        actor=agent,
    )
    return created.anchor.anchor_id


if __name__ == "__main__":
    asyncio.run(main())
