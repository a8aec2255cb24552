//! A bundle: who was authorised.

use event_anchoring::{
    add_scopes, inspect_bundle, Authorised, Bundle, BundleExpectation, BundleOutcome, BundleTrust, BundleVerification,
    LeafKind, Outcome, Step,
};
use serde_json::{json, Value};

use crate::arguments::Arguments;
use crate::files::{hash_file, read_text};
use crate::output::{failed, iso_ms, steps_json, Exit, Fault, Finding, Mark};
use crate::scopes;
use crate::trust::{load, Held};

const BUNDLE_BYTES_MAX: u64 = 64 * 1024 * 1024;
const SUPERSEDED: &str = "superseded_trust_root";

fn read(arguments: &Arguments, path: &str) -> Result<Bundle, Fault> {
    let refused = |error: event_anchoring::Error| {
        Fault::invalid(error.code(), format!("{path} is not a bundle: {error} ({})", error.code()))
    };
    let text = read_text(path, BUNDLE_BYTES_MAX)?;
    let bundle = Bundle::parse(&text).map_err(refused)?;
    if arguments.scopes.is_empty() {
        return Ok(bundle);
    }
    let disclosed = arguments.scopes.iter().map(scopes::read).collect::<Result<Vec<_>, _>>()?;
    add_scopes(&text, &disclosed).and_then(|text| Bundle::parse(&text)).map_err(refused)
}

fn check_line(check: &Step, found: &BundleVerification, is_pinned: bool) -> String {
    // It passes also where the reader demands no witnesses.
    let is_unmet = check.code == "witnesses" && check.result == Outcome::Pass && !found.witnessed;
    let mark = match check.result {
        Outcome::Pass if is_unmet => Mark::Skip,
        Outcome::Pass => Mark::Pass.shown(is_pinned),
        Outcome::Fail => Mark::Fail,
        Outcome::NotChecked => Mark::Warn,
    };
    mark.line(&check.code.replacen('_', " ", 1), &check.detail)
}

/// What was authorised and not signed is never shown as what was.
fn shown(verdict: Authorised, is_actor_proven: bool) -> (Mark, &'static str) {
    match verdict {
        Authorised::Unknown => (Mark::Skip, "authorised: unknown"),
        Authorised::No => (Mark::Fail, "authorised: no"),
        Authorised::Yes if is_actor_proven => (Mark::Pass, "authorised: yes"),
        Authorised::Yes => (Mark::Warn, "authorised, not signed"),
    }
}

/// Who acted, and whether it was authorised then and later; of a claim or a grant, whether it is in force.
fn act_lines(found: &BundleVerification, is_pinned: bool) -> Vec<String> {
    let when = format!("as of sequence {}, {}", found.as_of.sequence, iso_ms(found.as_of.time_ms));
    if let Some(standing) = &found.standing {
        let why: Vec<&str> = standing.reasons.iter().map(|reason| reason.code).collect();
        let (mark, detail) = if standing.is_in_force {
            (Mark::Pass, format!("in force, {when}"))
        } else {
            (Mark::Warn, format!("not in force, {}: {}; {when}", standing.state, why.join(", ")))
        };
        return vec![mark.shown(is_pinned).line("standing", &detail)];
    }
    let mut lines = Vec::new();
    let kind = found.leaf.as_ref().map(|leaf| leaf.body.kind());
    if matches!(kind, Some(LeafKind::Event | LeafKind::SignedEvent)) {
        lines.push(if found.is_actor_proven {
            let detail = "proven: signed with the key of the actor's claim";
            Mark::Pass.shown(is_pinned).line("actor", detail)
        } else {
            let detail = "not proven: only the API client that recorded the event says who acted";
            Mark::Warn.line("actor", detail)
        });
    }
    let (mark, text) = shown(found.authorised_at_action, found.is_actor_proven);
    lines.push(mark.shown(is_pinned).line("at action", text));
    let (mark, text) = shown(found.authorised_now, found.is_actor_proven);
    lines.push(mark.shown(is_pinned).line("later", &format!("{text}, {when}")));
    lines
}

fn sentence(found: &BundleVerification, held: &Held, exit: Exit) -> String {
    match exit {
        Exit::Ok => "VALID: every check is proved.".to_owned(),
        Exit::AsStated => {
            "VALID AS STATED: nothing is wrong, and what is marked ! rests on the word of the service.".to_owned()
        }
        Exit::NotPinned => {
            let advice = held.advice();
            format!("NOT PINNED: the bundle and the trust root go together, which proves nothing yet: {advice}")
        }
        _ => match (failed(&found.checks), found.superseded_trust_root, found.trust_root_version) {
            (Some(check), ..) => format!("NOT VALID ({}): {}", check.code, check.detail),
            (None, Some(version), Some(newest)) => format!(
                "NOT VALID ({SUPERSEDED}): only trust root {version} is satisfied, and the newest is {newest}: make \
                 the bundle anew"
            ),
            _ => "NOT VALID".to_owned(),
        },
    }
}

fn to_json(path: &str, found: &BundleVerification, held: &Held, outcome: &str, failure: Option<&str>) -> Value {
    json!({
        "bundle": path,
        "outcome": outcome,
        "valid": outcome == "valid",
        "failure": failure,
        "pin": held.pin_json(),
        "subject": found.subject.to_hex(),
        "as_of": { "sequence": found.as_of.sequence, "time_ms": found.as_of.time_ms },
        "actor_proven": found.is_actor_proven,
        "authorised_at_action": found.authorised_at_action,
        "authorised_now": found.authorised_now,
        "standing": found.standing.as_ref().map(|each| json!({ "state": each.state, "in_force": each.is_in_force })),
        "scopes": found.scopes.iter().map(scopes::to_json).collect::<Vec<_>>(),
        "complete": found.complete.map(|each| json!({ "after": each.after, "to": each.to })),
        "witnessed": found.witnessed,
        "trust_root": found.trust_root_version
            .map(|version| json!({ "version": version, "superseded": found.superseded_trust_root })),
        "checks": steps_json(&found.checks),
    })
}

pub(crate) fn judge(arguments: &Arguments, path: &str) -> Result<Finding, Fault> {
    let bundle = read(arguments, path)?;
    let held = load(arguments)?;
    let event_hash = arguments.event_file().map(hash_file).transpose()?;
    let expect = BundleExpectation {
        anchor_id: arguments.anchor_id.map(|id| event_anchoring::AnchorId::new(*id.as_bytes())),
        event_hash,
        require_witnessed: arguments.is_witnessed_required,
        ..BundleExpectation::default()
    };
    let trust = BundleTrust::Held(Box::new(held.chain.clone()));
    let found = inspect_bundle(&bundle, &trust, &expect).map_err(|error| Fault::internal(&error))?;
    let is_refused = arguments.is_current_required && found.superseded_trust_root.is_some();
    let (exit, outcome) = match found.outcome {
        BundleOutcome::Invalid => (Exit::Invalid, found.outcome.as_str()),
        _ if is_refused => (Exit::Invalid, "invalid"),
        _ if !held.is_pinned() => (Exit::NotPinned, "not_pinned"),
        BundleOutcome::Valid => (Exit::Ok, found.outcome.as_str()),
        BundleOutcome::ValidAsStated => (Exit::AsStated, found.outcome.as_str()),
    };
    let failure = match (failed(&found.checks), exit) {
        (Some(check), _) => Some(check.code),
        (None, Exit::Invalid) => Some(SUPERSEDED),
        (None, Exit::NotPinned) => Some("not_pinned"),
        _ => None,
    };
    let is_pinned = held.is_pinned();
    let mut lines = vec![format!("{path}  {}", found.subject), held.pin_line()];
    lines.extend(found.checks.iter().map(|check| check_line(check, &found, is_pinned)));
    if found.outcome != BundleOutcome::Invalid {
        lines.extend(act_lines(&found, is_pinned));
        lines.extend(found.scopes.iter().flat_map(|scope| scopes::lines(scope, Mark::Pass.shown(is_pinned))));
    }
    lines.push(sentence(&found, &held, exit));
    let json = to_json(path, &found, &held, outcome, failure);
    Ok(Finding { exit, lines, json })
}
