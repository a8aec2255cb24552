//! The leaf: what an origin's tree is made of. docs/PROTOCOL.md, "Leaf".

use crate::bytes::{ReadFault, Reader, INTEGER_MAX};
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash, OriginFingerprint, PublicKey, Signature};
use crate::tags::tag;
use crate::words::{LeafKind, RevocationAuthority, RevocationReason};

/// A leaf that has been read, or is about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What every leaf begins with.
    pub header: LeafHeader,
    /// What its kind adds.
    pub body: LeafBody,
}

/// What every leaf begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafHeader {
    /// Whose tree it is in.
    pub origin_fingerprint: OriginFingerprint,
    /// Leaf index in that tree, from 0; 0 if and only if the leaf is a genesis leaf.
    pub depth: u64,
    /// Anchor id of the leaf before it in the same origin; zeros if and only if `depth` is 0.
    pub parent_anchor_id: AnchorId,
    /// Position among the leaves of all origins, from 0.
    pub sequence: u64,
    /// When the cluster accepted it, Unix milliseconds.
    pub accepted_ms: u64,
}

/// What the kind of a leaf adds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeafBody {
    /// Kind 0: the first leaf of an origin.
    Genesis(GenesisBody),
    /// Kind 1: an event that nobody has signed.
    Event(EventBody),
    /// Kind 2: an identity.
    Claim(ClaimBody),
    /// Kind 3: a delegation.
    Grant(GrantBody),
    /// Kind 4: the end of a claim or a grant.
    Revocation(RevocationBody),
    /// Kind 5: from here on another version of the trust root judges this origin.
    TrustRoot(TrustRootBody),
    /// Kind 6: an event that its actor has signed.
    SignedEvent(EventBody, ActorBody),
}

/// The first leaf of an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenesisBody {
    /// The cluster, for its whole life.
    pub cluster_id: Hash,
    /// The version of the trust root that judges this origin from its first leaf on.
    pub root_thk: Hash,
}

/// Six references of 32 bytes each; zeros mean that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemanticHashes {
    /// The claim of who acts.
    pub iris_ref: Hash,
    /// Any anchor.
    pub scroll_ref: Hash,
    /// The grant under which it is done.
    pub grant_ref: Hash,
    /// Any anchor.
    pub bond_ref: Hash,
    /// Any anchor.
    pub yield_ref: Hash,
    /// In the documented flow the event hash again.
    pub event_data_hash: Hash,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventBody {
    /// What happened, hashed.
    pub event_hash: Hash,
    /// What it refers to.
    pub semantic_anchor: SemanticHashes,
    /// [`client_event_commit`](crate::client_event_commit) of the client's id, or zeros.
    pub client_event_commit: Hash,
}

/// Who has signed an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActorBody {
    /// The actor's key.
    pub actor_public_key: PublicKey,
    /// Over the event-actor payload.
    pub actor_signature: Signature,
}

/// An identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimBody {
    /// Whom the claim is about.
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
    /// The key of who vouches for it.
    pub issuer_public_key: PublicKey,
    /// Over the claim-issuer payload.
    pub issuer_signature: Signature,
}

/// A delegation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantBody {
    /// The grantor's claim.
    pub grantor_claim_ref: AnchorId,
    /// The grantee's claim.
    pub grantee_claim_ref: AnchorId,
    /// The grant to the grantor; zeros for a root grant.
    pub parent_grant_ref: AnchorId,
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
    /// The subject key of the grantor's claim.
    pub grantor_public_key: PublicKey,
    /// Over the grant payload.
    pub grantor_signature: Signature,
    /// The key of who has seen it.
    pub witness_public_key: PublicKey,
    /// Over the grant-witness payload.
    pub witness_signature: Signature,
}

/// The end of a claim or a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationBody {
    /// What has ended.
    pub target_anchor_id: AnchorId,
    /// Why.
    pub reason: RevocationReason,
    /// Unix milliseconds; 0: none.
    pub suspect_since: u64,
    /// Unix milliseconds; 0: not stated.
    pub issued_at: u64,
    /// By whose authority.
    pub authority: RevocationAuthority,
    /// The revoker's public key, or what names the API client, or the operator, that has revoked unsigned.
    pub revoker: Hash,
    /// Over the revocation payload; zeros if and only if no party has signed.
    pub signature: Signature,
}

/// A new version of the trust root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRootBody {
    /// From 1.
    pub version: u32,
    /// Its document.
    pub root_thk: Hash,
}

impl LeafBody {
    /// The kind on the wire.
    pub fn kind(&self) -> LeafKind {
        match self {
            Self::Genesis(_) => LeafKind::Genesis,
            Self::Event(_) => LeafKind::Event,
            Self::Claim(_) => LeafKind::Claim,
            Self::Grant(_) => LeafKind::Grant,
            Self::Revocation(_) => LeafKind::Revocation,
            Self::TrustRoot(_) => LeafKind::TrustRoot,
            Self::SignedEvent(..) => LeafKind::SignedEvent,
        }
    }

    /// The event, signed or not.
    pub fn event(&self) -> Option<&EventBody> {
        match self {
            Self::Event(event) | Self::SignedEvent(event, _) => Some(event),
            _ => None,
        }
    }
}

/// Bytes of a whole leaf, by kind.
fn leaf_length(kind: LeafKind) -> usize {
    match kind {
        LeafKind::Genesis => 179,
        LeafKind::Event => 371,
        LeafKind::Claim => 391,
        LeafKind::Grant => 463,
        LeafKind::Revocation => 261,
        LeafKind::TrustRoot => 151,
        LeafKind::SignedEvent => 467,
    }
}

impl SemanticHashes {
    /// In the order of the wire, which is that of the payload an actor signs.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        let fields =
            [self.iris_ref, self.scroll_ref, self.grant_ref, self.bond_ref, self.yield_ref, self.event_data_hash];
        for field in fields {
            bytes.extend_from_slice(field.as_bytes());
        }
    }
}

impl Leaf {
    /// Reads the bytes of a leaf, which may be attacker-controlled.
    ///
    /// # Errors
    /// `truncated`, `tag_unknown`, `kind_unknown`, `length_wrong`, `integer_unsafe` or `value_invalid`.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let prefix = tag("leaf");
        if reader.take(prefix.len()).map_err(unreadable)? != prefix {
            return Err(Error::verification("tag_unknown", "not a leaf"));
        }
        let number = reader.u8().map_err(unreadable)?;
        let kind = LeafKind::from_number(number)
            .ok_or_else(|| Error::verification("kind_unknown", format!("unknown leaf kind {number}")))?;
        let length = leaf_length(kind);
        if bytes.len() != length {
            let detail = format!("a leaf of kind {number} has {length} bytes, got {}", bytes.len());
            return Err(Error::verification("length_wrong", detail));
        }
        let header = read_header(&mut reader).map_err(unreadable)?;
        let body = read_body(&mut reader, kind)?;
        if !reader.is_empty() {
            return Err(Error::verification("length_wrong", "bytes are left over"));
        }
        let leaf = Self { header, body };
        match leaf.broken_rule() {
            None => Ok(leaf),
            Some(rule) => Err(Error::verification("value_invalid", rule)),
        }
    }

    /// The bytes of the leaf.
    ///
    /// # Errors
    /// `value_invalid` if a rule of its kind is broken or an integer is above 2^53 − 1.
    pub fn encode(&self) -> Result<Vec<u8>> {
        if let Some(rule) = self.broken_rule() {
            return Err(Error::verification("value_invalid", rule));
        }
        let mut bytes = tag("leaf");
        bytes.push(self.body.kind().number());
        bytes.extend_from_slice(self.header.origin_fingerprint.as_bytes());
        bytes.extend_from_slice(&self.header.depth.to_be_bytes());
        bytes.extend_from_slice(self.header.parent_anchor_id.as_bytes());
        bytes.extend_from_slice(&self.header.sequence.to_be_bytes());
        bytes.extend_from_slice(&self.header.accepted_ms.to_be_bytes());
        self.write_body(&mut bytes);
        Ok(bytes)
    }

    /// What holds for every leaf beyond its length; the first broken rule. Both directions check it.
    fn broken_rule(&self) -> Option<&'static str> {
        let is_genesis = matches!(self.body, LeafBody::Genesis(_));
        if is_genesis != (self.header.depth == 0) {
            return Some("depth is 0 if and only if the leaf is a genesis leaf");
        }
        if is_genesis != self.header.parent_anchor_id.is_zero() {
            return Some("the parent is zeros if and only if depth is 0");
        }
        if self.integers().iter().any(|value| *value > INTEGER_MAX) {
            return Some("an integer is above 2^53 - 1");
        }
        match &self.body {
            LeafBody::TrustRoot(body) if body.version == 0 => Some("trust-root versions start at 1"),
            LeafBody::Revocation(body) => {
                let is_operator = body.authority == RevocationAuthority::Operator;
                (is_operator != body.signature.is_zero()).then_some("an operator's signature is zeros, no other's is")
            }
            _ => None,
        }
    }

    fn integers(&self) -> Vec<u64> {
        let header = &self.header;
        let mut integers = vec![header.depth, header.sequence, header.accepted_ms];
        match &self.body {
            LeafBody::Claim(body) => integers.extend([body.issued_at, body.expires_at]),
            LeafBody::Grant(body) => integers.extend([body.issued_at, body.not_before, body.expires_at]),
            LeafBody::Revocation(body) => integers.extend([body.suspect_since, body.issued_at]),
            _ => {}
        }
        integers
    }

    fn write_body(&self, bytes: &mut Vec<u8>) {
        match &self.body {
            LeafBody::Genesis(body) => {
                bytes.extend_from_slice(body.cluster_id.as_bytes());
                bytes.extend_from_slice(body.root_thk.as_bytes());
            }
            LeafBody::Event(body) => write_event(body, bytes),
            LeafBody::SignedEvent(body, actor) => {
                write_event(body, bytes);
                bytes.extend_from_slice(actor.actor_public_key.as_bytes());
                bytes.extend_from_slice(actor.actor_signature.as_bytes());
            }
            LeafBody::Claim(body) => write_claim(body, bytes),
            LeafBody::Grant(body) => write_grant(body, bytes),
            LeafBody::Revocation(body) => write_revocation(body, bytes),
            LeafBody::TrustRoot(body) => {
                bytes.extend_from_slice(&body.version.to_be_bytes());
                bytes.extend_from_slice(body.root_thk.as_bytes());
            }
        }
    }
}

/// H(0x00 ‖ leaf): the anchor id, which is also the RFC 6962 leaf hash.
pub fn anchor_id_of(leaf: &[u8]) -> AnchorId {
    Hash::of_parts(&[&[0], leaf])
}

fn unreadable(fault: ReadFault) -> Error {
    match fault {
        ReadFault::Truncated => Error::verification("truncated", "the leaf ends too early"),
        ReadFault::IntegerUnsafe => Error::verification("integer_unsafe", "an integer is above 2^53 - 1"),
    }
}

fn hash(reader: &mut Reader<'_>) -> Result<Hash, ReadFault> {
    reader.array().map(Hash::new)
}

fn key(reader: &mut Reader<'_>) -> Result<PublicKey, ReadFault> {
    reader.array().map(PublicKey::new)
}

fn signature(reader: &mut Reader<'_>) -> Result<Signature, ReadFault> {
    reader.array().map(Signature::new)
}

fn read_header(reader: &mut Reader<'_>) -> Result<LeafHeader, ReadFault> {
    Ok(LeafHeader {
        origin_fingerprint: hash(reader)?,
        depth: reader.u64()?,
        parent_anchor_id: hash(reader)?,
        sequence: reader.u64()?,
        accepted_ms: reader.u64()?,
    })
}

fn read_body(reader: &mut Reader<'_>, kind: LeafKind) -> Result<LeafBody> {
    let body = match kind {
        LeafKind::Revocation => return read_revocation(reader).map(LeafBody::Revocation),
        LeafKind::Genesis => read_genesis(reader).map(LeafBody::Genesis),
        LeafKind::Event => read_event(reader).map(LeafBody::Event),
        LeafKind::Claim => read_claim(reader).map(LeafBody::Claim),
        LeafKind::Grant => read_grant(reader).map(LeafBody::Grant),
        LeafKind::TrustRoot => read_trust_root(reader).map(LeafBody::TrustRoot),
        LeafKind::SignedEvent => read_signed_event(reader),
    };
    body.map_err(unreadable)
}

fn read_genesis(reader: &mut Reader<'_>) -> Result<GenesisBody, ReadFault> {
    Ok(GenesisBody { cluster_id: hash(reader)?, root_thk: hash(reader)? })
}

fn read_trust_root(reader: &mut Reader<'_>) -> Result<TrustRootBody, ReadFault> {
    Ok(TrustRootBody { version: reader.u32()?, root_thk: hash(reader)? })
}

fn read_event(reader: &mut Reader<'_>) -> Result<EventBody, ReadFault> {
    Ok(EventBody {
        event_hash: hash(reader)?,
        semantic_anchor: SemanticHashes {
            iris_ref: hash(reader)?,
            scroll_ref: hash(reader)?,
            grant_ref: hash(reader)?,
            bond_ref: hash(reader)?,
            yield_ref: hash(reader)?,
            event_data_hash: hash(reader)?,
        },
        client_event_commit: hash(reader)?,
    })
}

fn read_signed_event(reader: &mut Reader<'_>) -> Result<LeafBody, ReadFault> {
    let event = read_event(reader)?;
    let actor = ActorBody { actor_public_key: key(reader)?, actor_signature: signature(reader)? };
    Ok(LeafBody::SignedEvent(event, actor))
}

fn read_claim(reader: &mut Reader<'_>) -> Result<ClaimBody, ReadFault> {
    Ok(ClaimBody {
        entity_fingerprint: hash(reader)?,
        attribute_type: reader.u32()?,
        attribute_hash: hash(reader)?,
        issued_at: reader.u64()?,
        expires_at: reader.u64()?,
        subject_public_key: key(reader)?,
        subject_signature: signature(reader)?,
        issuer_public_key: key(reader)?,
        issuer_signature: signature(reader)?,
    })
}

fn read_grant(reader: &mut Reader<'_>) -> Result<GrantBody, ReadFault> {
    Ok(GrantBody {
        grantor_claim_ref: hash(reader)?,
        grantee_claim_ref: hash(reader)?,
        parent_grant_ref: hash(reader)?,
        scope_hash: hash(reader)?,
        delegation_depth: reader.u32()?,
        issued_at: reader.u64()?,
        not_before: reader.u64()?,
        expires_at: reader.u64()?,
        grantor_public_key: key(reader)?,
        grantor_signature: signature(reader)?,
        witness_public_key: key(reader)?,
        witness_signature: signature(reader)?,
    })
}

fn read_revocation(reader: &mut Reader<'_>) -> Result<RevocationBody> {
    let target_anchor_id = hash(reader).map_err(unreadable)?;
    let reason = reader.u8().map_err(unreadable)?;
    let suspect_since = reader.u64().map_err(unreadable)?;
    let issued_at = reader.u64().map_err(unreadable)?;
    let authority = reader.u8().map_err(unreadable)?;
    Ok(RevocationBody {
        target_anchor_id,
        reason: RevocationReason::from_number(reason)
            .ok_or_else(|| Error::verification("value_invalid", "unknown revocation reason"))?,
        suspect_since,
        issued_at,
        authority: RevocationAuthority::from_number(authority)
            .ok_or_else(|| Error::verification("value_invalid", "unknown revocation authority"))?,
        revoker: hash(reader).map_err(unreadable)?,
        signature: signature(reader).map_err(unreadable)?,
    })
}

fn write_event(body: &EventBody, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(body.event_hash.as_bytes());
    body.semantic_anchor.write(bytes);
    bytes.extend_from_slice(body.client_event_commit.as_bytes());
}

fn write_claim(body: &ClaimBody, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(body.entity_fingerprint.as_bytes());
    bytes.extend_from_slice(&body.attribute_type.to_be_bytes());
    bytes.extend_from_slice(body.attribute_hash.as_bytes());
    bytes.extend_from_slice(&body.issued_at.to_be_bytes());
    bytes.extend_from_slice(&body.expires_at.to_be_bytes());
    bytes.extend_from_slice(body.subject_public_key.as_bytes());
    bytes.extend_from_slice(body.subject_signature.as_bytes());
    bytes.extend_from_slice(body.issuer_public_key.as_bytes());
    bytes.extend_from_slice(body.issuer_signature.as_bytes());
}

fn write_grant(body: &GrantBody, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(body.grantor_claim_ref.as_bytes());
    bytes.extend_from_slice(body.grantee_claim_ref.as_bytes());
    bytes.extend_from_slice(body.parent_grant_ref.as_bytes());
    bytes.extend_from_slice(body.scope_hash.as_bytes());
    bytes.extend_from_slice(&body.delegation_depth.to_be_bytes());
    bytes.extend_from_slice(&body.issued_at.to_be_bytes());
    bytes.extend_from_slice(&body.not_before.to_be_bytes());
    bytes.extend_from_slice(&body.expires_at.to_be_bytes());
    bytes.extend_from_slice(body.grantor_public_key.as_bytes());
    bytes.extend_from_slice(body.grantor_signature.as_bytes());
    bytes.extend_from_slice(body.witness_public_key.as_bytes());
    bytes.extend_from_slice(body.witness_signature.as_bytes());
}

fn write_revocation(body: &RevocationBody, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(body.target_anchor_id.as_bytes());
    bytes.push(body.reason.number());
    bytes.extend_from_slice(&body.suspect_since.to_be_bytes());
    bytes.extend_from_slice(&body.issued_at.to_be_bytes());
    bytes.push(body.authority.number());
    bytes.extend_from_slice(body.revoker.as_bytes());
    bytes.extend_from_slice(body.signature.as_bytes());
}
