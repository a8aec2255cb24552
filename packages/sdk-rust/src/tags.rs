//! What begins everything that is hashed or signed, and what is derived under it.

use crate::hash::{Hash, OriginFingerprint, PublicKey};

/// `event-anchoring/v4.2/<name>` and one zero byte.
pub(crate) fn tag(name: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    bytes.extend_from_slice(b"event-anchoring/v4.2/");
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    bytes
}

/// The fingerprint of the origin of a node: H(tag `origin` ‖ cluster id ‖ the node's first cosigner public key).
pub fn origin_fingerprint_of(cluster_id: &Hash, first_cosigner_public_key: &PublicKey) -> OriginFingerprint {
    Hash::of_parts(&[&tag("origin"), cluster_id.as_bytes(), first_cosigner_public_key.as_bytes()])
}

/// What a leaf shows of a `client_event_id`: H(tag `client-event-id` ‖ salt ‖ id). Whoever knows id and salt can open
/// it.
pub fn client_event_commit(salt: &Hash, client_event_id: &str) -> Hash {
    Hash::of_parts(&[&tag("client-event-id"), salt.as_bytes(), client_event_id.as_bytes()])
}

/// The `revoker` of a revocation by an API client that no party has signed: H(tag `operator` ‖ API client id).
pub fn client_revoker(api_client_id: &[u8; 16]) -> Hash {
    Hash::of_parts(&[&tag("operator"), api_client_id])
}

/// The `revoker` of a revocation by an operator's act: H(tag `operator` ‖ the operator's public key).
pub fn operator_revoker(public_key: &PublicKey) -> Hash {
    Hash::of_parts(&[&tag("operator"), public_key.as_bytes()])
}
