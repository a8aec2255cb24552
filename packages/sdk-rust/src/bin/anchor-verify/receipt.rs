//! A file against its receipt.

use event_anchoring::{inspect_receipt, Receipt, ReceiptExpectation, ReceiptReport, Step};
use serde_json::{json, Value};

use crate::arguments::Arguments;
use crate::files::{hash_file, read_text};
use crate::output::{failed, iso_ms, iso_s, steps_json, Exit, Fault, Finding, Mark};
use crate::trust::{load, Held};
use event_anchoring::{Hash, Outcome};

const RECEIPT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What it comes to, with the stable code of what failed.
struct Verdict {
    exit: Exit,
    failure: Option<String>,
    warnings: Vec<String>,
}

fn verdict_of(report: &ReceiptReport, held: &Held, is_current_required: bool) -> Verdict {
    let mut warnings = Vec::new();
    if let Some(version) = report.superseded_trust_root {
        warnings.push(format!("only trust root {version} is satisfied, not the newest: renew the receipt"));
    }
    if report.is_origin_lost {
        warnings.push("the origin is marked lost: it is never written to again".to_owned());
    }
    let is_refused = is_current_required && report.superseded_trust_root.is_some();
    let (exit, failure) = match report.failure {
        Some(failure) => (Exit::Invalid, Some(failure.code)),
        None if is_refused => (Exit::Invalid, Some("superseded_trust_root")),
        None if !held.is_pinned() => (Exit::NotPinned, Some("not_pinned")),
        None => (Exit::Ok, None),
    };
    Verdict { exit, failure: failure.map(str::to_owned), warnings }
}

/// Nodes whose good signature the checkpoint carries, with its time in Unix seconds.
fn cosigners_of(report: &ReceiptReport) -> Vec<(&str, u64)> {
    report.verified.iter().filter_map(|line| Some((line.vkey.name(), line.time_s?))).collect()
}

/// The k-th smallest time, k being the quorum: when it was complete.
fn complete_at(times: impl Iterator<Item = u64>, quorum: usize) -> Option<u64> {
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    quorum.checked_sub(1).and_then(|at| times.get(at).copied())
}

fn certified_at(report: &ReceiptReport, held: &Held) -> Option<u64> {
    complete_at(cosigners_of(report).iter().map(|(_, time)| *time), held.chain.newest().trust_root().quorum)
}

fn witnessed_at(report: &ReceiptReport) -> Option<u64> {
    let times = report.witnesses.iter().map(|witness| witness.witnessed_at);
    complete_at(times, report.witnesses_needed).filter(|_| report.witnessed)
}

fn step_lines(step: &Step, report: &ReceiptReport, held: &Held) -> Vec<String> {
    let mark = match step.result {
        Outcome::Pass => Mark::Pass.shown(held.is_pinned()),
        Outcome::Fail => Mark::Fail,
        Outcome::NotChecked => Mark::Skip,
    };
    let mut lines = vec![mark.line(&step.code.replace('_', " "), &step.detail)];
    if step.result == Outcome::Pass {
        let signers = match step.code {
            "cosignatures" => cosigners_of(report),
            "witnesses" => report.witnesses.iter().map(|each| (each.name.as_str(), each.witnessed_at)).collect(),
            _ => Vec::new(),
        };
        lines.extend(signers.iter().map(|(name, time)| mark.line("", &format!("{name} signed at {}", iso_s(*time)))));
    }
    lines
}

fn sentence(file: &str, report: &ReceiptReport, held: &Held, verdict: &Verdict) -> String {
    match verdict.exit {
        Exit::Ok => {
            let accepted = report.leaf.as_ref().map(|leaf| format!(" accepted at {}", iso_ms(leaf.header.accepted_ms)));
            let certified = certified_at(report, held).map(|at| format!(" and certified at {}", iso_s(at)));
            let names: Vec<&str> = report.witnesses.iter().map(|witness| witness.name.as_str()).collect();
            let witnessed =
                witnessed_at(report).map(|at| format!(", witnessed by {} at {}", names.join(", "), iso_s(at)));
            let parts = [accepted, certified, witnessed].map(Option::unwrap_or_default);
            format!("VALID: {file} is the event that was{}.", parts.concat())
        }
        Exit::NotPinned => {
            format!("NOT PINNED: file, receipt and trust root go together, which proves nothing yet: {}", held.advice())
        }
        _ => {
            let code = verdict.failure.as_deref().unwrap_or_default();
            let reason = match failed(&report.steps) {
                Some(step) => format!("{}: {}", step.code, step.detail),
                None => verdict.warnings.first().cloned().unwrap_or_default(),
            };
            format!("NOT VALID ({code}): {reason}")
        }
    }
}

fn to_json(file: &str, event_hash: &Hash, report: &ReceiptReport, held: &Held, verdict: &Verdict) -> Value {
    let header = report.leaf.as_ref().map(|leaf| &leaf.header);
    let signed = |(name, time): (&str, u64)| json!({ "name": name, "time": time });
    let cosigners: Vec<Value> = cosigners_of(report).into_iter().map(signed).collect();
    let witnesses = report.witnesses.iter().map(|witness| signed((&witness.name, witness.witnessed_at)));
    json!({
        "valid": verdict.exit == Exit::Ok,
        "failure": verdict.failure,
        "pin": held.pin_json(),
        "file": file,
        "event_hash": event_hash.to_hex(),
        "anchor_id": report.anchor_id.map(|id| id.to_hex()),
        "origin_fingerprint": header.map(|header| header.origin_fingerprint.to_hex()),
        "depth": header.map(|header| header.depth),
        "sequence": header.map(|header| header.sequence),
        "accepted_at": header.map(|header| iso_ms(header.accepted_ms)),
        "certified_at": certified_at(report, held).map(iso_s),
        "cosigners": cosigners,
        "witnessed": report.witnessed,
        "witnesses": witnesses.collect::<Vec<_>>(),
        "witnesses_needed": report.witnesses_needed,
        "trust_root": held.newest_json(),
        "superseded_trust_root": report.superseded_trust_root,
        "origin_lost": report.is_origin_lost,
        "steps": steps_json(&report.steps),
        "warnings": verdict.warnings,
    })
}

/// The text form alone: what the service answers in JSON is no file of a receipt.
fn read(path: &str) -> Result<Receipt, Fault> {
    let refused =
        |code: &str, detail: &str| Fault::invalid(code, format!("{path} is not a receipt: {detail} ({code})"));
    let text = read_text(path, RECEIPT_BYTES_MAX)?;
    if text.trim_start().starts_with('{') {
        return Err(refused("proof_header_unknown", "it is JSON"));
    }
    Receipt::parse(&text).map_err(|error| refused(error.code(), &error.to_string()))
}

pub(crate) fn judge(arguments: &Arguments, file: &str) -> Result<Finding, Fault> {
    let event_hash = hash_file(file)?;
    let path = arguments.proof.clone().unwrap_or_else(|| format!("{file}.tlog-proof"));
    let receipt = read(&path)?;
    let held = load(arguments)?;
    let require_witnessed = arguments.is_witnessed_required;
    let expect = ReceiptExpectation { require_witnessed, ..ReceiptExpectation::event(event_hash) };
    let report = inspect_receipt(&receipt, &held.chain, &expect).map_err(|error| Fault::internal(&error))?;
    let verdict = verdict_of(&report, &held, arguments.is_current_required);
    let mut lines = vec![format!("{file}  SHA-256 {event_hash}"), held.pin_line()];
    lines.extend(report.steps.iter().flat_map(|step| step_lines(step, &report, &held)));
    lines.extend(verdict.warnings.iter().map(|warning| Mark::Warn.line("warning", warning)));
    lines.push(sentence(file, &report, &held, &verdict));
    let json = to_json(file, &event_hash, &report, &held, &verdict);
    Ok(Finding { exit: verdict.exit, lines, json })
}
