import type { ControlPlaneNode } from "@event-anchoring/control-plane";
import { LIMITS } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  checkpointOrigin,
  formatCheckpoint,
  formatNote,
  noteMessage,
  noteSignatureLine,
} from "@event-anchoring/protocol";
import { logSignerOf } from "../trust/simulated-ceremony.ts";
import type { Bugs } from "./planted-bugs.ts";

type Session = NonNullable<ControlPlaneNode["session"]>;

/** Replaces methods of a running node's parts, from outside. Called once for each session, before its first frame. */
export function plantInNode(node: ControlPlaneNode, bugs: Bugs): void {
  const { session } = node;
  if (session === null || bugs.size === 0) return;
  const { state, consensus, membership, certifying, writes } = session;
  const { failover, compaction } = consensus;
  const { clockGuard, rules, peers } = membership;
  const { certifier, contradictions, exchange } = certifying;
  const { comparison } = contradictions;
  const { proposals } = writes;
  if (bugs.has("ack_said_once")) sayOnce(session);
  if (bugs.has("cosignature_not_verified")) certifier.isGood = () => true;
  if (bugs.has("followers_tell_the_leader_alone")) exchange.tellAll = () => {};
  if (bugs.has("leader_alone_is_asked")) exchange.ask = (items) => exchange.send(items);
  if (bugs.has("latest_before_decided")) showEarly(session);
  if (bugs.has("halted_node_keeps_its_lines")) comparison.testify = () => {};
  if (bugs.has("lines_not_exchanged")) comparison.onLines = () => {};
  if (bugs.has("lost_origin_stays_stopped")) stayStopped(session);
  if (bugs.has("silent_leader_followed")) failover.onForwarded = () => {};
  if (bugs.has("refusals_taken_for_answers")) failover.onRefused = () => failover.onDecided();
  if (bugs.has("any_decision_answers")) believeAnyDecision(session);
  if (bugs.has("unreadable_entries_acknowledged")) session.frames.entryGuard.faultOf = () => null;
  if (bugs.has("stamps_not_bounded")) overlookStamps(session);
  if (bugs.has("named_key_counts")) comparison.isNamed = () => false;
  if (bugs.has("fork_stops_nothing")) comparison.isStopped = () => false;
  if (bugs.has("covered_roots_not_compared")) compareUncoveredOnly(session);
  if (bugs.has("clock_not_guarded")) clockGuard.isSafe = () => true;
  if (bugs.has("slow_clock_not_guarded")) clockGuard.behindMedianMs = () => 0;
  if (bugs.has("decided_not_compared")) proposals.isAsSent = () => true;
  if (bugs.has("rules_raised_early")) rules.heldBackBy = () => [];
  if (bugs.has("words_of_members_dropped")) membership.group.hasLeft = () => true;
  if (bugs.has("term_not_bounded")) peers.termMax = () => Number.MAX_SAFE_INTEGER;
  if (bugs.has("one_word_for_two")) doubleWords(session);
  if (bugs.has("group_decided_twice")) state.groupIds.has = () => false;
  if (bugs.has("revoked_key_still_good")) forgetRevocations(session);
  if (bugs.has("erasure_stays_in_the_log")) compaction.sweep = () => {};
  if (bugs.has("passed_points_unsigned")) leaveUnsigned(session);
  if (bugs.has("stall_holds_back_operators")) holdBackOperators(session);
  if (bugs.has("api_ignores_applied_index")) certifying.reads.isWritten = () => true;
  if (bugs.has("compaction_beyond_tables")) cutWhatIsDecided(session);
  if (bugs.has("compaction_beyond_enough")) peers.heldByEnough = () => Number.MAX_SAFE_INTEGER;
  if (bugs.has("log_cut_behind_a_taker")) node.snapshots.pinnedIndex = () => null;
  if (bugs.has("read_index_before_own_term")) consensus.mayConfirmReads = () => true;
  if (bugs.has("unwritten_client_event_ids_missed")) overlookUnwritten(session);
  if (bugs.has("stored_trees_not_asked")) overlookStoredTrees(session);
  if (bugs.has("rotten_slot_not_asked_about")) signUnasked(session);
  if (bugs.has("certificates_not_waited_for")) waitForNothing(session);
  if (bugs.has("witness_lines_not_verified")) session.witnessing.lane.isGood = () => true;
  if (bugs.has("uncertified_head_sent")) sendUncertified(session);
  if (bugs.has("acknowledged_when_proposed")) {
    const whenCovered = certifier.whenCovered.bind(certifier);
    certifier.whenCovered = (origin, treeSize, covered) => {
      const held = certifier.heldOf(origin);
      if (held === null) return whenCovered(origin, treeSize, covered);
      covered(held);
      return () => {};
    };
  }
}

/** Neither a heartbeat nor a new connection makes it say again what it has said. */
function sayOnce({ consensus: { acks } }: Session): void {
  acks.onHeard = () => {};
  acks.forget = () => {};
}

function compareUncoveredOnly({ certifying }: Session): void {
  const { certifier, contradictions } = certifying;
  const { comparison } = contradictions;
  const onPeer = comparison.onPeer.bind(comparison);
  comparison.onPeer = (from, item) => {
    if (item.treeSize > certifier.cosignedSizeOf(item.originFingerprint)) onPeer(from, item);
  };
}

/** A quorum confirms the read index, and what memory holds at that moment is shown. */
function showEarly({ certifying: { certifier, lastLeaves, reads }, consensus: { rounds } }: Session): void {
  const read = reads.read.bind(reads);
  reads.read = (request) => {
    const [origin] = typeof request.origins === "string" ? [] : request.origins;
    if (request.wantsLatest !== true || origin === undefined) return read(request);
    rounds.request(() => {
      const held = certifier.heldOf(origin);
      const latest = held === null ? null : lastLeaves.latestUnder(held);
      if (latest === null) return read(request);
      const { certificate } = latest;
      const { trustRootVersion } = certificate;
      request.respond({ type: "ready_to_read", readIndex: 0, certificates: [certificate], trustRootVersion, latest });
    });
  };
}

function stayStopped({ certifying }: Session): void {
  const { comparison } = certifying.contradictions;
  const isStopped = comparison.isStopped.bind(comparison);
  const stopped = new Set<string>();
  comparison.isStopped = (origin) => {
    if (isStopped(origin)) stopped.add(bytesToHex(origin));
    return stopped.has(bytesToHex(origin));
  };
}

function doubleWords(session: Session): void {
  const { words } = session.membership.peers;
  const note = words.onOffence.bind(words);
  words.onOffence = (peer, offence, detail) => {
    for (const { nodeId } of session.trustRoot().nodes.toSpliced(2)) note(nodeId, offence, detail);
    note(peer, offence, detail);
  };
}

function believeAnyDecision({ consensus: { failover }, writes: { proposals } }: Session): void {
  const onDecided = proposals.onDecided.bind(proposals);
  proposals.onDecided = (entry, decision, payload) => {
    const isSent = onDecided(entry, decision, payload);
    if (entry.groups.length > 0) failover.onDecided();
    return isSent;
  };
}

function overlookStamps({ frames: { entryGuard } }: Session): void {
  const faultOf = entryGuard.faultOf.bind(entryGuard);
  entryGuard.faultOf = (entry, leader) => {
    const fault = faultOf(entry, leader);
    return fault?.code === "entry_from_the_future" ? null : fault;
  };
}

/** Each entry is cut from the log as soon as it may be, and what the tables hold does not matter. */
function cutWhatIsDecided({ consensus: { compaction, tables }, state }: Session): void {
  Object.defineProperty(tables, "writtenIndex", { get: () => state.appliedIndex });
  const onApplied = compaction.onApplied.bind(compaction);
  compaction.onApplied = (index) => {
    onApplied(index);
    compaction.owe(index);
  };
}

/** Only client event ids: a reference that is not found is refused, and not anchored twice. */
function overlookUnwritten({ consensus }: Session): void {
  const { unwritten } = consensus.tables;
  const find = unwritten.find.bind(unwritten);
  unwritten.find = (query) => {
    const { found, rest } = find(query);
    return { found: { ...found, clientEvents: new Map() }, rest: { ...rest, clientEvents: query.clientEvents } };
  };
}

/** A peer's proof about a size that only the database holds is not checked. */
function overlookStoredTrees({ membership, state }: Session): void {
  const { words } = membership.peers;
  const onAccused = words.onAccused.bind(words);
  words.onAccused = (peer, refusal) => {
    const { ownWord } = refusal;
    const isOld =
      ownWord?.kind === "cosignature" &&
      ownWord.treeSize < (state.origins.get(bytesToHex(ownWord.originFingerprint))?.tree.base ?? 0);
    if (!isOld) onAccused(peer, refusal);
  };
}

function signUnasked({ membership: { group }, state }: Session): void {
  group.maySign = () => group.isMember() && state.trustRootChain !== null;
}

/** Reports a tree as covered before a certificate exists. */
function waitForNothing({ certifying: { certifier }, state }: Session): void {
  certifier.whenCovered = (origin, treeSize, covered) => {
    const held = certifier.heldOf(origin);
    const isThere = treeSize <= (state.origins.get(bytesToHex(origin))?.tree.size ?? 0);
    if (held !== null && isThere) covered(held);
    return () => {};
  };
}

/** The note of a head without a certificate has the log's line alone. */
function sendUncertified(session: Session): void {
  const { witnessing, consensus, state } = session;
  const headOf = witnessing.headOf.bind(witnessing);
  witnessing.headOf = (origin) => {
    const held = headOf(origin);
    const tree = state.origins.get(bytesToHex(origin))?.tree;
    if (held === null || tree === undefined || tree.size <= held.treeSize) return held;
    if (consensus.tables.writtenIndex < state.appliedIndex) return held;
    const head = { treeSize: tree.size, rootHash: tree.rootAt(tree.size) };
    const checkpoint = (): string => {
      const name = checkpointOrigin(session.trustRoot().clusterName, origin);
      const text = formatCheckpoint({ origin: name, ...head });
      const signer = logSignerOf(origin);
      const line = { name, publicKey: signer.publicKey, signature: signer.sign(noteMessage(text)) };
      return formatNote(text, [noteSignatureLine(line, nodeCrypto.sha256)]);
    };
    return { ...held, ...head, cosignatures: [], checkpoint };
  };
}

function forgetRevocations({ state: { apiKeys } }: Session): void {
  const find = apiKeys.get.bind(apiKeys);
  apiKeys.get = (id) => {
    const key = find(id);
    return key === undefined ? undefined : { ...key, revokedMs: 0 };
  };
}

/** Whether a node may sign is checked when it passes a certify point, and never again. */
function leaveUnsigned({ membership: { group }, writes: { proposals }, certifying: { certifier } }: Session): void {
  const maySign = group.maySign.bind(group);
  const onCertifyPoint = certifier.onCertifyPoint.bind(certifier);
  let isPassing = false;
  group.maySign = () => isPassing && maySign();
  certifier.onCertifyPoint = (point) => {
    isPassing = true;
    onCertifyPoint(point);
    isPassing = false;
  };
  const submit = proposals.submit.bind(proposals);
  proposals.submit = (submission) => {
    if (submission.command.kind !== "mark_certify_point") submit(submission);
  };
}

function holdBackOperators({ writes: { queue }, certifying: { certifier } }: Session): void {
  const offer = queue.offer.bind(queue);
  queue.offer = (groups) => {
    const isHeld = certifier.uncovered().oldestMs > 5000;
    offer(isHeld ? groups.map((group) => ({ ...group, purpose: "client" as const })) : groups);
  };
}

/**
 * No life is as long as ids of decided groups are kept: here they are kept for so many entries, and a group may be
 * decided within as many. It is the same rule with a smaller number.
 */
export function keepGroupIdsFor(entries: number, node: ControlPlaneNode, bugs: Bugs): void {
  const { session } = node;
  if (session === null || entries >= LIMITS.groupIdEntriesKept) return;
  const { groupIds, appliedIndex } = session.state;
  groupIds.forgetBelow(appliedIndex - entries);
  const add = groupIds.add.bind(groupIds);
  groupIds.add = (id, index) => {
    groupIds.forgetBelow(index - entries);
    add(id, index);
  };
  const { proposals } = session.writes;
  const notAfter = proposals.notAfter.bind(proposals);
  const isIgnored = bugs.has("not_after_ignored");
  proposals.notAfter = () => (isIgnored ? Number.MAX_SAFE_INTEGER : notAfter() - LIMITS.groupIdEntriesKept + entries);
}
