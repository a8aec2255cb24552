"""Anchors a file, keeps the receipt beside it, and verifies the receipt without the service."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from cluster import find_service

from event_anchoring import Client, verify_receipt, verify_trust_root


def main(path: Path) -> str:
    """Returns the anchor id."""
    service = find_service()
    event_hash = sha256(path.read_bytes()).digest()
    with Client(service.endpoints, service.api_key) as client:
        receipt = client.create_event_anchor(event_hash).receipt
        chain = verify_trust_root(client.trust_root().documents, service.root_thk)
    if receipt is None:
        raise SystemExit("committed, and not yet certified: ask again with get_receipt")
    proof = Path(f"{path}.tlog-proof")
    proof.write_text(receipt.to_proof_text(), encoding="utf-8")

    # From here on nothing is asked of anybody.
    found = verify_receipt(proof.read_bytes(), chain, event_hash=event_hash)
    print(f"{path} is leaf {found.leaf.depth} of {found.checkpoint.origin}")
    return found.anchor_id.hex()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
