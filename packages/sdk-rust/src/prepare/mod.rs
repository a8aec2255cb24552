//! What is signed by whom, in which order, and what becomes of the signatures. No network, no clock.

mod claim;
mod event;
mod grant;
mod payload;
mod revocation;

pub use claim::{prepare_claim_anchor, PreparedClaimAnchor, SignedClaim};
pub use event::{prepare_event_anchor, PreparedEventAnchor};
pub use grant::{prepare_grant_anchor, PreparedGrantAnchor, SignedGrant};
pub use payload::{Payload, SignerRole};
pub use revocation::{prepare_revocation, PreparedRevocation, Revocation};
