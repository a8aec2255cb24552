//! Who signs: a key in this process, a callback, or a type of your own.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use ed25519_dalek::Signer as _;
use zeroize::{Zeroize as _, Zeroizing};

use crate::error::{Error, Result};
use crate::hash::{PublicKey, Signature};
use crate::prepare::Payload;

/// A future that can be sent between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that holds a key and signs with it: an HSM, a key service, a wallet.
///
/// What it returns is verified before it is used. Report failures with [`Error::from_signer`].
pub trait Signer: Send + Sync {
    /// The key it signs with.
    fn public_key(&self) -> PublicKey;

    /// Signs [`Payload::bytes`], all of them, with Ed25519 (not Ed25519ph).
    fn sign<'a>(&'a self, payload: &'a Payload) -> BoxFuture<'a, Result<Signature>>;
}

/// A [`Signer`] made of a public key and an asynchronous function.
///
/// ```
/// # use event_anchoring::{signer_of, LocalKey, Payload, Signer};
/// # let key = LocalKey::from_seed([7; 32]);
/// # let public_key = key.public_key();
/// # let key = std::sync::Arc::new(key);
/// let hsm = signer_of(public_key, move |payload: Payload| {
///     let key = key.clone();
///     async move { Ok(key.sign_bytes(payload.bytes())) }
/// });
/// assert_eq!(hsm.public_key(), public_key);
/// ```
pub fn signer_of<F, Fut>(public_key: PublicKey, sign: F) -> impl Signer
where
    F: Fn(Payload) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Signature>> + Send,
{
    CallbackSigner { public_key, sign }
}

struct CallbackSigner<F> {
    public_key: PublicKey,
    sign: F,
}

impl<F, Fut> Signer for CallbackSigner<F>
where
    F: Fn(Payload) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Signature>> + Send,
{
    fn public_key(&self) -> PublicKey {
        self.public_key
    }

    fn sign<'a>(&'a self, payload: &'a Payload) -> BoxFuture<'a, Result<Signature>> {
        let payload = payload.clone();
        Box::pin(async move { (self.sign)(payload).await })
    }
}

/// An Ed25519 key in the memory of this process. It is wiped when it is dropped, and never printed.
pub struct LocalKey(ed25519_dalek::SigningKey);

impl LocalKey {
    /// From the 32 secret bytes of RFC 8032. The copy that is handed in here is wiped; others are the caller's.
    pub fn from_seed(mut seed: [u8; 32]) -> Self {
        let key = ed25519_dalek::SigningKey::from_bytes(&seed);
        seed.zeroize();
        Self(key)
    }

    /// From the secret bytes as 64 hex digits.
    ///
    /// # Errors
    /// `invalid_input`, which does not repeat what was handed in.
    pub fn from_hex(text: &str) -> Result<Self> {
        let seed = Zeroizing::new(crate::bytes::from_hex(text).unwrap_or_default());
        match <[u8; 32]>::try_from(seed.as_slice()) {
            Ok(seed) => Ok(Self::from_seed(*Zeroizing::new(seed))),
            Err(_) => Err(Error::invalid_input("private_key", "expected 64 hex digits")),
        }
    }

    /// A new key, from the operating system's randomness.
    ///
    /// # Errors
    /// `signer_failed` if there is none.
    pub fn generate() -> Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|cause| Error::signer("no randomness").with_source(cause.to_string()))?;
        let key = Self::from_seed(seed);
        seed.zeroize();
        Ok(key)
    }

    /// The 32 secret bytes, to be stored. They are wiped when what is returned is dropped.
    pub fn export_seed(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// Signs any bytes.
    pub fn sign_bytes(&self, message: &[u8]) -> Signature {
        Signature::new(self.0.sign(message).to_bytes())
    }
}

impl Signer for LocalKey {
    fn public_key(&self) -> PublicKey {
        PublicKey::new(self.0.verifying_key().to_bytes())
    }

    fn sign<'a>(&'a self, payload: &'a Payload) -> BoxFuture<'a, Result<Signature>> {
        let signature = self.sign_bytes(payload.bytes());
        Box::pin(std::future::ready(Ok(signature)))
    }
}

impl fmt::Debug for LocalKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LocalKey(public key {})", self.public_key())
    }
}
