//! Speaks JSON lines, so that a test can hold the SDKs of all languages against one another: one question a line on
//! standard input, one answer a line on standard output, `{"ok": …}` or `{"error": {"code", "field"?}}`.

use std::io::{BufRead as _, Write as _};

use event_anchoring::{
    inspect_bundle, inspect_receipt, prepare_claim_anchor, prepare_event_anchor, prepare_grant_anchor,
    prepare_revocation, verify_checkpoint, verify_signature, verify_trust_root, Bundle, BundleExpectation, BundleTrust,
    ClaimInput, Error, Event, GrantInput, Hash, LocalKey, OriginStatus, Outcome, Payload, PublicKey, Receipt,
    ReceiptExpectation, Result, RevocationInput, Signature, Signer as _, TrustRootChain, VerifiedCheckpoint,
    WitnessSignature,
};
use serde_json::{json, Map, Value};

fn main() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = match answer(&line?) {
            Ok(found) => json!({ "ok": found }),
            Err(refusal) => json!({ "error": refusal }),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// What is answered instead: the code, and the field of an invalid input.
fn refusal(error: &Error) -> Value {
    let mut refusal = json!({ "code": error.code() });
    if let (Some(refusal), Some(field)) = (refusal.as_object_mut(), error.field()) {
        refusal.insert("field".into(), field.into());
    }
    refusal
}

fn answer(line: &str) -> Result<Value, Value> {
    let question: Value = serde_json::from_str(line).map_err(|_| json!({ "code": "question_malformed" }))?;
    let answer = match question.get("op").and_then(Value::as_str) {
        Some("prepare_claim") => prepare_claim(&question),
        Some("prepare_grant") => prepare_grant(&question),
        Some("prepare_event") => prepare_event(&question),
        Some("prepare_revocation") => prepare_revoke(&question),
        Some("sign") => sign(&question),
        Some("verify_signature") => signature_verdict(&question),
        Some("verify_trust_root") => judge_trust_root(&question),
        Some("verify_checkpoint") => judge_checkpoint(&question),
        Some("verify_receipt") => judge_receipt(&question),
        Some("verify_bundle") => judge_bundle(&question),
        _ => return Err(json!({ "code": "op_unknown" })),
    };
    answer.map_err(|error| refusal(&error))
}

fn text<'a>(question: &'a Value, name: &str) -> &'a str {
    question.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn given<'a>(question: &'a Value, name: &str) -> Option<&'a str> {
    question.get(name).and_then(Value::as_str)
}

fn input(question: &Value) -> &Value {
    question.get("input").unwrap_or(&Value::Null)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().collect();
    let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16));
    pairs.collect::<std::result::Result<_, _>>().unwrap_or_default()
}

fn show(payload: &Payload, shown: &mut Map<String, Value>) {
    let role = payload.role().as_str();
    shown.insert(format!("{role}_payload"), payload.to_hex().into());
    shown.insert(format!("{role}_digest"), payload.digest().to_hex().into());
}

fn prepare_claim(question: &Value) -> Result<Value> {
    let read = ClaimInput::from_json(input(question))?;
    let prepared = prepare_claim_anchor(&read.origin_fingerprint.unwrap_or(Hash::ZERO), &read.input)?;
    let mut shown = Map::new();
    show(prepared.subject_payload(), &mut shown);
    if let Some(subject) = given(question, "subject_signature") {
        show(&prepared.issuer_payload(subject)?, &mut shown);
        if let Some(issuer) = given(question, "issuer_signature") {
            shown.insert("request".into(), prepared.with_signatures(subject, issuer)?.to_json());
        }
    }
    Ok(Value::Object(shown))
}

fn prepare_grant(question: &Value) -> Result<Value> {
    let read = GrantInput::from_json(input(question))?;
    let prepared = prepare_grant_anchor(&read.origin_fingerprint.unwrap_or(Hash::ZERO), &read.input)?;
    let mut shown = Map::new();
    show(prepared.grantor_payload(), &mut shown);
    if let Some(grantor) = given(question, "grantor_signature") {
        show(&prepared.witness_payload(grantor)?, &mut shown);
        if let Some(witness) = given(question, "witness_signature") {
            shown.insert("request".into(), prepared.with_signatures(grantor, witness)?.to_json());
        }
    }
    Ok(Value::Object(shown))
}

fn prepare_event(question: &Value) -> Result<Value> {
    let read = Event::from_json(input(question))?;
    let origin = read.origin_fingerprint.unwrap_or(Hash::ZERO);
    let mut shown = Map::new();
    let Some(public_key) = read.actor_public_key else {
        shown.insert("request".into(), read.input.to_request(&origin));
        return Ok(Value::Object(shown));
    };
    let prepared = prepare_event_anchor(&origin, &read.input, &public_key)?;
    show(prepared.actor_payload(), &mut shown);
    if let Some(actor) = given(question, "actor_signature") {
        shown.insert("request".into(), prepared.with_signature(actor)?.to_request(&origin));
    }
    Ok(Value::Object(shown))
}

fn prepare_revoke(question: &Value) -> Result<Value> {
    let prepared = prepare_revocation(&RevocationInput::from_json(input(question))?)?;
    let mut shown = Map::new();
    match (prepared.revoker_payload(), given(question, "revoker_signature")) {
        (None, _) => {
            shown.insert("request".into(), prepared.by_client()?.to_json());
        }
        (Some(payload), signature) => {
            show(payload, &mut shown);
            if let Some(signature) = signature {
                shown.insert("request".into(), prepared.with_signature(signature)?.to_json());
            }
        }
    }
    Ok(Value::Object(shown))
}

fn sign(question: &Value) -> Result<Value> {
    let key = LocalKey::from_hex(text(question, "seed"))?;
    let signature = key.sign_bytes(&bytes(text(question, "payload")));
    Ok(json!({ "public_key": key.public_key(), "signature": signature }))
}

fn signature_verdict(question: &Value) -> Result<Value> {
    // Another length is no key, or no signature.
    let key = PublicKey::from_hex(text(question, "public_key"));
    let signature = Signature::from_hex(text(question, "signature"));
    let (Ok(key), Ok(signature)) = (key, signature) else { return Ok(json!({ "valid": false })) };
    Ok(json!({ "valid": verify_signature(&key, &bytes(text(question, "payload")), &signature)? }))
}

fn expected(question: &Value, name: &str) -> Result<Option<Hash>> {
    let found = question.get("expect").and_then(|expect| expect.get(name)).and_then(Value::as_str);
    found.map(Hash::from_hex).transpose()
}

/// A text, or the JSON itself.
fn document(question: &Value, name: &str) -> String {
    match question.get(name) {
        Some(Value::String(text)) => text.clone(),
        other => other.unwrap_or(&Value::Null).to_string(),
    }
}

fn trust_roots(question: &Value) -> Vec<&str> {
    let documents = question.get("trust_roots").and_then(Value::as_array).into_iter().flatten();
    documents.filter_map(Value::as_str).collect()
}

fn chain_of(question: &Value) -> Result<TrustRootChain> {
    verify_trust_root(&trust_roots(question), &Hash::from_hex(text(question, "pinned_root_thk"))?)
}

fn judge_trust_root(question: &Value) -> Result<Value> {
    let chain = chain_of(question)?;
    let newest = chain.newest();
    Ok(json!({ "verdict": "valid", "version": newest.trust_root().version, "root_thk": newest.root_thk() }))
}

fn judge_checkpoint(question: &Value) -> Result<Value> {
    let chain = chain_of(question)?;
    Ok(match verify_checkpoint(text(question, "checkpoint"), &chain) {
        Ok(found) => shown_checkpoint(&found),
        Err(error) if error.is_verification() => json!({ "verdict": "invalid", "code": error.code() }),
        Err(error) => return Err(error),
    })
}

fn shown_checkpoint(found: &VerifiedCheckpoint) -> Value {
    let cosigners = found.verified.iter().filter_map(|line| Some((line.vkey.name(), line.time_s?)));
    let cosigners: Vec<Value> = cosigners.map(|(name, time)| json!({ "name": name, "time": time })).collect();
    json!({
        "verdict": "valid", "code": null, "origin_fingerprint": found.origin_fingerprint,
        "tree_size": found.checkpoint.tree_size, "root_hash": found.checkpoint.root_hash,
        "superseded_trust_root": found.superseded_trust_root,
        "origin_lost": found.origin_status == OriginStatus::Lost, "cosigners": cosigners,
        "witnesses": found.witnesses.iter().map(shown_witness).collect::<Vec<_>>(),
        "witnesses_needed": found.witnesses_needed, "witnessed": found.witnessed,
    })
}

fn shown_witness(each: &WitnessSignature) -> Value {
    json!({ "name": each.name, "witnessed_at": each.witnessed_at })
}

fn judge_receipt(question: &Value) -> Result<Value> {
    let receipt = Receipt::parse(&document(question, "receipt"))?;
    let chain = chain_of(question)?;
    let payload = question.get("expect").and_then(|expect| given(expect, "payload"));
    let expect = ReceiptExpectation {
        event_hash: expected(question, "event_hash")?,
        payload: payload.map(bytes),
        anchor_id: expected(question, "anchor_id")?,
        require_witnessed: question.get("require_witnessed") == Some(&Value::Bool(true)),
        ..ReceiptExpectation::default()
    };
    let found = inspect_receipt(&receipt, &chain, &expect)?;
    let (step, code) = found.failure.map(|failure| (failure.step, failure.code)).unzip();
    Ok(json!({
        "verdict": if found.failure.is_none() { "valid" } else { "invalid" }, "step": step, "code": code,
        "superseded_trust_root": found.superseded_trust_root, "origin_lost": found.is_origin_lost,
        "witnesses": found.witnesses.iter().map(shown_witness).collect::<Vec<_>>(), "witnessed": found.witnessed,
    }))
}

fn judge_bundle(question: &Value) -> Result<Value> {
    let bundle = Bundle::parse(&document(question, "bundle"))?;
    let highest_seen = question.get("highest_seen").and_then(|seen| {
        let version = u32::try_from(seen.get("version")?.as_u64()?).ok()?;
        Some((version, Hash::from_hex(text(seen, "root_thk")).ok()?))
    });
    let expect = BundleExpectation {
        anchor_id: expected(question, "anchor_id")?,
        event_hash: expected(question, "event_hash")?,
        highest_seen,
        require_witnessed: question.get("require_witnessed") == Some(&Value::Bool(true)),
    };
    let pin = Hash::from_hex(text(question, "pinned_root_thk"))?;
    let trust = match question.get("trust_roots") {
        None => BundleTrust::Pin(pin),
        Some(_) => BundleTrust::Held(Box::new(verify_trust_root(&trust_roots(question), &pin)?)),
    };
    let found = inspect_bundle(&bundle, &trust, &expect)?;
    let codes = |result: Outcome| -> Vec<&str> {
        found.checks.iter().filter(|check| check.result == result).map(|check| check.code).collect()
    };
    Ok(json!({
        "outcome": found.outcome.as_str(), "actor_proven": found.is_actor_proven, "authorised_at_action": found.authorised_at_action,
        "authorised_now": found.authorised_now, "witnessed": found.witnessed, "fails": codes(Outcome::Fail).first(),
        "not_checked": codes(Outcome::NotChecked),
    }))
}
