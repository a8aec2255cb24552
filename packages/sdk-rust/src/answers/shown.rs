//! Whether an anchor is what it shows: the anchor id is the hash of the leaf, and an anchor shows every field of it.

use serde::Deserialize;

use super::anchors::{Anchor, AnchorContent, EventAnchor, SemanticAnchorAnswer};
use super::words::Finality;
use crate::calendar::to_rfc3339;
use crate::hash::{AnchorId, Hash, OriginFingerprint, Signature};
use crate::leaf::{
    anchor_id_of, ActorBody, ClaimBody, EventBody, GenesisBody, GrantBody, Leaf, LeafBody, LeafHeader, RevocationBody,
    SemanticHashes, TrustRootBody,
};
use crate::tags::client_event_commit;
use crate::words::{RevocationAuthority, RevocationReason};

/// An anchor as it is stated, not yet checked.
#[derive(Deserialize)]
pub(super) struct StatedAnchor {
    anchor_id: AnchorId,
    origin_fingerprint: OriginFingerprint,
    depth: u64,
    sequence: u64,
    parent_anchor_id: Option<AnchorId>,
    accepted_ms: u64,
    accepted_at: String,
    finality: Finality,
    #[serde(flatten)]
    content: AnchorContent,
}

impl TryFrom<StatedAnchor> for Anchor {
    type Error = &'static str;

    fn try_from(stated: StatedAnchor) -> Result<Self, Self::Error> {
        let anchor = Self {
            anchor_id: stated.anchor_id,
            origin_fingerprint: stated.origin_fingerprint,
            depth: stated.depth,
            sequence: stated.sequence,
            parent_anchor_id: stated.parent_anchor_id,
            accepted_ms: stated.accepted_ms,
            accepted_at: stated.accepted_at,
            finality: stated.finality,
            content: stated.content,
        };
        if anchor.is_what_it_shows() {
            Ok(anchor)
        } else {
            Err("an anchor is not what its anchor_id is the hash of")
        }
    }
}

fn or_zeros(reference: Option<Hash>) -> Hash {
    reference.unwrap_or(Hash::ZERO)
}

fn semantic_hashes(shown: &SemanticAnchorAnswer) -> SemanticHashes {
    SemanticHashes {
        iris_ref: or_zeros(shown.iris_ref),
        scroll_ref: or_zeros(shown.scroll_ref),
        grant_ref: or_zeros(shown.grant_ref),
        bond_ref: or_zeros(shown.bond_ref),
        yield_ref: or_zeros(shown.yield_ref),
        event_data_hash: or_zeros(shown.event_data_hash),
    }
}

fn event_body(event: &EventAnchor) -> EventBody {
    let nothing = SemanticAnchorAnswer {
        iris_ref: None,
        scroll_ref: None,
        grant_ref: None,
        bond_ref: None,
        yield_ref: None,
        event_data_hash: None,
    };
    EventBody {
        event_hash: event.event_hash,
        semantic_anchor: semantic_hashes(event.semantic_anchor.as_ref().unwrap_or(&nothing)),
        client_event_commit: or_zeros(event.client_event_commit),
    }
}

impl AnchorContent {
    /// The content of the leaf without its header; `None` if no leaf can have it, or its kind is not known.
    fn leaf_body(&self) -> Option<LeafBody> {
        Some(match self {
            Self::Genesis(shown) => {
                LeafBody::Genesis(GenesisBody { cluster_id: shown.cluster_id, root_thk: shown.root_thk })
            }
            Self::Event(shown) => LeafBody::Event(event_body(shown)),
            Self::SignedEvent(shown) => {
                let actor =
                    ActorBody { actor_public_key: shown.actor_public_key, actor_signature: shown.actor_signature };
                LeafBody::SignedEvent(event_body(&shown.event), actor)
            }
            Self::Claim(shown) => LeafBody::Claim(ClaimBody {
                entity_fingerprint: shown.entity_fingerprint,
                attribute_type: shown.attribute_type,
                attribute_hash: shown.attribute_hash,
                issued_at: shown.issued_at,
                expires_at: shown.expires_at,
                subject_public_key: shown.subject_public_key,
                subject_signature: shown.subject_signature,
                issuer_public_key: shown.issuer_public_key,
                issuer_signature: shown.issuer_signature,
            }),
            Self::Grant(shown) => LeafBody::Grant(GrantBody {
                grantor_claim_ref: shown.grantor_claim_ref,
                grantee_claim_ref: shown.grantee_claim_ref,
                parent_grant_ref: or_zeros(shown.parent_grant_ref),
                scope_hash: shown.scope_hash,
                delegation_depth: shown.delegation_depth,
                issued_at: shown.issued_at,
                not_before: shown.not_before,
                expires_at: shown.expires_at,
                grantor_public_key: shown.grantor_public_key,
                grantor_signature: shown.grantor_signature,
                witness_public_key: shown.witness_public_key,
                witness_signature: shown.witness_signature,
            }),
            Self::Revocation(shown) => LeafBody::Revocation(RevocationBody {
                target_anchor_id: shown.target_anchor_id,
                reason: RevocationReason::from_word(&shown.reason)?,
                suspect_since: shown.suspect_since,
                issued_at: shown.issued_at,
                authority: RevocationAuthority::from_word(&shown.authority)?,
                revoker: shown.revoker,
                signature: shown.signature.unwrap_or(Signature::ZERO),
            }),
            Self::TrustRoot(shown) => {
                LeafBody::TrustRoot(TrustRootBody { version: shown.version, root_thk: shown.root_thk })
            }
            Self::Unknown => return None,
        })
    }
}

impl Anchor {
    /// The leaf that the anchor shows, whose hash is its id; `None`: of a kind that this version does not know.
    pub fn leaf(&self) -> Option<Leaf> {
        let header = LeafHeader {
            origin_fingerprint: self.origin_fingerprint,
            depth: self.depth,
            parent_anchor_id: or_zeros(self.parent_anchor_id),
            sequence: self.sequence,
            accepted_ms: self.accepted_ms,
        };
        Some(Leaf { header, body: self.content.leaf_body()? })
    }

    fn is_what_it_shows(&self) -> bool {
        if self.content == AnchorContent::Unknown {
            return true;
        }
        let Some(Ok(bytes)) = self.leaf().map(|leaf| leaf.encode()) else { return false };
        anchor_id_of(&bytes) == self.anchor_id
            && to_rfc3339(self.accepted_ms) == self.accepted_at
            && self.content.event().is_none_or(EventAnchor::opens)
    }
}

impl EventAnchor {
    /// Whether the client's id, where it is shown, is the one that the leaf commits to.
    fn opens(&self) -> bool {
        match (&self.client_event_id, &self.client_event_salt) {
            (Some(id), Some(salt)) => self.client_event_commit == Some(client_event_commit(salt, id)),
            (None, None) => true,
            _ => false,
        }
    }
}
