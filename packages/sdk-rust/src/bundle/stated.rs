//! What the service stated, against what the leaves say.

use serde_json::Value;

use super::parse::Bundle;
use super::{Checks, Failure, Findings};
use crate::answers::Authorised;
use crate::hash::AnchorId;
use crate::verify_receipt::Outcome;

fn is_same_list(stated: &Value, list: &str, pointer: &str, derived: &[AnchorId]) -> bool {
    let Some(items) = stated.get(list).and_then(Value::as_array) else { return false };
    let ids = items.iter().map(|item| item.pointer(pointer).and_then(Value::as_str));
    ids.eq(derived.iter().map(AnchorId::to_hex).collect::<Vec<_>>().iter().map(|id| Some(id.as_str())))
}

/// The first member of what the service stated that differs from what the leaves say. The rest of it is not looked at.
fn stated_difference(bundle: &Bundle, findings: &Findings) -> Option<&'static str> {
    let stated = &bundle.stated;
    let is = |pointer: &str, value: Value| stated.pointer(pointer) == Some(&value);
    let verdict = |authorised: Authorised| serde_json::to_value(authorised).unwrap_or_default();
    let members = [
        ("anchor.anchor_id", is("/anchor/anchor_id", bundle.subject.to_hex().into())),
        ("as_of.sequence", is("/as_of/sequence", bundle.as_of.sequence.into())),
        ("as_of.time_ms", is("/as_of/time_ms", bundle.as_of.time_ms.into())),
        ("actor_proven", is("/actor_proven", findings.is_actor_proven.into())),
        ("authorised_at_action", is("/authorised_at_action", verdict(findings.authorised_at_action))),
        ("authorised_now", is("/authorised_now", verdict(findings.authorised_now))),
        ("suspect", is("/suspect", findings.is_suspect.into())),
        ("delegation", is_same_list(stated, "delegation", "/grant/anchor_id", &findings.delegation)),
        ("revocations", is_same_list(stated, "revocations", "/anchor/anchor_id", &findings.revocations)),
    ];
    members.into_iter().find(|(_, is_same)| !is_same).map(|(name, _)| name)
}

pub(super) fn check_stated(bundle: &Bundle, findings: &Findings, checks: &mut Checks) -> Result<(), Failure> {
    if bundle.stated.is_null() {
        let rests_on_it = findings.complete.is_some_and(|complete| complete.to < bundle.as_of.sequence);
        if rests_on_it {
            checks.push(Outcome::NotChecked, "nothing is stated");
        } else {
            checks.pass("nothing is stated, and nothing rests on it");
        }
        return Ok(());
    }
    match stated_difference(bundle, findings) {
        None => {
            checks.pass("what is stated is what the leaves say");
            Ok(())
        }
        Some(member) => Err(Failure::new(format!("what is stated differs in {member} from what the leaves say"))),
    }
}
