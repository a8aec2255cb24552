//! Whether the claim or the grant that a bundle is about is in force. docs/PROTOCOL.md, "In force".

use super::force::{add_link_faults, claim_fault, AuthorityReason, REASONS_MAX};
use super::judge::View;
use super::leaves::ProvedLeaf;
use super::parse::AsOf;
use super::records::Records;
use crate::leaf::LeafBody;

/// Whether a claim or a grant is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Standing {
    /// `active`, `expired`, `superseded` or `revoked`.
    pub state: &'static str,
    /// Whether it is in force: an active grant whose window has not begun is not.
    pub is_in_force: bool,
    /// Why it is not, its own reasons first; at most 100.
    pub reasons: Vec<AuthorityReason>,
}

/// By the end of a reason's code, the strongest state first.
const STATES: [(&str, &str); 4] =
    [("_revoked", "revoked"), ("_superseded", "superseded"), ("_expired", "expired"), ("_not_in_force", "expired")];

/// `None`: the subject is neither claim nor grant.
pub(super) fn standing_of(subject: &ProvedLeaf, view: &View<'_>, as_of: AsOf, records: &Records) -> Option<Standing> {
    let mut is_complete = true;
    let mut reasons = Vec::new();
    match subject.leaf.body {
        LeafBody::Claim(_) => reasons.extend(claim_fault(view.iris?, as_of)),
        LeafBody::Grant(_) => {
            for link in &view.links {
                is_complete = add_link_faults(link, as_of, records, &mut reasons) && is_complete;
            }
        }
        _ => return None,
    }
    let ends = |ending: &str| reasons.iter().any(|reason: &AuthorityReason| reason.code.ends_with(ending));
    let state = STATES.iter().find(|(ending, _)| ends(ending)).map_or("active", |(_, state)| state);
    let is_in_force = is_complete && reasons.is_empty();
    reasons.truncate(REASONS_MAX);
    Some(Standing { state, is_in_force, reasons })
}
