/** Hashes that lists of events are asked for by, where a leaf has them, and the keys that runs have for them. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, type LeafKind } from "@event-anchoring/protocol";

export type LookUpName = "event_hash" | "iris_ref" | "grant_ref";

/** A hash in the leaf of an event, of a row `a` of state.anchors; as SQL. */
export interface LookUp {
  /** Its number in state.lookup_runs. */
  readonly index: number;
  readonly hash: string;
  /** Which rows have it. */
  readonly condition: string;
  /** Its key, up to 47 bits, as bigint. */
  readonly key: string;
}

/** Where they begin in the leaf of an event, from 0 (docs/PROTOCOL.md, "Leaf"). */
const EVENT_HASH_AT = 115;
const IRIS_REF_AT = 147;
const GRANT_REF_AT = 211;

const ZEROS = `'\\x${"00".repeat(32)}'::bytea`;

/** In SQL, places count from 1. */
function hashAt(place: number): string {
  return `substr(a.leaf, ${place + 1}, 32)`;
}

/** References are ids of anchors that exist, and nobody chooses those: 47 bits of them are as good as any hash. */
export function keyOfId(id: string): string {
  return `(('x' || encode(substr(${id}, 1, 6), 'hex'))::bit(48)::bigint >> 1)`;
}

function reference(index: number, place: number): LookUp {
  const hash = hashAt(place);
  return { index, hash, condition: `a.kind IN (1, 6) AND ${hash} <> ${ZEROS}`, key: keyOfId(hash) };
}

export const LOOK_UPS: Readonly<Record<LookUpName, LookUp>> = {
  event_hash: {
    index: 1,
    hash: hashAt(EVENT_HASH_AT),
    condition: "a.event_prefix IS NOT NULL",
    key: "(a.event_prefix::bigint & 4294967295)",
  },
  iris_ref: reference(2, IRIS_REF_AT),
  grant_ref: reference(3, GRANT_REF_AT),
};

/** The first 4 bytes of an event hash's own hash: clients choose event hashes, and cannot choose these. */
export function eventPrefixOf(eventHash: Uint8Array): Uint8Array {
  return nodeCrypto.sha256(eventHash).subarray(0, 4);
}

/** What the column `event_prefix` holds for a leaf; null: it is no event's. */
export function eventPrefixOfLeaf(kind: LeafKind, leaf: Uint8Array): Uint8Array | null {
  if (kind !== LEAF_KIND.event && kind !== LEAF_KIND.signedEvent) return null;
  return eventPrefixOf(leaf.subarray(EVENT_HASH_AT, EVENT_HASH_AT + 32));
}

/** The key of an event hash. */
export function eventKeyOf(eventHash: Uint8Array): number {
  return numberOf(eventPrefixOf(eventHash));
}

/** The key of a reference. */
export function referenceKeyOf(anchorId: Uint8Array): number {
  return Math.floor(numberOf(anchorId.subarray(0, 6)) / 2);
}

/** At most six bytes. */
function numberOf(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}
