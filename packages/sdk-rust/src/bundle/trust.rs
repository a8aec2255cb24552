//! From the trust roots of a bundle and what its reader knows to a verified chain.

use super::Failure;
use crate::hash::Hash;
use crate::note::parse_note;
use crate::trust_root_chain::{extend_trust_root, verify_trust_root, TrustRootChain};

/// What the reader of a bundle trusts, learnt by other means than from the bundle.
#[derive(Clone, Debug)]
pub enum BundleTrust {
    /// RootTHK of any version. Documents of the bundle before that version are not looked at.
    Pin(Hash),
    /// A chain that is verified already. The bundle may continue it, and may not contradict it.
    Held(Box<TrustRootChain>),
}

fn has_thk(document: &str, wanted: &Hash) -> bool {
    parse_note(document).is_ok_and(|note| Hash::sha256(&note.text) == *wanted)
}

fn from_pin(documents: &[String], pin: &Hash) -> Result<TrustRootChain, Failure> {
    let start = documents.iter().position(|document| has_thk(document, pin)).unwrap_or(0);
    let from_start = documents.get(start..).unwrap_or_default();
    verify_trust_root(from_start, pin).map_err(|error| Failure::new(format!("{}: {error}", error.code())))
}

/// The documents from the first one that is held on are those that are held, and then what follows them.
fn continued(documents: &[String], held: &TrustRootChain) -> Result<TrustRootChain, Failure> {
    let first = held.versions().next().map(|version| version.root_thk);
    let start = first.and_then(|thk| documents.iter().position(|document| has_thk(document, &thk)));
    let start = start.ok_or_else(|| Failure::new("the trust root that is held is not among those of the bundle"))?;
    let mut versions = held.versions();
    documents.iter().skip(start).try_fold(held.clone(), |chain, document| match versions.next() {
        None => extend_trust_root(chain, document).map_err(|error| Failure::new(format!("{}: {error}", error.code()))),
        Some(version) if has_thk(document, &version.root_thk) => Ok(chain),
        Some(version) => {
            let number = version.trust_root.version;
            Err(Failure::new(format!("a trust root is not version {number} as it is held")))
        }
    })
}

pub(super) fn judge_trust_roots(
    documents: &[String],
    trust: &BundleTrust,
    highest_seen: Option<(u32, Hash)>,
) -> Result<TrustRootChain, Failure> {
    let chain = match trust {
        BundleTrust::Pin(pin) => from_pin(documents, pin)?,
        BundleTrust::Held(held) => continued(documents, held)?,
    };
    if let Some((version, root_thk)) = highest_seen {
        let checked = chain.check_not_older(version, &root_thk);
        checked.map_err(|error| Failure::new(format!("{}: {error}", error.code())))?;
    }
    Ok(chain)
}
