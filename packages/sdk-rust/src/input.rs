//! What a caller says: claims, grants, events and revocations, typed, or read strictly from their JSON form.

use serde_json::{Map, Value};

use crate::bytes::{from_hex_exact, INTEGER_MAX};
use crate::error::{Error, Result};
use crate::hash::{AnchorId, Hash, OriginFingerprint, PublicKey, Signature};
use crate::leaf::SemanticHashes;
use crate::words::RevocationReason;

/// What a ClaimAnchor says, signatures aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimInput {
    /// Whom the claim is about.
    pub entity_fingerprint: Hash,
    /// In what respect. Written in hexadecimal in use.
    pub attribute_type: u32,
    /// What is claimed, hashed.
    pub attribute_hash: Hash,
    /// The key that will speak for the entity.
    pub subject_public_key: PublicKey,
    /// The key of who vouches for it.
    pub issuer_public_key: PublicKey,
    /// Unix milliseconds, at most 2^53 − 1.
    pub issued_at: Option<u64>,
    /// Unix milliseconds from which on it is not in force; `None`: never.
    pub expires_at: Option<u64>,
}

/// What a GrantAnchor says, signatures aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantInput {
    /// The grantor's ClaimAnchor, in force.
    pub grantor_claim_ref: AnchorId,
    /// The grantee's ClaimAnchor, in force.
    pub grantee_claim_ref: AnchorId,
    /// What is delegated, hashed.
    pub scope_hash: Hash,
    /// How many further hops may be granted below.
    pub delegation_depth: u32,
    /// The subject key of the grantor's ClaimAnchor.
    pub grantor_public_key: PublicKey,
    /// Another key, of who has seen it.
    pub witness_public_key: PublicKey,
    /// The grant *to* the grantor under which this one stands; `None`: a root grant.
    pub parent_grant_ref: Option<AnchorId>,
    /// Unix milliseconds, at most 2^53 − 1.
    pub issued_at: Option<u64>,
    /// Unix milliseconds; `None`: as the parent has it.
    pub not_before: Option<u64>,
    /// Unix milliseconds; `None`: as the parent has it.
    pub expires_at: Option<u64>,
}

/// What an event refers to. `None` and zeros are the same: empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SemanticAnchor {
    /// The ClaimAnchor of who acts.
    pub iris_ref: Option<AnchorId>,
    /// Any anchor.
    pub scroll_ref: Option<AnchorId>,
    /// The GrantAnchor under which it is done.
    pub grant_ref: Option<AnchorId>,
    /// Any anchor.
    pub bond_ref: Option<AnchorId>,
    /// Any anchor.
    pub yield_ref: Option<AnchorId>,
    /// In the documented flow the event hash again.
    pub event_data_hash: Option<Hash>,
}

/// How an event names itself, so that it can be sent again without being recorded twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClientEventId {
    /// A random one is drawn before the first try. It is in the answer, and in the error if none comes.
    #[default]
    Generated,
    /// Yours: 1 to 128 printable ASCII characters. The same id with the same content is the same anchor.
    Given(String),
    /// None at all: every request is an event of its own, and is tried again only if nothing was sent.
    None,
}

/// Who has signed an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) public_key: PublicKey,
    pub(crate) signature: Signature,
    /// The signature is over it, so the event can be written to no other origin.
    pub(crate) origin_fingerprint: OriginFingerprint,
}

/// An event that is to be anchored.
///
/// To have it signed by who acts, prepare it: [`prepare_event_anchor`](crate::prepare_event_anchor).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub(crate) event_hash: Hash,
    pub(crate) semantic_anchor: SemanticAnchor,
    pub(crate) client_event_id: ClientEventId,
    pub(crate) actor: Option<Actor>,
}

/// What ends a claim or a grant, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationInput {
    /// The origin of the *target*: it is signed.
    pub target_origin_fingerprint: OriginFingerprint,
    /// The claim or grant that ends.
    pub target_anchor_id: AnchorId,
    /// Why.
    pub reason: RevocationReason,
    /// Unix milliseconds: earlier acts accepted from then on are shown as suspect.
    pub suspect_since: Option<u64>,
    /// Unix milliseconds.
    pub issued_at: Option<u64>,
    /// Who will sign: issuer or subject of a claim, grantor or witness of a grant. `None`: the API client revokes
    /// what it has recorded itself, and nobody signs.
    pub revoker_public_key: Option<PublicKey>,
}

/// An input read from JSON, with the origin that the JSON named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromJson<T> {
    /// The origin to write to, if the JSON named one.
    pub origin_fingerprint: Option<OriginFingerprint>,
    /// The rest.
    pub input: T,
    /// `actor_public_key` of an event.
    pub actor_public_key: Option<PublicKey>,
}

impl ClaimInput {
    /// Reads the wire form of the API, without signatures; `attribute_type` may be an integer or `0x` and 1 to 8 hex
    /// digits.
    ///
    /// # Errors
    /// `invalid_input`, naming the field.
    pub fn from_json(value: &Value) -> Result<FromJson<Self>> {
        let mut fields = Fields::new(value)?;
        let origin_fingerprint = fields.optional_bytes("origin_fingerprint")?.map(Hash::new);
        let input = Self {
            entity_fingerprint: fields.bytes("entity_fingerprint")?.into(),
            attribute_type: fields.attribute_type()?,
            attribute_hash: fields.bytes("attribute_hash")?.into(),
            subject_public_key: fields.bytes("subject_public_key")?.into(),
            issuer_public_key: fields.bytes("issuer_public_key")?.into(),
            issued_at: fields.optional_integer("issued_at")?,
            expires_at: fields.optional_integer("expires_at")?,
        };
        fields.finish()?;
        Ok(FromJson { origin_fingerprint, input, actor_public_key: None })
    }

    pub(crate) fn check(&self) -> Result<()> {
        check_integer("issued_at", self.issued_at)?;
        check_integer("expires_at", self.expires_at)
    }
}

impl GrantInput {
    /// Reads the wire form of the API, without signatures.
    ///
    /// # Errors
    /// `invalid_input`, naming the field.
    pub fn from_json(value: &Value) -> Result<FromJson<Self>> {
        let mut fields = Fields::new(value)?;
        let origin_fingerprint = fields.optional_bytes("origin_fingerprint")?.map(Hash::new);
        let input = Self {
            grantor_claim_ref: fields.bytes("grantor_claim_ref")?.into(),
            grantee_claim_ref: fields.bytes("grantee_claim_ref")?.into(),
            scope_hash: fields.bytes("scope_hash")?.into(),
            delegation_depth: fields.u32("delegation_depth")?,
            grantor_public_key: fields.bytes("grantor_public_key")?.into(),
            witness_public_key: fields.bytes("witness_public_key")?.into(),
            parent_grant_ref: fields.reference("parent_grant_ref")?,
            issued_at: fields.optional_integer("issued_at")?,
            not_before: fields.optional_integer("not_before")?,
            expires_at: fields.optional_integer("expires_at")?,
        };
        fields.finish()?;
        Ok(FromJson { origin_fingerprint, input, actor_public_key: None })
    }

    pub(crate) fn check(&self) -> Result<()> {
        check_integer("issued_at", self.issued_at)?;
        check_integer("not_before", self.not_before)?;
        check_integer("expires_at", self.expires_at)
    }
}

impl SemanticAnchor {
    pub(crate) fn hashes(&self) -> SemanticHashes {
        SemanticHashes {
            iris_ref: self.iris_ref.unwrap_or(Hash::ZERO),
            scroll_ref: self.scroll_ref.unwrap_or(Hash::ZERO),
            grant_ref: self.grant_ref.unwrap_or(Hash::ZERO),
            bond_ref: self.bond_ref.unwrap_or(Hash::ZERO),
            yield_ref: self.yield_ref.unwrap_or(Hash::ZERO),
            event_data_hash: self.event_data_hash.unwrap_or(Hash::ZERO),
        }
    }

    fn from_fields(fields: &mut Fields<'_>) -> Result<Self> {
        Ok(Self {
            iris_ref: fields.reference("iris_ref")?,
            scroll_ref: fields.reference("scroll_ref")?,
            grant_ref: fields.reference("grant_ref")?,
            bond_ref: fields.reference("bond_ref")?,
            yield_ref: fields.reference("yield_ref")?,
            event_data_hash: fields.reference("event_data_hash")?,
        })
    }

    /// The wire form, empty references left out; `None` if all are empty.
    pub(crate) fn to_json(&self) -> Option<Value> {
        let references = [
            ("iris_ref", self.iris_ref),
            ("scroll_ref", self.scroll_ref),
            ("grant_ref", self.grant_ref),
            ("bond_ref", self.bond_ref),
            ("yield_ref", self.yield_ref),
            ("event_data_hash", self.event_data_hash),
        ];
        let given: Map<String, Value> = references
            .into_iter()
            .filter_map(|(name, reference)| Some((name.to_owned(), reference?.non_zero()?.to_hex().into())))
            .collect();
        (!given.is_empty()).then_some(Value::Object(given))
    }
}

impl Event {
    /// An event that nobody signs, that refers to nothing, and whose `client_event_id` is drawn.
    ///
    /// # Errors
    /// `invalid_input` if it is no hash.
    pub fn new<H>(event_hash: H) -> Result<Self>
    where
        H: TryInto<Hash>,
        Error: From<H::Error>,
    {
        let event_hash = read("event_hash", event_hash)?;
        Ok(Self {
            event_hash,
            semantic_anchor: SemanticAnchor::default(),
            client_event_id: ClientEventId::Generated,
            actor: None,
        })
    }

    /// What it refers to. A signature that it has is dropped, as it is over the references.
    #[must_use]
    pub fn semantic_anchor(mut self, semantic_anchor: SemanticAnchor) -> Self {
        self.semantic_anchor = semantic_anchor;
        self.actor = None;
        self
    }

    /// How it names itself. It is not signed.
    #[must_use]
    pub fn client_event_id(mut self, client_event_id: ClientEventId) -> Self {
        self.client_event_id = client_event_id;
        self
    }

    /// What happened, hashed.
    pub fn event_hash(&self) -> &Hash {
        &self.event_hash
    }

    /// Reads the wire form of the API, without a signature. An absent `client_event_id` is one to be drawn.
    ///
    /// # Errors
    /// `invalid_input`, naming the field.
    pub fn from_json(value: &Value) -> Result<FromJson<Self>> {
        let mut fields = Fields::new(value)?;
        let origin_fingerprint = fields.optional_bytes("origin_fingerprint")?.map(Hash::new);
        let event_hash = fields.bytes("event_hash")?.into();
        let semantic_anchor = match fields.take("semantic_anchor") {
            None | Some(Value::Null) => SemanticAnchor::default(),
            Some(value) => {
                let mut members = Fields::member("semantic_anchor", value)?;
                let semantic_anchor = SemanticAnchor::from_fields(&mut members)?;
                members.finish()?;
                semantic_anchor
            }
        };
        let client_event_id = match fields.take("client_event_id") {
            None | Some(Value::Null) => ClientEventId::Generated,
            Some(Value::String(id)) => ClientEventId::Given(id.clone()),
            Some(_) => return Err(Error::invalid_input("client_event_id", "expected a text")),
        };
        let actor_public_key = fields.optional_bytes("actor_public_key")?.map(PublicKey::new);
        fields.finish()?;
        let input = Self { event_hash, semantic_anchor, client_event_id, actor: None };
        input.check()?;
        Ok(FromJson { origin_fingerprint, input, actor_public_key })
    }

    pub(crate) fn check(&self) -> Result<()> {
        let ClientEventId::Given(id) = &self.client_event_id else { return Ok(()) };
        let is_legal = (1..=128).contains(&id.len()) && id.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
        if is_legal {
            Ok(())
        } else {
            Err(Error::invalid_input("client_event_id", "expected 1 to 128 printable ASCII characters"))
        }
    }

    /// The body of `POST /v1/event-anchors`; empty optionals are left out, and so is an id that is yet to be drawn.
    pub fn to_request(&self, origin_fingerprint: &OriginFingerprint) -> Value {
        let mut body = self.to_json();
        body.insert("origin_fingerprint".into(), origin_fingerprint.to_hex().into());
        Value::Object(body)
    }

    /// The same, but for the origin.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("event_hash".into(), self.event_hash.to_hex().into());
        if let Some(semantic_anchor) = self.semantic_anchor.to_json() {
            body.insert("semantic_anchor".into(), semantic_anchor);
        }
        if let ClientEventId::Given(id) = &self.client_event_id {
            body.insert("client_event_id".into(), id.clone().into());
        }
        if let Some(actor) = &self.actor {
            body.insert("actor_public_key".into(), actor.public_key.to_hex().into());
            body.insert("actor_signature".into(), actor.signature.to_hex().into());
        }
        body
    }
}

impl RevocationInput {
    /// Reads `target_origin_fingerprint`, `target_anchor_id` and the body of the API, without a signature.
    ///
    /// # Errors
    /// `invalid_input`, naming the field.
    pub fn from_json(value: &Value) -> Result<Self> {
        let mut fields = Fields::new(value)?;
        let input = Self {
            target_origin_fingerprint: fields.bytes("target_origin_fingerprint")?.into(),
            target_anchor_id: fields.bytes("target_anchor_id")?.into(),
            reason: fields.reason()?,
            suspect_since: fields.optional_integer("suspect_since")?,
            issued_at: fields.optional_integer("issued_at")?,
            revoker_public_key: fields.optional_bytes("revoker_public_key")?.map(PublicKey::new),
        };
        fields.finish()?;
        Ok(input)
    }

    pub(crate) fn check(&self) -> Result<()> {
        check_integer("suspect_since", self.suspect_since)?;
        check_integer("issued_at", self.issued_at)
    }
}

/// Converts a value of the caller's, and names the field if that fails.
pub(crate) fn read<T, V>(field: &str, value: V) -> Result<T>
where
    V: TryInto<T>,
    Error: From<V::Error>,
{
    value.try_into().map_err(|error| Error::invalid_input(field, reason_of(&Error::from(error))))
}

/// The message of an error without the field that it names, which is a better one's to name.
fn reason_of(error: &Error) -> String {
    let text = error.to_string();
    match error.field().and_then(|field| text.strip_prefix(field)) {
        Some(rest) => rest.trim_start_matches([':', ' ']).to_owned(),
        None => text,
    }
}

pub(crate) fn check_integer(field: &str, value: Option<u64>) -> Result<()> {
    if value.is_some_and(|value| value > INTEGER_MAX) {
        return Err(Error::invalid_input(field, "expected an integer from 0 to 2^53 - 1"));
    }
    Ok(())
}

/// The fields of a JSON object, taken one by one; what is left over is refused.
struct Fields<'a> {
    path: &'static str,
    object: &'a Map<String, Value>,
    taken: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    fn new(value: &'a Value) -> Result<Self> {
        Self::member("", value)
    }

    fn member(path: &'static str, value: &'a Value) -> Result<Self> {
        let object = value.as_object().ok_or_else(|| Error::invalid_input(path, "expected an object"))?;
        Ok(Self { path, object, taken: Vec::new() })
    }

    fn name(&self, field: &str) -> String {
        if self.path.is_empty() {
            field.to_owned()
        } else {
            format!("{}.{field}", self.path)
        }
    }

    fn invalid(&self, field: &str, message: &str) -> Error {
        Error::invalid_input(self.name(field), message)
    }

    fn take(&mut self, field: &'static str) -> Option<&'a Value> {
        self.taken.push(field);
        self.object.get(field)
    }

    fn finish(self) -> Result<()> {
        match self.object.keys().find(|name| !self.taken.contains(&name.as_str())) {
            Some(unknown) => Err(self.invalid(unknown, "there is no such field")),
            None => Ok(()),
        }
    }

    fn bytes(&mut self, field: &'static str) -> Result<[u8; 32]> {
        self.optional_bytes(field)?.ok_or_else(|| self.invalid(field, "expected 64 hex digits"))
    }

    fn optional_bytes(&mut self, field: &'static str) -> Result<Option<[u8; 32]>> {
        match self.take(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => match from_hex_exact(text) {
                Some(bytes) => Ok(Some(bytes)),
                None => Err(self.invalid(field, "expected 64 hex digits")),
            },
            Some(_) => Err(self.invalid(field, "expected 64 hex digits")),
        }
    }

    /// Absent, `null`, `""` and zeros all are empty.
    fn reference(&mut self, field: &'static str) -> Result<Option<Hash>> {
        if self.object.get(field).and_then(Value::as_str) == Some("") {
            self.taken.push(field);
            return Ok(None);
        }
        Ok(self.optional_bytes(field)?.map(Hash::new).and_then(Hash::non_zero))
    }

    fn optional_integer(&mut self, field: &'static str) -> Result<Option<u64>> {
        match self.take(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().filter(|value| *value <= INTEGER_MAX) {
                Some(value) => Ok(Some(value)),
                None => Err(self.invalid(field, "expected an integer from 0 to 2^53 - 1")),
            },
        }
    }

    fn u32(&mut self, field: &'static str) -> Result<u32> {
        let value = self.take(field).and_then(Value::as_u64).and_then(|value| u32::try_from(value).ok());
        value.ok_or_else(|| self.invalid(field, "expected an integer from 0 to 2^32 - 1"))
    }

    fn attribute_type(&mut self) -> Result<u32> {
        let field = "attribute_type";
        let Some(Value::String(text)) = self.object.get(field) else { return self.u32(field) };
        self.taken.push(field);
        let digits = text.strip_prefix("0x").filter(|digits| (1..=8).contains(&digits.len()));
        digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.invalid(field, "expected an integer, or 0x and 1 to 8 hex digits"))
    }

    fn reason(&mut self) -> Result<RevocationReason> {
        let field = "reason";
        match self.take(field) {
            None | Some(Value::Null) => Ok(RevocationReason::Unspecified),
            Some(value) => value
                .as_str()
                .and_then(RevocationReason::from_word)
                .ok_or_else(|| self.invalid(field, "expected the name of a reason")),
        }
    }
}
