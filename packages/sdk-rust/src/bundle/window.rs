//! Whether the position of a bundle is one. docs/PROTOCOL.md, "Bundle".

use super::leaves::ProvedLeaves;
use super::parse::AsOf;
use super::{Checks, Completeness, Failure};
use crate::state_head::StateHead;
use crate::verify_receipt::Outcome;

/// Positions of leaves, ascending by sequence, and that of the state head.
pub(super) fn positions_of(leaves: &ProvedLeaves, head: Option<&StateHead>) -> Vec<AsOf> {
    let newest = head.and_then(|head| {
        let sequence = head.next_sequence.checked_sub(1)?;
        Some(AsOf { sequence, time_ms: head.last_accepted_ms })
    });
    let of_leaves =
        leaves.all().iter().map(|proved| AsOf { sequence: proved.sequence(), time_ms: proved.leaf.header.accepted_ms });
    let earlier = of_leaves.filter(|at| newest.is_none_or(|newest| at.sequence < newest.sequence));
    earlier.chain(newest).collect()
}

/// Whether the position is one: its time is that of its leaf, or lies before the next leaf. A later time would hide
/// what had happened by then.
pub(super) fn check_window(
    as_of: AsOf,
    complete: Option<Completeness>,
    positions: &[AsOf],
    head: Option<&StateHead>,
    checks: &mut Checks,
) -> Result<(), Failure> {
    let AsOf { sequence, time_ms } = as_of;
    let at = positions.partition_point(|position| position.sequence <= sequence);
    let earlier = at.checked_sub(1).and_then(|before| positions.get(before));
    let later = positions.get(at);
    let is_reached = earlier.is_none_or(|earlier| earlier.time_ms <= time_ms);
    Failure::unless(is_reached, || format!("as_of is sequence {sequence} at {time_ms} ms, before its last leaf"))?;
    let is_at_last = earlier.is_some_and(|earlier| earlier.sequence == sequence);
    let is_of_last = is_at_last && earlier.is_some_and(|earlier| earlier.time_ms == time_ms);
    // Leaves of one entry have one time: a leaf that is not here may have that of the next.
    let is_before_next = later.is_none_or(|later| time_ms < later.time_ms || (!is_at_last && time_ms == later.time_ms));
    Failure::unless(is_of_last || is_before_next, || {
        format!("as_of is sequence {sequence} at {time_ms} ms, when a later leaf was there")
    })?;
    let next = sequence.saturating_add(1);
    // The state head says that no later leaf has a time below its own.
    let is_before_stamp = head.is_some_and(|head| head.next_sequence == next && time_ms < head.stamp_ms);
    let is_next = is_before_stamp || later.is_some_and(|later| later.sequence == next);
    if complete.is_none() {
        checks.pass("nothing that is named has a window");
    } else if is_at_last && (is_of_last || is_next) {
        checks.pass(format!("judged as of sequence {sequence} at {time_ms} ms"));
    } else {
        let detail = format!("that sequence {sequence} was the newest at {time_ms} ms is as stated by the service");
        checks.push(Outcome::NotChecked, detail);
    }
    Ok(())
}
