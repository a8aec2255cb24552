use super::{hash, list, text, vectors};
use crate::{verify_trust_root, Hash, TlogPolicy, TrustRoot};

fn documents(case: &serde_json::Value) -> Vec<&str> {
    list(case, "/documents").iter().map(|document| document.as_str().unwrap()).collect()
}

#[test]
fn documents_one_by_one() {
    let Some(file) = vectors("trust-root") else { return };
    for case in list(&file, "/good") {
        let root = TrustRoot::parse(text(case, "text")).unwrap();
        assert_eq!(Hash::sha256(text(case, "text")), hash(case, "root_thk"));
        let policy = root.tlog_policy();
        assert_eq!(TlogPolicy::parse(&policy.to_string()).unwrap(), policy);
    }
    for case in list(&file, "/bad") {
        let error = TrustRoot::parse(text(case, "text")).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}", text(case, "name"));
    }
}

#[test]
fn policies() {
    let Some(file) = vectors("trust-root") else { return };
    for case in list(&file, "/policies") {
        let root = TrustRoot::parse(text(case, "text")).unwrap();
        assert_eq!(root.tlog_policy().to_string(), text(case, "certified"), "{}", text(case, "name"));
        let witnessed = root.witnessed_policy();
        assert_eq!(witnessed.as_ref().map(ToString::to_string).as_deref(), case["witnessed"].as_str());
        if let Some(policy) = witnessed {
            assert_eq!(TlogPolicy::parse(&policy.to_string()).unwrap(), policy);
        }
    }
}

#[test]
fn chains() {
    let Some(file) = vectors("trust-root") else { return };
    for case in list(&file, "/chains/good") {
        let documents = documents(case);
        let chain = verify_trust_root(&documents, &hash(case, "pinned_root_thk")).unwrap();
        assert_eq!(chain.versions().count(), documents.len());
        let newest = chain.newest();
        chain.check_not_older(newest.trust_root().version, newest.root_thk()).unwrap();
        let forked = chain.check_not_older(newest.trust_root().version, &Hash::ZERO).unwrap_err();
        assert_eq!(forked.code(), "fork");
        let ahead = chain.check_not_older(newest.trust_root().version + 1, newest.root_thk()).unwrap_err();
        assert_eq!(ahead.code(), "rollback");
    }
    for case in list(&file, "/chains/bad") {
        let error = verify_trust_root(&documents(case), &hash(case, "pinned_root_thk")).unwrap_err();
        assert_eq!(error.code(), text(case, "error"), "{}", text(case, "name"));
    }
}
