//! The exact bytes that one party signs, and the body of the request that carries its signature.

use std::fmt;

use serde_json::{Map, Value};

use crate::bytes::{to_hex, Shown};
use crate::ed25519::verify_signature;
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint, PublicKey, Signature};
use crate::input::read;
use crate::signer::Signer;

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
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    pub(super) role: SignerRole,
    pub(super) public_key: PublicKey,
    pub(super) bytes: Vec<u8>,
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

    pub(super) fn check<S>(&self, signature: S) -> Result<Signature>
    where
        S: TryInto<Signature>,
        Error: From<S::Error>,
    {
        let field = format!("{}_signature", self.role.as_str());
        let signature = read(&field, signature)?;
        if verify_signature(&self.public_key, &self.bytes, &signature)? {
            return Ok(signature);
        }
        Err(Error::invalid_input(field, format!("it is no signature of key {} over the payload", self.public_key)))
    }

    pub(super) async fn sign_with<S: Signer + ?Sized>(&self, signer: &S) -> Result<Signature> {
        let role = self.role.as_str();
        if signer.public_key() != self.public_key {
            return Err(Error::signer(format!("the signer's key is not the {role}_public_key of the record")));
        }
        let signature = signer.sign(self).await?;
        self.check(signature)
            .map_err(|error| Error::signer(format!("the {role}'s signature does not verify")).with_source(error))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Payload");
        shown.field("role", &self.role).field("public_key", &self.public_key);
        shown.field("bytes", &Shown(&self.bytes)).finish()
    }
}

/// The body of a request: empty optionals are left out.
pub(super) struct Body(pub(super) Map<String, Value>);

impl Body {
    pub(super) fn new(origin_fingerprint: Option<&OriginFingerprint>) -> Self {
        let mut body = Self(Map::new());
        if let Some(origin_fingerprint) = origin_fingerprint {
            body.text("origin_fingerprint", origin_fingerprint);
        }
        body
    }

    pub(super) fn text(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_owned(), value.to_string().into());
    }

    pub(super) fn time(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value.filter(|value| *value != 0) {
            self.0.insert(name.to_owned(), value.into());
        }
    }
}
