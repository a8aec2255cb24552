import { trustRootsOf } from "@event-anchoring/ledger";
import type { EntryReactions } from "../raft/applier.ts";
import { contradictionOf } from "../membership/known-trust-root.ts";
import type { SessionOptions } from "./session-options.ts";
import type { SessionParts } from "./session-parts.ts";

/**
 * What a committed entry triggers, in the order in which it happens. The order is the safety argument; what must be
 * durable before what is in docs/ARCHITECTURE.md.
 *
 * The applier calls these for one entry at a time, from top to bottom. Before the first the entry is durable in this
 * node's own log and every earlier one is decided.
 */
export function entryReactions(parts: SessionParts, options: SessionOptions): EntryReactions {
  const { consensus, membership, certifying, writes, life } = parts;
  const { certifier, contradictions, states, reads, lastLeaves } = certifying;
  const { counts } = options;
  return {
    // A membership change is put into force, or refused by every replica alike, before its entry is decided.
    confChange: (payload) => membership.group.applyConfChange(payload),

    // Decided. The state in memory is about to go on. Certificates that the log records come first: their signers must
    // not come back without them, and contradictions of them must be known before this node signs a larger tree.
    advancing: ({ writes: { certificates }, contradictions: forks }) => {
      for (const certificate of certificates) certifying.onRecorded(certificate);
      for (const certificate of forks) contradictions.comparison.onCertificate(certificate);
      states.onAdvancing();
    },

    // The state in memory is advanced. At a certify point the head is promised and signed; the tables follow.
    advanced: ({ index, term, effect, certify, writes: advancedBy }) => {
      const { trustRoots, leaves } = advancedBy;
      lastLeaves.onAdvanced(advancedBy);
      if (trustRoots.length > 0) onTrustRoot(parts, options);
      if (!certify || life.isEnded) return;
      contradictions.onOwnEffect(index, effect);
      certifier.onCertifyPoint({ raftIndex: index, raftTerm: term, effect, isEmpty: leaves.length === 0 });
    },

    // The tables will follow. Waiters get the outcome now: the log, not the tables, is the promise.
    decided: (entry, decision, payload) => {
      counts.noteDecision(decision);
      if (life.isEnded) return;
      if (decision.isToBeForgotten) consensus.compaction.owe(decision.index);
      writes.onDecided(entry, decision, payload);
      membership.judgeStamp(entry, decision.index);
      reads.onApplied();
    },

    // The next entry waits. At a state point this one is in the tables: they hold exactly what is signed.
    written: ({ stateRoot }, isStatePoint) => states.onApplied(stateRoot, isStatePoint),

    // The next entry may be decided. A node that this entry removed from the group stops here.
    applied: (entry) => {
      if (life.isEnded) return;
      membership.group.onApplied();
      if (life.isEnded) return;
      reads.onApplied();
      writes.onApplied(entry);
      consensus.compaction.onApplied(entry.index);
    },
  };
}

/** Another version is in force: it names nodes, their keys and the quorum, and may settle contradictions. */
function onTrustRoot(parts: SessionParts, options: SessionOptions): void {
  const { membership, certifying, witnessing, life } = parts;
  const { state, known, identity } = options;
  const versions = trustRootsOf(state);
  // A version names every node that an earlier one named.
  membership.members.learn(membership.trustRoot());
  if (state.trustRootChain !== null) known.adopt(state.trustRootChain);
  certifying.contradictions.comparison.onTrustRoot();
  certifying.certifier.onTrustRoot();
  witnessing.onTrustRoot();
  membership.onTrustRoots(versions.map(({ trustRoot }) => trustRoot));
  const contradiction = contradictionOf(identity, versions);
  if (contradiction !== null) life.end({ kind: "halted", code: "wrong_root_thk", detail: contradiction });
}
