use serde_json::Value;

use super::{hash, hex, list, text, vectors};
use crate::{
    prepare_claim_anchor, prepare_event_anchor, prepare_grant_anchor, prepare_revocation, ClaimInput, Event,
    GrantInput, LocalKey, Payload, RevocationInput, Signature, Signer as _, SignerRole,
};

/// The key of a role signs what was prepared; payload, digest and signature are those of the vector.
fn sign(case: &Value, payload: &Payload) -> Signature {
    let who = payload.role().as_str();
    let key = LocalKey::from_hex(text(case, &format!("{who}_seed"))).unwrap();
    assert_eq!(key.public_key(), *payload.public_key());
    assert_eq!(payload.to_hex(), text(case, &format!("{who}_payload")));
    assert_eq!(payload.digest(), hash(case, &format!("{who}_digest")));
    let signature = key.sign_bytes(payload.bytes());
    assert_eq!(signature.to_hex(), text(case, &format!("{who}_signature")));
    signature
}

#[test]
fn claims() {
    let Some(file) = vectors("prepare") else { return };
    for case in list(&file, "/claims/good") {
        let read = ClaimInput::from_json(&case["input"]).unwrap();
        let prepared = prepare_claim_anchor(&read.origin_fingerprint.unwrap(), &read.input).unwrap();
        let subject = sign(case, prepared.subject_payload());
        let issuer = sign(case, &prepared.issuer_payload(subject).unwrap());
        assert_eq!(prepared.with_signatures(subject, issuer).unwrap().to_json(), case["request"], "{case}");
        let swapped = prepared.with_signatures(issuer, subject).unwrap_err();
        assert_eq!(swapped.field(), Some("subject_signature"));
    }
}

#[test]
fn grants() {
    let Some(file) = vectors("prepare") else { return };
    for case in list(&file, "/grants/good") {
        let read = GrantInput::from_json(&case["input"]).unwrap();
        let prepared = prepare_grant_anchor(&read.origin_fingerprint.unwrap(), &read.input).unwrap();
        let grantor = sign(case, prepared.grantor_payload());
        let witness = sign(case, &prepared.witness_payload(grantor).unwrap());
        assert_eq!(prepared.with_signatures(grantor, witness).unwrap().to_json(), case["request"], "{case}");
        let unsigned = prepared.with_signatures(grantor, Signature::ZERO).unwrap_err();
        assert_eq!(unsigned.field(), Some("witness_signature"));
    }
}

#[test]
fn events() {
    let Some(file) = vectors("prepare") else { return };
    for case in list(&file, "/events/good") {
        let read = Event::from_json(&case["input"]).unwrap();
        let origin = read.origin_fingerprint.unwrap();
        let event = match read.actor_public_key {
            None => read.input,
            Some(public_key) => {
                let prepared = prepare_event_anchor(&origin, &read.input, &public_key).unwrap();
                prepared.with_signature(sign(case, prepared.actor_payload())).unwrap()
            }
        };
        assert_eq!(event.to_request(&origin), case["request"], "{case}");
    }
}

#[test]
fn revocations() {
    let Some(file) = vectors("prepare") else { return };
    for case in list(&file, "/revocations/good") {
        let prepared = prepare_revocation(&RevocationInput::from_json(&case["input"]).unwrap()).unwrap();
        let revocation = match prepared.revoker_payload() {
            None => prepared.by_client().unwrap(),
            Some(payload) => {
                assert_eq!(payload.role(), SignerRole::Revoker);
                assert!(prepared.by_client().unwrap_err().is_invalid_input());
                prepared.with_signature(sign(case, payload)).unwrap()
            }
        };
        assert_eq!(revocation.to_json(), case["request"], "{case}");
    }
}

#[test]
fn leaves_hold_what_was_signed() {
    let Some(file) = vectors("prepare") else { return };
    for (family, who) in [("claims", "subject"), ("grants", "grantor"), ("events", "actor"), ("revocations", "revoker")]
    {
        for case in list(&file, &format!("/{family}/good")) {
            let leaf = crate::Leaf::decode(&hex(case, "leaf")).unwrap();
            let name = format!("{who}_payload");
            if case.get(&name).is_none() {
                continue;
            }
            let payload = hex(case, &name);
            assert_eq!(crate::payloads::payload_of_leaf(&leaf, &payload), Some(payload), "{case}");
        }
    }
}

#[test]
fn bad_inputs_name_their_field() {
    let Some(file) = vectors("prepare") else { return };
    let read = |family: &str, input: &Value| match family {
        "claims" => ClaimInput::from_json(input).map(drop),
        "grants" => GrantInput::from_json(input).map(drop),
        "events" => Event::from_json(input).map(drop),
        _ => RevocationInput::from_json(input).map(drop),
    };
    let mut count = 0;
    for family in ["claims", "grants", "events", "revocations"] {
        for case in list(&file, &format!("/{family}/bad")) {
            let error = read(family, &case["input"]).expect_err(text(case, "name"));
            assert_eq!(error.code(), text(case, "error"));
            assert!(error.is_invalid_input());
            assert_eq!(error.field(), Some(text(case, "field")), "{}", text(case, "name"));
            count += 1;
        }
    }
    assert!(count > 200);
}
