/** What goes into the next entry: weights, bounds and order. The leader's rules; `decide` does not depend on them. */
import { assertNever } from "@event-anchoring/protocol";
import type { Command, ProposalGroup } from "./command.ts";
import { LIMITS } from "./limits.ts";

/** What counts towards the bounds of an entry. */
export interface Weight {
  readonly commands: number;
  readonly signedCommands: number;
  readonly bytes: number;
}

type Counts = Omit<Weight, "bytes">;

function countsOf(command: Command): Counts {
  switch (command.kind) {
    case "record_events": {
      const signedCommands = command.events.filter(({ actor }) => actor !== null).length;
      return { commands: command.events.length, signedCommands };
    }
    case "record_claim":
    case "record_grant":
    case "operator_act":
      return { commands: 1, signedCommands: 1 };
    case "record_revocation":
      return { commands: 1, signedCommands: command.revocation.signer === null ? 0 : 1 };
    case "genesis":
    case "trust_root":
    case "erase_client_event":
    case "create_api_key":
    case "revoke_api_key":
    case "rotate_api_key":
    case "mark_certify_point":
    case "mark_state_point":
    case "raise_rules":
      return { commands: 1, signedCommands: 0 };
    default:
      return assertNever(command);
  }
}

/**
 * Every event of a batch counts as one command, so that an entry bounds the leaves that it can append; one that its
 * actor has signed counts as a signed command too. A batch with more of these than an entry may have never fits.
 * @param encodedBytes length of the encoded command
 */
export function weightOf(command: Command, encodedBytes: number): Weight {
  return { ...countsOf(command), bytes: encodedBytes };
}

/** True if deciding the command may append a leaf: its entry carries the certify bit, whatever is then decided. */
export function mayAppendLeaf(command: Command): boolean {
  switch (command.kind) {
    case "genesis":
    case "trust_root":
    case "record_events":
    case "record_claim":
    case "record_grant":
    case "record_revocation":
      return true;
    case "erase_client_event":
    case "create_api_key":
    case "revoke_api_key":
    case "rotate_api_key":
    case "mark_certify_point":
    case "mark_state_point":
    case "raise_rules":
      return false;
    case "operator_act":
      return mayAppendLeaf(command.command);
    default:
      return assertNever(command);
  }
}

/** True if the entry of this command must have the certify bit. */
export function needsCertifyPoint(command: Command): boolean {
  return command.kind === "mark_certify_point" || mayAppendLeaf(command);
}

function mustBeAlone(command: Command): boolean {
  return command.kind === "genesis" || command.kind === "trust_root";
}

function isOperatorAct({ kind }: Command): boolean {
  return kind === "operator_act";
}

/**
 * The purpose of a command; the first is held back first:
 * - `client`: appends leaves for a client;
 * - `operator`: an operator's act, or an erasure;
 * - `group`: what the Raft group itself needs. Genesis, trust roots, rules and certify points.
 */
export type Purpose = "client" | "operator" | "group";

const PURPOSES: readonly Purpose[] = ["client", "operator", "group"];

function purposeOf({ kind }: Command): Purpose {
  switch (kind) {
    case "record_events":
    case "record_claim":
    case "record_grant":
    case "record_revocation":
      return "client";
    case "erase_client_event":
    case "create_api_key":
    case "revoke_api_key":
    case "rotate_api_key":
    case "operator_act":
      return "operator";
    case "genesis":
    case "trust_root":
    case "mark_certify_point":
    case "mark_state_point":
    case "raise_rules":
      return "group";
    default:
      return assertNever(kind);
  }
}

/** True if commands like this one may share a group: if one of them is held back, all are. */
export function sharesGroup(command: Command): boolean {
  return purposeOf(command) === "client";
}

/** What the leader has to know about a waiting group. */
export interface WaitingGroup {
  readonly weight: Weight;
  /** For a group with several: the one that is held back first. */
  readonly purpose: Purpose;
  /** Holds genesis or a trust-root version: nothing else may be in its entry. */
  readonly isAlone: boolean;
  /** Holds an operator's act: goes before the others of its entry, in the order of the operator's counters. */
  readonly isOperatorAct: boolean;
  readonly needsCertifyPoint: boolean;
}

/** @param encodedBytes length of the encoded group */
export function waitingGroupOf(group: ProposalGroup, encodedBytes: number): WaitingGroup {
  let commands = 0;
  let signedCommands = 0;
  for (const command of group.commands) {
    const counts = countsOf(command);
    commands += counts.commands;
    signedCommands += counts.signedCommands;
  }
  return {
    weight: { commands, signedCommands, bytes: encodedBytes },
    purpose: PURPOSES.find((purpose) => group.commands.some((command) => purposeOf(command) === purpose)) ?? "client",
    isAlone: group.commands.some(mustBeAlone),
    isOperatorAct: group.commands.some(isOperatorAct),
    needsCertifyPoint: group.commands.some(needsCertifyPoint),
  };
}

export interface PackedEntry {
  /** Positions in the queue, in the order of the groups in the entry. */
  readonly take: readonly number[];
  readonly certify: boolean;
}

/** Bytes of the entry's header, and of the length before each group. */
const ENTRY_HEADER_BYTES = 14;
const GROUP_PREFIX_BYTES = 4;

/** @param bytes of the entry after its header, the length before each group included */
function isWithinBounds(commands: number, signedCommands: number, bytes: number): boolean {
  return (
    commands <= LIMITS.entryCommandsMax &&
    signedCommands <= LIMITS.entrySignedCommandsMax &&
    bytes + ENTRY_HEADER_BYTES <= LIMITS.entryBytesMax
  );
}

/** True if a group of this weight fits into an entry of its own; else it must be refused before it is queued. */
export function fitsEntry(weight: Weight): boolean {
  return isWithinBounds(weight.commands, weight.signedCommands, weight.bytes + GROUP_PREFIX_BYTES);
}

/**
 * Chooses from the front of the queue what fits into one entry: first in, first out, never splitting a group; no group
 * is overtaken by one that goes into another entry. Inside the entry operators' acts come first.
 * @param queue groups that each pass fitsEntry, oldest first
 * @param certificateBytes bytes of the entry that certificates already take
 */
export function packEntry(queue: readonly WaitingGroup[], certificateBytes = 0): PackedEntry {
  const first = queue[0];
  if (first === undefined) return { take: [], certify: false };
  if (first.isAlone) return { take: [0], certify: true };
  const acts: number[] = [];
  const others: number[] = [];
  let commands = 0;
  let signedCommands = 0;
  let bytes = certificateBytes;
  let certify = false;
  for (const [position, group] of queue.entries()) {
    if (group.isAlone || position >= LIMITS.entryGroupsMax) break;
    commands += group.weight.commands;
    signedCommands += group.weight.signedCommands;
    bytes += group.weight.bytes + GROUP_PREFIX_BYTES;
    if (!isWithinBounds(commands, signedCommands, bytes)) break;
    (group.isOperatorAct ? acts : others).push(position);
    certify ||= group.needsCertifyPoint;
  }
  return { take: [...acts, ...others], certify };
}
