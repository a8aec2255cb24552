//! Which witnesses have signed a checkpoint, and whether they are enough. docs/PROTOCOL.md, "Witnessed".

use crate::note::VerifiedLine;
use crate::trust_root_text::TrustRoot;

/// A witness whose good line is on the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WitnessSignature {
    /// As the trust root lists it.
    pub name: String,
    /// Unix seconds, as the witness signed them.
    pub witnessed_at: u64,
}

/// What a trust root says of the lines of a checkpoint. Without a quorum of nodes nothing is witnessed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witnessing {
    /// Ascending by name.
    pub(crate) witnesses: Vec<WitnessSignature>,
    pub(crate) is_enough: bool,
    /// For people.
    pub(crate) detail: String,
}

/// Counts the witnesses of a trust root among good lines. Lines of other keys are passed over.
pub(crate) fn witnessing_of(root: &TrustRoot, verified: &[VerifiedLine]) -> Witnessing {
    let (listed, needed) = (root.witnesses.len(), root.witness_quorum);
    let mut witnesses = Vec::new();
    for witness in &root.witnesses {
        let line = verified.iter().find(|line| line.vkey.public_key() == witness.vkey.public_key());
        if let Some(witnessed_at) = line.and_then(|line| line.time_s) {
            witnesses.push(WitnessSignature { name: witness.name.clone(), witnessed_at });
        }
    }
    let names: Vec<&str> = witnesses.iter().map(|witness| witness.name.as_str()).collect();
    let counted = format!("{} of {listed} witnesses, {needed} needed", names.len());
    let detail = match (listed, names.is_empty()) {
        (0, _) => format!("trust root {} lists no witness", root.version),
        (_, true) => counted,
        (_, false) => format!("{counted}: {}", names.join(", ")),
    };
    let is_enough = listed > 0 && witnesses.len() >= needed;
    Witnessing { witnesses, is_enough, detail }
}

/// Good lines of the log and of nodes: those that say when a quorum was complete.
pub(crate) fn without_witnesses(root: &TrustRoot, verified: Vec<VerifiedLine>) -> Vec<VerifiedLine> {
    let is_witness =
        |line: &VerifiedLine| root.witnesses.iter().any(|each| each.vkey.public_key() == line.vkey.public_key());
    verified.into_iter().filter(|line| !is_witness(line)).collect()
}
