//! Disclosures that come with a bundle: which grants they are of.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::judge::View;
use super::leaves::ProvedLeaves;
use super::parse::Bundle;
use super::Failure;
use crate::error::Result;
use crate::hash::{AnchorId, Hash};
use crate::leaf::LeafBody;
use crate::scope::{Scope, StatedScope};
use crate::strict_json::read_strict_json;

/// Statements that were granted and that somebody has chosen to disclose, as the maker of the grant wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProvedScope {
    /// What the grants have of it.
    pub scope_hash: Hash,
    /// The grants on the way that have it, from the one in question towards the root.
    pub grants: Vec<AnchorId>,
    /// Values by names.
    pub statements: Map<String, Value>,
    /// How many statements are not disclosed.
    pub withheld: usize,
}

/// Each disclosure is whole, and of a grant on the way.
pub(super) fn prove_scopes(
    scopes: &[StatedScope],
    view: &View<'_>,
    leaves: &ProvedLeaves,
) -> Result<Vec<ProvedScope>, Failure> {
    let mut granted: HashMap<Hash, Vec<AnchorId>> = HashMap::new();
    for link in &view.links {
        if let Some(LeafBody::Grant(grant)) = leaves.find(&link.anchor_id).map(|proved| &proved.leaf.body) {
            granted.entry(grant.scope_hash).or_default().push(link.anchor_id);
        }
    }
    let mut proved: Vec<ProvedScope> = Vec::with_capacity(scopes.len());
    for (at, stated) in scopes.iter().enumerate() {
        let verified = stated.clone().verified();
        let scope = verified.map_err(|error| Failure::new(format!("{}: scope {at}: {error}", error.code())))?;
        let scope_hash = scope.scope_hash();
        let is_new = proved.iter().all(|before| before.scope_hash != scope_hash);
        Failure::unless(is_new, || format!("scope_repeated: scope {at}: {scope_hash} is here twice"))?;
        let grants = granted.get(&scope_hash).cloned().ok_or_else(|| {
            Failure::new(format!("scope_not_granted: scope {at}: no grant on the way has scope_hash {scope_hash}"))
        })?;
        let statements = scope.statements().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        proved.push(ProvedScope { scope_hash, grants, statements, withheld: scope.withheld() });
    }
    Ok(proved)
}

/// The text of a bundle with disclosures of what its grants allow; [`verify_bundle`](crate::verify_bundle) judges both
/// together. A disclosure takes the place of one of the same `scope_hash`. Whoever reads the text can read what it
/// discloses.
///
/// # Errors
/// As [`Bundle::parse`], if it is not a bundle.
pub fn add_scopes(bundle: &str, scopes: &[Scope]) -> Result<String> {
    let parsed = Bundle::parse(bundle)?;
    let mut json = read_strict_json(bundle, "bundle_json_invalid")?;
    let is_kept = |stated: &StatedScope| scopes.iter().all(|scope| scope.scope_hash() != stated.scope_hash);
    let held = json.get("scopes").and_then(Value::as_array).cloned().unwrap_or_default();
    let kept = held.into_iter().zip(&parsed.scopes).filter(|(_, stated)| is_kept(stated)).map(|(json, _)| json);
    let all: Vec<Value> = kept.chain(scopes.iter().map(Scope::to_json)).collect();
    if let Some(members) = json.as_object_mut() {
        members.insert("scopes".to_owned(), Value::from(all));
    }
    Ok(format!("{json}\n"))
}
