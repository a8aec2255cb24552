use serde_json::Value;

use super::{list, text, vectors};
use crate::merkle::Frontier;
use crate::merkle::{is_consistent, is_included};
use crate::{anchor_id_of, Hash};

/// `None`: a hash of another length, or an integer that no tree has, which is a refusal.
fn path(case: &Value) -> Option<Vec<Hash>> {
    list(case, "/path").iter().map(|hash| Hash::from_hex(hash.as_str()?).ok()).collect()
}

fn inclusion_of(case: &Value) -> bool {
    let read = || {
        let leaf = Hash::from_hex(text(case, "leaf_hash")).ok()?;
        let root = Hash::from_hex(text(case, "root_hash")).ok()?;
        Some(is_included(&leaf, case["index"].as_u64()?, case["size"].as_u64()?, &path(case)?, &root))
    };
    read().unwrap_or(false)
}

fn consistency_of(case: &Value) -> bool {
    let read = || {
        let old_root = Hash::from_hex(text(case, "old_root")).ok()?;
        let root = Hash::from_hex(text(case, "root")).ok()?;
        let (old_size, size) = (case["old_size"].as_u64()?, case["size"].as_u64()?);
        Some(is_consistent(old_size, &old_root, size, &root, &path(case)?))
    };
    read().unwrap_or(false)
}

#[test]
fn proofs() {
    let Some(file) = vectors("merkle") else { return };
    for (pointer, verify) in [("/inclusion", inclusion_of as fn(&Value) -> bool), ("/consistency", consistency_of)] {
        for case in list(&file, &format!("{pointer}/good")) {
            assert!(verify(case), "{}", text(case, "name"));
        }
        for case in list(&file, &format!("{pointer}/bad")) {
            assert!(!verify(case), "{}", text(case, "name"));
        }
    }
}

#[test]
fn roots() {
    let Some(file) = vectors("merkle") else { return };
    let mut frontier = Frontier::default();
    let roots = list(&file, "/roots");
    assert_eq!(frontier.root().to_hex(), roots[0].as_str().unwrap());
    for (leaf, root) in list(&file, "/leaves").iter().zip(&roots[1..]) {
        frontier.append(anchor_id_of(&crate::bytes::from_hex(leaf.as_str().unwrap()).unwrap()));
        assert_eq!(frontier.root().to_hex(), root.as_str().unwrap());
    }
    assert!(Frontier::new(3, vec![Hash::ZERO]).is_none());
}
