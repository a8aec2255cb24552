#![cfg_attr(feature = "recorder", doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "recorder"), doc = "Parts of the client of the event anchoring service.")]
#![deny(missing_docs)]
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod answers;
mod bundle;
mod bytes;
mod calendar;
mod canonical_json;
mod checkpoint;
#[cfg(feature = "client")]
mod client;
mod dates;
mod ed25519;
mod envelope;
mod error;
mod hash;
mod input;
mod leaf;
mod merkle;
mod names;
mod note;
mod payloads;
mod policy;
mod prepare;
mod receipt;
#[cfg(feature = "recorder")]
mod recorder;
mod scope;
mod signer;
mod state_head;
mod strict_json;
mod tags;
mod trust_root;
mod trust_root_chain;
mod trust_root_text;
mod verify_checkpoint;
mod verify_receipt;
mod witness_url;
mod witnessing;
mod words;

pub use answers::*;
pub use bundle::{
    add_scopes, inspect_bundle, verify_bundle, AsOf, AuthorityReason, Bundle, BundleExpectation, BundleOutcome,
    BundleTrust, BundleVerification, Completeness, ProvedScope, Standing, BUNDLE_CHECKS,
};
pub use checkpoint::Checkpoint;
#[cfg(feature = "client")]
pub use client::{
    BatchOptions, ClaimFilter, Client, ClientBuilder, EventFilter, EventItems, EventOptions, FileMonitorStore,
    FollowOptions, FollowedHead, GrantFilter, HeadFollower, HeldHead, HttpBody, HttpRequest, HttpResponse, HttpStream,
    ManyEvents, ManyItem, ManyOptions, MemoryMonitorStore, Monitor, MonitorStore, Observation, Page, Position, Prefer,
    RecordItems, RetryPolicy, Timeouts, TraceOptions, Transport, TransportFailure, TransportStage, VerifyItem,
    VerifyOptions,
};
pub use ed25519::{check_canaries, verify_signature};
pub use envelope::{Attachment, Content, Envelope, EnvelopeContent, EnvelopeOptions, Salt, When};
pub use error::{Error, Result};
pub use hash::{AnchorId, Hash, OriginFingerprint, PublicKey, Signature};
pub use input::{ClaimInput, ClientEventId, Event, FromJson, GrantInput, RevocationInput, SemanticAnchor};
pub use leaf::{
    anchor_id_of, ActorBody, ClaimBody, EventBody, GenesisBody, GrantBody, Leaf, LeafBody, LeafHeader, RevocationBody,
    SemanticHashes, TrustRootBody,
};
pub use names::{attribute_type_of, parse_names, NameFile, ATTRIBUTE_TYPES};
pub use note::{VerifiedLine, Vkey, VkeyType};
pub use policy::TlogPolicy;
pub use prepare::{
    prepare_claim_anchor, prepare_event_anchor, prepare_grant_anchor, prepare_revocation, Payload, PreparedClaimAnchor,
    PreparedEventAnchor, PreparedGrantAnchor, PreparedRevocation, Revocation, SignedClaim, SignedGrant, SignerRole,
};
pub use receipt::Receipt;
#[cfg(feature = "recorder")]
pub use recorder::{KeptEvent, RecordOptions, RecordedEvent, Recorder, RecorderOptions, RecorderProgress};
pub use scope::Scope;
pub use signer::{signer_of, BoxFuture, LocalKey, Signer};
pub use tags::{client_event_commit, client_revoker, operator_revoker, origin_fingerprint_of};
pub use trust_root::SignedTrustRoot;
pub use trust_root_chain::{extend_trust_root, verify_trust_root, TrustRootChain};
pub use trust_root_text::{
    NodeStatus, OriginStatus, TrustRoot, TrustRootNode, TrustRootOperator, TrustRootOrigin, TrustRootWitness,
};
pub use verify_checkpoint::{verify_checkpoint, verify_consistency, ReceiptRenewal, VerifiedCheckpoint};
pub use verify_receipt::{
    inspect_receipt, verify_receipt, Outcome, ReceiptExpectation, ReceiptFailure, ReceiptReport, Step, VerifiedReceipt,
    RECEIPT_STEPS,
};
pub use witnessing::WitnessSignature;
pub use words::{LeafKind, RevocationAuthority, RevocationReason};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod vectors;
