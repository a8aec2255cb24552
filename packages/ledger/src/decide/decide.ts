/**
 * Maps (state, entry, facts) to what every replica writes and answers. Pure: time comes from the entry, rows from
 * facts.
 */
import { assertNever } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { isOperatorCommand } from "../entry/command-codec.ts";
import type { Command, Entry, ProposalGroup } from "../entry/command.ts";
import { decideCertificate } from "./decide-certificate.ts";
import { decideRecordClaim } from "./decide-claim.ts";
import { decideEraseClientEvent } from "./decide-erasure.ts";
import { decideRecordEvents } from "./decide-events.ts";
import { decideRecordGrant } from "./decide-grant.ts";
import { decideOperatorAct, decideUnsigned } from "./decide-operator-act.ts";
import { decideRecordRevocation } from "./decide-revocation.ts";
import { decideRaiseRules } from "./decide-rules.ts";
import { decideGenesis, decideTrustRoot } from "./decide-trust-root.ts";
import { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome, EntryDecision, EntryWrites, GroupOutcome } from "./decision.ts";
import { nextEffect } from "./effect.ts";
import type { Facts } from "./facts.ts";
import { LedgerHaltError } from "../entry/halt.ts";
import { reject } from "./rejection.ts";
import { clientEventsHashAfter, nextGroupIdsHash } from "./running-hash.ts";
import type { LedgerState } from "../state/state.ts";

/** A committed entry and its place in the log. */
export interface CommittedEntry {
  readonly index: number;
  readonly term: number;
  readonly entry: Entry;
}

/** True if the entry holds one command and nothing else. */
function isLoneCommand(entry: Entry): boolean {
  return entry.certificates.length === 0 && entry.groups.length === 1 && entry.groups[0]?.commands.length === 1;
}

function decideCommand(command: Command, isAlone: boolean, draft: DecisionDraft): CommandOutcome {
  if (command.kind === "genesis") return decideGenesis(command, isAlone, draft);
  if (!draft.isInitialised)
    return { kind: "rejected", rejection: reject("not_initialised", "no genesis is applied yet") };
  if (isOperatorCommand(command)) return decideUnsigned();
  switch (command.kind) {
    case "trust_root":
      return decideTrustRoot(command, isAlone, draft);
    case "record_events":
      return decideRecordEvents(command, draft);
    case "record_claim":
      return decideRecordClaim(command, draft);
    case "record_grant":
      return decideRecordGrant(command, draft);
    case "record_revocation":
      return decideRecordRevocation(command, draft);
    case "erase_client_event":
      return decideEraseClientEvent(command, draft);
    case "operator_act":
      return decideOperatorAct(command, draft);
    case "mark_certify_point":
    case "mark_state_point":
      return { kind: "applied" };
    case "raise_rules":
      return decideRaiseRules(command, draft);
    default:
      return assertNever(command);
  }
}

/** Exactly once: a known id is not decided again, and one too old to be remembered is not decided at all. */
function decideGroup(group: ProposalGroup, isAlone: boolean, draft: DecisionDraft): GroupOutcome {
  if (draft.wasDecided(group.id)) return { status: "duplicate" };
  if (group.notAfter < draft.index) return { status: "expired" };
  draft.addGroupId(group.id);
  return { status: "decided", commands: group.commands.map((command) => decideCommand(command, isAlone, draft)) };
}

/**
 * Decides the entry after the newest applied one. The state stays as it is: `advance` makes the decision part of it. An
 * entry of the consensus engine itself is decided like one without certificates and groups.
 * @param facts the answer to factsNeeded(entry), as of the previous entry
 * @param crypto its ed25519Verify may be a memo of verdicts, all computed by this node
 * @throws LedgerHaltError `index_out_of_order`, `rules_unknown`
 */
export function decideEntry(
  state: LedgerState,
  committed: CommittedEntry,
  facts: Facts,
  crypto: Crypto,
): EntryDecision {
  const { index, term, entry } = committed;
  if (index !== state.appliedIndex + 1)
    throw new LedgerHaltError("index_out_of_order", `entry ${index} after applied index ${state.appliedIndex}`);
  const draft = new DecisionDraft(state, facts, crypto, { index, acceptedMs: entry.acceptedMs });
  for (const certificate of entry.certificates) decideCertificate(certificate, draft);
  const isAlone = isLoneCommand(entry);
  const outcomes = entry.groups.map((group) => decideGroup(group, isAlone, draft));
  const writes = draft.writes();
  const { rulesAfter: rules, acceptedMs: stampMs } = draft;
  return {
    index,
    term,
    certify: entry.certify,
    isStatePoint: isStatePoint(entry, draft, writes),
    acceptedMs: entry.acceptedMs,
    outcomes,
    writes,
    grown: draft.grown(),
    contradictions: draft.contradictions,
    isToBeForgotten: writes.erasures.length > 0 || namesErased(facts),
    trustRootChain: draft.trustRootChain,
    effect: nextEffect(state.effect, { index, term, rules, stampMs }, writes, crypto.sha256),
    nextSequence: draft.nextSequence,
    lastAcceptedMs: draft.lastAcceptedMs,
    rules,
    stampMs,
    groupIdsHash: nextGroupIdsHash(state.groupIdsHash, { index, groupIds: writes.groupIds }, crypto.sha256),
    clientEventsHash: clientEventsHashAfter(state.clientEventsHash, writes.clientEvents, crypto.sha256),
  };
}

/** True: the entry names a client event id that was erased. */
function namesErased({ clientEvents }: Facts): boolean {
  for (const { isErased } of clientEvents.values()) if (isErased) return true;
  return false;
}

/** True: the entry requests a state head, or changes something, other than records, that only a state head proves. */
function isStatePoint(entry: Entry, draft: DecisionDraft, { operatorActs, trustRoots }: EntryWrites): boolean {
  if (!draft.isInitialised) return false;
  const isAskedFor = entry.groups.some(({ commands }) => commands.some(({ kind }) => kind === "mark_state_point"));
  return isAskedFor || operatorActs.length > 0 || trustRoots.length > 0 || draft.rulesAfter !== draft.state.rules;
}
