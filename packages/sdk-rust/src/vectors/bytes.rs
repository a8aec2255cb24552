use super::{hash, hex, list, text, vectors};
use crate::bytes::{from_base64, from_hex, parse_decimal, to_base64, to_hex, Reader};
use crate::{client_event_commit, client_revoker, operator_revoker, origin_fingerprint_of, PublicKey};

#[test]
fn hex_and_base64() {
    let Some(file) = vectors("bytes") else { return };
    for case in list(&file, "/hex/good") {
        assert_eq!(to_hex(&from_hex(text(case, "text")).unwrap()), text(case, "result"));
    }
    for case in list(&file, "/hex/bad") {
        assert_eq!(from_hex(case.as_str().unwrap()), None, "{case}");
    }
    for case in list(&file, "/base64/good") {
        let bytes = from_base64(text(case, "text")).unwrap();
        assert_eq!(to_hex(&bytes), text(case, "result"));
        assert_eq!(to_base64(&bytes), text(case, "text"));
    }
    for case in list(&file, "/base64/bad") {
        assert_eq!(from_base64(case.as_str().unwrap()), None, "{case}");
    }
}

#[test]
fn integers() {
    let Some(file) = vectors("bytes") else { return };
    for case in list(&file, "/u64/good") {
        assert_eq!(Reader::new(&hex(case, "bytes")).u64().unwrap(), case["value"].as_u64().unwrap());
    }
    for case in list(&file, "/u64/bad") {
        let bytes = from_hex(case.as_str().unwrap()).unwrap();
        let mut reader = Reader::new(&bytes);
        assert!(reader.u64().is_err() || !reader.is_empty(), "{case}");
    }
    for case in list(&file, "/decimal/good") {
        assert_eq!(parse_decimal(case.as_str().unwrap()).unwrap().to_string(), case.as_str().unwrap());
    }
    for case in list(&file, "/decimal/bad") {
        assert_eq!(parse_decimal(case.as_str().unwrap()), None, "{case}");
    }
}

#[test]
fn tags_and_what_is_derived_under_them() {
    let Some(file) = vectors("tags") else { return };
    for case in list(&file, "/tags") {
        assert_eq!(crate::tags::tag(text(case, "name")), hex(case, "bytes"));
    }
    let case = &file["origin_fingerprint"];
    let key = PublicKey::from_hex(text(case, "cosigner_public_key")).unwrap();
    assert_eq!(origin_fingerprint_of(&hash(case, "cluster_id"), &key), hash(case, "result"));
    let case = &file["client_event_commit"];
    assert_eq!(client_event_commit(&hash(case, "salt"), text(case, "client_event_id")), hash(case, "result"));
    let case = &file["client_revoker"];
    let api_client_id: [u8; 16] = hex(case, "api_client_id").try_into().unwrap();
    assert_eq!(client_revoker(&api_client_id), hash(case, "result"));
    let case = &file["operator_revoker"];
    let key = PublicKey::from_hex(text(case, "public_key")).unwrap();
    assert_eq!(operator_revoker(&key), hash(case, "result"));
}
