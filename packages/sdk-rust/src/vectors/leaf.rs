use serde_json::{json, Value};

use super::{hash, hex, list, text, vectors};
use crate::{anchor_id_of, Leaf, LeafBody, SemanticHashes};

fn semantic_anchor(hashes: &SemanticHashes) -> Value {
    json!({
        "iris_ref": hashes.iris_ref, "scroll_ref": hashes.scroll_ref, "grant_ref": hashes.grant_ref,
        "bond_ref": hashes.bond_ref, "yield_ref": hashes.yield_ref, "event_data_hash": hashes.event_data_hash,
    })
}

/// The fields as the vectors name them.
fn fields(leaf: &Leaf) -> Value {
    let body = match &leaf.body {
        LeafBody::Genesis(body) => json!({"cluster_id": body.cluster_id, "root_thk": body.root_thk}),
        LeafBody::TrustRoot(body) => json!({"version": body.version, "root_thk": body.root_thk}),
        LeafBody::Event(event) | LeafBody::SignedEvent(event, _) => json!({
            "event_hash": event.event_hash, "semantic_anchor": semantic_anchor(&event.semantic_anchor),
            "client_event_commit": event.client_event_commit,
        }),
        LeafBody::Claim(body) => json!({
            "entity_fingerprint": body.entity_fingerprint, "attribute_type": body.attribute_type,
            "attribute_hash": body.attribute_hash, "issued_at": body.issued_at, "expires_at": body.expires_at,
            "subject_public_key": body.subject_public_key, "subject_signature": body.subject_signature,
            "issuer_public_key": body.issuer_public_key, "issuer_signature": body.issuer_signature,
        }),
        LeafBody::Grant(body) => json!({
            "grantor_claim_ref": body.grantor_claim_ref, "grantee_claim_ref": body.grantee_claim_ref,
            "parent_grant_ref": body.parent_grant_ref, "scope_hash": body.scope_hash,
            "delegation_depth": body.delegation_depth, "issued_at": body.issued_at, "not_before": body.not_before,
            "expires_at": body.expires_at, "grantor_public_key": body.grantor_public_key,
            "grantor_signature": body.grantor_signature, "witness_public_key": body.witness_public_key,
            "witness_signature": body.witness_signature,
        }),
        LeafBody::Revocation(body) => json!({
            "target_anchor_id": body.target_anchor_id, "reason": body.reason.number(),
            "suspect_since": body.suspect_since, "issued_at": body.issued_at, "authority": body.authority.number(),
            "revoker": body.revoker, "signature": body.signature,
        }),
    };
    let header = &leaf.header;
    let mut all = json!({
        "origin_fingerprint": header.origin_fingerprint, "depth": header.depth,
        "parent_anchor_id": header.parent_anchor_id, "sequence": header.sequence,
        "accepted_ms": header.accepted_ms, "kind": leaf.body.kind().number(),
    });
    all.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    if let LeafBody::SignedEvent(_, actor) = &leaf.body {
        all["actor_public_key"] = json!(actor.actor_public_key);
        all["actor_signature"] = json!(actor.actor_signature);
    }
    all
}

#[test]
fn leaves_of_every_kind() {
    let Some(file) = vectors("leaf") else { return };
    for case in list(&file, "/good") {
        let bytes = hex(case, "leaf");
        let leaf = Leaf::decode(&bytes).unwrap();
        assert_eq!(fields(&leaf), case["fields"]);
        assert_eq!(leaf.encode().unwrap(), bytes);
        assert_eq!(anchor_id_of(&bytes), hash(case, "anchor_id"));
    }
    for case in list(&file, "/bad") {
        let error = Leaf::decode(&hex(case, "leaf")).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}", text(case, "name"));
        assert!(error.is_verification());
    }
}

#[test]
fn what_cannot_be_read_is_not_written() {
    let Some(file) = vectors("leaf") else { return };
    let mut leaf = Leaf::decode(&hex(&list(&file, "/good")[1], "leaf")).unwrap();
    leaf.header.depth = 0;
    assert_eq!(leaf.encode().unwrap_err().code(), "value_invalid");
    leaf.header.depth = 1 << 53;
    assert_eq!(leaf.encode().unwrap_err().code(), "value_invalid");
}
