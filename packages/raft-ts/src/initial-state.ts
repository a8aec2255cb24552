import { payloadBytesOf } from "./engine-codec.ts";
import { InvalidArgumentError } from "./errors.ts";
import { findConfStateFault, isCount, isMemberId } from "./message-shape.ts";
import type { ConfState, Entry, EntryMeta, InitialState, RawNodeOptions, SnapshotMeta } from "./types.ts";

/** The largest payload in bytes. */
export const PAYLOAD_BYTES_MAX = 0x7fff_ffff;

function assertArgument(holds: boolean, fault: string): asserts holds {
  if (!holds) throw new InvalidArgumentError(fault);
}

/** Throws InvalidArgumentError for what the library would panic on, or take without noticing. */
export function checkNodeOptions(options: RawNodeOptions): void {
  const { electionTicks = 10, heartbeatTicks = 1 } = options;
  assertArgument(isMemberId(options.id), "id is not a node");
  assertArgument(isCount(heartbeatTicks) && heartbeatTicks > 0, "heartbeatTicks is not a positive number");
  assertArgument(isCount(electionTicks) && electionTicks > heartbeatTicks, "electionTicks is not above heartbeatTicks");
  assertArgument(electionTicks < 2 ** 31, "electionTicks is out of range");
  checkInitialState(options.initial);
}

function checkInitialState(initial: InitialState): void {
  const { hardState, snapshot, entries, applied } = initial;
  if (snapshot !== null && snapshot.index > 0) checkSnapshot(snapshot);
  const base = snapshot?.index ?? 0;
  const last = base + entries.length;
  checkMembers(initial.confState);
  const first = entries[0];
  assertArgument(first === undefined || first.index === base + 1, "entries do not start after the compaction point");
  checkEntries(entries, snapshot?.term ?? 0);
  assertArgument(isCount(hardState.term), "term is out of range");
  assertArgument((entries[entries.length - 1]?.term ?? base) === 0 || hardState.term > 0, "a log without a term");
  assertArgument((entries[entries.length - 1]?.term ?? 0) <= hardState.term, "the log's last term is above the term");
  assertArgument(isCount(hardState.commit) && hardState.commit <= last, "commit is beyond the log");
  assertArgument(hardState.commit >= base, "commit is below the compaction point");
  assertArgument(isCount(applied) && applied >= base && applied <= last, "applied is outside the log");
}

/** A membership that the library restores; an empty one belongs to a node that waits for a snapshot. */
export function checkMembers(conf: ConfState): void {
  const isEmpty = conf.voters.length + conf.votersOutgoing.length + conf.learners.length === 0;
  const fault = isEmpty ? null : findConfStateFault(conf);
  if (fault !== null) throw new InvalidArgumentError(`confState: ${fault}`);
}

export function checkSnapshot(snapshot: SnapshotMeta): void {
  assertArgument(isCount(snapshot.index) && snapshot.index > 0, "a snapshot's index is out of range");
  assertArgument(isCount(snapshot.term) && snapshot.term > 0, "a snapshot's term is out of range");
  const fault = findConfStateFault(snapshot.confState);
  if (fault !== null) throw new InvalidArgumentError(`confState: ${fault}`);
}

/** Contiguous entries whose terms do not fall, starting at `termMin`. */
export function checkEntries(entries: readonly (Entry | EntryMeta)[], termMin: number): void {
  let index = entries[0]?.index ?? 1;
  let term = Math.max(termMin, 1);
  assertArgument(isCount(index) && index > 0, "an entry's index is out of range");
  for (const entry of entries) {
    const payloadBytes = payloadBytesOf(entry);
    assertArgument(entry.index === index, "entries are not contiguous");
    assertArgument(isCount(entry.term) && entry.term >= term, "an entry's term is out of order");
    assertArgument(isCount(payloadBytes) && payloadBytes <= PAYLOAD_BYTES_MAX, "a payload is too large");
    if (entry.payload !== undefined) {
      assertArgument(entry.payload.length === payloadBytes, "payloadBytes is not the payload's length");
    }
    index += 1;
    term = entry.term;
  }
}
