//! What is signed by whom, in which order, and what becomes of the signatures. No network, no clock.

use serde_json::{Map, Value};

use crate::bytes::to_hex;
use crate::ed25519::verify_ed25519;
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash, OriginFingerprint, PublicKey, Signature};
use crate::input::{check_integer, read, Actor, ClaimInput, Event, GrantInput, RevocationInput};
use crate::payloads::{
    claim_payload, event_actor_payload, grant_payload, revocation_payload, second_payload, ClaimContent, GrantContent,
};
use crate::signer::Signer;
use crate::words::RevocationReason;

/// In what role a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignerRole {
    /// The subject of a claim: signs first.
    Subject,
    /// The issuer of a claim: signs what the subject has signed.
    Issuer,
    /// The grantor: signs first.
    Grantor,
    /// The witness of a grant: signs what the grantor has signed.
    Witness,
    /// Who acts.
    Actor,
    /// Who revokes.
    Revoker,
}

impl SignerRole {
    /// The word on the wire, of which `…_public_key` and `…_signature` are made.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Issuer => "issuer",
            Self::Grantor => "grantor",
            Self::Witness => "witness",
            Self::Actor => "actor",
            Self::Revoker => "revoker",
        }
    }
}

/// The exact bytes that one party signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    role: SignerRole,
    public_key: PublicKey,
    bytes: Vec<u8>,
}

impl Payload {
    /// In what role.
    pub fn role(&self) -> SignerRole {
        self.role
    }

    /// With which key.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// What is signed: all of it, not its hash.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same as lower-case hex.
    pub fn to_hex(&self) -> String {
        to_hex(&self.bytes)
    }

    /// SHA-256 of the bytes: to compare by eye, never to be signed instead.
    pub fn digest(&self) -> Hash {
        Hash::sha256(&self.bytes)
    }

    fn check<S>(&self, signature: S) -> Result<Signature>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let field = format!("{}_signature", self.role.as_str());
        let signature = read(&field, signature)?;
        if verify_ed25519(&self.public_key, &self.bytes, &signature)? {
            return Ok(signature);
        }
        Err(Error::invalid_input(field, format!("it is no signature of key {} over the payload", self.public_key)))
    }

    async fn sign_with<S: Signer + ?Sized>(&self, signer: &S) -> Result<Signature> {
        let role = self.role.as_str();
        if signer.public_key() != self.public_key {
            return Err(Error::signer(format!("the signer's key is not the {role}_public_key of the record")));
        }
        let signature = signer.sign(self).await?;
        self.check(signature)
            .map_err(|error| Error::signer(format!("the {role}'s signature does not verify")).with_source(error))
    }
}

/// A claim that is to be signed: by its subject, then by its issuer.
#[derive(Clone, Debug)]
pub struct PreparedClaim {
    origin_fingerprint: OriginFingerprint,
    input: ClaimInput,
    subject_payload: Payload,
}

/// A claim that both have signed: what is sent.
#[derive(Clone, Debug)]
pub struct SignedClaim {
    body: Map<String, Value>,
}

/// Prepares a claim, offline.
///
/// # Errors
/// `invalid_input`, naming the field.
pub fn prepare_claim_anchor(origin_fingerprint: &OriginFingerprint, input: &ClaimInput) -> Result<PreparedClaim> {
    input.check()?;
    let bytes = claim_payload(&ClaimContent {
        origin_fingerprint,
        entity_fingerprint: &input.entity_fingerprint,
        attribute_type: input.attribute_type,
        attribute_hash: &input.attribute_hash,
        issued_at: input.issued_at.unwrap_or(0),
        expires_at: input.expires_at.unwrap_or(0),
        subject_public_key: &input.subject_public_key,
        issuer_public_key: &input.issuer_public_key,
    });
    let subject_payload = Payload { role: SignerRole::Subject, public_key: input.subject_public_key, bytes };
    Ok(PreparedClaim { origin_fingerprint: *origin_fingerprint, input: input.clone(), subject_payload })
}

impl PreparedClaim {
    /// Who signs, in this order.
    pub const SIGNING_ORDER: [SignerRole; 2] = [SignerRole::Subject, SignerRole::Issuer];

    /// What the subject signs: 207 bytes.
    pub fn subject_payload(&self) -> &Payload {
        &self.subject_payload
    }

    /// What the issuer signs, once the subject has signed: 130 bytes.
    ///
    /// # Errors
    /// `invalid_input` if the subject's signature is none over its payload.
    pub fn issuer_payload<S>(&self, subject_signature: S) -> Result<Payload>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let subject_signature = self.subject_payload.check(subject_signature)?;
        let bytes = second_payload("claim-issuer", self.subject_payload.bytes(), &subject_signature);
        Ok(Payload { role: SignerRole::Issuer, public_key: self.input.issuer_public_key, bytes })
    }

    /// The claim with signatures that were made elsewhere, in an HSM for example. Both are verified.
    ///
    /// # Errors
    /// `invalid_input`, naming the signature.
    pub fn with_signatures<S, I>(&self, subject_signature: S, issuer_signature: I) -> Result<SignedClaim>
    where
        S: TryInto<Signature>,
        I: TryInto<Signature>,
        Error: From<S::Error> + From<I::Error>,
    {
        let subject_signature = self.subject_payload.check(subject_signature)?;
        let issuer_signature = self.issuer_payload(subject_signature)?.check(issuer_signature)?;
        let ClaimInput { entity_fingerprint, attribute_type, attribute_hash, .. } = &self.input;
        let mut body = Body::new(Some(&self.origin_fingerprint));
        body.text("entity_fingerprint", entity_fingerprint);
        body.0.insert("attribute_type".into(), (*attribute_type).into());
        body.text("attribute_hash", attribute_hash);
        body.text("subject_public_key", self.input.subject_public_key);
        body.text("subject_signature", subject_signature);
        body.text("issuer_public_key", self.input.issuer_public_key);
        body.text("issuer_signature", issuer_signature);
        body.time("issued_at", self.input.issued_at);
        body.time("expires_at", self.input.expires_at);
        Ok(SignedClaim { body: body.0 })
    }

    /// Asks the signers, one after the other.
    ///
    /// # Errors
    /// `signer_failed`.
    pub async fn sign<S, I>(&self, subject: &S, issuer: &I) -> Result<SignedClaim>
    where
        S: Signer + ?Sized,
        I: Signer + ?Sized,
    {
        let subject_signature = self.subject_payload.sign_with(subject).await?;
        let issuer_signature = self.issuer_payload(subject_signature)?.sign_with(issuer).await?;
        self.with_signatures(subject_signature, issuer_signature)
    }
}

impl SignedClaim {
    /// The body of `POST /v1/claim-anchors`.
    pub fn to_json(&self) -> Value {
        Value::Object(self.body.clone())
    }
}

/// A grant that is to be signed: by its grantor, then by its witness.
#[derive(Clone, Debug)]
pub struct PreparedGrant {
    origin_fingerprint: OriginFingerprint,
    input: GrantInput,
    grantor_payload: Payload,
}

/// A grant that both have signed: what is sent.
#[derive(Clone, Debug)]
pub struct SignedGrant {
    body: Map<String, Value>,
}

/// Prepares a grant, offline.
///
/// # Errors
/// `invalid_input`, naming the field.
pub fn prepare_grant_anchor(origin_fingerprint: &OriginFingerprint, input: &GrantInput) -> Result<PreparedGrant> {
    input.check()?;
    let bytes = grant_payload(&GrantContent {
        origin_fingerprint,
        grantor_claim_ref: &input.grantor_claim_ref,
        grantee_claim_ref: &input.grantee_claim_ref,
        parent_grant_ref: &input.parent_grant_ref.unwrap_or(Hash::ZERO),
        scope_hash: &input.scope_hash,
        delegation_depth: input.delegation_depth,
        issued_at: input.issued_at.unwrap_or(0),
        not_before: input.not_before.unwrap_or(0),
        expires_at: input.expires_at.unwrap_or(0),
        grantor_public_key: &input.grantor_public_key,
        witness_public_key: &input.witness_public_key,
    });
    let grantor_payload = Payload { role: SignerRole::Grantor, public_key: input.grantor_public_key, bytes };
    Ok(PreparedGrant { origin_fingerprint: *origin_fingerprint, input: input.clone(), grantor_payload })
}

impl PreparedGrant {
    /// Who signs, in this order.
    pub const SIGNING_ORDER: [SignerRole; 2] = [SignerRole::Grantor, SignerRole::Witness];

    /// What the grantor signs: 279 bytes.
    pub fn grantor_payload(&self) -> &Payload {
        &self.grantor_payload
    }

    /// What the witness signs, once the grantor has signed: 131 bytes.
    ///
    /// # Errors
    /// `invalid_input` if the grantor's signature is none over its payload.
    pub fn witness_payload<S>(&self, grantor_signature: S) -> Result<Payload>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let grantor_signature = self.grantor_payload.check(grantor_signature)?;
        let bytes = second_payload("grant-witness", self.grantor_payload.bytes(), &grantor_signature);
        Ok(Payload { role: SignerRole::Witness, public_key: self.input.witness_public_key, bytes })
    }

    /// The grant with signatures that were made elsewhere. Both are verified.
    ///
    /// # Errors
    /// `invalid_input`, naming the signature.
    pub fn with_signatures<G, W>(&self, grantor_signature: G, witness_signature: W) -> Result<SignedGrant>
    where
        G: TryInto<Signature>,
        W: TryInto<Signature>,
        Error: From<G::Error> + From<W::Error>,
    {
        let grantor_signature = self.grantor_payload.check(grantor_signature)?;
        let witness_signature = self.witness_payload(grantor_signature)?.check(witness_signature)?;
        let mut body = Body::new(Some(&self.origin_fingerprint));
        body.text("grantor_claim_ref", self.input.grantor_claim_ref);
        body.text("grantee_claim_ref", self.input.grantee_claim_ref);
        body.text("scope_hash", self.input.scope_hash);
        body.0.insert("delegation_depth".into(), self.input.delegation_depth.into());
        body.text("grantor_public_key", self.input.grantor_public_key);
        body.text("grantor_signature", grantor_signature);
        body.text("witness_public_key", self.input.witness_public_key);
        body.text("witness_signature", witness_signature);
        if let Some(parent) = self.input.parent_grant_ref.and_then(Hash::non_zero) {
            body.text("parent_grant_ref", parent);
        }
        body.time("issued_at", self.input.issued_at);
        body.time("not_before", self.input.not_before);
        body.time("expires_at", self.input.expires_at);
        Ok(SignedGrant { body: body.0 })
    }

    /// Asks the signers, one after the other.
    ///
    /// # Errors
    /// `signer_failed`.
    pub async fn sign<G, W>(&self, grantor: &G, witness: &W) -> Result<SignedGrant>
    where
        G: Signer + ?Sized,
        W: Signer + ?Sized,
    {
        let grantor_signature = self.grantor_payload.sign_with(grantor).await?;
        let witness_signature = self.witness_payload(grantor_signature)?.sign_with(witness).await?;
        self.with_signatures(grantor_signature, witness_signature)
    }
}

impl SignedGrant {
    /// The body of `POST /v1/grant-anchors`.
    pub fn to_json(&self) -> Value {
        Value::Object(self.body.clone())
    }
}

/// An event that its actor is to sign.
#[derive(Clone, Debug)]
pub struct PreparedEvent {
    origin_fingerprint: OriginFingerprint,
    event: Event,
    actor_payload: Payload,
}

/// Prepares an event that its actor signs, offline. The `client_event_id` is not signed.
///
/// # Errors
/// `invalid_input`, naming the field.
pub fn prepare_event_anchor(
    origin_fingerprint: &OriginFingerprint,
    event: &Event,
    actor_public_key: &PublicKey,
) -> Result<PreparedEvent> {
    event.check()?;
    let bytes = event_actor_payload(origin_fingerprint, &event.event_hash, &event.semantic_anchor.hashes());
    let actor_payload = Payload { role: SignerRole::Actor, public_key: *actor_public_key, bytes };
    Ok(PreparedEvent { origin_fingerprint: *origin_fingerprint, event: event.clone(), actor_payload })
}

impl PreparedEvent {
    /// What the actor signs: 289 bytes.
    pub fn actor_payload(&self) -> &Payload {
        &self.actor_payload
    }

    /// The event with a signature that was made elsewhere. It is verified.
    ///
    /// # Errors
    /// `invalid_input`.
    pub fn with_signature<S>(&self, actor_signature: S) -> Result<Event>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let signature = self.actor_payload.check(actor_signature)?;
        let public_key = self.actor_payload.public_key;
        let actor = Actor { public_key, signature, origin_fingerprint: self.origin_fingerprint };
        Ok(Event { actor: Some(actor), ..self.event.clone() })
    }

    /// Asks the signer.
    ///
    /// # Errors
    /// `signer_failed`.
    pub async fn sign<S: Signer + ?Sized>(&self, actor: &S) -> Result<Event> {
        self.with_signature(self.actor_payload.sign_with(actor).await?)
    }
}

/// A revocation that somebody is to sign, or an operator's, which nobody signs.
#[derive(Clone, Debug)]
pub struct PreparedRevocation {
    input: RevocationInput,
    revoker_payload: Option<Payload>,
}

/// Prepares a revocation, offline.
///
/// # Errors
/// `invalid_input`, naming the field.
pub fn prepare_revocation(input: &RevocationInput) -> Result<PreparedRevocation> {
    input.check()?;
    let RevocationInput { target_origin_fingerprint, target_anchor_id, reason, suspect_since, issued_at, .. } = input;
    let revoker_payload = input.revoker_public_key.map(|public_key| {
        let (suspect_since, issued_at) = (suspect_since.unwrap_or(0), issued_at.unwrap_or(0));
        let bytes = revocation_payload(target_origin_fingerprint, target_anchor_id, *reason, suspect_since, issued_at);
        Payload { role: SignerRole::Revoker, public_key, bytes }
    });
    Ok(PreparedRevocation { input: input.clone(), revoker_payload })
}

impl PreparedRevocation {
    /// What the revoker signs: 113 bytes; `None` if an operator revokes.
    pub fn revoker_payload(&self) -> Option<&Payload> {
        self.revoker_payload.as_ref()
    }

    fn payload(&self) -> Result<&Payload> {
        self.revoker_payload
            .as_ref()
            .ok_or_else(|| Error::invalid_input("revoker_public_key", "an operator's revocation is not signed"))
    }

    fn unsigned(&self) -> Revocation {
        let RevocationInput { target_anchor_id, reason, suspect_since, issued_at, .. } = self.input;
        Revocation { target_anchor_id, reason, suspect_since, issued_at, signer: None }
    }

    /// The revocation with a signature that was made elsewhere. It is verified.
    ///
    /// # Errors
    /// `invalid_input`.
    pub fn with_signature<S>(&self, revoker_signature: S) -> Result<Revocation>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let payload = self.payload()?;
        let signature = payload.check(revoker_signature)?;
        Ok(Revocation { signer: Some((payload.public_key, signature)), ..self.unsigned() })
    }

    /// Asks the signer.
    ///
    /// # Errors
    /// `signer_failed`.
    pub async fn sign<S: Signer + ?Sized>(&self, revoker: &S) -> Result<Revocation> {
        self.with_signature(self.payload()?.sign_with(revoker).await?)
    }

    /// The revocation as an operator's.
    ///
    /// # Errors
    /// `invalid_input` if a revoker is named, who has to sign.
    pub fn by_operator(&self) -> Result<Revocation> {
        if self.revoker_payload.is_some() {
            return Err(Error::invalid_input("revoker_signature", "a revoker is named, and has not signed"));
        }
        Ok(self.unsigned())
    }
}

/// A revocation as it is sent.
#[derive(Clone, Debug)]
pub struct Revocation {
    target_anchor_id: AnchorId,
    reason: RevocationReason,
    suspect_since: Option<u64>,
    issued_at: Option<u64>,
    signer: Option<(PublicKey, Signature)>,
}

impl Revocation {
    /// The API client revokes as operator: its key needs the scope `revoke`, and nobody signs.
    ///
    /// # Errors
    /// `invalid_input` if it is no anchor id.
    pub fn by_operator<H>(target_anchor_id: H, reason: RevocationReason) -> Result<Self>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let target_anchor_id = read("target_anchor_id", target_anchor_id)?;
        Ok(Self { target_anchor_id, reason, suspect_since: None, issued_at: None, signer: None })
    }

    /// Earlier acts accepted from then on (Unix milliseconds) are shown as suspect. For operators: otherwise it is signed.
    ///
    /// # Errors
    /// `invalid_input` if it is too large, or the revocation is signed.
    pub fn suspect_since(mut self, suspect_since: u64) -> Result<Self> {
        check_integer("suspect_since", Some(suspect_since))?;
        if self.signer.is_some() {
            return Err(Error::invalid_input("suspect_since", "the revocation is signed"));
        }
        self.suspect_since = Some(suspect_since);
        Ok(self)
    }

    /// What ends.
    pub fn target_anchor_id(&self) -> &AnchorId {
        &self.target_anchor_id
    }

    /// The body of `POST …/{anchor_id}/revoke`.
    pub fn to_json(&self) -> Value {
        let mut body = Body::new(None);
        if self.reason != RevocationReason::Unspecified {
            body.text("reason", self.reason);
        }
        body.time("suspect_since", self.suspect_since);
        body.time("issued_at", self.issued_at);
        if let Some((public_key, signature)) = self.signer {
            body.text("revoker_public_key", public_key);
            body.text("revoker_signature", signature);
        }
        Value::Object(body.0)
    }
}

/// The body of a request: empty optionals are left out.
struct Body(Map<String, Value>);

impl Body {
    fn new(origin_fingerprint: Option<&OriginFingerprint>) -> Self {
        let mut body = Self(Map::new());
        if let Some(origin_fingerprint) = origin_fingerprint {
            body.text("origin_fingerprint", origin_fingerprint);
        }
        body
    }

    fn text(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_owned(), value.to_string().into());
    }

    fn time(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value.filter(|value| *value != 0) {
            self.0.insert(name.to_owned(), value.into());
        }
    }
}
