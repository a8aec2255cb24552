//! Anchors of every kind, as the API shows them.

use serde::{Deserialize, Serialize};

use super::shown::StatedAnchor;
use super::words::{Finality, RecordState};
use crate::hash::{AnchorId, Hash, OriginFingerprint, PublicKey, Signature};

/// A leaf of an origin's tree, as the API shows it. What is read is what its `anchor_id` is the hash of; only the
/// finality, and the state of a claim or a grant, are the service's word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StatedAnchor")]
#[non_exhaustive]
pub struct Anchor {
    /// The RFC 6962 leaf hash: the anchor's name, and what a receipt proves.
    pub anchor_id: AnchorId,
    /// The origin in whose tree it is.
    pub origin_fingerprint: OriginFingerprint,
    /// Leaf index in that tree.
    pub depth: u64,
    /// Position among the leaves of all origins.
    pub sequence: u64,
    /// The anchor one depth above; `None` for a genesis leaf.
    pub parent_anchor_id: Option<AnchorId>,
    /// When the cluster accepted it, Unix milliseconds.
    pub accepted_ms: u64,
    /// The same as RFC 3339.
    pub accepted_at: String,
    /// How far it has come.
    pub finality: Finality,
    /// What its kind adds.
    #[serde(flatten)]
    pub content: AnchorContent,
}

/// What the kind of an anchor adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnchorContent {
    /// The first leaf of an origin.
    Genesis(GenesisAnchor),
    /// An unsigned event.
    Event(EventAnchor),
    /// An event that its actor has signed.
    SignedEvent(SignedEventAnchor),
    /// An identity.
    Claim(Box<ClaimAnchor>),
    /// A delegation.
    Grant(Box<GrantAnchor>),
    /// The end of a claim or a grant.
    Revocation(RevocationAnchor),
    /// A new version of the trust root.
    TrustRoot(TrustRootAnchor),
    /// A kind that came later than this version of the SDK.
    #[serde(other)]
    Unknown,
}

impl AnchorContent {
    /// The event, signed or not.
    pub fn event(&self) -> Option<&EventAnchor> {
        match self {
            Self::Event(event) => Some(event),
            Self::SignedEvent(signed) => Some(&signed.event),
            _ => None,
        }
    }

    /// The claim.
    pub fn claim(&self) -> Option<&ClaimAnchor> {
        match self {
            Self::Claim(claim) => Some(claim),
            _ => None,
        }
    }

    /// The grant.
    pub fn grant(&self) -> Option<&GrantAnchor> {
        match self {
            Self::Grant(grant) => Some(grant),
            _ => None,
        }
    }

    /// The revocation.
    pub fn revocation(&self) -> Option<&RevocationAnchor> {
        match self {
            Self::Revocation(revocation) => Some(revocation),
            _ => None,
        }
    }
}

/// The first leaf of an origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GenesisAnchor {
    /// The cluster.
    pub cluster_id: Hash,
    /// The trust root that judges the origin from here on.
    pub root_thk: Hash,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventAnchor {
    /// What happened, hashed.
    pub event_hash: Hash,
    /// What it refers to; `None`: nothing.
    pub semantic_anchor: Option<SemanticAnchorAnswer>,
    /// Commits to the client's id; `None`: it has none.
    pub client_event_commit: Option<Hash>,
    /// Shown to the API client that wrote it, and to `admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_event_id: Option<String>,
    /// Opens the commitment. Shown to the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_event_salt: Option<Hash>,
    /// Id and salt were erased. Shown to the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client_event_erased: bool,
}

/// What an event refers to; `None` is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SemanticAnchorAnswer {
    /// The ClaimAnchor of who acts.
    pub iris_ref: Option<AnchorId>,
    /// Any anchor.
    pub scroll_ref: Option<AnchorId>,
    /// The GrantAnchor under which it was done.
    pub grant_ref: Option<AnchorId>,
    /// Any anchor.
    pub bond_ref: Option<AnchorId>,
    /// Any anchor.
    pub yield_ref: Option<AnchorId>,
    /// In the documented flow the event hash again.
    pub event_data_hash: Option<Hash>,
}

/// An event that its actor has signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SignedEventAnchor {
    /// The event.
    #[serde(flatten)]
    pub event: EventAnchor,
    /// Who has signed.
    pub actor_public_key: PublicKey,
    /// Over the event-actor payload.
    pub actor_signature: Signature,
}

/// An identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClaimAnchor {
    /// How it has ended, if it has.
    pub state: RecordState,
    /// Whom it is about.
    pub entity_fingerprint: Hash,
    /// In what respect.
    pub attribute_type: u32,
    /// What is claimed, hashed.
    pub attribute_hash: Hash,
    /// Unix milliseconds; 0: not stated.
    pub issued_at: u64,
    /// Unix milliseconds; 0: never.
    pub expires_at: u64,
    /// The key that speaks for the entity.
    pub subject_public_key: PublicKey,
    /// Over the claim payload.
    pub subject_signature: Signature,
    /// Who vouches for it.
    pub issuer_public_key: PublicKey,
    /// Over the claim-issuer payload.
    pub issuer_signature: Signature,
}

/// A delegation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GrantAnchor {
    /// How it has ended, if it has.
    pub state: RecordState,
    /// The grantor's ClaimAnchor.
    pub grantor_claim_ref: AnchorId,
    /// The grantee's ClaimAnchor.
    pub grantee_claim_ref: AnchorId,
    /// The grant to the grantor; `None`: a root grant.
    pub parent_grant_ref: Option<AnchorId>,
    /// What is delegated, hashed.
    pub scope_hash: Hash,
    /// How many further hops may be granted below.
    pub delegation_depth: u32,
    /// Unix milliseconds; 0: not stated.
    pub issued_at: u64,
    /// Unix milliseconds; 0: as the parent has it.
    pub not_before: u64,
    /// Unix milliseconds; 0: as the parent has it.
    pub expires_at: u64,
    /// The grantor's key.
    pub grantor_public_key: PublicKey,
    /// Over the grant payload.
    pub grantor_signature: Signature,
    /// Who has seen it.
    pub witness_public_key: PublicKey,
    /// Over the grant-witness payload.
    pub witness_signature: Signature,
}

/// The end of a claim or a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RevocationAnchor {
    /// What has ended.
    pub target_anchor_id: AnchorId,
    /// Why, as [`RevocationReason::as_str`](crate::RevocationReason::as_str) names it.
    pub reason: String,
    /// Unix milliseconds; 0: none.
    pub suspect_since: u64,
    /// Unix milliseconds; 0: not stated.
    pub issued_at: u64,
    /// By whose authority, as [`RevocationAuthority::as_str`](crate::RevocationAuthority::as_str) names it.
    pub authority: String,
    /// The revoker's public key, or what names the operator's API client.
    pub revoker: Hash,
    /// `None`: an operator's.
    pub signature: Option<Signature>,
}

/// A new version of the trust root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrustRootAnchor {
    /// From 1.
    pub version: u32,
    /// Its document.
    pub root_thk: Hash,
}
